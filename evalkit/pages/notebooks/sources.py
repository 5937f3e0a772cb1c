"""Which notebooks there are, and how one is read: the percent script is the source, the ``.ipynb`` a built page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evalkit.cases.locate import project_folder
from evalkit.contract import EvalkitError, sha256_text
from evalkit.pages.notebooks.nbfile import upgraded

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["Source", "code_cells", "find_sources", "read_source", "stable_ids", "tag_problem"]

_KERNEL = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}


class Source(NamedTuple):
    """A notebook to run."""

    name: str
    """The file's name without its ending."""
    path: Path
    """The ``.py`` percent script, or an ``.ipynb`` that was named by its path."""
    project: Path | None
    """The nearest folder above it that holds ``fixtures/``."""


def find_sources(names: Sequence[str]) -> list[Source]:
    """Find notebooks by name, by the number they start with, or by path; all numbered ones where none is named.

    Raises
    ------
    EvalkitError
        For a name that fits none or several.
    """
    folder = _notebook_folder()
    known = sorted(folder.glob("[0-9][0-9]_*.py")) if folder else []
    if not names and not known:
        msg = "there are no notebooks here: no folder above holds notebooks/NN_name.py beside fixtures/"
        raise EvalkitError(msg, do="go to the project's folder, or name a notebook by its path")
    paths = [_find(name, known) for name in names] if names else known
    if len({path.stem for path in paths}) != len(paths):
        msg = f"two of these notebooks have one name: {', '.join(path.name for path in paths)}"
        raise EvalkitError(msg, do="name each notebook once; results are kept by name")
    return [Source(path.stem, path, project_folder(path.parent)) for path in paths]


def _notebook_folder() -> Path | None:
    # Near the caller first; else those of a checkout that evalkit runs from, so that a metric may lie anywhere.
    projects = (project_folder(start) for start in (Path.cwd(), Path(__file__).parent))
    return next((p / "notebooks" for p in projects if p and (p / "notebooks").is_dir()), None)


def _find(name: str, known: Sequence[Path]) -> Path:
    if name.endswith((".py", ".ipynb")) or "/" in name:
        path = Path(name)
        if path.suffix in (".py", ".ipynb") and path.is_file():
            return path.resolve()
        msg = "a notebook (.py or .ipynb) was expected; there is no such file"
        raise EvalkitError(msg, where=name)
    fitting = [path for path in known if path.stem == name or re.match(r"[0-9]+", path.stem).group() == name]  # type: ignore[union-attr] # each starts with its number
    if len(fitting) == 1:
        return fitting[0]
    msg = f"{len(fitting)} notebooks are called {name!r}"
    raise EvalkitError(msg, do=f"known here: {', '.join(path.stem for path in known) or 'none'}; or give a path")


def read_source(path: Path) -> NotebookNode:
    """Read a notebook without outputs, under the kernel of this Python, with cell ids that follow from its text."""
    import jupytext

    try:
        notebook = jupytext.read(
            path, fmt={"extension": ".py", "format_name": "percent"} if path.suffix == ".py" else None
        )
    except Exception as error:  # jupytext and nbformat raise a dozen kinds for a file that is not theirs
        msg = f"cannot be read as a notebook: {error}"
        raise EvalkitError(msg, where=str(path)) from error
    notebook = upgraded(notebook)
    notebook.metadata.setdefault("kernelspec", dict(_KERNEL))
    for cell in code_cells(notebook, blank=True):
        cell.outputs, cell.execution_count = [], None
    stable_ids(notebook)
    return notebook


def code_cells(notebook: NotebookNode, *, blank: bool = False) -> list[NotebookNode]:
    """Return the code cells that a kernel runs (with `blank`, those of white space too)."""
    return [cell for cell in notebook.cells if cell.cell_type == "code" and (blank or cell.source.strip())]


def stable_ids(notebook: NotebookNode) -> None:
    """Give each cell an id made of its text, so that building a page twice gives the same file."""
    seen: dict[str, int] = {}
    for cell in notebook.cells:
        stem = sha256_text(cell.cell_type + cell.source)[7:15]
        seen[stem] = seen.get(stem, 0) + 1
        cell.id = stem if seen[stem] == 1 else f"{stem}-{seen[stem]}"


def tag_problem(notebook: NotebookNode) -> str | None:
    """Return what a tag would hide: a cell that may raise is a cell whose failure nobody sees."""
    for number, cell in enumerate(code_cells(notebook), start=1):
        if "raises-exception" in cell.metadata.get("tags", []):
            return f"code cell {number} is tagged raises-exception: catch the error in the cell and print it instead"
    return None
