"""A notebook from inside, with the cells it has run given by hand: no kernel needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalkit.contract import Outcome
from evalkit.pages.notebooks import Conclusion, NotebookPage, NotPassed, judge, open_metric, open_page
from evalkit.pages.notebooks import page as module
from evalkit.pages.notebooks.page import CELLS_VARIABLE, OUT_VARIABLE, RUN_VARIABLE

FIXTURES = Path(__file__).parents[2] / "fixtures/evidence_coverage"
CELL = 'limit: float = 0.8\nout_dir: str = "out"\nas_of: str = ""'
VALUES = {"limit": 0.8, "out_dir": "out", "as_of": ""}
PASSED = Conclusion(outcome=Outcome.passed, sentences=(), figures={"mean": 0.5}, outcome_hash="sha256:0")


class Kernel:
    """What a shell tells of itself."""

    def __init__(self, cells: Sequence[str], metadata: dict[str, Any]) -> None:
        self.user_ns = {"In": ["", *cells]}
        self.kernel = self
        self.metadata = metadata

    def get_parent(self) -> dict[str, Any]:
        return {"metadata": self.metadata}


@pytest.fixture
def open_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., NotebookPage]:
    monkeypatch.chdir(tmp_path)
    for name in (RUN_VARIABLE, OUT_VARIABLE, CELLS_VARIABLE, "JPY_SESSION_NAME"):
        monkeypatch.delenv(name, raising=False)

    def run(cells: Sequence[str] = (CELL, "open_page"), values: Any = None, metadata: Any = None) -> NotebookPage:
        monkeypatch.setattr(module, "_shell", lambda: Kernel(cells, metadata or {}))
        return open_page("07_mine", VALUES | (values or {}))

    return run


def outcome_of(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / "out/07_mine/outcome.json").read_text())
    return facts


def test_a_page_that_passed_writes_its_outcome_and_says_so(
    open_with: Callable[..., NotebookPage], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = open_with()
    page.finish(PASSED, figures={"more": 1})
    facts = outcome_of(tmp_path)
    assert (facts["outcome"], facts["exit_code"], facts["run_id"]) == ("passed", 0, page.run_id)
    assert facts["figures"] == {"mean": 0.5, "more": 1}
    assert (facts["cells_total"], facts["cells_run"]) == (None, 2)
    assert facts["parameters"] == VALUES
    assert capsys.readouterr().out == "passed\nThe outcome file: 07_mine/outcome.json\n"


@pytest.mark.parametrize("outcome", [o for o in Outcome if o is not Outcome.passed])
def test_anything_else_is_written_and_then_raised_without_a_traceback(
    open_with: Callable[..., NotebookPage], tmp_path: Path, outcome: Outcome
) -> None:
    with pytest.raises(NotPassed) as caught:
        open_with().finish(Conclusion(outcome=outcome, sentences=("2 of 9 fail\x1b[2K",), figures={}))
    assert outcome_of(tmp_path)["outcome"] == outcome.name
    head = f"{outcome.name} (exit code {int(outcome)})"
    assert str(caught.value) == f"{head}: 2 of 9 fail\\x1b[2K"
    assert caught.value._render_traceback_()[:2] == [head, "2 of 9 fail\\x1b[2K"]


def test_a_gate_s_result_is_written_as_the_gate_writes_it(
    open_with: Callable[..., NotebookPage], tmp_path: Path
) -> None:
    page = open_with()
    judged = judge(
        open_metric("evidence_coverage"), FIXTURES / "incident.jsonl", FIXTURES / "policy.toml", as_of="2026-12-01"
    )
    with pytest.raises(NotPassed, match=r"quality_failed \(exit code 1\): quality_failed: 1 of 11 decided"):
        page.finish(judged.result)
    facts = outcome_of(tmp_path)
    assert facts["command"] == "notebook 07_mine"
    assert facts["outcome_hash"] == judged.result.outcome_hash
    assert facts["blockers"][0]["rows"][0]["case_id"] == "refund-basics-card"


@pytest.mark.parametrize(
    ("cells", "values", "said"),
    [
        ((CELL, "# Parameters\ntreshold = 0.95\n"), {}, "the notebook has no parameter 'treshold'"),
        ((CELL,), {"limit": "0.9"}, "limit must be a finite number; got '0.9'"),
        ((CELL,), {"limit": float("nan")}, "limit must be a finite number; got nan"),
        (
            (CELL,),
            {"as_of": "yesterday"},
            "as_of must be a day such as 2026-11-30, or empty for today; got 'yesterday'",
        ),
        ((CELL,), {"as_of": "2026-02-30"}, "got '2026-02-30'"),
    ],
)
def test_i03_a_parameter_that_does_not_fit_ends_the_page_as_incomplete(
    open_with: Callable[..., NotebookPage], tmp_path: Path, cells: Sequence[str], values: Any, said: str
) -> None:
    with pytest.raises(NotPassed) as caught:
        open_with(cells, values)
    assert said in "\n".join(caught.value.lines)
    facts = outcome_of(tmp_path)
    assert (facts["outcome"], facts["exit_code"]) == ("incomplete", 2)
    assert "its parameters are limit (float), out_dir (str), as_of (str)" in caught.value.lines


def test_the_effective_values_are_in_the_outcome_file_and_places_only_by_name(
    open_with: Callable[..., NotebookPage], tmp_path: Path
) -> None:
    page = open_with(values={"limit": 1, "out_dir": str(tmp_path / "out")})
    page.finish(PASSED)
    assert outcome_of(tmp_path)["parameters"] == {"limit": 1, "out_dir": "out", "as_of": ""}


def test_an_outcome_of_an_earlier_run_is_taken_away_at_once(
    open_with: Callable[..., NotebookPage], tmp_path: Path
) -> None:
    open_with().finish(PASSED)
    open_with()
    assert not (tmp_path / "out/07_mine/outcome.json").exists()


def test_run_id_place_and_count_come_from_the_runner(
    open_with: Callable[..., NotebookPage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUN_VARIABLE, "r7")
    monkeypatch.setenv(OUT_VARIABLE, str(tmp_path / "elsewhere.json"))
    monkeypatch.setenv(CELLS_VARIABLE, "2")
    monkeypatch.setenv("JPY_SESSION_NAME", "leaked from the notebook that started the runner")
    monkeypatch.setattr(module, "_shell", lambda: Kernel([CELL, "x"], {}))
    page = open_page("07_mine", VALUES)
    page.finish(PASSED)
    facts = json.loads((tmp_path / "elsewhere.json").read_text())
    assert (facts["run_id"], facts["cells_total"], facts["cells_run"]) == ("r7", 2, 2)
    assert not page.is_open


@pytest.mark.parametrize(
    ("metadata", "session", "is_open"), [({}, None, False), ({"cellId": "x"}, None, True), ({}, "01.ipynb", True)]
)
def test_a_page_that_somebody_looks_at_is_told_from_a_headless_one(
    open_with: Callable[..., NotebookPage],
    monkeypatch: pytest.MonkeyPatch,
    metadata: dict[str, str],
    session: str | None,
    is_open: bool,
) -> None:
    if session:
        monkeypatch.setenv("JPY_SESSION_NAME", session)
    assert open_with(metadata=metadata).is_open is is_open


def test_outside_a_kernel_a_page_can_be_opened_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "_shell", lambda: None)
    page = open_page("07_mine", {})
    assert (page.parameters, page.is_open) == ({}, False)


def test_k01_a_chart_that_cannot_be_drawn_changes_no_verdict(
    open_with: Callable[..., NotebookPage], tmp_path: Path
) -> None:
    import altair as alt
    import pandas as pd

    page = open_with()
    page.enable_charts("png")
    rows = pd.DataFrame({"x": range(5_001)})
    shown = page.draw(lambda: alt.Chart(rows).mark_bar().encode(x="x:Q"))
    assert "was not drawn: MaxRowsError" in shown
    broken = page.draw(lambda: 1 / 0)
    assert broken == "<lambda> was not drawn: ZeroDivisionError: division by zero"
    page.finish(PASSED)
    facts = outcome_of(tmp_path)
    assert facts["outcome"] == "passed"
    assert facts["warnings"] == [shown, broken]


def test_k04_a_drawn_chart_is_a_picture_that_needs_no_network(open_with: Callable[..., NotebookPage]) -> None:
    import altair as alt
    import pandas as pd

    page = open_with()
    page.enable_charts("auto")
    chart = page.draw(lambda: alt.Chart(pd.DataFrame({"x": [1, 2]})).mark_bar().encode(x="x:Q"))
    bundle = chart._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert set(data) == {"image/png"}
    assert page.warnings == []


def test_a_renderer_that_fetches_from_the_web_is_refused(open_with: Callable[..., NotebookPage]) -> None:
    with pytest.raises(NotPassed, match="renderer must be auto, png or jupyter; got 'default'"):
        open_with().enable_charts("default")


def test_a_page_names_what_its_figures_depend_on(open_with: Callable[..., NotebookPage]) -> None:
    assert open_with().versions().startswith("evalkit ")
