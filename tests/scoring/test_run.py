from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest

from evalkit.contract import EvalkitError, sha256_file
from evalkit.scoring import run as run_module
from evalkit.scoring.records import Record
from evalkit.scoring.run import (
    Run,
    RunWriter,
    installed_versions,
    lock_hash,
    new_run_id,
    open_run,
    write_whole,
)

RECORD = Record(
    1, "a", "default", True, None, None, "scored", 1.0, "r", {}, None, "pass", 0.5, "v", {"x": 1}, None, "h", None, "s",
    "1", None, {}, None, None,
)  # fmt: skip
MANIFEST: dict[str, Any] = {"metric": {"name": "m", "contract_version": "1"}, "ledger": {"lines": 1, "blank": 0}}


def made(folder: Path, records: bytes = RECORD.to_json()) -> Run:
    with RunWriter(folder) as writer:
        writer.write(records)
        return writer.finish(MANIFEST | {"records_sha256": writer.close_records()})


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*")}


def full_disk(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# --- a run that goes well ---------------------------------------------------------------------------------------------


def test_a_finished_run_is_read_back_as_it_was_written(tmp_path: Path):
    run = made(tmp_path / "runs" / "first")
    again = open_run(run.folder)
    assert again.manifest == run.manifest
    assert list(again.records()) == [RECORD]
    assert names(run.folder) == {"records.jsonl", "manifest.json"}
    assert again.manifest["records_sha256"] == sha256_file(again.records_path)
    assert again.outcome() is None
    again.check()


def test_the_manifest_says_what_made_it_and_nothing_of_where(tmp_path: Path):
    text = (made(tmp_path / "first").folder / "manifest.json").read_text()
    manifest = json.loads(text)
    assert (manifest["schema"], manifest["evalkit"]) == (1, installed_versions()["evalkit"])
    assert {"run_id", "python", "ragas", "started", "seconds"} <= manifest.keys()
    assert manifest["started"].endswith("+00:00")
    for secret in (str(tmp_path), os.uname().nodename, "/root", "/home"):
        assert secret not in text


def test_the_manifest_is_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    order: list[str] = []
    real = run_module.write_whole
    monkeypatch.setattr(run_module, "write_whole", lambda path, raw: (order.append(path.name), real(path, raw))[1])
    with RunWriter(tmp_path / "first") as writer:
        writer.write(RECORD.to_json())
        writer.close_records()
        writer.add("outcome.json", b'{"outcome": "passed"}')
        with pytest.raises(EvalkitError, match="is an unfinished run"):
            open_run(writer.folder)
        run = writer.finish(MANIFEST)
    assert order == ["outcome.json", "manifest.json"]
    assert open_run(run.folder).outcome() == {"outcome": "passed"}


def test_a_restart_forgets_what_was_written(tmp_path: Path):
    with RunWriter(tmp_path / "first") as writer:
        writer.write(RECORD.to_json() * 3)
        writer.restart()
        writer.write(RECORD.to_json())
        writer.close_records()
        run = writer.finish(MANIFEST)
    assert run.records_path.read_bytes() == RECORD.to_json()


def test_run_ids_never_repeat_and_sort_by_time():
    ids = {new_run_id() for _ in range(200)}
    assert len(ids) == 200
    assert all(len(run_id) == 23 and run_id[8] == "T" and run_id[15:17] == "Z-" for run_id in ids)


# --- never overwritten, never half a run ------------------------------------------------------------------------------


def test_s1_9_a_run_folder_is_never_overwritten(tmp_path: Path):
    run = made(tmp_path / "first")
    before = {path: path.read_bytes() for path in run.folder.iterdir()}
    with pytest.raises(EvalkitError, match="is a finished run, and a run folder is never overwritten") as caught:
        RunWriter(run.folder)
    assert caught.value.do == "give --run a new name; a rerun is a new run"
    assert {path: path.read_bytes() for path in run.folder.iterdir()} == before


@pytest.mark.parametrize("content", [None, "notes.txt", "records.jsonl.part"])
def test_a_folder_that_is_no_finished_run_is_left_alone(tmp_path: Path, content: str | None):
    folder = tmp_path / "mine"
    folder.mkdir()
    if content:
        (folder / content).write_text("mine")
    with pytest.raises(EvalkitError, match="exists already but holds no finished run"):
        RunWriter(folder)
    assert names(tmp_path) == {"mine", *([content] if content else [])}


def test_a_file_in_the_place_of_the_folder_or_above_it_is_refused(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(EvalkitError, match="exists already but holds no finished run"):
        RunWriter(tmp_path / "file")
    with pytest.raises(EvalkitError, match=r"cannot be made \(Not a directory\)"):
        RunWriter(tmp_path / "file" / "run")
    assert (tmp_path / "file").read_text() == "mine"


def test_nothing_is_left_behind_by_an_error_before_the_first_record(tmp_path: Path):
    with pytest.raises(ZeroDivisionError), RunWriter(tmp_path / "first"):
        raise ZeroDivisionError
    assert names(tmp_path) == set()
    made(tmp_path / "first")  # the name is still free


def test_after_the_first_record_an_error_leaves_a_folder_that_says_so(tmp_path: Path):
    def interrupted() -> None:
        with RunWriter(tmp_path / "first") as writer:
            writer.write(RECORD.to_json())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert names(tmp_path / "first") == {"records.jsonl.part"}
    assert (tmp_path / "first" / "records.jsonl.part").read_bytes() == RECORD.to_json()
    with pytest.raises(EvalkitError, match=r"is an unfinished run: it holds no manifest\.json") as caught:
        open_run(tmp_path / "first")
    assert caught.value.do == "run again into a new folder"


def test_a_full_disk_is_said_plainly_and_the_folder_stays_unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(run_module.os, "fsync", full_disk)
    with pytest.raises(EvalkitError, match=r"records cannot be written \(No space left on device\)"):
        made(tmp_path / "first")
    with pytest.raises(EvalkitError, match="is an unfinished run"):
        open_run(tmp_path / "first")


def test_a_clock_that_is_set_back_meanwhile_makes_no_negative_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    class Earlier(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:
            return datetime(2020, 1, 1, tzinfo=tz)

    with RunWriter(tmp_path / "first") as writer:
        monkeypatch.setattr(run_module, "datetime", Earlier)
        writer.close_records()
        assert 0 <= writer.finish(MANIFEST).manifest["seconds"] < 60


# --- read back without trust ------------------------------------------------------------------------------------------


def drop_a_line(run: Run) -> None:
    run.records_path.write_bytes(b"")


def change_a_value(run: Run) -> None:
    run.records_path.write_bytes(run.records_path.read_bytes().replace(b'"value":1.0', b'"value":0.9'))


@pytest.mark.parametrize("damage", [drop_a_line, change_a_value])
def test_records_changed_after_the_run_are_refused(tmp_path: Path, damage: Callable[[Run], None]):
    run = made(tmp_path / "first")
    damage(run)
    with pytest.raises(EvalkitError, match="does not have the hash that the manifest names") as caught:
        open_run(run.folder).check()
    assert caught.value.where == str(run.records_path)


def test_of_damaged_records_the_first_bad_line_is_named(tmp_path: Path):
    run = made(tmp_path / "first", RECORD.to_json() * 3)
    run.records_path.write_bytes(RECORD.to_json() + b"{}\n" + RECORD.to_json())
    with pytest.raises(EvalkitError, match=r"records\.jsonl, line 2: is not a record"):
        open_run(run.folder).check()


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ("{", "is damaged: "),
        ("[1]", "is damaged: "),
        ('{"schema": 1, "schema": 1}', "is damaged: the key 'schema' occurs twice"),
        ("{}", "is not a run that this evalkit can read: schema None, expected 1"),
        ('{"schema": 2, "metric": {}, "ledger": {}}', "schema 2, expected 1"),
        ('{"schema": 1, "ledger": {}}', "is not a run that this evalkit can read"),
        ('{"schema": 1, "metric": "m", "ledger": {}}', "metric and ledger must be objects"),
        ('{"schema": 1, "metric": {}, "ledger": 5}', "metric and ledger must be objects"),
    ],
)
def test_a_foreign_or_damaged_manifest_is_refused(tmp_path: Path, manifest: str, message: str):
    run = made(tmp_path / "first")
    (run.folder / "manifest.json").write_text(manifest)
    with pytest.raises(EvalkitError) as caught:
        open_run(run.folder)
    assert message in str(caught.value)
    assert caught.value.where == str(run.folder / "manifest.json")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("policy", True, "policy must be an object; got True"),
        ("judge", "x", "judge must be an object; got 'x'"),
        ("run_id", 5, "run_id must be a text; got 5"),
        ("records_sha256", [], r"records_sha256 must be a text; got \[\]"),
        ("metric", {"name": None, "contract": [1]}, r"metric.contract must be an object; got \[1\]"),
        ("ledger", {"blank": "many"}, "ledger.blank must be a count; got 'many'"),
    ],
)
def test_a_manifest_field_of_another_type_is_named(tmp_path: Path, field: str, value: Any, message: str):
    run = made(tmp_path / "first")
    (run.folder / "manifest.json").write_text(json.dumps(run.manifest | {field: value}))
    with pytest.raises(EvalkitError, match=message):
        open_run(run.folder)


