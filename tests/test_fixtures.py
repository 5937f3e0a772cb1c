"""The fixtures keep their own rules: every change recorded, the ledgers as described, the card complete."""

from __future__ import annotations

import hashlib
import re
from datetime import date
from pathlib import Path

import pytest

from evalkit import GateOptions, Outcome, evidence_coverage, gate

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDERS = sorted(path.parent for path in FIXTURES.glob("*/CHANGES.md"))
AS_OF = date(2026, 12, 1)

# S2.11: what a card must say, in the order in which a reader asks.
CARD = [
    "intended use",
    "excluded tasks",
    "coverage",
    "window",
    "authority",
    "redaction",
    "sampling",
    "reviewers",
    "gaps",
]


def changes_of(folder: Path) -> list[dict[str, str]]:
    lines = [line for line in (folder / "CHANGES.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    header, _, *rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_every_folder_with_cases_has_a_record_of_changes() -> None:
    # Trace files and exports (fixtures/adapters) are raw material: what becomes of them is a case, and lives elsewhere.
    folders = {path.parent.name for path in FIXTURES.glob("*/polic*")}
    assert folders
    assert folders == {folder.name for folder in FOLDERS}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_change_of_the_cases_is_named_with_reason_and_approver(folder: Path) -> None:
    newest: dict[str, str] = {}
    for change in changes_of(folder):
        assert all(change[key] for key in ("date", "file", "sha256", "change", "reason", "approver")), change
        date.fromisoformat(change["date"])
        newest.setdefault(change["file"], change["sha256"])
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*.jsonl")}
    assert newest.keys() == files.keys()
    for name, path in files.items():
        found = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
        assert newest[name] == found, f"{name} changed: add a line with {found} to CHANGES.md, with reason and approver"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_each_card_answers_every_question_and_says_that_rows_are_synthetic(folder: Path) -> None:
    card = (folder / "card.md").read_text(encoding="utf-8")
    headings = [heading.lower() for heading in re.findall(r"^## (.+)$", card, re.MULTILINE)]
    assert [heading for heading in headings if heading in CARD] == CARD
    assert "synthetic" in card


@pytest.mark.parametrize(
    # lines = blank + scored + invalid; then the blocking rows that pass, and the outcome
    ("name", "lines", "blank", "scored", "invalid", "passing", "outcome"),
    [
        ("release", 32, 0, 32, 0, 28, Outcome.passed),
        ("incident", 32, 0, 32, 0, 27, Outcome.quality_failed),
        ("invalid", 12, 1, 3, 8, 3, Outcome.incomplete),
    ],
)
def test_bundled_files_come_to_what_their_readme_says(
    name: str, lines: int, blank: int, scored: int, invalid: int, passing: int, outcome: Outcome
) -> None:
    folder = FIXTURES / "evidence_coverage"
    options = GateOptions(as_of=AS_OF)
    result = gate(evidence_coverage, folder / f"{name}.jsonl", folder / "policy.toml", options=options)
    ledger = result.ledger
    assert (ledger.lines, ledger.blank) == (lines, blank)
    assert (ledger.total(state="scored"), ledger.total(state="invalid")) == (scored, invalid)
    assert ledger.total(blocking=True, decision="pass") == passing
    assert result.outcome is outcome


def test_the_red_row_of_the_incident_leads_to_its_citation() -> None:
    folder = FIXTURES / "evidence_coverage"
    options = GateOptions(as_of=AS_OF)
    result = gate(evidence_coverage, folder / "incident.jsonl", folder / "policy.toml", options=options)
    (blocker,) = result.blockers
    (row,) = blocker.rows
    assert (row.case_id, row.reason) == ("refund-basics-card", "supported=2; required=3; missing=refund-method")
    assert (blocker.owner, row.owner) == ("attribution", "attribution")
    assert "refund-policy-v1" in row.sentence
    assert "refund-policy-v2" in row.sentence
