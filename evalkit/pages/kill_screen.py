"""What ``evalkit mutate`` prints: each fault with its diff and its killers, survivors last. 80 columns, plain text."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from evalkit.mutate.matrix import Kill, KillMatrix, Mutant
from evalkit.pages.plain import plain
from evalkit.pages.screen import COLUMNS

__all__ = ["kill_screen"]

_KILLERS = 3
"""Cases named behind each mutant; all of them are in the JSON."""
_DIFF_LINES = 6
_MARGIN = "    "
_LAYERS = {"metric": "the metric's source", "policy": "the policy", "gate": "the gate"}


def kill_screen(matrix: KillMatrix) -> str:
    """Return the text for a terminal."""
    return "\n".join(_lines(matrix)) + "\n"


def _lines(matrix: KillMatrix) -> Iterator[str]:
    version = matrix.facts.get("contract_version", "0")
    yield from _wrapped(
        f"{matrix.subject}, contract {version}: {len(matrix.mutants)} mutants, {len(matrix.cases)} cases; "
        + (
            "each mutant met every case"
            if matrix.full
            else "a mutant's first killer ended its trial (--full: all cases)"
        )
    )
    for layer, mutants in groupby(matrix.of("killed"), key=lambda m: m.layer):
        yield ""
        yield f"-- killed in {_LAYERS.get(layer, layer)} {'-' * COLUMNS}"[:COLUMNS]
        for mutant in mutants:
            yield from _mutant(mutant)
    yield from _set_aside(matrix)
    if matrix.full:
        yield from _idle_cases(matrix)
    yield from _survivors(matrix.of("survived"))
    yield ""
    yield from _wrapped(f"{matrix.outcome.name.upper()} (exit code {int(matrix.outcome)}): {_verdict(matrix)}")


def _verdict(matrix: KillMatrix) -> str:
    if matrix.score is None:
        return "nothing could be planted, so nothing was shown"
    left = len(matrix.of("survived"))
    tail = f"; {left} survived: a suite that would not notice {'it' if left == 1 else 'them'}" if left else ""
    return f"{matrix.in_words()}, score {_ratio(matrix.score)}{tail}"


def _ratio(score: float) -> str:
    """Show a score in three digits without ever rounding it to 1."""
    return "1.0" if score == 1 else f"{int(score * 1000) / 1000:.3f}"


def _mutant(mutant: Mutant) -> Iterator[str]:
    place = f"{mutant.where}{f', line {mutant.line}' if mutant.line else ''}"
    yield from _wrapped(f"{mutant.operator}: {place}", hang=_MARGIN)
    yield from _diff(mutant)
    if mutant.kills:
        yield from _wrapped(f"{_MARGIN}by {_killers(mutant.kills)}", hang=f"{_MARGIN}   ")


def _diff(mutant: Mutant) -> Iterator[str]:
    lines = [plain(line) for line in mutant.diff.split("\n")] if mutant.diff else []
    if len(lines) > _DIFF_LINES:
        lines = [*lines[: _DIFF_LINES - 2], "  ...", lines[-1]]
    room = COLUMNS - len(_MARGIN)
    skip = 0
    if len(lines) == 2 and max(map(len, lines)) > room:
        # What changed stands in sight: the lines are cut where they are still the same.
        same = next((i for i, (a, b) in enumerate(zip(*lines, strict=False)) if i > 1 and a != b), 0) - 2
        skip = max(0, min(same - 16, max(map(len, lines)) - room))
    for line in lines:
        text = f"{line[:2]}...{line[2 + skip + 3 :]}" if skip > 3 else line
        yield _MARGIN + (text if len(text) <= room else f"{text[: room - 3]}...")


def _killers(kills: Sequence[Kill]) -> str:
    named = ", ".join(f"{kill.case_id} ({kill.by})" for kill in kills[:_KILLERS])
    return f"{named} and {len(kills) - _KILLERS} more" if len(kills) > _KILLERS else named


def _set_aside(matrix: KillMatrix) -> Iterator[str]:
    if equivalent := matrix.of("equivalent"):
        yield ""
        yield f"-- equivalent: {len(equivalent)}, reviewed {'-' * COLUMNS}"[:COLUMNS]
        for mutant in equivalent:
            yield from _wrapped(f"{mutant.operator}: {mutant.where}, line {mutant.line}", hang=_MARGIN)
            yield from _diff(mutant)
            yield from _wrapped(f"{_MARGIN}{mutant.note}", hang=_MARGIN)
    absent = matrix.of("not_applicable")
    if absent:
        yield ""
        yield f"-- not applicable: {len(absent)} {'-' * COLUMNS}"[:COLUMNS]
        for note in dict.fromkeys(mutant.note for mutant in absent):
            names = ", ".join(dict.fromkeys(m.operator for m in absent if m.note == note))
            yield from _wrapped(f"{note}: {names}")


def _idle_cases(matrix: KillMatrix) -> Iterator[str]:
    killers = {name for mutant in matrix.mutants for name in mutant.killed_by}
    if idle := [case for case in matrix.cases if case not in killers]:
        yield ""
        yield from _wrapped(f"cases that killed nothing ({len(idle)} of {len(matrix.cases)}): {', '.join(idle)}")


def _survivors(survivors: list[Mutant]) -> Iterator[str]:
    """List survivors, those with the smallest killing case first; a case that serves several is shown once."""
    if not survivors:
        return
    yield ""
    yield f"-- survived: {len(survivors)} {'-' * COLUMNS}"[:COLUMNS]
    with_case = sorted((m for m in survivors if m.suggested_case), key=_size)
    for number, (_, group) in enumerate(groupby(with_case, key=_inputs), start=1):
        mutants = list(group)
        yield from _named(mutants)
        count = f"these {len(mutants)}" if len(mutants) > 1 else "it"
        yield from _wrapped(
            f"    [{number}] this case would kill {count}; confirm its oracle, which is what the metric does today:",
            hang="        ",
        )
        yield _pasteable(mutants[0])
    for mutant in survivors:
        if not mutant.suggested_case:
            yield from _named([mutant])
            yield from _wrapped(f"    {mutant.note}", hang="    ")
            yield from _wrapped("    if so, name it in equivalent.toml, with the reason", hang="    ")


def _named(mutants: list[Mutant]) -> Iterator[str]:
    for mutant in mutants:
        yield from _wrapped(f"{mutant.id} (line {mutant.line})" if mutant.line else mutant.id)
        yield from _diff(mutant)


def _inputs(mutant: Mutant) -> str:
    return json.dumps({key: value for key, value in (mutant.suggested_case or {}).items() if key != "case_id"})


def _size(mutant: Mutant) -> tuple[int, str]:
    return len(_inputs(mutant)), _inputs(mutant)


def _pasteable(mutant: Mutant) -> str:
    # One line, however long, to be pasted as it is; escapes keep what is invisible from hiding in it.
    case = json.dumps(mutant.suggested_case, ensure_ascii=False)
    return case if plain(case) == case else json.dumps(mutant.suggested_case)


def _wrapped(text: str, hang: str = "  ") -> list[str]:
    return textwrap.wrap(plain(text), COLUMNS, subsequent_indent=hang, break_on_hyphens=False)
