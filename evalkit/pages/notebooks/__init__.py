"""Notebooks as checks: run headless and in parallel, an outcome file each, figures held against expected ones.

What a page calls is exported here; what runs and builds pages is in the modules `command`, `execute`, `verdict`,
`figures` and `build`, which load papermill and jupytext when they are used.
"""

from evalkit.pages.notebooks.judged import (
    Example,
    Judged,
    contract_markdown,
    judge,
    open_metric,
    resolutions,
    worked_example,
    worked_result,
)
from evalkit.pages.notebooks.page import Conclusion, NotebookPage, NotPassed, open_page
from evalkit.pages.notebooks.tempting import Hidden, hidden_by_average, lenient_frame, resemblance

__all__ = [
    "Conclusion",
    "Example",
    "Hidden",
    "Judged",
    "NotPassed",
    "NotebookPage",
    "contract_markdown",
    "hidden_by_average",
    "judge",
    "lenient_frame",
    "open_metric",
    "open_page",
    "resemblance",
    "resolutions",
    "worked_example",
    "worked_result",
]
