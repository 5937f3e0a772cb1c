"""A notebook from inside: its parameters checked in the first cell, its outcome file written in the last one.

The same three calls serve a page under ``evalkit notebooks``, under plain papermill and under a person's hands::

    page = open_page("01_design_a_metric", globals())
    judged = judge(open_metric(metric), cases, policy, as_of)
    page.finish(judged.result)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import orjson

from evalkit.cases.locate import locate
from evalkit.contract import EvalkitError, Outcome
from evalkit.decisions.gate import GateResult
from evalkit.decisions.outcome_file import facts_of
from evalkit.pages.notebooks.parameters import declared_types, injected_names, value_problems
from evalkit.scoring.run import installed_versions, new_run_id, write_whole
from evalkit.scoring.spilled import json_chunks

__all__ = ["CELLS_VARIABLE", "OUT_VARIABLE", "RUN_VARIABLE", "Conclusion", "NotPassed", "NotebookPage", "open_page"]

RUN_VARIABLE, OUT_VARIABLE, CELLS_VARIABLE = "EVALKIT_RUN_ID", "EVALKIT_OUTCOME_FILE", "EVALKIT_CELLS_TOTAL"
"""How ``evalkit notebooks`` tells a page its run id, where its outcome file goes, and how many cells there are."""


class NotPassed(Exception):  # noqa: N818 - it is the outcome, not an error
    """Raised by a notebook's last cell unless it passed, so that every tool that runs notebooks sees a failed run."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(": ".join(lines[:2]))
        self.lines = list(lines)

    def _render_traceback_(self) -> list[str]:
        """IPython shows these lines in place of a traceback: nothing went wrong in the code."""
        return self.lines


class Drawn:
    """A chart that has been rendered already: IPython shows it, and nothing can fail any more while it does."""

    def __init__(self, bundle: Any) -> None:
        self._bundle = bundle

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return self._bundle

    def __repr__(self) -> str:
        return "a chart"


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What a page concludes that ends in something other than a gate."""

    outcome: Outcome
    sentences: tuple[str, ...]
    """Why it did not pass; empty where it did."""
    figures: Mapping[str, float | int | str | None]
    outcome_hash: str | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the outcome file."""


