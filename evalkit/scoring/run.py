"""Run folders: written beside and renamed, the manifest last; never overwritten; read back without trust."""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import orjson

from evalkit.cases.lines import read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, sha256_file
from evalkit.scoring.records import Record

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["SCHEMA", "Run", "RunWriter", "installed_versions", "lock_hash", "new_run_id", "open_run", "write_whole"]

SCHEMA = 1


def new_run_id() -> str:
    """Return a run id that sorts by time and never repeats: ``20261130T175612Z-3f9a1c``."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def installed_versions() -> dict[str, str | None]:
    """Return the versions a result may depend on; ``None`` for what is not installed (ragas is not imported for it)."""
    return {
        "evalkit": _version("evalkit-workbench"),
        "ragas": _version("ragas"),
        "python": platform.python_version(),
    }


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def lock_hash(start: Path) -> str | None:
    """Hash the ``requirements.lock`` in `start` or the nearest folder above it; ``None`` where there is none."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (lock := folder / "requirements.lock").is_file():
            return sha256_file(lock)
    return None


def write_whole(path: Path, content: bytes | str | Iterable[bytes]) -> None:
    """Write a file so that it is there whole or not at all: a temporary file beside it, synced, then renamed.

    A link, a pipe or a device (``/dev/stdout``) is written through: a rename would put a file in its place.
    """
    pieces = _pieces(content)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        _write_through(path, pieces)
        return
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with part.open("wb") as stream:
            stream.writelines(pieces)
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(path)
    except BaseException as error:  # a Ctrl-C must not leave the part lying about either
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        msg = f"cannot be written ({error.strerror or error}); nothing that was there before has changed"
        raise EvalkitError(msg, where=str(path), do="free space or choose another folder, then run again") from error


def _pieces(content: bytes | str | Iterable[bytes]) -> Iterable[bytes]:
    return [content] if isinstance(content, bytes) else [content.encode()] if isinstance(content, str) else content


def _write_through(path: Path, pieces: Iterable[bytes]) -> None:
    try:
        with path.open("wb") as stream:
            stream.writelines(pieces)
    except OSError as error:
        msg = f"cannot be written ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path), do="choose another file, then run again") from error


class RunWriter:
    """An unfinished run folder. Until `finish` writes the manifest, it says so and is never read as a run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.run_id = new_run_id()
        self.started = datetime.now(UTC)
        self._clock = time.monotonic()  # the wall clock may be set back meanwhile
        if folder.exists():
            raise self._taken()
        self._part = folder / "records.jsonl.part"
        try:
            folder.mkdir(parents=True)
            self._stream: IO[bytes] = self._part.open("wb")
        except OSError as error:
            msg = f"cannot be made ({error.strerror or error})"
            raise EvalkitError(msg, where=str(folder), do="choose another folder with --run") from error

    def _taken(self) -> EvalkitError:
        if (self.folder / "manifest.json").exists():
            msg = "is a finished run, and a run folder is never overwritten"
        else:
            msg = "exists already but holds no finished run (interrupted, or not a run folder)"
        return EvalkitError(msg, where=str(self.folder), do="give --run a new name; a rerun is a new run")

    def write(self, raw: bytes) -> None:
        """Append records to the part file."""
        try:
            self._stream.write(raw)
        except OSError as error:
            raise self._full(error) from error

    def restart(self) -> None:
        """Begin the records again."""
        self._stream.seek(0)
        self._stream.truncate()

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """Leave nothing behind where nothing was written: a mistyped option must not use up the folder's name."""
        self._stream.close()
        if kind is not None and self._part.exists() and self._part.stat().st_size == 0:
            self._part.unlink()
            self.folder.rmdir()

    def close_records(self) -> str:
        """Put the records under their final name and return their SHA-256."""
        try:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            self._stream.close()
            final = self._part.rename(self.folder / "records.jsonl")
        except OSError as error:
            raise self._full(error) from error
        return sha256_file(final)

    def _full(self, error: OSError) -> EvalkitError:
        msg = f"records cannot be written ({error.strerror or error}); the folder stays marked as unfinished"
        return EvalkitError(msg, where=str(self.folder), do="free space, remove the folder and run again")

    def add(self, name: str, content: bytes | str | Iterable[bytes]) -> Path:
        """Write one more file of the run."""
        path = self.folder / name
        write_whole(path, content)
        return path

    def finish(self, manifest: dict[str, Any]) -> Run:
        """Write the manifest, which makes the folder a run."""
        head = {"schema": SCHEMA, "run_id": self.run_id, **installed_versions()}
        tail = {"started": self.started.isoformat(), "seconds": round(time.monotonic() - self._clock, 3)}
        raw = orjson.dumps(head | manifest | tail, option=orjson.OPT_INDENT_2)
        self.add("manifest.json", raw)
        return Run(self.folder, orjson.loads(raw))


