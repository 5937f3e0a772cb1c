"""Several metrics, one pass: each has the records it would have alone, and none touches another's rows (S3.6)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evalkit.contract import EvalkitError, Metric, discrete_metric, make_metric, numeric_metric, ranking_metric
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.publish import score_to_run, score_to_runs
from evalkit.scoring.score_all import score_all, stream_all

FIXTURES = Path(__file__).parents[2] / "fixtures"


@discrete_metric()
def polite(answer: str) -> str:
    return "pass" if "please" in answer else "fail"


@numeric_metric(allowed_values=range(4))
def marks(answer: str) -> int:
    return answer.count("!")


@ranking_metric(allowed_values=2)
def longer(answers: list[str]) -> list[int]:
    return [0, 1] if len(answers[0]) >= len(answers[1]) else [1, 0]


@numeric_metric()
def broken(answer: str) -> float:
    raise RuntimeError(answer)


def cases(folder: Path, *rows: dict[str, Any] | str) -> Path:
    path = folder / "cases.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def test_one_column_of_values_states_and_reasons_for_each_metric(tmp_path: Path):
    path = cases(
        tmp_path,
        {"case_id": "a", "answer": "wait, please!", "answers": ["x", "xx"]},
        "",
        {"case_id": "b", "answer": "no!!!!", "answers": ["xx", "x"], "blocking": False, "slice": "s"},
        "not json",
    )
    scored = score_all([polite, marks, longer], path)
    frame = scored.frame
    own = [f"{name}{part}" for name in ("polite", "marks", "longer") for part in ("", "_state", "_reason")]
    assert list(frame.columns) == ["line", "case_id", "slice", "blocking", *own]
    assert frame["line"].tolist() == [1, 3, 4]
    assert frame["polite"].tolist() == ["pass", "fail", pd.NA]
    # four marks are outside 0..3: the metric's error, and no number
    assert frame["marks"].tolist() == [1, pd.NA, pd.NA]
    assert frame["longer"].tolist() == [[1, 0], [0, 1], pd.NA]
    assert frame["marks_state"].tolist() == ["scored", "error", "invalid"]
    assert "outside its range" in frame["marks_reason"][1]
    assert frame["case_id"].isna().tolist() == [False, False, True]
    assert [str(frame[c].dtype) for c in ("line", "blocking", "polite", "marks", "longer", "marks_state")] == [
        "Int64", "boolean", "string", "Int64", "object", "string",
    ]  # fmt: skip
    assert str(score_all([evidence_coverage], path).frame["evidence_coverage"].dtype) == "Float64"
    assert frame.attrs["kinds"] == {"polite": "discrete", "marks": "numeric", "longer": "ranking"}


def test_each_metric_has_a_ledger_that_adds_up(tmp_path: Path):
    path = cases(tmp_path, {"case_id": "a", "answer": "please"}, "", {"case_id": "b"}, "{")
    ledgers = score_all([polite, broken], path).ledgers
    assert [(led.lines, led.blank) for led in ledgers.values()] == [(4, 1), (4, 1)]
    assert (ledgers["polite"].total(state="scored"), ledgers["polite"].total(state="invalid")) == (1, 2)
    assert (ledgers["broken"].total(state="error"), ledgers["broken"].total(state="invalid")) == (1, 2)


def test_one_metrics_faults_never_touch_anothers_rows(tmp_path: Path):
    # Row b misspells what coverage needs; row c lacks what polite needs; broken fails everywhere.
    path = cases(
        tmp_path,
        {"case_id": "a", "answer": "please", "required_claim_ids": ["x"], "supported_claim_ids": []},
        {"case_id": "b", "answer": "please", "required_claim_id": ["x"], "supported_claim_ids": []},
        {"case_id": "c", "required_claim_ids": ["x"], "supported_claim_ids": ["x"]},
    )
    frame = score_all([broken, evidence_coverage, polite], path).frame
    assert frame["broken_state"].tolist() == ["error", "error", "invalid"]
    assert frame["evidence_coverage"].tolist() == [0.0, pd.NA, 1.0]
    assert "'required_claim_id' is one slip away" in frame["evidence_coverage_reason"][1]
    assert frame["polite"].tolist() == ["pass", "pass", pd.NA]


@pytest.mark.parametrize("file", ["release", "incident", "invalid", "contract"])
def test_one_pass_gives_each_metric_the_bytes_it_would_have_alone(file: str, tmp_path: Path):
    path = FIXTURES / "evidence_coverage" / f"{file}.jsonl"
    missing = make_metric(lambda_free, (0.0, 1.0), name="share")
    metrics: list[Metric] = [evidence_coverage, missing]
    together = score_to_runs(metrics, path, tmp_path / "both")
    for metric in metrics:
        alone = score_to_run(metric, path, tmp_path / metric.name)
        both = together[metric.name]
        assert both.run.records_path.read_bytes() == alone.run.records_path.read_bytes()
        assert both.ledger.facts() == alone.ledger.facts()
        assert both.findings == alone.findings
        changing = {"run_id", "started", "seconds"}
        assert {k: v for k, v in both.run.manifest.items() if k not in changing} == {
            k: v for k, v in alone.run.manifest.items() if k not in changing
        }


def lambda_free(required_claim_ids: list[str], supported_claim_id: list[str] | None = None) -> float:
    return 1.0 if supported_claim_id is None else len(supported_claim_id) / len(required_claim_ids)


def test_each_line_is_read_once_for_all_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from evalkit.cases import identity, read

    seen: list[bytes] = []
    real = read.parse_object
    for module in (identity, read):
        monkeypatch.setattr(module, "parse_object", lambda raw: seen.append(raw) or real(raw))
    stream_all([polite, marks, broken], cases(tmp_path, {"case_id": "a", "answer": "x"}, {"case_id": "b"}))
    assert len(seen) == 2


def test_a_case_id_that_occurs_twice_is_invalid_for_every_metric(tmp_path: Path):
    path = cases(tmp_path, {"case_id": "a", "answer": "please"}, {"case_id": "a", "answer": "please"})
    frame = score_all([polite, marks], path).frame
    assert set(frame["polite_state"]) == set(frame["marks_state"]) == {"invalid"}
    assert "also on line 2" in frame["marks_reason"][0]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("share", "share"), "two of these metrics have the same name: share"),
        (("share", "share_state"), "the column 'share_state' of share_state is already that of share"),
        (("share_reason", "share"), "the column 'share_reason' of share is already that of share_reason"),
    ],
)
def test_metrics_whose_columns_would_hide_each_other_are_refused(names: tuple[str, str], message: str, tmp_path: Path):
    metrics = [make_metric(lambda_free, (0.0, 1.0), name=name) for name in names]
    with pytest.raises(EvalkitError, match=message):
        score_all(metrics, cases(tmp_path, {"case_id": "a"}))


def test_a_reserved_name_is_refused_even_if_it_came_past_the_lint(tmp_path: Path):
    object.__setattr__(metric := make_metric(lambda_free, (0.0, 1.0), name="fine"), "name", "reason")
    with pytest.raises(EvalkitError, match="may not be named 'reason'"):
        score_all([metric], cases(tmp_path, {"case_id": "a"}))
    with pytest.raises(EvalkitError, match="at least one metric is needed"):
        score_all([], cases(tmp_path, {"case_id": "a"}))


def test_a_feed_holds_for_each_metric_that_has_the_parameter(tmp_path: Path):
    path = cases(tmp_path, {"case_id": "a", "said": "please!", "answers": ["", "x"]})
    frame = score_all([polite, marks, longer], path, feeds={"answer": "said"}).frame
    assert (frame["polite"][0], frame["marks"][0], frame["longer"][0]) == ("pass", 1, [1, 0])
    with pytest.raises(EvalkitError, match="names 'respons', which none of these metrics takes"):
        score_all([polite, marks], path, feeds={"respons": "said"})


def test_a_judge_is_replayed_where_verdicts_lie_beside_the_cases_and_never_asked(tmp_path: Path):
    from evalkit.metrics.refund_answer import refund_answer

    recorded = score_all([refund_answer], FIXTURES / "refund_answer" / "cases.jsonl")
    assert recorded.ledgers["refund_answer"].total(state="scored") == 13
    bare = tmp_path / "cases.jsonl"
    bare.write_bytes((FIXTURES / "refund_answer" / "cases.jsonl").read_bytes())
    frame = score_all([refund_answer], bare).frame
    assert frame["refund_answer"].isna().all()
    assert "unrun" in set(frame["refund_answer_state"])


def test_there_must_be_a_file(tmp_path: Path):
    with pytest.raises(EvalkitError, match="there is no such file of cases"):
        score_all([polite], tmp_path / "absent.jsonl")


def test_the_command_line_makes_one_run_a_metric_in_one_pass(tmp_path: Path):
    (tmp_path / "mine.py").write_text(
        "from evalkit import discrete_metric\n\n@discrete_metric()\ndef polite(answer: str) -> str:\n"
        "    return 'pass' if 'please' in answer else 'fail'\n",
        encoding="utf-8",
    )
    cases(tmp_path, {"case_id": "a", "answer": "please", "required_claim_ids": ["x"], "supported_claim_ids": ["x"]})
    command = [sys.executable, "-m", "evalkit", "score", "evidence_coverage", "mine.py:polite", "cases.jsonl"]
    done = subprocess.run(
        [*command, "--run", "runs/all", "--json", "ledgers.json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.parent.name for path in tmp_path.glob("runs/all/*/manifest.json")) == [
        "evidence_coverage", "polite",
    ]  # fmt: skip
    assert {name: led["scored"] for name, led in json.loads((tmp_path / "ledgers.json").read_text()).items()} == {
        "evidence_coverage": 1, "polite": 1,
    }  # fmt: skip
    again = subprocess.run([*command, "--run", "runs/all"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "never overwritten" in again.stderr


# --- values passed on in one pass -----------------------------------------------------------------------------------


@discrete_metric(allowed_values=["yes", "no"])
def asked(said: str) -> str:
    return said


@discrete_metric()
def combined(verdict: str, answer: str) -> str:
    return "pass" if verdict == "yes" else "fail"


def test_a_value_is_passed_on_to_another_metric_in_the_same_pass_whatever_their_order(tmp_path: Path):
    rows = {"a": "yes", "b": "no", "c": "perhaps", "d": None, "e": "yes"}
    lines = [{"case_id": name, "answer": "x", "said": said} for name, said in rows.items()]
    lines[4]["answer"] = 3  # unfit for the second metric alone
    # What the case itself says of the verdict does not count.
    lines[1]["verdict"] = "yes"
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    scored = score_all([combined, asked], cases, verdicts={"verdict": "asked"})
    found = [(record.state, record.value) for record in scored.records["combined"]]
    assert found == [
        ("scored", "pass"), ("scored", "fail"), ("error", None), ("invalid", None), ("invalid", None),
    ]  # fmt: skip
    assert scored.records["combined"][2].reason.startswith("verdict: asked returned 'perhaps'")
    assert [record.value for record in scored.records["asked"]] == ["yes", "no", None, None, "yes"]


@pytest.mark.parametrize(
    ("verdicts", "message"),
    [
        ({"verdct": "asked"}, "--verdict names 'verdct', which none of these metrics takes"),
        ({"verdict": "askd"}, "--verdict verdict=askd names none of the metrics given"),
        ({"verdict": "combined"}, "combined takes a verdict and is one itself"),
    ],
)
def test_a_verdict_that_leads_nowhere_is_refused(tmp_path: Path, verdicts: dict[str, str], message: str):
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"case_id": "a", "answer": "x", "said": "yes"}\n', encoding="utf-8")
    with pytest.raises(EvalkitError) as caught:
        score_all([combined, asked], cases, verdicts=verdicts)
    assert message in str(caught.value)
