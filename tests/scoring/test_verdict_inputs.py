"""A figure combined from verdicts of earlier runs hides none of them, and an unreadable one is no unfavourable one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalkit.contract import EvalkitError, Metric, discrete_metric
from evalkit.metrics.medical import medical_safety
from evalkit.pages.publish import score_to_run
from evalkit.scoring.run import open_run

NAMES = ("risk_warnings", "professional_advice", "limitations_stated")


def verdict_of(key: str) -> Metric:
    """Return a stand-in for a judge: it reads its verdict from the row, or fails like a reply that cannot be read."""

    def verdict(said: str) -> str:
        if said == "unreadable":
            msg = "the reply is prose"
            raise RuntimeError(msg)
        return said

    return discrete_metric(name=f"judge_of_{key}", allowed_values=["yes", "no"])(verdict)


@pytest.fixture
def world(tmp_path: Path) -> dict[str, Any]:
    """Rows whose three verdicts were run apart."""
    said = {
        "all": ("yes", "yes", "yes"),
        "one-no": ("yes", "no", "yes"),
        "unreadable": ("yes", "unreadable", "no"),
        "two-lost": ("unreadable", "unreadable", "yes"),
        "unasked": ("yes", None, "yes"),
    }
    rows = [{"case_id": name, "said": dict(zip(NAMES, words, strict=True))} for name, words in said.items()]
    cases = tmp_path / "cases.jsonl"
    # Each judge reads a key of its own; a key that is absent makes the row invalid for that judge alone.
    lines = [
        {"case_id": row["case_id"], **{f"{k}_said": v for k, v in row["said"].items() if v is not None}} for row in rows
    ]
    cases.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    runs = {}
    for name in NAMES:
        score_to_run(verdict_of(name), cases, tmp_path / name, feeds={"said": f"{name}_said"})
        runs[name] = tmp_path / name
    return {"cases": cases, "runs": runs, "folder": tmp_path}


def test_a_verdict_that_could_not_be_read_is_an_error_and_never_a_no(world: dict[str, Any]):
    scored = score_to_run(medical_safety, world["cases"], world["folder"] / "safety", verdicts=world["runs"])
    found = {record.case_id: record for record in scored.run.records()}
    assert [(r.state, r.value) for r in found.values()] == [
        ("scored", "pass"), ("scored", "fail"), ("error", None), ("error", None), ("invalid", None),
    ]  # fmt: skip
    assert found["one-no"].reason == "risk_warnings=yes; professional_advice=no; limitations_stated=yes"
    assert found["one-no"].detail["absent"] == ["professional_advice"]
    assert found["unreadable"].reason.startswith("professional_advice: RuntimeError")
    assert found["two-lost"].reason.endswith("(and 1 more of its verdicts are missing)")
    assert (found["unreadable"].owner, found["unasked"].owner) == ("metric", "test-data")
    assert scored.ledger.total() == 5


def test_the_run_names_the_runs_it_rests_on(world: dict[str, Any]):
    scored = score_to_run(medical_safety, world["cases"], world["folder"] / "safety", verdicts=world["runs"])
    sources = scored.run.manifest["verdicts"]
    assert sorted(sources) == sorted(NAMES)
    first = open_run(world["runs"]["risk_warnings"]).manifest
    assert sources["risk_warnings"] == {
        "run_id": first["run_id"], "metric": "judge_of_risk_warnings", "records_sha256": first["records_sha256"],
    }  # fmt: skip
    assert str(world["folder"]) not in json.dumps(scored.run.manifest)


def test_a_verdict_over_another_file_is_refused(world: dict[str, Any]):
    other = world["folder"] / "other.jsonl"
    other.write_bytes(world["cases"].read_bytes() + b'{"case_id": "new"}\n')
    with pytest.raises(EvalkitError, match=r"is a run over other cases than other\.jsonl"):
        score_to_run(medical_safety, other, world["folder"] / "safety", verdicts=world["runs"])
    assert not (world["folder"] / "safety").exists()


def test_a_verdict_that_was_changed_by_hand_is_refused(world: dict[str, Any]):
    records = world["runs"]["risk_warnings"] / "records.jsonl"
    records.write_text(records.read_text(encoding="utf-8").replace('"yes"', '"no"'), encoding="utf-8")
    with pytest.raises(EvalkitError, match="changed after the run was finished"):
        score_to_run(medical_safety, world["cases"], world["folder"] / "safety", verdicts=world["runs"])


def test_a_parameter_that_the_metric_does_not_have_is_refused(world: dict[str, Any]):
    with pytest.raises(EvalkitError, match="--verdict names 'warnings', which medical_safety does not take"):
        score_to_run(
            medical_safety, world["cases"], world["folder"] / "x", verdicts={"warnings": world["runs"]["risk_warnings"]}
        )


def test_the_other_inputs_still_come_from_the_rows(world: dict[str, Any]):
    only = {"professional_advice": world["runs"]["professional_advice"]}
    feeds = {"risk_warnings": "risk_warnings_said", "limitations_stated": "limitations_stated_said"}
    scored = score_to_run(medical_safety, world["cases"], world["folder"] / "safety", feeds=feeds, verdicts=only)
    found = {record.case_id: record for record in scored.run.records()}
    assert (found["all"].value, found["one-no"].value) == ("pass", "fail")
    assert found["two-lost"].state == "error"


def test_three_bundled_judges_are_replayed_combined_and_gated_from_the_command_line(tmp_path: Path):
    folder = Path(__file__).parents[2] / "fixtures" / "medical_safety"
    rows = folder / "release.jsonl"

    def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "evalkit", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)

    judges = ("medical_risk_warnings", "medical_professional_advice", "medical_limitations")
    options: list[str] = []
    for parameter, judge in zip(NAMES, judges, strict=True):
        assert run("judge", judge, rows, "--run", judge).returncode == 0
        options += ["--verdict", f"{parameter}={judge}"]
    scored = run("score", "medical_safety", rows, "--run", "safety", *options)
    assert scored.returncode == 0, scored.stderr
    gated = run("gate", "medical_safety", "safety", "--policy", folder / "policy.toml", "--as-of", "2026-12-01")
    assert gated.returncode == 0, gated.stdout
    assert "8 of 8 decided blocking rows pass" in gated.stdout
    # What the judges were recorded to say is what the rows of the file state.
    values = [record.value for record in open_run(tmp_path / "safety").records()]
    stated = [json.loads(line) for line in rows.read_text(encoding="utf-8").splitlines()]
    assert values == ["pass" if all(row[name] == "yes" for name in NAMES) else "fail" for row in stated]
    twice = run("score", "medical_safety", "evidence_coverage", rows, "--run", "x", *options)
    assert twice.returncode == 2
    assert "--verdict risk_warnings=medical_risk_warnings names none of the metrics given" in twice.stderr
    # In one pass over the same rows the three judges feed the combined figure, and it names the runs it rests on.
    once = run("score", "medical_safety", *judges, rows, "--run", "pass", *options)
    assert once.returncode == 0, once.stderr
    assert "made by the rules in rule.py, not by a model" in " ".join(once.stdout.split())
    passed = open_run(tmp_path / "pass" / "medical_safety")
    assert [record.value for record in passed.records()] == values
    assert passed.manifest["verdicts"]["limitations_stated"]["metric"] == "medical_limitations"
    assert "--verdict must be PARAM=RUN" in run("score", "medical_safety", rows, "--run", "x", "--verdict", "a").stderr
