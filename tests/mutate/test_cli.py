"""``evalkit mutate``, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CONTRACT = Path(__file__).parents[2] / "fixtures" / "evidence_coverage" / "contract.jsonl"


def evalkit(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from evalkit.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_all_killed_is_exit_0(tmp_path):
    out = tmp_path / "out.json"
    done = evalkit("mutate", "evidence_coverage", "--cases", CONTRACT, "--json", out)
    assert (done.returncode, done.stderr) == (0, "")
    assert "PASSED (exit code 0): killed " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    plain = json.loads(out.read_text())
    assert (plain["survived"], plain["score"]) == (0, 1.0)


def test_survivors_are_exit_1_with_a_case_to_paste(write):
    source = """
        from evalkit.contract import numeric_metric

        @numeric_metric()
        def share(n: int) -> float:
            return n / 4 if n > 0 else 0.0
    """
    spec, path = write(source, [{"case_id": "half", "n": 2, "oracle": {"value": 0.5}}])
    done = evalkit("mutate", spec, "--cases", path)
    assert done.returncode == 1
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert all(json.loads(line)["oracle"] for line in lines)
    with path.open("a") as stream:
        stream.write("\n".join(lines) + "\n")
    again = evalkit("mutate", spec, "--cases", path)
    assert "would kill" not in again.stdout


def test_a_red_baseline_is_exit_2_without_a_score(write):
    source = """
        from evalkit.contract import numeric_metric

        @numeric_metric()
        def share(n: int) -> float:
            return n / 4
    """
    spec, path = write(source, [{"case_id": "half", "n": 2, "oracle": {"value": 1.0}}])
    done = evalkit("mutate", spec, "--cases", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the unmutated metric fails 1 of its 1 cases: half (value: 0.5)" in done.stderr


def test_json_on_standard_output_is_json_alone():
    done = evalkit("mutate", "evidence_coverage", "--cases", CONTRACT, "--full", "--json", "-")
    plain = json.loads(done.stdout)
    assert plain["full"] is True
    assert max(len(mutant["killed_by"]) for mutant in plain["mutants"]) > 10


@pytest.mark.parametrize(
    "arguments", [("nothing_known", "--cases", CONTRACT), ("evidence_coverage", "--cases", "none.jsonl")]
)
def test_what_cannot_be_read_is_exit_2(arguments):
    done = evalkit("mutate", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("evalkit: ")
    assert "Traceback" not in done.stderr
