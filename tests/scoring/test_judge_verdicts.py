from __future__ import annotations

import os
import pickle
import sqlite3
from decimal import Decimal
from pathlib import Path

import orjson
import pytest

from evalkit.contract import EvalkitError
from evalkit.scoring.judging.attempt import Attempt
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.reply import Reply
from evalkit.scoring.judging.verdicts import OpenCall, VerdictStore

REPLY = Reply(1, '{"reason": "r", "value": "pass"}', None, "stop", "m", {"prompt_tokens": 1, "completion_tokens": 2})


def begun(store: VerdictStore, key: str = "k", run: str = "run", case_id: str = "a") -> OpenCall:
    call = store.begin(run, key, case_id=case_id, reserved=Decimal("0.50"), again=True)
    assert isinstance(call, OpenCall)
    return call


def attempt(call: OpenCall, **changes: object) -> Attempt:
    return Attempt(call.number, call.sent_at, 1.5, 200, None, None, None, "0.10")._replace(**changes)


def keep(store: VerdictStore, key: str = "k", run: str = "run", reply: Reply = REPLY) -> Kept:
    call = begun(store, key, run)
    return store.keep(call, run, key, reply, attempt(call), charge=Decimal("0.10"), prompt_sha256="p", case_id="a")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "verdicts.sqlite"


def test_what_is_kept_is_found_by_another_process_of_mind(path: Path) -> None:
    with VerdictStore(path) as store:
        kept = keep(store)
    with VerdictStore(path) as store:
        assert store.find("k") == kept
        assert store.find("another") is None
    assert kept.attempts == (Attempt(1, kept.attempts[0].sent_at, 1.5, 200, None, None, None, "0.10"),)
    assert (kept.case_id, kept.run_id) == ("a", "run")


def test_the_first_verdict_stays_and_a_later_one_is_kept_beside_it(path: Path) -> None:
    with VerdictStore(path) as store:
        first = keep(store, run="one")
        second = keep(store, run="two", reply=REPLY._replace(content="other"))
        assert (store.find("k"), store.find("k", run_id="two")) == (first, second)


def test_a_call_is_noted_before_it_is_sent_and_its_charge_after(path: Path) -> None:
    with VerdictStore(path) as store:
        call = begun(store)
        assert store.used("run") == (Decimal("0.50"), 1)  # nothing is known yet: the reservation counts
        store.end(call, "k", attempt(call, status=500, error_kind="server_error"), charge=Decimal(0))
        assert store.used("run") == (Decimal(0), 1)
        kept = keep(store)
        assert store.used("run") == (Decimal("0.10"), 2)
        assert [a.error_kind for a in kept.attempts] == ["server_error", None]
        assert [a.number for a in kept.attempts] == [1, 2]
        assert store.used("another run") == (Decimal(0), 0)


def test_the_open_call_of_a_dead_process_is_in_doubt_and_charged_in_full(path: Path) -> None:
    child = os.fork()
    if child == 0:  # dies with its call under way, as under kill -9
        begun(VerdictStore(path), case_id="lost")
        os._exit(9)
    os.waitpid(child, 0)
    with VerdictStore(path) as store:
        (doubt,) = store.doubts("run")
        assert (doubt.case_id, doubt.charged) == ("lost", "0.50")
        assert store.used("run") == (Decimal("0.50"), 1)
        assert [a.error_kind for a in store.attempts("run")] == ["in_doubt"]
        assert keep(store).attempts[0].error_kind == "in_doubt"  # and the question can be asked again


def test_a_question_under_way_elsewhere_is_not_asked_twice(path: Path) -> None:
    with VerdictStore(path) as one, VerdictStore(path) as two:
        call = begun(one)
        assert two.begin("other", "k", case_id="b", reserved=Decimal(0)) is None
        assert begun(two, "another key").number == 1
        assert one.doubts("run") == []  # a living process is not in doubt
        one.keep(call, "run", "k", REPLY, attempt(call), charge=Decimal(0), prompt_sha256="p")
        # what came in the meantime is returned instead of a call, unless everything is asked anew
        assert two.begin("other", "k", case_id="b", reserved=Decimal(0)) == two.find("k")
        assert isinstance(two.begin("other", "k", case_id="b", reserved=Decimal(0), again=True), OpenCall)


