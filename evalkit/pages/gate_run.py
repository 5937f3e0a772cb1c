"""The whole of ``evalkit gate``: load, judge, write what was asked for."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson

from evalkit.decisions.gate import GateOptions, GateResult, gate
from evalkit.decisions.outcome_file import facts_of
from evalkit.decisions.wrong_tool_rows import SAMPLE, advise_in_words
from evalkit.pages.progress import counting
from evalkit.pages.publish import publish_gate
from evalkit.scoring.load import load_metric
from evalkit.scoring.parts import RecordSink
from evalkit.scoring.records import Record
from evalkit.scoring.run import RunWriter, new_run_id, write_whole

__all__ = ["GateDone", "GateOutputs", "run_gate"]

_ROW_KEYS = (
    "line", "case_id", "slice", "blocking", "state", "decision", "value", "minimum", "policy_version", "reason",
    "error_kind",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class GateOutputs:
    """What a gate is asked to leave behind."""

    run: Path | None = None
    junit: Path | None = None
    summary: Path | None = None
    format: str = "text"


class GateDone(NamedTuple):
    """A finished gate."""

    result: GateResult
    facts: dict[str, Any]
    """The outcome file."""
    screen: str
    exit_code: int


def run_gate(spec: str, cases: Path, policy: Path, options: Mapping[str, Any], outputs: GateOutputs) -> GateDone:
    """Judge `cases` and write run folder, JUnit and summary as asked."""
    metric = load_metric(spec)
    parameters = _parameters(cases, policy, options)
    with contextlib.ExitStack() as stack:
        writer = stack.enter_context(RunWriter(outputs.run)) if outputs.run else None
        printer = _RowPrinter() if outputs.format == "jsonl" else None
        sample = _FirstRows(SAMPLE)
        sinks = [sink for sink in (writer, printer, sample) if sink is not None]
        on_rows = stack.enter_context(counting("rows judged"))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        if printer:
            stack.enter_context(_nothing_between_the_rows())
        chosen = GateOptions(on_rows=on_rows, workers=_cores(), **options)
        result = gate(metric, cases, policy, options=chosen, sink=_Both(sinks))
        run_id = writer.run_id if writer else new_run_id()
        facts = facts_of(result, run_id=run_id, command=f"gate {metric.name}", parameters=parameters)
        facts["warnings"] += advise_in_words(metric, sample.records())
        if writer:
            publish_gate(result, writer, facts)
    _leave(facts, outputs)
    if printer:
        with contextlib.suppress(BrokenPipeError):  # `| head` has seen enough; the outcome stays
            printer.copy_to(sys.stdout.buffer)
    return GateDone(result, facts, _screen(facts, outputs), result.exit_code)


@contextlib.contextmanager
def _nothing_between_the_rows() -> Iterator[None]:
    """Send to standard error what a metric's child process or C library says on standard output meanwhile."""
    try:
        kept = os.dup(1)
    except OSError:  # standard output is closed: nothing can come between
        kept = None
    if kept is not None:
        os.dup2(2, 1)
    try:
        yield
    finally:
        if kept is not None:
            if sys.__stdout__:
                sys.__stdout__.flush()
            os.dup2(kept, 1)
            os.close(kept)


def _cores() -> int:
    """Return the cores this process may use; one where the system cannot fork."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "fork") and hasattr(os, "sched_getaffinity") else 1


def _parameters(cases: Path, policy: Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options as they will stand in the outcome file: names, never paths of this machine."""
    as_of = options.get("as_of")
    files = {name: options.get(name) for name in ("baseline", "labels", "causes", "ledger")}
    return {
        "cases": cases.name,
        "policy": policy.name,
        **{name: path.name if path else None for name, path in files.items()},
        "require_revision": options.get("require_revision"),
        "as_of": as_of.isoformat() if as_of else None,
        "input": dict(options.get("feeds", {})),
    }


def _leave(facts: dict[str, Any], outputs: GateOutputs) -> None:
    if outputs.junit:
        from evalkit.pages.junit import render_junit

        write_whole(outputs.junit, render_junit(facts))
    if outputs.summary:
        from evalkit.pages.summary import render_summary

        # Appended, because $GITHUB_STEP_SUMMARY is one file for all steps of a job.
        before = outputs.summary.read_text(encoding="utf-8") if outputs.summary.is_file() else ""
        write_whole(outputs.summary, before + render_summary(facts))


def _screen(facts: dict[str, Any], outputs: GateOutputs) -> str:
    if outputs.format != "text":
        return ""
    from evalkit.pages.screen import gate_screen

    return gate_screen(facts, report=outputs.run / "report.html" if outputs.run else None)


class _Both:
    """Records to every sink there is."""

    def __init__(self, sinks: Sequence[RecordSink]) -> None:
        self._sinks = sinks

    def write(self, raw: bytes) -> None:
        for sink in self._sinks:
            sink.write(raw)

    def restart(self) -> None:
        for sink in self._sinks:
            sink.restart()


class _FirstRows:
    """Keeps the first records, for the checks that look at rows rather than counts."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lines: list[bytes] = []

    def write(self, raw: bytes) -> None:
        if len(self._lines) < self._most:
            self._lines += raw.splitlines()[: self._most - len(self._lines)]

    def restart(self) -> None:
        self._lines.clear()

    def records(self) -> Iterator[Record]:
        return (Record.from_json(line, where="the rows just judged") for line in self._lines)


class _RowPrinter:
    """One short object a row; kept aside until the end, because a file with duplicate ids is read twice."""

    def __init__(self) -> None:
        self._rows: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the printer

    def write(self, raw: bytes) -> None:
        for line in raw.splitlines():
            record = orjson.loads(line)
            self._rows.write(orjson.dumps({key: record[key] for key in _ROW_KEYS}, option=orjson.OPT_APPEND_NEWLINE))

    def restart(self) -> None:
        self._rows.seek(0)
        self._rows.truncate()

    def copy_to(self, out: IO[bytes]) -> None:
        with self._rows:
            self._rows.seek(0)
            while block := self._rows.read(io.DEFAULT_BUFFER_SIZE * 16):
                out.write(block)
        out.flush()
