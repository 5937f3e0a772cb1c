"""The run folder of a judge: records are appended as they come, so a killed run goes on where it stopped."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, NamedTuple

import orjson

from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, sha256_file
from evalkit.scoring.judging.owners import lock_file
from evalkit.scoring.records import Record
from evalkit.scoring.run import SCHEMA, Run, installed_versions, new_run_id, open_run, write_whole

__all__ = ["JudgeFolder"]

_STATE = "judge.json"
_NEW_NAME = "give --run a new name; verdicts that are kept cost nothing again"


class _Place(NamedTuple):
    start: int
    length: int


class JudgeFolder:
    """A run folder being written. Without its manifest it is unfinished; opened again, it continues the same run.

    Parameters
    ----------
    folder : Path
        New, or an unfinished run of the same judge, configuration and cases.
    subject : mapping
        What the run is about, by hash; an unfinished run about something else is not continued.
    """

    def __init__(self, folder: Path, subject: Mapping[str, Any]) -> None:
        self.folder = folder
        self._part = folder / "records.jsonl.part"
        self._places: dict[int, _Place] = {}
        self._clock = time.monotonic()
        self._make()
        self._stream, self._size = self._take()
        try:
            state = self._state(dict(subject))
        except EvalkitError:
            self._stream.close()
            raise
        self.run_id = str(state["run_id"])
        self.started = datetime.fromisoformat(str(state["started"]))

    def _make(self) -> None:
        if (self.folder / "manifest.json").exists():
            msg = "is a finished run, and a run folder is never overwritten"
            raise EvalkitError(msg, where=str(self.folder), do=_NEW_NAME)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            msg = f"cannot be made ({error.strerror or error})"
            raise EvalkitError(msg, where=str(self.folder), do="choose another folder with --run") from error
        others = [path.name for path in self.folder.iterdir() if not path.name.startswith(".")]
        if others and not {_STATE, "records.jsonl.part"} & set(others):
            msg = f"exists already but holds no judge's run (it holds {others[0]!r})"
            raise EvalkitError(msg, where=str(self.folder), do="give --run a new name")

    def _take(self) -> tuple[IO[bytes], int]:
        final = self.folder / "records.jsonl"
        if final.exists():  # it died between the last record and the manifest
            final.rename(self._part)
        stream = lock_file(self._part)
        if stream is None:
            msg = "is being written by another process"
            raise EvalkitError(msg, where=str(self.folder), do="wait for it, or give --run a new name")
        # A record that was cut in the middle was never whole: it is written again.
        size = sum(len(raw) for raw in self._lines() if raw.endswith(b"\n"))
        stream.truncate(size)
        return stream, size

    def _lines(self) -> Iterator[bytes]:
        with self._part.open("rb") as part:
            yield from part

    def _state(self, subject: dict[str, Any]) -> dict[str, Any]:
        path = self.folder / _STATE
        state: dict[str, Any]
        if not path.exists():
            state = {"run_id": new_run_id(), "started": datetime.now(UTC).isoformat(), "subject": subject}
            write_whole(path, orjson.dumps(state, option=orjson.OPT_INDENT_2))
            return state
        try:
            state = parse_object(path.read_bytes())
        except (JsonProblem, OSError) as error:
            msg = f"cannot be continued: {_STATE} is damaged ({error})"
            raise EvalkitError(msg, where=str(self.folder), do="give --run a new name") from error
        changed = [name for name, value in subject.items() if state["subject"].get(name) != value]
        if changed:
            msg = f"is an unfinished run about something else: its {', '.join(changed)} differ from what is given now"
            raise EvalkitError(msg, where=str(self.folder), do=_NEW_NAME)
        return state

    def earlier(self) -> Iterator[Record]:
        """Read the records of an interrupted part of this run; later ones of the same line come later."""
        start = 0
        for number, raw in enumerate(self._lines(), 1):
            record = Record.from_json(raw, where=f"{self._part}, line {number}")
            self._places[record.line] = _Place(start, len(raw))
            start += len(raw)
            yield record

    def write(self, record: Record) -> None:
        """Append one record; from here on a dying process cannot take it along."""
        raw = record.to_json()
        self._places[record.line] = _Place(self._size, len(raw))
        self._size += len(raw)
        try:
            self._stream.write(raw)
            self._stream.flush()
        except OSError as error:
            raise self._full(error) from error

    def _full(self, error: OSError) -> EvalkitError:
        msg = f"records cannot be written ({error.strerror or error}); the folder stays marked as unfinished"
        return EvalkitError(msg, where=str(self.folder), do="free space and run the same command again")

    def close_records(self) -> str:
        """Put the records in input order under their final name and return their SHA-256."""
        final = self.folder / "records.jsonl"
        ordered = [self._places[line] for line in sorted(self._places)]
        try:
            if _is_in_order(ordered, self._size):
                os.fsync(self._stream.fileno())
                self._part.rename(final)
            else:
                self._copy_in_order(ordered).replace(final)
                self._part.unlink()
            self._stream.close()
        except OSError as error:
            raise self._full(error) from error
        return sha256_file(final)

    def _copy_in_order(self, places: list[_Place]) -> Path:
        copy = self.folder / ".records.jsonl.part"
        with self._part.open("rb") as part, copy.open("wb") as stream:
            for place in places:
                part.seek(place.start)
                stream.write(part.read(place.length))
            stream.flush()
            os.fsync(stream.fileno())
        return copy

    def close(self) -> None:
        """Let go of the folder; it stays as it is."""
        self._stream.close()

    def discard(self) -> None:
        """Remove a folder whose content cost nothing, so that its name can be used again."""
        self.close()
        for path in (self._part, self.folder / _STATE):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else has been put there
            self.folder.rmdir()

    def add(self, name: str, content: bytes | str) -> Path:
        """Write one more file of the run."""
        path = self.folder / name
        write_whole(path, content)
        return path

    def finish(self, manifest: Mapping[str, Any]) -> Run:
        """Write the manifest, which makes the folder a run."""
        # From the first start on, pauses included; the wall clock may have been set back, this process' own may not.
        span = max((datetime.now(UTC) - self.started).total_seconds(), time.monotonic() - self._clock)
        head = {"schema": SCHEMA, "run_id": self.run_id, **installed_versions()}
        tail = {"started": self.started.isoformat(), "seconds": round(span, 3)}
        self.add("manifest.json", orjson.dumps(head | dict(manifest) | tail, option=orjson.OPT_INDENT_2))
        (self.folder / _STATE).unlink(missing_ok=True)
        return open_run(self.folder)


def _is_in_order(places: list[_Place], size: int) -> bool:
    """Tell whether the records already stand one behind the other, none of them twice."""
    at = 0
    for place in places:
        if place.start != at:
            return False
        at += place.length
    return at == size
