from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.scoring.parts import Judgement
from evalkit.scoring.places import MOST_PASSING, Places
from evalkit.scoring.records import Diagnosis, Record, Ruling
from evalkit.scoring.run import RunWriter
from evalkit.scoring.score import Scorer
from evalkit.scoring.stream import stream_cases


def judged(record: Record) -> Ruling:
    passes = record.value == 1.0
    return Ruling("pass" if passes else "fail", 1.0, "1", None) if record.state == "scored" else Ruling(*[None] * 4)


JUDGED = Judgement(judged, lambda record: Diagnosis(record.owner, "why"))


def written(folder: Path, rows: int) -> Path:
    path = folder / "cases.jsonl"
    with path.open("wb") as out:
        for i in range(rows):
            ids = ["a", "b"]
            row = {"case_id": f"c{i}", "blocking": i % 2 == 0, "required_claim_ids": ids, "text": "x" * (i % 7)}
            supported = ids if i % 3 else ids[:1]
            out.write(orjson.dumps(row | {"supported_claim_ids": supported}, option=orjson.OPT_APPEND_NEWLINE))
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_each_place_holds_its_record_whatever_block_or_process_wrote_it(
    tmp_path: Path, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evalkit.cases.lines._SIZE", 4_096)  # many small blocks
    monkeypatch.setattr("evalkit.scoring.stream._PARALLEL_BYTES", 0)
    with RunWriter(tmp_path / f"run-{workers}") as writer:
        streamed = stream_cases(written(tmp_path, 900), Scorer(evidence_coverage), JUDGED, writer, workers=workers)
        writer.close_records()
    raw = (writer.folder / "records.jsonl").read_bytes()
    groups = [
        [Record.from_json(raw[start : start + length], where="here") for start, length in group]
        for group in streamed.places.groups
    ]
    # Every third of 900 rows fails; half of all are blocking. Rows 0, 6, 12 … fail and block: 150.
    assert [[record.line for record in group] for group in groups] == [
        list(range(1, 900, 6)),
        list(range(4, 900, 6)),
        [line for line in range(1, 901) if line % 3 != 1][:MOST_PASSING],
    ]
    assert streamed.places.sizes == [150, 150, 600]


def test_without_a_policy_only_what_was_not_scored_comes_first(tmp_path: Path) -> None:
    path = written(tmp_path, 3)
    path.write_bytes(path.read_bytes() + b"no json\n")
    places = stream_cases(path, Scorer(evidence_coverage)).places
    assert places.sizes == [1, 0, 3]


def test_no_more_places_are_kept_than_a_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Places, "LIMITS", (2, 1, 1))
    blocking = Record(*[None] * len(Record._fields))._replace(blocking=True)  # type: ignore[arg-type]
    one, two = Places.of([1, 1, 1], {}), Places.of([1, 1, 1], dict.fromkeys(range(3), blocking))
    one.merge(two, 100)
    assert [[place.start for place in group] for group in one.groups] == [[100, 101], [], [0]]
    assert one.sizes == [3, 0, 3]