class Run:
    """A finished run folder, read on demand."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder = folder
        self.manifest = manifest

    @property
    def records_path(self) -> Path:
        """Where the records are."""
        return self.folder / "records.jsonl"

    def records(self) -> Iterator[Record]:
        """Read the records in input order; a damaged line is refused with its file and number."""
        for line in read_lines(self.records_path):
            yield Record.from_json(line.raw, where=f"{self.records_path}, line {line.number}")

    def frame(self) -> pd.DataFrame:
        """Return the records as a frame, a column for each field; rows without a score have NA and their state."""
        from evalkit.scoring.exchange import records_frame

        return records_frame(self.records())

    def to_csv(self, path: Path | str) -> None:
        """Write the records for a spreadsheet: no cell is a formula, and `read_records_csv` gives them back whole."""
        from evalkit.scoring.exchange import write_records_csv

        write_records_csv(path, self.records())

    def to_ragas(self) -> Any:
        """Return the rows as a ragas ``EvaluationDataset``, a sample a record, for ragas' own tools."""
        from evalkit.scoring.ragas_bridge.dataset import dataset_of_records

        return dataset_of_records(self.records(), name=str(self.manifest["metric"].get("name")))

    def experiment_rows(self) -> list[dict[str, Any]]:
        """Return the rows as a ragas experiment has them: case id, sample, value and why (``None``: no score)."""
        from evalkit.scoring.ragas_bridge.dataset import experiment_rows

        return experiment_rows(list(self.records()), str(self.manifest["metric"].get("name")))

    def check(self) -> None:
        """Refuse records that are not, byte for byte, those that the manifest was written for.

        Raises
        ------
        EvalkitError
            For the first line that is no record or, where all of them are, for the file.
        """
        wanted = self.manifest.get("records_sha256")
        if wanted is None or sha256_file(self.records_path) == wanted:
            return
        for _ in self.records():
            pass
        msg = "does not have the hash that the manifest names: it was changed after the run was finished"
        raise EvalkitError(msg, where=str(self.records_path), do="score the cases again into a new folder")

    def outcome(self) -> dict[str, Any] | None:
        """Return the outcome file, or ``None`` for a run that was only scored."""
        path = self.folder / "outcome.json"
        return _read_json(path) if path.exists() else None


def open_run(folder: Path | str) -> Run:
    """Open a run folder, refusing one that is unfinished, foreign or damaged."""
    folder = Path(folder)
    manifest_path = folder / "manifest.json"
    if not folder.is_dir():
        msg = "is not a folder"
        raise EvalkitError(msg, where=str(folder), do="give the folder that --run made")
    if not manifest_path.exists():
        what = "an unfinished run" if any(folder.glob("records.jsonl*")) else "not a run folder"
        msg = f"is {what}: it holds no manifest.json"
        raise EvalkitError(msg, where=str(folder), do="run again into a new folder")
    manifest = _read_json(manifest_path)
    is_whole = isinstance(manifest.get("metric"), dict) and isinstance(manifest.get("ledger", {}), dict)
    if manifest.get("schema") != SCHEMA or not is_whole:
        found = f"schema {manifest.get('schema')!r}, expected {SCHEMA}; metric and ledger must be objects"
        msg = f"is not a run that this evalkit can read: {found}"
        raise EvalkitError(msg, where=str(manifest_path), do="run again with this version")
    if problem := _misshapen(manifest):
        msg = f"is damaged: {problem}"
        raise EvalkitError(msg, where=str(manifest_path), do="run again into a new folder")
    if not (folder / "records.jsonl").is_file():
        msg = "is a run without its records.jsonl"
        raise EvalkitError(msg, where=str(folder), do="bring the whole folder, or run again into a new one")
    return Run(folder, manifest)


_OBJECTS = ("policy", "judge", "adapter", "metric.contract", "metric.declaration")
_TEXTS = (
    "run_id", "records_sha256", "cases_sha256", "policy_sha256", "lock_sha256", "metric.name", "metric.fingerprint",
)  # fmt: skip
_COUNTS = ("ledger.lines", "ledger.blank")


def _misshapen(manifest: dict[str, Any]) -> str | None:
    """Return what readers of a manifest could trip over: a field that is there and of another type."""
    for names, kind, words in ((_OBJECTS, dict, "an object"), (_TEXTS, str, "a text"), (_COUNTS, int, "a count")):
        for name in names:
            first, _, second = name.partition(".")
            found = manifest.get(first)
            if second:
                found = (found or {}).get(second)
            if found is not None and type(found) is not kind:
                return f"{name} must be {words}; got {found!r:.60}"
    return None


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return parse_object(path.read_bytes())
    except OSError as error:
        msg = f"cannot be read ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path)) from error
    except JsonProblem as error:
        msg = f"is damaged: {error}"
        raise EvalkitError(msg, where=str(path), do="run again into a new folder") from error
