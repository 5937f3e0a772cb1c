"""Traces written one object a line: the plain format, dataset rows, whatever an application logs itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evalkit.cases.lines import read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.cases.traces.trace import Trace

__all__ = ["read_jsonl"]


def read_jsonl(path: Path) -> Iterator[Trace]:
    r"""Read one trace from each line that is not blank; a line that cannot be read is a trace with a problem.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "traces.jsonl"
    >>> _ = file.write_text('{"trace_id": "a"}\n\n{"trace_id": "b", "trace_id": "c"}\n')
    >>> [(trace.where, trace.problem) for trace in read_jsonl(file)]
    [('line 1', None), ('line 3', "the key 'trace_id' occurs twice in one object")]
    """
    for line in read_lines(path):
        if not line.raw.strip():
            continue
        where = f"line {line.number}"
        try:
            yield Trace(line.number, where, parse_object(line.raw))
        except JsonProblem as problem:
            cut = "the last line is cut off: " if line.is_cut and problem.kind == "bad_json" else ""
            yield Trace(line.number, where, {}, f"{cut}{problem.reason}")
