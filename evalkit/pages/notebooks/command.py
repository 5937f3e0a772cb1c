"""The whole of ``evalkit notebooks``: find, check parameters, run, judge, compare, build, and say what happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.contract import EvalkitError, Outcome
from evalkit.pages.notebooks.build import build_page, normalised
from evalkit.pages.notebooks.execute import Executed, Job, execute, warm_up
from evalkit.pages.notebooks.figures import accept, differences, read_expected
from evalkit.pages.notebooks.nbfile import notebook_text
from evalkit.pages.notebooks.parameters import declared_in, read_parameters, split_pairs
from evalkit.pages.notebooks.sources import Source, code_cells, find_sources, read_source, tag_problem
from evalkit.pages.notebooks.verdict import Check, Verdict, verdict_of
from evalkit.pages.progress import counting
from evalkit.scoring.run import new_run_id, write_whole

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["NotebookOptions", "NotebooksDone", "run_notebooks"]


@dataclass(frozen=True, kw_only=True)
class NotebookOptions:
    """What ``evalkit notebooks`` may be told."""

    parameters: Sequence[str] = ()
    """``NAME=VALUE``; given to every notebook that runs, so each of them must have the parameter."""
    out: Path = Path("runs/notebooks")
    workers: int = 2
    timeout: float = 600.0
    accept: bool = False
    build: bool = False


class NotebooksDone(NamedTuple):
    """Finished notebooks."""

    verdicts: tuple[Verdict, ...]
    pages: tuple[Path, ...]
    """Where the executed pages are, in the same order."""

    @property
    def outcome(self) -> Outcome:
        """The worst of all notebooks."""
        return Outcome.worst([verdict.outcome for verdict in self.verdicts])

    @property
    def exit_code(self) -> int:
        """The worst exit code; a notebook whose policy only reports counts as 0."""
        return int(Outcome.worst([Outcome(verdict.exit_code) for verdict in self.verdicts]))


class _Planned(NamedTuple):
    source: Source
    job: Job | None
    check: Check
    """Of source and parameters."""


def run_notebooks(names: Sequence[str], options: NotebookOptions) -> NotebooksDone:
    """Run notebooks headless and judge each by its outcome file.

    Raises
    ------
    EvalkitError
        For a name or an option that cannot be used; what is wrong with one notebook is in its verdict.
    """
    if options.workers < 1 or options.timeout <= 0:
        msg = f"--workers and --timeout must be above 0; got {options.workers} and {options.timeout:g}"
        raise EvalkitError(msg)
    given = split_pairs(options.parameters)
    if given and (options.accept or options.build):
        msg = f"--{'accept' if options.accept else 'build'} works on a run with default parameters; -p was given"
        raise EvalkitError(msg, do="leave -p out")
    sources = find_sources(names)
    warm_up()
    planned = [_plan(source, given, options) for source in sources]
    executed: dict[str, Executed] = {}
    with counting("notebooks done") as done:
        jobs = [item.job for item in planned if item.job]
        for ended in execute(jobs, workers=options.workers, timeout=options.timeout, on_tick=done):
            executed[ended.job.name] = ended
    verdicts = [_judge(item, executed, options, is_default=not given) for item in planned]
    return NotebooksDone(tuple(verdicts), tuple(_page_path(item.source, options) for item in planned))


def _page_path(source: Source, options: NotebookOptions) -> Path:
    return options.out / source.name / f"{source.name}.ipynb"


def _plan(source: Source, given: dict[str, str], options: NotebookOptions) -> _Planned:
    try:
        notebook = read_source(source.path)
        if problem := tag_problem(notebook):
            raise EvalkitError(problem)
        values = read_parameters(declared_in(notebook), given)
        outcome_file = options.out / source.name / "outcome.json"
        _clear(outcome_file, _page_path(source, options))
    except EvalkitError as error:
        return _Planned(source, None, Check("parameters", Outcome.incomplete, str(error)))
    # papermill adds a cell of its own for parameters that are given.
    total = len(code_cells(notebook)) + bool(values)
    job = Job(source.name, notebook, values, new_run_id(), outcome_file, total)
    said = ", ".join(f"{name}={value!r}" for name, value in values.items()) or "all default"
    return _Planned(source, job, Check("parameters", Outcome.passed, said))


def _clear(*files: Path) -> None:
    """Take away what an earlier run left, so that nothing old is taken for new."""
    for file in files:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.unlink(missing_ok=True)
        except OSError as error:
            msg = f"cannot be written to ({error.strerror or error})"
            raise EvalkitError(msg, where=str(file.parent), do="choose another folder with --out") from error


def _judge(item: _Planned, executed: dict[str, Executed], options: NotebookOptions, *, is_default: bool) -> Verdict:
    if item.job is None:
        return Verdict(item.source.name, (item.check,), 0.0, 0, 0, None, None)
    verdict = verdict_of(executed[item.job.name])
    checks = [item.check, *verdict.checks]
    if verdict.page is not None:
        _keep(verdict.page, _page_path(item.source, options))
    if is_default and verdict.facts is not None:
        checks += _figures(item.source, verdict.facts, options)
        is_sound = not any(check.outcome for check in checks)
        if options.build and item.source.path.suffix == ".py" and verdict.page is not None:
            checks.append(_built(item.source, verdict.page, is_sound=is_sound))
    return verdict._replace(checks=tuple(checks))


def _keep(page: NotebookNode, path: Path) -> None:
    write_whole(path, notebook_text(normalised(page)))


def _figures(source: Source, facts: Any, options: NotebookOptions) -> Iterator[Check]:
    if source.project is None:
        return
    path = source.project / "fixtures" / "expected" / f"{source.name}.json"
    expected = read_expected(path)
    if expected is None and not options.accept:
        yield Check("figures", Outcome.passed, f"no expected figures; --accept writes {path.parent.name}/{path.name}")
        return
    found = differences(expected, facts["outcome"], facts["figures"]) if expected else []
    said = "; ".join(str(difference) for difference in found)
    if options.accept and (found or expected is None):
        accept(path, source.name, facts["outcome"], facts["figures"], expected)
        yield Check("figures", Outcome.passed, "accepted: " + (said or f"{len(facts['figures'])} new"))
    elif found:
        yield Check("figures", Outcome.quality_failed, said)
    else:
        yield Check("figures", Outcome.passed, f"{len(facts['figures'])} of {len(facts['figures'])} as expected")


def _built(source: Source, page: NotebookNode, *, is_sound: bool) -> Check:
    if not is_sound:
        return Check("page", Outcome.passed, "not built: the checks above come first")
    target = source.path.with_suffix(".ipynb")
    try:
        is_new = build_page(page, target)
    except EvalkitError as error:
        return Check("page", Outcome.incomplete, str(error))
    return Check("page", Outcome.passed, f"{target.name} {'rebuilt' if is_new else 'unchanged'}")
