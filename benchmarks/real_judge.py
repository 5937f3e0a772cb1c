"""WiCE's recorded GPT-4 verdicts through the whole path of a judge run, against the figures known of them.

Run it from the project's root: ``python benchmarks/real_judge.py [FOLDER]`` (``../shared/data`` by default). A loopback
server answers with the recorded verdicts; prompt, client, store, reader, run folder and gate are the real ones. The
data (WiCE, oracle-retrieval version) are public and not part of this project; without them the script says so and
exits 2.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from endpoint import Answer, Call, Endpoint, verdict

from evalkit import Contract
from evalkit.contract.judge import Judge
from evalkit.scoring.judge import Budget, JudgeOptions, JudgeRun, JudgeSettings, run_judge

DATA = Path(__file__).parents[2] / "shared/data"
CLAIMS = "wice/oracle_claim_test.jsonl"
VERDICTS = "wice/gpt-4-0613.test.entailment_score.json"

JUDGE = Judge(
    name="claim_supported",
    prompt="Is the claim supported by the passages? {passages} {claim}",
    lists=("passages",),
    contract=Contract(
        version="1",
        measures="whether the passages support the claim",
        reviewed=("passages",),
        produced=("claim",),
        invalid_when=("there is no claim or no passage",),
        consumed_by="nobody: it is compared with people",
        cannot_establish="whether the claim is true",
    ),
)


def read_wice(
    folder: Path, verdicts_of: str = VERDICTS
) -> tuple[dict[str, dict[str, object]], dict[str, str], dict[str, str]]:
    """Return case, human label and recorded verdict of each claim that has one: supported is a pass."""
    verdicts = json.loads((folder / verdicts_of).read_text(encoding="utf-8"))
    cases: dict[str, dict[str, object]] = {}
    human: dict[str, str] = {}
    for line in (folder / CLAIMS).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        case_id = row["meta"]["id"]
        if case_id in verdicts and case_id not in cases:
            passages = [passage for passage in row["evidence"] if passage.strip()]
            cases[case_id] = {"case_id": case_id, "claim": row["claim"], "passages": passages}
            human[case_id] = "pass" if row["label"] == "supported" else "fail"
    return cases, human, {case_id: "pass" if score == 1 else "fail" for case_id, score in verdicts.items()}


def judge_wice(folder: Path, scratch: Path) -> tuple[JudgeRun, Counter[tuple[str, str]], int]:
    """Run the judge and count (human, judge); also return how many calls the server saw."""
    cases, human, recorded = read_wice(folder)
    path = scratch / "cases.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases.values()), encoding="utf-8")
    by_claim = {str(case["claim"]): recorded[case_id] for case_id, case in cases.items()}

    def script(call: Call) -> Answer:
        if "<claim" not in call.prompt:
            return verdict("pass", reason="the preflight")
        claim = call.prompt.rsplit(">\n", 1)[1].rsplit("\n</", 1)[0]
        return verdict(by_claim[claim], reason="recorded")

    with Endpoint(script) as endpoint:
        settings = JudgeSettings(model="gpt-4-0613", endpoint=endpoint.url, api_key="none", concurrency=16)
        options = JudgeOptions(settings=settings, store=scratch / "verdicts.sqlite", budget=Budget(calls=200))
        done = asyncio.run(run_judge(JUDGE, path, scratch / "run", options))
        count = endpoint.count
    return done, Counter((human[str(r.case_id)], str(r.value)) for r in done.run.records()), count


def main() -> int:
    """Print each figure beside the one expected; exit 1 where they differ."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    if not (source / CLAIMS).exists():
        print(f"{CLAIMS} is not here: give the folder that holds it")
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        done, pairs, calls = judge_wice(source, Path(scratch))
    n = pairs.total()
    agreed = (pairs["pass", "pass"] + pairs["fail", "fail"]) / n
    # Expected by chance: the product of the two shares of passes, and that of the two shares of fails.
    human = (pairs["pass", "pass"] + pairs["pass", "fail"]) / n
    judge = (pairs["pass", "pass"] + pairs["fail", "pass"]) / n
    chance = human * judge + (1 - human) * (1 - judge)
    expected = [
        ("scored", done.ledger.total(state="scored"), 100),
        ("calls, the preflight included", calls, 101),
        ("calls that the run counted", done.facts["calls"], 101),
        ("human fail, judge fail", pairs["fail", "fail"], 59),
        ("human fail, judge pass", pairs["fail", "pass"], 19),
        ("human pass, judge pass", pairs["pass", "pass"], 18),
        ("human pass, judge fail", pairs["pass", "fail"], 4),
        ("accuracy", round(agreed, 2), 0.77),
        ("kappa", round((agreed - chance) / (1 - chance), 3), 0.462),
    ]
    for name, found, wanted in expected:
        print(f"{'ok  ' if found == wanted else 'DIFF'} {name}: {found} (expected {wanted})")
    return int(any(found != wanted for _, found, wanted in expected))


if __name__ == "__main__":
    sys.exit(main())
