from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.cases.lines import Block, lines_of
from evalkit.cases.read import BOM_FINDING, BadLine, Case, CaseFile, LineReader, read_cases


@pytest.fixture
def cases(tmp_path: Path) -> Callable[..., list[Case | BadLine]]:
    def read(
        *lines: str | bytes | dict[str, Any], end: bytes = b"\n", **inputs: tuple[str, ...]
    ) -> list[Case | BadLine]:
        raw = [
            json.dumps(line).encode() if isinstance(line, dict) else line.encode() if isinstance(line, str) else line
            for line in lines
        ]
        path = tmp_path / "cases.jsonl"
        path.write_bytes(b"\n".join(raw) + end)
        return list(CaseFile(path, **inputs))

    return read


# --- the law: every line is blank, a case, or a bad line with its reason ----------------------------------------------

LINES = st.one_of(
    st.binary(max_size=12),
    st.sampled_from(
        [b"", b" ", b"\t", b'{"case_id":"a"}', b'{"case_id":"b"}', b'{"case_id":"A"}', b'{"case_id":1}', b"[]", b"{",
         b'{"case_id":"a","slice":""}', b'{"case_id":"c","case_id":"c"}', b"\xef\xbb\xbf", b'{"caseid":"x"}']
    ),
    st.dictionaries(
        st.sampled_from(["case_id", "slice", "blocking", "evidence", "x"]), st.sampled_from([None, 1, "a", True, {}])
    ).map(lambda fields: json.dumps(fields).encode()),
)  # fmt: skip


@settings(max_examples=400)
@given(st.lists(LINES, max_size=8), st.sampled_from([b"\n", b"\r\n", b""]), st.booleans())
def test_every_line_of_any_bytes_is_accounted_for(tmp_path_factory, lines, ending, has_bom):
    path = tmp_path_factory.mktemp("law") / "cases.jsonl"
    content = (ending or b"\n").join(lines) + ending
    path.write_bytes(b"\xef\xbb\xbf" * has_bom + content)
    file = CaseFile(path, required=("x",))
    items, counts = list(file), (file.lines, file.blank, list(file.findings))

    *whole, last = content.removeprefix(b"" if has_bom else b"\xef\xbb\xbf").split(b"\n")
    physical = [*whole, last] if last else whole
    filled = [number for number, raw in enumerate(physical, 1) if raw.strip()]
    assert file.lines == len(physical) == file.blank + len(items)
    assert [item.line for item in items] == filled
    for item in items:
        assert isinstance(item, Case) or (item.reason and item.error_kind)
    good = [item.case_id for item in items if isinstance(item, Case)]
    assert len(good) == len(set(good))

    assert list(file) == items
    assert (file.lines, file.blank, file.findings) == counts


@settings(max_examples=100)
@given(st.binary(max_size=200))
def test_any_file_at_all_is_read_to_its_end(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("bytes") / "cases.jsonl"
    path.write_bytes(content)
    file = CaseFile(path)
    items = list(file)
    assert file.lines == file.blank + len(items)
    assert list(read_cases(path)) == items


# --- field cases ------------------------------------------------------------------------------------------------------


def test_c01_a_byte_order_mark_is_dropped_and_said(tmp_path: Path):
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"case_id":"a"}\n{"case_id":"b"}\n')
    file = CaseFile(path)
    assert [item.case_id for item in file] == ["a", "b"]
    assert file.findings == [BOM_FINDING]


def test_c02_unicode_line_separators_stay_inside_their_text(cases):
    text = "x\u2028y\u0085z\u2029\x0b\x0c\x1c"
    (case,) = cases(json.dumps({"case_id": "a", "response": text}, ensure_ascii=False))
    assert isinstance(case, Case)
    assert case.fields["response"] == text


def test_c04_a_duplicate_key_makes_the_line_invalid_without_its_id(cases):
    (line,) = cases('{"case_id":"a","label":"fail","label":"pass"}')
    assert (line.case_id, line.error_kind, line.blocking) == (None, "duplicate_key", True)


def test_c05_bad_lines_are_entries_with_their_number(cases):
    good, comma, cut = cases({"case_id": "a"}, '{"case_id":"b",}', '{"case_id":"c","resp', end=b"")
    assert isinstance(good, Case)
    assert (comma.line, comma.error_kind) == (2, "bad_json")
    assert "cut off" not in comma.reason
    assert (cut.line, cut.error_kind) == (3, "bad_json")
    assert cut.reason.startswith("the last line is cut off: no newline at its end, and not valid JSON")


def test_c05_a_pretty_printed_file_is_invalid_line_by_line(cases):
    found = cases("{", '  "case_id": "a"', "}")
    assert [(line.line, line.error_kind) for line in found] == [(1, "bad_json"), (2, "bad_json"), (3, "bad_json")]


def test_c05_lists_and_numbers_are_no_cases(cases):
    assert [line.error_kind for line in cases("[1,2]", "5")] == ["not_object", "not_object"]


def test_c05_each_kind_of_hostile_line_leaves_the_others_alone(cases):
    found = cases(
        b'{"case_id":"\xff"}', '{"case_id":"\\ud800"}', '{"case_id":"a","n":' + "9" * 5000 + "}",
        '{"a":' * 5000 + "1" + "}" * 5000, {"case_id": "good"},
    )  # fmt: skip
    kinds = [item.error_kind if isinstance(item, BadLine) else item.case_id for item in found]
    assert kinds == ["bad_utf8", "bad_utf8", "absurd_digits", "too_deep", "good"]


