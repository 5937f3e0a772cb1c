"""Lists that go to disk: the same items in the same order, whatever their length, and JSON that is never whole."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest

from evalkit.contract import EvalkitError, Outcome
from evalkit.decisions.blockers import Blocker, Row, blocked_rows
from evalkit.scoring import spilled
from evalkit.scoring.records import Record
from evalkit.scoring.run import write_whole
from evalkit.scoring.spilled import MOST_KEPT, SpilledList, SpilledTexts, json_chunks, spilled_records


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three items stay in memory, and files are read in chunks of 7 bytes."""
    for name in ("evalkit.scoring.spilled", "evalkit.decisions.blockers"):
        monkeypatch.setattr(f"{name}.MOST_KEPT", 3)
    monkeypatch.setattr(spilled, "_CHUNK", 7)


def numbers(items: Iterable[Any]) -> SpilledList[Any]:
    found = SpilledList[Any](orjson.dumps, orjson.loads)
    found.extend(items)
    return found


def record(line: int, **more: Any) -> Record:
    plain = Record(
        line, f"r{line}", "default", True, None, None, "scored", 0.5, "half of it", {"missing": ["ü\u2028\n"]}, None,
        "fail", 1.0, "v1", None, None, "sha256:0", None, None, "1", None, {}, "answer", None,
    )  # fmt: skip
    return plain._replace(**more)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 50])
def test_it_reads_like_a_list_of_any_length(length: int):
    found, plain = numbers(range(length)), list(range(length))
    assert (list(found), len(found), bool(found)) == (plain, length, bool(plain))
    assert [found[:2], found[2:6], found[-2:], found[::3]] == [plain[:2], plain[2:6], plain[-2:], plain[::3]]
    assert [found[at] for at in range(-length, length)] == [plain[at] for at in range(-length, length)]
    assert found == plain
    assert numbers([*plain, 7]) != plain
    assert numbers([*plain[:-1], "x"]) != plain
    with pytest.raises(IndexError):
        found[length]


@pytest.mark.usefixtures("few")
def test_reading_twice_at_a_time_and_adding_meanwhile_mixes_nothing_up():
    found = numbers(range(20))
    seen = []
    for at, (one, other) in enumerate(zip(found, found, strict=True)):
        if at == 10:
            found.append(20)
        seen.append((one, other))
    assert seen == [(n, n) for n in range(21)]


@pytest.mark.usefixtures("few")
def test_records_come_back_as_they_were():
    records = [record(n, value=[1, 1.0, "a"] if n % 2 else 0.1 + 0.2) for n in range(9)]
    found = spilled_records()
    found.extend(records)
    assert list(found) == records
    assert found == records


@pytest.mark.usefixtures("few")
def test_texts_are_found_by_their_number():
    texts = {n: f"line {n}\nü" for n in (2, 3, 5, 8, 13, 21)}
    found = SpilledTexts()
    found.update({n: texts[n] for n in (2, 3, 5, 8)})
    assert found[8] == texts[8]
    found.update({n: texts[n] for n in (13, 21)})
    assert (dict(found), len(found), found == texts) == (texts, 6, True)
    assert [found.get(n, "") for n in (1, 4, 9, 14, 22)] == [""] * 5
    with pytest.raises(KeyError):
        found[9]


# --- JSON -------------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("option", [0, orjson.OPT_INDENT_2, orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE])
def test_json_in_pieces_is_the_same_json(option: int):
    lists: dict[str, Any] = {"a": range(2), "b": ["ü", "\x00a list that lies on disk\x00"] * 9, "c": [], "d": range(40)}
    facts = {"first": 1, "lists": [{"rows": numbers(items)} for items in lists.values()], "last": "\n"}
    plain = {"first": 1, "lists": [{"rows": list(items)} for items in lists.values()], "last": "\n"}
    pieces = list(json_chunks(facts, option))
    assert json.loads(b"".join(pieces)) == plain
    assert len(pieces) > 40
    assert b"".join(json_chunks(plain, option)) == orjson.dumps(plain, option=option)


def test_what_json_does_not_know_is_still_refused():
    with pytest.raises(TypeError, match="set"):
        list(json_chunks({"a": {1}}))


@pytest.mark.usefixtures("few")
def test_a_blocker_keeps_all_its_rows_however_many(tmp_path: Path):
    records = [record(n) for n in range(1, 30)]
    rows = blocked_rows(records, {5: "the fee is missing"})
    short = blocked_rows(records[:2], {})
    assert isinstance(short, tuple)
    assert rows[4] == Row(5, "r5", "default", 0.5, 1.0, "half of it", "answer", None, "the fee is missing")
    facts = Blocker("failed", Outcome.quality_failed, "answer", "they fail", "mend them", rows).facts()
    assert (facts["count"], facts["rows"][0]["case_id"], len(facts["rows"][:5])) == (29, "r1", 5)
    write_whole(tmp_path / "outcome.json", json_chunks({"blockers": [facts]}))
    read = json.loads((tmp_path / "outcome.json").read_bytes())["blockers"][0]
    assert read == facts | {"rows": [row._asdict() for row in rows]}


def test_where_the_temporary_folder_is_full_it_is_said(monkeypatch: pytest.MonkeyPatch):
    found = numbers(range(MOST_KEPT))

    class Full:
        def write(self, _: bytes) -> None:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(spilled.tempfile, "TemporaryFile", Full)
    with pytest.raises(EvalkitError, match=r"temporary folder \(No space left on device\); .* TMPDIR"):
        found.append(1)
