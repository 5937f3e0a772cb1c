"""`evalkit new`: what it writes passes the checks as it stands, from any folder, for each kind of metric."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from evalkit.contract import EvalkitError, Outcome
from evalkit.decisions.gate import GateOptions, gate
from evalkit.mutate import kill_matrix
from evalkit.pages.new import STARTER_KINDS, StarterKind, start_metric, started_screen
from evalkit.scoring.load import load_metric

TODAY = date(2026, 11, 30)
COMPUTED: tuple[StarterKind, ...] = ("numeric", "discrete", "ranking")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "evalkit", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", COMPUTED)
def test_every_planted_fault_is_caught_by_the_cases(kind: StarterKind):
    started = start_metric("my_metric", kind=kind, on=TODAY)
    matrix = kill_matrix(started.spec, started.folder / "contract.jsonl")
    assert matrix.outcome is Outcome.passed
    assert matrix.score == 1.0
    assert not matrix.of("survived")


def test_the_reviewed_equivalent_is_found_under_any_name_of_the_metric():
    started = start_metric("quite_another_name", "deep/er", on=TODAY)
    matrix = kill_matrix(started.spec, "deep/er/contract.jsonl")
    (equivalent,) = matrix.of("equivalent")
    assert equivalent.id.startswith("quite_another_name:clamp:")


@pytest.mark.parametrize("kind", COMPUTED)
@pytest.mark.parametrize("day", [TODAY, date(2027, 1, 29)])  # 2026-11-30 and 60 days
def test_the_gate_lets_the_rows_through_until_the_policy_ends(kind: StarterKind, day: date):
    started = start_metric("my_metric", kind=kind, on=TODAY)
    metric = load_metric(started.spec)
    rows, policy = started.folder / "release.jsonl", started.folder / "policy.toml"
    result = gate(metric, rows, policy, options=GateOptions(as_of=day))
    assert result.exit_code == 0
    assert result.ledger.total(state="scored") == result.ledger.total() > 2
    assert result.outcome is (Outcome.review_required if kind == "ranking" else Outcome.passed)


def test_a_starter_policy_does_not_hold_for_ever():
    started = start_metric("my_metric", on=TODAY)
    metric = load_metric(started.spec)
    rows, policy = started.folder / "release.jsonl", started.folder / "policy.toml"
    result = gate(metric, rows, policy, options=GateOptions(as_of=date(2027, 1, 30)))
    assert result.outcome is Outcome.incomplete
    assert "expired on 2027-01-29 (provisional: 60 days at most)" in result.blockers[0].sentence


def test_a_judge_is_replayed_and_gated_without_a_key(monkeypatch: pytest.MonkeyPatch):
    for name in ("OPENAI_API_KEY", "EVALKIT_JUDGE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    started = start_metric("my_judge", kind="judge")
    judged = run("judge", started.spec, "my_judge/release.jsonl", "--run", "runs/first",
                 "--replay", "my_judge/my_judge.cassette.jsonl")  # fmt: skip
    assert judged.returncode == 0, judged.stderr
    assert "replayed: 4" in judged.stdout
    tried = run("controls", started.spec, "my_judge/controls.jsonl")
    assert tried.returncode == 0, tried.stdout
    assert "all 13 controls separate" in tried.stdout
    assert "11 of 11 judges" in tried.stdout
    gated = run("gate", started.spec, "runs/first", "--policy", "my_judge/policy.toml")
    assert gated.returncode == 0, gated.stdout
    assert "3 of 3 decided blocking rows pass" in gated.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", STARTER_KINDS)
def test_every_command_it_names_passes_as_it_was_printed(kind: StarterKind):
    told = run("new", "my_metric", "--kind", kind)
    assert told.returncode == 0, told.stderr
    commands = re.findall(r"^  (evalkit .+)$", told.stdout, re.MULTILINE)
    assert len(commands) == 4
    for command in commands:
        done = run(*command.split()[1:])
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("kind", STARTER_KINDS)
def test_each_file_of_cases_has_its_line_in_the_record_of_changes(kind: StarterKind):
    started = start_metric("my_metric", kind=kind, on=TODAY)
    changes = (started.folder / "CHANGES.md").read_text(encoding="utf-8")
    cases = [file for file in started.files if file.endswith(".jsonl")]
    assert cases
    for file in cases:
        found = hashlib.sha256((started.folder / file).read_bytes()).hexdigest()[:12]
        assert f"| 2026-11-30 | `{file}` | `{found}` |" in changes


@pytest.mark.parametrize("kind", STARTER_KINDS)
def test_no_placeholder_is_left_and_the_count_on_the_card_is_true(kind: StarterKind):
    started = start_metric("my_metric", kind=kind, on=TODAY)
    for path in started.folder.iterdir():
        assert not re.search(r"\$[a-z{]", path.read_text(encoding="utf-8")), path.name
    card = (started.folder / "card.md").read_text(encoding="utf-8")
    counts = re.findall(r"`(\w+\.jsonl)`: (\d+) (?:cases|rows)", card)
    assert counts
    for file, count in counts:
        assert len((started.folder / file).read_text(encoding="utf-8").splitlines()) == int(count)


def test_nothing_is_overwritten():
    Path("my_metric").mkdir()
    Path("my_metric/notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(EvalkitError, match=r"my_metric: something lies in this folder already, and nothing is over"):
        start_metric("my_metric")
    assert [path.name for path in Path("my_metric").iterdir()] == ["notes.txt"]
    with pytest.raises(EvalkitError, match="a folder was expected; this is a file"):
        start_metric("other", "my_metric/notes.txt")


@pytest.mark.parametrize("name", ["my-metric", "value", "class", "1st", "étude"])
def test_a_name_that_no_metric_may_have_is_refused_before_anything_is_written(name: str):
    with pytest.raises(EvalkitError):
        start_metric(name)
    assert not list(Path().iterdir())


def test_an_unknown_kind_names_the_known_ones():
    done = run("new", "my_metric", "--kind", "boolean")
    assert done.returncode == 2
    assert done.stderr == "evalkit: --kind must be one of numeric, discrete, ranking, judge; got 'boolean'\n"


def test_the_screen_names_every_file_and_the_json_too():
    started = start_metric("my_metric", "made/here", on=TODAY)
    screen = started_screen(started)
    assert all(f"  made/here/{file}\n" in screen for file in started.files)
    done = run("new", "my_other", "--json", "-")
    assert '"metric": "my_other/my_other.py:my_other"' in done.stdout
