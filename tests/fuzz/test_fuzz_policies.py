"""Any text as a policy: it is used as it reads or refused in words, and no broken one lets a release through."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from hostile import broken, evalkit, look_for, texts
from hypothesis import strategies as st

from evalkit.decisions.policy import read_policy

pytestmark = pytest.mark.fuzz

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
WHOLE = (FIXTURES / "policy.toml").read_text(encoding="utf-8")

toml_values = st.one_of(
    st.booleans().map(lambda value: str(value).lower()),
    st.integers(-3, 2**64).map(str),
    st.floats().map(repr),
    texts.map(json.dumps),
    st.sampled_from(
        ["2026-11-30", "2026-13-45", "0001-01-01", "9999-12-31", "2026-11-30T10:00:00Z", "10:00:00", "nan", "-inf",
         "[]", "{}", "[[1], [2]]", '{ reason = "x" }', "1e400", "0x1F", "1_000", '["default"]', '"block"', '"new"']
    ),
)  # fmt: skip
KEYS = (
    "schema", "name", "version", "mode", "metric", "contract_version", "scope", "approved_by", "approved_on",
    "expires_on", "rationale", "basis", "block_on", "calibration", "consequences", "slices", "limits", "exceptions",
    "minimum", "maximum", "review_band", "require", "review", "invalid", "error", "unrun", "min_scored",
    "max_false_passes", "metric_fingerprint", "cases_sha256", "lock_sha256", "min_value",
)  # fmt: skip


@st.composite
def policies(draw: st.DrawFn) -> bytes:
    lines = WHOLE.split("\n")
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(lines) - 1))
        key = lines[at].partition("=")[0].strip() or draw(st.sampled_from(KEYS))
        match draw(st.integers(0, 4)):
            case 0:
                del lines[at]
            case 1:
                lines.insert(at, f"{draw(st.sampled_from(KEYS))} = {draw(toml_values)}")
            case 2:
                lines.insert(
                    at, draw(st.sampled_from(["[slices.x]", "[[exceptions]]", "[limits]", "[a.b.c]", lines[at]]))
                )
            case _:
                lines[at] = f"{key} = {draw(toml_values)}"
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def check(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        path = here / "policy.toml"
        path.write_bytes(raw)
        leave = (
            "--json",
            here / "o.json",
            "--junit",
            here / "j.xml",
            "--summary",
            here / "s.md",
            "--run",
            here / "run",
        )
        cases = FIXTURES / "incident.jsonl"
        said = evalkit("gate", "evidence_coverage", cases, "--policy", path, "--as-of", "2026-12-01", *leave)
        if not (here / "o.json").exists():
            assert said.code == 2
            return
        outcome: dict[str, Any] = json.loads((here / "o.json").read_text())
        assert outcome["ledger"]["lines"] == 32
        assert outcome["ledger"]["scored"] == 32
        policy = read_policy(path).policy
        if policy is None:
            assert (said.code, outcome["outcome"]) == (2, "incomplete")
            assert said.out.count("\n") > 2
        elif said.code == 0 and outcome["outcome"] != "passed":
            assert policy.mode == "report"
        assert evalkit("explain", here / "run").code in (0, 2)


def test_fuzz_any_text_as_policy_is_used_or_refused_in_words() -> None:
    assert tomlkit.parse(WHOLE)["name"] == "release"
    look_for(st.one_of(policies(), policies(), broken(WHOLE.encode())), check)
