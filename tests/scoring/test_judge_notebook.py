"""Judge runs where a loop is running already, as in a notebook's kernel (field cases H)."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import Any

from endpoint import verdict
from judges import JUDGE, Home

from evalkit.contract.own_loop import run_coroutine
from evalkit.scoring.judge import run_judge


def as_options(home: Home, **changes: Any) -> dict[str, Any]:
    options = home.options(**changes)
    return {name: getattr(options, name) for name in options.__dataclass_fields__}


def test_h01_a_judge_is_awaited_in_the_running_loop_which_is_left_alone(home: Home) -> None:
    home.write(3)
    before = (asyncio.run, asyncio.new_event_loop, asyncio.get_event_loop_policy().__class__)

    async def cell() -> str:
        loop = asyncio.get_running_loop()
        run = await JUDGE.run(home.cases, home.folder / "run", **as_options(home))
        assert asyncio.get_running_loop() is loop
        return str(run.ledger.total(state="scored"))

    # a first cell, a judge, the same cell again: none depends on which ran before
    assert [asyncio.run(asyncio.sleep(0, "a")), asyncio.run(cell()), asyncio.run(asyncio.sleep(0, "a"))] == [
        "a",
        "3",
        "a",
    ]
    assert (asyncio.run, asyncio.new_event_loop, asyncio.get_event_loop_policy().__class__) == before
    assert "nest_asyncio" not in sys.modules


def test_h01_synchronous_code_inside_a_running_loop_uses_a_loop_of_its_own(home: Home) -> None:
    home.write(3)

    async def cell() -> int:
        # what a synchronous helper called from a notebook cell does: its own loop, in its own thread
        run = run_coroutine(run_judge(JUDGE, home.cases, home.folder / "run", home.options()))
        return int(run.ledger.total(state="scored"))

    assert asyncio.run(cell()) == 3


def test_h01_the_loop_goes_on_while_the_judge_waits(home: Home) -> None:
    home.write(4)
    home.endpoint.script = lambda _: verdict("pass", delay=0.1)
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    async def cell() -> None:
        ticking = asyncio.create_task(tick())
        await JUDGE.run(home.cases, home.folder / "run", **as_options(home, settings=home.settings(concurrency=1)))
        ticking.cancel()

    asyncio.run(cell())
    assert ticks > 15  # 4 rows of 100 ms one after another; a blocked loop would tick once or twice


def test_two_runs_in_one_loop_do_not_mix(home: Home) -> None:
    home.write(6)
    home.endpoint.script = lambda call: verdict("fail" if "strict" in str(call.body) else "pass", delay=0.01)
    strict = replace(JUDGE, system_prompt="You are strict.")

    async def cell() -> None:
        first, second = as_options(home), as_options(home, judge=strict)
        await asyncio.gather(
            JUDGE.run(home.cases, home.folder / "one", **first), strict.run(home.cases, home.folder / "two", **second)
        )

    asyncio.run(cell())
    assert {record["value"] for record in home.records("one")} == {"pass"}
    assert {record["value"] for record in home.records("two")} == {"fail"}
