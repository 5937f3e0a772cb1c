"""The outcome as JUnit XML: a case per check, not per row, so that a CI page lists what was checked and what failed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite
from junitparser.junitparser import FinalResult

from evalkit.pages.plain import plain
from evalkit.pages.wording import LedgerRow, case_name, headline, ledger_rows, relation

__all__ = ["check_cases", "render_junit"]

# Every gate makes these checks; a blocker of the kind is what makes one fail.
_CHECKS = {
    "policy": "the policy can be used",
    "expired": "the policy and its overrides hold on this day",
    "contract": "metric, cases and policy speak of one contract",
    "empty": "something was evaluated",
    "invalid": "no more invalid rows than allowed",
    "error": "no more errors than allowed",
    "unrun": "no more unrun rows than allowed",
    "too_few_scored": "enough rows were scored",
    "unknown_slice": "every slice has limits",
}
_BEFORE_ROWS = ("policy", "expired", "contract", "empty")
_SLICE_CHECKS = {
    "failed": "rows reach the limit",
    "pass_rate": "the pass rate clears its minimum",
    "review": "no row waits for a person",
}


_MOST_ROWS = 500
"""Rows told of each blocker: a page of CI is read by people, and the outcome file has them all."""


class _Check(NamedTuple):
    group: str
    name: str
    blockers: list[Mapping[str, Any]]
    is_made: bool
    """False where nothing was decided that the check could speak of: such a check is skipped, never passed."""


def render_junit(facts: Mapping[str, Any]) -> bytes:
    """Return an outcome file as JUnit XML.

    ``quality_failed`` and ``review_required`` become failures (their type says which), ``incomplete`` an error. Under a
    policy that only reports, what would block is shown as skipped, as the exit code is 0.
    """
    suite = TestSuite(plain(f"evalkit gate {facts['metric']['name']}"))
    suite.add_property("outcome", facts["outcome"])
    suite.add_property("outcome_hash", facts["outcome_hash"])
    suite.add_property("run_id", facts["run_id"])
    suite.add_property("headline", plain(headline(facts)))
    for case in check_cases(facts):
        suite.add_testcase(case)
    xml = JUnitXml("evalkit")
    xml.add_testsuite(suite)
    raw: bytes = xml.tostring()  # type: ignore[no-untyped-call] # the library types the rest
    return b"<?xml version='1.0' encoding='utf-8'?>\n" + raw + b"\n"


def check_cases(facts: Mapping[str, Any]) -> Iterator[TestCase]:
    """Yield a case for each check that a gate made; `facts` is its outcome file."""
    for check in _checks(facts):
        yield _case(check, is_enforced=facts.get("mode") != "report")


def _checks(facts: Mapping[str, Any]) -> Iterator[_Check]:
    blockers = facts["blockers"]
    group = facts["metric"]["name"]
    total, _, *slices = ledger_rows(facts["ledger"])
    for kind, name in _CHECKS.items():
        found = [b for b in blockers if b["kind"] == kind]
        yield _Check(group, name, found, is_made=bool(_decided(total)) or kind in _BEFORE_ROWS)
    placed = set(_CHECKS)
    for row in slices:
        for kind, name in _SLICE_CHECKS.items():
            found = [b for b in blockers if b["kind"] == kind and _slice_of(b) == row.name]
            # A pass rate is checked only where the policy asks for one: the others are not listed as passed.
            if found or kind != "pass_rate":
                yield _Check(f"{group}.{row.name}", name, found, is_made=bool(_decided(row)))
    for blocker in blockers:
        if blocker["kind"] not in placed and not (blocker["kind"] in _SLICE_CHECKS and _slice_of(blocker)):
            yield _Check(group, blocker["kind"], [blocker], is_made=True)


def _decided(row: LedgerRow) -> int:
    return row.passed + row.failed + row.review


def _slice_of(blocker: Mapping[str, Any]) -> str | None:
    return blocker["rows"][0]["slice"] if blocker["rows"] else None


def _case(check: _Check, *, is_enforced: bool) -> TestCase:
    case = TestCase(plain(check.name), plain(check.group))
    results: list[FinalResult] = []
    for blocker in check.blockers:
        kind = Skipped if not is_enforced else Error if blocker["outcome"] == "incomplete" else Failure
        note = "" if is_enforced else "report mode, not enforced: "
        result = kind(plain(f"{note}{blocker['sentence']}"), blocker["outcome"])
        result.text = "\n".join(_text(blocker))
        results.append(result)
    if not results and not check.is_made:
        results.append(Skipped("not checked: nothing was decided that this check could speak of"))
    case.result = results
    return case


def _text(blocker: Mapping[str, Any]) -> Iterator[str]:
    yield plain(f"owner: {blocker['owner']}")
    yield plain(f"do: {blocker['do']}")
    for row in blocker["rows"][:_MOST_ROWS]:
        yield plain(f"{case_name(row)} (line {row['line']}): {relation(row['value'], row['minimum'])}; {row['reason']}")
    if (more := len(blocker["rows"]) - _MOST_ROWS) > 0:
        yield f"and {more} more (--json FILE or --run DIR keeps all {blocker['count']})"
