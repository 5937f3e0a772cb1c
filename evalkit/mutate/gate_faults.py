"""The slips people make in a gate, as a table: in comparing, in counting, in dates, in what beats what."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

from evalkit.contract import Metric, Outcome
from evalkit.decisions.gate import GateResult
from evalkit.decisions.policy import Policy
from evalkit.mutate.faults import Fault, Setting
from evalkit.scoring.records import Record, Ruling

__all__ = ["GATE_FAULTS", "best_value", "worst_value"]


def worst_value(metric: Metric) -> Any:
    """Return the worst value that a metric allows (the last of its labels)."""
    return _ends(metric)[0]


def best_value(metric: Metric) -> Any:
    """Return the best value that a metric allows (the first of its labels)."""
    return _ends(metric)[1]


def _ends(metric: Metric) -> tuple[Any, Any]:
    allowed: Any = metric.allowed_values
    first, last = allowed[0], allowed[-1]
    is_lower_better = metric.contract is not None and metric.contract.better == "lower"
    return (last, first) if isinstance(allowed, list) or is_lower_better else (first, last)


# --- comparing ------------------------------------------------------------------------------------------------------


def _strict(ruling: Ruling, record: Record, setting: Setting) -> Ruling:
    if ruling.decision != "pass" or ruling.minimum is None or record.value != ruling.minimum:
        return ruling
    has_band = setting.policy.slices[record.slice].review_band > 0
    return ruling._replace(decision="review" if has_band else "fail")


def _band_inverted(ruling: Ruling, record: Record, setting: Setting) -> Ruling:
    limits = setting.policy.slices.get(record.slice)
    if limits is None or ruling.minimum is None or not isinstance(record.value, int | float):
        return ruling
    if ruling.decision == "review":
        return ruling._replace(decision="fail")
    is_near = abs(record.value - ruling.minimum) < limits.review_band
    return ruling._replace(decision="review") if ruling.decision == "pass" and is_near else ruling


def _review_passes(ruling: Ruling, _: Record, __: Setting) -> Ruling:
    return ruling._replace(decision="pass") if ruling.decision == "review" else ruling


def _averaged(result: GateResult) -> GateResult:
    """Drop what blocks in a slice whose mean reaches its limit."""
    kept = [b for b in result.blockers if b.kind != "failed" or not all(_mean_reaches(result, r.slice) for r in b.rows)]
    return replace(result, blockers=tuple(kept))


def _mean_reaches(result: GateResult, name: str) -> bool:
    mean = result.ledger.facts()["slices"][name]["mean"]
    limits = result.policy.slices.get(name) if result.policy else None
    if mean is None or limits is None:
        return False
    if limits.minimum is not None:
        return bool(mean >= limits.minimum)
    return limits.maximum is not None and bool(mean <= limits.maximum)


def _no_bound(setting: Setting) -> str:
    bounds = [b for limits in setting.policy.slices.values() for b in (limits.minimum, limits.maximum)]
    return "" if any(bound is not None for bound in bounds) else "no slice has a numeric limit"


def _no_band(setting: Setting) -> str:
    return "" if any(limits.review_band for limits in setting.policy.slices.values()) else "no slice has a review band"


def _no_review(setting: Setting) -> str:
    has_labels = any(limits.review for limits in setting.policy.slices.values())
    return "" if has_labels or not _no_band(setting) else "no slice sends rows to a person"


def _no_mean(setting: Setting) -> str:
    if why := _no_bound(setting):
        return why
    best = best_value(setting.metric)
    bounds = [limits.minimum if limits.maximum is None else limits.maximum for limits in setting.policy.slices.values()]
    return (
        "" if set(bounds) - {best, None} else "every limit is the best value, which a mean reaches only if all rows do"
    )


# --- counting -------------------------------------------------------------------------------------------------------


def _none_is(end: Callable[[Metric], Any]) -> Callable[[Record, Setting], Record]:
    def told(record: Record, setting: Setting) -> Record:
        if record.state == "scored":
            return record
        return record._replace(state="scored", value=end(setting.metric), error_kind=None)

    return told


def _none_is_left_out(record: Record, _: Setting) -> Record:
    return record if record.state == "scored" else record._replace(blocking=False)


def _few_bad_ignored(result: GateResult) -> GateResult:
    """Ignore rows without a score as long as most rows have one."""
    scored, rows = result.ledger.total(state="scored"), result.ledger.total()
    kinds = ("invalid", "error", "unrun") if 2 * scored >= rows else ()
    return replace(result, blockers=tuple(b for b in result.blockers if b.kind not in kinds))


def _other_limits(record: Record, setting: Setting) -> Record:
    known = setting.policy.slices
    if record.slice in known:
        return record
    return record._replace(slice="default" if "default" in known else next(iter(known)))


def _empty_passes(result: GateResult) -> GateResult:
    return replace(result, blockers=()) if result.ledger.total() == 0 else result


def _failed_first(result: GateResult) -> GateResult:
    failed = tuple(blocker for blocker in result.blockers if blocker.outcome is Outcome.quality_failed)
    return replace(result, blockers=failed or result.blockers)


# --- what holds -----------------------------------------------------------------------------------------------------


def _expired_accepted(setting: Setting) -> Policy:
    return setting.policy.model_copy(update={"expires_on": date.max, "basis": "by_definition"})


def _override_without_expiry(setting: Setting) -> Policy:
    endless = tuple(override.model_copy(update={"expires_on": date.max}) for override in setting.policy.overrides)
    return setting.policy.model_copy(update={"overrides": endless})


def _override_of_any_answer(record: Record, setting: Setting) -> Record:
    approved = {override.case_id: override.seen_hash for override in setting.policy.overrides}
    return record._replace(seen_hash=approved.get(record.case_id or "", record.seen_hash))


def _contract_change_ignored(setting: Setting) -> Policy:
    return setting.policy.model_copy(update={"contract_version": setting.metric.version})


GATE_FAULTS: tuple[Fault, ...] = (
    Fault(
        name="strict_comparison",
        description="a row exactly at the limit does not pass",
        diff="- value >= minimum\n+ value > minimum",
        ruling=_strict,
        why_not=_no_bound,
    ),
    Fault(
        name="band_inverted",
        description="the review band lies above the limit instead of below",
        diff="- minimum - review_band <= value < minimum\n+ minimum <= value < minimum + review_band",
        ruling=_band_inverted,
        why_not=_no_band,
    ),
    Fault(
        name="review_passes",
        description="a row that needs a person passes",
        diff='- decision = "review"\n+ decision = "pass"',
        ruling=_review_passes,
        why_not=_no_review,
    ),
    Fault(
        name="rows_averaged",
        description="the mean of a slice decides, not its rows",
        diff="- all(value >= minimum for value in values)\n+ mean(values) >= minimum",
        result=_averaged,
        why_not=_no_mean,
    ),
    Fault(
        name="none_as_zero",
        description="a row without a score counts as the worst score",
        diff="- value is None: not decided\n+ value is None: the worst value",
        record=_none_is(worst_value),
    ),
    Fault(
        name="none_as_pass",
        description="a row without a score passes",
        diff="- value is None: not decided\n+ value is None: the best value",
        record=_none_is(best_value),
    ),
    Fault(
        name="none_left_out",
        description="a row without a score is dropped from the denominator",
        diff="- for row in rows\n+ for row in rows if row.value is not None",
        record=_none_is_left_out,
    ),
    Fault(
        name="few_invalid_ignored",
        description="rows without a score are ignored while they are few",
        diff="- count > limits.invalid: incomplete\n+ count > half of the rows: incomplete",
        result=_few_bad_ignored,
    ),
    Fault(
        name="default_for_unknown_slice",
        description="a slice that the policy does not know gets the limits of another",
        diff='- slices[name]\n+ slices.get(name, slices["default"])',
        record=_other_limits,
    ),
    Fault(
        name="blocking_ignored",
        description="rows that are only shown block as well",
        diff="- row.blocking and row.decision == fail\n+ row.decision == fail",
        record=lambda record, _: record._replace(blocking=True),
    ),
    Fault(
        name="nothing_blocks",
        description="no row blocks",
        diff="- row.blocking\n+ False",
        record=lambda record, _: record._replace(blocking=False),
    ),
    Fault(
        name="empty_passes",
        description="a file without rows passes",
        diff="- no rows: incomplete\n+ no rows: passed",
        result=_empty_passes,
    ),
    Fault(
        name="failed_before_incomplete",
        description="what cannot be judged is called bad",
        diff="- incomplete beats quality_failed\n+ quality_failed beats incomplete",
        result=_failed_first,
    ),
    Fault(
        name="expired_accepted",
        description="an expired policy decides",
        diff="- expires_on < as_of: incomplete\n+ expires_on < as_of: no matter",
        policy=_expired_accepted,
    ),
    Fault(
        name="override_without_expiry",
        description="an override never ends",
        diff="- override.expires_on >= as_of\n+ True",
        policy=_override_without_expiry,
    ),
    Fault(
        name="override_of_any_answer",
        description="an override covers another answer under its case id",
        diff="- override.seen_hash == row.seen_hash\n+ True",
        record=_override_of_any_answer,
    ),
    Fault(
        name="contract_change_ignored",
        description="a policy for another contract version decides",
        diff="- contract_version differs: incomplete\n+ contract_version differs: no matter",
        policy=_contract_change_ignored,
    ),
)
