"""CSV as spreadsheets really write it: byte order marks, ``;``, line breaks inside cells; cells stay texts."""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from evalkit.contract import EvalkitError, example_list

__all__ = ["Row", "TableFormat", "read_table", "table_bytes", "table_format", "unguarded"]

_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Row(NamedTuple):
    """One record of a table."""

    line: int
    """Physical line at which it starts, counted from 1."""
    cells: Mapping[str, str]
    """By column, exactly as written; nothing is trimmed, and no text becomes a number."""
    problem: str | None = None


class TableFormat(NamedTuple):
    """How a file is written, as far as its first bytes and its header tell."""

    encoding: str
    delimiter: str
    columns: tuple[str, ...]
    header_lines: int
    """Physical lines before the first record."""

    def in_words(self) -> str:
        """Return encoding and delimiter for a page."""
        return f"{self.encoding}, separated by {_DELIMITERS.get(self.delimiter, repr(self.delimiter))}"


def table_format(path: Path, *, encoding: str | None = None, delimiter: str | None = None) -> TableFormat:
    """Find out how a table is written, or refuse to guess.

    Parameters
    ----------
    path : Path
    encoding, delimiter : str, optional
        Needed only where the file does not say: without a byte order mark a file is read as UTF-8, and as nothing else.

    Raises
    ------
    EvalkitError
        Where it is not UTF-8, has no header, names a column twice, or could be cut into columns in two ways.
    """
    encoding = encoding or _encoding(path)
    # A cell may hold a whole passage; the module's own limit is 128 KB.
    csv.field_size_limit(sys.maxsize)
    with _opened(path, encoding) as stream, _telling(path, encoding, "the header"):
        first = stream.readline()
        skipped = 0
        if first.startswith("sep="):  # a spreadsheet's own hint, above the header
            delimiter, skipped = delimiter or first[4:5].strip("\r\n"), 1
            first = stream.readline()
        if not first.strip():
            msg = "is empty: the first line must name the columns"
            raise EvalkitError(msg, where=str(path), do="export it again with its header")
        delimiter = _usable(delimiter, path) if delimiter else _delimiter(first, path)
        stream.seek(0)
        for _ in range(skipped):
            stream.readline()
        reader = csv.reader(stream, delimiter=delimiter, strict=True)
        names = _header(next(reader), path)
        return TableFormat(encoding, delimiter, names, skipped + reader.line_num)


def read_table(path: Path, form: TableFormat) -> Iterator[Row]:
    """Read the records below the header; wholly blank ones are left out, one of another width has a problem.

    Raises
    ------
    EvalkitError
        Where quotes do not close, or a byte is not of the encoding, naming the line.
    """
    with _opened(path, form.encoding) as stream:
        for _ in range(form.header_lines):
            stream.readline()
        reader = csv.reader(stream, delimiter=form.delimiter, strict=True)
        while True:
            line = form.header_lines + reader.line_num + 1
            with _telling(path, form.encoding, f"the record that starts on line {line}"):
                cells = next(reader, None)
            if cells is None:
                return
            if any(cell.strip() for cell in cells):
                yield _row(line, cells, form.columns)


@contextlib.contextmanager
def _telling(path: Path, encoding: str, what: str) -> Iterator[None]:
    """Say in words what keeps a part of a table from being read."""
    try:
        yield
    except csv.Error as error:
        msg = f"{what} cannot be read: {error}"
        do = "close its quotes; a quote inside a cell is doubled"
        raise EvalkitError(msg, where=str(path), do=do) from None
    except UnicodeError:
        raise _not_of_encoding(path, encoding) from None


def _row(line: int, cells: list[str], columns: tuple[str, ...]) -> Row:
    problem = None
    if len(cells) != len(columns):
        problem = f"it has {len(cells)} cells; the header names {len(columns)} columns"
    return Row(line, dict(zip(columns, cells, strict=False)), problem)


