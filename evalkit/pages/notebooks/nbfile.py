"""Notebook files, read and written through nbformat; the one place that touches its untyped functions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["notebook_text", "parse_notebook", "upgraded"]


def notebook_text(notebook: NotebookNode) -> str:
    """Return a notebook as the text of its file, ending in a newline."""
    import nbformat

    text = cast(str, nbformat.writes(notebook))  # type: ignore[no-untyped-call] # nbformat ships types for a part only
    return text if text.endswith("\n") else text + "\n"


def parse_notebook(path: Path) -> NotebookNode:
    """Read an ``.ipynb`` file.

    Raises
    ------
    OSError, ValueError
        Where there is none, or it is not a notebook.
    """
    import nbformat

    return cast("NotebookNode", nbformat.read(path, as_version=4))  # type: ignore[no-untyped-call] # as above


def upgraded(notebook: NotebookNode) -> NotebookNode:
    """Return a notebook in the newest minor format, whose cells have ids."""
    import nbformat.v4

    return cast("NotebookNode", nbformat.v4.upgrade(notebook))  # type: ignore[no-untyped-call] # as above
