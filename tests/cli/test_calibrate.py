"""``evalkit calibrate`` and the commands around labels, on the bundled example: codes, words, files."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalkit.cli import main

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "fixtures" / "evidence_coverage"
CASES = FOLDER / "calibration" / "cases.jsonl"
LABELS = FOLDER / "calibration" / "labels.jsonl"
EASY = ("--max-false-pass", "0.2", "--confidence", "0.9", "--as-of", "2026-11-30")
APPROVED = ("--approved-by", "council (example)", "--rationale", "the example", "--expires-on", "2027-02-01")


class Done(NamedTuple):
    code: int
    out: str
    err: str


def evalkit(*arguments: object, cwd: Path) -> Done:
    """Run a command in this process: scipy is imported once, not twenty times."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setattr(sys, "argv", ["evalkit", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
    assert "a fault inside evalkit" not in err.getvalue()
    return Done(int(str(end.value.code)), out.getvalue(), err.getvalue())


def calibrated(folder: Path, *arguments: object) -> Done:
    return evalkit("calibrate", "evidence_coverage", CASES, "--labels", LABELS, *arguments, cwd=folder)


def facts_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def test_the_bundled_example_certifies_two_slices_at_20_and_90(tmp_path: Path) -> None:
    done = calibrated(tmp_path, *EASY, "--json", "out.json")
    facts = facts_of(tmp_path / "out.json")
    slices = facts["slices"]
    assert done.code == facts["exit_code"] == 3
    assert {name: part["certified_threshold"] for name, part in slices.items()} == {
        "billing-critical": 1.0, "default": 0.75, "multilingual": None
    }  # fmt: skip
    assert slices["multilingual"]["labels_needed"] == 11
    assert "CERTIFIED at 0.75: with 90 % confidence, at most 20 % of bad answers pass" in done.out
    assert "CANNOT CERTIFY: 11 more labelled fails needed" in done.out
    assert "SYNTHETIC LABELS: this certifies nothing outside the example." in done.out
    assert "held-out rows are unseen" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    assert facts["partitions"] == {"calibration": 109, "development": 54, "held_out": 104}
    assert facts["synthetic"] is True
    assert facts["card"] == []


def test_the_slices_that_are_certified_alone_exit_0(tmp_path: Path) -> None:
    command = ("calibrate", "evidence_coverage", CASES, "--labels", LABELS, *EASY)
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", *map(str, command), "--slice", "default", "--slice", "billing-critical"],
        capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 of 2 slices certified" in done.stdout


def test_at_5_and_95_nothing_is_certified_and_the_missing_labels_are_said(tmp_path: Path) -> None:
    done = calibrated(tmp_path, "--json", "out.json")
    part = facts_of(tmp_path / "out.json")["slices"]["default"]
    assert (done.code, part["certified_threshold"]) == (3, None)
    # No slice can be certified, so each stands alone: 59 fails are needed without an error.
    assert part["labels_needed"] == 59 - part["n_fail_labels"]
    assert f"CANNOT CERTIFY: {part['labels_needed']} more labelled fails needed" in done.out
    assert "what these labels support: with 95 % confidence, at most" in done.out


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("policy")
    done = calibrated(folder, *EASY, *APPROVED, "--policy-out", "policy.toml")
    assert done.code == 3
    assert "of 24 held-out fails pass" in done.out
    return folder / "policy.toml"


def test_a_written_policy_gates_the_bundled_release(policy: Path) -> None:
    done = evalkit(
        "gate", "evidence_coverage", FOLDER / "release.jsonl", "--policy", policy, "--as-of", "2026-12-01",
        "--json", "gate.json", cwd=policy.parent,
    )  # fmt: skip
    facts = facts_of(policy.parent / "gate.json")
    assert (done.code, facts["outcome"]) == (3, "review_required")
    assert [blocker["kind"] for blocker in facts["blockers"]] == ["review"]
    assert facts["ledger"]["slices"]["multilingual"]["review"] == 9


def test_a_repeat_spends_nothing_and_another_question_is_refused(policy: Path) -> None:
    ledger = policy.with_name("holdout.jsonl")
    before = ledger.read_text()
    again = calibrated(policy.parent, *EASY, "--ledger", "holdout.jsonl")
    assert (again.code, ledger.read_text()) == (3, before)
    other = calibrated(policy.parent, "--max-false-pass", "0.3", "--confidence", "0.9", "--ledger", "holdout.jsonl")
    assert other.code == 2
    assert "the held-out partition is spent" in other.err
    assert "another limit or confidence is asked for" in other.err


def test_an_edited_metric_may_not_look_again(policy: Path) -> None:
    edited = policy.parent / "edited.py"
    source = (ROOT / "evalkit" / "metrics" / "evidence_coverage.py").read_text()
    edited.write_text(source.replace('f"supported={len(supported)}; ', 'f"found={len(supported)}; '))
    done = evalkit(
        "calibrate", f"{edited}:evidence_coverage", CASES, "--labels", LABELS, *EASY, "--ledger", "holdout.jsonl",
        cwd=policy.parent,
    )  # fmt: skip
    assert done.code == 2
    assert "the metric was edited" in done.err


