"""Small parts that the panels of the review share: labelled controls, live messages, HTML in the review's style."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import ipywidgets

from evalkit.contract import EvalkitError
from evalkit.pages.plain import plain
from evalkit.pages.review.views import VOTE_WORDS

__all__ = ["Message", "VoteButtons", "card_html", "dropdown", "html", "label", "saying", "show"]


def html(content: str = "", **layout: str) -> Any:
    """Return an HTML part in the style of the review; `content` is markup that was escaped by whoever built it."""
    part = ipywidgets.HTML(layout={"width": "auto", "min_width": "0", **layout})
    part.value = f'<div class="ek">{content}</div>' if content else ""
    return part


def card_html(content: str, name: str) -> str:
    """Return markup in a box that scrolls, by keyboard too, and begins at its top whenever it is replaced."""
    shown = escape(plain(name, newline=" "))
    return f'<div class="ek-card" tabindex="0" role="region" aria-label="{shown}"><h3>{shown}</h3>{content}</div>'


def show(part: Any, content: str) -> None:
    """Put other markup into a part that `html` made."""
    part.value = f'<div class="ek">{content}</div>' if content else ""


def label(text: Any) -> str:
    """Return a text of a row as one line of plain text, for controls (which show it as text, never as markup)."""
    return plain(str(text), newline=" ")


def dropdown(name: str, options: Sequence[tuple[str, Any]], value: Any, *, width: str = "20em") -> Any:
    """Return a dropdown with its name before it."""
    return ipywidgets.Dropdown(
        description=name,
        options=list(options),
        value=value,
        style={"description_width": "7em"},
        layout={"width": width, "max_width": "100%"},
    )


class Message(ipywidgets.HTML):  # type: ignore[misc] # ipywidgets ships no types
    """One line that screen readers speak when it changes."""

    def say(self, text: str) -> None:
        """Say that something is done."""
        self.value = f'<div class="ek ek-done" role="status" aria-live="polite">{escape(plain(text))}</div>'

    def warn(self, text: str) -> None:
        """Say that something is wrong, at once."""
        self.value = f'<div class="ek ek-alert" role="alert">{escape(plain(text))}</div>'

    def clear(self) -> None:
        """Say nothing."""
        self.value = ""


def saying(message: Message, act: Callable[[], object]) -> bool:
    """Do something and tell whether it worked; what was wrong is said where the person looks."""
    try:
        act()
    except EvalkitError as error:
        message.warn(str(error))
        return False
    return True


class VoteButtons(ipywidgets.HBox):  # type: ignore[misc] # ipywidgets ships no types
    """The three answers to one question; a press is a vote."""

    def __init__(self, on_vote: Callable[[str], object]) -> None:
        words = {"ship": "Ship it", "hold": "Hold it", "cannot_tell": "Cannot tell"}
        self.buttons = {
            name: ipywidgets.Button(description=words[name], layout={"width": "9em", "height": "2.4em"})
            for name in VOTE_WORDS
        }
        for name, button in self.buttons.items():
            button.on_click(lambda _, name=name: on_vote(name))
        super().__init__(list(self.buttons.values()), layout={"flex_flow": "row wrap"})

    def show(self, vote: str | None, *, is_enabled: bool = True) -> None:
        """Show which answer stands, by a sign as well as by colour."""
        for name, button in self.buttons.items():
            button.icon = "check" if name == vote else ""
            button.button_style = "primary" if name == vote else ""
            button.disabled = not is_enabled
