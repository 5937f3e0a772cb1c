"""Cutting, taking each part once, ids across parts, joining in order: with an engine that is this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases import lines as lines_module
from evalkit.contract import EvalkitError
from evalkit.pages.engine_run import engine_named, score_parts_to_run
from evalkit.pages.publish import Scored, score_to_run
from evalkit.scoring.engines import cuts, task
from evalkit.scoring.engines.cuts import blocks_of, cut_into_parts, files_of
from evalkit.scoring.engines.join import Engine
from evalkit.scoring.engines.task import id_hash
from evalkit.scoring.load import load_metric
from evalkit.scoring.run import open_run

COVERAGE = "evidence_coverage"


def row(case_id: str, supported: int = 1, required: int = 2, **more: Any) -> str:
    ids = [f"k{i}" for i in range(required)]
    return json.dumps({"case_id": case_id, "required_claim_ids": ids, "supported_claim_ids": ids[:supported]} | more)


def mixed(n: int) -> list[str]:
    """Rows of every state, with a blank and a bad line in each ten."""
    special = {3: " ", 5: "{", 7: '{"case_id": "", "required_claim_ids": []}'}
    return [
        special.get(at % 10) if at % 10 in special else row(f"r{at}", at % 4, 3, slice=f"s{at % 3}") for at in range(n)
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut small files as large ones are: blocks of 2,000 bytes, two in a part."""
    monkeypatch.setattr(lines_module, "_SIZE", 2_000)
    monkeypatch.setattr(cuts, "BLOCKS", 2)