@pytest.mark.parametrize("text", ["返金", "é", "😀"])
def test_c05_a_file_cut_inside_a_character_is_called_cut_off(cases, text: str):
    whole = f'{{"case_id":"a","answer":"{text}'.encode()
    (line,) = cases(whole[:-1], end=b"")
    assert line.error_kind == "bad_utf8"
    assert line.reason.startswith("the last line is cut off: no newline at its end, and not valid UTF-8")


def test_c05_a_last_line_that_is_whole_needs_no_newline(cases):
    (case,) = cases({"case_id": "a"}, end=b"")
    assert isinstance(case, Case)


def test_c05_a_whole_last_line_with_half_a_character_pair_is_not_called_cut_off(cases):
    (line,) = cases('{"case_id":"a","answer":"\\ud800"}', end=b"")
    assert "cut off" not in line.reason


def test_b03_every_line_of_a_duplicate_id_is_invalid_and_names_the_others(cases):
    found = cases({"case_id": "c1", "slice": "s"}, {"case_id": "c2"}, {"case_id": "c1", "blocking": False})
    first, other, second = found
    assert isinstance(other, Case)
    assert first.reason == "case_id 'c1' occurs more than once: also on line 3"
    assert second.reason == "case_id 'c1' occurs more than once: also on line 1"
    assert (first.error_kind, first.slice, first.blocking) == ("duplicate_case_id", "s", True)
    assert second.blocking is False


def test_b03_a_duplicate_counts_where_one_of_the_lines_is_bad_for_another_reason(cases):
    good, bad = cases({"case_id": "c1"}, {"case_id": "c1", "slice": 3})
    assert (good.error_kind, bad.error_kind) == ("duplicate_case_id", "bad_case")


def test_b03_at_most_five_other_lines_are_named(cases):
    found = cases(*[{"case_id": "same"}] * 9)
    assert found[0].reason.endswith("also on line 2, 3, 4, 5, 6 (and 3 more)")


def test_b03_blank_ids_are_blank_and_not_duplicates(cases, tmp_path: Path):
    found = cases({"case_id": " "}, {"case_id": " "}, {"case_id": ""})
    assert [line.error_kind for line in found] == ["bad_case"] * 3
    file = CaseFile(tmp_path / "cases.jsonl")
    list(file)
    assert file.findings == []


def test_b06_a_required_key_one_edit_away_is_named_with_its_misspelling(cases):
    (line,) = cases(
        {"case_id": "a", "retrieved_context": ["x"]}, required=("retrieved_contexts",), optional=("reference",)
    )
    assert (line.case_id, line.error_kind) == ("a", "misspelt_key")
    assert "retrieved_contexts is absent" in line.reason
    assert "'retrieved_context'" in line.reason


def test_unknown_keys_are_kept_as_they_are(cases):
    (case,) = cases({"case_id": "a", "note": {"deep": [1, None, "ü"]}, "n": 2**63})
    assert case.fields == {"case_id": "a", "note": {"deep": [1, None, "ü"]}, "n": 2**63}
    assert (case.slice, case.blocking, case.line) == ("default", True, 1)


def test_a_bad_line_is_known_by_the_hash_of_its_bytes(cases):
    import hashlib

    raw = b'{"case_id":"a",'
    (line,) = cases(raw)
    assert line.sha256 == "sha256:" + hashlib.sha256(raw).hexdigest()


LINES = st.sampled_from(
    [
        b'{"case_id": "a"}', b'{"case_id": "b", "slice": 3}', b'{"case_id": "c", "case_id": "d"}', b"", b"  ", b"[1]",
        b'{"case_id": "e", "t": "\\u003a"}', b'{"case_id": "f", "n": 12345678901234567890123}', b"{", b'"\xff"',
        b'{"case_id": "g", "t": "x:y"}', b'{"case_id": "h", "n": NaN}', b'{"case_id": "i"}\r', b'{"slice": 1}\r\r',
    ]
)  # fmt: skip


@given(st.lists(LINES, min_size=1, max_size=8), st.sampled_from([b"", b"\n"]))
def test_a_block_is_read_as_its_lines_are(lines: list[bytes], end: bytes) -> None:
    block = Block(7, b"\n".join(lines) + end)
    assert list(LineReader().read_block(block)) == [LineReader().read(line) for line in lines_of(block)]


def test_a_key_twice_in_one_line_is_not_outweighed_by_colons_of_another() -> None:
    raw = b'{"case_id": "a", "case_id": "b"}\n{"case_id": "c", "t": "one : more"}\n'
    assert [type(item).__name__ for item in LineReader().read_block(Block(1, raw))] == ["BadLine", "Case"]


@pytest.mark.parametrize(
    "raw", [b'{"slice": 1}\r\n{"case_id": "a"}\r\n', b'{"slice": 1}\r', b'{"case_id": "a"}\n{"slice": 1}\r']
)
def test_a_carriage_return_is_no_part_of_a_bad_line_in_a_block_either(raw: bytes) -> None:
    block = Block(1, raw)  # every line is JSON, so that they are parsed together
    assert list(LineReader().read_block(block)) == [LineReader().read(line) for line in lines_of(block)]
