"""The smallest change to what the system produced that would flip a row, found by asking the metric itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations
from typing import Any, Literal, NamedTuple

from evalkit.contract import Decision, Metric, canonical_json
from evalkit.decisions.explaining.kept import id_text
from evalkit.scoring.records import Record
from evalkit.scoring.retention import is_kept_in_full

__all__ = ["MOST_CALLS", "Counterfactual", "Edit", "counterfactual"]

MOST_CALLS = 2_000
"""Calls of the metric after which a search gives up, and says so."""
_MOST_SHOWN = 10


class Edit(NamedTuple):
    """One item added to, or removed from, one produced list."""

    verb: Literal["add", "remove"]
    input: str
    item: Any

    def words(self) -> str:
        """Say it."""
        return f"{id_text(self.item)} {'in' if self.verb == 'add' else 'taken out of'} {self.input}"


class Counterfactual(NamedTuple):
    """What a search came to."""

    target: Decision
    """The decision asked for."""
    options: tuple[tuple[Edit, ...], ...]
    """Each of them suffices; all have the same, smallest size. Empty where none was found."""
    n_options: int
    """How many there are (`options` holds at most ten)."""
    calls: int
    gave_up: bool
    """True where the search ended at its bound: a larger change may still do."""
    sentence: str

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**self._asdict(), "options": [[edit._asdict() for edit in option] for option in self.options]}


def counterfactual(
    metric: Metric,
    record: Record,
    decide: Callable[[Record], Decision | None],
    *,
    target: Decision = "pass",
    most_calls: int = MOST_CALLS,
) -> Counterfactual:
    """Search the fewest edits of produced lists that make the policy decide `target`.

    Items to add come from the reviewed lists of the row, items to remove from the produced lists themselves. It asks
    the metric about each edited row, so it works for any deterministic metric with list inputs, and knows nothing of
    how that metric counts.

    Parameters
    ----------
    metric : Metric
        With a contract: it says which inputs the system produced.
    record : Record
        A scored row with its inputs kept in full.
    decide : callable
        The policy as a function of one record.
    target : str, optional
        The decision to reach.
    most_calls : int, optional
        Calls of the metric before it gives up.

    Notes
    -----
    It says what the metric would accept, not what is true: adding an id to a list does not make a claim supported.
    """
    if (problem := _problem(metric, record)) is not None:
        return _none(target, 0, f"not decidable here: {problem}", gave_up=False)
    inputs = dict(record.inputs or {})
    calls = 0
    edits = _edits(metric, inputs)
    for size in range(1, len(edits) + 1):
        found: list[tuple[Edit, ...]] = []
        for option in combinations(edits, size):
            if calls >= most_calls:
                return _result(target, found, calls, gave_up=True)
            calls += 1
            if _decision(metric, record, _edited(inputs, option), decide) == target:
                found.append(option)
        if found:
            return _result(target, found, calls, gave_up=False)
    return _none(target, calls, f"no change of {_lists(metric, inputs)} alone makes it {target}", gave_up=False)


def _problem(metric: Metric, record: Record) -> str | None:
    if metric.contract is None:
        return f"{metric.name} has no contract that says which inputs the system produced"
    if record.state != "scored" or record.inputs is None:
        return "the row was not scored"
    cut = [name for name, value in record.inputs.items() if not is_kept_in_full(value)]
    if cut:
        return f"{', '.join(cut)} was not kept in full"
    if metric.measure(record.inputs).value != record.value:
        return "the kept inputs do not give the recorded value again (redacted, or the metric is not deterministic)"
    if not _produced_lists(metric, record.inputs):
        return f"{metric.name} takes no list that the system produced"
    return None


def _produced_lists(metric: Metric, inputs: Mapping[str, Any]) -> list[str]:
    produced = metric.contract.produced if metric.contract else ()
    return [name for name in produced if isinstance(inputs.get(name), list)]


def _lists(metric: Metric, inputs: Mapping[str, Any]) -> str:
    return " and ".join(_produced_lists(metric, inputs))


def _edits(metric: Metric, inputs: Mapping[str, Any]) -> list[Edit]:
    reviewed = [inputs.get(name) for name in metric.contract.reviewed] if metric.contract else []
    pool = [item for values in reviewed if isinstance(values, list) for item in values]
    edits: list[Edit] = []
    for name in _produced_lists(metric, inputs):
        present = _distinct(inputs[name])
        edits += [Edit("add", name, item) for key, item in _distinct(pool).items() if key not in present]
        edits += [Edit("remove", name, item) for item in present.values()]
    return edits


def _distinct(items: list[Any]) -> dict[bytes, Any]:
    return {canonical_json(item): item for item in items}


def _edited(inputs: Mapping[str, Any], option: tuple[Edit, ...]) -> dict[str, Any]:
    edited = dict(inputs)
    for verb, name, item in option:
        values = list(edited[name])
        if verb == "add":
            values.append(item)
        elif item in values:
            values.remove(item)
        edited[name] = values
    return edited


def _decision(
    metric: Metric, record: Record, inputs: Mapping[str, Any], decide: Callable[[Record], Decision | None]
) -> Decision | None:
    measured = metric.measure(inputs)
    return decide(record._replace(state=measured.state, value=measured.value, inputs=inputs))


def _result(target: Decision, found: list[tuple[Edit, ...]], calls: int, *, gave_up: bool) -> Counterfactual:
    if not found:
        return _none(
            target, calls, f"nothing was found in {calls} tries: gave up; a larger change may do", gave_up=True
        )
    shown = [" and ".join(edit.words() for edit in option) for option in found[:_MOST_SHOWN]]
    more = f" (and {len(found) - _MOST_SHOWN} more ways)" if len(found) > _MOST_SHOWN else ""
    ways = "" if len(found) == 1 else f"any one of {len(found)} changes: "
    sentence = f"the row would {target} with {ways}{'; or '.join(shown)}{more}"
    if gave_up:
        sentence += f"; the search ended after {calls} tries, there may be more"
    return Counterfactual(target, tuple(found[:_MOST_SHOWN]), len(found), calls, gave_up, sentence)


def _none(target: Decision, calls: int, sentence: str, *, gave_up: bool) -> Counterfactual:
    return Counterfactual(target, (), 0, calls, gave_up, sentence)
