"""``evalkit judge --repeat``: each attempt is asked, paid for and kept; the endpoint is real and changes its mind."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from endpoint import Answer, Call, reply, status, verdict
from judges import JUDGE, Home

from evalkit.contract import EvalkitError
from evalkit.scoring.judge import Budget, run_judge
from evalkit.scoring.judging.budget import Price

PRICE = Price(Decimal("1.00"), Decimal("2.00"), "USD")


def row_of(call: Call) -> str:
    return "r" + call.prompt.split("answer ")[1].split("\n")[0]


class Scripted:
    """Answers each row from its own list of verdicts, one after the other."""

    def __init__(self, **answers: list[Any]) -> None:
        self.answers = {row: list(given) for row, given in answers.items()}

    def __call__(self, call: Call) -> Answer:
        said = self.answers[row_of(call)].pop(0)
        return said if isinstance(said, Answer) else verdict(said, reason=f"says {said}")


def test_s2_18_all_attempts_are_kept_and_a_row_that_flips_is_shown(home: Home) -> None:
    home.write(3)
    home.endpoint.script = Scripted(r0=["pass"] * 3, r1=["fail", "pass", "pass"], r2=["fail"] * 3)
    done = home.run(repeat=3)
    assert home.endpoint.count == 9
    first, second, third = home.records()
    assert [r["value"] for r in (first, second, third)] == ["pass", "pass", "fail"]
    assert (first["reason"], third["reason"]) == ("says pass", "says fail")
    assert second["reason"] == "2 of 3 repeats say pass, 1 fail; says pass"
    assert second["detail"]["repeats"] == {
        "asked": 3, "values": ["fail", "pass", "pass"], "unstable": True, "tie": False,
    }  # fmt: skip
    kept = second["judge"]["repeats"]
    assert [one["value"] for one in kept] == ["fail", "pass", "pass"]
    assert len({one["key"] for one in kept}) == 3
    assert len(second["judge"]["attempts"]) == 3
    assert done.facts["repeated"] == {"asked": 3, "rows": 3, "unstable": ["r1"], "ties": []}


def test_a_tie_is_scored_with_its_first_verdict_and_says_that_it_is_one(home: Home) -> None:
    home.write(1)
    home.endpoint.script = Scripted(r0=["pass", "fail"])
    done = home.run(repeat=2)
    (record,) = home.records()
    assert (record["state"], record["value"], record["detail"]["repeats"]["tie"]) == ("scored", "pass", True)
    assert record["reason"] == "a tie, 1 of 2 repeats say pass, 1 fail; says pass"
    assert done.facts["repeated"]["ties"] == ["r0"]


def test_repeats_without_a_verdict_stay_in_the_denominator(home: Home) -> None:
    home.write(2)
    prose = reply("I would say pass")
    home.endpoint.script = Scripted(r0=["pass", prose, "pass"], r1=["pass", prose, status(500)])
    home.run(repeat=3)
    first, second = home.records()
    assert (first["state"], first["value"]) == ("scored", "pass")
    assert first["reason"].startswith("2 of 3 repeats say pass, 1 no verdict; ")
    assert (second["state"], second["value"], second["error_kind"]) == ("error", None, "prose")
    assert second["reason"].startswith("2 of 3 repeats gave no verdict, 1 pass: no verdict has a majority; ")
    assert [one["state"] for one in second["judge"]["repeats"]] == ["scored", "error", "error"]


def test_every_repeat_counts_against_the_budget_and_a_cut_row_is_unrun_not_half_decided(home: Home) -> None:
    home.write(3)
    done = home.run(repeat=3, budget=Budget(calls=7), settings=home.settings(concurrency=1))
    assert home.endpoint.count == 7
    assert [r["state"] for r in home.records()] == ["scored", "scored", "unrun"]
    assert "1 of 3 repeats are there; the budget of 7 calls is used up" in home.records()[2]["reason"]
    assert done.facts["unrun"] == ["r2"]
    # The one that was paid for is the first of three in the next run.
    again = home.run("again", repeat=3)
    assert (home.endpoint.count, again.facts["calls"], again.facts["cache_hits"]) == (9, 2, 7)
    assert [r["state"] for r in home.records("again")] == ["scored"] * 3


def test_money_is_charged_for_every_repeat(home: Home) -> None:
    home.write(2)
    done = home.run(repeat=3, price=PRICE, budget=Budget(cost=Decimal("1.00")))
    # 6 calls of 100 tokens at 1.00 and 20 at 2.00 per million
    assert Decimal(done.facts["cost"]) == 6 * Decimal("0.00014")
    assert Decimal(home.records()[0]["judge"]["cost"]) == 3 * Decimal("0.00014")
    assert done.facts["cost_by_slice"] == {"default": "0.00084"}


def test_a_run_without_repeats_pays_for_the_first_of_them(home: Home) -> None:
    home.write(2)
    home.run("once")
    done = home.run("thrice", repeat=3)
    assert (home.endpoint.count, done.facts["cache_hits"]) == (6, 2)


def test_rows_with_the_same_inputs_share_their_repeats(home: Home) -> None:
    home.write('{"case_id": "a", "reference": "B", "response": "answer 0"}\n' * 1)
    home.cases.write_text(home.cases.read_text() + home.cases.read_text().replace('"a"', '"b"'))
    home.endpoint.script = Scripted(r0=["pass", "fail", "fail"])
    home.run(repeat=3)
    assert [r["value"] for r in home.records()] == ["fail", "fail"]
    assert [one["cache"] for one in home.records()[1]["judge"]["repeats"]] == ["hit"] * 3


def test_repeats_replay_from_a_cassette_without_a_call(home: Home) -> None:
    home.write(2)
    home.endpoint.script = Scripted(r0=["pass", "fail", "fail"], r1=["pass"] * 3)
    home.run(repeat=3, export=home.folder / "tape.jsonl")
    calls = home.endpoint.count
    replayed = home.run("replayed", replay=home.folder / "tape.jsonl", repeat=3)
    assert home.endpoint.count == calls
    live, again = ([(r["value"], r["reason"], r["detail"]) for r in home.records(name)] for name in ("run", "replayed"))
    assert live == again
    assert replayed.facts["replayed"] == 6
    more = home.run("more", replay=home.folder / "tape.jsonl", repeat=5)
    assert more.facts["unrun"] == ["r0", "r1"]
    # Whoever replays a cassette with too many repeats learns what to do.
    assert home.records("more")[0]["reason"] == (
        "3 of 5 repeats are there; a model is needed for the others (--model NAME), or ask without --repeat"
    )


def test_a_refused_key_stops_the_run_and_decides_nothing_by_what_came_before(home: Home) -> None:
    home.write(1)
    home.endpoint.script = Scripted(r0=["pass", "pass", status(401)])
    home.run(repeat=5)
    (record,) = home.records()
    # 2 passes are the majority of the 3 that were asked, and not of the 5 that were wanted.
    assert (record["state"], record["detail"]["repeats"]["values"]) == ("error", ["pass", "pass", None, None, None])


def test_an_interrupted_run_is_not_continued_with_another_number_of_repeats(home: Home) -> None:
    home.write(2)
    home.endpoint.script = lambda _: verdict("pass", delay=5)

    async def interrupted() -> None:
        task = asyncio.create_task(run_judge(JUDGE, home.cases, home.folder / "run", home.options(repeat=3)))
        while home.endpoint.count < 1:
            await asyncio.sleep(0.005)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    with pytest.raises(EvalkitError, match="its configuration differ from what is given now"):
        home.run()


@pytest.mark.parametrize("repeat", [0, 26, -1])
def test_a_number_of_repeats_that_makes_no_sense_is_refused(home: Home, repeat: int) -> None:
    home.write(1)
    with pytest.raises(EvalkitError, match="--repeat must be a number from 1 to 25"):
        home.run(repeat=repeat)


@pytest.mark.parametrize("is_fresh", [False, True])
def test_kills_pay_for_no_repeat_twice(home: Home, is_fresh: bool) -> None:
    import openai  # noqa: F401 - warm, so that a child asks at once

    home.write(60)
    home.endpoint.script = lambda call: verdict("pass", reason=row_of(call), delay=0.01)
    chosen = home.options(repeat=3, settings=home.settings(concurrency=4), is_fresh=is_fresh)
    for pause in (0.06, 0.11, 0.09):
        child = os.fork()
        if child == 0:
            asyncio.run(run_judge(JUDGE, home.cases, home.folder / "run", chosen))
            os._exit(0)
        while home.endpoint.count < 1:
            time.sleep(0.005)
        time.sleep(pause)
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1]), "the run ended before it could be killed: give it more rows"
    done = asyncio.run(run_judge(JUDGE, home.cases, home.folder / "run", replace(chosen)))
    assert [r["state"] for r in home.records()] == ["scored"] * 60
    doubts = done.facts["in_doubt"]
    # Every call beyond three a row was under way at a kill, and is listed; four at a time were.
    assert done.facts["calls"] == 180 + len(doubts)
    assert home.endpoint.count <= 180 + len(doubts)
    assert len(doubts) <= 3 * 4
    assert max(Counter(map(row_of, home.endpoint.calls)).values()) <= 3 + 3
