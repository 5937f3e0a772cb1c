"""Any bytes as a spreadsheet, an export or a map of labels: each record is counted once, or the file is refused."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hostile import bent, broken, evalkit, look_for, texts, values
from hypothesis import strategies as st

pytestmark = pytest.mark.fuzz

FIXTURES = Path(__file__).parents[2] / "fixtures" / "adapters"
SHEET, MAP = (FIXTURES / "labels.csv").read_bytes(), (FIXTURES / "labels.map.toml").read_text(encoding="utf-8")
TOOLS = ("langsmith", "langfuse", "phoenix", "mlflow")
TOOL_MAP = """\
preset = "{tool}"
selection = "random"
keep_values = true
doubles = "supersede"
"""
KEYS = (
    "case_id", "reviewer", "label", "criterion", "reason", "rubric_version", "labelled_on", "confidence", "provenance",
    "question", "answer", "retrieved", "values", "keep_values", "no_label", "criteria", "selection", "blind",
    "date_format", "doubles", "records", "encoding", "delimiter", "preset", "colour",
)  # fmt: skip

toml_values = st.one_of(
    texts.map(json.dumps),
    st.sampled_from(
        ["true", "0", "-1", "nan", "1e400", "2026-11-30", "10:00:00", "[]", "{}", '["Trace"]', '[["Trace"]]',
         '{ value = "x" }', '{ value = 5 }', '{ column = "Trace" }', '{ column = "Trace", value = "x" }',
         '{ column = "Correct", values = { TRUE = "production" } }', '{ column = {} }', '"Trace"', '"Comment"', '"%d"',
         '"%Q%"', '"epoch_ms"', '"latin-1"', '"utf-16"', '"no-such"', '"rot13"', '";"', '""', '"\\n"', '";;"', '"a.b"',
         '"[*]"', '"data[*"', '"]"', '"a[b]"', '"supersede"', '"random"', '"mlflow"', '{ TRUE = "pass", FALSE = 0.5 }',
         '{ TRUE = nan }', '{ TRUE = "" }', '{ TRUE = [] }', '{ TRUE = true }']
    ),
)  # fmt: skip


class Import(NamedTuple):
    export: str
    raw: bytes
    map: bytes
    options: tuple[str, ...]


@st.composite
def maps(draw: st.DrawFn, whole: str) -> bytes:
    match draw(st.integers(0, 3)):
        case 0 | 1:
            return whole.encode()
        case 2:
            return draw(broken(whole.encode()))
    lines = whole.split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        key = lines[at].partition("=")[0].strip() or draw(st.sampled_from(KEYS))
        new = f"{draw(st.sampled_from([key, draw(st.sampled_from(KEYS))]))} = {draw(toml_values)}"
        lines[at : at + draw(st.integers(0, 1))] = [new]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


@st.composite
def sheets(draw: st.DrawFn) -> bytes:
    if draw(st.booleans()):
        return draw(broken(SHEET))
    rows = list(csv.reader(io.StringIO(SHEET.decode("utf-8-sig")), delimiter=";"))[:9]
    for _ in range(draw(st.integers(1, 4))):
        row = draw(st.sampled_from(rows))
        match draw(st.integers(0, 3)):
            case 0:
                row.append(draw(texts))
            case 1 if row:
                row.pop(draw(st.integers(0, len(row) - 1)))
            case _ if row:
                row[draw(st.integers(0, len(row) - 1))] = draw(texts)
    out = io.StringIO()
    csv.writer(out, delimiter=";").writerows(rows)
    return out.getvalue().encode(draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])), "surrogatepass")


@st.composite
def imports(draw: st.DrawFn) -> Import:
    options = draw(st.lists(st.sampled_from(["--keep-unmatched", "--dry-run", "--append", "cases"]), unique=True))
    if draw(st.booleans()):
        return Import("labels.csv", draw(sheets()), draw(maps(MAP)), tuple(options))
    tool = draw(st.sampled_from(TOOLS))
    document = json.loads((FIXTURES / f"export_{tool}.json").read_bytes())
    raw = draw(
        st.one_of(
            bent(document).map(lambda found: json.dumps(found).encode()),
            st.lists(bent(document), min_size=1, max_size=3).map(
                lambda found: b"\n".join(json.dumps(line).encode() for line in found)
            ),
            broken(json.dumps(document).encode()),
            values.map(lambda found: json.dumps(found).encode()),
        )
    )
    return Import("export.json", raw, draw(maps(TOOL_MAP.format(tool=tool))), tuple(options))


def check(given: Import) -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        export, label_map, out, cases = here / given.export, here / "map.toml", here / "labels.jsonl", here / "c.jsonl"
        export.write_bytes(given.raw)
        label_map.write_bytes(given.map)
        cases.write_text("".join(f'{{"case_id": "t{n:02}", "evidence": {{"question": "?"}}}}\n' for n in range(1, 25)))
        options = [option for option in given.options if option.startswith("--")]
        options += ["--cases", str(cases)] if "cases" in given.options else []
        said = evalkit(
            "labels", "import", export, "--map", label_map, "--out", out, *options, "--json", here / "o.json"
        )
        if not (here / "o.json").exists():
            assert said.code == 2
            assert not out.exists()
            return
        facts = json.loads((here / "o.json").read_text())
        counts = [facts["labels"], len(facts["blank"]), sum(facts["no_label"].values())]
        others = sum(facts["other_criteria"].values())
        unmapped = sum(n for value, n in facts["counts"].items() if facts["values"].get(value) is None)
        # Every record is a label, or counted as what keeps it from being one; a record may have two problems.
        assert facts["records"] <= sum(counts) + others + unmapped + len(facts["problems"])
        assert out.exists() == (said.code == 0)
        if out.exists():
            assert len(out.read_bytes().splitlines()) == facts["labels"]
            evalkit("next-labels", "evidence_coverage", cases, "--labels", out)


def test_fuzz_any_bytes_as_an_import_of_labels_are_counted_or_refused_in_words() -> None:
    look_for(imports(), check)
