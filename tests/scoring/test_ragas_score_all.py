"""Judges and computed metrics in one call: one frame, states of their own, settings that hold, and who to ask how."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from typing import Any

import pandas as pd
import pytest
from endpoint import Call, embedded, hang, said, status, verdict
from judges import JUDGE, Home

from evalkit.contract import EvalkitError, numeric_metric
from evalkit.scoring.judge import Budget, JudgeOptions
from evalkit.scoring.load import load_metric
from evalkit.scoring.ragas_bridge import import_ragas
from evalkit.scoring.score_all import score_all


@numeric_metric()
def share(response: str) -> float:
    return 1.0 if response == "answer 1" else 0.5


def answers(call: Call) -> Any:
    if call.asks == "StatementGeneratorOutput":
        return said(statements=["s"])
    if call.asks == "NLIStatementOutput":
        return said(statements=[{"statement": "s", "reason": "r", "verdict": 1}])
    return embedded([1.0, 0.5]) if call.asks == "embedding" else verdict("pass")


def prepared(home: Home, n: int = 3, **changes: Any) -> JudgeOptions:
    """Write rows that all of these metrics take, and return options whose requests have been compared elsewhere."""
    rows = [{"case_id": f"r{i}", "reference": "Berlin", "response": f"answer {i}", "user_input": "q"} for i in range(n)]
    home.write("".join(json.dumps(row | {"retrieved_contexts": [f"c{row['case_id']}"]}) + "\n" for row in rows))
    assert home.endpoint is not None
    home.endpoint.script = answers
    import_ragas()
    settings = home.settings(embedding_model="e", **changes)
    for judge in (load_metric("faithfulness"), load_metric("answer_similarity"), JUDGE):
        options = home.options(judge, settings=settings)  # type: ignore[arg-type] # both are judges
    return options


def test_s3_6_one_call_one_frame_and_a_run_folder_for_each_judge(home: Home) -> None:
    options = prepared(home)
    metrics = [load_metric("faithfulness"), share, JUDGE, load_metric("answer_similarity")]
    scored = score_all(metrics, home.cases, ask=options, folder=home.folder / "runs")
    frame = scored.frame
    assert frame["faithfulness"].tolist() == [1.0] * 3
    assert frame["share"].tolist() == [0.5, 1.0, 0.5]
    assert frame["right"].tolist() == ["pass"] * 3
    assert frame["answer_similarity_state"].tolist() == ["scored"] * 3
    assert {name: ledger.total(state="scored") for name, ledger in scored.ledgers.items()} == dict.fromkeys(
        ("faithfulness", "share", "right", "answer_similarity"), 3
    )
    assert sorted(path.name for path in (home.folder / "runs").iterdir()) == [
        "answer_similarity", "faithfulness", "right",
    ]  # fmt: skip
    assert scored.records["faithfulness"][0].judge is not None
    assert scored.records["faithfulness"][0].judge["cache"] == "miss"
    assert home.endpoint is not None
    assert home.endpoint.count == 3 * 2 + 3 + 4  # one reference is embedded once
    # what was paid for is not paid for again
    again = score_all(metrics, home.cases, ask=options, folder=home.folder / "again")
    assert home.endpoint.count == 13
    pd.testing.assert_frame_equal(again.frame, frame)


def test_one_judges_faults_never_touch_anothers_rows(home: Home) -> None:
    options = prepared(home)
    assert home.endpoint is not None
    home.endpoint.script = lambda call: (
        status(503) if call.asks == "DiscreteResponseModel" and "answer 1\n" in call.prompt else answers(call)
    )
    frame = score_all(
        [JUDGE, load_metric("faithfulness"), share], home.cases, ask=options, folder=home.folder / "r"
    ).frame
    assert frame["right_state"].tolist() == ["scored", "error", "scored"]
    assert frame["faithfulness_state"].tolist() == ["scored"] * 3
    assert frame["share_state"].tolist() == ["scored"] * 3
    assert frame["right"].isna().tolist() == [False, True, False]


def test_timeout_workers_retries_and_budget_are_settings(home: Home) -> None:
    options = prepared(home, n=6, timeout=0.4, concurrency=3, attempts=2)
    assert home.endpoint is not None
    met: Counter[str] = Counter()

    def script(call: Call) -> Any:
        met[call.prompt] += 1
        if "answer 0\n" in call.prompt:
            return hang(5)
        if "answer 1\n" in call.prompt and met[call.prompt] == 1:
            return status(503, retry_after="0")
        return verdict("pass", delay=0.05)

    home.endpoint.script = script
    before = time.perf_counter()
    frame = score_all([JUDGE, share], home.cases, ask=options, folder=home.folder / "r").frame
    assert time.perf_counter() - before < 4
    assert frame["right_state"].tolist() == ["error", *["scored"] * 5]  # the hanging one alone, after two attempts
    assert "no answer within 0.4 s" in frame["right_reason"][0]
    assert 1 < home.endpoint.most_open <= 3
    assert home.endpoint.count == 5 + 1 + 2
    tight = JudgeOptions(settings=options.settings, store=home.folder / "new.sqlite", budget=Budget(calls=2),
                         has_preflight=False, sender=options.sender)  # fmt: skip
    home.endpoint.script = lambda _: verdict("pass")
    home.options(settings=tight.settings, store=tight.store)
    states = score_all([JUDGE], home.cases, ask=tight, folder=home.folder / "t").frame["right_state"]
    assert Counter(states) == {"scored": 2, "unrun": 4}


def test_h01_it_runs_inside_a_notebooks_own_loop(home: Home) -> None:
    options = prepared(home)

    async def cell() -> list[str]:
        return list(score_all([JUDGE], home.cases, ask=options, folder=home.folder / "r").frame["right_state"])

    assert asyncio.run(cell()) == ["scored"] * 3


def test_what_is_missing_is_said(home: Home) -> None:
    options = prepared(home)
    with pytest.raises(EvalkitError, match="faithfulness is a judge: what it says is kept in a run folder"):
        score_all([share, load_metric("faithfulness")], home.cases, ask=options)
    with pytest.raises(EvalkitError, match="two of these metrics have the same name: right"):
        score_all([JUDGE, JUDGE], home.cases, ask=options, folder=home.folder / "r")
    scored = score_all([share, JUDGE], home.cases)
    assert set(scored.frame["right_state"]) == {"unrun"}
    (note,) = scored.findings["right"]
    assert note.startswith("right is a judge, and nobody was asked")
    assert "evalkit judge right CASES --run DIR" in note
    assert scored.findings["share"] == []
    assert home.endpoint is not None
    assert home.endpoint.count == 0


def test_a_display_name_is_kept_beside_the_safe_one(home: Home) -> None:
    prepared(home)
    ragas = import_ragas()

    @ragas.numeric_metric(name="Answer length (short = 1)")
    def length(response: str) -> float:
        return 1.0 / len(response)

    scored = score_all([length, share], home.cases)
    assert list(scored.frame.columns[4:7]) == [
        "Answer_length_short_1", "Answer_length_short_1_state", "Answer_length_short_1_reason",
    ]  # fmt: skip
    assert scored.frame.attrs["names"] == {"Answer_length_short_1": "Answer length (short = 1)", "share": "share"}
    assert scored.findings["Answer_length_short_1"] == [
        "Answer_length_short_1 is what its author calls 'Answer length (short = 1)'"
    ]
