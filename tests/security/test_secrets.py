"""Planted secrets, searched for in every byte that is written and in all that is said."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from endpoint import Answer, Call, Endpoint, status, verdict
from hostile import Said, evalkit
from judges import Home

from evalkit.metrics.refund_answer import refund_answer

FIXTURES = Path(__file__).parents[2] / "fixtures"
SECRET = "SECRET-4711-9f3a"
HASHED = "only-the-hash-of-this-9c1e"
KEY = "sk-planted-0123456789abcdef"

METRIC = """
import re
from evalkit import Contract, InvalidRow, MetricResult, numeric_metric

def without_secrets(text: str) -> str:
    return re.sub(r"SECRET-\\d+-[0-9a-f]{4}", "[redacted]", text)

@numeric_metric(allowed_values=(0.0, 1.0), contract=Contract(
    version="1", measures="m", reviewed=("wanted",), produced=("found", "private"),
    invalid_when=("something is wrong",), consumed_by="c", cannot_establish="e", redact=without_secrets,
    retention={"private": "hash", "question": "excerpt"}))
def mine(wanted: list[str], found: list[str], private: str) -> MetricResult:
    if "refuse" in found:
        raise InvalidRow(f"refused: {found}")
    if "raise" in found:
        raise KeyError(f"raised over {found}")
    return MetricResult(value=len(found) / len(wanted), reason=f"found={found}", detail={"found": found})
