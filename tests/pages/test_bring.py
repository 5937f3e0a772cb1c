"""From traces to a gated run: cases, their stamp, what the run keeps of it, and when the gate stops trusting it."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.adapter_stamp import stamp_path
from evalkit.cases.adapters import Adapter, PassagesAt
from evalkit.cases.adapters.shipped import SHIPPED
from evalkit.cases.claims import Claim, claims_table
from evalkit.contract import EvalkitError, Outcome
from evalkit.decisions.explain import explain
from evalkit.decisions.gate import GateOptions, GateResult, gate
from evalkit.pages.audit_text import audit_screen
from evalkit.pages.bring_run import adapt, run_adapt, run_audit
from evalkit.pages.claims_run import draft_from, run_claims_draft
from evalkit.pages.gate_run import GateOutputs, run_gate
from evalkit.pages.publish import score_to_run
from evalkit.scoring.load import load_metric
from evalkit.scoring.load_adapter import LoadedAdapter
from evalkit.scoring.run import open_run

FIXTURES = Path(__file__).parents[2] / "fixtures"
TRACES = FIXTURES / "adapters/plain.jsonl"
POLICY = FIXTURES / "evidence_coverage/policy.toml"
AS_OF = date(2026, 12, 1)


def reviewed(tmp_path: Path, *, but: str = "") -> Path:
    """Decide every proposed claim as its words suggest; nobody would do it like that outside a test."""
    drafted = draft_from("plain", TRACES)
    claims = [
        claim._replace(decision="approve", supported="yes" if claim.answer_says == "found" else "no", reviewer="r1")
        for claim in drafted.claims
        if claim.case_id != but
    ]
    path = tmp_path / "claims.csv"
    path.write_bytes(claims_table(claims))
    return path


def adapted(tmp_path: Path, name: str = "cases.jsonl", adapter: Adapter | None = None) -> Path:
    out = tmp_path / name
    loaded = LoadedAdapter(adapter or SHIPPED["plain"], None)
    adapt(loaded, TRACES, out, [load_metric("evidence_coverage")], claims=reviewed(tmp_path))
    return out


def gated(cases: Path) -> GateResult:
    return gate(load_metric("evidence_coverage"), cases, POLICY, options=GateOptions(as_of=AS_OF))


def kinds(result: GateResult) -> set[str]:
    return {blocker.kind for blocker in result.blockers}


def test_plain_traces_become_cases_that_a_gate_judges(tmp_path: Path) -> None:
    result = gated(adapted(tmp_path))
    assert result.ledger.lines == 24
    # 23 answers, and one trace whose application failed: it has no answer that could support anything.
    assert (result.ledger.total(state="scored"), result.ledger.total(state="invalid")) == (23, 1)
    assert "adapter" not in kinds(result)
    assert result.adapter is not None
    assert (result.adapter["name"], result.adapter["audit"]["outcome"]) == ("plain", "passed")


def test_revision_mapping_and_audit_travel_into_the_manifest_of_every_run(tmp_path: Path) -> None:
    cases = adapted(tmp_path)
    score_to_run(load_metric("evidence_coverage"), cases, tmp_path / "scored")
    run_gate("evidence_coverage", cases, POLICY, {"as_of": AS_OF}, GateOutputs(run=tmp_path / "gated", format="none"))
    for name in ("scored", "gated"):
        kept = open_run(tmp_path / name).manifest["adapter"]
        assert kept["revision"] == "1"
        assert kept["mapping"]["meanings"]["answer"] == {"path": ["answer"]}
        assert kept["audit"]["controls"] == {"ok": 19, "of": 19}
        assert str(tmp_path) not in json.dumps(kept)
    again = gate(load_metric("evidence_coverage"), tmp_path / "scored", POLICY, options=GateOptions(as_of=AS_OF))
    assert again.adapter == kept
    assert "adapter" not in kinds(again)


def test_cases_that_no_adapter_made_are_gated_as_before(tmp_path: Path) -> None:
    cases = adapted(tmp_path)
    stamp_path(cases).unlink()
    assert gated(cases).adapter is None


def test_a_failed_audit_makes_every_gate_of_the_cases_incomplete(tmp_path: Path) -> None:
    faulty = replace(SHIPPED["plain"], name="faulty", retrieved=PassagesAt(path="reference_contexts"))
    result = gated(adapted(tmp_path, adapter=faulty))
    assert "adapter" in kinds(result)
    assert result.outcome is Outcome.incomplete


def test_explain_names_the_adapter_when_it_changed(tmp_path: Path) -> None:
    old, new = adapted(tmp_path, "old.jsonl"), None
    changed = replace(SHIPPED["plain"], name="plain", revision="2", answer=("answer", "reference"), error=None)
    new = adapted(tmp_path, "new.jsonl", adapter=changed)
    rows = [json.loads(line) for line in new.read_text().splitlines()]
    first = next(row for row in rows if row["supported_claim_ids"])
    first["supported_claim_ids"] = []
    new.write_text("".join(json.dumps(row) + "\n" for row in rows))
    metric = load_metric("evidence_coverage")
    runs = []
    for name, cases in (("old", old), ("new", new)):
        score_to_run(metric, cases, tmp_path / name)
        runs.append(open_run(tmp_path / name))
    explained = explain(runs[1], runs[0])
    rows_of = {row.case_id: row for row in explained.rows}
    assert rows_of[first["case_id"]].first_divergence == "adapter"
    assert rows_of[first["case_id"]].owner == "adapter"


# --- claims ---------------------------------------------------------------------------------------------------------


def test_undecided_claims_make_their_rows_invalid_and_name_the_test_data_owner(tmp_path: Path) -> None:
    out = tmp_path / "cases.jsonl"
    loaded = LoadedAdapter(SHIPPED["plain"], None)
    adapt(loaded, TRACES, out, [load_metric("evidence_coverage")], claims=reviewed(tmp_path, but="t03"))
    result = gated(out)
    (blocker,) = [blocker for blocker in result.blockers if blocker.kind == "invalid"]
    assert [(row.case_id, row.owner, row.reason) for row in blocker.rows] == [
        ("t03", "test-data", "no claims were reviewed for this case"),
        ("t13", "answer", "the application failed: the model did not answer within 30 seconds"),
    ]


def test_a_sheet_is_drafted_once_and_never_written_over(tmp_path: Path) -> None:
    out = tmp_path / "claims.csv"
    drafted = run_claims_draft("plain", TRACES, out)
    assert len({claim.case_id for claim in drafted.claims}) == 24
    assert "to decide: 29 of 29" in drafted.screen("claims.csv")
    with pytest.raises(EvalkitError, match="exists already, and may hold decisions"):
        run_claims_draft("plain", TRACES, out)
    again = run_claims_draft("plain", TRACES, tmp_path / "next.csv", keep=reviewed(tmp_path))
    assert not any(claim.is_open for claim in again.claims)  # same answers: what was decided stays decided


def test_traces_without_a_reference_are_named_not_left_out(tmp_path: Path) -> None:
    path = tmp_path / "traces.jsonl"
    path.write_text('{"trace_id": "a", "question": "q", "answer": "x"}\n{cut\n')
    drafted = draft_from("plain", path)
    assert (drafted.claims, drafted.without_reference, drafted.unusable) == ((), ("a",), ("line-000002",))
    assert "without a reference to draft from: 1 (a)" in drafted.screen("out.csv")


# --- files and screens ----------------------------------------------------------------------------------------------


def test_cases_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "cases.jsonl"
    out.write_text("what was there before\n")
    with pytest.raises(EvalkitError):
        run_adapt("plain", tmp_path / "missing.jsonl", out)
    assert out.read_text() == "what was there before\n"
    assert [path.name for path in tmp_path.iterdir()] == ["cases.jsonl"]
    with pytest.raises(EvalkitError, match="would be written over the traces"):
        run_adapt("plain", out, out)


def test_every_screen_fits_eighty_columns_and_shows_no_control_character(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in TRACES.read_text().splitlines()]
    rows[0]["trace_id"] = "t\x1b[31m\u202e" + "x" * 200
    rows[0]["reference_contexts"] = []
    traces = tmp_path / "traces.jsonl"
    traces.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run_audit("plain", traces, ["evidence_coverage"])
    for screen in (done.screen, run_adapt("plain", traces, tmp_path / "cases.jsonl").screen):
        assert max(map(len, screen.splitlines())) <= 80
        assert all(character.isprintable() or character == "\n" for character in screen)


def test_an_audit_prints_what_a_metric_answers_and_what_it_cannot_see(tmp_path: Path) -> None:
    screen = run_audit("plain", TRACES, ["refund_answer"]).screen
    assert "input reference (reviewed, required) receives reference" in screen
    assert "cannot establish: whether the reference itself is right" in " ".join(screen.split())
    assert "killed 26 of 26" in screen


def test_a_failing_check_shows_its_rows_before_anything_that_holds(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in TRACES.read_text().splitlines()]
    rows[4]["retrieved"] = None
    traces = tmp_path / "traces.jsonl"
    traces.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = replace(SHIPPED["plain"], retrieved="retrieved")
    from evalkit.mutate.traces import audit

    found = audit(plain, traces)
    lines = audit_screen(found).splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("-- checks that fail: 1, owner adapter"))
    assert "t05 (line 5): all 2 passages that generation was given are missing (null)" in " ".join(lines[at : at + 5])
    assert lines[-2 if lines[-1].startswith("  ") else -1].startswith("INCOMPLETE (exit code 2): 1 checks fail")


def test_claims_read_from_a_sheet_are_part_of_the_stamp(tmp_path: Path) -> None:
    cases = adapted(tmp_path)
    facts: dict[str, Any] = json.loads(stamp_path(cases).read_text())
    assert facts["audit"]["claims_sha256"].startswith("sha256:")
    assert facts["audit"]["planted"]["survived"] == []
    assert Claim._fields[0] == "case_id"
