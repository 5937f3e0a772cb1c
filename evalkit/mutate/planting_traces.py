"""Corruptions planted while the traces stream by: each until enough rows have shown whether its check names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evalkit.cases.adapters.checks import Check, Pair
from evalkit.cases.adapters.feeding import FeedCheck
from evalkit.cases.adapters.profile import FileCheck, FileProfile
from evalkit.contract import Metric
from evalkit.mutate.controls import Control, ControlRoom
from evalkit.mutate.corruptions import CORRUPTIONS, Corruption
from evalkit.mutate.file_corruptions import FEED_CORRUPTIONS, FILE_CORRUPTIONS
from evalkit.mutate.matrix import Kill, Mutant

__all__ = ["Planter", "feed_mutants", "file_mutants"]

HOSTS = 20
"""Rows that a corruption is planted into; a check that names it on each of them names it."""


@dataclass
class _Trial:
    """What one corruption has come to so far."""

    hosts: int = 0
    kills: list[Kill] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    control: Control | None = None
    refused: str = ""
    """Why the last row that was tried as control did not reach scoring."""


class Planter:
    """Plants every row corruption into clean rows, one row of the file after the other."""

    def __init__(self, checks: Mapping[str, Check], room: ControlRoom) -> None:
        self._checks = checks
        self._room = room
        self._trials = {name: _Trial() for name in CORRUPTIONS}
        self._spare: Control | None = None
        """Any clean row that reaches scoring, for faults of traces that cannot."""

    @property
    def is_done(self) -> bool:
        """Whether every corruption has had its rows; later ones need not be looked at."""
        return self._spare is not None and all(trial.hosts >= HOSTS for trial in self._trials.values())

    def plant(self, pair: Pair, other: Pair) -> None:
        """Plant into one clean row; `other` is another row, to take from."""
        for name, corruption in CORRUPTIONS.items():
            trial = self._trials[name]
            if trial.hosts < HOSTS:
                corrupted = corruption.plant(pair, other)
                if corrupted is not None:
                    self._judge(corruption, trial, pair, corrupted)
        if self._spare is None:
            self._spare = self._control("", pair)

    def _judge(self, corruption: Corruption, trial: _Trial, clean: Pair, corrupted: Pair) -> None:
        check = self._checks.get(corruption.check)
        seen = check.find(corrupted) if check else None
        trial.hosts += 1
        case_id = clean.happened.trace_id
        if seen:
            trial.kills.append(Kill(case_id, "check", seen))
        else:
            trial.missed.append(case_id)
        self._room.look(corruption.name, clean, corrupted)
        if trial.control is None:
            trial.control = self._control(corruption.name, clean)

    def _control(self, name: str, pair: Pair) -> Control | None:
        states = self._room.states(pair)
        if isinstance(states, str):
            if name:
                self._trials[name].refused = states
            return None
        text = "reached scoring with its identity intact"
        return Control(name, pair.happened.trace_id, True, states, True, text)

    def mutants(self) -> Iterator[Mutant]:
        """Yield what became of each corruption."""
        for name, corruption in CORRUPTIONS.items():
            trial = self._trials[name]
            yield _mutant(name, corruption.description, corruption.check, trial)

    def controls(self) -> Iterator[Control]:
        """Yield the untouched trace beside each corruption that could be planted."""
        for name, trial in self._trials.items():
            if not trial.hosts:
                continue
            if trial.control is not None:
                yield trial.control
            elif self._spare is not None:
                yield self._spare._replace(corruption=name, is_same_trace=False)
            else:
                why = f"no untouched trace reached scoring: {trial.refused or 'none was clean'}"
                yield Control(name, None, False, {}, False, why)


def _mutant(name: str, description: str, check: str, trial: _Trial) -> Mutant:
    is_killed = bool(trial.kills) and not trial.missed
    note = ""
    if not trial.hosts:
        note = "no clean trace has what it needs"
    elif not is_killed:
        seen = f"{check} names it on {len(trial.kills)} of {trial.hosts} rows"
        note = f"{seen}; not on {', '.join(trial.missed[:3])}"
    return Mutant(
        id=name,
        operator=name,
        description=description,
        layer="adapter",
        where=check,
        status="not_applicable" if not trial.hosts else "killed" if is_killed else "survived",
        kills=tuple(trial.kills) if is_killed else (),
        note=note,
    )


def file_mutants(pairs: Sequence[Pair], profile: FileProfile, checks: Mapping[str, FileCheck]) -> Iterator[Mutant]:
    """Yield what becomes of each corruption of a whole file, planted into a sample of it.

    Parameters
    ----------
    pairs : sequence of Pair
        The sample.
    profile : FileProfile
        The real file's, for what it needs and maps.
    """
    for corruption in FILE_CORRUPTIONS.values():
        planted = corruption.plant(pairs)
        seen: list[str] = []
        if planted is not None and corruption.check in checks:
            faulty = FileProfile(profile.mapped, profile.needed, profile.constant)
            for pair in planted:
                faulty.add(pair)
            seen = list(checks[corruption.check].find(faulty))
        kills = tuple(Kill("the whole file", "check", sentence) for sentence in seen)
        yield Mutant(
            id=corruption.name,
            operator=corruption.name,
            description=corruption.description,
            layer="adapter",
            where=corruption.check,
            status="not_applicable" if planted is None else "killed" if kills else "survived",
            kills=kills,
            note=f"needs {corruption.needs}" if planted is None else "" if kills else f"{corruption.check} is silent",
        )


def feed_mutants(
    feeds: Mapping[str, str], metrics: Sequence[Metric], checks: Mapping[str, FeedCheck]
) -> Iterator[Mutant]:
    """Yield what becomes of each corruption of what a metric receives, over all metrics together."""
    for corruption in FEED_CORRUPTIONS.values():
        kills: list[Kill] = []
        missed: list[str] = []
        for metric in metrics:
            own = {p.name: feeds[p.name] for p in metric.parameters if p.name in feeds}
            planted = corruption.plant(own, metric)
            if planted is None:
                continue
            seen = list(checks[corruption.check].find(planted, metric)) if corruption.check in checks else []
            kills += [Kill(metric.name, "check", sentence) for sentence in seen[:1]]
            missed += [] if seen else [metric.name]
        is_planted, is_killed = bool(kills or missed), bool(kills) and not missed
        note = f"{corruption.check} is silent on {', '.join(missed)}" if missed else ""
        if not is_planted:
            note = f"needs {corruption.needs}" if metrics else "needs a metric (--metric)"
        yield Mutant(
            id=corruption.name,
            operator=corruption.name,
            description=corruption.description,
            layer="adapter",
            where=corruption.check,
            status="not_applicable" if not is_planted else "killed" if is_killed else "survived",
            kills=tuple(kills) if is_killed else (),
            note=note,
        )
