"""Recorded judges of public data through the whole certification, and the verdict that their figures ask for.

Run it from the project's root: ``python benchmarks/real_data_certify.py [FOLDER]`` (``../shared/data`` by default). A
loopback server answers with the recorded verdicts; prompt, client, store, run folder, labels and gate are the real
ones. WiCE (ryokamoi/wice) and PandaLM (WeOpenML/PandaLM) are public and not part of this project; without them the
script says so and exits 2. Nobody has classified these disagreements, and no control was ever recorded for these
judges: their policies only report.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from endpoint import Answer, Call, Endpoint, reply, verdict
from human_labels import pandalm
from real_judge import CLAIMS, JUDGE, read_wice

from evalkit import Contract, GateResult, gate
from evalkit.contract.judge import Judge
from evalkit.decisions.certifying.against import disagreement_drafts, total_of
from evalkit.decisions.gate import GateOptions
from evalkit.scoring.judge import Budget, JudgeOptions, JudgeSettings, run_judge

DATA = Path(__file__).parents[2] / "shared/data"
DAY = date(2026, 12, 1)
HEAD = """schema = 1
name = "recorded judge"
version = "1"
mode = "report"
metric = "{metric}"
contract_version = "1"
[limits]
error = {error}
[slices.default]
require = ["{good}"]
max_false_passes = {false_passes}
max_false_fails = {false_fails}
"""
PREFERENCE = Judge(
    name="preferred",
    prompt="Which answer is better, 1 or 2, or is it a tie (0)? {question} {first} {second}",
    allowed_values=["0", "1", "2"],
    compatible={"Tie": "0"},
    contract=Contract(
        version="1",
        measures="which of two answers people prefer",
        reviewed=("question",),
        produced=("first", "second"),
        invalid_when=("an answer is absent",),
        consumed_by="nobody: it is compared with people",
        cannot_establish="whether either answer is right",
    ),
)


class Figure(NamedTuple):
    """A figure beside the one expected."""

    name: str
    found: Any
    expected: Any


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A judge whose verdicts were recorded, and what people said of the same rows."""

    judge: Judge
    cases: Mapping[str, Mapping[str, Any]]
    labels: Path
    said: Mapping[str, str]
    """The verdict of each case, as it was recorded."""
    good: str
    """The label that passes."""
    error: int = 0
    """Rows without a verdict that the policy allows."""


def judged(of: Recorded, folder: Path) -> Path:
    """Let a loopback server answer with the recorded verdicts, and return the run."""
    folder.mkdir()
    cases = folder / "cases.jsonl"
    cases.write_text("".join(json.dumps(case) + "\n" for case in of.cases.values()), encoding="utf-8")
    by_id = {f"[case {case_id}]": text for case_id, text in of.said.items()}

    def script(call: Call) -> Answer:
        start = call.prompt.find("[case ")
        said = by_id.get(call.prompt[start : call.prompt.find("]", start) + 1], of.good)
        # What was recorded and is no verdict comes back as the prose that it was.
        known = [*of.judge.declaration()["allowed_values"], *of.judge.compatible]
        return verdict(said, reason="recorded") if said in known else reply(said)

    with Endpoint(script) as endpoint:
        settings = JudgeSettings(model="recorded", endpoint=endpoint.url, api_key="none", concurrency=16)
        options = JudgeOptions(settings=settings, store=folder / "verdicts.sqlite", budget=Budget(calls=2000))
        return asyncio.run(run_judge(of.judge, cases, folder / "run", options)).run.folder


def certified(of: Recorded, run: Path, false_passes: int, false_fails: int, causes: Path | None = None) -> GateResult:
    """Gate a run against people's labels under one pair of limits."""
    policy = run.parent / "policy.toml"
    limits = {"false_passes": false_passes, "false_fails": false_fails}
    policy.write_text(HEAD.format(metric=of.judge.name, good=of.good, error=of.error, **limits), encoding="utf-8")
    options = GateOptions(labels=of.labels, causes=causes, as_of=DAY)
    return gate(of.judge, run, policy, options=options)


def everything_is_reasoning(result: GateResult, folder: Path) -> Path:
    """Classify each disagreement as the judge's own reasoning, which nobody has checked: it shows the path, no more."""
    lines = [json.loads(line) for line in disagreement_drafts(result.labelled).splitlines()]
    made_up = {"cause": "evaluator_reasoning", "reason": "not looked at", "reviewer": "benchmark"}
    path = folder / "causes.jsonl"
    path.write_text("".join(json.dumps(line | made_up) + "\n" for line in lines), encoding="utf-8")
    return path


# --- WiCE -----------------------------------------------------------------------------------------------------------


def wice_judge(source: Path, folder: Path, verdicts: str) -> Recorded:
    """Read one judge's recorded verdicts of 100 claims; "supported" is a pass."""
    cases, human, said = read_wice(source, verdicts)
    marked = {name: dict(case) | {"claim": f"[case {name}] {case['claim']}"} for name, case in cases.items()}
    labels = folder / f"labels-{Path(verdicts).stem}.jsonl"
    labels.write_text(
        "".join(
            json.dumps({"case_id": name, "reviewer": "wice", "label": word, "selection": "random"}) + "\n"
            for name, word in human.items()
        ),
        encoding="utf-8",
    )
    return Recorded(judge=JUDGE, cases=marked, labels=labels, said=said, good="pass")


