"""Comparisons of what people agreed on and set up: contract, required set, policy, metric, adapter, dataset, facts."""

from __future__ import annotations

from evalkit.decisions.explaining.judge_changes import judge_differs
from evalkit.decisions.explaining.kept import (
    Difference,
    Shown,
    differs,
    id_text,
    is_readable,
    list_words,
    mark,
    names,
    same_items,
)
from evalkit.decisions.explaining.preparation_changes import preparation
from evalkit.decisions.explaining.run_facts import RunFacts
from evalkit.decisions.explaining.sides import InputPair, Sides
from evalkit.scoring.records import Record

_LIMITS = ("minimum", "maximum", "review_band", "require", "review", "decide")

__all__ = ["adapter", "contract", "dataset", "metric", "policy", "reference", "required_set"]


def contract(sides: Sides) -> Difference | None:
    """Compare the contracts: values under two contracts answer different questions."""
    before, after = sides.old_run.contract_terms, sides.new_run.contract_terms
    changed = [key for key in before if before[key] != after[key]]
    if not changed and sides.old.contract_version != sides.new.contract_version:
        changed = ["version"]
        before, after = ({"version": record.contract_version} for record in (sides.old, sides.new))
    if changed:
        words = ", ".join(f"{key} {before[key]!r} -> {after[key]!r}" for key in changed)
        return Difference(
            "contract",
            f"the contract changed ({words}), so the two results are not compared",
            mark(dict(before), dict(after)),
        )
    if sides.new.error_kind == "contract_version" != sides.old.error_kind:
        text = f"the row is now written for another contract: {sides.new.reason}"
        return Difference("contract_version", text, Shown(sides.old.contract_version, sides.new.reason))
    return None


def required_set(sides: Sides) -> Difference | None:
    """Compare the denominators: a list that changed under one version is a defect; a new version is not compared."""
    before, after = sides.old.requirement_set_version, sides.new.requirement_set_version
    if None in (sides.old.inputs, sides.new.inputs):
        return None  # a line that gives no case has no required set: `dataset` says so
    if before != after:
        text = f"the required set went from version {before!r} to {after!r}, so the two results are not compared"
        return Difference("requirement_set_version", text, Shown(str(before), str(after)))
    for pair in sides.inputs.get("required_set", ()):
        if not same_items(pair.old, pair.new):
            version = f"one requirement_set_version ({before!r})" if before else "no requirement_set_version"
            text = f"{pair.name} changed under {version}: {list_words(pair.old, pair.new)}"
            return Difference(pair.name, text, mark(pair.old, pair.new))
    return None


def policy(sides: Sides) -> Difference | None:
    """Compare the limits: they count where the new policy decides the old value, untouched, otherwise."""
    if sides.old_run.policy is None or sides.new_run.policy is None or sides.old.decision is None:
        return None
    if _decided_anew(sides) == sides.old.decision:
        return None
    before, after = (_bound(run, record) for run, record in ((sides.old_run, sides.old), (sides.new_run, sides.new)))
    is_same = sides.old.value == sides.new.value
    tail = "the value is the same" if is_same else "the old value alone would be decided otherwise"
    return Difference("policy", f"the policy moved from {before} to {after}; {tail}", Shown(before, after))


def _decided_anew(sides: Sides) -> str | None:
    if sides.new_run.decide is not None:
        return sides.new_run.decide(sides.old)
    # The limits were not kept: with an equal value, another decision can only come from them.
    return sides.new.decision if sides.old.value == sides.new.value else sides.old.decision


def _bound(run: RunFacts, record: Record) -> str:
    limits = run.limits(record.slice) or {}
    words = ", ".join(f"{key} {limits[key]!r}" for key in _LIMITS if key in limits)
    return f"{words or f'bound {record.minimum!r}'} (version {run.policy_version})"


