from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.cases.strict_json import MAX_DEPTH
from evalkit.contract import EvalkitError
from evalkit.contract.words import DECISIONS, STATES
from evalkit.scoring.ledger import Ledger, Values
from evalkit.scoring.records import KNIFE_EDGE, Record, Ruling, is_knife_edge

# The fields of records.jsonl in their order, spelt out: they are a public interface.
FIELDS = [
    "line", "case_id", "slice", "blocking", "family", "partition", "state", "value", "reason", "detail", "error_kind",
    "decision", "minimum", "policy_version", "inputs", "evidence", "input_hash", "evidence_hash", "seen_hash",
    "contract_version", "requirement_set_version", "lineage", "owner", "judge",
]  # fmt: skip


def record(**changed: Any) -> Record:
    plain: dict[str, Any] = {
        "line": 1, "case_id": "a", "slice": "default", "blocking": True, "family": None, "partition": None,
        "state": "scored", "value": 0.5, "reason": "half", "detail": {}, "error_kind": None, "decision": None,
        "minimum": None, "policy_version": None, "inputs": {"x": 1}, "evidence": None, "input_hash": "sha256:0",
        "evidence_hash": None, "seen_hash": "sha256:0", "contract_version": "1", "requirement_set_version": None,
        "lineage": {}, "owner": None, "judge": None,
    }  # fmt: skip
    return Record(**(plain | changed))


def test_a_record_is_written_under_a_ruling_as_if_it_had_been_ruled() -> None:
    every = Record(*(f"{name} of the record" for name in Record._fields))  # type: ignore[arg-type]
    ruling = Ruling("pass", 0.5, "7", "answer")
    assert every.to_json_under(ruling) == every.ruled(ruling).to_json()
    assert list(json.loads(every.to_json_under(ruling))) == FIELDS


def unscored(state: str = "invalid", **changed: Any) -> Record:
    return record(**({"state": state, "value": None, "owner": "test-data"} | changed))


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
INTEGERS = st.integers(-(2**63), 2**64 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)


@st.composite
def records(draw: st.DrawFn) -> Record:
    state = draw(st.sampled_from(STATES))
    value = draw(FLOATS | INTEGERS | TEXTS | st.lists(JSON, max_size=3)) if state == "scored" else None
    return record(
        line=draw(st.integers(1, 10**9)), case_id=draw(st.none() | TEXTS), slice=draw(TEXTS),
        blocking=draw(st.booleans()), state=state, value=value, reason=draw(TEXTS), detail=draw(OBJECTS),
        decision=draw(st.sampled_from([None, *DECISIONS])), minimum=draw(st.none() | FLOATS),
        inputs=draw(st.none() | OBJECTS), evidence=draw(st.none() | OBJECTS), lineage=draw(OBJECTS),
        owner=draw(st.none() | TEXTS),
    )  # fmt: skip


# --- the line that is written -----------------------------------------------------------------------------------------


def test_the_fields_and_their_order_are_those_of_the_format():
    assert list(Record._fields) == FIELDS
    assert list(json.loads(record().to_json())) == FIELDS


@settings(max_examples=200)
@given(records())
def test_a_record_comes_back_as_it_was_written(found: Record):
    raw = found.to_json()
    assert raw.endswith(b"\n")
    assert raw.count(b"\n") == 1
    assert Record.from_json(raw[:-1], where="here") == found


def test_no_digit_of_a_value_is_lost_on_the_way():
    for value in (0.1 + 0.2, 1 / 3, 5e-324, 1.7976931348623157e308, 2**64 - 1, -(2**63), -0.0):
        back = Record.from_json(record(value=value).to_json(), where="here").value
        assert (back, type(back)) == (value, type(value))


def test_a_record_of_the_deepest_case_can_be_read_back():
    deep: Any = 1
    for _ in range(MAX_DEPTH - 1):
        deep = [deep]
    found = record(inputs={"x": deep})
    assert Record.from_json(found.to_json(), where="here") == found


