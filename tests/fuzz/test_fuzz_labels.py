"""Any bytes as labels: read or refused in words by every command that takes them."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hostile import bent, broken, evalkit, look_for
from hypothesis import strategies as st

pytestmark = pytest.mark.fuzz

CALIBRATION = Path(__file__).parents[2] / "fixtures" / "evidence_coverage" / "calibration"
CASES = (CALIBRATION / "cases.jsonl").read_text(encoding="utf-8").splitlines()[:12]
IDS = {json.loads(line)["case_id"] for line in CASES}
LABELS = [
    label
    for line in (CALIBRATION / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    if (label := json.loads(line))["case_id"] in IDS
]
POLICY = """\
schema = 1
name = "release"
version = "7"
metric = "evidence_coverage"
contract_version = "1"
approved_by = "council"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "r"
[slices.default]
minimum = 0.75
[slices.billing-critical]
minimum = 0.75
[slices.multilingual]
minimum = 0.75
[limits]
max_false_passes = 1
"""

raw_labels = st.one_of(
    st.sampled_from(LABELS).map(lambda row: json.dumps(row).encode()),
    st.sampled_from(LABELS).flatmap(bent).map(lambda row: json.dumps(row).encode()),
    st.sampled_from(LABELS).map(lambda row: json.dumps(row).encode()).flatmap(broken),
    st.sampled_from([b"", b"null", b"\xff", b"[" * 3000]),
)
files = st.builds(
    lambda lines, last: b"\n".join(lines) + last,
    st.lists(raw_labels, max_size=2).flatmap(
        lambda bad: st.permutations([*(json.dumps(row).encode() for row in LABELS[:10]), *bad])
    ),
    st.sampled_from([b"", b"\n"]),
)


def check(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        labels, cases, policy = here / "labels.jsonl", here / "cases.jsonl", here / "policy.toml"
        labels.write_bytes(raw)
        cases.write_text("".join(line + "\n" for line in CASES), encoding="utf-8")
        policy.write_text(POLICY)
        given = ("evidence_coverage", cases, "--labels", labels)
        gated = evalkit("gate", *given, "--policy", policy, "--as-of", "2026-12-01", "--json", here / "o.json")
        if (here / "o.json").exists():
            assert json.loads((here / "o.json").read_text())["ledger"]["lines"] == len(CASES)
        else:
            assert gated.code == 2
        evalkit("calibrate", *given, "--max-false-pass", "0.2", "--confidence", "0.9", "--json", here / "c.json")
        evalkit("next-labels", *given, "--json", here / "n.json")
        evalkit("flips", *given, "--from", "0.5", "--to", "0.75", "--json", here / "f.json")


def test_fuzz_any_bytes_as_labels_are_read_or_refused_in_words() -> None:
    look_for(files, check)
