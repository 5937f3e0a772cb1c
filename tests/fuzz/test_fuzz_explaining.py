"""Two sets of hostile rows: what changed between them is told, row by row, and no row of either is lost."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hostile import bent, evalkit, look_for, texts
from hypothesis import strategies as st

pytestmark = pytest.mark.fuzz

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
INCIDENTS = sorted(path for path in (FIXTURES / "incidents").iterdir() if path.is_dir())
OTHER = Path(__file__).parents[2] / "fixtures/evidence_coverage/incidents/metric_edited/new_metric.py"


class Two(NamedTuple):
    old: list[dict[str, Any]]
    new: list[dict[str, Any]]


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@st.composite
def pairs(draw: st.DrawFn) -> Two:
    incident = draw(st.sampled_from(INCIDENTS))
    old, new = rows_of(incident / "old.jsonl"), rows_of(incident / "new.jsonl")
    for rows in (old, new, new):
        at = draw(st.integers(0, len(rows) - 1))
        row = rows[at]
        match draw(st.integers(0, 5)):
            case 0:
                rows[at] = row | {"case_id": draw(texts)}
            case 1:
                evidence = draw(bent(row.get("evidence") or {"question": "q"}))
                rows[at] = row | {"evidence": evidence}
            case 2:
                rows[at] = row | {"slice": draw(texts), "family": draw(texts)}
            case 3:
                del rows[at]
                rows.append(row)
            case _:
                found = draw(bent(row))
                rows[at] = found if isinstance(found, dict) else row
    return Two(old, new)


def check(two: Two) -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        policy = ("--policy", FIXTURES / "policy.toml", "--as-of", "2026-12-01")
        for side, rows in zip(("old", "new"), two, strict=True):
            raw = "".join(json.dumps(row) + "\n" for row in rows)
            (here / f"{side}.jsonl").write_text(raw, encoding="utf-8")
            evalkit("gate", "evidence_coverage", here / f"{side}.jsonl", *policy, "--run", here / side)
        for newer, older in (("new", "old"), ("old", "new")):
            out = here / f"{newer}.json"
            said = evalkit("explain", here / newer, here / older, "--json", out, "--markdown", here / f"{newer}.md")
            assert said.code in (0, 2)
            if said.code == 0:
                explained = json.loads(out.read_text())
                assert len(explained["rows"]) + explained["unchanged"] >= len(two.new if newer == "new" else two.old)
        evalkit("gate", "evidence_coverage", here / "new.jsonl", *policy, "--baseline", here / "old")
        for first, second in (("evidence_coverage", f"{OTHER}:evidence_coverage"), (here / "old", here / "new")):
            cases = here / "new.jsonl"
            evalkit("compare", first, second, cases, "--json", here / "c.json", "--markdown", here / "c.md")


def test_fuzz_whatever_two_runs_hold_their_differences_are_told_in_words() -> None:
    look_for(pairs(), check)
