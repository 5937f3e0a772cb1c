"""``adapt``, ``audit``, ``labels import`` and ``claims draft``, as a user types them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "fixtures/adapters"
METRICS = ROOT / "tests/mutate/adapter_metrics.py"

POLICY = """
schema = 1
name = "library"
version = "1"
mode = "block"
metric = "grounded"
contract_version = "1"
approved_by = "example"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "half of the words"
basis = "by_definition"
consequences = { false_pass = "a visitor is told what no rule says", false_fail = "somebody reads a row" }
[slices.default]
minimum = 0.1
max_failures = 24
[limits]
invalid = 2
"""


def evalkit(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalkit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_from_traces_and_a_spreadsheet_to_a_gated_run(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(POLICY)
    metric = f"{METRICS}:grounded"
    done = evalkit("adapt", "plain", FOLDER / "plain.jsonl", "--metric", metric, "--out", "cases.jsonl", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "wrote 24 cases to cases.jsonl" in done.stdout
    mapping = FOLDER / "labels.map.toml"
    sheet = FOLDER / "labels.csv"
    done = evalkit(
        "labels", "import", sheet, "--map", mapping, "--cases", "cases.jsonl", "--out", "labels.jsonl", cwd=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    command = ("gate", metric, "cases.jsonl", "--policy", "policy.toml", "--as-of", "2026-12-01", "--run", "run")
    done = evalkit(*command, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    manifest = json.loads((tmp_path / "run/manifest.json").read_text())
    assert manifest["adapter"]["audit"]["outcome"] == "passed"
    # Edited after the audit: the gate no longer takes the audit's word.
    with (tmp_path / "cases.jsonl").open("a") as stream:
        stream.write("\n")
    done = evalkit(*command[:-2], cwd=tmp_path)
    assert done.returncode == 2
    assert "the cases were changed after the adapter wrote them" in " ".join(done.stdout.split())


def test_an_audit_has_the_exit_code_of_its_outcome_and_json_with_the_promised_keys(tmp_path: Path) -> None:
    done = evalkit("audit", "plain", FOLDER / "plain.jsonl", "--json", "-", cwd=tmp_path)
    assert done.returncode == 0
    facts = json.loads(done.stdout)
    assert {"fields", "checks", "mutants", "controls"} <= facts.keys()
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from dataclasses import replace\nfrom evalkit.cases.adapters.shipped import SHIPPED\n"
        'MINE = replace(SHIPPED["plain"], name="mine", answer="reference")\n'
    )
    done = evalkit("audit", "mine.py:MINE", FOLDER / "plain.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "answer_not_reference" in done.stdout


def test_claims_are_drafted_decided_and_gated(tmp_path: Path) -> None:
    traces = FOLDER / "plain.jsonl"
    done = evalkit("claims", "draft", traces, "--out", "claims.csv", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    done = evalkit(
        "adapt",
        "plain",
        traces,
        "--metric",
        "evidence_coverage",
        "--claims",
        "claims.csv",
        "--out",
        "cases.jsonl",
        cwd=tmp_path,
    )
    # Nobody has decided a claim yet: no row can be scored, so no control reaches scoring.
    assert done.returncode == 2
    policy = ROOT / "fixtures/evidence_coverage/policy.toml"
    done = evalkit(
        "gate", "evidence_coverage", "cases.jsonl", "--policy", policy, "--as-of", "2026-12-01", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "1 of 1 claims are not approved: c01" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("audit", "plian", "t.jsonl"), "there is no adapter 'plian'"),
        (("adapt", "plain", "none.jsonl", "--out", "c.jsonl"), "cannot be read"),
        (("labels", "import", "none.csv", "--map", "langfuse", "--out", "l.jsonl"), "cannot be read"),
        (("labels", "import", "none.csv", "--map", "nothing", "--out", "l.jsonl"), "is neither a preset nor a file"),
        (("claims", "draft", "none.jsonl", "--out", "c.csv"), "cannot be read"),
        (("audit", "openinference", str(FOLDER / "labels.csv")), "neither one JSON object a line"),
    ],
)
def test_what_cannot_be_read_is_exit_2_and_one_plain_line(
    arguments: tuple[str, ...], told: str, tmp_path: Path
) -> None:
    done = evalkit(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert told in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.glob("*.jsonl"))
