"""What ``evalkit audit`` and ``evalkit adapt`` print: fields, checks, planted faults, controls, applicability."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit.contract import Outcome
from evalkit.mutate.audited import Audit, CheckResult
from evalkit.mutate.matrix import Mutant
from evalkit.pages.plain import plain
from evalkit.pages.screen import COLUMNS, EXAMPLES

__all__ = ["adapt_screen", "audit_screen", "fields_table"]

_HEAD = ("field", "present", "blank", "distinct", "wrong type")


def audit_screen(audit: Audit) -> str:
    """Return the text for a terminal."""
    return "\n".join(_lines(audit)) + "\n"


def adapt_screen(audit: Audit, cases: str, stamp: str) -> str:
    """Return the text for a terminal after the cases were written: what stands in the way first, the rest counted."""
    return "\n".join(_adapt_lines(audit, cases, stamp)) + "\n"


def fields_table(audit: Audit) -> list[dict[str, Any]]:
    """Return one row a meaning: its counts, each with its denominator."""
    rows = []
    for name, profile in audit.profile.fields.items():
        present = f"{profile.present} of {profile.rows}"
        row = (name, present, profile.blank, len(profile.hashes), profile.wrong_type)
        rows.append(dict(zip(_HEAD, row, strict=True)))
    return rows


def _lines(audit: Audit) -> Iterator[str]:
    yield from _title(audit)
    yield ""
    yield from _fields(audit)
    yield from _failed(audit.failed)
    yield from _held(audit.checks)
    yield from _mutants(audit)
    yield from _controls(audit)
    for facts in audit.applicability:
        yield from _applicability(facts, audit.blind().get(str(facts["metric"]), []))
    yield from _notes(audit.notes)
    yield ""
    yield from _verdict(audit)


def _adapt_lines(audit: Audit, cases: str, stamp: str) -> Iterator[str]:
    yield from _title(audit)
    yield from _failed(audit.failed)
    yield from _survivors(audit.matrix.of("survived"))
    yield from _notes(audit.notes)
    yield ""
    yield from _wrapped(f"wrote {audit.rows} cases to {cases}, and what they rest on to {stamp}")
    held = [check for check in audit.checks if not check.failed and not check.unasked]
    intact = sum(control.ok for control in audit.controls)
    yield from _wrapped(
        f"{len(held)} checks hold; planted faults: {audit.matrix.in_words()}; untouched controls: {intact} of "
        f"{len(audit.controls)} reached scoring as themselves (evalkit audit shows each)"
    )
    yield from _verdict(audit)


def _title(audit: Audit) -> Iterator[str]:
    adapter = audit.adapter
    yield from _wrapped(
        f"adapter {adapter.name}, revision {adapter.revision}, on {audit.traces}: {audit.rows} traces, audited before "
        "any judge is called"
    )


def _fields(audit: Audit) -> Iterator[str]:
    rows = [_HEAD, *(tuple(str(value) for value in row.values()) for row in fields_table(audit))]
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        yield "  ".join(f"{value:<{width}}" for value, width in zip(row, widths, strict=True)).rstrip()
    for name, profile in audit.profile.fields.items():
        for broken, count in profile.broken.most_common(2):
            yield from _wrapped(f"  {name}: {broken} on {count} of {profile.rows} rows", hang="    ")
        for other, of in sorted(profile.compared.items()):
            yield from _wrapped(f"  {name} equals {other} on {profile.equal[other]} of {of} rows", hang="    ")


def _failed(failed: Sequence[CheckResult]) -> Iterator[str]:
    if not failed:
        return
    yield ""
    yield _rule(f"checks that fail: {len(failed)}, owner adapter")
    for check in failed:
        yield from _wrapped(f"{check.name}: {check.asks}", hang="    ")
        yield from _wrapped(f"    fails on {check.failed} of {check.rows}", hang="      ")
        for example in check.examples[:EXAMPLES]:
            where = f"{example.case_id} ({example.where}): " if example.case_id else ""
            yield from _wrapped(f"    {where}{example.sentence}", hang="      ")
        if (more := check.failed - EXAMPLES) > 0:
            yield f"    and {more} more (--json FILE keeps {len(check.examples)})"


def _held(checks: Sequence[CheckResult]) -> Iterator[str]:
    held = [check for check in checks if not check.failed and not check.unasked]
    yield ""
    yield _rule(f"checks that hold: {len(held)} of {len(checks)}")
    for check in held:
        yield from _wrapped(f"{check.name}: {check.asks}", hang="    ")
    unasked: dict[str, list[str]] = {}
    for check in checks:
        if check.unasked:
            unasked.setdefault(check.unasked, []).append(check.name)
    for why, names in unasked.items():
        yield from _wrapped(f"not asked, {why}: {', '.join(names)}", hang="    ")


def _mutants(audit: Audit) -> Iterator[str]:
    yield ""
    yield _rule(f"planted faults: {audit.matrix.in_words()}")
    for mutant in audit.matrix.of("killed"):
        yield from _wrapped(f"{mutant.id}: {mutant.description}", hang="    ")
        kill, count = mutant.kills[0], len(mutant.kills)
        more = f" (and {count - 1} more)" if count > 1 else ""
        yield from _wrapped(f"    {mutant.where} in {kill.case_id}{more}: {kill.seen}", hang="      ")
    for mutant in audit.matrix.of("not_applicable"):
        yield from _wrapped(f"{mutant.id}: not applicable, {mutant.note}", hang="    ")
    yield from _survivors(audit.matrix.of("survived"))


def _survivors(survivors: Sequence[Mutant]) -> Iterator[str]:
    if survivors:
        yield ""
        yield _rule(f"planted faults that came through: {len(survivors)}")
    for mutant in survivors:
        yield from _wrapped(f"{mutant.id}: {mutant.description}", hang="    ")
        yield from _wrapped(f"    {mutant.note}", hang="      ")


def _controls(audit: Audit) -> Iterator[str]:
    intact = [control for control in audit.controls if control.ok]
    yield ""
    yield _rule(f"untouched controls: {len(intact)} of {len(audit.controls)} reached scoring")
    others = [control.corruption for control in intact if not control.is_same_trace]
    if others:
        yield from _wrapped(f"beside {', '.join(others)}: another trace, as theirs cannot be scored", hang="    ")
    for control in audit.controls:
        if not control.ok:
            yield from _wrapped(f"{control.corruption}: {control.sentence}", hang="    ")


def _applicability(facts: Mapping[str, Any], blind: Sequence[str]) -> Iterator[str]:
    yield ""
    yield _rule(f"{facts['metric']}, contract {facts['contract_version']}")
    for name in ("measures", "cannot_establish"):
        if facts[name]:
            yield from _wrapped(f"{name.replace('_', ' ')}: {facts[name]}", hang="    ")
    uses = {True: "uses the reference", False: "uses no reference", None: "nobody wrote whether it uses the reference"}
    yield from _wrapped(uses[facts["reference_dependent"]], hang="    ")
    for item in facts["inputs"]:
        yield from _wrapped(_input(item), hang="    ")
    if blind:
        yield from _wrapped(f"cannot see (its score did not change): {', '.join(blind)}", hang="    ")
    if facts["unanswered"]:
        yield from _wrapped(f"unanswered: {'; '.join(facts['unanswered'])}", hang="    ")


def _input(item: Mapping[str, Any]) -> str:
    words = [word for word in (item["role"], "required" if item["required"] else "optional") if word]
    missing = [f"{kind} means {meaning!r}" for kind, meaning in item["allows_missing"].items()]
    allowed = f"; {', '.join(missing)}" if missing else "; may not be missing" if item["required"] else ""
    fed = str(item["fed_by"] or "nothing").removeprefix("field:")
    return f"input {item['name']} ({', '.join(words)}) receives {fed}{allowed}"


def _notes(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        yield ""
    for note in notes:
        yield from _wrapped(f"note: {note}", hang="  ")


def _verdict(audit: Audit) -> Iterator[str]:
    yield from _wrapped(f"{audit.outcome.name.upper()} (exit code {int(audit.outcome)}): {_why(audit)}")


def _why(audit: Audit) -> str:
    if not audit.rows:
        return "there is no trace: nothing was shown"
    if audit.failed:
        return f"{len(audit.failed)} checks fail: no judge is to be called on these cases"
    broken = [control for control in audit.controls if not control.ok]
    if broken:
        return f"{len(broken)} of {len(audit.controls)} untouched controls did not reach scoring"
    if audit.matrix.score is None:
        return "no fault could be planted, so nothing was shown"
    if audit.outcome is Outcome.quality_failed:
        return f"{audit.matrix.in_words()}: an audit that would not notice the rest"
    if audit.unseen:
        return f"the trace keeps no record to hold {' and '.join(audit.unseen)} against: a person must confirm them"
    return f"each check holds, {audit.matrix.in_words()}"


def _rule(title: str) -> str:
    return f"-- {title} {'-' * COLUMNS}"[:COLUMNS]


def _wrapped(text: str, hang: str = "  ") -> list[str]:
    return textwrap.wrap(plain(text), COLUMNS, subsequent_indent=hang, break_on_hyphens=False)
