from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import meeting_room as room
import pytest

from evalkit.cases.layout import Each, misfit
from evalkit.contract import EvalkitError
from evalkit.decisions.meeting.agenda import AGENDA_NAME, read_agenda
from evalkit.decisions.meeting.approve import Action, Approved
from evalkit.decisions.meeting.decision_record import latest_decision


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A meeting that has decided, with an action and a flip in its record."""
    review = room.opened(tmp_path)
    for case_id in review.agenda.rows:
        review.cast("anna", case_id, "ship")
    review.decide(
        {"default": 0.8},
        Approved(
            approved_by="the council", rationale="r", expires_on=room.date(2027, 2, 1), decided_on=room.DAY,
            basis="by_definition", actions=(Action("mend it", "anna", room.DAY),),
        ),
    )  # fmt: skip
    return review.folder


def change(path: Path, keys: tuple[str | int, ...], value: Any) -> None:
    facts = json.loads(path.read_text())
    inner = facts
    for key in keys[:-1]:
        inner = inner[key]
    if value is None:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    path.write_text(json.dumps(facts))


def test_a_record_is_read_as_it_was_written(folder: Path) -> None:
    found = latest_decision(folder)
    assert found is not None
    assert found["actions"] == [{"what": "mend it", "owner": "anna", "due": "2026-12-01"}]
    assert latest_decision(folder / "nowhere") is None


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (("actions",), None, "actions is absent"),  # found by make fuzz: a KeyError in the minutes
        (("actions", 0), "mend it", "actions[0] must be an object; got 'mend it'"),
        (("actions", 0, "owner"), None, "actions[0].owner is absent"),
        (("attendees",), "anna", "attendees must be a list; got 'anna'"),
        (
            ("slices", 0, "threshold"),
            "0.8",
            "slices[0].threshold must be a whole number or a number or null; got '0.8'",
        ),
        (("agreement", "before", "pairs_agreeing"), True, "agreement.before.pairs_agreeing must be a whole number"),
        (("flips", "flips", 0, "case_id"), 7, "flips.flips[0].case_id must be a text; got 7"),
        (("policy", "sha256"), None, "policy.sha256 is absent"),
    ],
)
def test_a_record_that_was_edited_is_refused_with_the_place(
    folder: Path, keys: tuple[str | int, ...], value: Any, said: str
) -> None:
    (path,) = folder.glob("decision-*.json")
    change(path, keys, value)
    with pytest.raises(EvalkitError, match="cannot be read as the record of a decision") as caught:
        latest_decision(folder)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        (("run_id",), 5, "run_id must be a text; got 5"),
        (("thresholds", "default"), "0.75", "thresholds.default must be a whole number or a number; got '0.75'"),
        (("thresholds",), [], "thresholds must be an object; got []"),
        (("options", "n"), 2.5, "options.n must be a whole number; got 2.5"),
        (("options", "seed"), None, "options.seed is absent"),
        (("rows", 0, "seen_hash"), None, "rows[0].seen_hash is absent"),
        (("rows", 0, "case_id"), ["a"], "rows[0].case_id must be a text; got ['a']"),
    ],
)
def test_an_agenda_that_was_edited_is_refused_with_the_place(
    folder: Path, keys: tuple[str | int, ...], value: Any, said: str
) -> None:
    change(folder / AGENDA_NAME, keys, value)
    with pytest.raises(EvalkitError, match="cannot be read as an agenda") as caught:
        read_agenda(folder / AGENDA_NAME)
    assert said in str(caught.value)


def test_a_layout_of_names_holds_for_each_value() -> None:
    assert misfit({"a": 1, "b": 2.0}, Each((int, float))) is None
    assert misfit({"a": 1, "b": None}, Each((int, float))) == "b must be a whole number or a number; got None"
