"""What a notebook run comes to. Exit codes do not survive papermill: only the outcome file of this very run counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import Outcome
from evalkit.pages.notebooks.execute import Executed
from evalkit.pages.notebooks.page import NotPassed
from evalkit.pages.notebooks.sources import code_cells

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["Check", "Verdict", "verdict_of"]

_MOST = 5
"""Blockers named on a screen; all of them are in the outcome file."""


class Check(NamedTuple):
    """One thing that must hold."""

    name: str
    outcome: Outcome
    """What it means where it does not hold; *passed* where it does."""
    sentence: str


class Verdict(NamedTuple):
    """A notebook run, judged."""

    name: str
    checks: tuple[Check, ...]
    seconds: float
    cells_run: int
    cells_total: int
    facts: Mapping[str, Any] | None
    """The outcome file, where it is this run's and well formed."""
    page: NotebookNode | None

    @property
    def outcome(self) -> Outcome:
        """The worst of the checks."""
        return Outcome.worst([check.outcome for check in self.checks])

    @property
    def is_only_reported(self) -> bool:
        """Whether a policy that only reports keeps the outcome from being the exit code."""
        return self.facts is not None and self.facts.get("mode") == "report"

    @property
    def exit_code(self) -> int:
        """The outcome's code; 0 where every check holds but the outcome, under a policy that only reports."""
        others = Outcome.worst([check.outcome for check in self.checks if check.name != "outcome"])
        if self.facts is not None and others is Outcome.passed:
            return int(self.facts["exit_code"])
        return int(self.outcome)


def verdict_of(executed: Executed) -> Verdict:
    """Judge a run by its page and its outcome file."""
    page, job = executed.page, executed.job
    cells = code_cells(page) if page is not None else []
    run = sum(cell.execution_count is not None for cell in cells)
    cells_check = _cells_check(executed, cells)
    facts, checks = None, [cells_check]
    if cells_check.outcome is Outcome.passed:  # of a page that stopped half-way, what it wrote says nothing
        facts, file_check = _outcome_file(executed)
        checks += [file_check, *([_outcome_check(facts)] if facts is not None else [])]
    return Verdict(job.name, tuple(checks), executed.seconds, run, job.cells_total, facts, page)


def _cells_check(executed: Executed, cells: list[NotebookNode]) -> Check:
    problem = _cells_problem(executed, cells)
    if problem:
        return Check("cells", Outcome.incomplete, problem)
    return Check("cells", Outcome.passed, f"{len(cells)} of {executed.job.cells_total} code cells ran")


def _cells_problem(executed: Executed, cells: list[NotebookNode]) -> str | None:
    total = executed.job.cells_total
    if executed.fault or not cells:
        return f"{executed.fault or 'the notebook did not start'}{_where(cells, total)}"
    for number, cell in enumerate(cells, start=1):
        error = next((output for output in cell.outputs if output.output_type == "error"), None)
        if error is not None and not (number == len(cells) and error.ename == NotPassed.__name__):
            return f"{_named(number, cell)} ended the notebook: {_first_line(error.ename, error.evalue)}"
        if "never retrieved" in (lost := _stderr(cell)):
            return f"{_named(number, cell)} lost an exception in a task nobody awaited: {lost.strip().splitlines()[-1]}"
    run = [cell.execution_count for cell in cells]
    if run != list(range(1, total + 1)):
        return f"{sum(count is not None for count in run)} of {total} code cells ran{_where(cells, total)}"
    return None


def _where(cells: list[NotebookNode], total: int) -> str:
    """Name the cell a run stopped in: the last that began.

    papermill calls every cell *completed* once it has ended itself, and a kernel that dies may take the cell's count
    with it; the time at which a cell began stays.
    """
    begun = [
        (number, cell)
        for number, cell in enumerate(cells, start=1)
        if cell.metadata.get("papermill", {}).get("start_time") is not None
    ]
    return "".join(f" in {_named(number, cell)} of {total}" for number, cell in begun[-1:])


def _named(number: int, cell: NotebookNode) -> str:
    first = next((line for line in cell.source.splitlines() if line.strip() and not line.startswith("#")), "")
    return f"code cell {number} ({first.strip() if len(first) <= 40 else f'{first.strip()[:37]}...'})"


def _first_line(ename: str, evalue: str) -> str:
    line = evalue.strip().splitlines()[0] if evalue.strip() else ""
    return f"{ename}: {line}"[:400] if line else ename


def _stderr(cell: NotebookNode) -> str:
    return "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == "stderr")


def _outcome_file(executed: Executed) -> tuple[Mapping[str, Any] | None, Check]:
    facts, problem = None, None
    try:
        facts = parse_object(executed.job.outcome_file.read_bytes())
    except OSError:
        problem = "no outcome file was written: the last cell must call page.finish(...)"
    except JsonProblem as error:
        problem = f"the outcome file cannot be read: {error}"
    problem = problem or _file_problem(facts or {}, executed)
    if problem:
        return None, Check("outcome file", Outcome.incomplete, problem)
    return facts, Check("outcome file", Outcome.passed, "it is of this run, and every cell had run")


def _file_problem(facts: Mapping[str, Any], executed: Executed) -> str | None:
    job = executed.job
    if facts.get("schema") != 1 or facts.get("outcome") not in list(Outcome.__members__):
        return f"the outcome file has schema {facts.get('schema')!r} and outcome {facts.get('outcome')!r}"
    if facts.get("run_id") != job.run_id:
        return f"the outcome file is of run {facts.get('run_id')!r}; this is run {job.run_id!r}"
    if facts.get("cells_run") != job.cells_total or facts.get("cells_total") != job.cells_total:
        return f"the outcome was written after {facts.get('cells_run')} of {job.cells_total} code cells"
    code, expected = facts.get("exit_code"), int(Outcome[facts["outcome"]])
    if code != (0 if facts.get("mode") == "report" else expected) or not isinstance(facts.get("figures"), dict):
        return f"the outcome file contradicts itself: {facts['outcome']} with exit code {code!r}"
    return None


def _outcome_check(facts: Mapping[str, Any]) -> Check:
    sentences = [str(blocker.get("sentence")) for blocker in facts.get("blockers", [])]
    said = "; ".join(sentences[:_MOST]) or "nothing stands in the way"
    more = f" (and {len(sentences) - _MOST} more)" if len(sentences) > _MOST else ""
    note = " (the policy only reports: exit code 0)" if facts.get("mode") == "report" else ""
    return Check("outcome", Outcome[facts["outcome"]], said + more + note)