@pytest.mark.parametrize(
    "value",
    [object(), {1: "x"}, {"x": {1, 2}}, {"x": "\ud800"}, {"x": 2**64}, {"x": 1 + 2j}],
    ids=["object", "key", "set", "surrogate", "integer", "complex"],
)
def test_what_cannot_be_written_becomes_the_metrics_error(value: Any):
    found = record(detail={"bad": value}, decision="pass")
    with pytest.raises(TypeError) as caught:
        found.to_json()
    mended = found.unwritable(caught.value)
    assert (mended.state, mended.value, mended.detail) == ("error", None, {})
    assert (mended.error_kind, mended.decision, mended.owner) == ("wrong_shape", None, "metric")
    assert mended.reason.startswith("the metric's result is not plain JSON (")
    assert mended.to_json()


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"state": "passed"}, "state must be one of scored, invalid, error, unrun; got 'passed'"),
        ({"decision": "green"}, "decision must be one of pass, fail, review; got 'green'"),
        ({"state": "invalid"}, "state 'invalid' with value 0.5"),
        ({"value": None}, "state 'scored' with value None"),
        ({"value": True}, "value cannot be True"),
        ({"value": {"a": 1}}, "value cannot be {'a': 1}"),
        ({"line": "1"}, "line cannot be '1'"),
        ({"line": True}, "line cannot be True"),
        ({"slice": None}, "slice cannot be None"),
        ({"blocking": 1}, "blocking cannot be 1"),
        ({"blocking": None}, "blocking cannot be None"),
        ({"case_id": 5}, "case_id cannot be 5"),
        ({"lineage": None}, "lineage cannot be None"),
        ({"detail": [1]}, "detail cannot be [1]"),
        ({"reason": None}, "reason cannot be None"),
        ({"evidence": "x"}, "evidence cannot be 'x'"),
        ({"inputs": []}, "inputs cannot be []"),
        ({"minimum": "0.5"}, "minimum cannot be '0.5'"),
        ({"owner": 1}, "owner cannot be 1"),
    ],
    ids=repr,
)
def test_a_line_that_is_no_record_is_refused_with_its_place(change: dict[str, Any], fragment: str):
    raw = orjson.dumps(record()._asdict() | change)
    with pytest.raises(EvalkitError) as caught:
        Record.from_json(raw, where="records.jsonl, line 7")
    assert str(caught.value).startswith(f"records.jsonl, line 7: is not a record: {fragment}")


@pytest.mark.parametrize("name", FIELDS)
def test_each_field_must_be_there(name: str):
    fields = record()._asdict()
    del fields[name]
    with pytest.raises(EvalkitError, match=f"{name!r} is absent"):
        Record.from_json(orjson.dumps(fields), where="here")


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b'{"line":1,"line":2}', b"\xff"], ids=repr)
def test_a_damaged_line_is_refused_in_words(raw: bytes):
    with pytest.raises(EvalkitError, match="is not a record") as caught:
        Record.from_json(raw, where="records.jsonl, line 2")
    assert caught.value.where == "records.jsonl, line 2"


def test_fields_of_a_later_version_are_left_alone():
    assert Record.from_json(orjson.dumps(record()._asdict() | {"later": 1}), where="here") == record()


def test_a_ruling_changes_four_fields_and_nothing_else():
    before = record(owner="metric")
    after = before.ruled(Ruling("fail", 0.75, "v2", "answer"))
    assert (after.decision, after.minimum, after.policy_version, after.owner) == ("fail", 0.75, "v2", "answer")
    same = {"decision", "minimum", "policy_version", "owner"}
    assert {name for name in FIELDS if getattr(before, name) != getattr(after, name)} == same


