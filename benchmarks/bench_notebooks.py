"""All notebooks headless: two at a time against one after another."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, Size, evalkit_process, run_alone, seconds

MINUTES = 4
SMALL = """
# %% [markdown]
# A page that does nothing.

# %% tags=["parameters"]
threshold: float = 0.8  # a share

# %%
from evalkit.contract import Outcome
from evalkit.pages.notebooks import Conclusion, open_page

page = open_page("01_small", globals())

# %%
page.finish(Conclusion(outcome=Outcome.passed, sentences=["Nothing was asked."], figures={}))
"""


def run(folder: Path, workers: int, names: tuple[str, ...]) -> float:
    """Run them and return the seconds it took."""
    out = folder / f"with{workers}"
    return seconds(lambda: evalkit_process("notebooks", *names, "--workers", workers, "--out", out, codes=(0,)))


def measure(size: Size) -> Iterator[Row]:
    """Measure one pair: five would take longer than everything else together."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        names: tuple[str, ...] = ()
        if size.is_quick:
            (folder / "01_small.py").write_text(SMALL)
            names = (str(folder / "01_small.py"),)
        two, one = run(folder, 2, names), run(folder, 1, names)
    yield Row(
        what="all notebooks, headless, 2 workers: time",
        against="one after another",
        ratios=[two / one],
        most=0.6,
        note=f"{two:.0f} s and {one:.0f} s",
    )
    yield Row(
        what="all notebooks, headless, 2 workers: time",
        against=f"{MINUTES} minutes",
        ratios=[two / (60 * MINUTES)],
        most=1,
    )


if __name__ == "__main__":
    run_alone(measure, __doc__)