def _opened(path: Path, encoding: str) -> IO[str]:
    try:
        return path.open(encoding=encoding, newline="")
    except OSError as error:
        raise _unreadable(path, error) from error
    except (LookupError, ValueError) as error:  # a name that no codec could have is a ValueError
        msg = f"there is no encoding {encoding!r}"
        raise EvalkitError(msg, where=str(path), do="for example utf-8, latin-1 or cp1252") from error


def _encoding(path: Path) -> str:
    with _opened_raw(path) as stream:
        start = stream.read(4)
    marked = next((name for mark, name in _BOMS if start.startswith(mark)), None)
    if marked:
        return marked
    decoder = codecs.getincrementaldecoder("utf-8")()
    with _opened_raw(path) as stream:
        try:
            while block := stream.read(1 << 20):
                decoder.decode(block)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            raise _not_of_encoding(path, "utf-8") from None
    return "utf-8"


def _opened_raw(path: Path) -> IO[bytes]:
    try:
        return path.open("rb")
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> EvalkitError:
    msg = f"cannot be read ({error.strerror or error})"
    return EvalkitError(msg, where=str(path), do="give the path of a .csv file")


def _not_of_encoding(path: Path, encoding: str) -> EvalkitError:
    with path.open("rb") as stream:
        for number, raw in enumerate(stream, start=1):
            try:
                raw.decode(encoding)
            except UnicodeDecodeError as error:
                msg = f"line {number} is not {encoding} (byte 0x{error.object[error.start]:02x})"
                break
            except UnicodeError:  # an encoding whose lines cannot be told apart by their bytes
                msg = f"is not {encoding}"
                break
        else:
            msg = f"is not {encoding}"
    do = 'say what it is: encoding = "latin-1" or "cp1252" in the map, or save it as CSV UTF-8'
    return EvalkitError(msg, where=str(path), do=do)


def _usable(delimiter: str, path: Path) -> str:
    if len(delimiter) != 1 or delimiter in '"\r\n\0':
        msg = f"a delimiter is one character between two cells; got {delimiter!r:.40}"
        raise EvalkitError(msg, where=str(path), do='for example delimiter = ";" in the map')
    return delimiter


def _delimiter(header: str, path: Path) -> str:
    widths = {mark: len(next(csv.reader([header], delimiter=mark), [])) for mark in _DELIMITERS}
    most = max(widths.values())
    if most < 2:
        return ","
    best = [mark for mark, width in widths.items() if width == most]
    if len(best) > 1:
        named = " or ".join(_DELIMITERS[mark] for mark in best)
        msg = f"its header could be cut at {named}: {header.strip()[:80]!r}"
        raise EvalkitError(msg, where=str(path), do='say which: delimiter = ";" in the map')
    return best[0]


def _header(cells: list[str], path: Path) -> tuple[str, ...]:
    names = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, start=1)]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"names a column twice: {example_list([repr(name) for name in twice])}"
        raise EvalkitError(msg, where=str(path), do="rename one of them")
    return tuple(names)


# --- writing --------------------------------------------------------------------------------------------------------

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def table_bytes(columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> bytes:
    """Return a table that spreadsheets open as it is: with a byte order mark, and no cell that they would run.

    A text that a spreadsheet would take for a formula gets an apostrophe in front (plain numbers do not); `unguarded`
    takes it away again, and gives every text back as it was.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\r\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({column: _guarded(row.get(column, "")) for column in columns})
    return codecs.BOM_UTF8 + out.getvalue().encode()


def _guarded(cell: str) -> str:
    # A text that looks guarded already is guarded once more, or its own apostrophe would be lost on the way back.
    is_formula = cell.lstrip("'").startswith(_FORMULA) and not _PLAIN_NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def unguarded(cell: str) -> str:
    """Return a cell without the apostrophe that `table_bytes` put in front of it.

    >>> unguarded("'=1+1"), unguarded("'tis")
    ('=1+1', "'tis")
    """
    return cell[1:] if cell[:1] == "'" and cell.lstrip("'").startswith(_FORMULA) else cell
