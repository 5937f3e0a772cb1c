"""What a run of notebooks looks like: on a screen, as JSON, and as JUnit with a case per check."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.contract import Outcome
from evalkit.pages.junit import check_cases
from evalkit.pages.notebooks.command import NotebooksDone
from evalkit.pages.notebooks.verdict import Verdict
from evalkit.pages.plain import plain

__all__ = ["notebooks_facts", "notebooks_junit", "notebooks_screen"]

_COLUMNS = 80
_QUIET = {"parameters", "cells", "outcome file", "outcome"}
"""Checks that a line of the table already speaks for, where they hold."""


def notebooks_screen(done: NotebooksDone) -> str:
    """Return the text for a terminal: a line per notebook, then what stands in its way, then where its page is."""
    width = max([len(verdict.name) for verdict in done.verdicts], default=0)
    lines: list[str] = []
    for verdict, path in zip(done.verdicts, done.pages, strict=True):
        lines += _notebook_lines(verdict, path, width)
    passed = sum(verdict.outcome is Outcome.passed for verdict in done.verdicts)
    code = f" (exit code {done.exit_code})"
    lines += ["", f"{done.outcome.name.upper()}{code}: {passed} of {len(done.verdicts)} notebooks passed"]
    return "\n".join(lines) + "\n"


def _notebook_lines(verdict: Verdict, path: Path, width: int) -> Iterator[str]:
    cells = f"{verdict.cells_run} of {verdict.cells_total} cells"
    yield f"{verdict.name:<{width}}  {verdict.outcome.name:<15}  {verdict.seconds:5.1f} s  {cells}"
    for check in verdict.checks:
        if check.outcome is not Outcome.passed or check.name not in _QUIET:
            yield from _wrapped(f"{check.name}: {check.sentence}")
    if verdict.page is not None:
        yield from _wrapped(_relative(path))


def _wrapped(text: str) -> list[str]:
    indent = "  "
    return textwrap.wrap(
        plain(text), _COLUMNS, initial_indent=indent, subsequent_indent=indent * 2,
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip


def _relative(path: Path) -> str:
    near = os.path.relpath(path)
    return str(path) if near.startswith("..") else near


def notebooks_facts(done: NotebooksDone) -> dict[str, Any]:
    """Return everything as plain JSON values; ``result`` is each notebook's outcome file."""
    return {
        "schema": 1,
        "command": "notebooks",
        "outcome": done.outcome.name,
        "exit_code": done.exit_code,
        "notebooks": [
            {
                "name": verdict.name,
                "outcome": verdict.outcome.name,
                "exit_code": verdict.exit_code,
                "seconds": round(verdict.seconds, 3),
                "cells_run": verdict.cells_run,
                "cells_total": verdict.cells_total,
                "page": _relative(path) if verdict.page is not None else None,
                "checks": [
                    {"name": check.name, "outcome": check.outcome.name, "sentence": check.sentence}
                    for check in verdict.checks
                ],
                "result": verdict.facts,
            }
            for verdict, path in zip(done.verdicts, done.pages, strict=True)
        ],
    }


def notebooks_junit(done: NotebooksDone) -> bytes:
    """Return the checks as JUnit XML: a suite per notebook, a case per check of the page, and per check of its gate.

    *Incomplete* becomes an error; *quality failed* and *review required* become failures, and their type says which.
    What a policy only reports is shown as skipped, as it is not in the exit code.
    """
    from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

    xml = JUnitXml("evalkit notebooks")
    for verdict in done.verdicts:
        suite = TestSuite(verdict.name)
        suite.add_property("outcome", verdict.outcome.name)
        if verdict.facts:
            suite.add_property("run_id", str(verdict.facts["run_id"]))
            suite.add_property("outcome_hash", str(verdict.facts.get("outcome_hash")))
        for check in verdict.checks:
            case = TestCase(check.name, verdict.name, verdict.seconds if check.name == "cells" else 0.0)
            if check.outcome is not Outcome.passed:
                is_reported = check.name == "outcome" and verdict.is_only_reported
                kind = Skipped if is_reported else Error if check.outcome is Outcome.incomplete else Failure
                case.result = [kind(plain(check.sentence), check.outcome.name)]
            suite.add_testcase(case)
        if verdict.facts and _is_of_a_gate(verdict.facts):
            for made in check_cases(verdict.facts):
                suite.add_testcase(made)
        xml.add_testsuite(suite)
    raw: bytes = xml.tostring()  # type: ignore[no-untyped-call] # junitparser ships types for a part only
    return b"<?xml version='1.0' encoding='utf-8'?>\n" + raw + b"\n"


def _is_of_a_gate(facts: Mapping[str, Any]) -> bool:
    """Tell the outcome file of a page that gates rows from one that draws a conclusion of its own."""
    return isinstance(facts.get("ledger"), dict) and isinstance(facts.get("metric"), dict)
