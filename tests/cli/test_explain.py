"""`evalkit explain` and `evalkit compare`: exit codes, what is printed where, and refusals in plain lines."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from evalkit.cli import main

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
EDITED = FIXTURES / "incidents" / "metric_edited"
INCIDENTS = sorted(path.name for path in (FIXTURES / "incidents").iterdir() if path.is_dir())


class Done(NamedTuple):
    """What a command left."""

    code: object
    out: str
    err: str


Evalkit = Callable[..., Done]


@pytest.fixture
def evalkit(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Evalkit:
    """Run the command line in this process."""

    def run(*arguments: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["evalkit", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        return Done(end.value.code, *capfd.readouterr())

    return run


def gate(evalkit: Evalkit, name: str, side: str, run: Path) -> Done:
    folder = FIXTURES / "incidents" / name
    metric, policy = folder / f"{side}_metric.py", folder / f"{side}_policy.toml"
    spec = f"{metric}:evidence_coverage" if metric.exists() else "evidence_coverage"
    limits = policy if policy.exists() else FIXTURES / "policy.toml"
    return evalkit("gate", spec, folder / f"{side}.jsonl", "--policy", limits, "--as-of", "2026-12-01", "--run", run)


@pytest.mark.parametrize("name", INCIDENTS)
def test_every_incident_is_named_on_the_command_line(evalkit: Evalkit, name: str, tmp_path: Path) -> None:
    expected = json.loads((FIXTURES / "incidents" / name / "expected.json").read_text())
    codes = [gate(evalkit, name, side, tmp_path / side).code for side in ("old", "new")]
    assert codes == [0, 2 if name == "row_became_invalid" else 1]
    done = evalkit("explain", tmp_path / "new", tmp_path / "old", "--json", tmp_path / "e.json")
    assert done.code == 0
    assert f"{expected['owner']}: {expected['first_divergence']}, 1 row" in done.out
    facts = json.loads((tmp_path / "e.json").read_text())
    (row,) = facts["rows"]
    assert {key: row[key] for key in expected} == expected
    assert {"rows", "by_owner", "unchanged"} <= facts.keys()
    assert {"case_id", "change", "first_divergence", "owner", "old", "new", "sentence"} <= row.keys()


def test_one_run_and_its_metric(evalkit: Evalkit, tmp_path: Path) -> None:
    gate(evalkit, "metric_edited", "new", tmp_path / "run")
    done = evalkit("explain", tmp_path / "run", "--metric", f"{EDITED}/new_metric.py:evidence_coverage")
    assert done.code == 0
    assert "coat-return-by-post" in done.out
    assert "the row would pass with refund-method in supported_claim_ids" in done.out
    done = evalkit("explain", tmp_path / "run", "--metric", "evidence_coverage")
    assert "is not the source that made" in done.out.replace("\n  ", " ")


def test_json_on_standard_output_is_alone_there(evalkit: Evalkit, tmp_path: Path) -> None:
    gate(evalkit, "retrieval_broke", "new", tmp_path / "run")
    done = evalkit("explain", tmp_path / "run", "--json", "-")
    assert json.loads(done.out)["by_owner"] == {"retrieval": 1}


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (["explain", "no-such-run"], "no-such-run: is not a folder"),
        (["explain", FIXTURES], "is not a run folder: it holds no manifest.json"),
        (["compare", "evidence_coverage", "evidence_covrage", FIXTURES / "release.jsonl"], "did you mean"),
        (
            ["compare", "evidence_coverage", "evidence_coverage", "nowhere.jsonl"],
            "nowhere.jsonl: there is no such file",
        ),
        (
            ["compare", "evidence_coverage", "evidence_coverage", FIXTURES / "release.jsonl", "--within", "nan"],
            "--within must be a finite number of 0 or more; got nan",
        ),
        (
            [
                "compare",
                "evidence_coverage",
                "evidence_coverage",
                FIXTURES / "release.jsonl",
                "--policy",
                EDITED / "old.jsonl",
            ],
            "the policy cannot be used",
        ),
    ],
)
def test_what_cannot_be_read_ends_with_2_and_a_plain_line(
    evalkit: Evalkit, arguments: list[object], fragment: str
) -> None:
    done = evalkit(*arguments)
    assert done.code == 2
    assert fragment in done.err
    assert "Traceback" not in done.err


def test_a_damaged_run_is_refused_with_file_and_line(evalkit: Evalkit, tmp_path: Path) -> None:
    gate(evalkit, "metric_edited", "new", tmp_path / "run")
    records = tmp_path / "run" / "records.jsonl"
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join([*lines[:2], b'{"half": \n', *lines[3:]]))
    done = evalkit("explain", tmp_path / "run")
    assert done.code == 2
    assert "records.jsonl, line 3: is not a record" in done.err


def test_compare_exits_1_on_a_disagreement_and_0_without(evalkit: Evalkit, tmp_path: Path) -> None:
    old, new = (f"{EDITED}/{side}_metric.py:evidence_coverage" for side in ("old", "new"))
    rows = EDITED / "new.jsonl"
    assert evalkit("compare", old, old, rows).code == 0
    assert evalkit("compare", old, "evidence_coverage", rows).code == 0
    done = evalkit("compare", old, new, rows, "--json", tmp_path / "c.json", "--markdown", tmp_path / "c.md")
    assert done.code == 1
    facts = json.loads((tmp_path / "c.json").read_text())
    assert [(row["case_id"], row["attributed_to"]) for row in facts["rows"]] == [("coat-return-by-post", "metric")]
    assert "coat-return-by-post" in (tmp_path / "c.md").read_text()


def test_compare_of_nothing_is_incomplete(evalkit: Evalkit, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    assert evalkit("compare", "evidence_coverage", "evidence_coverage", tmp_path / "empty.jsonl").code == 2


def test_the_old_metric_is_refused_after_its_observation_window(evalkit: Evalkit, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    text = (FIXTURES / "policy.toml").read_text()
    policy.write_text(f'{text}\n[observation]\nold_metric = "old_metric.py:evidence_coverage"\nuntil = 2026-12-31\n')
    old, new = (f"{EDITED}/{side}_metric.py:evidence_coverage" for side in ("old", "new"))
    call = ["compare", old, new, EDITED / "new.jsonl", "--policy", policy, "--as-of"]
    done = evalkit(*call, "2026-12-24")
    assert done.code == 1
    assert "ends on 2026-12-31, in 7 days" in done.out.replace("\n  ", " ")
    done = evalkit(*call, "2027-01-01")
    assert done.code == 2
    assert "ended on 2026-12-31: it is refused now; use the new metric alone" in done.err
