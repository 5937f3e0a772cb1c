"""From counted rows to blockers: what failed, what needs a person, what could not be judged; slice by slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple, TypeVar

from evalkit.contract import Outcome, example_list
from evalkit.decisions.binomial import exact_interval
from evalkit.decisions.blockers import Blocker, blocked_rows
from evalkit.decisions.labelled import Labelled, needs_labels
from evalkit.decisions.policy import Override, Policy, SliceLimits
from evalkit.scoring.ledger import Ledger
from evalkit.scoring.parts import Streamed
from evalkit.scoring.records import Record
from evalkit.scoring.spilled import SpilledList, spilled_records

__all__ = ["Excused", "excuse", "judge_rows", "unjudged"]

K = TypeVar("K", bound=Hashable)

_DO = {
    "invalid": "mend these rows of the test data, or mark them blocking = false after review",
    "error": "mend the metric (or what it calls) and run again; no score was made up for these rows",
    "unrun": "run the rest (a resumed run pays for nothing twice)",
}


class Excused(NamedTuple):
    """Failing or doubtful rows, split by what excuses them."""

    open: Sequence[Record]
    """Blocking rows that nothing excuses."""
    overridden: list[Record]
    known: list[Record]
    """Failures that the baseline already had, under ``block_on = "new"``."""
    warnings: list[str]

    def used_for(self, compared: Sequence[Labelled]) -> Excused:
        """Take back the warning about overrides that let a disagreement with a label stand instead."""
        used = {_unused(str(record.case_id)) for found in compared for record in found.overridden}
        return self._replace(warnings=[warning for warning in self.warnings if warning not in used])


def excuse(policy: Policy, notable: Sequence[Record], known_ids: frozenset[str], as_of: date) -> Excused:
    """Apply overrides (in force, bound to what their approver saw) and the baseline to the rows that did not pass."""
    overrides: dict[str, list[Override]] = {}
    for override in policy.overrides:
        overrides.setdefault(override.case_id, []).append(override)
    used: set[str] = set()
    still_open = spilled_records()
    sorted_out = Excused(still_open, [], [], [])
    for record in notable:
        if not record.blocking or record.decision not in ("fail", "review"):
            continue
        if found := overrides.get(record.case_id or ""):
            used.add(found[0].case_id)
            fitting = [override for override in found if override.seen_hash == record.seen_hash]
            if any(override.expires_on >= as_of for override in fitting):
                sorted_out.overridden.append(record)
                continue
            sorted_out.warnings.extend(_stale(override, record) for override in found if override not in fitting)
        is_known = record.decision == "fail" and record.case_id in known_ids and policy.block_on == "new"
        (sorted_out.known if is_known else still_open).append(record)
    for case_id in sorted(overrides.keys() - used):
        sorted_out.warnings.append(_unused(case_id))
    return sorted_out


def _unused(case_id: str) -> str:
    return f"the override of {case_id!r} covers no failing row any more: remove it"


def _stale(override: Override, record: Record) -> str:
    return (
        f"the override of {override.case_id!r} does not count: {override.approver} approved another answer or other "
        f"passages ({override.seen_hash[:19]}…) than this row shows ({str(record.seen_hash)[:19]}…)"
    )


def unjudged(policy: Policy, streamed: Streamed) -> Iterator[Blocker]:
    """Yield what makes the run impossible to judge: bad rows above their limit, too few scored, unknown slices."""
    ledger = streamed.ledger
    if ledger.total() == 0:
        yield Blocker(
            "empty",
            Outcome.incomplete,
            "test-data",
            f"nothing was evaluated: {ledger.lines} lines, {ledger.blank} of them blank, 0 cases",
            "check the path and any filter that made this file",
        )
        return
    blocking = _sorted(
        (str(record.state), record) for record in streamed.notable if record.blocking and record.state != "scored"
    )
    for state, limit in (
        ("invalid", policy.limits.invalid),
        ("error", policy.limits.error),
        ("unrun", policy.limits.unrun),
    ):
        rows = blocking.get(state, ())
        if len(rows) > limit:
            owner = _owners(rows)
            yield Blocker(
                state,
                Outcome.incomplete,
                owner,
                f"{len(rows)} of {ledger.total(blocking=True)} blocking rows are {state}, the policy allows {limit}",
                _DO[state],
                blocked_rows(rows, streamed.sentences),
            )
    scored = ledger.total(state="scored", blocking=True)
    if scored < policy.limits.min_scored:
        yield Blocker(
            "too_few_scored",
            Outcome.incomplete,
            "test-data",
            f"{scored} blocking rows were scored, the policy wants at least {policy.limits.min_scored}",
            "add reviewed rows, or mend those that could not be scored",
        )
    yield from _unknown_slices(policy, streamed)


def _unknown_slices(policy: Policy, streamed: Streamed) -> Iterator[Blocker]:
    if not any(
        blocking and state == "scored" and name not in policy.slices
        for name, blocking, state, _ in streamed.ledger.counts
    ):
        return
    scored = spilled_records()
    scored.extend(r for r in streamed.notable if r.blocking and r.slice not in policy.slices and r.state == "scored")
    unknown = sorted({record.slice for record in scored})
    yield Blocker(
        "unknown_slice",
        Outcome.incomplete,
        "policy",
        f"the policy has no limits for {example_list([repr(name) for name in unknown])}: "
        f"{len(scored)} scored rows cannot be decided",
        "add [slices.NAME] with reviewed limits, or correct the slice of these rows",
        blocked_rows(scored, streamed.sentences),
    )


def judge_rows(policy: Policy, streamed: Streamed, excused: Excused) -> Iterator[Blocker]:
    """Yield what the limits of each slice say of the rows that nothing excuses."""
    ledger, sentences = streamed.ledger, streamed.sentences
    found = _sorted(((record.slice, record.decision), record) for record in excused.open)
    for name, limits in policy.slices.items():
        failing, doubtful = found.get((name, "fail"), ()), found.get((name, "review"), ())
        if limits.min_pass_rate is not None:
            yield from _pass_rate(name, limits, streamed, excused, failing)
        elif len(failing) > (limits.max_failures or 0) and not _is_reference(limits):
            allowed = f", the policy allows {limits.max_failures}" if limits.max_failures else ""
            yield Blocker(
                "failed",
                Outcome.quality_failed,
                _owners(failing),
                f"{len(failing)} of {_decided(ledger, name)} decided blocking rows fail in {name}{allowed}",
                "read the reason of each row; evalkit explain RUN names the evidence",
                blocked_rows(failing, sentences),
            )
        if doubtful:
            yield Blocker(
                "review",
                Outcome.review_required,
                "policy",
                f"{len(doubtful)} of {_decided(ledger, name)} decided blocking rows need a person in {name}",
                "let a reviewer decide these rows; an override records the decision",
                blocked_rows(doubtful, sentences),
            )


def _sorted(keyed: Iterable[tuple[K, Record]]) -> dict[K, SpilledList[Record]]:
    """Split rows in one pass; a kind that most rows are of goes to disk."""
    found: dict[K, SpilledList[Record]] = {}
    for key, record in keyed:
        if key not in found:
            found[key] = spilled_records()
        found[key].append(record)
    return found


def _is_reference(limits: SliceLimits) -> bool:
    """Rows judged against labels: one that fails as people say it should is no failure of the release."""
    return needs_labels(limits) and limits.max_failures is None


def _pass_rate(
    name: str, limits: SliceLimits, streamed: Streamed, excused: Excused, failing: Sequence[Record]
) -> Iterator[Blocker]:
    wanted = limits.min_pass_rate
    assert wanted is not None  # noqa: S101 - the caller has asked
    rate = _rate(name, streamed.ledger, excused)
    if rate.n == 0:
        if rate.known == 0:
            yield _no_rate(name)
        return
    interval = exact_interval(rate.passed, rate.n, limits.confidence)
    if rate.n > 1 and interval.low >= wanted:
        return
    # Rows that wait for a person may all turn out well: only what is too low even then has failed.
    is_below = rate.n > 1 and exact_interval(rate.passed + rate.waiting, rate.n, limits.confidence).high < wanted
    left_out = f" ({rate.known} known failures left out)" if rate.known else ""
    if rate.n == 1:
        found = f"one row has no interval that could clear {wanted:g}"
    else:
        high = _shown_below(interval.high, wanted) if is_below else f"{interval.high:.3f}"
        found = f"{100 * limits.confidence:g} % interval {_shown_below(interval.low, wanted)} to {high} "
        found += f"{'lies below' if is_below else 'does not clear'} {wanted:g}"
    yield Blocker(
        "pass_rate",
        Outcome.quality_failed if is_below else Outcome.review_required,
        _owners(failing) if is_below else "policy",
        f"{rate.passed} of {rate.n} decided blocking rows pass in {name}{left_out}: {found}",
        "mend the failing rows" if is_below else "more rows would narrow the interval, or let a person decide",
        blocked_rows(failing, streamed.sentences),
    )


class _Rate(NamedTuple):
    passed: int
    """An override is an approved pass; a row under review is not one yet."""
    waiting: int
    n: int
    """Decided blocking rows, without known failures: those do not block."""
    known: int


def _rate(name: str, ledger: Ledger, excused: Excused) -> _Rate:
    overridden, known = (sum(r.slice == name for r in rows) for rows in (excused.overridden, excused.known))
    waiting = sum(record.slice == name and record.decision == "review" for record in excused.open)
    passed = ledger.total(slice=name, blocking=True, decision="pass") + overridden
    return _Rate(passed, waiting, _decided(ledger, name) - known, known)


def _no_rate(name: str) -> Blocker:
    return Blocker(
        "too_few_scored",
        Outcome.incomplete,
        "test-data",
        f"no blocking row was decided in {name}: there is no pass rate to compare with the policy's minimum",
        "add reviewed rows of this slice, or mend those that could not be scored",
    )


def _shown_below(value: float, bound: float) -> str:
    """Show a value with as many digits as it takes not to look equal to the bound that it misses."""
    shown = (f"{value:.{digits}f}" for digits in range(3, 18))
    return next((text for text in shown if float(text) < bound), repr(value))


def _decided(ledger: Ledger, name: str) -> int:
    return sum(ledger.total(slice=name, blocking=True, decision=word) for word in ("pass", "fail", "review"))


def _owners(records: Sequence[Record]) -> str:
    """Name the owner that most of these rows have (the first in the alphabet among equals)."""
    owners = Counter(str(record.owner) for record in records)
    return max(sorted(owners), key=lambda owner: owners[owner], default="answer")