def written(path: Path, lines: Sequence[str], end: str = "\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + (end if lines else ""))
    return path


def in_parts(cases: Sequence[str | Path], folder: Path, engine: Engine = map, **more: Any) -> Scored:
    return score_parts_to_run(COVERAGE, cases, folder, nullcontext(engine), **more)


def at_once(cases: Path, folder: Path) -> Scored:
    return score_to_run(load_metric(COVERAGE), cases, folder)


def same_run(ours: Scored, theirs: Scored) -> None:
    """The same bytes, ledger and manifest, but for time, run id, the files' names and the list of parts."""
    assert ours.run.records_path.read_bytes() == theirs.run.records_path.read_bytes()
    assert ours.ledger.facts() == theirs.ledger.facts()
    differing = {key for key in ours.run.manifest if ours.run.manifest[key] != theirs.run.manifest.get(key)}
    assert differing <= {"run_id", "started", "seconds", "cases", "parts"}
    assert sorted(ours.findings) == sorted(theirs.findings)
    ours.run.check()


@pytest.mark.usefixtures("small")
def test_one_file_in_byte_ranges_gives_the_bytes_of_one_machine(tmp_path: Path):
    path = written(tmp_path / "cases.jsonl", mixed(200))
    ours = in_parts([path], tmp_path / "ours")
    same_run(ours, at_once(path, tmp_path / "theirs"))
    assert len(ours.run.manifest["parts"]) > 3


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("end", ["\n", ""], ids=["ended", "without a last newline"])
def test_a_folder_of_parts_is_the_file_of_all_of_them(tmp_path: Path, end: str):
    lines = mixed(200)
    for name, some in (("b", lines[70:120]), ("a", lines[:70]), ("c", []), ("d", lines[120:])):
        written(tmp_path / "parts" / f"{name}.jsonl", some, end)
    (tmp_path / "parts" / "notes.txt").write_text("not a part")
    joined = written(tmp_path / "cases.jsonl", lines, end)
    ours = in_parts([tmp_path / "parts"], tmp_path / "ours")
    same_run(ours, at_once(joined, tmp_path / "theirs"))
    assert ours.run.manifest["cases"] == "a.jsonl and 3 more"


@pytest.mark.usefixtures("small")
def test_each_part_keeps_its_records_and_says_which_lines_it_is(tmp_path: Path):
    written(tmp_path / "parts" / "a.jsonl", mixed(60))
    written(tmp_path / "parts" / "b.jsonl", mixed(60)[1:])
    ours = in_parts([tmp_path / "parts"], tmp_path / "ours")
    parts = ours.run.manifest["parts"]
    folder = ours.run.folder
    assert b"".join((folder / part["records"]).read_bytes() for part in parts) == ours.run.records_path.read_bytes()
    assert sorted(path.name for path in (folder / "parts").iterdir()) == [
        f"part-{at:05}.jsonl" for at in range(len(parts))
    ]
    assert {part["cases"] for part in parts} == {"a.jsonl", "b.jsonl"}
    for part in parts:  # lines are numbered through, and each part's records lie within its own
        records = [json.loads(line) for line in (folder / part["records"]).read_text().splitlines()]
        own = range(part["first_line"], part["first_line"] + part["lines"])
        assert all(record["line"] in own for record in records)
        assert (len(records), part["lines"]) == (part["rows"], part["rows"] + part["blank"])
    assert parts[0]["first_line"] == 1
    assert sum(part["lines"] for part in parts) == ours.ledger.lines == 119


@pytest.mark.usefixtures("small")
def test_order_is_that_of_the_input_whoever_is_ready_first(tmp_path: Path):
    def backwards(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        return map(function, reversed(tasks))

    path = written(tmp_path / "cases.jsonl", mixed(200))
    same_run(in_parts([path], tmp_path / "ours", backwards), at_once(path, tmp_path / "theirs"))


@pytest.mark.usefixtures("small")
def test_a_part_that_was_scored_twice_counts_once(tmp_path: Path):
    def twice(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        for one in tasks:
            function(one)  # a worker that was thought to be dead
            yield function(one)

    path = written(tmp_path / "cases.jsonl", mixed(200))
    ours = in_parts([path], tmp_path / "ours", twice)
    same_run(ours, at_once(path, tmp_path / "theirs"))
    assert not list((ours.run.folder / "parts").glob("*.attempt"))


@pytest.mark.usefixtures("small")
def test_b03_ids_that_occur_in_two_parts_are_found_and_every_line_names_the_others(tmp_path: Path):
    lines = [row(f"r{at}") for at in range(100)]
    lines[3], lines[50], lines[97], lines[98] = row("twin"), row("twin"), row("twin"), row("TWIN")
    for name, some in (("a", lines[:40]), ("b", lines[40:])):
        written(tmp_path / "parts" / f"{name}.jsonl", some)
    ours = in_parts([tmp_path / "parts"], tmp_path / "ours")
    same_run(ours, at_once(written(tmp_path / "cases.jsonl", lines), tmp_path / "theirs"))
    found = {record.line: record for record in ours.run.records() if record.error_kind == "duplicate_case_id"}
    assert {line: record.reason.partition("also on ")[2] for line, record in found.items()} == {
        4: "line 51, 98", 51: "line 4, 98", 98: "line 4, 51",
    }  # fmt: skip
    assert (ours.ledger.lines, ours.ledger.total(state="invalid")) == (100, 3)
    assert any("look alike" in finding for finding in ours.findings)


@pytest.mark.usefixtures("small")
def test_only_parts_with_such_ids_are_scored_again(tmp_path: Path):
    asked: list[tuple[str, int]] = []

    def counting(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        asked.append((function.__name__, len(tasks)))
        return map(function, tasks)

    lines = [row(f"r{at}") for at in range(200)]
    lines[199] = row("r0")
    in_parts([written(tmp_path / "cases.jsonl", lines)], tmp_path / "ours", counting)
    (first, everything), *rest = asked
    assert (first, rest) == ("score_part", [("look_again", 2), ("score_part", 2)])
    assert everything > 4


def test_a_byte_order_mark_and_misspelt_keys_are_told_as_on_one_machine(tmp_path: Path):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join([row("a"), row("b", evidense={})]).encode())
    ours = in_parts([path], tmp_path / "ours")
    same_run(ours, at_once(path, tmp_path / "theirs"))
    mark, key, *_ = ours.findings
    assert ("byte order mark" in mark, "'evidense' is one slip away" in key) == (True, True)


def test_no_rows_at_all_is_an_empty_run(tmp_path: Path):
    path = written(tmp_path / "cases.jsonl", [])
    ours = in_parts([path], tmp_path / "ours")
    same_run(ours, at_once(path, tmp_path / "theirs"))
    assert ours.run.manifest["parts"] == []


def test_the_run_is_read_like_any_other(tmp_path: Path):
    ours = in_parts([written(tmp_path / "cases.jsonl", mixed(20))], tmp_path / "ours")
    assert [record.line for record in open_run(ours.run.folder).records()][:3] == [1, 2, 3]
    assert "cases.jsonl" in (tmp_path / "ours" / "manifest.json").read_text()
    assert str(tmp_path) not in (tmp_path / "ours" / "manifest.json").read_text()


# --- what goes wrong --------------------------------------------------------------------------------------------------


def test_cases_that_change_meanwhile_are_noticed_and_nothing_is_left(tmp_path: Path):
    path = written(tmp_path / "cases.jsonl", [row("a"), row("b")])

    def edits(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        path.write_text(path.read_text().replace('"a"', '"c"'))
        return map(function, tasks)

    with pytest.raises(EvalkitError, match=r"cases\.jsonl, lines 1 to 2: changed while it was being scored"):
        in_parts([path], tmp_path / "ours", edits)
    assert not (tmp_path / "ours").exists()


def test_a_worker_with_another_metric_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = written(tmp_path / "cases.jsonl", [row("a")])

    def elsewhere(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        monkeypatch.setattr(task, "metric_here", lambda _: {"source of the metric": "sha256:other"})
        return map(function, tasks)

    with pytest.raises(EvalkitError, match=r"a worker has another source of the metric .* restart them"):
        in_parts([path], tmp_path / "ours", elsewhere)


def test_records_that_are_not_here_are_not_counted(tmp_path: Path):
    path = written(tmp_path / "cases.jsonl", [row("a")])

    def elsewhere(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        for one in tasks:
            yield function(one)._replace(attempt="part-00000.gone.attempt")

    with pytest.raises(EvalkitError, match="the records that a worker wrote are not here"):
        in_parts([path], tmp_path / "ours", elsewhere)
    assert not (tmp_path / "ours").exists()


def test_records_that_are_not_those_that_were_written_are_not_joined(tmp_path: Path):
    path = written(tmp_path / "cases.jsonl", [row("a"), row("b")])

    def damaged(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        for one in tasks:
            done = function(one)
            attempt = Path(one.job.folder) / done.attempt
            attempt.write_bytes(attempt.read_bytes().replace(b'"a"', b'"z"'))
            yield done

    with pytest.raises(EvalkitError, match="are not the records that the worker wrote"):
        in_parts([path], tmp_path / "ours", damaged)
    with pytest.raises(EvalkitError, match=r"an unfinished run|not a run folder|is not a folder"):
        open_run(tmp_path / "ours")


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["none.jsonl"], "none.jsonl: there is no such file of cases"),
        (["empty"], "empty: holds no .jsonl file"),
        (["*.json"], r"\*.json: there is no such file of cases"),
        (["a.jsonl", "*.jsonl"], "a.jsonl: is named twice"),
        (["run"], "run: is a run folder: its rows are scored already"),
    ],
)
def test_what_names_no_cases_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: list[str], text: str):
    monkeypatch.chdir(tmp_path)
    written(Path("a.jsonl"), [row("a")])
    Path("empty").mkdir()
    at_once(Path("a.jsonl"), Path("run"))
    with pytest.raises(EvalkitError, match=text):
        files_of(names)


def test_files_keep_the_order_of_their_names_and_patterns_are_sorted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b2", "a", "b1"):
        written(Path(f"{name}.jsonl"), [row(name)])
    assert [path.name for path in files_of(["b*.jsonl", "a.jsonl"])] == ["b1.jsonl", "b2.jsonl", "a.jsonl"]


def test_several_files_with_an_adapter_s_stamp_are_refused(tmp_path: Path):
    written(tmp_path / "parts" / "a.jsonl", [row("a")])
    written(tmp_path / "parts" / "b.jsonl", [row("b")])
    (tmp_path / "parts" / "b.jsonl.adapter.json").write_text("{}")
    with pytest.raises(EvalkitError, match=r"b\.jsonl: was made by an adapter"):
        in_parts([tmp_path / "parts"], tmp_path / "ours")
    one = in_parts([tmp_path / "parts" / "b.jsonl"], tmp_path / "one")
    assert "adapter" in one.run.manifest


def test_an_engine_that_nobody_knows_is_refused():
    with pytest.raises(EvalkitError, match="there is no engine 'ray'; engines are dask"):
        engine_named("ray")


# --- small parts of it ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_parts_are_whole_lines_and_together_the_file(tmp_path: Path):
    path = written(tmp_path / "cases.jsonl", mixed(200), end="")
    cut = cut_into_parts([path])
    raws = [b"".join(block.raw for block in blocks_of(part)) for part in cut.parts]
    assert b"".join(raws) == path.read_bytes()
    assert all(raw.endswith(b"\n") for raw in raws[:-1])
    assert sum(part.lines for part in cut.parts) == 200


def test_ids_hash_alike_in_every_process():
    # Python's own hash of a text is another one in each process; this one is written down.
    assert id_hash("row-1") == id_hash("ROW-1") == 6660314193839645915
