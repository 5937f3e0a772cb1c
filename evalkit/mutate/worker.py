"""The warm worker: ``python -m evalkit.mutate.worker`` reads one request, loads the metric once, answers in JSON lines.

A process of its own, so that no notebook kernel is ever forked, and with a fixed hash seed, so that the same inputs
give the same matrix. Request and answer are plain JSON: ``{"progress": [done, of]}``, then ``{"matrix": ...}``,
``{"refused": ...}`` or ``{"broken": traceback}``.
"""

from __future__ import annotations

import os
import sys
import traceback
from pathlib import Path
from typing import Any

import orjson

__all__ = ["answer", "main"]


def main() -> None:
    """Answer the request on standard input; whatever the metric's module prints goes to standard error."""
    request = orjson.loads(sys.stdin.buffer.read())
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    sys.path[:] = request["path"]
    out.write(orjson.dumps(answer(request, out)) + b"\n")


def answer(request: dict[str, Any], out: Any) -> dict[str, Any]:
    """Compute the matrix that was asked for, or say why there is none."""
    from evalkit.contract import EvalkitError

    def progress(done: int, of: int) -> None:
        out.write(orjson.dumps({"progress": [done, of]}) + b"\n")

    try:
        return {"matrix": _matrix(request, progress)}
    except EvalkitError as fault:
        return {"refused": {"message": fault.message, "where": fault.where, "do": fault.do}}
    except Exception:  # noqa: BLE001 - the front process says that it is evalkit's own fault
        return {"broken": traceback.format_exc()}


def _matrix(request: dict[str, Any], progress: Any) -> dict[str, Any]:
    from evalkit.mutate.gating import gate_matrix_of
    from evalkit.mutate.killing import matrix_of
    from evalkit.mutate.runner import Limits
    from evalkit.scoring.load import load_metric

    metric = load_metric(request["metric"])
    matrix = matrix_of(
        metric,
        Path(request["cases"]),
        feeds=request["feeds"],
        equivalent=Path(request["equivalent"]) if request["equivalent"] else None,
        full=request["full"],
        limits=Limits(seconds=request["seconds"]),
        on_mutant=progress,
    )
    if request["policy"]:
        policy, rows = Path(request["policy"]), Path(request["rows"])
        matrix = matrix.together(gate_matrix_of(metric, policy, rows, feeds=request["feeds"], full=request["full"]))
    return matrix.to_json()


if __name__ == "__main__":
    main()
