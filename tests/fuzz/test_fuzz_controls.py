"""Any bytes as controls or control run: read or refused in words, and never separated by accident."""

from __future__ import annotations

import hashlib
import json
import tempfile
from pathlib import Path

import pytest
from hostile import bent, broken, evalkit, look_for
from hypothesis import strategies as st

pytestmark = pytest.mark.fuzz

BUNDLED = Path(__file__).parents[2] / "fixtures" / "refund_answer"
CASSETTE = BUNDLED / "refund_answer.cassette.jsonl"
CONTROLS = [json.loads(line) for line in (BUNDLED / "controls.jsonl").read_text(encoding="utf-8").splitlines()]
RUN = json.loads((BUNDLED / "controls.json").read_text(encoding="utf-8"))
POLICY = """\
schema = 1
name = "p"
version = "1"
metric = "refund_answer"
contract_version = "1"
approved_by = "council"
approved_on = 2026-11-30
expires_on = 2027-01-20
rationale = "r"
basis = "provisional"
[slices.default]
require = ["pass"]
[frozen]
controls = "{frozen}"
"""

raw_controls = st.one_of(
    st.sampled_from(CONTROLS).flatmap(bent).map(lambda row: json.dumps(row).encode()),
    st.sampled_from(CONTROLS).map(lambda row: json.dumps(row).encode()).flatmap(broken),
    st.sampled_from([b"", b"null", b"\xff", b"[" * 3000]),
)
files = st.builds(
    lambda lines, last: b"\n".join(lines) + last,
    st.lists(raw_controls, max_size=2).flatmap(
        lambda bad: st.permutations([*(json.dumps(row).encode() for row in CONTROLS), *bad])
    ),
    st.sampled_from([b"", b"\n"]),
)
runs = st.one_of(
    bent(RUN).map(lambda run: json.dumps(run).encode()),
    st.just(json.dumps(RUN).encode()).flatmap(broken),
    st.sampled_from([b"", b"null", b"[]", b'{"controls": 3}', b"\xff", b"[" * 3000]),
)


def check_controls(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        (here / "controls.jsonl").write_bytes(raw)
        out = here / "out.json"
        said = evalkit("controls", "refund_answer", here / "controls.jsonl", "--replay", CASSETTE, "--json", out)
        assert out.exists() or said.code == 2
        if out.exists():
            facts = json.loads(out.read_text(encoding="utf-8"))
            assert facts["separated"] == (all(c["ok"] for c in facts["controls"]) and not facts["problems"])
            assert (said.code == 0) <= facts["separated"]
            assert not [line for line in said.out.splitlines() if len(line) > 80]


def check_run(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        (here / "run.json").write_bytes(raw)
        (here / "policy.toml").write_text(POLICY.format(frozen=hashlib.sha256(raw).hexdigest()))
        (here / "refund_answer.cassette.jsonl").write_bytes(CASSETTE.read_bytes())
        (here / "cases.jsonl").write_text((BUNDLED / "cases.jsonl").read_text(encoding="utf-8").splitlines()[0] + "\n")
        said = evalkit(
            "gate", "refund_answer", here / "cases.jsonl", "--policy", here / "policy.toml", "--as-of", "2026-12-01"
        )
        try:
            run = json.loads(raw)
        except (ValueError, RecursionError):
            run = None
        is_separated = isinstance(run, dict) and run.get("separated") is True
        assert is_separated or said.code == 2


def test_fuzz_any_bytes_as_controls_are_tried_or_refused_in_words() -> None:
    look_for(files, check_controls)


def test_fuzz_a_gate_never_rests_on_a_control_run_that_did_not_separate() -> None:
    look_for(runs, check_run)