"""
POLICY = """
schema = 1
name = "release"
version = "7"
metric = "mine"
contract_version = "1"
approved_by = "council"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "r"
[slices.default]
minimum = 0.75
"""


def written(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def places_of(secret: str, folder: Path, said: list[Said]) -> list[str]:
    """Return where a secret stands: in what was written, or in what was said."""
    found = [name for name, raw in written(folder).items() if secret.encode() in raw]
    return found + [text for each in said for text in (each.out, each.err) if secret in text]


def rows() -> list[Any]:
    """Rows that end in every state, with the secret wherever a text may stand."""
    whole = {
        "wanted": ["a", f"b {SECRET}"], "found": [f"a {SECRET}"], "private": f"{HASHED} {SECRET}",
        "generation": {"model": SECRET, SECRET: 1}, "source": SECRET, "stratum": SECRET, "system_revision": SECRET,
        "rationale": SECRET, "role": SECRET, "pair_id": SECRET, SECRET: SECRET, "unknown": SECRET,
        "oracle": {"invalid": SECRET},
        "evidence": {
            "question": f"{SECRET}?", "answer": f"{'x' * 190} {SECRET}", "reference": SECRET, SECRET: SECRET,
            "citations": [{"claim_id": SECRET, "document_id": SECRET, "span": SECRET}],
            "retrieved": [{"document_id": SECRET, "revision": SECRET, "passage_id": SECRET, "text": SECRET}],
            "claims": {SECRET: SECRET},
        },
    }  # fmt: skip
    changes: list[dict[str, Any]] = [
        {"case_id": "scored"}, {"case_id": "passes", "found": ["a", SECRET]},
        {"case_id": "refused", "found": ["refuse", SECRET]}, {"case_id": "raised", "found": ["raise", SECRET]},
        {"case_id": "out-of-range", "found": [SECRET] * 3}, {"case_id": "wrong-type", "private": [HASHED, SECRET]},
        {"case_id": "wrong-text", "found": f"{'y' * 50} {SECRET}"},
        {"case_id": "wrong-key", "found": {SECRET: SECRET}}, {"case_id": "no-list", "wanted": None},
        {"case_id": f"named {SECRET}"}, {"case_id": "sliced", "slice": SECRET}, {"case_id": "family", "family": SECRET},
        {"case_id": "twice"}, {"case_id": "twice"}, {"case_id": f"twice {SECRET}"}, {"case_id": f"twice {SECRET}"},
        {"case_id": "partition", "partition": SECRET}, {"case_id": "version", "contract_version": SECRET},
        {"case_id": "unfit", "unfit": {"reason": SECRET, "owner": "adapter"}}, {"case_id": 5, "slice": SECRET},
        {"case_id": f"unblocked {SECRET}", "blocking": "yes", "slice": f"a {SECRET}"},
    ]  # fmt: skip
    return [whole | change for change in changes]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (tmp_path / "mine.py").write_text(METRIC)
    (tmp_path / "policy.toml").write_text(POLICY)
    cut = json.dumps(rows()[0])[:-9] + f' "{SECRET}'  # the last line is cut off
    lines = [json.dumps(row) for row in rows()]
    (tmp_path / "old.jsonl").write_text(
        "\n".join([*lines, f"no JSON {SECRET}", f'{{"{SECRET}": 1, "{SECRET}": 2}}', cut])
    )
    (tmp_path / "new.jsonl").write_text("\n".join(lines[2:] + lines[:1]) + "\n")
    labels = [{"case_id": name, "reviewer": "r1", "label": "fail"} for name in ("scored", "passes")]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(label) + "\n" for label in labels))
    return folder


def test_what_the_contract_redacts_or_keeps_by_hash_stands_in_no_file_and_no_word(here: Path) -> None:
    inputs = here.parent
    metric, policy = f"{inputs}/mine.py:mine", ("--policy", inputs / "policy.toml", "--as-of", "2026-12-01")
    said = [
        evalkit(
            "gate", metric, inputs / f"{name}.jsonl", *policy, "--run", name, "--json", f"{name}.json",
            "--junit", f"{name}.xml", "--summary", f"{name}.md",
        )
        for name in ("old", "new")
    ]  # fmt: skip
    labels = ("--labels", inputs / "labels.jsonl")
    commands: list[tuple[object, ...]] = [
        ("gate", metric, inputs / "old.jsonl", *policy, "--format", "jsonl", "--baseline", "new"),
        ("gate", metric, "old", *policy, "--run", "again"),
        ("score", metric, inputs / "old.jsonl", "--run", "scored"),
        ("explain", "old", "--json", "e.json", "--markdown", "e.md"),
        ("explain", "new", "old", "--json", "e2.json", "--markdown", "e2.md"),
        ("compare", metric, metric, inputs / "old.jsonl", "--json", "c.json", "--markdown", "c.md"),
        ("ballot", "old", "--out", "b.html"),
        ("packet", "old", "--policy", inputs / "policy.toml", "--out", "p.html", "--metric", metric),
        ("calibrate", metric, inputs / "old.jsonl", *labels, "--json", "cal.json"),
        ("next-labels", metric, "old", *labels, "--out", "n.jsonl", "--json", "n.json"),
        ("flips", metric, inputs / "old.jsonl", "--from", "0.4", "--to", "0.9", "--json", "f.json"),
        ("estimate", metric, inputs / "old.jsonl", *labels, "--threshold", "0.5", "--json", "est.json"),
    ]
    said += [evalkit(*command) for command in commands]
    assert (here / "old" / "report.html").exists()
    assert (here / "b.html").exists()
    assert len(written(here)) > 20
    assert places_of(SECRET, here, said) == []
    assert places_of(HASHED, here, said) == []
    # Even a piece of it: texts are cut for screens after they were redacted, not before.
    assert places_of(SECRET[:11], here, said) == []


# --- the key of a judge -----------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with Endpoint() as endpoint:
        home = Home(folder, endpoint)
        shutil.copy(FIXTURES / "refund_answer/cases.jsonl", home.cases)
        home.options(refund_answer, settings=home.settings(model="example-model"))  # compared elsewhere
        for name, value in (("API_KEY", KEY), ("BASE_URL", endpoint.url), ("ORG_ID", KEY), ("PROJECT_ID", KEY)):
            monkeypatch.setenv(f"OPENAI_{name}", value)
        monkeypatch.setenv("EVALKIT_JUDGE_MODEL", "example-model")
        monkeypatch.setenv("EVALKIT_TEST_TOKEN", KEY)
        yield home


def echo(call: Call) -> Answer:
    """Answer as providers do: some repeat the key that they refuse, one puts all headers into its verdict."""
    # Where providers' messages are cut, half a key must not be left over.
    repeated = f"Incorrect API key provided: {KEY}. {'z' * (225 + call.number)} {KEY} ({call.headers})"
    answers = [
        verdict("pass"), status(500, repeated), status(400, repeated), verdict("fail", repeated), status(429, repeated),
        verdict(repeated),
    ]  # fmt: skip
    return answers[call.number % len(answers)]


def refuse(call: Call) -> Answer:
    return status(401, f"Incorrect API key provided: {KEY}")


@pytest.mark.parametrize("script", [echo, refuse])
def test_the_key_of_a_judge_stands_in_no_file_and_no_word(home: Home, script: Any) -> None:
    assert home.endpoint is not None
    home.endpoint.script = script
    said = [
        evalkit(
            "judge", "refund_answer", home.cases, "--run", "run", "--store", home.store, "--max-calls", 100,
            "--attempts", 2, "--json", "o.json", "--export", "cassette.jsonl", *more,
        )
        for more in ((), ("--no-preflight",), ("--no-preflight", "--set", "top_p=nope"))
    ]  # fmt: skip
    said.append(
        evalkit("gate", "refund_answer", "run", "--policy", FIXTURES / "refund_answer/policy.toml", "--run", "g")
    )
    said.append(evalkit("explain", "run", "--json", "e.json"))
    said.append(evalkit("judge", "refund_answer", home.cases, "--show-prompt", "window-kept", "--json", "p.json"))
    said.append(evalkit("doctor", "--json", "d.json"))
    assert home.endpoint.count > 0
    assert all(call.headers["authorization"] == f"Bearer {KEY}" for call in home.endpoint.calls)
    assert len(written(home.folder)) > 4
    assert places_of(KEY, home.folder, said) == []
    assert places_of(KEY[:9], home.folder, said) == []
