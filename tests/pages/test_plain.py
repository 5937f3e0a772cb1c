from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evalkit.pages.plain import plain, shown

# The joiners and the emoji selector may stay, but only behind a character that they change.
CONDITIONAL = "\u200c\u200d\ufe0f"


@pytest.mark.parametrize(
    ("hostile", "visible"),
    [
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b31m", "\\x9b31m"),  # the one-byte form of ESC [
        ("overwritten\rPASSED", "overwritten\\x0dPASSED"),
        ("\x1b]8;;http://x\x07link", "\\x1b]8;;http://x\\x07link"),
        ("pay\u202egnp.exe", "pay[U+202E]gnp.exe"),
        ("\u2066isolate\u2069", "[U+2066]isolate[U+2069]"),
        ("zero\u200bwidth", "zero[U+200B]width"),
        ("\ufeffbom", "[U+FEFF]bom"),
        ("soft\u00adhyphen", "soft[U+00AD]hyphen"),
        ("tag\U000e0041", "tag[U+E0041]"),
        ("filler\u3164", "filler[U+3164]"),
        ("selector\ufe00", "selector[U+FE00]"),
        ("join\u200der", "join[U+200D]er"),
        ("line\u2028separator", "line[U+2028]separator"),
        ("lone\ud800", "lone[U+D800]"),
        ("tab\there", "tab\\there"),
    ],
)
def test_hidden_characters_are_made_visible(hostile: str, visible: str) -> None:
    assert plain(hostile) == visible


def test_line_breaks_become_one_sign_a_space_or_stay() -> None:
    assert plain("a\nb\r\nc") == "a⏎b⏎c"
    assert plain("a\nb", newline=" ") == "a b"
    assert plain("a\nb\x1b", newline="\n") == "a\nb\\x1b"


@pytest.mark.parametrize(
    "text", ["Größe 5 °C", "退款政策", "\u0645\u06cc\u200c\u062e\u0648", "👩\u200d🔬", "❤\ufe0f", "a\u00a0b", "é", ""]
)
def test_ordinary_writing_is_left_alone(text: str) -> None:
    assert plain(text) == text


@given(st.text())
def test_nothing_that_steers_a_terminal_survives(text: str) -> None:
    for character in plain(text, newline=" "):
        assert character in CONDITIONAL or unicodedata.category(character)[0] != "C"
        assert unicodedata.category(character) not in {"Zl", "Zp"}


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(allow_nan=False, allow_infinity=False))
@example(0.8499999999999999, 0.85)
@example(0.85, 0.85)
@example(0.1 + 0.2, 0.3)
@example(5e-324, 0.0)
def test_a_shown_value_never_crosses_its_bound(value: float, bound: float) -> None:
    read = float(shown(value, bound))
    assert (read >= bound) == (value >= bound)
    assert (read <= bound) == (value <= bound)


@given(st.floats(0, 1))
def test_only_none_and_all_are_shown_as_0_and_1(value: float) -> None:
    assert (float(shown(value)) == 0) == (value == 0)
    assert (float(shown(value)) == 1) == (value == 1)


def test_known_figures() -> None:
    assert shown(2 / 3, 0.85) == "0.6667"
    assert shown(0.84999, 0.85) == "0.84999"  # four decimals would print 0.8500
    assert shown(0.849991234, 0.85) == "0.84999"  # and no more digits than that takes
    assert shown(1.0, 1.0) == "1.0"
    assert shown(7, 8) == "7"
    assert shown(None, 0.85) == "—"
    assert shown("review\x1b_required") == "review\\x1b_required"
    assert shown(0.85, "pass", None, True) == "0.85"
