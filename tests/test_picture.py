"""The picture of the rooms is drawn by hand and held against what the modules really import."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "evalkit"
PAGES = ("README.md", "CONTRIBUTING.md")
LAZY_UPSTAIRS = {("contract", "scoring")}
"""Inside a function and at no other time; `test_architecture.py` names each of them with its reason."""

Arrow = tuple[str, str]


def drawn(text: str) -> set[Arrow]:
    """Return the arrows of the flowcharts in a page: what imports, and what it imports."""
    arrows: set[Arrow] = set()
    for block in re.findall(r"```mermaid\nflowchart.*?```", text, re.DOTALL):
        for line in re.sub(r'\["[^"]*"\]', "", block).splitlines():
            rooms = [part.strip() for part in line.split("-->")]
            arrows |= set(pairwise(rooms))
    return arrows


def imported() -> set[Arrow]:
    """Return which room imports from which, over all modules and all their functions."""
    found: set[Arrow] = set()
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            modules += [name.name for name in node.names] if isinstance(node, ast.Import) else []
            rooms = [module.split(".")[1] for module in modules if module.startswith("evalkit.")]
            found |= {(room, other) for other in rooms if other != room}
    return {(room, other) for room, other in found if (PACKAGE / room).is_dir()} - LAZY_UPSTAIRS


def reachable(arrows: set[Arrow]) -> set[Arrow]:
    """Return every room that can be come to from another along the arrows."""
    found = set(arrows)
    while more := {(a, d) for a, b in found for c, d in found if b == c} - found:
        found |= more
    return found


@pytest.fixture(scope="module")
def picture() -> set[Arrow]:
    (found,) = [arrows for page in PAGES if (arrows := drawn((ROOT / page).read_text(encoding="utf-8")))]
    return found


def test_every_room_is_drawn_and_nothing_else(picture: set[Arrow]) -> None:
    rooms = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert {room for arrow in picture for room in arrow} == rooms


def test_every_arrow_is_an_import_and_every_import_follows_the_arrows(picture: set[Arrow]) -> None:
    real = imported()
    assert picture - real == set(), "an arrow that no module takes"
    assert real - reachable(picture) == set(), "an import that the picture does not show"


def test_no_arrow_could_be_left_out(picture: set[Arrow]) -> None:
    """A picture of all that imports anything is a ball of wool: the shortest that says the same is drawn."""
    needless = {arrow for arrow in picture if arrow in reachable(picture - {arrow})}
    assert needless == set()
    assert all((b, a) not in reachable(picture) for a, b in picture), "the arrows go round in a circle"


def test_a_picture_is_read_as_it_is_drawn() -> None:
    text = (
        '```mermaid\nflowchart LR\n    a["<b>a</b> --> x"] --> b["b"] --> c\n    d --> c\n```\n```python\ne --> f\n```'
    )
    assert drawn(text) == {("a", "b"), ("b", "c"), ("d", "c")}
    assert reachable({("a", "b"), ("b", "c")}) == {("a", "b"), ("b", "c"), ("a", "c")}