def metric(sides: Sides) -> Difference | None:
    """Compare the metric's source; for a judge, only as far as its own parts (prompt, labels ...) do not explain it."""
    before, after = sides.old_run.metric_source, sides.new_run.metric_source
    if before == after or None in (before, after):
        return None
    if judge_differs(sides):
        return None
    is_same_input = sides.old.input_hash == sides.new.input_hash
    if not is_same_input and sides.rescored is not None and sides.rescored.value == sides.old.value:
        return None  # the new source gives the old inputs their old value: it moved nothing here
    tail = "the inputs are the same" if is_same_input else "the inputs changed as well"
    version = sides.new_run.metric.get("contract_version")
    text = f"the metric's source was edited under one contract version ({version!r}); {tail}"
    return Difference("metric", text, Shown(str(before), str(after)))


def adapter(sides: Sides) -> Difference | None:
    """Compare how traces became cases, and what was made of these before the metric saw them."""
    if prepared := preparation(sides):
        return prepared
    before, after = sides.old_run.adapter, sides.new_run.adapter
    if before == after or not (before and after):
        return None
    changed = [key for key in dict.fromkeys([*before, *after]) if before.get(key) != after.get(key)]
    text = f"the adapter changed ({names(changed)}), so the case may say something else of the same trace"
    return Difference("adapter", text, mark(dict(before), dict(after)))


def dataset(sides: Sides) -> Difference | None:
    """Compare the row itself: whether it can be read, its slice, its question, reviewed inputs that are no list."""
    if (sides.old.inputs is None) != (sides.new.inputs is None):
        is_lost = sides.new.inputs is None
        reason = sides.new.reason if is_lost else sides.old.reason
        text = f"the line {'gives no case any more' if is_lost else 'gives a case again'}: {reason}"
        return Difference("line", text, Shown(f"line {sides.old.line}", f"line {sides.new.line}"))
    if sides.old.slice != sides.new.slice:
        text = f"the row moved from slice {sides.old.slice!r} to {sides.new.slice!r}, which has limits of its own"
        return Difference("slice", text, Shown(sides.old.slice, sides.new.slice))
    reordered = [
        pair for pair in sides.inputs.get("required_set", ()) if pair.old != pair.new and same_items(*pair[1:])
    ]
    pairs = [*sides.inputs.get("dataset", ()), *reordered, *_recorded(sides, "question")]
    version = _lineage(sides, "evidence_version")
    return _first_changed([*pairs, version])


def reference(sides: Sides) -> Difference | None:
    """Compare reviewed facts: the reference, and the reviewed text of the claims in question."""
    for pair in sides.inputs.get("reference", ()):
        if differs(pair.old, pair.new):
            return Difference(pair.name, f"{pair.name} {_changed(pair)}", mark(pair.old, pair.new))
    return _claims(sides) or _first_changed(_recorded(sides, "reference"))


def _claims(sides: Sides) -> Difference | None:
    """Compare the reviewed text of the claims in question; of all claims, where the metric names none."""
    for pair in _recorded(sides, "claims"):
        if not (is_readable(pair.old) and is_readable(pair.new)):
            return _first_changed([pair])
        ids = sides.claims or sorted(pair.old.keys() | pair.new.keys())
        if changed := [claim_id for claim_id in ids if pair.old.get(claim_id) != pair.new.get(claim_id)]:
            text = f"the reviewed text of {names([id_text(claim_id) for claim_id in changed])} changed"
            return Difference(pair.name, text, mark(pair.old.get(changed[0]), pair.new.get(changed[0])))
    return None


def _recorded(sides: Sides, key: str) -> list[InputPair]:
    return [sides.evidence(key)] if sides.is_recorded_on_both(key) else []


def _lineage(sides: Sides, key: str) -> InputPair:
    return InputPair(key, sides.old.lineage.get(key), sides.new.lineage.get(key))


def _first_changed(pairs: list[InputPair]) -> Difference | None:
    for pair in pairs:
        if differs(pair.old, pair.new):
            return Difference(pair.name, f"{pair.name} {_changed(pair)}", mark(pair.old, pair.new))
    return None


def _changed(pair: InputPair) -> str:
    if isinstance(pair.old, str) and isinstance(pair.new, str):
        return "changed"
    return list_words(pair.old, pair.new)
