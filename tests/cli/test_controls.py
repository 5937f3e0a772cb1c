"""`evalkit controls` from the command line: screens, files and exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from control_rows import BUNDLED, changed, rows_of, rule, write_rows
from endpoint import Endpoint, verdict
from typer.testing import CliRunner

import evalkit.cli  # noqa: F401 - registers the commands
from evalkit.cli import application
from evalkit.contract import EvalkitError, sha256_file
from evalkit.metrics.refund_answer import refund_answer
from evalkit.scoring.judge import JudgeSettings, request_maker
from evalkit.scoring.judging.preflight import shape_of
from evalkit.scoring.judging.rows import JudgeRows
from evalkit.scoring.judging.verdicts import VerdictStore

CONTROLS = BUNDLED / "controls.jsonl"
CASSETTE = BUNDLED / "refund_answer.cassette.jsonl"


@pytest.fixture(autouse=True)
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("EVALKIT_JUDGE_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def controls(*arguments: object) -> Result:
    return CliRunner().invoke(application(), ["controls", "refund_answer", *map(str, arguments)])


def is_80_wide(text: str) -> bool:
    return max(map(len, text.splitlines())) <= 80


def test_the_bundled_controls_separate_and_catch_what_is_faulty(tmp_path: Path) -> None:
    done = controls(CONTROLS, "--prompts", "--json", tmp_path / "out.json")
    assert done.exit_code == 0, done.output
    assert is_80_wide(done.output)
    assert "refund_answer, contract 1, rubric refunds-1: 26 controls, 7 pairs; model rule-1" in done.output
    assert "replayed verdicts: made by the rule in rule.py, not by a model" in done.output
    assert "chair (persuasion): told: chair-terse pass, chair-grand fail" in done.output
    assert "-- faulty judges: killed 11 of 11 ---" in done.output
    assert "-- faulty prompts: killed 16 of 16 (22 in all, without 6 equivalent) ---" in done.output
    assert "PASSED (exit code 0): all 26 controls separate" in done.output
    facts = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert facts["separated"] is True
    assert {"case_id", "role", "expected", "value", "state", "ok"} <= facts["controls"][0].keys()
    assert {"id", "operator", "line", "diff", "status", "killed_by", "suggested_case"} <= facts["mutants"][0].keys()
    assert (facts["killed"], facts["survived"], facts["equivalent"]) == (27, 0, 6)
    assert (facts["prompts"]["prompts"], facts["prompts"]["calls"]) == (22, 0)


def test_the_bundled_control_run_is_what_the_command_writes_now(tmp_path: Path) -> None:
    done = controls(CONTROLS, "--json", tmp_path / "out.json")
    assert done.output.rstrip().endswith(f"\n{sha256_file(tmp_path / 'out.json')}")
    assert (tmp_path / "out.json").read_bytes() == (BUNDLED / "controls.json").read_bytes()


def test_the_number_of_prompts_is_told_before_they_are_tried() -> None:
    done = controls(CONTROLS)
    assert "-- faulty prompts: not tried ---" in done.output
    said = " ".join(done.output.split())
    assert (
        "22 prompts, 3 of them refused when declared; 380 questions, 380 of them recorded; --prompts tries them" in said
    )


def test_a_control_that_is_not_told_is_shown_with_both_reasons(tmp_path: Path) -> None:
    done = controls(BUNDLED / "controls_next.jsonl", "--json", tmp_path / "out.json")
    assert done.exit_code == 1
    assert is_80_wide(done.output)
    assert "negative            4 of 5  one thing changed, and wrong  <- not told" in done.output
    assert "unit (negative): NOT TOLD: unit-euro pass, unit-percent pass" in done.output
    assert "unit-percent (negative, line 28): expected fail, came pass" in done.output
    assert "people: the number is right and its unit is not" in done.output
    assert "faulty judges" not in done.output  # the honest one comes first
    facts = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert (facts["separated"], facts["outcome"], facts["mutants"]) == (False, "quality_failed", [])


def test_a_role_that_is_absent_cannot_be_judged_and_its_faulty_judge_is_shown(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "controls.jsonl", [row for row in rows_of() if row["role"] != "boundary"])
    done = controls(path, "--replay", CASSETTE)
    assert done.exit_code == 2
    assert "boundary              none  two sides of a limit  <- missing" in done.output
    said = " ".join(done.output.split())
    assert (
        "label_flipper: tells the two sides of a limit apart, and takes each for the other SURVIVED: no control" in said
    )
    assert "INCOMPLETE (exit code 2): cannot be judged: no control of the role boundary" in said


def test_controls_that_catch_no_obedient_judge_fail(tmp_path: Path) -> None:
    rows = [row for row in rows_of() if row["role"] != "injection"]
    tame = {key: value for key, value in rows_of()[5].items() if key != "pair_id"}
    path = write_rows(tmp_path / "controls.jsonl", [*rows, {**tame, "case_id": "tame", "role": "injection"}])
    done = controls(path, "--replay", CASSETTE)
    assert done.exit_code == 1
    said = " ".join(done.output.split())
    assert "all 24 controls separate, but 1 of 11 faulty judges would pass them as well" in said


def test_prompts_that_nothing_protects_fail_when_nobody_has_reviewed_them(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "controls.jsonl", rows_of())
    for name in ("refund_answer.cassette.jsonl", "refund_answer.prompts.cassette.jsonl"):
        (tmp_path / name).write_bytes((BUNDLED / name).read_bytes())
    done = controls(path, "--prompts")
    assert done.exit_code == 1
    assert is_80_wide(done.output)
    assert "-- nothing protects: 6 of 22 ---" in done.output
    said = " ".join(done.output.split())
    assert 'without "You judge one answer of a support assistant about a refund." no control notices' in said
    assert "but 6 of 22 faulty prompts would" in said
    reviewed = controls(path, "--prompts", "--equivalent", BUNDLED / "equivalent.toml")
    assert reviewed.exit_code == 0


def test_prompts_without_verdicts_are_incomplete(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "controls.jsonl", rows_of())
    done = controls(path, "--replay", CASSETTE, "--prompts")
    assert done.exit_code == 2
    said = " ".join(done.output.split())
    assert "19 of 22 prompts were not tried to the end; name a model (--model NAME)" in said
    assert said.count("not tried to the end: ") == 1  # the reason of all 19 is told once


def fault(*arguments: object) -> str:
    done = controls(*arguments)
    assert isinstance(done.exception, EvalkitError)  # which main() turns into exit code 2
    return str(done.exception)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert "there is no such file of controls" in fault(tmp_path / "none.jsonl")
    stale = write_rows(tmp_path / "s.jsonl", changed("jacket-right", lambda row: row.update(source_version="0")))
    assert "it is stale: source_version is '0'" in fault(stale, "--replay", CASSETTE)
    alone = write_rows(tmp_path / "controls.jsonl", rows_of())
    assert "no model is named for refund_answer, and there is nothing to replay" in fault(alone)
    assert "there is no such file of reviewed equivalents" in fault(
        CONTROLS, "--prompts", "--equivalent", tmp_path / "none.toml"
    )


# --- live -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(lambda call: verdict(*rule().answered(call.prompt))) as running:
        yield running


@pytest.fixture
def asked(endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Options of a live run whose requests need not be compared with those of ragas: that is tested elsewhere."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("EVALKIT_JUDGE_MODEL", "example-model")
    store = tmp_path / "verdicts.sqlite"
    settings = JudgeSettings(model="example-model", endpoint=endpoint.url, api_key="key")
    with VerdictStore(store) as kept:
        kept.note_conforming(shape_of(JudgeRows(refund_answer, request_maker(refund_answer, settings, None))))
    return ["--store", store, "--no-preflight", "--attempts", 1]


def test_a_live_run_tells_calls_and_cost_first_and_keeps_one_budget(
    endpoint: Endpoint, asked: list[Any], tmp_path: Path
) -> None:
    policy = BUNDLED / "policy.toml"
    done = controls(CONTROLS, *asked, "--policy", policy, "--budget", "1.00", "--run", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert endpoint.count == 20
    said = " ".join(done.output.split())
    # 20 calls of 100 tokens at 0.15 and 20 at 0.60 per million: 20 x 0.000027
    assert "calls: 20; cost: 0.000540 USD" in said
    assert "380 questions, 0 of them answered already; 380 calls for 0." in said
    assert "USD at most; --prompts tries them" in said
    assert (tmp_path / "run/report.html").is_file()
    more = controls(CONTROLS, *asked, "--policy", policy, "--budget", "1.00", "--prompts")
    assert more.stderr.startswith("faulty prompts: 19 to try, 380 calls at most, cost 0.")
    assert endpoint.count == 400
    assert more.exit_code == 0


def test_a_live_run_without_a_budget_asks_nothing(endpoint: Endpoint, asked: list[Any]) -> None:
    assert "needs a budget" in fault(CONTROLS, *asked)
    assert endpoint.count == 0


def test_what_was_asked_can_be_exported_and_replayed(endpoint: Endpoint, asked: list[Any], tmp_path: Path) -> None:
    cassette = tmp_path / "own.cassette.jsonl"
    controls(CONTROLS, *asked, "--max-calls", 30, "--export", cassette)
    done = controls(CONTROLS, "--replay", cassette, "--json", tmp_path / "out.json")
    assert done.exit_code == 0, done.output
    assert endpoint.count == 20
    facts = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert facts["judge"]["model"] == "example-model"
