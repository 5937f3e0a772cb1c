"""What ``evalkit recheck`` prints: what was tried, what changed and why, what blocks. 80 columns, plain text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from evalkit.contract import Outcome, example_list
from evalkit.decisions.rechecking.transitions import Compared, Transition, critical_first
from evalkit.pages.plain import plain
from evalkit.pages.recheck_run import RecheckDone
from evalkit.pages.screen import COLUMNS

__all__ = ["recheck_screen"]

_MOST = 10
_MARK = {True: "holds", False: "BROKEN", None: "-"}
_NAME = 20
_DIRECTION = {
    "broken": "people say {label}: BROKEN",
    "mended": "people say {label}: mended",
    "open": "no label says which is right",
}
_WHY = {
    "rehearsal": "something that has to hold does not",
    "dataset": "this is not the set as it was frozen",
    "controls": "the judge does not tell its controls apart",
    "lost": "rows have no verdict any more",
    "broken": "verdicts that were right are wrong now",
    "moved": "verdicts moved, and no label says which is right",
}


def recheck_screen(done: RecheckDone) -> str:
    """Return the text for a terminal."""
    return "\n".join(_lines(done)) + "\n"


def _lines(done: RecheckDone) -> Iterator[str]:
    found = done.found
    yield from _wrapped(f"{done.judge.name} against run {done.old.manifest.get('run_id')}: {_versions(done)}")
    yield ""
    held = [check for check in found.checks if check.ok]
    tried = [check for check in found.checks if check.ok is not None]
    yield f"rehearsal: {len(held)} of {len(tried)} checks hold; nothing was sent"
    for check in found.checks:
        head = f"  {check.name:<{_NAME}}{_MARK[check.ok]:<8}"
        yield from _wrapped(f"{head}{check.sentence}", hang=" " * len(head))
    yield from _controls(done)
    if found.compared is not None:
        yield from _set(found.compared, done)
    yield from _left(done)
    yield ""
    yield from _blockers(done)


def _versions(done: RecheckDone) -> str:
    old, new = done.old.manifest, done.new.manifest if done.new else None
    parts = []
    for name, before, after in (
        ("model", *(((run or {}).get("judge") or {}).get("model") for run in (old, new))),
        ("ragas", *((run or {}).get("ragas") for run in (old, new))),
    ):
        is_same = before == after or new is None
        parts.append(f"{name} {before}" if is_same else f"{name} {before} -> {after}")
    return ", ".join(parts)


def _controls(done: RecheckDone) -> Iterator[str]:
    run, changed = done.found.controls, done.found.controls_changed
    if run is None:
        return
    told = sum(result.ok for result in run.results)
    yield ""
    yield f"controls: {told} of {len(run.results)} told apart"
    wrong = [f"{r.control.case_id} ({r.control.role})" for r in (*run.wrong, *run.unjudged)]
    if wrong:
        yield from _wrapped(f"  not: {example_list(wrong)}", hang="    ")
    if changed:
        yield from _wrapped(f"  otherwise than when they were frozen: {example_list(list(changed))}", hang="    ")


def _set(compared: Compared, done: RecheckDone) -> Iterator[str]:
    moved = compared.transitions
    critical = sum(found.critical for found in moved)
    yield ""
    yield from _wrapped(
        f"the set: {compared.rows} rows, {compared.unchanged} with the same verdict; {len(moved)} changed, "
        f"{critical} of them in a critical slice; calls: {done.calls}"
    )
    for found in list(critical_first(moved))[:_MOST]:
        yield from _transition(found)
    if len(moved) > _MOST:
        yield f"  and {len(moved) - _MOST} more (--json FILE has all {len(moved)})"


def _transition(found: Transition) -> Iterator[str]:
    where = f"{found.slice}, critical" if found.critical else found.slice
    yield from _wrapped(f"  {found.case_id} ({where}): {found.old} -> {found.new}", hang="    ")
    said = _DIRECTION[found.direction].format(label=found.label)
    also = f" (also {', '.join(found.also)})" if found.also else ""
    yield from _wrapped(f"    {found.attributed_to}{also}: {found.sentence}; {said}", hang="      ")


def _left(done: RecheckDone) -> Iterator[str]:
    lines = []
    if done.proposals is not None:
        lines.append(
            f"proposed: {done.proposals} cases for review; no command reads them as cases until somebody has taken "
            "out their key 'proposed'"
        )
    if done.rollback is not None:
        lines.append(f"going back: {done.rollback} (and then certify again)")
    if done.new is not None:
        lines.append(f"report {done.new.folder / 'report.html'}" if _has_report(done) else f"run {done.new.folder}")
    if lines:
        yield ""
    for line in lines:
        yield from _wrapped(line)


def _has_report(done: RecheckDone) -> bool:
    return done.new is not None and (done.new.folder / "report.html").is_file()


def _blockers(done: RecheckDone) -> Iterator[str]:
    outcome, blockers = done.found.outcome, done.found.blockers
    for number, blocker in enumerate(blockers, 1):
        yield from _wrapped(
            f"[{number}] {blocker.outcome.name}, owner {blocker.owner}: {blocker.sentence}", hang="    "
        )
        yield from _wrapped(f"    do: {blocker.do}", hang="        ")
    if blockers:
        yield ""
    words = outcome.name.replace("_", " ").upper()
    yield from _wrapped(f"{words} (exit code {int(outcome)}): {_why(outcome, blockers, done)}")


def _why(outcome: Outcome, blockers: Sequence[Any], done: RecheckDone) -> str:
    compared = done.found.compared
    if outcome is Outcome.passed and compared is not None:
        mended = sum(found.direction == "mended" for found in compared.transitions)
        same = f"{compared.unchanged} of {compared.rows} verdicts are those of the older run"
        return f"{same}, {mended} were mended" if mended else same
    if compared is None and not done.found.is_ready:
        return "nothing was asked"
    return "; ".join(dict.fromkeys(_WHY[blocker.kind] for blocker in blockers))


def _wrapped(text: str, hang: str = "  ") -> list[str]:
    return textwrap.wrap(plain(text), COLUMNS, subsequent_indent=hang, break_long_words=False, break_on_hyphens=False)
