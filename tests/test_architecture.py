"""How the rooms stand to each other, read from the source: one way, small, documented, and nothing that runs a text."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "evalkit"
MODULES = sorted(PACKAGE.rglob("*.py"))

# A room may import from itself and from rooms above it in this list; rooms on one line do not know each other.
FLOORS = (("contract",), ("metrics", "cases"), ("scoring",), ("decisions",), ("mutate",), ("pages",), ("cli",))
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}

# (importing module, imported module): why it may look upstairs, inside a function and at no other time.
UPSTAIRS = {
    (
        "contract/metric.py",
        "evalkit.scoring.load",
    ): "attach() takes a ragas object as it is, and the bridge knows those",
    ("contract/judge.py", "evalkit.scoring.judge"): "a judge asked for one score is run like a run of one row",
}
# Where Python text is run on purpose: the metric that the user named, and mutants of its source.
RUNS_SOURCE = {"scoring/user_code.py", "mutate/blueprint.py"}
MOST_LINES = 350


class Import(NamedTuple):
    line: int
    module: str
    is_lazy: bool
    """Inside a function, so that it costs nothing until the function is called."""


def imports_of(source: str) -> list[Import]:
    """Every import of a module, at its top and inside its functions; ``if TYPE_CHECKING`` counts like any other."""
    found: list[Import] = []

    def visit(node: ast.AST, *, is_lazy: bool) -> None:
        found.extend(Import(node.lineno, module, is_lazy) for module in modules_of(node))  # type: ignore[attr-defined]
        is_lazy = is_lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, is_lazy=is_lazy)

    visit(ast.parse(source), is_lazy=False)
    return found


def modules_of(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    if isinstance(node, ast.ImportFrom):
        base = "." * node.level + (node.module or "")
        return [
            base,
            *(f"{base}.{name.name}" for name in node.names),
        ]  # `from evalkit.pages import widgets` names one, too
    if isinstance(node, ast.Call) and called(node).endswith("import_module") and node.args:
        text = getattr(node.args[0], "value", None)
        return [text] if isinstance(text, str) else []
    return []


def called(node: ast.Call) -> str:
    return ast.unparse(node.func)


def is_in(module: str, package: str) -> bool:
    return module == package or module.startswith(f"{package}.")


def wrong_way(place: str, source: str) -> Iterator[str]:
    """Yield imports that go up, sideways, or through the front door."""
    own = place.split("/")[0]
    if own not in FLOOR:
        return  # evalkit/__init__.py and __main__.py stand outside the rooms
    for line, module, is_lazy in imports_of(source):
        if module.startswith("."):
            yield f"{place}:{line} imports {module} relatively: write evalkit.{own}…"
        if not is_in(module, "evalkit"):
            continue
        room = module.split(".")[1] if "." in module else ""
        is_excused = is_lazy and any(place == here and is_in(module, there) for here, there in UPSTAIRS)
        if room not in FLOOR:
            yield f"{place}:{line} imports {module} through the front door, which imports every room"
        elif room != own and FLOOR[room] >= FLOOR[own] and not is_excused:
            yield f"{place}:{line} ({own}) imports {module}: that room lies no deeper"


def forbidden(place: str, source: str) -> Iterator[str]:
    """Yield whatever runs a text as code, unpickles, opens a shell, or knows what it must not know."""
    for line, module, _ in imports_of(source):
        if is_in(module, "ragas") and not place.startswith("scoring/ragas_bridge/"):
            yield f"{place}:{line} imports {module}: only scoring/ragas_bridge knows ragas"
        if module == "evalkit.pages.widgets":
            yield f"{place}:{line} imports the widgets: only notebooks do"
        if module.split(".")[0] in ("marshal", "shelve", "dill", "cloudpickle", "nest_asyncio"):
            yield f"{place}:{line} imports {module}"
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (what := risk_of(node)) and not (what == "exec" and place in RUNS_SOURCE):
            yield f"{place}:{node.lineno} calls {what}"


def risk_of(node: ast.Call) -> str | None:
    name = called(node)
    if name in ("eval", "exec", "os.system", "os.popen", "__import__"):
        return name
    if name.startswith(("pickle.load", "pickle.Unpickler")) or (name.startswith("yaml.") and "safe" not in name):
        return name
    opens_shell = any(keyword.arg == "shell" and getattr(keyword.value, "value", True) for keyword in node.keywords)
    return f"{name} with a shell" if opens_shell else None


def top_level_names(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.Module([n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.ClassDef)], [])):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(name.asname or name.name).split(".")[0] for name in node.names}
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return names | {node.name for node in tree.body if isinstance(node, defined)}


def public_names(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return None


def in_order(name: str) -> tuple[int, str]:
    """Constants, then classes, then functions: the order that ruff keeps in ``__all__``."""
    return (0 if name.isupper() else 1 if name[:1].isupper() else 2, name)


def untidy(place: str, source: str) -> Iterator[str]:
    """Yield what a newcomer would stumble over: length, a missing docstring, an ``__all__`` that tells no truth."""
    tree = ast.parse(source)
    if (length := len(source.splitlines())) > MOST_LINES:
        yield f"{place} has {length} lines: split it ({MOST_LINES} at most)"
    if not ast.get_docstring(tree):
        yield f"{place} has no docstring"
    defined, names = top_level_names(tree) - {"annotations", "__all__"}, public_names(tree)
    if names is None:
        if defined and place != "__main__.py":
            yield f"{place} has no __all__"
        return
    if names != sorted(names, key=in_order):
        yield f"{place}: __all__ is not sorted"
    if len(set(names)) != len(names):
        yield f"{place}: __all__ names something twice"
    if strange := sorted(set(names) - defined):
        yield f"{place}: __all__ names {', '.join(strange)}, which it does not define"
    if hidden := [name for name in names if name.startswith("_")]:
        yield f"{place}: __all__ names private {', '.join(hidden)}"


def place_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=place_of)
def test_each_module_is_small_told_and_looks_only_downstairs(path: Path):
    place, source = place_of(path), path.read_text(encoding="utf-8")
    found = [*wrong_way(place, source), *forbidden(place, source), *untidy(place, source)]
    assert found == []


def test_every_folder_is_a_room_of_the_list():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(FLOOR)
    assert not {"utils", "core", "helpers", "common", "misc"} & {path.stem for path in PACKAGE.rglob("*")}


def test_every_exception_is_still_needed():
    used = {
        (place_of(path), there)
        for path in MODULES
        for found in imports_of(path.read_text(encoding="utf-8"))
        for here, there in UPSTAIRS
        if place_of(path) == here and is_in(found.module, there)
    }
    assert used == set(UPSTAIRS)
    runs = {
        place_of(path)
        for path in MODULES
        if any(isinstance(n, ast.Call) and called(n) == "exec" for n in ast.walk(ast.parse(path.read_text("utf-8"))))
    }
    assert runs == RUNS_SOURCE


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.py")), ids=lambda path: path.name)
def test_notebooks_run_no_text_and_open_no_shell(path: Path):
    found = [text for text in forbidden(path.name, path.read_text(encoding="utf-8")) if "widgets" not in text]
    assert found == []


# --- these checks can fail --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("place", "source", "fragment"),
    [
        ("contract/x.py", "import evalkit.cases.read", "no deeper"),
        ("metrics/x.py", "from evalkit.cases import read", "no deeper"),
        ("scoring/x.py", "def f():\n    from evalkit.decisions.gate import gate", "no deeper"),
        ("scoring/x.py", "if TYPE_CHECKING:\n    from evalkit.pages import report", "no deeper"),
        ("decisions/x.py", "import importlib\nimportlib.import_module('evalkit.cli.decide')", "no deeper"),
        ("contract/metric.py", "from evalkit.scoring.load import as_metric", "no deeper"),  # excused only when lazy
        ("pages/x.py", "from evalkit import gate", "front door"),
        ("pages/x.py", "import evalkit", "front door"),
        ("pages/x.py", "from . import plain", "relatively"),
    ],
)
def test_an_import_the_wrong_way_is_seen(place: str, source: str, fragment: str):
    assert any(fragment in text for text in wrong_way(place, source))


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("cli/x.py", "import evalkit.pages.report"),
        ("contract/metric.py", "def f():\n    from evalkit.scoring.load import as_metric"),
        ("scoring/x.py", "from evalkit.cases.read import Case\nimport evalkiting"),
    ],
)
def test_an_import_the_right_way_is_left_alone(place: str, source: str):
    assert list(wrong_way(place, source)) == []


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("scoring/x.py", "def f():\n    import ragas.metrics"),
        ("pages/x.py", "from evalkit.pages import widgets"),
        ("pages/x.py", "from evalkit.pages.widgets import RowExplorer"),
        ("cases/x.py", "eval('1')"),
        ("cases/x.py", "exec('1')"),
        ("cases/x.py", "import pickle\npickle.loads(b'')"),
        ("cases/x.py", "yaml.load(text)"),
        ("cases/x.py", "subprocess.run('ls', shell=True)"),
        ("cases/x.py", "subprocess.run('ls', shell=flag)"),
        ("cases/x.py", "os.system('ls')"),
        ("cases/x.py", "import dill"),
    ],
)
def test_what_is_forbidden_is_seen(place: str, source: str):
    assert len(list(forbidden(place, source))) == 1


def test_what_is_harmless_is_left_alone():
    source = (
        "import pickle\nraise pickle.PicklingError\nyaml.safe_load(t)\nrun(['ls'], shell=False)\nast.literal_eval(t)"
    )
    assert list(forbidden("cases/x.py", source)) == []
    assert list(forbidden("scoring/ragas_bridge/x.py", "import ragas")) == []


@pytest.mark.parametrize(
    ("source", "fragment"),
    [
        ("x = 1", "has no docstring"),
        ('"""D."""\nx = 1', "has no __all__"),
        ('"""D."""\n__all__ = ["b", "a"]\na = b = 1', "is not sorted"),
        ('"""D."""\n__all__ = ["a", "a"]\na = 1', "names something twice"),
        ('"""D."""\n__all__ = ["gone"]', "names gone, which it does not define"),
        ('"""D."""\n__all__ = ["_a"]\n_a = 1', "names private _a"),
        ('"""D."""\n' + "\n" * 350, "has 351 lines"),
    ],
)
def test_what_is_untidy_is_seen(source: str, fragment: str):
    assert any(fragment in text for text in untidy("cases/x.py", source))
