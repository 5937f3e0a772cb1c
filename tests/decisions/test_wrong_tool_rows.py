"""S1.14 without labels: each sign is seen where it is, and not where it is not; the reckoning agrees with scipy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labelled_rows import SHARE, WORD, record
from scipy import stats

from evalkit.contract import Metric, make_metric
from evalkit.decisions.wrong_tool_rows import SAMPLE, _differ, advise, advise_in_words, rank_correlation
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.scoring.records import Record
from evalkit.scoring.score import score_cases

FIXTURES = Path(__file__).parents[2] / "fixtures"


def names(metric: Metric, rows: list[Record]) -> list[str]:
    return [found.name for found in advise(metric, rows)]


def healthy(n: int = 40, **more: Any) -> list[Record]:
    rng = np.random.default_rng(3)
    return [record(f"c{i}", round(float(rng.random()), 3), **more) for i in range(n)]


def test_healthy_rows_get_no_advice():
    assert advise(SHARE, healthy()) == []
    assert advise(SHARE, []) == []


@pytest.mark.parametrize("file", ["release", "incident"])
def test_the_bundled_release_rows_get_none_either(file: str):
    records = score_cases(evidence_coverage, FIXTURES / "evidence_coverage" / f"{file}.jsonl")
    assert advise_in_words(evidence_coverage, records) == []


def test_one_required_item_everywhere_should_be_a_discrete_metric():
    rows = [record(f"c{i}", float(i % 2), detail={"required": 1}) for i in range(24)]
    (found,) = advise(SHARE, rows)
    assert found.name == "single_item"
    assert found.sentence.startswith("all 24 scored rows have one required item")
    assert "single_item" not in names(SHARE, [*rows, record("d", 0.5, detail={"required": 2})])


def test_few_distinct_values():
    rows = [record(f"c{i}", (0.0, 0.5, 1.0)[i % 3]) for i in range(20)]
    (found,) = advise(SHARE, rows)
    assert "the 20 scored rows have only 3 distinct values (0, 0.5, 1)" in found.sentence
    assert advise(SHARE, rows[:19]) == []
    # All at 1.0 is a green release, not a wrong tool.
    assert advise(SHARE, [record(f"c{i}", 1.0) for i in range(20)]) == []


def test_a_slice_of_few_rows():
    rows = healthy() + [record(f"d{i}", 0.5, slice="small") for i in range(4)]
    (found,) = advise(SHARE, rows)
    assert found.sentence == (
        "1 of 2 slices have fewer than 5 scored blocking rows ('small' 4): each row is a quarter or more of what its "
        "slice says"
    )
    assert advise(SHARE, [*healthy(), record("e", 0.5, slice="small", blocking=False)]) == []


def test_several_populations_in_one_slice():
    rows = [record(f"c{i}", 0.2 + i / 1000, lineage={"stratum": "phone"}) for i in range(10)]
    rows += [record(f"d{i}", 0.8 + i / 1000, lineage={"stratum": "web"}) for i in range(10)]
    (found,) = advise(SHARE, rows)
    assert found.name == "populations"
    # (0.2 + ... + 0.209) / 10 = 0.2045; (0.8 + ... + 0.809) / 10 = 0.8045
    assert "mean by stratum: phone 0.20 over 10, web 0.80 over 10" in found.sentence
    mixed = [row._replace(lineage={"stratum": "phone" if i % 2 else "web"}) for i, row in enumerate(rows)]
    assert advise(SHARE, mixed) == []


def test_several_populations_of_labels():
    rows = [record(f"c{i}", "pass", lineage={"source": "a"}) for i in range(10)]
    rows += [record(f"d{i}", "fail", lineage={"source": "b"}) for i in range(10)]
    (found,) = advise(WORD, rows)
    assert "share of 'pass' by source: a 1.00 over 10, b 0.00 over 10" in found.sentence


def test_longer_answers_that_score_higher():
    rows = [record(f"c{i}", i / 40, evidence={"answer": "word " * (i + 1)}) for i in range(40)]
    (found,) = advise(SHARE, rows)
    assert found.name == "length"
    assert "rank correlation 1.00 over 40 rows" in found.sentence
    shorter = [record(f"c{i}", 1 - i / 40, evidence={"answer": "word " * (i + 1)}) for i in range(40)]
    assert advise(SHARE, shorter) == []


def test_length_of_the_one_produced_text_where_there_is_no_evidence():
    rows = [record(f"c{i}", i / 40, evidence=None, inputs={"found": "word " * (i + 1)}) for i in range(40)]
    assert names(SHARE, rows) == ["length"]


def test_support_that_nobody_resolved_upstream():
    evidence = {"citations": [{"claim_id": "window"}], "claims": {"window": "30 days", "fee": "5 euros"}}
    inputs = {"required_claim_ids": ["window", "fee"], "supported_claim_ids": ["window", "fee"]}
    rows = [row._replace(inputs=inputs, evidence=evidence) for row in healthy(10)]
    (found,) = advise(evidence_coverage, rows)
    assert found.name == "unresolved_support"
    assert "in 10 of 10 scored rows" in found.sentence
    assert "(first 'fee' of c0)" in found.sentence
    cited = {**evidence, "citations": [{"claim_id": "window"}, {"claim_id": "fee"}]}
    assert advise(evidence_coverage, [row._replace(evidence=cited) for row in rows]) == []


def test_the_best_of_several_is_a_ranking():
    rows = [record(f"c{i}", max(i / 10, 0.3), detail={"scores": [i / 10, 0.3]}) for i in range(10)]
    assert names(SHARE, rows) == ["best_of_several"]
    last = [record(f"c{i}", 0.3, detail={"scores": [i / 10, 0.3]}) for i in range(10)]
    assert names(SHARE, last) == []


def test_a_composite_of_unlike_properties():
    rows = [record(f"c{i}", (i / 10 + 0.4) / 2, detail={"tone": 0.4, "facts": i / 10}) for i in range(10)]
    (found,) = advise(SHARE, rows)
    assert found.name == "composite"
    assert "the value is the mean of facts, tone" in found.sentence
    # Counts are not parts: 3 of 4.
    counted = [record(f"c{i}", 0.75, detail={"found": 3, "wanted": 4, "share": 0.75}) for i in range(10)]
    assert names(SHARE, counted) == []


def test_only_the_start_of_a_long_run_is_looked_at():
    def endless() -> Any:
        i = 0
        while True:
            assert i < SAMPLE
            yield record(f"c{i}", i / SAMPLE)
            i += 1

    assert advise(SHARE, endless()) == []


def test_a_metric_without_a_contract_and_a_ranking_are_looked_at_without_a_fault():
    assert advise(make_metric(plain, (0.0, 1.0)), healthy(6)) == []
    assert advise(make_metric(plain, 2, name="order"), [record(f"c{i}", [1, 2]) for i in range(30)]) == []


def plain(found: float) -> float:
    return found


# --- the reckoning --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_rank_correlation_is_scipys(seed: int):
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 8, 30).astype(float), rng.random(30).round(1)
    assert rank_correlation(list(one), list(other)) == pytest.approx(stats.spearmanr(one, other).statistic, abs=1e-12)
    assert rank_correlation([1.0] * 30, list(other)) is None


@pytest.mark.parametrize("seed", range(40))
def test_kruskal_wallis_decides_as_scipy_does(seed: int):
    rng = np.random.default_rng(seed)
    groups = [list((rng.random(10) + shift).round(1)) for shift in (0.0, 0.0, 0.05 * (seed % 10))]
    p_value = stats.kruskal(*groups).pvalue
    if abs(p_value - 0.01) > 0.001:  # the quantile is an approximation
        assert _differ(groups) == (p_value < 0.01)
    assert not _differ([[1.0] * 5, [1.0] * 5])


def test_rows_of_one_population_are_seldom_called_several():
    # 400 draws at p < 0.01: 4 expected; more than 12 has a chance below 0.001.
    rng = np.random.default_rng(11)
    assert sum(_differ([list(rng.random(12)), list(rng.random(12))]) for _ in range(400)) <= 12


# --- where it is shown ----------------------------------------------------------------------------------------------


@pytest.fixture
def one_item(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    rows = [
        {"case_id": f"c{i}", "required_claim_ids": ["a"], "supported_claim_ids": ["a"], "slice": "default"}
        for i in range(6)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def run(*arguments: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evalkit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_score_says_it_on_the_screen_in_the_manifest_and_in_the_report(one_item: Path, tmp_path: Path):
    done = run("score", "evidence_coverage", one_item, "--run", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    assert "warning: wrong tool? single_item: all 6 scored rows have one required item" in done.stdout
    manifest = json.loads((tmp_path / "run/manifest.json").read_bytes())
    assert [finding.split(":")[0] for finding in manifest["findings"]] == ["wrong tool? single_item"]
    assert "wrong tool? single_item" in (tmp_path / "run/report.html").read_text(encoding="utf-8")


def test_gate_warns_and_decides_the_same(one_item: Path, tmp_path: Path):
    policy = FIXTURES / "evidence_coverage" / "policy.toml"
    outcome = tmp_path / "outcome.json"
    done = run("gate", "evidence_coverage", one_item, "--policy", policy, "--as-of", "2026-12-01",
               "--run", tmp_path / "run", "--json", outcome)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "warning: wrong tool? single_item" in done.stdout
    for path in (outcome, tmp_path / "run/outcome.json"):
        assert any("single_item" in warning for warning in json.loads(path.read_bytes())["warnings"])
    assert "wrong tool? single_item" in (tmp_path / "run/report.html").read_text(encoding="utf-8")
