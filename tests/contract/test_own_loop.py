from __future__ import annotations

import asyncio
import os
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from evalkit.contract import MetricResult, numeric_metric


@numeric_metric()
async def half(x: str) -> float:
    await asyncio.sleep(0)
    return 0.5


async def answer() -> int:
    return 42


def test_h01_scoring_an_async_metric_leaves_asyncio_run_as_it_was():
    before = asyncio.run
    assert asyncio.run(answer()) == 42  # cell 1
    assert half.measure({"x": "row"}).value == 0.5  # cell 2
    assert half.score(x="row").value == 0.5
    assert asyncio.run is before
    assert asyncio.run(answer()) == 42  # cell 3


def test_h01_inside_a_running_loop_as_in_a_notebook():
    async def cells() -> list[float | None]:
        loop, before = asyncio.get_running_loop(), asyncio.run
        values = [half.score(x="row").value, (await half.ascore(x="row")).value]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the refused coroutine is never awaited
            with pytest.raises(RuntimeError, match="cannot be called from a running event loop"):
                asyncio.run(answer())
        assert asyncio.get_running_loop() is loop
        assert asyncio.run is before
        return values

    assert asyncio.run(cells()) == [0.5, 0.5]


def test_ascore_does_not_hold_up_the_callers_loop():
    started = threading.Event()

    @numeric_metric()
    def slow(x: str) -> float:
        started.set()
        time.sleep(0.2)
        return 0.5

    async def cell() -> int:
        scoring = asyncio.create_task(slow.ascore(x="row"))
        ticks = 0
        while not scoring.done():
            ticks += started.is_set()
            await asyncio.sleep(0.005)
        return ticks

    assert asyncio.run(cell()) > 3


def test_many_threads_share_the_own_loop():
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: half.measure({"x": "row"}).value, range(200))) == [0.5] * 200


def test_b08_overlapping_rows_of_an_async_metric_do_not_mix():
    both_inside = asyncio.Barrier(2)

    @numeric_metric()
    async def scored(x: str) -> MetricResult:
        await asyncio.wait_for(both_inside.wait(), 10)
        if x == "bad":
            raise RuntimeError(x)
        return MetricResult(0.25, f"reason of {x}")

    with ThreadPoolExecutor(2) as pool:
        bad, good = pool.map(lambda x: scored.measure({"x": x}), ["bad", "good"])
    assert (bad.state, good.state, good.value, good.reason) == ("error", "scored", 0.25, "reason of good")
    assert bad.reason.startswith("RuntimeError: bad")


def test_an_async_metric_that_exits_does_not_end_the_loop_for_others():
    @numeric_metric()
    async def leaves(x: str) -> float:
        raise SystemExit(3)

    assert leaves.measure({"x": "row"}).state == "error"
    assert half.measure({"x": "row"}).value == 0.5


def test_an_async_metric_may_score_another_one():
    @numeric_metric()
    async def outer(x: str) -> float | None:
        return half.measure({"x": x}).value  # type: ignore[return-value]

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(outer.measure, {"x": "row"}).result(timeout=20).value == 0.5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="only where processes fork")
def test_a_forked_worker_has_a_loop_of_its_own():
    assert half.measure({"x": "row"}).value == 0.5  # the parent's loop runs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of fork beside threads: that is the case here
        child = os.fork()
    if child == 0:
        os._exit(0 if half.measure({"x": "row"}).value == 0.5 else 1)
    deadline = time.monotonic() + 20
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    if ended == (0, 0):
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert ended == (child, 0)