def test_spend_shows_what_is_left(policy: Path) -> None:
    done = calibrated(policy.parent, "--spend", "--ledger", "holdout.jsonl")
    assert done.code == 0
    assert "hold-out ledger: 1 looks" in done.out
    assert "default: 42 labelled, 0 fresh, 1 looks (spent" in done.out
    assert "multilingual: 10 labelled, 10 fresh, 0 looks (unspent)" in done.out
    assert calibrated(policy.parent, "--spend").code == 2


def test_without_approval_a_policy_only_reports(tmp_path: Path) -> None:
    done = calibrated(tmp_path, *EASY, "--policy-out", "policy.toml")
    assert 'mode = "report"' in (tmp_path / "policy.toml").read_text()
    assert "--approved-by, --rationale, --expires-on not given" in " ".join(done.out.split())


def test_two_rubric_versions_stand_side_by_side_with_the_cases_that_moved(tmp_path: Path) -> None:
    lines = LABELS.read_text().splitlines()
    first = [json.loads(line) for line in lines if '"reviewer-1"' in line and "supersedes" not in line][:40]
    second = [row | {"rubric_version": "2", "label": "fail" if i < 5 else row["label"]} for i, row in enumerate(first)]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in first + second))
    command = ("calibrate", "evidence_coverage", CASES, "--labels", "labels.jsonl", *EASY)
    done = evalkit(*command, "--json", "out.json", cwd=tmp_path)
    facts = facts_of(tmp_path / "out.json")
    assert list(facts["rubrics"]) == ["1", "2"]
    moved = {row["case_id"] for row, new in zip(first, second, strict=True) if row["label"] != new["label"]}
    assert {move["case_id"] for move in facts["moved"]} == moved
    assert f"{len(moved)} cases are settled differently under '1' and '2'" in done.out
    refused = evalkit(*command, "--policy-out", "p.toml", cwd=tmp_path)
    assert refused.code == 2
    assert "name the one that the policy rests on with --rubric" in refused.err


def test_b03_double_labels_are_refused_naming_both_lines(tmp_path: Path) -> None:
    row = LABELS.read_text().splitlines()[0]
    (tmp_path / "labels.jsonl").write_text(f"{row}\n{row}\n")
    done = evalkit("calibrate", "evidence_coverage", CASES, "--labels", "labels.jsonl", cwd=tmp_path)
    assert done.code == 2
    assert "line 1 and line 2 are two labels of case" in done.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-false-pass", "5"), "--max-false-pass must be a number between 0 and 1"),
        (("--confidence", "nan"), "--confidence must be a number between 0 and 1"),
        (("--slice", "none"), "no case has the slice 'none'"),
        (("--criterion", "tone"), "no label has the criterion 'tone'"),
        (("--expires-on", "soon"), "--expires-on must be a day such as"),
    ],
)
def test_bad_options_exit_2_with_a_plain_line(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    done = calibrated(tmp_path, *arguments)
    assert done.code == 2
    assert message in done.err


def test_a_run_folder_is_read_instead_of_scored_again(tmp_path: Path) -> None:
    assert evalkit("score", "evidence_coverage", CASES, "--run", "run", cwd=tmp_path).code == 0
    direct, run = tmp_path / "direct.json", tmp_path / "run.json"
    calibrated(tmp_path, *EASY, "--json", direct)
    evalkit("calibrate", "evidence_coverage", "run", "--labels", LABELS, *EASY, "--json", run, cwd=tmp_path)
    assert facts_of(run)["slices"] == facts_of(direct)["slices"]


def test_next_labels_estimate_flips_and_partition(tmp_path: Path) -> None:
    data = ("evidence_coverage", CASES, "--labels", LABELS)
    asked = evalkit("next-labels", *data, "--out", "sheet.jsonl", "--json", "next.json", cwd=tmp_path)
    assert asked.code == 0
    assert "relabel (selection random)" in asked.out
    sheet = [json.loads(line) for line in (tmp_path / "sheet.jsonl").read_text().splitlines()]
    assert [row["case_id"] for row in sheet] == [row["case_id"] for row in facts_of(tmp_path / "next.json")["next"]]
    estimated = evalkit("estimate", *data, *EASY[:4], "--json", "rates.json", cwd=tmp_path)
    assert estimated.code == 3  # no multilingual row is unlabelled
    assert "rows would pass by the labels (90 %" in " ".join(estimated.out.split())
    flipped = evalkit("flips", *data[:2], "--from", "0.75", "--to", FOLDER / "policy.toml", cwd=tmp_path)
    assert flipped.code == 0
    assert "rows that both sides decide change their decision" in flipped.out
    split = evalkit("partition", CASES, "--labels", LABELS, "--out", "split.jsonl", "--seed", 3, cwd=tmp_path)
    assert split.code == 0
    before = [json.loads(line) for line in CASES.read_text().splitlines()]
    after = [json.loads(line) for line in (tmp_path / "split.jsonl").read_text().splitlines()]
    assert [row | {"partition": None} for row in after] == [row | {"partition": None} for row in before]
    assert evalkit("partition", CASES, "--out", "split.jsonl", cwd=tmp_path).code == 2
