"""``evalkit score --engine dask``, as it is typed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evalkit.cli import application
from evalkit.contract import EvalkitError

METRIC = """
    from evalkit import numeric_metric

    @numeric_metric()
    def share(text: str) -> float:
        print("said by the metric")
        return len(text) / 100
"""


def written(path: Path, first: int, n: int) -> Path:
    path.parent.mkdir(exist_ok=True)
    lines = (json.dumps({"case_id": f"r{at}", "text": "x" * (at % 100)}) for at in range(first, first + n))
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def evalkit(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalkit", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_a_folder_of_parts_is_scored_on_the_cores_of_this_machine(user_file: Callable[..., Path]):
    user_file(METRIC)
    parts = [written(Path(f"parts/{name}.jsonl"), first, 40) for name, first in (("b", 40), ("a", 0))]
    Path("joined.jsonl").write_text("".join(path.read_text() for path in sorted(parts)))
    ours = evalkit("score", "mine.py:share", "parts", "--run", "ours", "--engine", "dask", "--json", "ours.json")
    theirs = evalkit("score", "mine.py:share", "joined.jsonl", "--run", "theirs", "--json", "theirs.json")
    assert (ours.returncode, theirs.returncode) == (0, 0), ours.stderr
    assert Path("ours/records.jsonl").read_bytes() == Path("theirs/records.jsonl").read_bytes()
    assert Path("ours.json").read_bytes() == Path("theirs.json").read_bytes()
    assert "80 of 80 rows scored" in ours.stdout
    assert "said by the metric" not in ours.stdout
    assert "Warning" not in ours.stderr
    assert max(map(len, ours.stdout.splitlines())) <= 80
    assert sorted(path.name for path in Path("ours/parts").iterdir()) == ["part-00000.jsonl", "part-00001.jsonl"]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (["--scheduler", "tcp://127.0.0.1:9"], "no engine was named; add --engine dask"),
        (["--engine", "ray"], "there is no engine 'ray'; engines are dask; without --engine this process scores"),
        (["--engine", "dask", "--verdict", "text=run"], "--verdict is not known to engines; score without --engine"),
    ],
)
def test_options_that_do_not_fit_are_refused_before_anything_starts(
    user_file: Callable[..., Path], more: list[str], text: str
):
    user_file(METRIC)
    written(Path("cases/a.jsonl"), 0, 1)
    result = CliRunner().invoke(application(), ["score", "mine.py:share", "cases/a.jsonl", "--run", "run", *more])
    assert isinstance(result.exception, EvalkitError)
    assert text in str(result.exception)
    assert not Path("run").exists()
