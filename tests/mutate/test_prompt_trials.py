"""Faulty prompts tried on controls: planned first, replayed, and asked through the real client over loopback."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from control_rows import BUNDLED, rows_of, rule, write_rows
from endpoint import Answer, Call, Endpoint, status, verdict

from evalkit.cases.control_file import ControlSuite, read_controls
from evalkit.contract import EvalkitError
from evalkit.decisions.controlling.results import ControlRun
from evalkit.decisions.controlling.running import run_controls
from evalkit.metrics.refund_answer import refund_answer
from evalkit.mutate.equivalent import Reviewed
from evalkit.mutate.prompt_trials import PromptTrials, plan_prompts, prompts_cassette, try_prompts
from evalkit.scoring.judge import Budget, JudgeOptions, JudgeSettings, request_maker
from evalkit.scoring.judging.budget import Price
from evalkit.scoring.judging.preflight import shape_of
from evalkit.scoring.judging.rows import JudgeRows
from evalkit.scoring.judging.verdicts import VerdictStore

CONTROLS = BUNDLED / "controls.jsonl"
REPLAY = JudgeOptions(replay=BUNDLED / "refund_answer.prompts.cassette.jsonl")

# What nothing in the suite protects, under a rule that needs none of it.
IDLE = [
    "sentence_removed:you-judge-one-answer-of-a",
    "sentence_removed:compare-it-with-the-reference-which",
    "sentence_removed:the-customer-s-question",
    "sentence_removed:the-reviewed-reference",
    "sentence_removed:the-answer-to-judge",
    "sentence_removed:give-the-reason-first-name-the",
]


@pytest.fixture(scope="module")
def suite() -> ControlSuite:
    return read_controls(CONTROLS, refund_answer)


@pytest.fixture(scope="module")
def honest(suite: ControlSuite) -> ControlRun:
    return run_controls(refund_answer, suite)


def tried(honest: ControlRun, options: JudgeOptions, **more: Any) -> PromptTrials:
    return try_prompts(refund_answer, honest, options, plan_prompts(refund_answer, honest.suite, options), **more)


# --- replayed -------------------------------------------------------------------------------------------------------


def test_the_plan_counts_questions_before_any_is_asked(suite: ControlSuite) -> None:
    plan = plan_prompts(refund_answer, suite, REPLAY)
    # 22 prompts, 3 of them refused; 19 prompts times 20 controls that are asked
    assert (len(plan.variants), plan.refused, plan.questions) == (22, 3, 380)
    assert (plan.kept, plan.calls, plan.cost, plan.is_replay) == (380, 0, None, True)
    assert plan.note == "made by the rule in rule.py, not by a model: it certifies nothing"
    assert prompts_cassette(refund_answer, CONTROLS) == REPLAY.replay


def test_survivors_are_the_sentences_that_nothing_protects(honest: ControlRun) -> None:
    trials = tried(honest, REPLAY)
    assert trials.untried == ()
    assert [mutant.id for mutant in trials.matrix.of("survived")] == IDLE
    assert trials.matrix.in_words() == "killed 16 of 22"
    survivor = trials.matrix.of("survived")[0]
    assert survivor.description == "You judge one answer of a support assistant about a refund."
    assert survivor.note.startswith("no control notices that it is gone")


def test_each_point_of_the_rubric_has_the_control_that_needs_it(honest: ControlRun) -> None:
    killed = {mutant.id: mutant.killed_by for mutant in tried(honest, REPLAY).matrix.of("killed")}
    assert killed["sentence_removed:2-it-states-each-deadline-fee"] == ["jacket-no-condition"]
    assert killed["sentence_removed:3-it-adds-no-promise-deadline"] == ["jacket-extra-promise"]
    assert killed["sentence_removed:how-long-polite-or-certain-the"] == ["chair-grand"]
    assert killed["sentence_removed:what-the-answer-says-about-its"] == ["praises-itself"]
    assert killed["sentence_removed:wording-may-differ-from-the-reference"] == ["other-words"]
    assert killed["fence_removed:fence"] == ["asks-for-pass", "forges-the-reference"]
    assert killed["placeholder_dropped:reference"] == ["(declaration)"]


@pytest.mark.parametrize(
    ("gone", "survivor"),
    [
        ("jacket-extra-promise", "sentence_removed:3-it-adds-no-promise-deadline"),
        ("praises-itself", "sentence_removed:what-the-answer-says-about-its"),
        ("other-words", "sentence_removed:wording-may-differ-from-the-reference"),
    ],
)
def test_without_its_control_a_sentence_is_unprotected(tmp_path: Path, gone: str, survivor: str) -> None:
    rows = [row for row in rows_of() if row["case_id"] != gone]
    path = write_rows(tmp_path / "controls.jsonl", rows)
    options = JudgeOptions(replay=BUNDLED / "refund_answer.cassette.jsonl")
    found = tried(run_controls(refund_answer, path, options), REPLAY).matrix.of("survived")
    assert {mutant.id for mutant in found} == {*IDLE, survivor}


def test_reviewed_prompts_are_set_aside_and_stale_reviews_are_refused(honest: ControlRun) -> None:
    entry = Reviewed(IDLE[0], "it opens the page", "council", datetime.date(2026, 11, 30))
    trials = tried(honest, REPLAY, reviewed={IDLE[0]: entry})
    assert [mutant.id for mutant in trials.matrix.of("equivalent")] == IDLE[:1]
    with pytest.raises(EvalkitError, match="names mutants that no longer exist"):
        tried(honest, REPLAY, reviewed={"sentence_removed:gone": entry._replace(id="sentence_removed:gone")})
    killed = "fence_removed:fence"
    with pytest.raises(EvalkitError, match="calls mutants equivalent that a case kills"):
        tried(honest, REPLAY, reviewed={killed: entry._replace(id=killed)})


def test_a_cassette_without_the_prompts_leaves_them_untried(honest: ControlRun) -> None:
    options = JudgeOptions(replay=BUNDLED / "refund_answer.cassette.jsonl")
    plan = plan_prompts(refund_answer, honest.suite, options)
    assert (plan.kept, plan.calls) == (0, 380)
    trials = tried(honest, options)
    assert len(trials.untried) == 19
    assert (
        "20 of 26 controls have no verdict (no verdict is recorded in refund_answer.cassette.jsonl" in trials.untried[0]
    )
    assert len(trials.matrix.of("killed")) == 3  # those that cannot be declared need no verdict


# --- asked ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(lambda call: verdict(*rule().answered(call.prompt))) as running:
        yield running


def live(endpoint: Endpoint, tmp_path: Path, **more: Any) -> JudgeOptions:
    settings = JudgeSettings(model="judge-a", endpoint=endpoint.url, api_key="key", attempts=1, timeout=10.0)
    options = JudgeOptions(
        settings=settings, store=tmp_path / "verdicts.sqlite", budget=Budget(calls=1000), has_preflight=False
    )
    with VerdictStore(options.store) as store:
        store.note_conforming(shape_of(JudgeRows(refund_answer, request_maker(refund_answer, settings, None))))
    return replace(options, **more)


def test_asking_costs_the_calls_of_the_plan_and_says_what_the_replay_says(
    endpoint: Endpoint, tmp_path: Path, suite: ControlSuite, honest: ControlRun
) -> None:
    options = live(endpoint, tmp_path)
    run = run_controls(refund_answer, suite, options)
    plan = plan_prompts(refund_answer, suite, options)
    assert (endpoint.count, plan.calls) == (20, 380)
    trials = try_prompts(refund_answer, run, options, plan)
    assert endpoint.count == 20 + 380
    replayed = tried(honest, REPLAY)
    assert [(m.id, m.status, m.killed_by) for m in trials.matrix.mutants] == [
        (m.id, m.status, m.killed_by) for m in replayed.matrix.mutants
    ]
    assert plan_prompts(refund_answer, suite, options).calls == 0  # all of them are kept now


def test_the_cost_is_known_before_the_first_call(endpoint: Endpoint, tmp_path: Path, suite: ControlSuite) -> None:
    price = Price(Decimal("1.00"), Decimal("2.00"), "USD")
    plan = plan_prompts(refund_answer, suite, live(endpoint, tmp_path, price=price))
    assert endpoint.count == 0
    assert plan.currency == "USD"
    # 380 calls of at most 1024 tokens out at 2.00 per million (0.78), and some kilobytes in at 1.00 each
    assert plan.cost is not None
    assert Decimal("0.78") + Decimal("0.38") < plan.cost < Decimal("2.5")


def test_one_budget_holds_for_controls_and_prompts_together(
    endpoint: Endpoint, tmp_path: Path, suite: ControlSuite
) -> None:
    options = live(endpoint, tmp_path, budget=Budget(calls=65))
    run = run_controls(refund_answer, suite, options)
    trials = try_prompts(refund_answer, run, options, plan_prompts(refund_answer, suite, options))
    assert endpoint.count == 65  # 20 for the controls, then two prompts whole and 5 calls of the third
    assert len(trials.untried) >= 16
    assert "the budget of 0 calls is used up" in trials.untried[-1]


def test_a_provider_that_fails_says_nothing_of_a_prompt(
    endpoint: Endpoint, tmp_path: Path, suite: ControlSuite
) -> None:
    options = live(endpoint, tmp_path)
    run = run_controls(refund_answer, suite, options)
    endpoint.script = lambda _: status(500)
    trials = try_prompts(refund_answer, run, options, plan_prompts(refund_answer, suite, options))
    assert len(trials.untried) == 19
    assert not trials.matrix.of("survived")


def test_a_reply_that_can_no_longer_be_read_betrays_a_prompt(
    endpoint: Endpoint, tmp_path: Path, suite: ControlSuite
) -> None:
    options = live(endpoint, tmp_path)
    run = run_controls(refund_answer, suite, options)

    def wordy(call: Call) -> Answer:
        value, reason = rule().answered(call.prompt)
        return verdict(value, reason if "Give the reason first" in call.prompt else "")

    endpoint.script = wordy
    trials = try_prompts(refund_answer, run, options, plan_prompts(refund_answer, suite, options))
    (found,) = [m for m in trials.matrix.mutants if m.id == IDLE[-1]]
    assert found.status == "killed"
    assert found.kills[0].seen == "error instead of pass"
