from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.cases import lines as lines_module
from evalkit.cases.lines import Line, check_cases_file, lines_of, read_blocks, read_lines, starts_with_bom
from evalkit.contract import EvalkitError

BOM = b"\xef\xbb\xbf"


def slow_lines(content: bytes) -> list[Line]:
    """The same by the plainest means: the whole file at once."""
    *whole, last = content.removeprefix(BOM).split(b"\n")
    numbered = [Line(i, raw.removesuffix(b"\r"), False) for i, raw in enumerate(whole, 1)]
    return [*numbered, Line(len(whole) + 1, last.removesuffix(b"\r"), True)] if last else numbered


def written(folder: Path, content: bytes) -> Path:
    path = folder / "cases.jsonl"
    path.write_bytes(content)
    return path


@settings(max_examples=300)
@given(
    st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b"a", b"bc", b"{}", b" ", BOM, b"\xe2\x80\xa8", b"\xc2\x85"])),
    st.integers(1, 9),
)
def test_lines_are_those_of_the_whole_file_whatever_the_size_of_a_block(tmp_path_factory, parts, size):
    content = b"".join(parts)
    path = written(tmp_path_factory.mktemp("lines"), content)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines_module, "_SIZE", size)
        assert list(read_lines(path)) == slow_lines(content)
        blocks = list(read_blocks(path))
    assert b"".join(block.raw for block in blocks) == content.removeprefix(BOM)
    assert all(block.raw.endswith(b"\n") for block in blocks[:-1])


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"\r", b"a", b"\r\n", b"\n\n", b"{}", b"\n\n\n", b"{}\n", BOM, BOM + b"\n", BOM + b"a", BOM + BOM,
     b"\xef\xbb", b"\xef\xbb\n", b"{}\r\n", b"a\nb\nc", b"\n{}\n"],
    ids=repr,
)  # fmt: skip
def test_files_of_a_few_bytes(tmp_path: Path, content: bytes):
    assert list(read_lines(written(tmp_path, content))) == slow_lines(content)


@pytest.mark.parametrize("shift", [-2, -1, 0, 1, 2])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
def test_a_line_may_end_anywhere_near_the_end_of_a_block(tmp_path: Path, ending: bytes, shift: int):
    # The first three bytes are read for the mark alone, so a block ends 3 + 2**20 bytes into the file.
    first = b"x" * (3 + 2**20 - len(ending) + shift)
    content = first + ending + b"second" + ending + b"third"
    assert list(read_lines(written(tmp_path, content))) == [
        Line(1, first, False), Line(2, b"second", False), Line(3, b"third", True),
    ]  # fmt: skip


def test_a_line_longer_than_two_blocks_is_one_line(tmp_path: Path):
    long = b"y" * (2**21 + 5)
    found = list(read_lines(written(tmp_path, b"a\n" + long + b"\nb\n")))
    assert [(line.number, len(line.raw), line.is_cut) for line in found] == [
        (1, 1, False),
        (2, len(long), False),
        (3, 1, False),
    ]


def test_only_one_carriage_return_is_dropped_and_only_at_the_end(tmp_path: Path):
    assert [line.raw for line in read_lines(written(tmp_path, b"a\rb\r\r\n"))] == [b"a\rb\r"]


def test_only_one_mark_is_dropped_and_only_at_the_start(tmp_path: Path):
    path = written(tmp_path, BOM + BOM + b"a\n" + BOM + b"b\n")
    assert [line.raw for line in read_lines(path)] == [BOM + b"a", BOM + b"b"]
    assert starts_with_bom(path)
    assert not starts_with_bom(written(tmp_path, b"\xef\xbb"))


def test_a_block_numbers_its_lines_from_where_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines_module, "_SIZE", 4)
    blocks = list(read_blocks(written(tmp_path, b"a\nb\n\nc\nd\ne")))
    assert len(blocks) > 1
    numbers = [line.number for block in blocks for line in lines_of(block)]
    assert numbers == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("kind", ["absent", "folder"])
def test_what_cannot_be_read_is_named_with_what_to_do(tmp_path: Path, kind: str):
    path = tmp_path / "nothing.jsonl" if kind == "absent" else tmp_path
    with pytest.raises(EvalkitError, match="cannot be read") as caught:
        list(read_lines(path))
    assert caught.value.where == str(path)
    assert "jsonl" in caught.value.do


def test_a_table_by_its_name_is_no_file_of_cases_and_the_adapter_for_it_is_named(tmp_path: Path) -> None:
    table = tmp_path / "rows.CSV"
    table.write_text("case_id\na\n")
    with pytest.raises(EvalkitError, match=r"rows\.CSV: is a \.csv file.*JSON Lines.*evalkit adapt csv"):
        check_cases_file(table)
    with pytest.raises(EvalkitError, match=r"there is no such file of cases; give the frozen set"):
        check_cases_file(tmp_path / "absent.jsonl", "give the frozen set")
    check_cases_file(written(tmp_path, b"{}\n"))
