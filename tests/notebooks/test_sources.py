"""Every notebook keeps the rules of a page: the source, and the ``.ipynb`` that was built from it."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from evalkit.pages.notebooks.build import MOST_CODE_CELLS, normalised, page_problems
from evalkit.pages.notebooks.nbfile import notebook_text, parse_notebook
from evalkit.pages.notebooks.parameters import declared_in
from evalkit.pages.notebooks.sources import code_cells, read_source, tag_problem

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("[0-9][0-9]_*.py"))
HEADER = (ROOT / "notebooks/01_design_a_metric.py").read_text(encoding="utf-8").split("# %%")[0]
ALLOWED = {"IPython", "altair", "evalkit", "numpy", "pandas"}

pytestmark = pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)


def trees(source: Path) -> list[ast.Module]:
    flags = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    return [compile(cell.source, source.name, "exec", flags) for cell in code_cells(read_source(source))]  # type: ignore[misc]


def test_every_source_starts_with_the_same_header_and_a_title(source: Path) -> None:
    assert source.read_text(encoding="utf-8").startswith(HEADER + "# %% [markdown]\n# # ")


def test_the_first_code_cell_declares_a_handful_of_plain_parameters_with_help(source: Path) -> None:
    notebook = read_source(source)
    first = code_cells(notebook)[0]
    assert first.metadata["tags"] == ["parameters"]
    declared = declared_in(notebook)
    assert 3 <= len(declared) <= 16
    assert {parameter.type_name for parameter in declared} <= {"bool", "float", "int", "str"}
    assert all(parameter.help for parameter in declared)
    assert all(isinstance(statement, ast.AnnAssign) for statement in ast.parse(first.source).body)


def test_a_page_opens_with_its_own_name_and_ends_with_its_outcome(source: Path) -> None:
    cells = code_cells(read_source(source))
    assert f'open_page("{source.stem}", globals())' in cells[1].source
    assert cells[-1].source.startswith("page.finish(")
    assert tag_problem(read_source(source)) is None


def test_cells_are_small_and_each_has_words_before_it(source: Path) -> None:
    notebook = read_source(source)
    cells = code_cells(notebook)
    assert len(cells) <= MOST_CODE_CELLS
    # The first cell declares the parameters, a line each: how many there may be is another rule.
    assert max(len(cell.source.splitlines()) for cell in cells[1:]) <= 15
    kinds = [cell.cell_type for cell in notebook.cells]
    bare = [cells[i].source for i, kind in enumerate(kinds[1:]) if kind == kinds[i] == "code" and i < len(cells)]
    assert not bare, "a code cell follows a code cell"


def test_nothing_longer_than_five_lines_is_defined_and_no_magic_is_used(source: Path) -> None:
    for tree in trees(source):
        long = [
            node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        ]
        assert all((node.end_lineno or 0) - node.lineno < 5 for node in long)
    assert not re.search(r"^[%!]|sys\.path|asyncio\.run|nest_asyncio", source.read_text(encoding="utf-8"), re.MULTILINE)


def test_only_the_front_rooms_are_imported(source: Path) -> None:
    import sys

    names = set()
    for tree in trees(source):
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.names[0].name != "*"
                names.add(str(node.module).split(".")[0])
    assert names - set(sys.stdlib_module_names) <= ALLOWED


def test_annotations_stand_only_in_the_parameters_cell(source: Path) -> None:
    later = trees(source)[1:]
    assert not [tree for tree in later if tree.body and all(isinstance(s, ast.AnnAssign) for s in tree.body)]


# --- the built page --------------------------------------------------------------------------------------------------


def page_of(source: Path) -> Any:
    page = source.with_suffix(".ipynb")
    assert page.exists(), f"{page.name} is not built: make notebooks"
    return parse_notebook(page)


def test_the_page_is_the_source_with_outputs(source: Path) -> None:
    page, notebook = page_of(source), read_source(source)
    assert [(c.cell_type, c.source, c.id) for c in page.cells] == [
        (c.cell_type, c.source, c.id) for c in notebook.cells
    ]


def test_the_page_keeps_the_page_s_rules(source: Path) -> None:
    page = page_of(source)
    assert list(page_problems(page)) == []
    assert source.with_suffix(".ipynb").read_text(encoding="utf-8") == notebook_text(normalised(page)), "not normalised"


def test_k04_the_page_shows_every_chart_without_a_network(source: Path) -> None:
    kinds = {kind for cell in code_cells(page_of(source)) for output in cell.outputs for kind in output.get("data", {})}
    assert kinds <= {"text/plain", "text/html", "text/markdown", "image/png"}
    html = json.dumps([output for cell in code_cells(page_of(source)) for output in cell.outputs if "data" in output])
    assert not re.search(r"<(script|link|img|iframe)\b|https?://[^\"]+\.js", html)


def test_expected_figures_are_kept_for_each_notebook(source: Path) -> None:
    path = ROOT / "fixtures/expected" / f"{source.stem}.json"
    assert path.exists(), f"no expected figures: evalkit notebooks {source.stem[:2]} --accept"
    assert json.loads(path.read_text())["figures"]
