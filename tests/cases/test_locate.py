from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.cases.locate import locate, project_folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("fixtures", "notebooks/deep", "mine"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path.resolve()


@pytest.mark.parametrize("start", ["", "notebooks", "notebooks/deep"])
def test_papermill_s_folder_and_jupyter_s_name_the_same_file(project: Path, start: str) -> None:
    assert locate("fixtures/cases.jsonl", start=project / start) == project / "fixtures/cases.jsonl"


def test_the_nearest_folder_that_holds_fixtures_counts(project: Path) -> None:
    (project / "mine/fixtures").mkdir()
    assert locate("rows.jsonl", start=project / "mine") == project / "mine/rows.jsonl"
    assert project_folder(project / "mine") == project / "mine"


def test_what_lies_only_in_the_current_folder_is_found(project: Path) -> None:
    (project / "mine/rows.jsonl").touch()
    assert locate("rows.jsonl", start=project / "mine") == project / "mine/rows.jsonl"
    (project / "rows.jsonl").touch()
    assert locate("rows.jsonl", start=project / "mine") == project / "rows.jsonl"


def test_an_absolute_path_and_a_place_without_a_project_stay_as_they_are(project: Path, tmp_path: Path) -> None:
    assert locate(project / "x.jsonl", start=project / "mine") == project / "x.jsonl"
    assert locate("x.jsonl", start=Path("/")) == Path("/x.jsonl")
    assert project_folder(Path("/")) is None


def test_the_current_folder_is_where_it_starts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project / "notebooks")
    assert locate(Path("fixtures/policy.toml")) == project / "fixtures/policy.toml"
