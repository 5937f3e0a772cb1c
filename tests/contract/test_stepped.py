"""The declaration of a judge of several questions: its inputs, what an empty list means, and what it cannot do."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import pytest

from evalkit.contract import Contract, ContractError
from evalkit.contract.stepped import SteppedJudge, WhenEmpty

CONTRACT = Contract(
    version="2",
    measures="share of sentences that a passage holds",
    reviewed=("question",),
    produced=("passages",),
    invalid_when=("the question is blank",),
    consumed_by="tests",
    cannot_establish="anything else",
    allows_missing={"passages": {"[]": "nothing was found, so 0.0"}},
)


def judge(**changes: Any) -> SteppedJudge:
    facts: dict[str, Any] = {
        "name": "held",
        "target": "their.module:Held",
        "contract": CONTRACT,
        "lists": ("passages",),
    }
    return SteppedJudge(**facts | changes)


def test_its_inputs_are_those_of_its_contract_and_it_gives_a_share() -> None:
    found = judge()
    assert [(p.name, p.annotation, p.is_list) for p in found.parameters] == [
        ("question", str, False),
        ("passages", list[str], True),
    ]
    assert (found.kind, found.allowed_values, found.fenced) == ("numeric", (0.0, 1.0), False)
    assert found.measure({"question": "q", "passages": ["a"]}).state == "unrun"
    assert found.measure({"question": " ", "passages": ["a"]}).state == "invalid"
    without = SteppedJudge(name="held", target="t:H", inputs=("text",), lists=())
    assert ([p.name for p in without.parameters], without.version, len(without.unanswered())) == (["text"], "0", 4)


def test_an_empty_list_has_the_declared_value_once_the_row_is_in_order() -> None:
    found = judge(when_empty={"passages": WhenEmpty(0.0, "nothing was found")})
    assert found.measure({"question": "q", "passages": []})[:4] == (
        "scored", 0.0, "nothing was found", {"passages": []},
    )  # fmt: skip
    assert found.measure({"question": "", "passages": []}).state == "invalid"
    assert found.measure({"question": "q", "passages": None}).state == "invalid"
    with pytest.raises(ContractError, match=r"held has a value for an empty passages, but its contract does not say"):
        judge(when_empty={"passages": WhenEmpty(0.0, "r")}, contract=replace(CONTRACT, allows_missing={}))


def test_everything_that_decides_its_value_is_in_the_fingerprint() -> None:
    own = judge().fingerprint
    changes: list[dict[str, Any]] = [
        {"target": "their.module:Other"}, {"settings": {"strictness": 5}}, {"embeds": True}, {"asks": False},
        {"allowed_values": (-1.0, 1.0)}, {"source": "sha256:1"}, {"system_prompt": "Be strict."},
        {"when_empty": {"passages": WhenEmpty(0.0, "r")}},
    ]  # fmt: skip
    found = [judge(**change).fingerprint for change in changes]
    assert len({own, *found}) == 1 + len(changes)
    assert judge().fingerprint == own


def test_it_is_pickled_and_given_another_contract_like_any_judge() -> None:
    found = judge(settings={"strictness": 5}, when_empty={"passages": WhenEmpty(0.0, "r")})
    again = pickle.loads(pickle.dumps(found))
    assert (again.fingerprint, dict(again.settings), again.parameters) == (
        found.fingerprint, {"strictness": 5}, found.parameters,
    )  # fmt: skip
    assert replace(found, contract=replace(CONTRACT, version="3")).version == "3"


def test_it_has_no_one_prompt_and_is_not_called_row_by_row() -> None:
    with pytest.raises(TypeError, match=r"held asks several questions: see them with evalkit judge held CASES"):
        judge().render({"question": "q", "passages": []})
    with pytest.raises(TypeError, match="not called row by row"):
        judge().score(question="q", passages=[])
