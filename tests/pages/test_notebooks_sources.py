from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.contract import EvalkitError
from evalkit.pages.notebooks.sources import code_cells, find_sources, read_source, tag_problem

PERCENT = '# %% [markdown]\n# Words\n\n# %% tags=["parameters"]\nx: int = 1\n\n# %%\nx\n\n# %%\nx\n'


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "notebooks").mkdir()
    for name in ("01_one", "02_two", "scratch"):
        (tmp_path / "notebooks" / f"{name}.py").write_text(PERCENT)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_all_numbered_notebooks_are_found_where_none_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [source.name for source in find_sources([])] == ["01_one", "02_two"]
    monkeypatch.chdir(project / "notebooks")
    assert [source.name for source in find_sources([])] == ["01_one", "02_two"]


@pytest.mark.parametrize("name", ["02", "02_two", "notebooks/02_two.py"])
def test_one_is_found_by_number_name_or_path(project: Path, name: str) -> None:
    (source,) = find_sources([name])
    assert (source.name, source.project) == ("02_two", project.resolve())


@pytest.mark.parametrize(("name", "said"), [("2", "known here: 01_one, 02_two"), ("a/b.py", "there is no such file")])
def test_a_name_that_fits_none_says_what_there_is(project: Path, name: str, said: str) -> None:
    with pytest.raises(EvalkitError, match=said):
        find_sources([name])


def test_a_script_becomes_a_notebook_with_a_kernel_and_ids_that_follow_from_its_text(project: Path) -> None:
    path = project / "notebooks/01_one.py"
    first, second = read_source(path), read_source(path)
    assert first.metadata.kernelspec["name"] == "python3"
    ids = [cell.id for cell in first.cells]
    assert ids == [cell.id for cell in second.cells]
    assert len(set(ids)) == len(ids) == 4, "equal cells still differ in their id"
    path.write_text(PERCENT + "\n# %%\nx + 1\n")
    assert [cell.id for cell in read_source(path).cells][:4] == ids, "a new cell leaves the others' ids alone"


def test_cells_of_white_space_are_not_counted(project: Path) -> None:
    path = project / "notebooks/01_one.py"
    path.write_text(PERCENT + "\n# %%\n\n# %%\n")
    assert len(code_cells(read_source(path))) == 3


def test_outputs_of_an_ipynb_are_left_out(project: Path) -> None:
    import nbformat.v4 as nbf
    from nbformat import writes

    cell = nbf.new_code_cell("1", outputs=[nbf.new_output("stream", text="old")], execution_count=9)
    Path("old.ipynb").write_text(writes(nbf.new_notebook(cells=[cell])))
    (read,) = read_source(Path("old.ipynb")).cells
    assert (read.outputs, read.execution_count) == ([], None)


def test_i01_a_cell_that_may_raise_is_refused_by_number(project: Path) -> None:
    path = project / "notebooks/01_one.py"
    assert tag_problem(read_source(path)) is None
    path.write_text(PERCENT + '\n# %% tags=["raises-exception"]\n1 / 0\n')
    assert "code cell 4 is tagged raises-exception" in str(tag_problem(read_source(path)))