# --- knife edges ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "minimum", "decision", "expected"),
    [
        (0.85 - 5e-10, 0.85, "fail", True),
        (0.85 - 5e-10, 0.85, "review", True),
        (0.85 + 5e-10, 0.85, "fail", True),  # a maximum, where lower is better
        (0.85 - 2e-9, 0.85, "fail", False),
        (0.85, 0.85, "pass", False),
        (0.85 - 5e-10, 0.85, "pass", False),
        (0.85, 0.85, "review", False),  # a slice that people decide: nothing is missed
        (1 / 3 + 1 / 3 + 1 / 3 - 2**-53, 1.0, "fail", True),
        ("fail", None, "fail", False),
        (0.5, None, "fail", False),
        (3, 3.0000000001, "fail", True),
    ],
)
def test_a_knife_edge_is_a_miss_within_a_billionth(value: Any, minimum: Any, decision: Any, expected: bool):
    assert is_knife_edge(record(value=value, minimum=minimum, decision=decision)) is expected


def test_the_width_of_the_knife_edge_is_a_public_figure():
    assert KNIFE_EDGE == 1e-9


# --- the ledger -------------------------------------------------------------------------------------------------------


def ledger_of(found: list[Record], blank: int = 0) -> Ledger:
    ledger = Ledger()
    ledger.lines, ledger.blank = len(found) + blank, blank
    for one in found:
        ledger.add(one)
    return ledger


SOME = [
    record(decision="pass", value=1.0),
    record(decision="fail", value=0.25, slice="refunds"),
    record(decision="review", value=0.5, slice="refunds", blocking=False),
    record(decision=None, value=0.75, slice="unknown"),
    unscored(),
    unscored("error", slice="refunds"),
    unscored("unrun", blocking=False),
]


def test_the_ledger_counts_every_row_once_and_says_of_how_many_a_mean_is():
    facts = ledger_of(SOME, blank=2).facts()
    assert (facts["lines"], facts["blank"]) == (9, 2)
    assert {name: facts[name] for name in STATES} == {"scored": 4, "invalid": 1, "error": 1, "unrun": 1}
    assert {name: facts[name] for name in DECISIONS} == {"pass": 1, "fail": 1, "review": 1}
    # (1 + 0.25 + 0.5 + 0.75) / 4
    assert (facts["mean"], facts["mean_of"]) == (0.625, 4)
    assert facts["blocking"]["scored"] == 3
    assert facts["blocking"]["invalid"] == 1
    assert facts["blocking"]["unrun"] == 0
    assert list(facts["slices"]) == ["default", "refunds", "unknown"]
    assert (facts["slices"]["refunds"]["mean"], facts["slices"]["refunds"]["mean_of"]) == (0.375, 2)
    assert facts["slices"]["default"]["mean_of"] == 1


def test_a01_rows_that_err_do_not_raise_the_mean_and_stand_beside_it():
    facts = ledger_of([record(value=1.0), unscored(), record(value=0.0)]).facts()
    assert (facts["mean"], facts["mean_of"], facts["invalid"], facts["lines"]) == (0.5, 2, 1, 3)


def test_a02_over_nothing_there_is_no_mean():
    facts = ledger_of([unscored(), unscored("error")]).facts()
    assert (facts["mean"], facts["mean_of"]) == (None, 0)
    assert Ledger().facts()["mean"] is None


def test_labels_and_rankings_have_no_mean():
    facts = ledger_of([record(value="pass"), record(value="fail"), record(value=["a", "b"])]).facts()
    assert (facts["mean"], facts["mean_of"], facts["scored"]) == (None, 2, 3)


def test_a_mean_beyond_what_a_float_holds_is_no_number():
    assert ledger_of([record(value=1.7e308), record(value=1.7e308)]).facts()["mean"] is None
    assert ledger_of([record(value=1.7e308), record(value=1.6e308)]).facts()["mean"] is None


def test_a_ledger_that_does_not_add_up_is_a_fault_of_ours():
    ledger = ledger_of(SOME)
    ledger.check()
    ledger.lines += 1
    with pytest.raises(AssertionError, match="the ledger does not add up: 8 lines, 0 blank, 7 records"):
        ledger.check()


def test_revisions_are_those_of_blocking_rows():
    found = [
        record(lineage={"system_revision": "r1"}),
        record(lineage={"system_revision": "r2"}, blocking=False),
        unscored(),
    ]
    assert ledger_of(found).revisions == {"r1": 1, None: 1}