def wice_figures(source: Path, folder: Path) -> Iterator[Figure]:
    """Yield what certification says of GPT-4, which is useful within limits, and of GPT-3.5, which is not.

    The limits, set before looking: people read every claim that passes, so up to 20 bad ones of 100 may; a good one
    that is held back costs work, so at most 5 may be.
    """
    of = wice_judge(source, folder, "wice/gpt-4-0613.test.entailment_score.json")
    run = judged(of, folder / "gpt-4")
    result = certified(of, run, 20, 5)
    facts = result.labelled[0].facts()
    names = ("people_fail", "false_passes", "people_pass", "false_fails")
    found = tuple(len(facts[name]) if isinstance(facts[name], list) else facts[name] for name in names)
    yield Figure("WiCE GPT-4: bad, of them passing; good, of them failing", found, (78, 19, 22, 4))
    yield Figure("WiCE GPT-4: alone, no false pass allowed", certified(of, run, 0, 5).outcome.name, _FAILED)
    yield Figure("WiCE GPT-4: within limits, unclassified", result.outcome.name, "review_required")
    causes = everything_is_reasoning(result, run.parent)
    yield Figure("WiCE GPT-4: the same, classified", certified(of, run, 20, 5, causes).outcome.name, "passed")
    of = wice_judge(source, folder, "wice/gpt-3.5-turbo-0613.test.entailment_score.json")
    result = certified(of, judged(of, folder / "gpt-3.5"), 20, 5)
    total = total_of(result.labelled) or {}
    yield Figure("WiCE GPT-3.5: decisions that are people's, of 100", total["agree"], 39)
    yield Figure("WiCE GPT-3.5: kappa", round(total["kappa"], 3), 0.063)
    yield Figure("WiCE GPT-3.5: the same limits", result.outcome.name, _FAILED)


_FAILED = "quality_failed"


# --- PandaLM --------------------------------------------------------------------------------------------------------


def pandalm_judges(source: Path, folder: Path) -> dict[str, Recorded]:
    """Read two recorded judges of 999 pairs, and each of the three people as if they were one.

    "1" passes: the first answer is the better one.
    """
    files = pandalm(source, folder / "labels")
    rows = json.loads((source / "testset-v1.json").read_text(encoding="utf-8"))
    kept = [json.loads(line) for line in files.cases.read_text(encoding="utf-8").splitlines()]
    cases = {
        str(row["idx"]): {
            "case_id": str(row["idx"]),
            "question": f"[case {row['idx']}] {row['instruction']}",
            # Some answers are blank, which people could judge; the judge is shown that there is nothing.
            "first": str(row["response1"]).strip() or "(nothing)",
            "second": str(row["response2"]).strip() or "(nothing)",
        }
        for row in rows
    }
    said = {key: {case["case_id"]: str(case[key]) for case in kept} for key in ("gpt_3_5", "pandalm_7b")}
    said |= {f"annotator_{i}": {str(row["idx"]): str(row[f"annotator{i}"]) for row in rows} for i in (1, 2, 3)}
    return {
        key: Recorded(
            judge=PREFERENCE, cases=cases, labels=files.labels, said=verdicts, good="1",
            error=25 if key == "gpt_3_5" else 0,
        )
        for key, verdicts in said.items()
    }  # fmt: skip


def pandalm_figures(source: Path, folder: Path) -> Iterator[Figure]:
    """Yield what certification says of two judges under limits that each of the three people meets.

    The limits: of 999 pairs at most 40 false passes and 40 false fails, about what one careful person does.
    """
    for key, of in pandalm_judges(source, folder).items():
        result = certified(of, judged(of, folder / key), 40, 40)
        blocking = {blocker.kind for blocker in result.blockers}
        if key.startswith("annotator"):
            yield Figure(f"PandaLM {key}: limits met, disagreements unclassified", blocking, {"unclassified"})
            continue
        yield Figure(f"PandaLM {key}: refused", result.outcome.name, _FAILED)
        yield Figure(f"PandaLM {key}: why", blocking, {"false_passes", "false_fails", "unclassified"})
        if key == "gpt_3_5":
            facts = result.labelled[0].facts()
            yield Figure("PandaLM gpt_3_5: 'garbage' is an error, never a label", facts["errored"], 25)
            strict = certified(replace(of, error=0), folder / key / "run", 40, 40)
            yield Figure("PandaLM gpt_3_5: no error allowed", strict.outcome.name, "incomplete")
    yield from _without_adjudication(source, folder)


def _without_adjudication(source: Path, folder: Path) -> Iterator[Figure]:
    """Two against one settles nothing: without an adjudication the rows are in conflict, and people decide them."""
    of = pandalm_judges(source, folder / "again")["pandalm_7b"]
    lines = of.labels.read_text(encoding="utf-8").splitlines(keepends=True)
    of.labels.write_text("".join(line for line in lines if '"adjudication"' not in line), encoding="utf-8")
    result = certified(of, folder / "pandalm_7b/run", 999, 999)
    conflicts = {blocker.kind: len(blocker.rows) for blocker in result.blockers}
    yield Figure("PandaLM: rows in conflict without adjudication", conflicts.get("label_conflict"), 120)


def main() -> int:
    """Print each figure beside the one expected; exit 1 where they differ."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    if missing := [name for name in (CLAIMS, "pandalm/testset-v1.json") if not (source / name).exists()]:
        print(f"{', '.join(missing)} not here: give the folder that holds them")
        return 2
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, figures, place in (("wice", wice_figures, source), ("pandalm", pandalm_figures, source / "pandalm")):
            folder = Path(scratch) / name
            folder.mkdir()
            for figure in figures(place, folder):
                is_wrong = figure.found != figure.expected
                wrong += is_wrong
                print(f"{'DIFF' if is_wrong else 'ok  '} {figure.name}: {_shown(figure.found)}", flush=True)
                if is_wrong:
                    print(f"     expected {_shown(figure.expected)}")
    return int(wrong > 0)


def _shown(value: Any) -> str:
    return ", ".join(sorted(value)) if isinstance(value, set) else str(value)


if __name__ == "__main__":
    sys.exit(main())
