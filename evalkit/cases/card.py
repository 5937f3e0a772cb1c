"""The dataset card is checked: what labels were collected for, from where, by whom, and what they do not cover."""

from __future__ import annotations

import re
from pathlib import Path

from evalkit.contract import EvalkitError

__all__ = ["CARD_NAME", "SECTIONS", "card_problems"]

CARD_NAME = "card.md"

SECTIONS = (
    "Intended use",
    "Excluded tasks",
    "Coverage",
    "Window",
    "Authority",
    "Redaction",
    "Sampling",
    "Reviewers",
    "Gaps",
)
"""The questions that a card answers, each under a heading of its own."""

_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
_FEWEST_WORDS = 3


def card_problems(path: Path, *, is_synthetic: bool = False) -> list[str]:
    r"""Return what is missing from a dataset card; an empty list means that every question is answered.

    Parameters
    ----------
    path : Path
        A Markdown file; where there is none, that is the one problem.
    is_synthetic : bool
        Whether labels are marked synthetic: then the card has to say so as well.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "card.md"
    >>> _ = path.write_text("## Intended use\nTests of refunds.\n## Excluded tasks\n")
    >>> card_problems(path)[:2]
    ["card.md: 'Excluded tasks' says nothing", "card.md: 'Coverage' is absent"]
    """
    if not path.exists():
        return [f"there is no {path.name} that says what these labels are for, from where, by whom and with what gaps"]
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"the dataset card cannot be read ({error})"
        raise EvalkitError(msg, where=path.name, do="write it as UTF-8 Markdown") from error
    answers = _sections(text)
    problems = []
    for name in SECTIONS:
        if name.casefold() not in answers:
            problems.append(f"{path.name}: {name!r} is absent")
        elif len(answers[name.casefold()].split()) < _FEWEST_WORDS:
            problems.append(f"{path.name}: {name!r} says nothing")
    if is_synthetic and "synthetic" not in text.casefold():
        problems.append(f"{path.name}: labels are marked synthetic, and the card does not say so")
    return problems


def _sections(text: str) -> dict[str, str]:
    parts = _HEADING.split(text)
    return {title.casefold(): body for title, body in zip(parts[1::2], parts[2::2], strict=True)}
