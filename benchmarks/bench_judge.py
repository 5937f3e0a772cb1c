"""Judge runs against the ideal and against the bare client: one loopback server in a process of its own.

At concurrency 16: the ideal time (rows x delay / 16) over the run's own at 500 ms; the time of the bare async OpenAI
client, asked the same bodies, over the run's own at 50 ms; and the rows/s of a replay. Each number of calls is checked.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from measuring import Row, Size, pairs, run_alone, seconds

TESTS = Path(__file__).parents[1] / "tests"
sys.path.append(str(TESTS))

from judges import JUDGE, Home, cases_text  # noqa: E402 - they lie beside the tests

from evalkit.scoring.judge import JudgeOptions, run_judge  # noqa: E402
from evalkit.scoring.judging.cassette import write_cassette  # noqa: E402
from evalkit.scoring.judging.kept import Kept  # noqa: E402
from evalkit.scoring.judging.reply import Reply  # noqa: E402
from evalkit.scoring.judging.request import RequestMaker  # noqa: E402

CONCURRENCY = 16
REPLAYED = 10_000
REPLAY_TARGET = 5_000


class Server(NamedTuple):
    """The endpoint in a process of its own, so that its work is not the client's."""

    url: str
    process: subprocess.Popen[str]

    def count(self) -> int:
        """Ask how many calls it has seen."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("count\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def server(seconds: float) -> Iterator[Server]:
    """Run the endpoint with a fixed delay."""
    line = [sys.executable, str(TESTS / "endpoint.py"), str(seconds)]
    process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Server(process.stdout.readline().strip(), process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(10)


class Place(NamedTuple):
    """Where a server is; what `Home` asks of an endpoint."""

    url: str


def judged(folder: Path, rows: int, running: Server, **more: Any) -> float:
    """Run the judge over new rows and return the seconds it took."""
    home = Home(folder, Place(running.url))  # type: ignore[arg-type] # only its address is asked for
    home.write(rows)
    before = running.count()
    options = home.options(settings=home.settings(concurrency=CONCURRENCY), has_preflight=True, **more)
    started = time.perf_counter()
    done = asyncio.run(run_judge(JUDGE, home.cases, folder / "run", options))
    took = time.perf_counter() - started
    assert done.ledger.total(state="scored") == rows
    assert running.count() - before == done.facts["calls"] == rows + 1, "one call a row, and the preflight"
    assert [record["case_id"] for record in home.records()] == [f"r{i}" for i in range(rows)]
    return took


def bare(rows: int, running: Server) -> float:
    """Ask the same bodies with the bare client, as many at a time, and do nothing else."""
    from openai import AsyncOpenAI

    home = Home(Path(), Place(running.url))  # type: ignore[arg-type] # as above
    maker = RequestMaker(JUDGE, home.settings())
    bodies = iter([maker.of(json.loads(line)).body for line in cases_text(rows).splitlines()])

    async def work(client: AsyncOpenAI) -> None:
        for body in bodies:
            await client.chat.completions.create(**body)

    async def all_of_them() -> float:
        async with AsyncOpenAI(base_url=running.url, api_key="none", max_retries=0) as client:
            started = time.perf_counter()
            await asyncio.gather(*(work(client) for _ in range(CONCURRENCY)))
            return time.perf_counter() - started

    return asyncio.run(all_of_them())


def replayed(folder: Path, rows: int) -> float:
    """Replay recorded verdicts and return rows a second."""
    home = Home(folder)
    home.write(rows)
    maker = RequestMaker(JUDGE, home.settings())
    reply = Reply(1, '{"reason": "because", "value": "pass"}', None, "stop", "m", None)
    requests = [maker.of(json.loads(line)) for line in home.cases.read_text().splitlines()]
    kept = [(request.key, Kept(reply, (), None, request.prompt_sha256)) for request in requests]
    write_cassette(folder / "cassette.jsonl", maker.configuration, kept, note="for the benchmark")
    options = JudgeOptions(replay=folder / "cassette.jsonl")
    done = []
    took = seconds(lambda: done.append(asyncio.run(run_judge(JUDGE, home.cases, folder / "again", options))))
    assert done[0].facts["replayed"] == rows
    return rows / took


def of_ideal(folder: Path, rows: int, size: Size) -> list[float]:
    """Run at 500 ms a call and compare with the time that cannot be beaten."""
    ideal = rows * 0.5 / CONCURRENCY
    with server(0.5) as slow:
        return [ideal / judged(folder / f"slow{at}", rows, slow) for at in range(size.rounds)]


def measure(size: Size) -> Iterator[Row]:
    """Measure all three."""
    import openai  # noqa: F401 - its import is not what is measured

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        rows = size.of(640, 16)
        yield Row(
            what=f"rows x 500 ms / {CONCURRENCY}",
            against=f"judge run of {rows:,} rows, local endpoint of 500 ms, concurrency {CONCURRENCY}: time",
            ratios=of_ideal(folder, rows, size),
            least=0.9,
            note="calls == rows + 1 preflight, checked in each round",
        )
        rows = size.of(1_000, 16)
        with server(0.05) as quick:
            bare(max(rows // 10, 1), quick)  # warm
            runs = (folder / f"quick{at}" for at in range(size.rounds))
            taken = list(pairs(size, lambda: judged(next(runs), rows, quick), lambda: bare(rows, quick)))
        yield Row(
            what="the bare async openai client asking the same bodies",
            against=f"judge run of {rows:,} rows, local endpoint of 50 ms, concurrency {CONCURRENCY}: time",
            ratios=[theirs / ours for ours, theirs in taken],
            least=0.9,
            note=f"{min(pair.ours for pair in taken):.2f} s and {min(pair.theirs for pair in taken):.2f} s",
        )
        rows = size.of(REPLAYED, 50)
        speeds = [replayed(folder / f"replay{at}", rows) for at in range(size.rounds)]
        yield Row(
            what=f"replay of {rows:,} verdicts: rows/s",
            against=f"{REPLAY_TARGET:,} rows/s",
            ratios=[speed / REPLAY_TARGET for speed in speeds],
            least=None if size.is_quick else 1,
        )


if __name__ == "__main__":
    run_alone(measure, __doc__)
