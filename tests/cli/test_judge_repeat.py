"""``evalkit judge --repeat`` as it is typed: what it prints, what it leaves, and what the gate makes of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from endpoint import Answer, Call, Endpoint, verdict
from judges import Home

from evalkit.contract import Outcome
from evalkit.metrics.refund_answer import refund_answer

FIXTURES = Path(__file__).parents[2] / "fixtures/refund_answer"


def evalkit(*arguments: object, env: dict[str, str], cwd: Path) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "evalkit", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False, env=os.environ | env, cwd=cwd)


@pytest.mark.parametrize(("repeat", "ties"), [(2, True), (3, False)])
def test_s2_18_unstable_rows_are_printed_and_a_tie_is_review_at_the_gate(
    tmp_path: Path, repeat: int, ties: bool
) -> None:
    seen: dict[str, int] = {}

    def script(call: Call) -> Answer:
        # The first and third time the boots may be sent back, the second time not; every other row is a pass.
        seen[call.prompt] = seen.get(call.prompt, 0) + 1
        return verdict("fail" if "within 60 days" in call.prompt and seen[call.prompt] == 2 else "pass")

    with Endpoint(script) as endpoint:
        home = Home(tmp_path, endpoint)
        home.write((FIXTURES / "cases.jsonl").read_text(encoding="utf-8"))
        settings = home.settings(model="example-model", concurrency=1)
        home.options(refund_answer, settings=settings)  # its requests are compared with ragas' elsewhere
        env = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "key", "EVALKIT_JUDGE_MODEL": "example-model"}
        done = evalkit(
            "judge", "refund_answer", home.cases, "--run", "judged", "--repeat", repeat, "--max-calls", 100,
            "--store", home.store, "--no-preflight", "--attempts", 1, "--timeout", 10, env=env, cwd=tmp_path,
        )  # fmt: skip
    assert done.returncode == Outcome.passed, done.stderr
    assert endpoint.count == 13 * repeat
    said = " ".join(done.stdout.split())
    # 1 of 13: Clopper-Pearson 0.19 % to 36.03 %, shown outwards.
    assert f"asked {repeat} times each; unstable: 1 of 13 rows (exact 95 % interval 0-37 %): window-wrong" in said
    assert ("ties, which a person decides: 1 of 13 rows: window-wrong" in said) is ties
    policy = tmp_path / "policy.toml"
    text = (FIXTURES / "policy.toml").read_text()
    policy.write_text(text.replace('decide = "review"\n', "").replace('cost = "5.00"\n', ""))
    gated = evalkit(
        "gate", "refund_answer", "judged", "--policy", policy, "--as-of", "2026-12-01", env={}, cwd=tmp_path
    )
    assert gated.returncode == (Outcome.review_required if ties else Outcome.passed), gated.stdout
    assert "unstable: 1 of 13 rows" in " ".join(gated.stdout.split())
