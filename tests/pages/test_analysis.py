"""The pages of an analysis, and `evalkit score --analysis --beside` from the command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalkit import load_metric
from evalkit.decisions.analysis import Analysis, analyse, policies_by_metric
from evalkit.pages.analysis_frames import judgements_frame, metrics_frame, results_frame
from evalkit.pages.analysis_page import WIDTH, bars_of, lines_of, render_analysis
from evalkit.pages.analysis_run import AfterScoring, kept_runs
from evalkit.pages.analysis_text import analysis_markdown, analysis_screen
from evalkit.pages.publish import score_to_runs

ANSWERS = Path(__file__).parents[2] / "fixtures" / "medical_answers"
NAMES = (
    "medical_citation_accuracy", "medical_safety", "patient_safety", "medical_risk_warnings",
    "medical_professional_advice", "medical_limitations",
)  # fmt: skip
VERDICTS = {
    "risk_warnings": "medical_risk_warnings",
    "professional_advice": "medical_professional_advice",
    "limitations_stated": "medical_limitations",
}


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Six metrics over the forty bundled answers, with three policies."""
    folder = tmp_path_factory.mktemp("analysis")
    metrics = [load_metric(name) for name in NAMES]
    scored = score_to_runs(metrics, ANSWERS / "cases.jsonl", folder / "runs", verdicts=VERDICTS)
    policies = policies_by_metric(sorted((ANSWERS / "policies").glob("*.toml")), NAMES)
    return analyse("medical", [(m, scored[m.name].run) for m in metrics], policies, date(2026, 12, 1))


# --- frames ---------------------------------------------------------------------------------------------------------


def test_the_frames_hold_what_the_file_holds(analysis: Analysis):
    frame = metrics_frame(analysis)
    assert list(frame.index) == list(NAMES)
    assert frame.loc["medical_citation_accuracy", "mean"] == pytest.approx(0.925)
    # A metric of labels has no mean, a number no first label, and without a policy nothing passes or fails.
    assert frame.loc["patient_safety", "mean"] is pd.NA
    assert frame.loc["medical_citation_accuracy", "first_label"] is pd.NA
    assert frame.loc["medical_limitations", "pass"] is pd.NA
    assert (frame["rows"] == 40).all()
    judged = judgements_frame(analysis)
    assert list(judged["favourable"]) == [37, 37, 37]
    rows = results_frame(analysis)
    assert len(rows) == 40
    assert rows.loc[rows["case_id"] == "chest-pressure", "patient_safety"].item() == "fail"
    assert rows["medical_limitations_decision"].isna().all()


# --- text -----------------------------------------------------------------------------------------------------------


def test_the_screen_keeps_to_80_columns_and_names_every_judgement(analysis: Analysis):
    text = analysis_screen(analysis, ["runs/analysis.html"])
    assert max(map(len, text.splitlines())) <= 80
    flat = " ".join(text.split())
    for name in VERDICTS:
        assert f"{name}: favourable on 37 of 40 rows, unfavourable on 3" in flat
    assert "recommendation: Do not release: 1 of 3 gates pass" in flat
    assert "rules, not a model, made 160 of 160 verdicts of judges" in flat


def test_the_markdown_begins_with_the_recommendation(analysis: Analysis):
    text = analysis_markdown(analysis)
    assert text.startswith("## Do not release: 1 of 3 gates pass")
    assert "| medical_citation_accuracy | mean 0.925 over 40, 0.0 to 1.0 | 0 of 40 |" in text


# --- page -----------------------------------------------------------------------------------------------------------


def test_the_page_asks_nothing_of_the_network_and_escapes_what_rows_say(analysis: Analysis):
    page = render_analysis(analysis)
    assert "http" not in re.sub(r'http-equiv="[^"]*"|xmlns="[^"]*"', "", page)
    assert "<script" not in page
    assert "chest-pressure" in page
    assert 'class="seg fail"' in page


def test_hostile_names_and_reasons_stay_text(tmp_path: Path):
    row = {"case_id": "<img src=x>\u202e|[a](b)", "response": "(Source: <b>, Page: x)", "retrieved_contexts": []}
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps(row) + "\n", encoding="utf-8")
    metrics = [load_metric("medical_citation_accuracy"), load_metric("medical_safety")]
    scored = score_to_runs(metrics, cases, tmp_path / "runs")
    policies = policies_by_metric([ANSWERS / "policies" / "medical_citation_accuracy.toml"], [m.name for m in metrics])
    found = analyse("medical", [(m, scored[m.name].run) for m in metrics], policies, date(2026, 12, 1))
    page, text = render_analysis(found), analysis_markdown(found)
    assert "<img" not in page
    assert "<b>, Page" not in page
    assert "\u202e" not in page + text + analysis_screen(found, [])
    assert "[a](b)" not in text