@dataclass(frozen=True, kw_only=True)
class NotebookPage:
    """One run of a notebook."""

    name: str
    run_id: str
    parameters: Mapping[str, Any]
    outcome_file: Path
    cells_total: int | None
    """Code cells of the page; ``None`` where nobody counted them because it is run by hand."""
    is_open: bool
    """Whether a person has the page open, so that a widget has someone to serve."""
    warnings: list[str] = field(default_factory=list)
    """What did not work on the page without touching the rows: written to the outcome file."""

    def finish(
        self, concluded: GateResult | Conclusion, figures: Mapping[str, float | int | str | None] | None = None
    ) -> None:
        """Write the outcome file; then raise `NotPassed` unless CI may go on.

        Parameters
        ----------
        concluded : GateResult or Conclusion
        figures : mapping, optional
            Further figures of the page, held against ``fixtures/expected/`` like those of the result.
        """
        facts = _facts(concluded, self)
        facts["figures"] = {**facts["figures"], **(figures or {})}
        facts["warnings"] = [*facts.get("warnings", []), *self.warnings]
        facts |= {"cells_total": self.cells_total, "cells_run": len([source for source in _inputs() if source.strip()])}
        _write(self.outcome_file, facts)
        lines = [facts["outcome"], *_reasons(concluded), f"The outcome file: {_place(self.outcome_file)}"]
        if facts["exit_code"] != 0:
            raise NotPassed([f"{lines[0]} (exit code {facts['exit_code']})", *lines[1:]])
        print("\n".join(lines))  # noqa: T201 - the last cell's output

    def versions(self) -> str:
        """Return what the figures of this page may depend on."""
        return ", ".join(f"{name} {version}" for name, version in installed_versions().items() if version)

    def enable_charts(self, renderer: str = "auto") -> None:
        """Choose how altair draws: pictures where nobody looks, charts that answer the mouse where somebody does.

        Neither fetches anything from the web, which altair's own default does.
        """
        from evalkit.pages.charts import use_renderer

        if renderer not in ("auto", "png", "jupyter"):
            self.finish(_incomplete([f"renderer must be auto, png or jupyter; got {renderer!r}"]))
        use_renderer(("jupyter" if self.is_open else "png") if renderer == "auto" else renderer)

    def draw(self, chart: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """Return a chart, or a line that says why there is none: a fault in a picture never changes the verdict.

        Parameters
        ----------
        chart : callable
            A function of `evalkit.pages.charts`, called with the rest.
        """
        try:
            made = chart(*args, **options)
            made.to_dict()  # finds too many rows or an unfit column, for which altair itself would show nothing
            return Drawn(made._repr_mimebundle_())
        except Exception as fault:  # noqa: BLE001 - whatever it is, the rows have been judged and their numbers stand
            sentence = f"{getattr(chart, '__name__', 'a chart')} was not drawn: {type(fault).__name__}: {fault}"
            self.warnings.append(sentence.strip()[:400])
            return self.warnings[-1]


def _incomplete(sentences: Sequence[str]) -> Conclusion:
    return Conclusion(outcome=Outcome.incomplete, sentences=tuple(sentences), figures={})


def open_page(name: str, namespace: Mapping[str, Any]) -> NotebookPage:
    """Check the parameters of the notebook that calls this, and say where its outcome file goes.

    Parameters
    ----------
    name : str
        The notebook's file name without its ending.
    namespace : mapping
        ``globals()`` of the notebook.

    Raises
    ------
    NotPassed
        Where a parameter is unknown, of another type than declared or not finite: the outcome file then says
        *incomplete*.
    """
    types = declared_types(_inputs())
    parameters = {key: namespace.get(key) for key in types}
    out_dir = parameters.get("out_dir")
    folder = locate(out_dir if isinstance(out_dir, str) and out_dir else "runs/notebooks")
    page = NotebookPage(
        name=name,
        run_id=os.environ.get(RUN_VARIABLE) or new_run_id(),
        parameters={key: _named(value) for key, value in parameters.items()},
        outcome_file=Path(os.environ.get(OUT_VARIABLE) or folder / name / "outcome.json"),
        cells_total=int(os.environ[CELLS_VARIABLE]) if os.environ.get(CELLS_VARIABLE, "").isdigit() else None,
        is_open=_is_open(),
    )
    # An outcome of an earlier run must not stand there while this one has none.
    page.outcome_file.unlink(missing_ok=True)
    problems = [f"the notebook has no parameter {key!r}" for key in injected_names(_inputs()) if key not in types]
    problems += [*value_problems(types, namespace), *_day_problems(parameters)]
    if problems:
        known = f"its parameters are {', '.join(f'{key} ({kind})' for key, kind in types.items())}"
        page.finish(_incomplete([*problems, known]))
    return page


def _facts(concluded: GateResult | Conclusion, page: NotebookPage) -> dict[str, Any]:
    command = f"notebook {page.name}"
    if isinstance(concluded, GateResult):
        return facts_of(concluded, run_id=page.run_id, command=command, parameters=page.parameters)
    return {
        "schema": 1,
        "run_id": page.run_id,
        "command": command,
        "parameters": dict(page.parameters),
        "outcome": concluded.outcome.name,
        "exit_code": int(concluded.outcome),
        "blockers": [{"kind": "notebook", "sentence": sentence} for sentence in concluded.sentences],
        "figures": dict(concluded.figures),
        "outcome_hash": concluded.outcome_hash,
        **concluded.facts,
    }


def _reasons(concluded: GateResult | Conclusion) -> list[str]:
    from evalkit.pages.plain import plain

    if isinstance(concluded, Conclusion):
        return [plain(sentence) for sentence in concluded.sentences]
    return [plain(f"{b.outcome.name}: {b.sentence} (owner: {b.owner}); {b.do}") for b in concluded.blockers]


def _write(path: Path, facts: dict[str, Any]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"the folder of the outcome file cannot be made ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path.parent), do="give another out_dir") from error
    write_whole(path, json_chunks(facts, orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _place(path: Path) -> str:
    """Name a file without naming this machine: pages are shared."""
    return "/".join(path.parts[-2:])


def _named(value: Any) -> Any:
    """Return a parameter as it may be written down: of a path outside the project, its name only."""
    return Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value


def _day_problems(parameters: Mapping[str, Any]) -> list[str]:
    text = parameters.get("as_of")
    if not isinstance(text, str) or not text:
        return []
    try:
        date.fromisoformat(text)
    except ValueError:
        return [f"as_of must be a day such as 2026-11-30, or empty for today; got {text!r}"]
    return []


def _shell() -> Any:
    try:
        from IPython import get_ipython
    except ImportError:
        return None
    return get_ipython()


def _inputs() -> list[str]:
    """Return the sources of the cells this kernel has run so far."""
    shell = _shell()
    return [str(source) for source in shell.user_ns.get("In", [])] if shell else []


def _is_open() -> bool:
    """Tell a page somebody looks at from a headless one.

    A Jupyter server names its session to the kernels it starts, and front ends send a cell's id with its code;
    papermill does neither. ``evalkit notebooks`` says so itself.
    """
    if RUN_VARIABLE in os.environ:
        return False
    kernel = getattr(_shell(), "kernel", None)
    metadata = kernel.get_parent().get("metadata", {}) if kernel else {}
    return "JPY_SESSION_NAME" in os.environ or "cellId" in metadata