def test_values_are_plain_json_and_nothing_is_unpickled(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        msg = "nothing is unpickled"
        raise AssertionError(msg)

    with VerdictStore(path) as store:
        keep(store)
    monkeypatch.setattr(pickle, "loads", refuse)
    monkeypatch.setattr(pickle, "load", refuse)
    with VerdictStore(path) as store:
        assert store.find("k") is not None
    (content,) = sqlite3.connect(path).execute("SELECT content FROM replies").fetchone()
    assert orjson.loads(content)["reply"]["content"] == REPLY.content


def test_the_journal_is_write_ahead(path: Path) -> None:
    VerdictStore(path).close()
    assert sqlite3.connect(path).execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_another_programs_database_is_refused(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (text)")
    other.commit()
    other.close()
    with pytest.raises(EvalkitError, match="is a database of another program or layout"):
        VerdictStore(path)
    assert sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall() == [("notes",)]


def test_a_later_layout_is_refused(path: Path) -> None:
    VerdictStore(path).close()
    later = sqlite3.connect(path)
    later.execute("PRAGMA user_version = 2")
    later.close()
    with pytest.raises(EvalkitError, match="another program or layout"):
        VerdictStore(path)


@pytest.mark.parametrize(
    "content", [b"not a database at all, but long enough to have a page" * 50, b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_file_that_is_no_database_is_refused(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(EvalkitError) as caught:
        VerdictStore(path)
    assert "give another file with --store" in str(caught.value)
    assert path.read_bytes() == content


def test_a_damaged_page_is_refused(path: Path) -> None:
    with VerdictStore(path) as store:
        for number in range(200):
            keep(store, f"key-{number}")
    raw = bytearray(path.read_bytes())
    middle = len(raw) // 2 // 4096 * 4096
    raw[middle : middle + 64] = b"\xff" * 64
    path.write_bytes(raw)
    with pytest.raises(EvalkitError, match=r"is damaged|cannot be trusted|is not a verdict store"):
        VerdictStore(path)


@pytest.mark.parametrize("name", [b"calls", b"replies"])
def test_a_damaged_name_that_is_no_text_is_refused_in_words(path: Path, name: bytes) -> None:
    with VerdictStore(path) as store:
        keep(store)
    whole = path.read_bytes()
    assert b"CREATE TABLE " + name in whole
    path.write_bytes(whole.replace(b"CREATE TABLE " + name, b"CREATE TABLE \x80" + name[1:]))
    with pytest.raises(EvalkitError, match="is not a verdict store that can be trusted"):
        VerdictStore(path)


def test_a_damaged_reply_that_is_no_text_is_refused_in_words(path: Path) -> None:
    with VerdictStore(path) as store:
        keep(store)
    edited = sqlite3.connect(path)
    edited.execute("UPDATE replies SET content = CAST(x'ff7b7d' AS TEXT)")
    edited.commit()
    edited.close()
    with VerdictStore(path) as store, pytest.raises(EvalkitError, match="the verdict kept for case 'a' is damaged"):
        store.find("k")


def test_a_verdict_that_was_edited_by_hand_is_refused(path: Path) -> None:
    with VerdictStore(path) as store:
        keep(store)
    edited = sqlite3.connect(path)
    edited.execute("UPDATE replies SET content = replace(content, 'pass', 'fail')")
    edited.commit()
    edited.close()
    with VerdictStore(path) as store, pytest.raises(EvalkitError, match="the verdict kept for case 'a' is damaged"):
        store.find("k")


def test_two_processes_write_at_once_and_nothing_is_lost(path: Path) -> None:
    VerdictStore(path).close()
    children = []
    for name in ("one", "two"):
        child = os.fork()
        if child == 0:
            with VerdictStore(path) as store:
                for number in range(50):
                    keep(store, f"{name}-{number}", run=name)
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    with VerdictStore(path) as store:
        assert all(store.find(f"{name}-{number}") for name in ("one", "two") for number in range(50))
        assert store.used("one").calls == store.used("two").calls == 50


def test_a_store_in_a_place_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(EvalkitError, match="cannot be opened"):
        VerdictStore(tmp_path / "file" / "verdicts.sqlite")