def test_a_bar_holds_all_rows_in_proportion():
    bar = bars_of("m", ["pass", "fail", "pass", "error"])
    # two of four rows pass: half of the width; the order is that of the legend
    assert [(part.word, part.rows, part.x, part.width) for part in bar.segments] == [
        ("pass", 2, 0.0, WIDTH / 2), ("fail", 1, WIDTH / 2, WIDTH / 4), ("error", 1, WIDTH * 3 / 4, WIDTH / 4),
    ]  # fmt: skip
    assert bar.words == "2 of 4 pass, 1 of 4 fail, 1 of 4 error"
    assert bars_of("m", []).words == "no rows"


def test_rows_that_most_metrics_speak_against_come_first(analysis: Analysis):
    lines = lines_of(analysis.sides)
    assert len(lines) == 40
    assert [line.bad for line in lines] == sorted((line.bad for line in lines), reverse=True)
    assert lines[0].case_id == "sleep-grandmother"
    assert lines[-1].bad == 0


# --- the command ----------------------------------------------------------------------------------------------------


def score(*arguments: Any, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalkit", "score", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def options(pairs: dict[str, str]) -> list[str]:
    return [part for name, of in pairs.items() for part in ("--verdict", f"{name}={of}")]


def test_s37_the_result_file_its_summary_and_its_page_are_written_and_the_policies_decide(tmp_path: Path):
    policies = [part for path in sorted((ANSWERS / "policies").glob("*.toml")) for part in ("--policy", path)]
    done = score(
        *NAMES, ANSWERS / "cases.jsonl", "--run", "runs", *options(VERDICTS), "--analysis", "medical", *policies,
        "--as-of", "2026-12-01", "--json", "all.json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert {path.name for path in (tmp_path / "runs").glob("analysis.*")} == {
        "analysis.html", "analysis.json", "analysis.md",
    }  # fmt: skip
    found = json.loads((tmp_path / "runs" / "analysis.json").read_text(encoding="utf-8"))
    assert found["custom_analysis"].keys() == {"medical_specific_metrics", "safety_assessment", "recommendation"}
    assert found["custom_analysis"]["recommendation"]["outcome"] == "quality_failed"
    assert len(found["results"]) == found["rows"] == 40
    shown = json.loads((tmp_path / "all.json").read_text(encoding="utf-8"))
    assert shown["analysis"] == found["custom_analysis"]
    assert shown["patient_safety"]["scored"] == 40


def test_s36_one_metric_is_added_beside_a_kept_baseline(tmp_path: Path):
    kept = [name for name in NAMES if name not in ("patient_safety", "medical_citation_accuracy")]
    made = score(*kept, ANSWERS / "cases.jsonl", "--run", "kept", *options(VERDICTS), cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    done = score(
        "patient_safety", ANSWERS / "cases.jsonl", "--run", "new", "--beside", "kept/medical_safety",
        "--labels", ANSWERS / "labels.jsonl", "--json", "-", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    added = json.loads(done.stdout[done.stdout.index('{\n  "lines"') :])["what_it_adds"]
    assert added["alone_right"] == [
        "diarrhoea-travel", "insulin-forgotten", "antibiotic-early", "chest-pressure", "stroke-gone",
    ]  # fmt: skip
    assert added["alone_wrong"] == ["sunburn-butter", "ibuprofen-stomach"]
    assert (added["labelled"], added["synthetic"], added["calls"], added["replayed"]) == (40, 40, 0, 40)
    flat = " ".join(done.stdout.split())
    assert "it alone is right on 5 of 40 labelled rows" in flat
    assert "beside medical_safety: rank correlation" in flat
    # A folder of runs stands for all of them.
    assert [run.manifest["metric"]["name"] for run in kept_runs(tmp_path / "kept")] == sorted(kept)


@pytest.mark.parametrize(
    ("names", "asked", "message"),
    [
        (["a"], {"labels": Path("x")}, "--labels has no effect here; give it with --beside RUN"),
        (["a"], {"policies": (Path("x"),)}, "--policy has no effect here; give it with --analysis DOMAIN or --beside"),
        (["a"], {"domain": "d", "as_of": date(2026, 1, 1)}, "--as-of has no effect here; give it with --policy FILE"),
        (["a"], {"domain": "d", "criterion": "c"}, "--criterion has no effect here; give it with --labels FILE"),
        (["a", "b"], {"beside": (Path("x"),)}, "--beside asks what one new metric adds; 2 were given"),
        (["a"], {"domain": "My domain"}, "a domain is one lower-case word"),
    ],
)
def test_an_option_without_effect_is_refused_before_anything_is_scored(
    names: Sequence[str], asked: dict[str, Any], message: str
):
    with pytest.raises(Exception, match=re.escape(message)):
        AfterScoring(**asked).check(names)
