"""One wording for every page: an outcome file in words, each figure with its denominator."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, NamedTuple

from evalkit.pages.plain import shown
from evalkit.scoring.records import KNIFE_EDGE

__all__ = [
    "OUTCOME_WORDS",
    "LedgerRow",
    "baseline_lines",
    "case_name",
    "counts_sentence",
    "headline",
    "knife_edges",
    "ledger_rows",
    "limit_words",
    "ordered_blockers",
    "policy_notes",
    "relation",
    "value_text",
]

OUTCOME_WORDS = {
    "passed": "Passed",
    "quality_failed": "Quality failed",
    "incomplete": "Incomplete",
    "review_required": "Review required",
}

# What cannot be judged comes before what is bad, and that before what needs a person: the order of `Outcome.worst`.
_ORDER = ("incomplete", "quality_failed", "review_required", "passed")
_MOST_EDGES = 20


class LedgerRow(NamedTuple):
    """One line of the ledger table; counts of states are out of `rows`, decisions out of `scored`."""

    name: str
    rows: int
    scored: int
    passed: int
    failed: int
    review: int
    undecided: int
    invalid: int
    error: int
    unrun: int
    mean: float | None
    mean_of: int


def ledger_rows(ledger: Mapping[str, Any]) -> list[LedgerRow]:
    """Return the ledger as table lines: all rows, the blocking ones, then each slice."""
    slices = [_ledger_row(name, block) for name, block in ledger["slices"].items()]
    return [_ledger_row("all rows", ledger), _ledger_row("blocking rows", ledger["blocking"]), *slices]


def _ledger_row(name: str, block: Mapping[str, Any]) -> LedgerRow:
    scored, invalid, error, unrun = (block[state] for state in ("scored", "invalid", "error", "unrun"))
    passed, failed, review = (block[decision] for decision in ("pass", "fail", "review"))
    return LedgerRow(
        name=name,
        rows=scored + invalid + error + unrun,
        scored=scored,
        passed=passed,
        failed=failed,
        review=review,
        undecided=scored - passed - failed - review,
        invalid=invalid,
        error=error,
        unrun=unrun,
        mean=block.get("mean"),
        mean_of=block.get("mean_of", 0),
    )


def counts_sentence(row: LedgerRow, *, is_judged: bool) -> str:
    """Say in one sentence what a ledger line holds; what was not scored stands beside every share and mean.

    >>> counts_sentence(LedgerRow("all rows", 3, 2, 1, 1, 0, 0, 1, 0, 0, 0.5, 2), is_judged=True)
    '1 of 2 scored rows pass, 1 of 2 fail; 1 of 3 rows invalid; mean 0.5 over 2 of 3 rows'
    """
    words = [("pass", row.passed), ("fail", row.failed), ("need a person", row.review), ("undecided", row.undecided)]
    first = [f"{n} of {row.scored} {word}" for word, n in words if n and is_judged]
    parts = [", ".join(first).replace(f"of {row.scored}", f"of {row.scored} scored rows", 1)]
    if not first:
        parts = [f"{row.scored} of {row.rows} rows scored"]
    parts += [
        f"{n} of {row.rows} rows {state}"
        for state, n in zip(("invalid", "error", "unrun"), row[7:10], strict=True)
        if n
    ]
    if row.mean is not None:
        parts.append(f"mean {shown(row.mean)} over {row.mean_of} of {row.rows} rows")
    return "; ".join(parts)


def headline(facts: Mapping[str, Any] | None) -> str:
    """Return the outcome in words, with the count it rests on."""
    if facts is None:
        return "Scored, not judged: no policy was given"
    words = OUTCOME_WORDS[facts["outcome"]]
    row = _ledger_row("blocking rows", facts["ledger"]["blocking"])
    decided = row.passed + row.failed + row.review
    of = f"of {decided} decided blocking rows"
    kinds = [blocker["kind"] for blocker in facts["blockers"] if blocker["outcome"] == facts["outcome"]]
    rows_fail = row.failed and {"failed", "pass_rate"} & set(kinds)
    why = {
        "passed": f"{row.passed} {of} pass" + ("" if row.passed == decided else "; the policy excuses the others"),
        "quality_failed": f"{row.failed} {of} fail" if rows_fail else f"{_number(len(kinds), 'limit')} not met",
        "incomplete": f"this run cannot be judged, for {_number(len(kinds), 'reason')}",
        "review_required": f"{row.review} {of} need a person" if row.review else "a person must decide",
    }
    return f"{words}: {why[facts['outcome']]}"


def _number(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def ordered_blockers(facts: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """Return the blockers, worst outcome first."""
    return sorted(facts["blockers"], key=lambda b: _ORDER.index(b["outcome"])) if facts else []


def policy_notes(facts: Mapping[str, Any]) -> list[str]:
    """Say what every page must say of the policy: that it only reports, and until when a provisional one holds."""
    notes = []
    policy = facts.get("policy") or {}
    if facts.get("mode") == "report":
        notes.append(
            f"Report mode: the policy shows the outcome ({facts['outcome']}) without enforcing it; the exit code is 0."
        )
    if policy.get("basis") == "provisional":
        notes.append(
            f"Provisional policy: no calibration stands behind its limits; it holds until {policy.get('last_day')} "
            "and not longer."
        )
    return notes


def baseline_lines(compared: Mapping[str, Any]) -> list[str]:
    """Say what changed against the baseline run, with the test and what it rests on."""
    p_value = compared["p_value"]
    differ = compared["only_old"] + compared["only_new"]
    test = (
        f"exact McNemar test p = {shown(p_value, 0.05)}: of {compared['pairs']} rows decided in both runs, {differ} "
        f"changed sides ({compared['only_new']} began to fail, {compared['only_old']} stopped)"
        if p_value is not None
        else f"no row changed sides among the {compared['pairs']} decided in both runs"
    )
    kinds = {
        "new": "new failures", "known": "known failures (failed in the baseline too)", "fixed": "fixed",
        "unjudged": "failed before, not decided now (not fixed)",
        "vanished": "failed before, not in the file now (not fixed)",
    }  # fmt: skip
    lines = [
        f"{words}: {_ids(compared[kind])}" for kind, words in kinds.items() if compared[kind] or kind != "vanished"
    ]
    appeared = [f"{compared['appeared']} rows that the baseline did not have"] if compared["appeared"] else []
    return [f"against baseline {compared['run_id']}: {test}", *lines, *appeared]


def _ids(case_ids: list[str], most: int = 5) -> str:
    if not case_ids:
        return "0"
    more = f" and {len(case_ids) - most} more" if len(case_ids) > most else ""
    return f"{len(case_ids)} ({', '.join(case_ids[:most])}{more})"


def value_text(value: Any, bound: Any = None) -> str:
    """Return a value of any kind for a page: a number with enough digits, a label, a ranking as JSON."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else shown(value, bound)


