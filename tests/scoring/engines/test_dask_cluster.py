"""A real Dask cluster of two worker processes: equal to one machine, and nothing lost or doubled when one is killed."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from evalkit.cases import lines as lines_module
from evalkit.contract import EvalkitError
from evalkit.pages.engine_run import engine_named, score_parts_to_run
from evalkit.pages.publish import Scored, score_to_run
from evalkit.scoring.engines import cuts, dask_cluster
from evalkit.scoring.engines.dask_cluster import dask_engine
from evalkit.scoring.engines.join import Engine
from evalkit.scoring.load import load_metric

SLOW = """
    import os
    import time
    from pathlib import Path

    from evalkit import MetricResult, numeric_metric

    @numeric_metric(allowed_values=(0, 100))
    def length(text: str) -> MetricResult:
        time.sleep(0.002)
        if text == "the end":
            os._exit(9)
        print("said by the metric")
        return MetricResult(float(len(text)), f"{len(text)} characters")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    scratch = str(tmp_path_factory.mktemp("dask"))
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", local_directory=scratch
    ) as started:
        yield started


@pytest.fixture
def pids(cluster: LocalCluster) -> Callable[[], list[int]]:
    def ask() -> list[int]:
        with Client(cluster.scheduler_address, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
            return list(client.run(os.getpid).values())

    return ask


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut small files as large ones are: a block of about 2,000 bytes in a part."""
    monkeypatch.setattr(lines_module, "_SIZE", 2_000)
    monkeypatch.setattr(cuts, "BLOCKS", 1)


def rows(n: int) -> list[str]:
    """Rows of text, of which each tenth is no JSON and each seventh is blank."""
    special = {0: "{", 7: " "}
    return [special.get(at % 10) or json.dumps({"case_id": f"r{at}", "text": "x" * (at % 90)}) for at in range(n)]


def written(path: Path, lines: Sequence[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def on(cluster: LocalCluster, cases: Sequence[Path], folder: Path, spec: str = "mine.py:length") -> Scored:
    return score_parts_to_run(spec, cases, folder, dask_engine(cluster.scheduler_address))


def same(ours: Scored, cases: Path, folder: Path) -> None:
    theirs = score_to_run(load_metric("mine.py:length"), cases, folder)
    assert ours.run.records_path.read_bytes() == theirs.run.records_path.read_bytes()
    assert ours.ledger.facts() == theirs.ledger.facts()
    assert ours.run.manifest["cases_sha256"] == theirs.run.manifest["cases_sha256"]
    assert ours.run.manifest["metric"] == theirs.run.manifest["metric"]


@pytest.mark.usefixtures("small")
def test_parts_on_two_workers_are_equal_to_one_machine_row_for_row(
    cluster: LocalCluster, user_file: Callable[..., Path], tmp_path: Path, pids: Callable[[], list[int]]
):
    user_file(SLOW)  # a metric brought from a path, named as seen from a folder that the workers are not in
    lines = rows(300)
    lines[280] = json.dumps({"case_id": "r1", "text": "again"})  # r1 is on line 2 of another part
    for name, some in (("a", lines[:100]), ("b", lines[100:110]), ("c", lines[110:])):
        written(tmp_path / "parts" / f"{name}.jsonl", some)
    ours = on(cluster, [tmp_path / "parts"], tmp_path / "ours")
    same(ours, written(tmp_path / "cases.jsonl", lines), tmp_path / "theirs")
    # 300 lines: 30 are blank, 29 of 30 are still no JSON (line 281 was one), r1 occurs twice
    assert (ours.ledger.lines, ours.ledger.blank, ours.ledger.total(state="invalid")) == (300, 30, 31)
    found = {record.line: record.reason for record in ours.run.records() if record.error_kind == "duplicate_case_id"}
    assert found == {
        2: "case_id 'r1' occurs more than once: also on line 281",
        281: "case_id 'r1' occurs more than once: also on line 2",
    }
    assert len(set(pids())) == 2


@pytest.mark.usefixtures("small")
def test_a_worker_killed_half_way_loses_and_doubles_nothing(
    cluster: LocalCluster,
    user_file: Callable[..., Path],
    tmp_path: Path,
    pids: Callable[[], list[int]],
    monkeypatch: pytest.MonkeyPatch,
):
    user_file(SLOW)
    monkeypatch.setattr(cuts, "BLOCKS", 5)  # so that the one that dies has written a piece of its part
    path = written(tmp_path / "cases.jsonl", rows(2000))
    before = pids()
    taken: list[int] = []

    @contextmanager
    def killing() -> Iterator[Engine]:
        with dask_engine(cluster.scheduler_address) as run:

            def watched(function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
                for result in run(function, tasks):
                    taken.append(result.number)
                    if len(taken) == 3:
                        time.sleep(0.15)  # both workers are now in the middle of their next part
                        os.kill(before[0], signal.SIGKILL)
                    yield result

            yield watched

    ours = score_parts_to_run("mine.py:length", [path], tmp_path / "ours", killing())
    same(ours, path, tmp_path / "theirs")
    parts = ours.run.manifest["parts"]
    assert len(parts) > 10
    assert sorted(taken) == list(range(len(parts)))
    assert sorted(name.name for name in (tmp_path / "ours" / "parts").iterdir()) == [
        f"part-{at:05}.jsonl" for at in range(len(parts))
    ]
    # 2,000 lines, 200 of them blank: each of the others has one record, in order
    assert [record.line for record in ours.run.records()] == [at for at in range(1, 2001) if at % 10 != 8]
    after = pids()
    assert before[0] not in after
    assert before[1] in after


def test_a_metric_that_ends_every_process_it_meets_is_named_by_its_lines(
    cluster: LocalCluster, user_file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    user_file(SLOW)
    monkeypatch.setattr(cluster.scheduler, "allowed_failures", 1)  # three by default: twice the time
    path = written(tmp_path / "cases.jsonl", [*rows(5), json.dumps({"case_id": "bad", "text": "the end"})])
    with pytest.raises(EvalkitError, match=r"cases\.jsonl, lines 1 to 6: every worker that was given these lines died"):
        on(cluster, [path], tmp_path / "ours")
    assert not (tmp_path / "ours").exists()
    good = written(tmp_path / "good.jsonl", rows(5))  # and the cluster still serves others
    same(on(cluster, [good], tmp_path / "good"), good, tmp_path / "theirs")


# --- reaching a cluster -----------------------------------------------------------------------------------------------


def test_without_dask_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "distributed", None)
    path = written(tmp_path / "cases.jsonl", rows(1))
    with pytest.raises(EvalkitError) as found:
        score_parts_to_run("evidence_coverage", [path], tmp_path / "ours", engine_named("dask"))
    assert "--engine dask needs distributed, which is not installed" in str(found.value)
    assert 'pip install "evalkit-workbench[dask]"' in found.value.do
    assert not (tmp_path / "ours").exists()


@pytest.mark.parametrize(
    ("address", "text"), [("tcp://127.0.0.1:9", "no Dask scheduler answers"), ("ftp://x", "no Dask")]
)
def test_where_no_scheduler_answers_it_is_said(address: str, text: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dask_cluster, "_SECONDS", 1)
    with pytest.raises(EvalkitError, match=text), dask_engine(address):
        pass


def test_a_scheduler_without_workers_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dask_cluster, "_SECONDS", 1)
    with (
        LocalCluster(n_workers=0, processes=True, dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(EvalkitError, match="has no workers"),
        dask_engine(empty.scheduler_address),
    ):
        pass
