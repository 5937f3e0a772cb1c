"""The reviewed file of causes: strict, bound to one disagreement, the earliest faulty boundary first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from labelled_rows import record

from evalkit.contract import EvalkitError
from evalkit.decisions.certifying.causes import CAUSES, draft_line, earliest, read_causes, still_fits

ROW = record("c1", "pass", seen_hash="sha256:c1")
WHOLE = draft_line(ROW, "fail") | {"cause": "prompt_gap", "reason": "fees are not named", "reviewer": "r1"}


def written(folder: Path, *lines: Any) -> Path:
    path = folder / "causes.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def test_there_are_the_eight_causes_of_s2_13_and_each_has_an_owner() -> None:
    assert set(CAUSES) == {
        "gold_defect", "rubric_ambiguity", "missing_evidence", "prompt_gap", "evaluator_reasoning", "parser_defect",
        "provider_failure", "out_of_scope",
    }  # fmt: skip
    assert {name: cause.owner for name, cause in CAUSES.items() if cause.owner != "judge"} == {
        "out_of_scope": "policy", "gold_defect": "test-data", "rubric_ambiguity": "rubric",
        "missing_evidence": "test-data", "provider_failure": "provider",
    }  # fmt: skip


def test_the_earliest_faulty_boundary_wins_whatever_the_order() -> None:
    assert earliest(["evaluator_reasoning", "gold_defect", "prompt_gap"]) == "gold_defect"
    assert earliest(["parser_defect", "out_of_scope"]) == "out_of_scope"
    assert earliest([]) is None


def test_a_draft_is_read_and_stays_open(tmp_path: Path) -> None:
    (found,) = read_causes(written(tmp_path, draft_line(ROW, "fail")))
    assert found.is_open
    assert (found.verdict, found.label, found.seen_hash) == ("pass", "fail", "sha256:c1")


def test_a_classified_row_fits_this_disagreement_and_no_other(tmp_path: Path) -> None:
    (found,) = read_causes(written(tmp_path, WHOLE))
    assert still_fits(found, ROW, "fail")
    assert not still_fits(found, ROW, "pass")
    assert not still_fits(found, ROW._replace(value="fail"), "fail")
    assert not still_fits(found, ROW._replace(seen_hash="sha256:another answer"), "fail")


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"cause": "bad luck"}, "cause must be one of the eight; got 'bad luck'"),
        ({"reviewer": " "}, "reviewer is absent: a cause is somebody's judgement"),
        ({"reason": None}, "reason is absent"),
        ({"case_id": ""}, "case_id must be a non-blank text; got ''"),
        ({"verdict": None}, "verdict must be a non-blank text; got None"),
        ({"classified_on": "yesterday"}, "classified_on must be a date"),
        ({"casue": "prompt_gap"}, "the key 'casue' is unknown"),
        ({"seen_hash": 3}, "seen_hash must be a text or null; got 3"),
    ],
)
def test_a_line_that_is_not_in_order_refuses_the_file(tmp_path: Path, change: dict[str, Any], fragment: str) -> None:
    with pytest.raises(EvalkitError) as caught:
        read_causes(written(tmp_path, WHOLE | change))
    assert fragment in str(caught.value)
    assert "line 1" in str(caught.value)


def test_one_cause_twice_for_a_case_is_refused_and_two_causes_are_not(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match="line 1 and line 2 both give 'c1' the cause 'prompt_gap'"):
        read_causes(written(tmp_path, WHOLE, WHOLE))
    assert len(read_causes(written(tmp_path, WHOLE, WHOLE | {"cause": "gold_defect"}))) == 2
