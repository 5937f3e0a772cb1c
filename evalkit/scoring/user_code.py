"""Running the Python file or module that a user named: importable from its own folder, its faults in plain words."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.machinery
import importlib.util
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from evalkit.contract import EvalkitError
from evalkit.scoring.ragas_bridge import keep_ragas_quiet, ragas_fault

__all__ = ["import_module", "run_file"]

_SIBLINGS: set[str] = set()
"""Modules that lie beside a file and came in with it; the next file gets its own, and the same file an edited one."""


def import_module(name: str) -> ModuleType:
    """Import a module by its dotted name; as with ``python -m``, the current folder's packages can be named.

    Raises
    ------
    EvalkitError
        Where there is no such module, or where it cannot be imported, with file and line.
    """
    keep_ragas_quiet()
    try:
        with _importable(Path.cwd()):
            return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and f"{name}.".startswith(f"{error.name}."):
            msg = f"there is no module {error.name!r}"
            mend = "name a module of this environment or of the current folder, or a file as path/to/file.py:object"
            raise EvalkitError(msg, where=name, do=mend) from None
        raise _fault(error, name) from error


def run_file(path: Path) -> ModuleType:
    """Run a Python file anew, under a module name of its own.

    Its folder is importable while it runs, what it prints goes to stderr, and no cache is left in its folder.

    Raises
    ------
    EvalkitError
        For a syntax error or anything that the file raises, with file and line.
    """
    keep_ragas_quiet()
    file = path.resolve()
    # The name is the path's own, so that two files of one name do not replace each other, and says nothing of it.
    stem, digest = re.sub(r"\W", "_", file.stem), hashlib.sha256(str(file).encode()).hexdigest()
    name = f"user_metric_{stem}_{digest[:8]}"
    earlier = sys.modules.get(name)
    try:
        return _run(file, name)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        if earlier is not None:
            sys.modules[name] = earlier
        raise _fault(error, str(path)) from error


def _run(file: Path, name: str) -> ModuleType:
    loader = importlib.machinery.SourceFileLoader(name, str(file))
    module = ModuleType(name)
    module.__file__, module.__loader__ = str(file), loader
    # Compiled here: the cache that the loader keeps does not notice two edits of one length within a second.
    code = loader.source_to_code(loader.get_data(str(file)), str(file))
    for sibling in _SIBLINGS:
        sys.modules.pop(sibling, None)
    _SIBLINGS.clear()
    sys.modules[name] = module  # inspect.getsource, pickle and dataclasses look the module up, some while it runs
    before = set(sys.modules)
    try:
        with _importable(file.parent):
            exec(code, vars(module))  # noqa: S102 - the user named this file to be run
    finally:
        _SIBLINGS.update(key for key in set(sys.modules) - before if _lies_beside(key, file.parent))
    return module


def _lies_beside(name: str, folder: Path) -> bool:
    """Whether a module was found in `folder` itself; what is installed further down in it (a .venv) was not."""
    file = getattr(sys.modules.get(name), "__file__", None)
    top = name.partition(".")[0]
    return bool(file) and any(Path(str(file)).is_relative_to(folder / part) for part in (top, f"{top}.py"))


@contextlib.contextmanager
def _importable(folder: Path) -> Iterator[None]:
    entry, writes_no_cache = str(folder), sys.dont_write_bytecode
    sys.path.insert(0, entry)
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        sys.dont_write_bytecode = writes_no_cache
        with contextlib.suppress(ValueError):  # the file took it out itself
            sys.path.remove(entry)


# --- its faults -----------------------------------------------------------------------------------------------------


def _fault(error: BaseException, named: str) -> EvalkitError:
    where = _line_of(error) or named
    if fault := ragas_fault(error, where=where):
        return fault
    if isinstance(error, EvalkitError):
        return EvalkitError(error.message, where=where, do=error.do)
    if isinstance(error, SyntaxError):
        msg = f"this is not valid Python ({error.msg})"
        return EvalkitError(msg, where=where, do="mend that line")
    msg = f"the file cannot be imported ({type(error).__name__}{f': {error}' if str(error) else ''})"
    return EvalkitError(msg, where=where, do=_mend(error))


def _mend(error: BaseException) -> str:
    if isinstance(error, ImportError) and "relative import" in str(error):
        return "name the metric as package.module:object, so that its relative imports have a package"
    if isinstance(error, ModuleNotFoundError):
        return f"install what provides {error.name!r} here, or put that module beside the file"
    return "mend that line: a metric's file must be importable without arguments, services or keys"


def _line_of(error: BaseException) -> str | None:
    """Name the user's file and line: the first file that is neither ours nor Python's, at its innermost line."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename)}, line {error.lineno}"
    ours = {__file__, str(importlib.__file__)}
    lines = [
        (frame.f_code.co_filename, number)
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename not in ours and not frame.f_code.co_filename.startswith("<frozen")
    ]
    inside = [number for file, number in lines if file == lines[0][0]]
    return f"{_shown(lines[0][0])}, line {inside[-1]}" if lines else None


def _shown(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else path.name
