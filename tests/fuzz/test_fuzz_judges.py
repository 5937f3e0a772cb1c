"""Any bytes as a cassette, any body as a provider's reply: a verdict is read strictly, or the row says what came."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from endpoint import USAGE, Answer, Call, Endpoint
from hostile import SECONDS, bent, broken, evalkit, look_for, texts, values
from hypothesis import strategies as st
from judges import Home

from evalkit.metrics.refund_answer import refund_answer

pytestmark = pytest.mark.fuzz

FIXTURES = Path(__file__).parents[2] / "fixtures" / "refund_answer"
CASES, POLICY = FIXTURES / "cases.jsonl", FIXTURES / "policy.toml"
CASSETTE = (FIXTURES / "refund_answer.cassette.jsonl").read_bytes().splitlines()
ROWS = len(CASES.read_bytes().splitlines())
LABELS = ("pass", "fail")
GOOD = {"reason": "because", "value": "pass"}

contents = st.one_of(
    st.sampled_from([GOOD, GOOD | {"value": "fail"}]).map(json.dumps),
    bent(GOOD).map(json.dumps),
    broken(json.dumps(GOOD).encode()).map(lambda raw: raw.decode("utf-8", "surrogateescape")),
    st.builds(lambda before, after: before + json.dumps(GOOD) + after, texts, texts),
    st.builds(lambda key, value: json.dumps({**GOOD, key: value}), st.sampled_from(["value", "reason", "x"]), values),
    texts,
    st.sampled_from(
        ["", "{}", "[]", "null", '{"value": "pass", "value": "fail", "reason": "r"}', "[" * 3000, "{" * 3000, "pass",
         '{"value": NaN, "reason": "r"}', '{"value": 1e999, "reason": "r"}', '{"value": "\\ud800", "reason": "r"}',
         '```json\n{"value": "pass", "reason": "r"}\n```', '{"value": "PASS", "reason": "r"}', "{" * 60 + "}" * 60]
    ),
)  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    monkeypatch.chdir(tmp_path)
    with Endpoint() as endpoint:
        home = Home(tmp_path, endpoint)
        home.options(
            refund_answer, settings=home.settings(model="example-model")
        )  # its requests are compared elsewhere
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("EVALKIT_JUDGE_MODEL", "example-model")
        yield home


def assert_law(records: list[dict[str, Any]], ledger: dict[str, Any]) -> None:
    states = [ledger[state] for state in ("scored", "invalid", "error", "unrun")]
    assert ledger["lines"] == len(records) == ROWS == sum(states)
    assert [record["line"] for record in records] == list(range(1, ROWS + 1))
    for record in records:
        if record["state"] == "scored":
            assert record["value"] in LABELS
            assert record["reason"].strip()
        else:
            assert record["value"] is None
            assert record["reason"]
            assert record["error_kind"]


def records_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "records.jsonl").read_bytes().split(b"\n")[:-1]]


# --- cassettes --------------------------------------------------------------------------------------------------------


@st.composite
def cassettes(draw: st.DrawFn) -> bytes:
    head, *rest = [json.loads(line) for line in CASSETTE]
    lines: list[bytes] = []
    for line in draw(st.permutations(rest)):
        match draw(st.integers(0, 5)):
            case 0:
                line["reply"]["content"] = draw(contents)
            case 1:
                line = draw(bent(line))  # noqa: PLW2901 - a line that was tampered with stands for the line
            case 2:
                lines.append(draw(broken(json.dumps(line).encode())))
                continue
        lines.append(json.dumps(line).encode("utf-8", "surrogatepass"))
    begin = draw(st.sampled_from([head, head, head, draw(bent(head))]))
    return b"\n".join([json.dumps(begin).encode(), *lines]) + draw(st.sampled_from([b"", b"\n"]))


def check_cassette(raw: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        (here / "cases.jsonl").write_bytes(CASES.read_bytes())
        (here / "refund_answer.cassette.jsonl").write_bytes(raw)
        options = ("--policy", POLICY, "--as-of", "2026-12-01")
        judged = evalkit(
            "judge", "refund_answer", here / "cases.jsonl", "--replay", here / "refund_answer.cassette.jsonl",
            "--run", here / "run", *options, "--json", here / "o.json", "--export", here / "again.jsonl",
        )  # fmt: skip
        gated = evalkit("gate", "refund_answer", here / "cases.jsonl", *options, "--json", here / "g.json")
        assert (here / "o.json").exists() == (here / "g.json").exists()
        if not (here / "o.json").exists():
            assert (judged.code, gated.code) == (2, 2)
            return
        outcome = json.loads((here / "o.json").read_text())
        assert_law(records_of(here / "run"), outcome["ledger"])
        assert judged.code == gated.code
        assert outcome["ledger"] == json.loads((here / "g.json").read_text())["ledger"]
        assert evalkit("explain", here / "run").code in (0, 2)


def test_fuzz_any_bytes_as_a_cassette_are_replayed_strictly_or_refused_in_words() -> None:
    look_for(cassettes(), check_cassette)


# --- replies ----------------------------------------------------------------------------------------------------------


class Body(NamedTuple):
    status: int
    raw: bytes
    kind: str
    """The content type that the server names."""


@st.composite
def bodies(draw: st.DrawFn) -> Body:
    message = {"role": "assistant", "content": draw(contents), "refusal": None}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
    raw = draw(
        st.one_of(
            st.just(json.dumps(whole).encode()),
            bent(whole).map(lambda found: json.dumps(found).encode()),
            broken(json.dumps(whole).encode()),
            values.map(lambda found: json.dumps(found).encode()),
        )
    )
    status = draw(st.sampled_from([200, 200, 200, 200, 400, 429, 500]))
    return Body(status, raw, draw(st.sampled_from(["application/json", "application/json", "text/html"])))


def test_fuzz_any_body_of_a_provider_is_a_strict_verdict_or_an_error_that_says_what_came(home: Home) -> None:
    endpoint = home.endpoint
    assert endpoint is not None
    number = 0

    def check(replies: list[Body]) -> None:
        nonlocal number
        number += 1
        run = home.folder / f"run{number}"

        def script(call: Call) -> Answer:
            body = replies[call.number % len(replies)]
            return Answer(status=body.status, body=body.raw, headers={"content-type": body.kind})

        endpoint.script = script
        said = evalkit(
            "judge", "refund_answer", CASES, "--run", run, "--store", home.store, "--fresh", "--no-preflight",
            "--max-calls", 100, "--attempts", 1, "--json", home.folder / f"{number}.json",
        )  # fmt: skip
        assert said.code in (0, 2), said
        outcome = json.loads((home.folder / f"{number}.json").read_text())
        assert_law(records_of(run), outcome["ledger"])
        assert evalkit("explain", run).code in (0, 2)

    look_for(st.lists(bodies(), min_size=3, max_size=6), check, SECONDS)


def test_fuzz_any_bytes_as_the_store_of_verdicts_are_refused_in_words(home: Home) -> None:
    whole = home.store.read_bytes()

    def check(raw: bytes) -> None:
        with tempfile.TemporaryDirectory() as name:
            store = Path(name) / "verdicts.sqlite"
            store.write_bytes(raw)
            arguments = ("--run", Path(name) / "run", "--store", store, "--no-preflight", "--max-calls", 100)
            assert evalkit("judge", "refund_answer", CASES, *arguments).code in (0, 2)

    look_for(broken(whole), check, SECONDS / 3)
