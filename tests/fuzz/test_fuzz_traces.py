"""Any bytes as traces, through every shipped mapping: each trace comes out as one case, and nobody sees a traceback."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hostile import SECONDS, bent, broken, evalkit, look_for, texts, values
from hypothesis import strategies as st

pytestmark = pytest.mark.fuzz

FIXTURES = Path(__file__).parents[2] / "fixtures" / "adapters"
FILES = {
    "plain": "plain.jsonl",
    "ragas": "ragas_new.jsonl",
    "openinference": "openinference.jsonl",
    "otel-genai": "otel_genai.jsonl",
    "csv": "traces.csv",
}
LINE_BY_LINE = ("plain", "ragas")
"""Formats of which each line that is not blank is a trace."""


class Traces(NamedTuple):
    adapter: str
    raw: bytes


@st.composite
def json_lines(draw: st.DrawFn, name: str) -> bytes:
    whole = (FIXTURES / name).read_bytes().splitlines()[:9]
    lines = draw(st.lists(st.sampled_from(whole), max_size=5, unique=True))
    for _ in range(draw(st.integers(1, 3))):
        row = json.loads(draw(st.sampled_from(whole)))
        bad = draw(
            st.one_of(
                bent(row).map(lambda found: json.dumps(found).encode()),
                bent(row).map(lambda found: json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")),
                broken(json.dumps(row).encode()),
                values.map(lambda found: json.dumps(found).encode()),
                st.sampled_from([b"", b" ", b"null", b"\xff", b"[" * 3000, b'{"a":' * 3000, b"\x00"]),
            )
        )
        lines.insert(draw(st.integers(0, len(lines))), bad)
    return draw(st.sampled_from([b"\n", b"\r\n"])).join(lines) + draw(st.sampled_from([b"", b"\n"]))


@st.composite
def tables(draw: st.DrawFn) -> bytes:
    raw = (FIXTURES / FILES["csv"]).read_bytes()
    if draw(st.booleans()):
        return draw(broken(raw))
    rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"))))[:8]
    for _ in range(draw(st.integers(1, 3))):
        row = draw(st.sampled_from(rows))
        match draw(st.integers(0, 3)):
            case 0:
                row.append(draw(texts))
            case 1 if row:
                row.pop(draw(st.integers(0, len(row) - 1)))
            case _ if row:
                row[draw(st.integers(0, len(row) - 1))] = draw(st.one_of(texts, values.map(json.dumps)))
    out = io.StringIO()
    csv.writer(out, delimiter=draw(st.sampled_from([",", ";", "\t"]))).writerows(rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


def files(adapter: str) -> st.SearchStrategy[Traces]:
    raw = tables() if adapter == "csv" else json_lines(FILES[adapter])
    return raw.map(lambda found: Traces(adapter, found))


def check(traces: Traces) -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        file, cases, sheet = here / f"traces{Path(FILES[traces.adapter]).suffix}", here / "cases.jsonl", here / "s.csv"
        file.write_bytes(traces.raw)
        adapted = evalkit("adapt", traces.adapter, file, "--out", cases, "--json", here / "o.json")
        audited = evalkit("audit", traces.adapter, file, "--json", here / "a.json")
        assert cases.exists() == (here / "o.json").exists() == (here / "a.json").exists()
        evalkit("claims", "draft", file, "--adapter", traces.adapter, "--out", sheet)
        if not cases.exists():
            assert (adapted.code, audited.code) == (2, 2)
            return
        outcome = json.loads((here / "o.json").read_text())
        assert_nothing_is_lost(traces, cases.read_bytes().split(b"\n")[:-1], outcome["rows"])
        scored = evalkit(
            "score", "medical_citation_accuracy", cases, "--run", here / "run", "--json", here / "ledger.json"
        )
        if (here / "ledger.json").exists():
            ledger = json.loads((here / "ledger.json").read_text())
            states = [ledger[state] for state in ("blank", "scored", "invalid", "error", "unrun")]
            assert ledger["lines"] == sum(states) == outcome["rows"]
        else:
            assert scored.code == 2
        if sheet.exists():
            evalkit("adapt", traces.adapter, file, "--out", here / "more.jsonl", "--claims", sheet)


def assert_nothing_is_lost(traces: Traces, cases: list[bytes], rows: int) -> None:
    assert rows == len(cases)
    assert all(isinstance(json.loads(case)["case_id"], str) for case in cases)
    if traces.adapter in LINE_BY_LINE:
        lines = traces.raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")
        assert rows == sum(bool(line.strip()) for line in lines)


@pytest.mark.parametrize("adapter", FILES)
def test_fuzz_any_bytes_as_traces_are_cases_or_refused_in_words(adapter: str) -> None:
    look_for(files(adapter), check, SECONDS / 2)
