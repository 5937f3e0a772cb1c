from __future__ import annotations

import ast

import pytest

from evalkit.mutate.places import locate


def texts(source: str, kind: type[ast.AST]) -> list[str]:
    root = ast.parse(source)
    spans = locate(root, source)
    return [source[slice(*spans[node])] for node in ast.walk(root) if isinstance(node, kind) and node in spans]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("y = f'{a}'", ["y", "a"]),
        ("y = f'{{a}} {a}'", ["y", "a"]),
        ("y = f'{a!r} {b:>{w}} {c=}'", ["y", "a", "b", "c"]),
        ("y = f'{a}' 'plain {a}' f'{b}'", ["y", "a", "b"]),
        ("y = f\"{d['k']} {a != b}\"", ["y", "d", "a", "b"]),
        ("y = f'''\n{a}\n  {b}\n'''", ["y", "a", "b"]),
        ("y = f'ü{a}返{b}'", ["y", "a", "b"]),
        ("y = f'{a if b else f\"{c}\"}'", ["y", "a", "b", "c"]),
        ("y = f'\\N{EM DASH} {a}'", ["y", "a"]),
        ("y = (f'{a} '\n     f'{b}')", ["y", "a", "b"]),
    ],
)
def test_names_inside_f_strings_are_found_where_they_stand(source, names):
    assert sorted(texts(source, ast.Name)) == sorted(names)


def test_a_field_reaches_from_brace_to_brace():
    assert texts("y = f'{a!r:>5} of {b}'", ast.FormattedValue) == ["{a!r:>5}", "{b}"]


def test_columns_are_counted_in_characters_not_bytes():
    assert texts("x = 'ü返' ; y = abc", ast.Name) == ["x", "y", "abc"]


def test_the_first_line_may_have_another_number():
    root = ast.parse("if 1:\n    y = a").body[0]
    spans = locate(root.body[0], "    y = a", first_line=2)
    assert spans[root.body[0]] == (4, 9)
