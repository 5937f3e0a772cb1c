"""Where a relative path in a notebook's parameters starts: papermill and Jupyter run a page in different folders."""

from __future__ import annotations

from pathlib import Path

__all__ = ["locate", "project_folder"]

_MARK = "fixtures"


def project_folder(start: Path | None = None) -> Path | None:
    """Return the nearest folder, from `start` (the current one) upwards, that holds ``fixtures/``."""
    here = (start or Path.cwd()).resolve()
    return next((folder for folder in (here, *here.parents) if (folder / _MARK).is_dir()), None)


def locate(path: Path | str, start: Path | None = None) -> Path:
    """Return the place that a path in a notebook's parameters names.

    A relative path starts at the nearest folder, from here upwards, that holds ``fixtures/``: so the same parameters
    name the same file when JupyterLab runs the page in ``notebooks/`` and papermill runs it where it was called.
    Where nothing lies there (or no such folder is above), a path that exists from the current folder is taken.

    Parameters
    ----------
    path : path or str
        As the parameter was written; ``~`` is not expanded.
    start : path, optional
        The current folder by default.

    Examples
    --------
    >>> import tempfile
    >>> project = Path(tempfile.mkdtemp()).resolve()
    >>> (project / "fixtures").mkdir(), (project / "notebooks").mkdir()
    (None, None)
    >>> locate("fixtures/cases.jsonl", start=project / "notebooks").relative_to(project).as_posix()
    'fixtures/cases.jsonl'
    """
    path = Path(path)
    here = (start or Path.cwd()).resolve()
    project = project_folder(here)
    if path.is_absolute() or project is None:
        return here / path
    from_project, from_here = project / path, here / path
    return from_here if from_here.exists() and not from_project.exists() else from_project
