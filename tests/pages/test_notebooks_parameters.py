"""Field case I03: parameters that do nothing or change type."""

from __future__ import annotations

from typing import Any

import nbformat.v4 as nbf
import pytest

from evalkit.contract import EvalkitError
from evalkit.pages.notebooks.parameters import (
    Declared,
    declared_in,
    declared_types,
    injected_names,
    read_parameters,
    split_pairs,
    value_problems,
)

CELL = [
    Declared("threshold", "float", "0.8", "a share"),
    Declared("flag", "bool", "False", ""),
    Declared("id", "str", '"a"', ""),
    Declared("run", "str", '""', ""),
    Declared("n", "int", "1", ""),
    Declared("items", "list", "[]", ""),
    Declared("bare", None, "1", ""),
]


def notebook(source: str, *, tag: bool = True) -> Any:
    page = nbf.new_notebook(metadata={"kernelspec": {"name": "python3", "language": "python", "display_name": "x"}})
    page.cells = [nbf.new_code_cell(source, metadata={"tags": ["parameters"]} if tag else {})]
    return page


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("id", "007", "007"),
        ("run", "1e3", "1e3"),
        ("id", "no", "no"),
        ("id", "", ""),
        ("id", "a=b", "a=b"),
        ("flag", "false", False),
        ("flag", "True", True),
        ("threshold", "0.95", 0.95),
        ("threshold", "1", 1.0),
        ("threshold", "1e-05", 1e-05),
        ("threshold", ".5", 0.5),
        ("n", "007", 7),
        ("n", "-3", -3),
    ],
)
def test_i03_text_is_read_by_the_declared_type_and_by_nothing_else(name: str, text: str, value: object) -> None:
    values = read_parameters(CELL, {name: text})
    assert values == {name: value}
    assert type(values[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("treshold", "0.95", "the notebook has no parameter 'treshold', did you mean 'threshold'?"),
        ("flag", "no", "flag must be true or false; got 'no'"),
        ("flag", "1", "flag must be true or false; got '1'"),
        ("threshold", "nan", "threshold must be a finite number; got 'nan'"),
        ("threshold", "inf", "threshold must be a finite number; got 'inf'"),
        ("threshold", "1e999", "threshold must be a finite number; got '1e999'"),
        ("threshold", "1_0", "threshold must be a finite number; got '1_0'"),
        ("threshold", " 1", "threshold must be a finite number; got ' 1'"),
        ("threshold", "", "threshold must be a finite number; got ''"),
        ("threshold", "٣", "threshold must be a finite number; got '٣'"),
        ("n", "1e3", "n must be a whole number; got '1e3'"),
        ("n", "1.0", "n must be a whole number; got '1.0'"),
        ("items", "[1]", "items is declared list; only bool, int, float, str can be given"),
        ("bare", "2", "bare is declared without a type"),
    ],
)
def test_i03_what_does_not_fit_is_refused_with_the_known_names(name: str, text: str, said: str) -> None:
    with pytest.raises(EvalkitError) as caught:
        read_parameters(CELL, {name: text})
    assert said in str(caught.value)
    assert "its parameters are threshold (float), flag (bool), id (str)" in str(caught.value)


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(EvalkitError) as caught:
        read_parameters(CELL, {"flag": "no", "treshold": "1", "id": "fine"})
    assert "flag must be" in str(caught.value)
    assert "'treshold'" in str(caught.value)


def test_i03_a_notebook_without_a_tagged_cell_takes_no_parameter() -> None:
    declared = declared_in(notebook("threshold: float = 0.8", tag=False))
    assert declared == []
    with pytest.raises(EvalkitError, match="tag its first code cell 'parameters'"):
        read_parameters(declared, {"threshold": "0.95"})


def test_types_and_help_come_from_the_parameters_cell() -> None:
    (first, second) = declared_in(notebook('threshold: float = 0.8  # a share\nname = "x"'))
    assert first == Declared("threshold", "float", "0.8", "a share")
    assert (second.name, second.type_name) == ("name", None)


def test_a_line_that_papermill_cannot_read_is_found_before_it_looks_like_an_unknown_parameter() -> None:
    with pytest.raises(EvalkitError) as caught:
        declared_in(notebook("limit: float = 0.8  # >= 0"))
    assert "papermill cannot read the line of 'limit'" in str(caught.value)
    assert "no other equals sign" in str(caught.value)


def test_pairs_are_split_at_the_first_equals_sign() -> None:
    assert split_pairs(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


@pytest.mark.parametrize("pair", ["a", "=b", "a b=c", "1a=2"])
def test_a_pair_without_a_name_is_refused(pair: str) -> None:
    with pytest.raises(EvalkitError, match="-p must be NAME=VALUE; got"):
        split_pairs([pair])


# --- inside the kernel ----------------------------------------------------------------------------------------------


def test_the_declared_types_are_those_of_the_last_cell_of_annotations_that_ran() -> None:
    cells = [
        "",
        "limit: float = 0.8",
        "x = 1",
        "limit: float = 0.9\nname: str = 'a'",
        "%matplotlib inline",
        "y: int = f()\nz = 1",
    ]
    assert declared_types(cells) == {"limit": "float", "name": "str"}
    assert declared_types(["x = 1"]) == {}


def test_papermill_s_own_cell_is_read_for_names_that_nobody_declared() -> None:
    assert injected_names(["limit: float = 0.8", "# Parameters\ntreshold = 0.95\nlimit = 0.9\n"]) == [
        "treshold",
        "limit",
    ]
    assert injected_names(["# Parameters are below\nx = 1"]) == []


@pytest.mark.parametrize(
    ("type_name", "value", "said"),
    [
        ("float", "0.9", "limit must be a finite number; got '0.9'"),
        ("float", float("nan"), "limit must be a finite number; got nan"),
        ("float", True, "limit must be a finite number; got True"),
        ("bool", "no", "limit must be true or false; got 'no'"),
        ("bool", 1, "limit must be true or false; got 1"),
        ("int", 1.0, "limit must be a whole number; got 1.0"),
        ("int", False, "limit must be a whole number; got False"),
        ("str", None, "limit must be a text; got None"),
        ("str | None", None, "limit is declared str | None: use bool, int, float, str"),
    ],
)
def test_i03_values_are_checked_again_in_the_first_cell(type_name: str, value: object, said: str) -> None:
    (problem,) = value_problems({"limit": type_name}, {"limit": value})
    assert said in problem


@pytest.mark.parametrize(
    ("type_name", "value"), [("float", 0.9), ("float", 1), ("bool", False), ("int", 7), ("str", "")]
)
def test_values_that_fit_pass(type_name: str, value: object) -> None:
    assert value_problems({"limit": type_name}, {"limit": value}) == []