def case_name(row: Mapping[str, Any]) -> str:
    """Return a row's case id, or words where the line has none that can be read."""
    return row["case_id"] if row["case_id"] is not None else "(no case id)"


def relation(value: Any, bound: float | None) -> str:
    """Return value and bound as the comparison that decided the row, both with enough digits to be true.

    >>> relation(2 / 3, 1.0), relation(0.9, 0.85), relation("refused", None), relation(None, None)
    ('0.6667 < 1.0', '0.9 >= 0.85', 'refused', 'no score')
    """
    if value is None:
        return "no score"
    if bound is None or not isinstance(value, int | float):
        return value_text(value)
    sign = "<" if value < bound else ">=" if bound <= value else "?"
    return f"{shown(value, bound)} {sign} {bound!r}"


def _is_close(value: Any, bound: float | None) -> bool:
    return isinstance(value, int | float) and bound is not None and 0 < abs(value - bound) <= KNIFE_EDGE


def knife_edges(blockers: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each blocked row that misses its bound by less than 1e-9, both numbers in full.

    Of many, the first twenty are told and the others counted.
    """
    sentences = (
        f"{row['case_id']}: {row['value']!r} against {row['minimum']!r} differs by less than {KNIFE_EDGE:g}, most "
        "likely rounding; the comparison is exact, so it does not pass"
        for blocker in blockers
        for row in blocker["rows"]
        if _is_close(row["value"], row["minimum"])
    )
    told = list(islice(sentences, _MOST_EDGES))
    more = sum(1 for _ in sentences)
    return [*told, f"and {more} more rows"] if more else told


def limit_words(limits: Mapping[str, Any]) -> str:
    """Say in words what a policy asks of one slice.

    >>> limit_words({"minimum": 0.75, "review_band": 0.1})
    'a row passes at 0.75 or more; from 0.65 up to that, a person decides'
    """
    if limits.get("decide") == "review":
        return "not certified: people decide every row"
    words = _bound_words(limits)
    if limits.get("max_failures") is not None:
        words += f"; at most {_number(limits['max_failures'], 'blocking row')} may fail"
    if limits.get("min_pass_rate") is not None:
        confidence = 100 * limits.get("confidence", 0.95)
        words += f"; the pass rate must be {limits['min_pass_rate']!r} or more ({confidence:g} % exact interval)"
    for key, what in (("max_false_passes", "bad rows that pass"), ("max_false_fails", "good rows that fail")):
        if limits.get(key) is not None:
            words += f"; at most {limits[key]} {what}, by the labels"
    return words


def _bound_words(limits: Mapping[str, Any]) -> str:
    band = limits.get("review_band") or 0
    if limits.get("minimum") is not None:
        bound = limits["minimum"]
        review = f"; from {shown(bound - band, bound)} up to that, a person decides" if band else ""
        return f"a row passes at {bound!r} or more{review}"
    if limits.get("maximum") is not None:
        bound = limits["maximum"]
        review = f"; above that, up to {shown(bound + band, bound)}, a person decides" if band else ""
        return f"a row passes at {bound!r} or less{review}"
    review = f"; {', '.join(limits['review'])} goes to a person" if limits.get("review") else ""
    return f"a row passes with {' or '.join(limits.get('require', ()))}{review}"
