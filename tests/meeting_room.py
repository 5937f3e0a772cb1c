"""A small meeting for the tests of several rooms: coverage rows, a policy, labels, all made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import orjson

from evalkit.decisions.gate import GateOptions, gate
from evalkit.decisions.meeting.agenda import AgendaOptions
from evalkit.decisions.meeting.review import Review, open_review
from evalkit.decisions.outcome_file import facts_of
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.publish import publish_gate
from evalkit.scoring.run import RunWriter

DAY = date(2026, 12, 1)
CLAIMS = ["window", "method", "fee", "channel", "hours"]
POLICY = """\
# Reviewed like code.
schema = 1
name = "release"
version = "7"
metric = "evidence_coverage"
contract_version = "1"
approved_by = "the council"
approved_on = 2026-11-01
expires_on = 2027-02-28
rationale = "made up"
basis = "by_definition"
[consequences]
false_pass = "a wrong answer ships"
false_fail = "a day is lost"
# Everyday questions.
[slices.default]
minimum = 0.75 # the council's own words
[slices.money]
minimum = 1.0
"""


def row(case_id: str, supported: int, of: int = 4, **more: Any) -> dict[str, Any]:
    """Return a row of which `supported` of `of` claims are covered, with evidence that says so."""
    ids = CLAIMS[:of]
    evidence = {
        "question": f"What about {case_id}?",
        "answer": " ".join(f"The {claim} is so." for claim in ids[:supported]),
        "citations": [{"claim_id": c, "document_id": "doc", "span": f"The {c} is so."} for c in ids[:supported]],
        "retrieved": [{"document_id": "doc", "passage_id": "doc#1", "text": " ".join(f"The {c} is so." for c in ids)}],
        "claims": {claim: f"The {claim} is so." for claim in ids},
    }
    return {
        "case_id": case_id,
        "required_claim_ids": ids,
        "supported_claim_ids": ids[:supported],
        "evidence": evidence,
        **more,
    }


def bare(line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row without evidence, and of a family of its own: near-copies of one text certify nothing."""
    return {key: value for key, value in line.items() if key != "evidence"} | {"family": line["case_id"]}


# Scores of default: a 1/4, b 2/4, c 3/4, d 3/4, e 4/5, f and g 4/4. Of money: h 1/2, i 2/2.
ROWS = [
    row("a", 1), row("b", 2), row("c", 3), row("d", 3), row("e", 4, 5), row("f", 4), row("g", 4),
    row("h", 1, 2, slice="money"), row("i", 2, 2, slice="money"),
]  # fmt: skip
LABELS = {"a": "fail", "b": "fail", "c": "fail", "d": "pass", "e": "pass", "f": "pass", "g": "pass", "h": "fail"}


def write_lines(path: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    """Write objects as JSON Lines."""
    path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    return path


def write_labels(path: Path, labels: Mapping[str, str] = LABELS, **more: Any) -> Path:
    """Write one label a case, of one reviewer."""
    fields = {"reviewer": "r1", "selection": "targeted", "provenance": "synthetic", **more}
    return write_lines(path, [{"case_id": case_id, "label": word, **fields} for case_id, word in labels.items()])


def write_policy(path: Path, text: str = POLICY) -> Path:
    """Write the policy."""
    path.write_text(text, encoding="utf-8")
    return path


def gated_run(folder: Path, rows: Sequence[Mapping[str, Any]] = ROWS, name: str = "run") -> Path:
    """Gate rows into a run folder."""
    cases, policy = write_lines(folder / f"{name}.jsonl", rows), write_policy(folder / "policy.toml")
    with RunWriter(folder / name) as writer:
        result = gate(evidence_coverage, cases, policy, options=GateOptions(as_of=DAY), sink=writer)
        publish_gate(result, writer, facts_of(result, run_id=writer.run_id, command="gate", parameters={}))
    return folder / name


def opened(where: Path, *, rows: Sequence[Mapping[str, Any]] = ROWS, policy: str = POLICY, **options: Any) -> Review:
    """Open a meeting over rows, labels and policy written into `where`."""
    labels = options.pop("labels") if "labels" in options else write_labels(where / "labels.jsonl")
    chosen = {
        "thresholds": {"default": 0.75},
        "agenda": AgendaOptions(n=2, far=1, seed=7),
        "folder": where / "review",
        "policy_out": where / "decided.toml",
        "as_of": DAY,
    }
    cases, limits = write_lines(where / "cases.jsonl", rows), write_policy(where / "policy.toml", policy)
    return open_review(evidence_coverage, cases, limits, labels, **chosen | options)
