"""Judge runs against the ideal and against the bare client: ratios of one process, one machine, one loopback server.

Run it from the project's root: ``python benchmarks/bench_judge.py [ROWS]`` (1,000 by default). It prints, for
concurrency 16: the ideal time (rows x delay / 16) over the run's own at 500 ms; the time of the bare async OpenAI
client, asked the same bodies, over the run's own at 50 ms; and the rows/s of a replay. Each number of calls is checked.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

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
    seconds = time.perf_counter() - started
    assert done.ledger.total(state="scored") == rows
    assert running.count() - before == done.facts["calls"] == rows + 1, "one call a row, and the preflight"
    assert [record["case_id"] for record in home.records()] == [f"r{i}" for i in range(rows)]
    return seconds


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


def replayed(folder: Path) -> float:
    """Replay recorded verdicts and return rows a second."""
    home = Home(folder)
    home.write(REPLAYED)
    maker = RequestMaker(JUDGE, home.settings())
    reply = Reply(1, '{"reason": "because", "value": "pass"}', None, "stop", "m", None)
    requests = [maker.of(json.loads(line)) for line in home.cases.read_text().splitlines()]
    kept = [(request.key, Kept(reply, (), None, request.prompt_sha256)) for request in requests]
    write_cassette(folder / "cassette.jsonl", maker.configuration, kept, note="for the benchmark")
    started = time.perf_counter()
    options = JudgeOptions(replay=folder / "cassette.jsonl")
    done = asyncio.run(run_judge(JUDGE, folder / "cases.jsonl", folder / "again", options))
    seconds = time.perf_counter() - started
    assert done.facts["replayed"] == REPLAYED
    return REPLAYED / seconds


def main() -> int:
    """Print the ratios; exit 1 where a target is missed."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    import openai  # noqa: F401 - its import is not what is measured

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with server(0.5) as slow:
            ideal = rows * 0.5 / CONCURRENCY
            of_ideal = ideal / judged(folder / "slow", rows, slow)
        with server(0.05) as quick:
            bare(rows // 10, quick)  # warm
            pairs, processor = [], []
            for i in range(3):  # in turn, because the machine is not the same from one moment to the next
                start = time.process_time()
                theirs, middle = bare(rows, quick), time.process_time()
                pairs.append((theirs, judged(folder / f"quick{i}", rows, quick)))
                processor.append(((middle - start) / rows * 1000, (time.process_time() - middle) / rows * 1000))
            of_bare = statistics.median(theirs / ours for theirs, ours in pairs)
        speed = replayed(folder / "replay")
    results = [
        (f"500 ms, {rows} rows: ideal time / judge run", of_ideal, 0.9),
        (f"50 ms, {rows} rows: bare client / judge run (median of 3)", of_bare, 0.9),
        (f"replay of {REPLAYED:,} verdicts, rows/s", speed, 5000.0),
    ]
    for name, found, target in results:
        print(f"{'ok  ' if found >= target else 'MISS'} {name}: {found:,.2f} (target {target:g})")
    print("pairs at 50 ms, seconds:", ", ".join(f"{theirs:.2f} / {ours:.2f}" for theirs, ours in pairs))
    print("processor, ms a call:", ", ".join(f"{theirs:.2f} / {ours:.2f}" for theirs, ours in processor))
    return int(any(found < target for _, found, target in results))


if __name__ == "__main__":
    sys.exit(main())
