"""Lists that go to disk when they grow long: a file of which every row fails must not fill the memory."""

from __future__ import annotations

import tempfile
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, Any, Generic, TypeVar, overload

import orjson

from evalkit.contract import EvalkitError
from evalkit.scoring.records import Record

__all__ = ["MOST_KEPT", "SpilledList", "SpilledTexts", "json_chunks", "spilled_records"]

T = TypeVar("T")

MOST_KEPT = 5_000
"""Items that stay in memory; screens and pages show fewer."""

_CHUNK = 1 << 20


class SpilledList(Sequence[T], Generic[T]):
    """A list that is only ever added to; what comes after the first 5,000 items lies on disk, one JSON text a line.

    Parameters
    ----------
    write : callable
        Turns an item into one line of JSON (with or without its newline).
    read : callable
        Turns the line back into an item.

    Examples
    --------
    >>> numbers = SpilledList(orjson.dumps, orjson.loads)
    >>> numbers.extend(range(20_000))
    >>> len(numbers), numbers[:3], numbers[12_345], sum(numbers)
    (20000, [0, 1, 2], 12345, 199990000)
    """

    def __init__(self, write: Callable[[T], bytes], read: Callable[[bytes], T]) -> None:
        self._write = write
        self._read = read
        self._head: list[T] = []
        self._rest: _Lines | None = None

    def append(self, item: T) -> None:
        """Add one item."""
        if len(self._head) < MOST_KEPT:
            self._head.append(item)
            return
        if self._rest is None:
            self._rest = _Lines()
        self._rest.append(self._write(item))

    def extend(self, items: Iterable[T]) -> None:
        """Add items."""
        for item in items:
            self.append(item)

    def __len__(self) -> int:
        return len(self._head) + (len(self._rest) if self._rest else 0)

    def __iter__(self) -> Iterator[T]:
        yield from self._head
        if self._rest:
            yield from map(self._read, self._rest.lines())

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> list[T]: ...
    def __getitem__(self, at: int | slice) -> T | list[T]:
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            return list(islice(self, start, stop, step))
        return next(islice(self, range(len(self))[at], None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | tuple | SpilledList):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment] # it grows

    def as_json(self) -> SpilledList[Any]:
        """Return the same items as the plain JSON values that they are written as."""
        view = SpilledList[Any](orjson.dumps, orjson.loads)
        view._head = [orjson.loads(self._write(item)) for item in self._head]
        view._rest = self._rest
        return view

    def json_lines(self) -> Iterator[bytes]:
        """Yield each item as JSON, without newlines."""
        yield from (self._write(item).rstrip(b"\n") for item in self._head)
        if self._rest:
            yield from self._rest.lines()


def spilled_records() -> SpilledList[Record]:
    """Return a list of records; what is spilled comes back as it would from a run folder."""
    # As arrays: without the names of its fields a record is read in half the time.
    return SpilledList(lambda record: orjson.dumps(tuple(record)), lambda line: Record._make(orjson.loads(line)))


class SpilledTexts(Mapping[int, str]):
    """Texts by a number that only grows (a line of the input); the first 5,000 in memory, the others on disk."""

    def __init__(self) -> None:
        self._head: dict[int, str] = {}
        self._numbers = array("q")
        self._starts = array("q")
        self._rest: _Lines | None = None

    def update(self, texts: Mapping[int, str]) -> None:
        """Add texts, in the order of their numbers."""
        for number, text in texts.items():
            if len(self._head) < MOST_KEPT:
                self._head[number] = text
                continue
            if self._rest is None:
                self._rest = _Lines()
            self._numbers.append(number)
            self._starts.append(self._rest.append(orjson.dumps(text)))

    def __getitem__(self, number: int) -> str:
        if number in self._head:
            return self._head[number]
        at = bisect_left(self._numbers, number)
        if self._rest is None or at == len(self._numbers) or self._numbers[at] != number:
            raise KeyError(number)
        return str(orjson.loads(self._rest.line_at(self._starts[at])))

    def __len__(self) -> int:
        return len(self._head) + len(self._numbers)

    def __iter__(self) -> Iterator[int]:
        yield from self._head
        yield from self._numbers


class _Lines:
    """Lines in a file that has no name and is gone with the process."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the list
        self._count = 0
        self._size = 0
        self._is_at_end = True

    def append(self, line: bytes) -> int:
        """Add a line and return where it begins."""
        raw, start = line.rstrip(b"\n") + b"\n", self._size
        try:
            if not self._is_at_end:  # sought only after reading: it flushes what is to be written
                self._file.seek(start)
                self._is_at_end = True
            self._file.write(raw)
        except OSError as error:
            msg = f"rows that do not pass cannot be kept aside in the temporary folder ({error.strerror or error})"
            raise EvalkitError(msg, do="free space there, or name another folder with TMPDIR") from error
        self._count += 1
        self._size += len(raw)
        return start

    def __len__(self) -> int:
        return self._count

    def lines(self) -> Iterator[bytes]:
        # Each chunk is sought anew: several may be reading, and more may be written meanwhile.
        at, rest = 0, b""
        while at < self._size:
            chunk = self._chunk(at)
            at += len(chunk)
            *whole, rest = (rest + chunk).split(b"\n")
            yield from whole

    def line_at(self, start: int) -> bytes:
        self._is_at_end = False
        self._file.seek(start)
        return self._file.readline().rstrip(b"\n")

    def _chunk(self, at: int) -> bytes:
        self._is_at_end = False
        self._file.seek(at)
        return self._file.read(_CHUNK)


# --- JSON -----------------------------------------------------------------------------------------------------------


def json_chunks(facts: Mapping[str, Any], option: int = 0) -> Iterator[bytes]:
    r"""Write JSON piece by piece, so that a spilled list in it is never whole in memory.

    >>> numbers = SpilledList(orjson.dumps, orjson.loads)
    >>> numbers.extend(range(3))
    >>> b"".join(json_chunks({"a": numbers, "b": [1]}))
    b'{"a":[0,1,2],"b":[1]}'
    """
    found: list[SpilledList[Any]] = []

    def placed(value: object) -> Any:
        if not isinstance(value, SpilledList):
            msg = f"Type is not JSON serializable: {type(value).__name__}"
            raise TypeError(msg)
        if len(value) <= MOST_KEPT:
            return list(value)
        found.append(value)
        return orjson.Fragment(_HOLE)

    raw = orjson.dumps(facts, default=placed, option=option)
    pieces = raw.split(_HOLE) if found else [raw]
    for piece, rows in zip(pieces, [*found, None], strict=True):
        yield piece
        if rows is not None:
            yield from _array(rows)


_HOLE = b'"\x00a list that lies on disk\x00"'
"""No JSON text that orjson writes has a raw control character in it."""


def _array(rows: SpilledList[Any]) -> Iterator[bytes]:
    separator = b"["
    for line in rows.json_lines():
        yield separator + line
        separator = b",\n"
    yield b"]"