def test_what_is_no_run_folder_is_named(tmp_path: Path):
    with pytest.raises(EvalkitError, match="is not a folder"):
        open_run(tmp_path / "absent")
    with pytest.raises(EvalkitError, match=r"is not a run folder: it holds no manifest\.json"):
        open_run(tmp_path)
    run = made(tmp_path / "first")
    run.records_path.unlink()
    with pytest.raises(EvalkitError, match=r"is a run without its records\.jsonl"):
        open_run(run.folder)


# --- files written whole ----------------------------------------------------------------------------------------------


def test_g03_what_was_there_before_survives_a_write_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "out.json"
    write_whole(path, "before")
    monkeypatch.setattr(run_module.os, "fsync", full_disk)
    with pytest.raises(EvalkitError, match=r"No space left on device.*nothing that was there before has changed"):
        write_whole(path, "after")
    assert path.read_text() == "before"
    assert names(tmp_path) == {"out.json"}


def test_text_is_written_as_utf8_and_bytes_as_they_are(tmp_path: Path):
    write_whole(tmp_path / "text", "é\n")
    write_whole(tmp_path / "bytes", b"\xff")
    assert (tmp_path / "text").read_bytes() == b"\xc3\xa9\n"
    assert (tmp_path / "bytes").read_bytes() == b"\xff"


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path):
    with pytest.raises(EvalkitError, match=r"cannot be written \(No such file or directory\)"):
        write_whole(tmp_path / "absent" / "out.json", b"")
    with pytest.raises(EvalkitError, match="cannot be written"):
        write_whole(tmp_path, b"")


def test_a_link_keeps_pointing_where_it_did(tmp_path: Path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("before")
    link.symlink_to(target)
    write_whole(link, "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_a_pipe_or_device_is_written_through_and_never_replaced(tmp_path: Path):
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[str] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()))
    reader.start()
    write_whole(pipe, "through")
    reader.join(10)
    assert got == ["through"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)

    write_whole(Path(os.devnull), "gone")
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


# --- the lock file ----------------------------------------------------------------------------------------------------


def test_the_lock_is_the_nearest_one_above(tmp_path: Path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / "requirements.lock").write_text("one")
    assert lock_hash(inner) == sha256_file(tmp_path / "requirements.lock")
    (tmp_path / "a" / "requirements.lock").write_text("two")
    assert lock_hash(inner) == sha256_file(tmp_path / "a" / "requirements.lock")
    (tmp_path / "a" / "requirements.lock").unlink()
    (tmp_path / "requirements.lock").unlink()
    assert lock_hash(inner) is None


def test_versions_are_read_without_importing_what_they_are_of():
    versions = installed_versions()
    assert set(versions) == {"evalkit", "ragas", "python"}
    assert run_module._version("no-such-distribution-anywhere") is None
