"""What a person reads is what is there: hidden characters are made visible, and rounding never crosses a bound."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

__all__ = ["plain", "shown"]

# Characters that draw nothing although Unicode counts them as printable: joiners, fillers, variation selectors.
_BLANK = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_HIDDEN = re.compile(f"[{_BLANK}]")
# In these scripts, and inside an emoji, a joiner or a selector changes what is drawn: there it hides nothing.
_JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u200d\ufe0f]")
_JOINERS = "\u200c\u200d\ufe0f"


def plain(text: str, *, newline: str = "⏎") -> str:
    r"""Return `text` with every character visible that could hide, reorder or repaint what stands around it.

    Control characters (so ANSI sequences and carriage returns) become ``\x1b``; bidirectional marks, invisible,
    private and unassigned characters become ``[U+202E]``. Use it for everything that reaches a terminal, a page or a
    summary: then one line stays one line, and no case can forge another's verdict.

    Parameters
    ----------
    text : str
        Any text; from a case, a judge, a metric, a file name.
    newline : str
        What stands for a line break: pass ``" "`` for prose in a table, or ``"\n"`` where breaks are kept.

    Examples
    --------
    >>> print(plain("ok\x1b[2K\rPASSED"), plain("a\u202eb"), plain("two\nlines"))
    ok\x1b[2K\x0dPASSED a[U+202E]b two⏎lines
    """
    parts = text.replace("\r\n", "\n").split("\n")
    return newline.join(part if _is_plain(part) else _marked(part) for part in parts)


def _is_plain(text: str) -> bool:
    return text.isprintable() and (text.isascii() or not _HIDDEN.search(text))


def _marked(text: str) -> str:
    return "".join(_mark(text, i, character) for i, character in enumerate(text))


def _mark(text: str, i: int, character: str) -> str:
    category = unicodedata.category(character)
    if category == "Zs" or (character.isprintable() and not _HIDDEN.match(character)):
        return character
    if category == "Cc":
        return "\\t" if character == "\t" else f"\\x{ord(character):02x}"
    if character in _JOINERS and i and _joins(text[i - 1]):
        return character
    return f"[U+{ord(character):04X}]"


def _joins(before: str) -> bool:
    return bool(_JOINING.match(before)) or unicodedata.category(before) in {"So", "Sk"}


def shown(value: Any, *bounds: Any) -> str:
    """Return the figure with four decimals, or as many more as keep it on its own side of every bound.

    A rounded figure must not contradict the decision beside it: ``0.8499999`` against a minimum of ``0.85`` is not
    shown as ``0.85``. The same holds for 0 and 1, which people read as "none" and "all".

    Parameters
    ----------
    value : number, str or None
        A score, a rate or a label; ``None`` is "not measured" and becomes ``—``.
    *bounds : number or other
        What the value is held against; whatever is not a number is passed over.

    Examples
    --------
    >>> shown(2 / 3, 0.85), shown(0.8499999, 0.85), shown(0.99999), shown(1.0), shown("pass"), shown(None)
    ('0.6667', '0.8499999', '0.99999', '1.0', 'pass', '—')
    """
    if value is None:
        return "—"
    if not isinstance(value, float):
        return plain(str(value), newline=" ")
    sides = [0, 1, *(b for b in bounds if isinstance(b, int | float) and not isinstance(b, bool))]
    for decimals in range(4, 18):
        text = f"{value:.{decimals}f}"
        if all(_side(float(text), bound) == _side(value, bound) for bound in sides):
            return (text.rstrip("0") + "0") if text.rstrip("0").endswith(".") else text.rstrip("0")
    return repr(value)


def _side(value: float, bound: float) -> int:
    return (value > bound) - (value < bound)
