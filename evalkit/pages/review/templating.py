"""Templates and style of widget, ballot and packet: every text is made plain and escaped in one place."""

from __future__ import annotations

from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evalkit.pages.plain import plain
from evalkit.pages.review.blind import BlindRow

__all__ = ["TEMPLATES", "blind_html", "diff_html", "environment", "style"]

TEMPLATES = Path(__file__).parents[1] / "templates"


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Return the templates of review, ballot and packet."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _visible(value: Any) -> Any:
    if isinstance(value, Markup):
        return value
    return plain(value, newline="\n") if isinstance(value, str) else value


def style() -> str:
    """Return the style sheet that widget, ballot and packet share."""
    return (TEMPLATES / "review.css").read_text(encoding="utf-8")


def blind_html(row: BlindRow) -> str:
    """Return what a blind reviewer may see of a row."""
    return str(environment().get_template("review_row.html").module.blind(row))  # type: ignore[attr-defined]


def diff_html(diff: str) -> str:
    """Return a unified diff, added and removed lines told apart by sign, weight and colour."""
    if not diff:
        return "<p>Nothing changes.</p>"
    lines = []
    for line in diff.splitlines():
        is_head = line.startswith(("+++", "---"))
        kind = "" if is_head else {"+": "ek-add", "-": "ek-del"}.get(line[:1], "")
        text = escape(plain(line))
        lines.append(f'<span class="{kind}">{text}</span>' if kind else text)
    inner = "\n".join(lines)
    return f'<pre class="ek-diff" tabindex="0" role="region" aria-label="Changes of the policy file">{inner}</pre>'
