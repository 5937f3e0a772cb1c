"""For each survivor, the smallest case that would kill it: inputs of the suite, reduced and bent, where both differ."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import permutations
from typing import Any, NamedTuple

import orjson

from evalkit.contract import Measured, Metric
from evalkit.mutate.blueprint import Blueprint, Change
from evalkit.mutate.expect import difference, oracle_of, parse_oracle, plain_oracle
from evalkit.mutate.runner import Beat, Limits, Stopped, Task, run_tasks
from evalkit.mutate.source import Unit
from evalkit.mutate.trials import Trial, Trials

__all__ = ["Suggestion", "candidates", "hints_in", "suggest", "variations"]

_MOST = 3_000
_STOPS = 10
"""How often the metric itself may hang or die on a varied input before the search makes do with what it has."""
_WORDS = 8
_DOUBTS = 20
_ROUNDS = 2
_SEEDS = 200
"""How many of the smallest inputs are bent in each round."""
_FOREIGN = "another"


class Suggestion(NamedTuple):
    """A case that tells a survivor from the original, or what was tried in vain."""

    case: dict[str, Any] | None
    note: str


def suggest(
    blueprint: Blueprint, survivors: Mapping[str, Change], suite: Trials, limits: Limits
) -> dict[str, Suggestion]:
    """Search for the smallest case that would kill each survivor.

    What the case expects is what the unmutated metric does today: a person must still say that this is right.
    """
    if not survivors:
        return {}
    known = _recorded(blueprint.metric, candidates(suite.trials, hints_in(blueprint.units)), limits)
    names = list(survivors)
    tasks = [_search_task(blueprint, survivors[name], known) for name in names]
    found: dict[str, Suggestion] = {}
    for event in run_tasks(tasks, limits):
        step, oracle = (event.message.step, None) if isinstance(event.message, Stopped) else event.message
        case = _case(names[event.task], known[step], oracle, blueprint.metric, suite.feeds)
        found[names[event.task]] = Suggestion(case, "the smallest case found that would kill it")
    nothing = f"none of {len(known)} varied inputs tells it from the original: it may be equivalent"
    return {name: found.get(name, Suggestion(None, nothing)) for name in names}


def _case(
    name: str, trial: Trial, oracle: dict[str, Any] | None, metric: Metric, feeds: Mapping[str, str]
) -> dict[str, Any]:
    inputs = orjson.loads(trial.inputs)
    return {
        "case_id": re.sub(r"[^a-z0-9]+", "-", f"kills {name}".lower()).strip("-"),
        "role": "boundary",
        "contract_version": metric.version,
        **{feeds[parameter]: value for parameter, value in inputs.items()},
        "oracle": oracle or plain_oracle(trial.oracle),
    }


# --- in the children ------------------------------------------------------------------------------------------------


def _recorded(metric: Metric, inputs: list[bytes], limits: Limits) -> list[Trial]:
    """Return the inputs on which the unmutated metric gives a score or refuses the row, with what it gives."""
    trials: list[Trial] = []
    first = 0
    for _ in range(_STOPS):
        stopped = len(inputs)
        for event in run_tasks([_record_task(metric, inputs, first)], limits):
            if isinstance(event.message, Stopped):  # the metric itself hangs or dies on this input
                stopped = event.message.step
            else:
                number, plain = event.message
                trials.append(Trial("", inputs[number], parse_oracle(plain, "a varied input")))
        first = stopped + 1
    return trials


def _record_task(metric: Metric, inputs: list[bytes], first: int) -> Task:
    def task(beat: Beat) -> Iterator[Any]:
        for number in range(first, len(inputs)):
            beat(number)
            measured = metric.measure(orjson.loads(inputs[number]))
            plain = oracle_of(measured)
            if measured.state in ("scored", "invalid") and _survives_json(plain):
                yield [number, plain]

    return task


def _survives_json(plain: Any) -> bool:
    try:
        return bool(orjson.loads(orjson.dumps(plain)) == plain)
    except (TypeError, ValueError):
        return False


def _search_task(blueprint: Blueprint, change: Change, trials: list[Trial]) -> Task:
    def task(beat: Beat) -> Iterator[Any]:
        measure, doubts = blueprint.build(change).measure, 0
        for number, trial in enumerate(trials):
            beat(number)
            if not _differs(measure, trial):
                continue
            # Once more, alone: a metric that remembers earlier rows may differ because of those.
            oracle = oracle_of(blueprint.build().measure(orjson.loads(trial.inputs)))
            if _differs(blueprint.build(change).measure, trial._replace(oracle=parse_oracle(oracle, ""))):
                yield [number, oracle]
                return
            if (doubts := doubts + 1) > _DOUBTS:
                return

    return task


def _differs(measure: Callable[[Any], Measured], trial: Trial) -> bool:
    try:
        return difference(measure(orjson.loads(trial.inputs)), trial.oracle) is not None
    except BaseException:  # noqa: BLE001 - what escapes the mutant tells it from the original
        return True


# --- inputs ---------------------------------------------------------------------------------------------------------


def hints_in(units: Iterable[Unit]) -> tuple[Any, ...]:
    """Return the numbers and texts that stand in the source, and numbers beside them: bounds are where slips show."""
    found = [node.value for unit in units for node in ast.walk(unit.root) if isinstance(node, ast.Constant)]
    numbers = {value for value in found if isinstance(value, int | float) and not isinstance(value, bool)}
    near = {round(n + step, 12) for n in numbers for step in ((-1, 0, 1) if isinstance(n, int) else (-0.01, 0, 0.01))}
    texts = {value for value in found if isinstance(value, str) and 0 < len(value) <= 20}
    return (*sorted(near), *sorted(texts, key=lambda text: (len(text), text))[:_WORDS])


def candidates(trials: tuple[Trial, ...], hints: tuple[Any, ...] = ()) -> list[bytes]:
    """Return the inputs of the suite and variations of them, the smallest first, without duplicates."""
    found = {trial.inputs for trial in trials} | set(_mixed(trials))
    for _ in range(_ROUNDS):
        ordered = sorted(found, key=_size)
        # The smallest, and some of every size: a slip behind a bound shows only on a larger input.
        spread = ordered[_SEEDS :: max(1, len(ordered) // _SEEDS)]
        found |= {bent for raw in [*ordered[:_SEEDS], *spread] for bent in _bent(raw, hints)}
    ordered = sorted(found, key=_size)
    return [*ordered[: _MOST // 2], *ordered[_MOST // 2 :: max(1, 2 * len(ordered) // _MOST)]]


def _mixed(trials: tuple[Trial, ...]) -> Iterator[bytes]:
    """Give each of the smallest inputs one value of another."""
    smallest = [orjson.loads(raw) for raw in sorted({trial.inputs for trial in trials}, key=_size)[:20]]
    for one, other in permutations(smallest, 2):
        yield from (orjson.dumps(one | {name: other[name]}) for name in one if name in other)


def _size(raw: bytes) -> tuple[int, bytes]:
    return len(raw), raw


def _bent(raw: bytes, hints: tuple[Any, ...]) -> Iterator[bytes]:
    inputs = orjson.loads(raw)
    for name, value in inputs.items():
        for other in variations(value, hints):
            with contextlib.suppress(TypeError):  # a number beyond 64 bits
                yield orjson.dumps(inputs | {name: other})


def variations(value: Any, hints: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Yield values near `value`, of its type, and for a number those that the source speaks of.

    >>> list(variations(["a", "b"]))[:4]
    [[], ['b'], ['a'], ['b', 'a']]
    """
    if isinstance(value, list):
        yield from _list_variations(value)
    elif isinstance(value, str):
        words = value.split()
        fewer = [" ".join(words[:i] + words[i + 1 :]) for i in range(min(len(words), 6))]
        changed = ("", " ", value[:1], *fewer, value.lower(), value.upper(), f" {value}", f"{value} ", value + value)
        more = [f"{value} {hint}" for hint in (value, *hints) if isinstance(hint, str)] if words else []
        yield from (other for other in (*changed, *more) if other != value)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (0, 1, 2, 3, 5, 10, value - 1, value + 1, -value, 2 * value)
        yield from (hint for hint in hints if isinstance(hint, int))
    elif isinstance(value, float):
        yield from (0.0, 1.0, 0.5, 0.333, value - 0.01, value + 0.01, value / 2, -value)
        yield from (float(hint) for hint in hints if isinstance(hint, int | float))
    elif isinstance(value, dict):
        for name in list(value)[:4]:
            yield {key: item for key, item in value.items() if key != name}
            yield from (value | {name: other} for other in variations(value[name]))


def _list_variations(value: list[Any]) -> Iterator[Any]:
    if not value:
        yield [_FOREIGN]
        return
    yield []
    for index in range(min(len(value), 6)):
        yield value[:index] + value[index + 1 :]
    yield value[::-1]
    yield [*value, value[0]]
    if isinstance(value[0], str):
        yield [*value, _FOREIGN]
    for index in {0, len(value) - 1}:
        for other in variations(value[index]):
            yield [*value[:index], other, *value[index + 1 :]]
