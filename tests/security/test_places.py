"""No name that comes from a file leads out of its folder, and what runs code says so before it does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import meeting_room as room
import pytest
from hostile import evalkit

from evalkit.contract import EvalkitError
from evalkit.contract.lint import lint_name
from evalkit.decisions.meeting.agenda import VOTES_NAME, AgendaOptions, review_folder
from evalkit.decisions.meeting.approve import Approved
from evalkit.decisions.meeting.votes import vote_path

OUT = (
    "../../outside",
    "/tmp/outside-of-evalkit",
    "..\\..\\outside",
    "a/../../b",
    "x\x00y",
    "~/outside",
    "..",
    ".",
)
"""Names that would lead out of a folder if they became a part of a path."""
COMMANDS = ("gate", "calibrate", "mutate", "flips", "estimate", "next-labels")


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder deep enough that whatever climbs out of it lands where the test looks."""
    here = tmp_path / "a" / "b" / "here"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    return here


def test_ids_of_rows_runs_versions_and_reviewers_name_no_path(here: Path, tmp_path: Path) -> None:
    rows = [room.row(f"{name} {n}" if n else name, 2 + n % 2) for n in range(2) for name in OUT]
    rows = [row | {"slice": "default", "family": row["case_id"], "system_revision": row["case_id"]} for row in rows]
    room.write_lines(here / "cases.jsonl", rows)
    policy = room.POLICY.replace('version = "7"', 'version = "../../outside.1"').replace('"release"', '"../../outside"')
    room.write_policy(here / "policy.toml", policy)
    gated = ("gate", "evidence_coverage", here / "cases.jsonl", "--policy", here / "policy.toml")
    evalkit(*gated, "--as-of", "2026-12-01", "--run", here / "run")
    manifest = json.loads((here / "run/manifest.json").read_text())
    (here / "run/manifest.json").write_text(json.dumps(manifest | dict.fromkeys(("run_id", "cases"), "../../outside")))
    evalkit("explain", here / "run", "--json", here / "e.json")
    evalkit("ballot", here / "run", "--out", here / "ballot.html")
    review = room.opened(here, rows=rows, policy=policy, folder=review_folder(here / "run"), labels=None,
                         agenda=AgendaOptions(n=5, far=5))  # fmt: skip
    for number, name in enumerate(OUT):
        if name.isprintable():
            review.cast(name, list(review.agenda.rows)[number % len(review.agenda.rows)], "ship")
    review.decide({"default": 0.8}, Approved(
        approved_by="../../outside", rationale="r", expires_on=room.date(2027, 2, 1), decided_on=room.DAY,
        basis="by_definition",
    ))  # fmt: skip
    evalkit("packet", here / "run", "--policy", here / "decided.toml", "--out", here / "packet.html")
    assert (here / "packet.html").exists()
    above = {name for name in files(tmp_path) if not name.startswith("a/b/here")}
    assert above == {"a", "a/b"}
    assert not Path("/tmp/outside-of-evalkit").exists()
    assert {path.parent.name for path in here.rglob("*.jsonl")} == {"here", "run", VOTES_NAME}


@pytest.mark.parametrize("name", OUT)
def test_a_reviewer_s_name_is_a_file_in_the_folder_of_votes(name: str) -> None:
    path = vote_path(Path("votes"), name)
    assert path.parent == Path("votes")
    assert path.name == path.name.replace("/", "").replace("\\", "").replace("\x00", "")


@pytest.mark.parametrize("name", OUT)
def test_a_metric_s_name_is_an_identifier(name: str) -> None:
    """It becomes the folder of its run where several metrics are scored, and the name of its cassette."""
    with pytest.raises(EvalkitError, match="a metric's name must be an ASCII identifier"):
        lint_name(name)


@pytest.mark.parametrize("name", [name for name in OUT if "\x00" not in name])
def test_new_makes_nothing_outside_its_folder(here: Path, tmp_path: Path, name: str) -> None:
    assert evalkit("new", name).code == 2
    assert files(tmp_path) == {"a", "a/b", "a/b/here"}


def test_help_says_that_naming_code_runs_it() -> None:
    def told(*command: str) -> str:
        done = subprocess.run([sys.executable, "-m", "evalkit", *command, "--help"], capture_output=True, check=True)
        return " ".join(done.stdout.decode().replace("│", " ").split())

    assert "naming it runs it" in told()
    for command in COMMANDS:
        assert "(code that is run)" in told(command), command
    assert "(code that is run)" in told("adapt")
