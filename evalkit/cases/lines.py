"""Physical lines of a file: split on LF and nothing else, numbered, in blocks that can be worked on apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evalkit.contract import EvalkitError

__all__ = ["Block", "Line", "check_cases_file", "lines_of", "read_blocks", "read_lines", "starts_with_bom"]

_BOM = b"\xef\xbb\xbf"
_SIZE = 1 << 17
"""What a block comes to in memory, parsed and judged, then fits the caches of a processor; larger ones are slower."""


_TABLES = (".csv", ".parquet", ".tsv", ".xls", ".xlsx")


def check_cases_file(path: Path, do: str = "give the path of a .jsonl file") -> None:
    """Refuse what cannot be a file of cases: no file at all (`do` says what to give), or a table by its name."""
    kind = path.suffix.lower()
    if kind in _TABLES:
        msg = f"is a {kind} file, and cases are JSON Lines: one object a line"
        do_first = "" if kind == ".csv" else "save it as .csv, then "
        raise EvalkitError(
            msg, where=str(path), do=f"{do_first}evalkit adapt csv {path.stem}.csv --out CASES.jsonl writes cases"
        )
    if not path.is_file():
        msg = "there is no such file of cases"
        raise EvalkitError(msg, where=str(path), do=do)


class Line(NamedTuple):
    """One physical line without its line ending."""

    number: int
    """Counted from 1."""
    raw: bytes
    is_cut: bool
    """True for a last line that does not end in a newline."""


class Block(NamedTuple):
    """Whole lines of a file, 128 kB of them or one that is longer."""

    first: int
    """Number of its first line."""
    raw: bytes


def read_blocks(path: Path) -> Iterator[Block]:
    """Read a file in blocks that end at a line's end (but for the last, perhaps); a byte order mark is dropped.

    Raises
    ------
    EvalkitError
        Where the file cannot be read.
    """
    try:
        with path.open("rb") as stream:
            first, rest = 1, stream.read(len(_BOM)).removeprefix(_BOM)
            while read := stream.read(_SIZE):
                whole, newline, rest = (rest + read).rpartition(b"\n")
                if newline:
                    yield Block(first, whole + newline)
                    first += whole.count(b"\n") + 1
            if rest:
                yield Block(first, rest)
    except OSError as error:
        msg = f"cannot be read ({error.strerror or error})"
        raise EvalkitError(msg, where=str(path), do="give the path of a .jsonl file or of a run folder") from error


def lines_of(block: Block) -> list[Line]:
    """Split a block into its lines, dropping one CR before each LF (U+2028 and U+0085 belong to texts)."""
    *parts, rest = block.raw.split(b"\n")
    lines = [Line(i, raw[:-1] if raw[-1:] == b"\r" else raw, False) for i, raw in enumerate(parts, block.first)]
    if rest:
        lines.append(Line(block.first + len(parts), rest.removesuffix(b"\r"), True))
    return lines


def read_lines(path: Path) -> Iterator[Line]:
    """Read a file line by line."""
    for block in read_blocks(path):
        yield from lines_of(block)


def starts_with_bom(path: Path) -> bool:
    """Tell whether a byte order mark was dropped from the start of the file."""
    with path.open("rb") as stream:
        return stream.read(len(_BOM)) == _BOM
