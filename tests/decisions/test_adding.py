"""S3.6: what one more metric adds to a kept baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalkit.cases.labels import Label
from evalkit.contract import EvalkitError, Metric, make_metric
from evalkit.decisions.adding import what_it_adds
from evalkit.pages.gate_run import GateOutputs, run_gate
from evalkit.pages.publish import score_to_run
from evalkit.scoring.run import Run, open_run

METRICS = """
from evalkit import numeric_metric, discrete_metric

@numeric_metric()
def first(a: float) -> float:
    return a

@numeric_metric()
def second(b: float) -> float:
    return b

@discrete_metric()
def word(c: str) -> str:
    return c
"""
POLICY = """schema = 1
name = "p"
version = "1"
mode = "report"
metric = "{metric}"
contract_version = "0"
[slices.default]
{limit}
"""
# a and b against 0.5, and what people say: r1 second alone right, r2 second alone wrong, r3 both right, r4 both wrong.
ROWS = {
    "r1": (0.9, 0.1, "fail", "fail"),
    "r2": (0.8, 0.2, "pass", "pass"),
    "r3": (0.7, 0.9, "pass", "pass"),
    "r4": (0.1, 0.2, "fail", "pass"),
    "r5": (0.2, 0.3, "fail", None),
}


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(METRICS, encoding="utf-8")
    lines = [{"case_id": n, "a": a, "b": b, "c": c} for n, (a, b, c, _) in ROWS.items()]
    Path("cases.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return tmp_path


def gated(name: str) -> Run:
    limit = 'require = ["pass"]' if name == "word" else "minimum = 0.5"
    policy = Path(f"{name}.toml")
    policy.write_text(POLICY.format(metric=name, limit=limit), encoding="utf-8")
    run_gate(f"mine.py:{name}", Path("cases.jsonl"), policy, {}, GateOutputs(run=Path(f"runs/{name}")))
    return open_run(f"runs/{name}")


def labels(**more: Any) -> list[Label]:
    said = {name: row[3] for name, row in ROWS.items() if row[3] is not None}
    return [
        Label(i, name, word, reviewer="r", selection="random", **more) for i, (name, word) in enumerate(said.items(), 1)
    ]


def test_where_it_alone_is_right_and_where_it_alone_is_wrong(world: Path):
    added = what_it_adds(gated("second"), [gated("first")], labels())
    # r1: second 0.1 fails as the label says, first 0.9 passes; r2: the other way round; r3, r4: both alike.
    assert (added.alone_right, added.alone_wrong, added.labelled) == (("r1",), ("r2",), 4)
    assert "it alone is right on 1 of 4 labelled rows: r1" in added.in_words()
    assert "it alone is wrong on 1 of 4 labelled rows: r2" in added.in_words()


def test_alone_means_that_every_other_metric_disagrees(world: Path):
    # word says fail of r1 as well, so second is no longer alone in being right there.
    added = what_it_adds(gated("second"), [gated("first"), gated("word")], labels())
    assert (added.alone_right, added.alone_wrong) == ((), ("r2",))


def test_the_correlation_with_each_other_metric(world: Path):
    added = what_it_adds(gated("second"), [gated("first"), gated("word")])
    # Ranks of a: 5 4 3 1 2; of b: 1 2.5 5 2.5 4. Deviations from 3: 2 1 0 -2 -1 and -2 -0.5 2 -0.5 1;
    # products -4 - 0.5 + 0 + 1 - 1 = -4.5; spreads 10 and 9.5: -4.5 / sqrt(95) = -0.4617
    beside = {found.metric: found for found in added.beside}
    assert beside["first"].rows == 5
    assert beside["first"].correlation == pytest.approx(-0.4617, abs=1e-4)
    assert beside["word"].correlation is not None
    assert "beside first: rank correlation -0.46 over 5 rows that both scored" in added.in_words()


def test_without_labels_it_says_that_it_does_not_know(world: Path):
    added = what_it_adds(gated("second"), [gated("first")])
    assert added.labelled == 0
    assert any("is unknown" in sentence for sentence in added.in_words())


def test_runs_without_a_policy_have_a_correlation_and_no_decision(world: Path):
    def metric(name: str, values: dict[str, float]) -> Metric:
        return make_metric(_read, (0.0, 1.0), name=name)

    one = score_to_run(metric("one", {}), Path("cases.jsonl"), Path("runs/one"), feeds={"x": "a"}).run
    two = score_to_run(metric("two", {}), Path("cases.jsonl"), Path("runs/two"), feeds={"x": "a"}).run
    added = what_it_adds(two, [one], labels())
    assert (added.labelled, added.beside[0].correlation) == (0, pytest.approx(1.0))
    assert added.calls is None
    assert added.in_words()[-1].startswith("it computes its value: ")


def _read(x: float) -> float:
    return x


def test_a_stale_label_is_not_compared(world: Path):
    stale = [label._replace(seen_hash="sha256:other") for label in labels()]
    assert what_it_adds(gated("second"), [gated("first")], stale).labelled == 0


def test_runs_that_cannot_be_compared_are_refused(world: Path):
    first, second = gated("first"), gated("second")
    with pytest.raises(EvalkitError, match="two of these runs are of one metric: first, first"):
        what_it_adds(first, [first])
    second.manifest["cases_sha256"] = "sha256:other"
    with pytest.raises(EvalkitError, match="is a run over other cases than the new metric's"):
        what_it_adds(first, [second])


def test_what_a_judge_costs_is_taken_from_its_run(world: Path):
    run = gated("second")
    run.manifest |= {"judge": {"model": "m"}, "calls": 12, "cost": "0.03"}
    assert what_it_adds(run, [gated("first")]).in_words()[-1] == "it asks a model: 12 calls, cost 0.03"
