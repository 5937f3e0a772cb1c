"""Spreadsheets as they are: encodings, delimiters, quotes, widths; nothing guessed, nothing run."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.cases.tables import read_table, table_bytes, table_format, unguarded
from evalkit.contract import EvalkitError


def write(tmp_path: Path, content: str, encoding: str = "utf-8") -> Path:
    path = tmp_path / "table.csv"
    path.write_bytes(content.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("content", "encoding", "words"),
    [
        ("a,b\r\n1,2\r\n", "utf-8", "utf-8, separated by comma"),
        ("a;b\n1;2\n", "utf-8-sig", "utf-8-sig, separated by semicolon"),
        ("a\tb\n1\t2\n", "utf-16", "utf-16, separated by tab"),
        ("sep=|\na|b\n1|2\n", "utf-8", "utf-8, separated by bar"),
        ("a;b,c;d\n1;2;3\n", "utf-8", "utf-8, separated by semicolon"),  # three columns beat two
    ],
)
def test_a_file_that_says_how_it_is_written_is_read_so(tmp_path: Path, content: str, encoding: str, words: str) -> None:
    path = write(tmp_path, content, encoding)
    form = table_format(path)
    assert form.in_words() == words
    (row,) = read_table(path, form)
    assert row.cells["a"] == "1"


def test_one_column_is_a_table_too(tmp_path: Path) -> None:
    path = write(tmp_path, "only\nx\n")
    assert [row.cells for row in read_table(path, table_format(path))] == [{"only": "x"}]


def test_latin_1_is_named_by_line_and_read_where_it_is_declared(tmp_path: Path) -> None:
    path = write(tmp_path, "a,b\n1,2\n3,Prüfer\n", "latin-1")
    with pytest.raises(EvalkitError, match=r"line 3 is not utf-8 \(byte 0xfc\); say what it is: encoding"):
        table_format(path)
    rows = list(read_table(path, table_format(path, encoding="latin-1")))
    assert rows[1].cells["b"] == "Prüfer"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "is empty: the first line must name the columns"),
        ("a,b,a\n", "names a column twice: 'a'"),
        ("a,b;c\n1,2\n", "its header could be cut at comma or semicolon"),
    ],
)
def test_a_header_that_decides_nothing_is_refused(tmp_path: Path, content: str, told: str) -> None:
    with pytest.raises(EvalkitError, match=told):
        table_format(write(tmp_path, content))
    if "cut at" in told:
        assert table_format(write(tmp_path, content), delimiter=";").columns == ("a,b", "c")


def test_line_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b\r\n"one\r\ntwo",1\r\n\r\n,\r\nx,2,3\r\n')
    rows = list(read_table(path, table_format(path)))
    assert [(row.line, row.problem) for row in rows] == [
        (2, None),
        (6, "it has 3 cells; the header names 2 columns"),
    ]
    assert rows[0].cells["a"] == "one\r\ntwo"


def test_quotes_that_do_not_close_are_named_with_the_line_they_start_on(tmp_path: Path) -> None:
    path = write(tmp_path, 'a,b\n1,2\n3,"open\n4,5\n')
    with pytest.raises(EvalkitError, match="the record that starts on line 3 cannot be read"):
        list(read_table(path, table_format(path)))


def test_a_cell_may_hold_ten_megabytes(tmp_path: Path) -> None:
    path = write(tmp_path, f"a,b\n1,{'x' * 10_000_000}\n")
    (row,) = read_table(path, table_format(path))
    assert len(row.cells["b"]) == 10_000_000


def test_what_is_written_opens_as_it_is_and_runs_nowhere(tmp_path: Path) -> None:
    cells = {"a": "=1+1", "b": "Prüfer\nzwei"}
    path = tmp_path / "out.csv"
    path.write_bytes(table_bytes(("a", "b"), [cells]))
    (row,) = read_table(path, table_format(path))
    assert row.cells["a"] == "'=1+1"
    assert {name: unguarded(cell) for name, cell in row.cells.items()} == cells


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match="cannot be read"):
        table_format(tmp_path / "missing.csv")
    with pytest.raises(EvalkitError, match="there is no encoding 'latin-99'"):
        table_format(write(tmp_path, "a,b\n"), encoding="latin-99")


# --- found by make fuzz -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (b"\xef\xbb\xbf\x80a,b\n1,2\n", r"line 1 is not utf-8-sig \(byte 0x80\)"),
        (b"\xef\xbb\xbfa,b\n1,\xfc\n", r"line 2 is not utf-8-sig \(byte 0xfc\)"),
        (b"\xff\xfea\x00,\x00b\x00\n\x001\x00\xdc", r"is not utf-16"),
        (b'"a,b\n1,2\n', r"the header cannot be read: unexpected end of data"),
        (b'"a"x,b\n1,2\n', r"the header cannot be read: ',' expected after"),
    ],
)
def test_what_cannot_be_decoded_is_said_whatever_mark_the_file_begins_with(
    tmp_path: Path, raw: bytes, told: str
) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(raw)
    with pytest.raises(EvalkitError, match=told):
        list(read_table(path, table_format(path)))


def test_a_hint_without_a_delimiter_is_no_delimiter(tmp_path: Path) -> None:
    assert table_format(write(tmp_path, "sep=\na;b\n1;2\n")).delimiter == ";"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"delimiter": ";;"}, "a delimiter is one character between two cells; got ';;'"),
        ({"delimiter": "\n"}, "a delimiter is one character between two cells"),
        ({"delimiter": '"'}, "a delimiter is one character between two cells"),
        ({"encoding": "no-such"}, "there is no encoding 'no-such'"),
        ({"encoding": "rot13"}, "there is no encoding 'rot13'"),
        ({"encoding": "a\0b"}, "there is no encoding"),
        ({"encoding": "utf-16"}, "is not utf-16"),
    ],
)
def test_what_a_map_declares_is_refused_in_words_where_it_cannot_be(
    tmp_path: Path, options: dict[str, str], told: str
) -> None:
    path = write(tmp_path, "a;b\n1;2\n")
    with pytest.raises(EvalkitError, match=told):
        list(read_table(path, table_format(path, **options)))  # type: ignore[arg-type]
