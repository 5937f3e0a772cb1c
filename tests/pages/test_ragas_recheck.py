"""``evalkit recheck`` through a real endpoint: drift, upgrade, attribution, rollback, proposals, and what stops it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from control_rows import rule
from endpoint import Answer, Call, Endpoint, reply, status, verdict
from judges import CONTRACT, JUDGE, Home

from evalkit import Outcome, open_run
from evalkit.contract import EvalkitError, sha256_file
from evalkit.contract.judge import Judge
from evalkit.metrics.refund_answer import refund_answer
from evalkit.pages import recheck_run
from evalkit.pages.judge_command import JudgeAsk
from evalkit.pages.recheck_run import RecheckAsk, RecheckDone, run_recheck
from evalkit.pages.recheck_text import recheck_screen

POLICY = """schema = 1
name = "p"
version = "1"
mode = "report"
metric = "right"
contract_version = "1"
[slices.default]
require = ["pass"]
critical = true
"""


def row_of(call: Call) -> str:
    return "r" + call.prompt.split("answer ")[1].split("\n")[0]


class Bench:
    """An older run of ten rows, all of them pass, and whatever asks again."""

    def __init__(self, home: Home, patch: pytest.MonkeyPatch) -> None:
        self.home, self.patch = home, patch
        self.says: dict[str, Any] = {}
        home.endpoint.script = self.answer
        home.write(10)
        home.run("old")
        self.judge: Judge = JUDGE
        patch.setattr(recheck_run, "load_judge", lambda _: self.judge)

    def answer(self, call: Call) -> Answer:
        said = self.says.get(row_of(call), "pass")
        return said if isinstance(said, Answer) else verdict(said)

    def again(self, name: str = "new", *, wants: dict[str, Any] | None = None, **changes: Any) -> RecheckDone:
        settings = changes.pop("settings", self.home.settings())
        self.home.options(self.judge, settings=settings)
        facts: dict[str, Any] = {
            "judge": "right", "cases": self.home.cases, "run": self.home.folder / name, "settings": settings,
            "store": self.home.store, "max_calls": 100, "has_preflight": False,
        }  # fmt: skip
        ask = RecheckAsk(ask=JudgeAsk(**facts | changes), against=self.home.folder / "old", **wants or {})
        return run_recheck(ask, on_note=self.home.notes.append)

    def labels(self, **said: str) -> Path:
        path = self.home.folder / "labels.jsonl"
        lines = [{"case_id": case_id, "reviewer": "r1", "label": label} for case_id, label in said.items()]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return path

    def policy(self, text: str = POLICY) -> Path:
        path = self.home.folder / "policy.toml"
        path.write_text(text)
        return path


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with Endpoint() as endpoint:
        yield Bench(Home(tmp_path, endpoint), monkeypatch)


def flat(done: RecheckDone) -> str:
    return " ".join(recheck_screen(done).split())


def attributed(done: RecheckDone) -> dict[str, str]:
    assert done.found.compared is not None
    return {found.case_id: found.attributed_to for found in done.found.compared.transitions}


def test_s2_19_a_recheck_asks_anew_and_passes_where_nothing_moved(bench: Bench) -> None:
    done = bench.again()
    assert done.found.outcome is Outcome.passed
    assert bench.home.endpoint.count == 20  # ten then, ten now: kept verdicts would show no drift
    assert all(check.ok for check in done.found.checks)
    assert [check.name for check in done.found.checks] == [
        "import", "construction", "placeholders", "ragas_result", "sync_and_async", "result_shape", "serialisation",
        "allowed_labels", "saved_configuration", "old_records",
    ]  # fmt: skip
    screen = recheck_screen(done)
    assert "PASSED (exit code 0): 10 of 10 verdicts are those of the older run" in screen
    assert max(len(line) for line in screen.splitlines() if str(bench.home.folder) not in line) <= 80


def test_s2_19_drift_under_the_same_name_is_review_without_labels(bench: Bench) -> None:
    bench.says = {"r3": "fail"}
    done = bench.again(wants={"proposed": bench.home.folder / "proposed.jsonl"})
    assert done.found.outcome is Outcome.review_required
    assert attributed(done) == {"r3": "none"}
    (found,) = done.found.compared.transitions if done.found.compared else ()
    assert (found.old, found.new, found.owner, found.direction) == ("pass", "fail", "judge", "open")
    (line,) = (bench.home.folder / "proposed.jsonl").read_text().splitlines()
    assert json.loads(line)["proposed"] | {"run_id": "", "against": ""} == {
        "by": "recheck", "run_id": "", "against": "", "old": "pass", "new": "fail", "attributed_to": "none",
    }  # fmt: skip
    assert "no command reads them as cases" in flat(done)


def test_an_endpoint_that_answers_as_another_model_is_named(bench: Bench) -> None:
    other = json.loads(verdict("fail").body)
    bench.says = {"r3": Answer(body=json.dumps(other | {"model": "judge-0999"}).encode())}
    done = bench.again()
    assert attributed(done) == {"r3": "judge_model"}
    assert "the endpoint answered as 'judge-0613' and now answers as 'judge-0999'" in " ".join(
        recheck_screen(done).split()
    )


CHANGES: dict[str, Callable[[Bench], dict[str, Any]]] = {
    "judge_model": lambda bench: {"settings": bench.home.settings(model="judge-b")},
    "provider_settings": lambda bench: {"settings": bench.home.settings(parameters={"temperature": 1.0})},
}


@pytest.mark.parametrize("word", CHANGES)
def test_s2_17_a_transition_is_put_down_to_what_changed(bench: Bench, word: str) -> None:
    bench.says = {"r1": "fail"}
    done = bench.again(**CHANGES[word](bench))
    assert attributed(done) == {"r1": word}
    assert word != "judge_model" or "the judge's model changed (judge-a -> judge-b)" in flat(done)


def test_s2_17_a_changed_prompt_and_a_changed_parser_are_told_apart(bench: Bench) -> None:
    bench.says = {"r1": "fail"}
    bench.judge = Judge(name="right", prompt="Is {response} right, given {reference}? Be strict.", contract=CONTRACT)
    assert attributed(bench.again("prompt")) == {"r1": "prompt"}
    bench.judge = replace_judge(compatible={"PASS": "pass"})
    assert attributed(bench.again("parser")) == {"r1": "labels"}
    bench.judge = replace_judge(ignore_case=True)
    assert attributed(bench.again("case")) == {"r1": "parser"}


def replace_judge(**changes: Any) -> Judge:
    facts: dict[str, Any] = {"name": JUDGE.name, "prompt": JUDGE.prompt, "contract": CONTRACT}
    return Judge(**facts | changes)


def test_s2_17_another_ragas_is_named(bench: Bench) -> None:
    older = bench.home.folder / "old/manifest.json"
    facts = json.loads(older.read_text()) | {"ragas": "0.4.2"}
    older.write_text(json.dumps(facts))
    records = bench.home.folder / "old/records.jsonl"
    records.write_text(records.read_text().replace('"ragas_version":"0.4.3"', '"ragas_version":"0.4.2"'))
    older.write_text(json.dumps({key: value for key, value in facts.items() if key != "records_sha256"}))
    bench.says = {"r1": "fail"}
    done = bench.again()
    assert attributed(done) == {"r1": "ragas_version"}
    assert "ragas 0.4.2 -> 0.4.3" in recheck_screen(done)


def test_s2_17_a_moved_policy_is_not_taken_for_a_moved_verdict(bench: Bench) -> None:
    from evalkit.pages.gate_run import GateOutputs, run_gate
    from evalkit.scoring.load import load_metric

    assert load_metric  # the gate loads the judge by its place
    place = bench.home.folder / "mine.py"
    place.write_text("from judges import JUDGE as right\n")
    gated = bench.home.folder / "gated"
    run_gate(f"{place}:right", bench.home.folder / "old", bench.policy(), {}, GateOutputs(run=gated, format="none"))
    (bench.home.folder / "old").rename(bench.home.folder / "plain")
    gated.rename(bench.home.folder / "old")
    stricter = POLICY.replace('require = ["pass"]', 'require = ["fail"]').replace(
        'version = "1"\nmode', 'version = "2"\nmode'
    )
    done = bench.again(policy=bench.policy(stricter))
    assert set(attributed(done).values()) == {"policy"}
    assert len(attributed(done)) == 10


def test_labels_tell_a_verdict_that_broke_from_one_that_was_mended(bench: Bench) -> None:
    bench.says = {"r1": "fail", "r2": "fail", "r3": "fail"}
    labels = bench.labels(r1="pass", r2="fail")
    done = bench.again(policy=bench.policy(), wants={"labels": labels})
    assert done.found.outcome is Outcome.quality_failed
    assert {found.case_id: found.direction for found in done.found.compared.transitions} == {
        "r1": "broken", "r2": "mended", "r3": "open",
    }  # fmt: skip
    assert {blocker.kind for blocker in done.found.blockers} == {"broken", "moved"}
    screen = recheck_screen(done)
    assert screen.index("r1 (default, critical): pass -> fail") < screen.index("r3 (default, critical)")
    assert "people say pass: BROKEN" in screen
    bench.says = {"r2": "fail"}
    mended = bench.again("mended", wants={"labels": labels})
    assert (mended.found.outcome, mended.facts["exit_code"]) == (Outcome.passed, 0)


def test_a_row_that_lost_its_verdict_is_incomplete_not_moved(bench: Bench) -> None:
    bench.says = {"r1": reply("no idea"), "r2": status(401)}
    done = bench.again(settings=bench.home.settings(concurrency=1))
    assert done.found.outcome is Outcome.incomplete
    assert done.found.compared.transitions == ()
    assert done.found.compared.lost[:2] == ("r1", "r2")


def test_the_set_must_be_the_frozen_one_or_nothing_is_asked(bench: Bench) -> None:
    bench.home.write(11)
    done = bench.again()
    assert (done.found.outcome, done.calls, done.new) == (Outcome.incomplete, 0, None)
    assert bench.home.endpoint.count == 10
    assert "the set is not the one that the older run judged" in flat(done)


def test_s2_17_a_broken_rehearsal_costs_nothing(bench: Bench) -> None:
    bench.judge = replace_judge(allowed_values=["pass", "fail", "unsure"])
    done = bench.again()
    assert (done.found.outcome, bench.home.endpoint.count) == (Outcome.incomplete, 10)
    assert "the labels were pass, fail and are pass, fail, unsure: certify again" in recheck_screen(done).replace(
        "\n" + " " * 30, " "
    )


def test_s2_17_a_rollback_file_names_what_going_back_takes_also_where_nothing_was_asked(bench: Bench) -> None:
    bench.home.write(11)
    done = bench.again()
    assert done.rollback is not None
    facts = json.loads(done.rollback.read_text())
    old = open_run(bench.home.folder / "old").manifest
    assert facts["metric"]["fingerprint"] == JUDGE.fingerprint
    assert facts["configuration_hash"] == old["judge"]["configuration_hash"]
    assert facts["configuration"] == old["judge"]["configuration"]
    assert (facts["renderer_version"], facts["parser_version"], facts["record_schema"]) == ("1", "1", 1)
    assert facts["lock_sha256"] == old["lock_sha256"]
    assert "certifying again" in facts["note"]


def test_controls_come_before_the_set_and_a_judge_that_fails_them_is_asked_no_more(bench: Bench) -> None:
    controls = bench.home.folder / "controls.jsonl"
    controls.write_bytes((Path(__file__).parents[2] / "fixtures/refund_answer/controls.jsonl").read_bytes())
    with pytest.raises(EvalkitError, match="problems in the controls"):
        bench.again(wants={"controls": controls})
    assert bench.home.endpoint.count == 10


def test_another_judges_run_is_refused(bench: Bench) -> None:
    bench.judge = replace_judge(name="other")
    with pytest.raises(EvalkitError, match="is no run of the judge 'other': it is one of 'right'"):
        bench.again()


def test_an_old_record_that_cannot_be_read_stops_the_recheck(bench: Bench) -> None:
    records = bench.home.folder / "old/records.jsonl"
    records.write_text(records.read_text().replace('"state":"scored"', '"state":"settled"', 1))
    done = bench.again()
    assert {check.name: check.ok for check in done.found.checks}["old_records"] is False
    assert done.found.outcome is Outcome.incomplete


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda judge: judge.pop("configuration"), "names no configuration of a judge"),
        (lambda judge: judge["configuration"].update(model="other"), "does not have the hash that was saved with it"),
    ],
)
def test_s2_17_a_saved_configuration_that_cannot_be_gone_back_to_stops_the_recheck(
    bench: Bench, change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    path = bench.home.folder / "old/manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest["judge"])
    path.write_text(json.dumps(manifest))
    done = bench.again()
    assert (done.found.outcome, bench.home.endpoint.count) == (Outcome.incomplete, 10)
    assert words in flat(done)


def test_s2_17_a_library_that_cannot_be_imported_any_more_stops_the_recheck_and_names_what_was_not_tried(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from evalkit.scoring.ragas_bridge import rehearse

    def gone() -> None:
        msg = "cannot import name 'DiscreteMetric'"
        raise ImportError(msg)

    monkeypatch.setattr(rehearse, "import_ragas", gone)
    done = bench.again()
    found = {check.name: check.ok for check in done.found.checks}
    assert (found["import"], found["construction"], found["sync_and_async"]) == (False, None, None)
    assert (done.found.outcome, bench.home.endpoint.count) == (Outcome.incomplete, 10)
    assert "ImportError: cannot import name 'DiscreteMetric'" in flat(done)
    assert "not tried, because of import" in flat(done)


def test_a_budget_bounds_a_recheck_and_a_finished_one_is_never_written_over(bench: Bench) -> None:
    done = bench.again(settings=bench.home.settings(concurrency=1), max_calls=3)
    assert (done.found.outcome, bench.home.endpoint.count) == (Outcome.incomplete, 13)
    with pytest.raises(EvalkitError, match="is a finished run"):
        bench.again()


def test_rechecks_may_repeat_each_row(bench: Bench) -> None:
    done = bench.again(repeat=3)
    assert (done.found.outcome, bench.home.endpoint.count) == (Outcome.passed, 40)


# --- the bundled judge, live: the rule behind its cassette answers through the endpoint -------------------------------

FIXTURES = Path(__file__).parents[2] / "fixtures/refund_answer"


def rule_says(call: Call) -> Answer:
    found = rule().answered(call.prompt)
    return verdict(found.value, reason=found.reason)


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with Endpoint(rule_says) as endpoint:
        home = Home(tmp_path, endpoint)
        home.write((FIXTURES / "labelled.jsonl").read_text(encoding="utf-8"))
        home.run("old", judge=refund_answer)
        bench = Bench.__new__(Bench)
        bench.home, bench.patch, bench.says, bench.judge = home, monkeypatch, {}, refund_answer
        yield bench


def test_controls_come_first_and_share_the_budget_with_the_set(live: Bench) -> None:
    asked = live.home.endpoint.count
    controls = {"controls": FIXTURES / "controls.jsonl"}
    done = live.again("whole", judge="refund_answer", wants=controls)
    assert done.found.outcome is Outcome.passed
    of_controls = live.home.endpoint.count - 2 * asked
    assert (done.calls, done.found.controls.calls["calls"]) == (asked + of_controls, of_controls)
    short = live.again("short", judge="refund_answer", wants=controls, max_calls=of_controls + 5)
    assert short.calls == of_controls + 5
    assert short.found.outcome is Outcome.incomplete


def test_a_judge_that_fails_a_control_is_not_asked_about_the_set(live: Bench) -> None:
    asked = live.home.endpoint.count
    done = live.again(judge="refund_answer", wants={"controls": FIXTURES / "controls_next.jsonl"})
    assert (done.found.outcome, done.new) == (Outcome.quality_failed, None)
    assert live.home.endpoint.count - asked == done.calls < asked
    assert "not: unit-percent (negative)" in recheck_screen(done)


def test_controls_that_come_out_otherwise_than_when_they_were_frozen_are_named(live: Bench) -> None:
    frozen = json.loads((FIXTURES / "controls.json").read_text())
    frozen["controls"][0]["value"] = "fail"
    (live.home.folder / "controls.json").write_text(json.dumps(frozen))
    text = (FIXTURES / "certify_policy.toml").read_text()
    wanted = sha256_file(live.home.folder / "controls.json")
    policy = live.policy(re.sub(r'controls = "[^"]*"', f'controls = "{wanted}"', text))
    done = live.again(judge="refund_answer", policy=policy, wants={"controls": FIXTURES / "controls.jsonl"})
    assert done.found.controls_changed == (frozen["controls"][0]["case_id"],)
    assert f"otherwise than when they were frozen: {frozen['controls'][0]['case_id']}" in flat(done)
