from __future__ import annotations

import json
import math
import time
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from evalkit.cases.strict_json import MAX_DEPTH, JsonProblem, parse_object


def kind_of(raw: bytes) -> str | None:
    """What is wrong with a line, or None."""
    try:
        parse_object(raw)
    except JsonProblem as problem:
        return problem.kind
    return None


# --- a slow parser to compare with: the standard library, asked every question in the plainest way --------------------


class RefusedError(Exception):
    pass


def slow_parse(raw: bytes) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in items}) != len(items):
            raise RefusedError
        return dict(items)

    def integer(text: str) -> int:
        if not -(2**63) <= int(text) < 2**64:
            raise RefusedError
        return int(text)

    def number(text: str) -> float:
        if math.isinf(float(text)):
            raise RefusedError
        return float(text)

    def constant(_: str) -> Any:
        raise RefusedError

    try:
        found = json.loads(
            raw.decode(), object_pairs_hook=pairs, parse_int=integer, parse_float=number, parse_constant=constant
        )
        json.dumps(found, ensure_ascii=False).encode()  # refuses a lone surrogate
    except ValueError as error:
        raise RefusedError from error
    if not isinstance(found, dict):
        raise RefusedError
    return found


def agree(raw: bytes) -> None:
    try:
        expected = slow_parse(raw)
    except RefusedError:
        with pytest.raises(JsonProblem):
            parse_object(raw)
    else:
        assert parse_object(raw) == expected


# --- documents written as people, tools and attackers write them ------------------------------------------------------

SPACES = st.sampled_from(["", "", " ", "  ", "\t", " \r "])
LOOK_ALIKES = [
    '"a": 1',
    '{"a":1,"a":2}',
    ":",
    "::",
    "a:",
    "\\",
    '"',
    "\\u003a",
    "a",
    "b",
    "{",
    "}",
    "\u2028",
    "é",
    "😀",
    "\x7f",
]


@st.composite
def written_text(draw: st.DrawFn) -> str:
    """A JSON text literal in one of the many ways it may be spelt."""
    plain = draw(st.one_of(st.sampled_from(LOOK_ALIKES), st.text(max_size=6)))
    style = draw(st.sampled_from(["plain", "ascii", "all", "caps"]))
    if style == "plain":
        return json.dumps(plain, ensure_ascii=False)
    if style == "ascii":
        return json.dumps(plain)
    units = plain.encode("utf-16-be", "surrogatepass")
    escapes = "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))
    return '"' + (escapes.upper().replace("\\U", "\\u") if style == "caps" else escapes) + '"'


NUMBERS = st.one_of(
    st.integers().map(str),
    st.floats().map(json.dumps),  # NaN and Infinity among them
    st.sampled_from(
        ["-0", "0.0", "1e5", "1E+5", "1e400", "-1e400", "01", "1.", ".5", "9223372036854775807", "-9223372036854775808",
         "-9223372036854775809", "18446744073709551615", "18446744073709551616", "0." + "1" * 40, "1" * 30, "1" * 5000]
    ),
)  # fmt: skip


def written_object(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    keys = st.one_of(
        st.sampled_from(['"a"', '"b"', '"\\u0061"', '"a:"', '"a\\u003a"', '"\\u0022a"', '""']), written_text()
    )

    @st.composite
    def build(draw: st.DrawFn) -> str:
        members = []
        for _ in range(draw(st.integers(0, 4))):
            key, value = draw(keys), draw(values)
            members.append(f"{draw(SPACES)}{key}{draw(SPACES)}:{draw(SPACES)}{value}{draw(SPACES)}")
        return "{" + ",".join(members) + "}"

    return build()


DOCUMENTS = st.recursive(
    st.one_of(written_text(), NUMBERS, st.sampled_from(["true", "false", "null", "nul", "NaN", "-Infinity"])),
    lambda inner: st.one_of(
        written_object(inner), st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
    ),
    max_leaves=12,
)


@settings(max_examples=600)
@given(written_object(DOCUMENTS))
@example('{"a":1,"\\u0061":2}')
@example('{"a":{"b":1,"b":2},"c\\u003a":0}')
@example('{"a" : 1, "b": "\\u003a", "a": 2}')
@example('{"a:":1,"a\\u003A":2}')
@example('{"a":"x\\",\\"a\\":1"}')
@example('{"a":[{"a":1},{"a":1}]}')
@example('{"a":"\\ud800"}')
@example('{"\\ud83d\\ude00":1,"😀":2}')
def test_the_fast_parser_agrees_with_a_slow_one(text: str):
    agree(text.encode("utf-8", "surrogatepass"))


@settings(max_examples=300)
@given(st.binary(max_size=40))
def test_any_bytes_are_an_object_or_a_problem(raw: bytes):
    agree(raw)
    agree(b'{"a":"' + raw + b'"}')


@settings(max_examples=200)
@given(st.data())
def test_c04_a_key_repeated_anywhere_in_a_good_document_is_found(data: st.DataObject):
    keys = st.text(max_size=5)
    values = st.recursive(
        st.one_of(st.integers(-(2**63), 2**64 - 1), st.text(max_size=8), st.none()),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=3)),
        max_leaves=8,
    )
    good = data.draw(st.dictionaries(keys, values, min_size=1, max_size=4))
    raw = json.dumps(good, ensure_ascii=data.draw(st.booleans())).encode("utf-8", "surrogatepass")
    assume(kind_of(raw) is None)
    assert parse_object(raw) == good
    repeated = json.dumps(data.draw(st.sampled_from(sorted(good))))
    twice = raw[:-1] + b", " + repeated.encode() + b": 0}"
    assert kind_of(twice) == "duplicate_key"
    assert kind_of(b'{"deeper": [[' + twice + b"]]}") == "duplicate_key"


