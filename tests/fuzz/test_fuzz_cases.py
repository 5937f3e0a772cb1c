"""Any bytes as cases: each line that is not blank comes out as exactly one record, and nobody sees a traceback."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hostile import bent, broken, evalkit, look_for, texts, values
from hypothesis import strategies as st

pytestmark = pytest.mark.fuzz

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
ROWS = [json.loads(line) for line in (FIXTURES / "incident.jsonl").read_text(encoding="utf-8").splitlines()][:6]
POLICY = (FIXTURES / "policy.toml").read_text(encoding="utf-8").replace("min_scored = 3", "min_scored = 1")
RESERVED = (
    "case_id", "slice", "blocking", "family", "partition", "contract_version", "requirement_set_version",
    "system_revision", "rubric_version", "evidence_version", "response_sha256", "generation", "source", "stratum",
    "prevalence_weight", "provenance", "oracle", "role", "pair_id", "rationale", "evidence",
)  # fmt: skip

rows = st.one_of(
    st.sampled_from(ROWS),
    st.sampled_from(ROWS).flatmap(bent),
    st.builds(lambda row, key, value: row | {key: value}, st.sampled_from(ROWS), st.sampled_from(RESERVED), values),
    st.builds(lambda row, case_id: row | {"case_id": case_id}, st.sampled_from(ROWS), texts),
    values,
)
raw_lines = st.one_of(
    rows.map(lambda row: json.dumps(row).encode()),
    rows.map(lambda row: json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    st.sampled_from(ROWS).map(lambda row: json.dumps(row).encode()).flatmap(broken),
    st.sampled_from([b"", b" ", b"\t\r", b"\x00", b"[" * 3000, b'{"a":' * 3000, b"NaN", b"\xff", b"null", b"\x0c"]),
)
files = st.builds(
    lambda lines, ending, last, bom: bom + ending.join(lines) + last,
    st.lists(raw_lines, max_size=6),
    st.sampled_from([b"\n", b"\r\n"]),
    st.sampled_from([b"", b"\n", b"\r\n"]),
    st.sampled_from([b"", b"", b"\xef\xbb\xbf"]),
)


def physical_lines(raw: bytes) -> list[bytes]:
    """Split on LF; what stands after the last one is a line where it holds anything."""
    *whole, rest = raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [*whole, rest] if rest else whole


def check(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        (here / "cases.jsonl").write_bytes(raw)
        (here / "policy.toml").write_text(POLICY, encoding="utf-8")
        options = ("--policy", here / "policy.toml", "--as-of", "2026-12-01")
        leave = (
            "--run",
            here / "run",
            "--json",
            here / "o.json",
            "--junit",
            here / "j.xml",
            "--summary",
            here / "s.md",
        )
        said = evalkit("gate", "evidence_coverage", here / "cases.jsonl", *options, *leave, "--format", "jsonl")
        lines = physical_lines(raw)
        printed = [json.loads(line) for line in said.out.split("\n")[:-1]]
        assert_nothing_is_lost(json.loads((here / "o.json").read_text()), lines, printed)
        again = evalkit("gate", "evidence_coverage", here / "run", *options, "--json", here / "o2.json")
        assert again.code == said.code
        assert (
            json.loads((here / "o2.json").read_text())["ledger"] == json.loads((here / "o.json").read_text())["ledger"]
        )
        assert evalkit("explain", here / "run").code in (0, 2)


def assert_nothing_is_lost(outcome: dict[str, Any], lines: list[bytes], printed: list[dict[str, Any]]) -> None:
    ledger = outcome["ledger"]
    states = [ledger[state] for state in ("scored", "invalid", "error", "unrun")]
    assert ledger["lines"] == len(lines) == ledger["blank"] + sum(states)
    filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    assert [row["line"] for row in printed] == filled
    ids = [row["case_id"] for row in printed if row["state"] == "scored"]
    assert len(ids) == len(set(ids))
    if not ids:
        assert outcome["exit_code"] == 2


def test_fuzz_any_bytes_as_cases_end_in_one_of_four_outcomes_and_no_line_is_lost() -> None:
    look_for(files, check)
