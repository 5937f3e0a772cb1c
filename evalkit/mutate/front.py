"""What people call: a kill matrix computed in a process of its own, from a script, the command line or a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson

from evalkit.contract import EvalkitError, Metric
from evalkit.mutate.matrix import KillMatrix

__all__ = ["kill_matrix", "spec_of"]


def kill_matrix(
    metric: str | Metric,
    cases: Path | str,
    *,
    equivalent: Path | str | None = None,
    policy: Path | str | None = None,
    rows: Path | str | None = None,
    feeds: Mapping[str, str] | None = None,
    full: bool = False,
    seconds: float = 2.0,
    on_mutant: Callable[[int, int], object] = lambda *_: None,
) -> KillMatrix:
    """Plant every fault in a metric's source and see which case catches it.

    When it misleads: a killed mutant shows that *some* case would notice *that* slip; a score of 1 does not show that
    the contract is the right one, and the cases' oracles are taken at their word.

    Parameters
    ----------
    metric : str or Metric
        A built-in name, ``package.module:object`` or ``path/to/file.py:object``; or a metric loaded from one of them.
    cases : path
        Contract cases (``.jsonl``), each with its ``oracle``.
    equivalent : path, optional
        The reviewed file of equivalent mutants; by default ``equivalent.toml`` beside the cases, where there is one.
    policy, rows : path, optional
        A policy and the rows it decides: the matrix then also holds faults of the policy and of the gate, and which
        row, or which of the gate's own cases, notices them. Both or neither.
    feeds : mapping, optional
        ``{parameter: key}`` where a parameter is fed by a key of another name.
    full : bool
        Show every case to every mutant. By default the first case that kills a mutant ends its trial.
    seconds : float
        The time a mutant has for one case before it is stopped, and counts as killed.
    on_mutant : callable, optional
        Called with how many mutants are done, and of how many.

    Returns
    -------
    KillMatrix

    Raises
    ------
    EvalkitError
        Where the unmutated metric fails a case, a control goes wrong, an entry of `equivalent` is stale or wrong, or
        the metric has no source.

    Examples
    --------
    >>> matrix = kill_matrix("evidence_coverage", "fixtures/evidence_coverage/contract.jsonl")  # doctest: +SKIP
    >>> matrix.in_words()  # doctest: +SKIP
    'killed 90 of 90 (98 in all, without 2 equivalent and 6 not applicable)'
    """
    if (policy is None) != (rows is None):
        given, wanted = ("--policy", "--rows") if rows is None else ("--rows", "--policy")
        msg = f"{given} needs {wanted}: a policy is mutated together with the rows it decides"
        raise EvalkitError(msg, do=f"give {wanted} FILE as well")
    request = {
        "metric": metric if isinstance(metric, str) else spec_of(metric),
        "cases": str(cases),
        "equivalent": str(found) if (found := _equivalent(Path(cases), equivalent)) else None,
        "policy": None if policy is None else str(policy),
        "rows": None if rows is None else str(rows),
        "feeds": dict(feeds or {}),
        "full": full,
        "seconds": seconds,
        "path": sys.path,
    }
    return KillMatrix.from_json(_ask(request, on_mutant))


def _equivalent(cases: Path, given: Path | str | None) -> Path | None:
    beside = cases.parent / "equivalent.toml"
    return Path(given) if given else beside if beside.is_file() else None


def spec_of(metric: Metric) -> str:
    """Return the name under which a worker can load a metric again.

    Raises
    ------
    EvalkitError
        For a metric that was typed into a notebook or a prompt: no other process can load it.
    """
    module = sys.modules.get(metric.function.__module__)
    names = vars(module) if module else {}
    name = next((name for name, value in names.items() if value is metric or value is metric.original is not None), "")
    file = getattr(module, "__file__", None)
    if not name or not file or metric.function.__module__ == "__main__":
        msg = f"{metric.name} lives only in this process, and its mutants run in another one"
        raise EvalkitError(msg, do="save it in a .py file and name it path/to/file.py:object")
    is_package = "." in metric.function.__module__ or metric.function.__module__ in sys.builtin_module_names
    return f"{metric.function.__module__}:{name}" if is_package else f"{file}:{name}"


def _ask(request: dict[str, Any], on_mutant: Callable[[int, int], object]) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "evalkit.mutate.worker"]
    # The order of a set of texts depends on the hash seed, and a mutant may let it through to the reason.
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    # In a group of its own, so that a Ctrl-C is this process's to answer, and no traceback of the worker's.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, process_group=0
    ) as worker:
        try:
            assert worker.stdin is not None  # noqa: S101 - both were asked for
            assert worker.stdout is not None  # noqa: S101
            worker.stdin.write(orjson.dumps(request))
            worker.stdin.close()
            for line in worker.stdout:
                answer = orjson.loads(line)
                if "progress" not in answer:
                    return _result(answer)
                on_mutant(*answer["progress"])
        except BaseException:
            worker.kill()
            raise
    msg = f"the worker that runs the mutants ended without an answer (exit code {worker.returncode})"
    raise EvalkitError(msg, do="its last words, if any, stand above")


def _result(answer: dict[str, Any]) -> dict[str, Any]:
    if "refused" in answer:
        fault = answer["refused"]
        raise EvalkitError(fault["message"], where=fault["where"], do=fault["do"])
    if "broken" in answer:
        raise RuntimeError(answer["broken"])
    matrix: dict[str, Any] = answer["matrix"]
    return matrix