# --- each refusal, with its words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "kind", "reason"),
    [
        (
            b'{"case_id":"a","label":"fail","label":"pass"}',
            "duplicate_key",
            "the key 'label' occurs twice in one object",
        ),
        (b'{"a":{"b":[{"c":1,"c":1}]}}', "duplicate_key", "the key 'c' occurs twice in one object"),
        (b'{"a":NaN}', "not_finite", "NaN is not a JSON number: write null and say in another field why"),
        (b'{"a":-Infinity}', "not_finite", "-Infinity is not a JSON number"),
        (b'{"a":1e999}', "not_finite", "the number 1e999 is too large to be finite"),
        (
            b'{"a":' + b"9" * 5000 + b"}",
            "absurd_digits",
            "an integer of 5000 digits does not fit 64 bits: write it as text",
        ),
        (b'{"a":18446744073709551616}', "absurd_digits", "an integer of 20 digits does not fit 64 bits"),
        (b'{"a":-9223372036854775809}', "absurd_digits", "an integer of 19 digits does not fit 64 bits"),
        (b'{"a":"\xff"}', "bad_utf8", "not valid UTF-8 (byte 0xff at position 7)"),
        (b'{"a":"\xed\xa0\x80"}', "bad_utf8", "not valid UTF-8 (byte 0xed at position 7)"),
        (b'{"a":"\\udc00"}', "bad_utf8", "a lone surrogate (half of a character pair) stands in a text"),
        (b'{"\\ud800":1}', "bad_utf8", "a lone surrogate"),
        (b'{"a":1,}', "bad_json", "not valid JSON: "),
        (b"{'a':1}", "bad_json", "not valid JSON: "),
        (b'{"a":1} {"a":1}', "bad_json", "not valid JSON: extra data at column 9"),
        (b'{"a":01}', "bad_json", "not valid JSON: "),
        (b'{"a":"\t"}', "bad_json", "not valid JSON: invalid control character at column 7"),
        (b'\xef\xbb\xbf{"a":1}', "bad_json", "not valid JSON: "),
        (b"[1,2]", "not_object", "a JSON object is expected on each line; got a list"),
        (b"5", "not_object", "a JSON object is expected on each line; got a number"),
        (b'"text"', "not_object", "a JSON object is expected on each line; got a text"),
        (b"true", "not_object", "a JSON object is expected on each line; got true or false"),
        (b"null", "not_object", "a JSON object is expected on each line; got null"),
        (b"", "bad_json", "not valid JSON: "),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_c05_each_refusal_says_what_it_met(raw: bytes, kind: str, reason: str):
    with pytest.raises(JsonProblem) as caught:
        parse_object(raw)
    assert caught.value.kind == kind
    assert caught.value.reason.startswith(reason)


@pytest.mark.parametrize("text", ["18446744073709551615", "-9223372036854775808", "9007199254740993"])
def test_integers_that_fit_64_bits_keep_every_digit(text: str):
    # 9007199254740993 = 2**53 + 1 is the first integer that a double cannot hold.
    assert parse_object(b'{"a":%s}' % text.encode()) == {"a": int(text)}


@pytest.mark.parametrize("brackets", [(b'{"a":', b"}"), (b'{"a":[', b"]}")], ids=["objects", "lists"])
def test_depth_is_allowed_up_to_the_limit_and_named_beyond_it(brackets: tuple[bytes, bytes]):
    opening, closing = brackets
    levels = opening.count(b"{") + opening.count(b"[")
    most = MAX_DEPTH // levels
    assert parse_object(opening * most + b"1" + closing * most)
    for times in (most + 1, most + 3, 600, 1030, 200_000):
        with pytest.raises(JsonProblem, match="nested deeper than 250 levels") as caught:
            parse_object(opening * times + b"1" + closing * times)
        assert caught.value.kind == "too_deep"


def test_brackets_inside_texts_are_no_depth():
    text = "[{" * 400
    # The repeated \u003a sends the line to the slow parser, where depth is counted.
    assert parse_object(json.dumps({"a": text, "b": "x"}).replace('"x"', '"\\u003a"').encode()) == {"a": text, "b": ":"}


def test_a_line_cut_inside_a_long_text_is_refused_at_once():
    # 200,000 escaped quotes after an opening quote that is never closed: scanning from each of them anew takes minutes.
    raw = b'{"case_id": "a", "text": "' + b'\\"' * 200_000
    began = time.perf_counter()
    assert kind_of(raw) == "bad_json"
    assert time.perf_counter() - began < 2.0


def test_the_reason_stays_short_whatever_the_key():
    with pytest.raises(JsonProblem) as caught:
        parse_object(b'{"%s":1,"%s":2}' % (b"k" * 10_000, b"k" * 10_000))
    assert len(caught.value.reason) < 200
