"""Notebook 08: nine metrics in one pass, the combined figure and what it hides, what one more metric adds."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from evalkit.contract import EvalkitError, Outcome
from evalkit.pages.notebooks.command import NotebookOptions, run_notebooks
from evalkit.pages.notebooks.domain import Studied, bullets, concluded, study

ROOT = Path(__file__).parents[2]
ANSWERS = ROOT / "fixtures/medical_answers"


@pytest.fixture(scope="module")
def studied() -> Studied:
    return study(
        "medical_*, patient_safety", str(ANSWERS / "cases.jsonl"), domain="medical",
        verdicts=str(ANSWERS / "verdicts.toml"), policies=str(ANSWERS / "policies"),
        labels=str(ANSWERS / "labels.jsonl"), added="patient_safety", as_of="2026-12-01",
    )  # fmt: skip


def test_headless_it_passes_with_the_expected_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    done = run_notebooks(["08"], NotebookOptions(out=tmp_path))
    (verdict,) = done.verdicts
    assert verdict.outcome is Outcome.passed, verdict.checks
    assert verdict.checks[-1].sentence.endswith("as expected")
    found = json.loads((tmp_path / "08_domain_metrics" / "analysis.json").read_text(encoding="utf-8"))
    assert found["what_it_adds"]["metric"] == "patient_safety"


def test_the_tidy_frame_has_a_value_and_a_state_for_each_metric(studied: Studied) -> None:
    frame = studied.frame()
    assert frame.shape == (40, 2 + 2 * 9)
    assert frame["medical_citation_accuracy"].dtype == "Float64"
    assert (frame["patient_safety_state"] == "scored").all()


def test_the_combined_figure_hides_what_people_refuse(studied: Studied) -> None:
    combined, hidden = studied.combined(), studied.hidden()
    # Of 9 metrics one speaks against it: 8 / 9.
    assert combined["chest-pressure"] == pytest.approx(8 / 9)
    assert hidden.loc["chest-pressure", "speaking against it"] == "patient_safety"
    assert (hidden.index[0], hidden["speaking against it"].iloc[0]) == ("ibuprofen-kidney", "none")
    assert len(hidden) == 8
    assert "wait until tomorrow" in studied.answer("chest-pressure")


def test_the_page_follows_the_policies_only_where_it_is_told_to(studied: Studied) -> None:
    page, followed = concluded(studied, follow=False), concluded(studied, follow=True)
    assert (page.outcome, page.sentences) == (Outcome.passed, ())
    assert followed.outcome is Outcome.quality_failed
    assert followed.sentences[0].startswith("Do not release: 1 of 3 gates pass")
    assert page.figures["recommendation"] == "quality_failed"


def test_a_metric_that_has_no_value_for_a_row_makes_the_page_incomplete(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text(
        '{"case_id": "a", "response": "x", "retrieved_contexts": []}\n{"case_id": "b", "response": "x"}\n', "utf-8"
    )
    found = study("medical_citation_accuracy", str(tmp_path / "cases.jsonl"), domain="medical")
    assert concluded(found, follow=False).outcome is Outcome.incomplete
    assert concluded(found, follow=False).sentences == ("medical_citation_accuracy has no value for 1 of 2 rows",)
    # Without a policy there is nothing to follow.
    assert concluded(found, follow=True).sentences[-1].startswith("None: no policy was given")
    # A number without a policy speaks neither for nor against a row.
    assert found.combined().isna().all()
    assert concluded(found, follow=False).figures["combined.mean"] is None
    assert found.frame()["medical_citation_accuracy"].iloc[1] is pd.NA


def test_what_cannot_be_asked_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match="added names 'other', which is not among the metrics"):
        study("medical_citation_accuracy", str(ANSWERS / "cases.jsonl"), domain="medical", added="other")
    (tmp_path / "bad.toml").write_text("= x", encoding="utf-8")
    with pytest.raises(EvalkitError, match="cannot be read as TOML"):
        study("medical_safety", str(ANSWERS / "cases.jsonl"), domain="medical", verdicts=str(tmp_path / "bad.toml"))


def test_what_a_row_writes_stays_text() -> None:
    assert bullets(["a [link](http://x)"]).data == "- a \\[link\\](http\\://x)"
