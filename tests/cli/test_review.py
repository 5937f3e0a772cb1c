"""ballot, votes collect and packet as a user runs them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import meeting_room as room
import pytest

from evalkit.decisions.meeting.agenda import AGENDA_NAME, read_agenda
from evalkit.decisions.meeting.vote_entry import new_entry


def evalkit(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalkit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_a_meeting_by_mail_from_ballot_to_packet(tmp_path: Path) -> None:
    run = room.gated_run(tmp_path)
    done = evalkit("ballot", run, "--out", tmp_path / "ballot.html", "--slice", "default", "--rows", 2, "--far", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert "5 rows around default 0.75" in done.stdout
    agenda = read_agenda(tmp_path / "run.review" / AGENDA_NAME)
    lines = [
        new_entry("vote", "zoe", agenda.run_id, case_id=c, seen_hash=s, vote="hold", source="ballot").to_json()
        for c, s in agenda.rows.items()
    ]
    file = tmp_path / "votes-zoe.jsonl"
    file.write_bytes(b"".join(lines))
    done = evalkit("votes", "collect", file, "--run", run, "--json", "-")
    assert done.returncode == 0
    assert json.loads(done.stdout)["reviewers"] == {"zoe": {"voted": 5, "added": 5, "known": 0}}
    packet = ["packet", run, "--policy", tmp_path / "policy.toml", "--out", tmp_path / "packet.html"]
    done = evalkit(*packet, "--labels", room.write_labels(tmp_path / "labels.jsonl"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 reviewers" in done.stdout
    done = evalkit(*packet, "--minutes", tmp_path / "minutes.md")
    assert done.returncode == 2
    assert "nothing has been decided yet" in done.stderr
    file.write_bytes(lines[0].replace(b"sha256:", b"sha256:0"))
    done = evalkit("votes", "collect", file, "--run", run)
    assert (done.returncode, done.stdout) == (2, "")
    assert "on other answers than this run shows" in done.stderr
    assert "Traceback" not in done.stderr