# Sums of eighths are exact in a float, so that the order of adding cannot show.
EIGHTHS = st.builds(
    lambda value, name, blocking, decision: record(value=value / 8, slice=name, blocking=blocking, decision=decision),
    st.integers(0, 8),
    st.sampled_from(["a", "b"]),
    st.booleans(),
    st.sampled_from([None, *DECISIONS]),
) | st.builds(unscored, st.sampled_from(STATES[1:]), slice=st.sampled_from(["a", "c"]), blocking=st.booleans())
PARTS = st.lists(EIGHTHS, max_size=6)


@settings(max_examples=150)
@given(PARTS, PARTS, PARTS)
def test_however_ledgers_are_merged_they_come_to_the_same(one, two, three):
    whole = ledger_of([*one, *two, *three], blank=3)

    left = ledger_of(one, blank=1)
    left.merge(ledger_of(two, blank=1))
    left.merge(ledger_of(three, blank=1))

    right, tail = ledger_of(one, blank=1), ledger_of(two, blank=1)
    tail.merge(ledger_of(three, blank=1))
    right.merge(tail)

    for merged in (left, right):
        assert merged.facts() == whole.facts()
        assert merged.counts == whole.counts
        assert merged.revisions == whole.revisions
        merged.check()


@settings(max_examples=100)
@given(PARTS)
def test_every_total_is_the_count_of_the_rows_that_match(found):
    ledger = ledger_of(found)
    for state in (None, *STATES):
        for decision in (None, *DECISIONS):
            for blocking in (None, True, False):
                for name in (None, "a", "b"):
                    expected = sum(
                        (state is None or r.state == state)
                        and (decision is None or r.decision == decision)
                        and (blocking is None or r.blocking == blocking)
                        and (name is None or r.slice == name)
                        for r in found
                    )
                    assert ledger.total(state=state, decision=decision, blocking=blocking, slice=name) == expected


def test_values_say_when_their_counts_are_not_all():
    values, other = Values(), Values()
    for i in range(Values.MOST_DISTINCT):
        values.add(float(i))
    assert values.uncounted == 0
    values.add(0.0)  # a value that is known is counted all the same
    assert (values.uncounted, values.counts[0.0, None]) == (0, 2)
    other.add(-1.0)
    other.add(None)  # a ranking has no place on an axis
    values.merge(other)
    assert (values.uncounted, values.n, len(values.counts)) == (2, Values.MOST_DISTINCT + 2, Values.MOST_DISTINCT)
    # Counted or not, every number is in the mean: (0 + 1 + … + 4999) + 0 - 1 over 5,002.
    assert values.mean() == (4999 * 5000 / 2 - 1) / 5002


def test_values_are_counted_under_each_decision_with_what_they_are_out_of():
    values = Values()
    values.add(0.5, "fail", 4, 3)
    values.add(0.5, "review", 2)
    values.add(1.0, "pass", 4)
    assert values.counts == {(0.5, "fail"): 3, (0.5, "review"): 1, (1.0, "pass"): 1}
    assert values.by_value() == {0.5: 4, 1.0: 1}
    assert values.denominators == {4: 4, 2: 1}
    assert values.scored == values.n == 5


def test_a_mean_does_not_show_the_order_of_its_rows():
    # In floats 0.1 + 0.2 + 0.3 is 0.6000000000000001 and 0.3 + 0.2 + 0.1 is 0.6: one run must not have two means.
    means = [
        ledger_of([record(value=v) for v in order]).facts()["mean"] for order in ((0.1, 0.2, 0.3), (0.3, 0.2, 0.1))
    ]
    assert means == [0.6 / 3, 0.6 / 3]


@pytest.mark.parametrize("forged", [None, [], 5, {}, {"line": 1}, record()._asdict() | {"detail": None}])
def test_fields_that_are_no_record_are_not_made_one(forged: Any) -> None:
    assert Record.from_fields(forged) is None
    assert Record.from_fields(record()._asdict()) == record()
