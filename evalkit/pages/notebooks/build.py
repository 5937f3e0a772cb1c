"""The ``.ipynb`` page that people open: an executed notebook, normalised so that building it twice gives one file."""

from __future__ import annotations

import base64
import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evalkit.contract import EvalkitError
from evalkit.pages.notebooks.nbfile import notebook_text
from evalkit.pages.notebooks.sources import code_cells, stable_ids
from evalkit.pages.png import recompressed
from evalkit.scoring.run import write_whole

if TYPE_CHECKING:
    from nbformat import NotebookNode

__all__ = ["MOST_CODE_CELLS", "MOST_FILE", "MOST_PNG", "MOST_TABLE_ROWS", "build_page", "normalised", "page_problems"]

MOST_FILE, MOST_PNG = 400_000, 100_000
"""Bytes of a page and of one chart: GitHub shows no more, and a review loads all of it."""
MOST_TABLE_ROWS, MOST_CODE_CELLS = 15, 25

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{6,}")
_PLACE = re.compile(r"(?<![\w.:/*<])/(?:home|root|tmp|opt|Users|private|usr|var)/\S+|\b[A-Z]:\\\S+")
_KEPT_METADATA = ("jupytext", "kernelspec")


def normalised(page: NotebookNode) -> NotebookNode:
    """Return a copy without what differs from run to run or names this machine.

    Gone are papermill's and the widgets' metadata, its markers of a failed cell, timings, the Python version, memory
    addresses; cell ids follow from the cells' text.
    """
    page = copy.deepcopy(page)
    metadata = {key: page.metadata[key] for key in _KEPT_METADATA if key in page.metadata}
    page.metadata.clear()
    page.metadata.update(metadata | {"language_info": {"name": "python"}})
    page.cells = [cell for cell in page.cells if "papermill-error-cell-tag" not in cell.metadata.get("tags", [])]
    for cell in page.cells:
        tags = [tag for tag in cell.metadata.get("tags", []) if tag != "injected-parameters"]
        cell.metadata.clear()
        cell.metadata.update({"tags": tags} if tags else {})
        for output in cell.get("outputs", []):
            _normalise(output)
    stable_ids(page)
    return page


def _normalise(output: Any) -> None:
    if output.output_type == "stream":
        output.text = _ADDRESS.sub("", output.text)
    if "metadata" in output:
        output.metadata.clear()
    for kind, value in output.get("data", {}).items():
        if kind.startswith("text/") and isinstance(value, str):
            output.data[kind] = _ADDRESS.sub("", value)
        elif kind == "image/png":  # of a chart with many marks, the renderer's own file is ten times as large
            output.data[kind] = base64.b64encode(recompressed(base64.b64decode(value))).decode()


def page_problems(page: NotebookNode) -> Iterator[str]:
    """Yield every way in which a page is unfit to be kept."""
    cells = code_cells(page)
    if [cell.execution_count for cell in cells] != list(range(1, len(cells) + 1)):
        yield "its cells did not run once each, in order"
    if len(cells) > MOST_CODE_CELLS:
        yield f"it has {len(cells)} code cells; at most {MOST_CODE_CELLS} are readable"
    for number, cell in enumerate(cells, start=1):
        for output in cell.outputs:
            for problem in _output_problems(output):
                yield f"code cell {number}: {problem}"
    if "widgets" in page.metadata or "papermill" in page.metadata:
        yield "it carries metadata of widgets or papermill"
    if (size := len(_bytes(page))) > MOST_FILE:
        yield f"it has {size:,} bytes; at most {MOST_FILE:,}"


def _output_problems(output: Any) -> Iterator[str]:
    if output.output_type == "error":
        yield f"it raised {output.ename}"
    if output.output_type == "stream" and output.name == "stderr":
        yield f"it wrote to stderr: {output.text.strip()[:200]!r}"
    data = output.get("data", {})
    for kind, value in data.items():
        if kind == "image/png" and (size := len(base64.b64decode(value))) > MOST_PNG:
            yield f"its chart has {size:,} bytes; at most {MOST_PNG:,}"
        if not (kind.startswith("text/") or kind == "image/png"):
            yield f"it shows {kind}, which a static page cannot"
    html = str(data.get("text/html", ""))
    rows = html.rpartition("<tbody>")[2].count("<tr")
    if rows > MOST_TABLE_ROWS:
        yield f"its table has {rows} rows; at most {MOST_TABLE_ROWS}"
    if "<script" in html or "</style>" in html.replace("</style>", "", html.count("<style scoped>")):
        yield "its HTML holds a script or a style sheet, which GitHub drops"
    text = output.get("text", "") + "".join(str(value) for kind, value in data.items() if kind.startswith("text/"))
    here = [place for place in (str(Path.cwd()), str(Path.home())) if len(place) > 1 and place in text]
    for place in [*here, *_PLACE.findall(text)][:1]:
        yield f"it names a place on this machine: {place[:80]!r}"


def build_page(page: NotebookNode, target: Path) -> bool:
    """Write an executed notebook as the page beside its source; False where that page is already there, byte for byte.

    Raises
    ------
    EvalkitError
        Where the page is unfit to be kept; nothing is written then.
    """
    kept = normalised(page)
    if problems := list(page_problems(kept)):
        raise EvalkitError("; ".join(problems), where=target.name, do="change the notebook's source and build again")
    raw = _bytes(kept)
    if target.exists() and target.read_bytes() == raw:
        return False
    write_whole(target, raw)
    return True


def _bytes(page: NotebookNode) -> bytes:
    return notebook_text(page).encode()
