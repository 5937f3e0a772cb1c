"""Traces as files hold them, one format a module; `READERS` maps each format's name to its reader."""

from __future__ import annotations

from collections.abc import Mapping

from evalkit.cases.traces.csv_rows import read_csv
from evalkit.cases.traces.jsonl import read_jsonl
from evalkit.cases.traces.openinference import read_openinference
from evalkit.cases.traces.otel_genai import read_otel_genai
from evalkit.cases.traces.trace import Trace, TraceReader

__all__ = ["READERS", "Trace", "TraceReader"]

READERS: Mapping[str, TraceReader] = {
    "csv": read_csv,
    "jsonl": read_jsonl,
    "openinference": read_openinference,
    "otel-genai": read_otel_genai,
}
