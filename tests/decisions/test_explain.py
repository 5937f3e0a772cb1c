"""Two runs compared: every incident is named, the order of the comparisons holds, and none of them can be left out."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit import EvalkitError, Run, load_metric, open_run
from evalkit.decisions.explain import explain
from evalkit.decisions.explaining import differences
from evalkit.decisions.explaining.divergence import ORDER, OWNER_OF
from evalkit.decisions.explaining.explanation import Explained

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
INCIDENTS = sorted(path.name for path in (FIXTURES / "incidents").iterdir() if path.is_dir())

Gated = Callable[..., Run]


def incident(gated: Gated, name: str, side: str) -> Run:
    folder = FIXTURES / "incidents" / name
    own_metric, own_policy = folder / f"{side}_metric.py", folder / f"{side}_policy.toml"
    return gated(
        f"{name}-{side}",
        folder / f"{side}.jsonl",
        metric=f"{own_metric}:evidence_coverage" if own_metric.exists() else "evidence_coverage",
        policy=own_policy if own_policy.exists() else FIXTURES / "policy.toml",
    )


@pytest.mark.parametrize("name", INCIDENTS)
def test_every_incident_is_named(gated: Gated, name: str) -> None:
    expected = json.loads((FIXTURES / "incidents" / name / "expected.json").read_text())
    found = explain(incident(gated, name, "new"), incident(gated, name, "old"))
    assert [(row.case_id, row.first_divergence, row.owner) for row in found.rows] == [
        (expected["case_id"], expected["first_divergence"], expected["owner"])
    ]
    assert (found.total, found.unchanged) == (6, 5)
    assert found.facts()["by_owner"] == {expected["owner"]: 1}


def test_there_are_the_four_look_alikes_and_three_more() -> None:
    assert INCIDENTS == [
        "answer_stopped_saying", "denominator_changed", "document_ids_changed", "metric_edited", "retrieval_broke",
        "row_became_invalid", "threshold_moved",
    ]  # fmt: skip


# --- one scenario for each word -------------------------------------------------------------------------------------

INPUTS: dict[str, Any] = {
    "required_ids": ["a", "b"],
    "reference": "30 days",
    "topic": "refunds",
    "supported_ids": ["a", "b"],
    "response": "Within 30 days.",
    "retrieved_contexts": ["first passage", "second passage"],
    "citations": ["a:d1", "b:d2"],
}
EVIDENCE: dict[str, Any] = {"retrieved": [{"document_id": "d1", "text": "first passage"}]}
JUDGE: dict[str, Any] = {
    "rubric": "r1", "prompt": "p1", "model": "m1", "settings": {"temperature": 0}, "labels": ["pass", "fail"],
    "parser": "1", "ragas_version": "0.4.3",
}  # fmt: skip


class Side:
    """One row and the manifest of its run, as plain data to be changed."""

    def __init__(self) -> None:
        self.row: dict[str, Any] = {
            "line": 1, "case_id": "x", "slice": "default", "blocking": True, "family": None, "partition": None,
            "state": "scored", "value": "pass", "reason": "", "detail": {}, "error_kind": None, "decision": "pass",
            "minimum": None, "policy_version": "1",
            "inputs": copy.deepcopy(INPUTS), "evidence": copy.deepcopy(EVIDENCE),
            "input_hash": "sha256:1", "evidence_hash": "sha256:1", "seen_hash": "sha256:1", "contract_version": "1",
            "requirement_set_version": "s1", "lineage": {}, "owner": None, "judge": copy.deepcopy(JUDGE),
        }  # fmt: skip
        self.manifest: dict[str, Any] = {
            "schema": 1, "run_id": "r", "ragas": "0.4.3", "ledger": {},
            "metric": {
                "name": "verdict", "contract_version": "1", "fingerprint": "sha256:m1", "origin": "evalkit",
                "declaration": {"kind": "discrete"},
                "contract": {
                    "version": "1", "better": "higher", "allows_missing": {}, "owners": {},
                    "reviewed": ["required_ids", "reference", "topic"],
                    "produced": ["supported_ids", "response", "retrieved_contexts", "citations"],
                },
            },
            "policy": {
                "schema": 1, "name": "p", "version": "1", "mode": "report", "metric": "verdict",
                "contract_version": "1", "slices": {"default": {"require": ["pass"]}},
            },
            "adapter": {"revision": "a1", "mapping": {"answer": "output"}},
        }  # fmt: skip

    def run(self, folder: Path) -> Run:
        folder.mkdir(parents=True)
        (folder / "records.jsonl").write_text(json.dumps(self.row) + "\n")
        (folder / "manifest.json").write_text(json.dumps(self.manifest))
        return open_run(folder)


def fails(side: Side) -> None:
    """What all scenarios share: the same row fails now."""
    side.row |= {"value": "fail", "decision": "fail", "input_hash": "sha256:2"}


def moved_policy(side: Side) -> None:
    side.manifest["policy"] |= {"version": "2", "slices": {"default": {"require": ["fail"]}}}
    side.row |= {"decision": "pass" if side.row["value"] == "fail" else "fail", "policy_version": "2"}


def set_judge(key: str, value: Any) -> Callable[[Side], None]:
    return lambda side: side.row["judge"].update({key: value})


def set_input(name: str, value: Any) -> Callable[[Side], None]:
    return lambda side: side.row["inputs"].update({name: value})


def errs(side: Side) -> None:
    side.row |= {"state": "error", "value": None, "decision": None, "reason": "timeout", "owner": "provider"}


CHANGES: dict[str, Callable[[Side], None]] = {
    "contract": lambda side: side.manifest["metric"].update({"contract_version": "2"}),
    "required_set": set_input("required_ids", ["a", "b", "c"]),
    "policy": moved_policy,
    "metric": lambda side: side.manifest["metric"].update({"fingerprint": "sha256:m2"}),
    "adapter": lambda side: side.manifest["adapter"].update({"revision": "a2"}),
    "dataset": set_input("topic", "fees"),
    "reference": set_input("reference", "14 days"),
    "retrieval": set_input("retrieved_contexts", ["second passage"]),
    "document_identity": lambda side: side.row["evidence"]["retrieved"][0].update({"document_id": "d9"}),
    "answer": set_input("response", "Ask."),
    "attribution": set_input("citations", ["a:d1"]),
    "supported_set": set_input("supported_ids", ["a"]),
    "rubric": set_judge("rubric", "r2"),
    "prompt": set_judge("prompt", "p2"),
    "judge_model": set_judge("model", "m2"),
    "provider_settings": set_judge("settings", {"temperature": 1}),
    "ragas_version": set_judge("ragas_version", "0.5.0"),
    "labels": set_judge("labels", ["pass", "fail", "maybe"]),
    "parser": set_judge("parser", "2"),
    "state": errs,
}
"""One change for each comparison; `errs` comes last, so that a row is scored wherever it can be."""


def pair(folder: Path, *words: str) -> tuple[Run, Run]:
    """An old run, and a new one in which the row fails and these pieces of evidence differ."""
    old, new = Side(), Side()
    if "ragas_version" in words:  # the library only counts for a metric that goes through it
        old.manifest["judge"] = new.manifest["judge"] = {"configuration_hash": "sha256:j"}
    fails(new)
    for word in words:
        CHANGES[word](new)
    if words == ("policy",):  # the value stays, so that nothing but the limits can explain the row
        new.row |= {"value": "pass", "decision": "fail", "input_hash": "sha256:1"}
    return new.run(folder / "new"), old.run(folder / "old")


def only_row(new: Run, old: Run) -> Explained:
    (row,) = explain(new, old).rows
    return row


def test_each_word_has_a_comparison_in_the_order_of_the_interface() -> None:
    assert tuple(differences.COMPARISONS) == tuple(CHANGES) == ORDER[:-1]
    assert ORDER[-1] == "none"


@pytest.mark.parametrize("word", CHANGES)
def test_each_divergence_is_named_with_its_owner(tmp_path: Path, word: str) -> None:
    row = only_row(*pair(tmp_path, word))
    assert row.first_divergence == word
    assert row.owner == ("provider" if word == "state" else OWNER_OF[word])  # type: ignore[index]
    assert row.also == ()
    assert row.difference is not None


def leave_out(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A new table: put back into the old one, the comparison would come last.
    kept = {name: compare for name, compare in differences.COMPARISONS.items() if name != word}
    monkeypatch.setattr(differences, "COMPARISONS", kept)


@pytest.mark.parametrize("word", CHANGES)
def test_without_one_comparison_its_divergence_is_missed(
    tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_out(word, monkeypatch)
    assert only_row(*pair(tmp_path, word)).first_divergence == "none"


NEIGHBOURS = list(zip(list(CHANGES)[:-1], list(CHANGES)[1:], strict=True))


@pytest.mark.parametrize(("first", "second"), NEIGHBOURS)
def test_of_two_divergences_the_first_in_order_is_named(tmp_path: Path, first: str, second: str) -> None:
    row = only_row(*pair(tmp_path, first, second))
    assert row.first_divergence == first
    assert second in row.also


@pytest.mark.parametrize(("first", "second"), NEIGHBOURS)
def test_a_swapped_order_names_another(
    tmp_path: Path, first: str, second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = list(differences.COMPARISONS)
    at = words.index(first)  # type: ignore[arg-type]
    words[at], words[at + 1] = words[at + 1], words[at]
    monkeypatch.setattr(differences, "COMPARISONS", {word: differences.COMPARISONS[word] for word in words})
    assert only_row(*pair(tmp_path, first, second)).first_divergence == second


@pytest.mark.parametrize("name", INCIDENTS)
def test_without_its_comparison_an_incident_is_misnamed(
    gated: Gated, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = json.loads((FIXTURES / "incidents" / name / "expected.json").read_text())
    leave_out(expected["first_divergence"], monkeypatch)
    found = explain(incident(gated, name, "new"), incident(gated, name, "old"))
    assert [row.first_divergence for row in found.rows] != [expected["first_divergence"]]


def test_where_nothing_that_was_kept_differs_nobody_is_named(tmp_path: Path) -> None:
    row = only_row(*pair(tmp_path))
    assert (row.first_divergence, row.owner) == ("none", None)
    assert "nothing that was kept differs" in row.sentence
    assert explain(*pair(tmp_path / "again")).facts()["by_owner"] == {"none": 1}


def test_a_library_that_the_metric_does_not_use_explains_nothing(tmp_path: Path) -> None:
    old, new = Side(), Side()
    fails(new)
    old.row["judge"] = new.row["judge"] = None
    new.manifest["ragas"] = "0.5.0"
    assert only_row(new.run(tmp_path / "new"), old.run(tmp_path / "old")).first_divergence == "none"
    new.manifest["metric"]["origin"] = "ragas"
    row = only_row(new.run(tmp_path / "ragas"), open_run(tmp_path / "old"))
    assert (row.first_divergence, row.owner) == ("ragas_version", "metric")


@pytest.mark.parametrize(
    ("key", "old", "new", "word"),
    [
        ("prompt", "Judge {response}.", "Judge {response} strictly.", "prompt"),
        ("rubric_version", "1", "2", "rubric"),
        ("allowed_values", ["pass", "fail"], ["pass", "fail", "unsure"], "labels"),
        ("fenced", False, True, "parser"),
    ],
)
def test_of_an_edited_judge_the_part_is_named_and_not_its_source(
    tmp_path: Path, key: str, old: Any, new: Any, word: str
) -> None:
    # A gate over a judge's records keeps no judge in its manifest; the declaration says what the judge was.
    before, after = Side(), Side()
    fails(after)
    for side, value, fingerprint in ((before, old, "sha256:1"), (after, new, "sha256:2")):
        side.row["judge"] = {"model": "m1", "fingerprint": fingerprint}
        side.manifest["metric"] |= {"fingerprint": fingerprint, "declaration": {"kind": "discrete", key: value}}
    row = only_row(after.run(tmp_path / "new"), before.run(tmp_path / "old"))
    assert row.first_divergence == word


# --- claims: only their own evidence counts -------------------------------------------------------------------------

PASSAGE = {"document_id": "policy-v2", "revision": "2", "passage_id": "p1", "text": "Refunds go back to the card."}
NOISE = {"document_id": "guide", "revision": "1", "passage_id": "p9", "text": "Chat is open from 8:00 to 20:00."}
CITED = {"claim_id": "method", "document_id": "policy-v2", "span": "go back to the card"}


def case(**changes: Any) -> dict[str, Any]:
    evidence = {
        "answer": "Refunds go back to the card. Ask us in the chat.",
        "citations": [CITED],
        "retrieved": [PASSAGE, NOISE],
        "claims": {"method": "Refunds go back to the card."},
    }
    row = {
        "case_id": "x",
        "required_claim_ids": ["method", "window"],
        "supported_claim_ids": ["method", "window"],
    }
    row |= {key: changes.pop(key) for key in list(changes) if key in (*row, "slice", "requirement_set_version")}
    return row | {"evidence": evidence | changes}


def lost(**changes: Any) -> dict[str, Any]:
    return case(**{"supported_claim_ids": ["window"]} | changes)


CLAIM_AWARE = {
    "noise in passages and answer, citation dropped": (
        {"answer": "Refunds go back to the card. Bye.", "retrieved": [PASSAGE], "citations": []},
        "attribution", "the citation of method was dropped (it pointed to policy-v2)",
    ),
    "the citation points elsewhere": (
        {"citations": [CITED | {"document_id": "policy-v1"}]},
        "attribution", "the citation of method points to policy-v1 (was policy-v2)",
    ),
    "its passage is gone, another came": (
        {"retrieved": [NOISE, NOISE | {"text": "Labels cost 4.90 euros."}]},
        "retrieval", "the passage that holds method (policy-v2) is no longer retrieved",
    ),
    "its passage was renamed": (
        {"retrieved": [PASSAGE | {"document_id": "policy-2026"}, NOISE]},
        "document_identity", "now called policy-2026 (was policy-v2); the citation still names policy-v2",
    ),
    "its passage has another revision": (
        {"retrieved": [PASSAGE | {"revision": "3"}, NOISE]}, "document_identity", "is unchanged, but is now called",
    ),
    "another passage was renamed": (
        {"retrieved": [PASSAGE, NOISE | {"document_id": "guide-2"}]}, "supported_set", "lost method (2 -> 1)",
    ),
    "passages in another order": ({"retrieved": [NOISE, PASSAGE]}, "supported_set", "supported_claim_ids lost method"),
    "the answer says something else besides": (
        {"answer": "Refunds go back to the card. Call us."}, "supported_set", "lost method",
    ),
    "the answer stopped saying it": (
        {"answer": "Ask us in the chat.", "citations": []}, "answer", "the answer no longer says method",
    ),
    "the trace was lost": ({"retrieved": None}, "retrieval", "the trace was lost, which is not the same as retrieving"),
    "nothing was retrieved": ({"retrieved": []}, "retrieval", "the passage that holds method (policy-v2) is no longer"),
    "its reviewed text changed": (
        {"claims": {"method": "Refunds go to the account."}}, "reference", "the reviewed text of method changed",
    ),
    "another claim's reviewed text changed": (
        {"claims": {"method": "Refunds go back to the card.", "window": "Within 30 days."}}, "supported_set", "lost",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "word", "fragment"), CLAIM_AWARE.values(), ids=CLAIM_AWARE.keys())
def test_only_the_evidence_of_the_lost_claim_counts(
    gated: Gated, changes: dict[str, Any], word: str, fragment: str
) -> None:
    row = only_row(gated("new", [lost(**changes)]), gated("old", [case()]))
    assert row.first_divergence == word
    assert fragment in row.sentence


def test_a_claim_that_came_back_is_explained_the_same_way(gated: Gated) -> None:
    row = only_row(gated("new", [case()]), gated("old", [lost(answer="Ask us.", citations=[])]))
    assert row.first_divergence == "answer"
    assert "went from fail to pass: the answer now says method" in row.sentence


def test_rows_without_evidence_give_what_values_and_ids_allow(gated: Gated) -> None:
    rows = [{key: value for key, value in row.items() if key != "evidence"} for row in (lost(), case())]
    row = only_row(gated("new", rows[:1]), gated("old", rows[1:]))
    assert (row.first_divergence, row.owner) == ("supported_set", "attribution")
    assert "supported_claim_ids lost method (2 -> 1)" in row.sentence


def test_a_required_list_under_a_new_version_is_not_compared(gated: Gated) -> None:
    new = case(required_claim_ids=["method", "window", "fee"], requirement_set_version="2")
    row = only_row(gated("new", [new]), gated("old", [case(requirement_set_version="1")]))
    assert row.first_divergence == "required_set"
    assert "went from version '1' to '2', so the two results are not compared" in row.sentence


def test_a_required_list_in_another_order_is_no_change_of_the_set(gated: Gated) -> None:
    row = only_row(gated("new", [lost(required_claim_ids=["window", "method"])]), gated("old", [case()]))
    assert row.first_divergence == "dataset"
    assert "same items in another order" in row.sentence


def test_s1_7_a_moved_threshold_is_not_named_where_the_old_value_still_passes(gated: Gated, tmp_path: Path) -> None:
    text = (FIXTURES / "policy.toml").read_text()
    stricter = tmp_path / "stricter.toml"
    stricter.write_text(text.replace("minimum = 0.75", "minimum = 0.9", 1))
    new = gated("new", [lost(answer="Ask us.", citations=[])], policy=stricter)
    # 2 of 2 passes under both limits: what moved this row is its score, 1 of 2.
    assert only_row(new, gated("old", [case()])).first_divergence == "answer"


def test_an_edited_metric_that_moves_nothing_is_not_named(gated: Gated, tmp_path: Path) -> None:
    source = (FIXTURES / "incidents" / "metric_edited" / "old_metric.py").read_text()
    refactored = tmp_path / "refactored.py"
    refactored.write_text(
        source.replace("missing = sorted(required - supported)", "missing = sorted(required.difference(supported))")
    )
    spec = f"{refactored}:evidence_coverage"
    old = gated("old", [case()], metric=f"{FIXTURES}/incidents/metric_edited/old_metric.py:evidence_coverage")
    new = gated("new", [lost(answer="Ask us.", citations=[])], metric=spec)
    # Without the metric the edit may be what moved the row; asked, it gives the old inputs their old value.
    assert only_row(new, old).first_divergence == "metric"
    (row,) = explain(new, old, metric=load_metric(spec)).rows
    assert (row.first_divergence, row.owner) == ("answer", "answer")


# --- retention and redaction ----------------------------------------------------------------------------------------

KEPT = """
from evalkit import Contract, attach, evidence_coverage
from dataclasses import replace

def hide(text):
    return text.replace("SECRET-4711", "[redacted]")

hashed = attach(evidence_coverage, replace(
    evidence_coverage.contract, redact=hide,
    retention={part: "RETENTION" for part in ("answer", "retrieved", "citations")},
))
"""


@pytest.mark.parametrize(("retention", "kept"), [("hash", "hash"), ("excerpt", "excerpt")])
@pytest.mark.parametrize(
    ("part", "value", "word"),
    [
        ("answer", "Ask us in the chat.", "answer"),
        ("retrieved", [NOISE], "retrieval"),
        ("citations", [], "attribution"),
    ],
)
def test_s1_18_what_was_kept_only_as_a_hash_is_still_said_to_have_changed(
    gated: Gated, tmp_path: Path, retention: str, kept: str, part: str, value: Any, word: str
) -> None:
    (tmp_path / "kept.py").write_text(KEPT.replace("RETENTION", retention))
    spec = f"{tmp_path}/kept.py:hashed"
    row = only_row(gated("new", [lost(**{part: value})], metric=spec), gated("old", [case()], metric=spec))
    assert row.first_divergence == word
    assert row.difference is not None
    assert row.difference.shown.old.startswith("sha256:")
    assert row.difference.shown.old != row.difference.shown.new


def test_a_text_kept_in_full_is_compared_with_its_hash(gated: Gated, tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(KEPT.replace("RETENTION", "hash"))
    new = gated("new", [lost(answer="Ask us.")], metric=f"{tmp_path}/kept.py:hashed")
    old = gated("old", [case()])
    row = only_row(new, old)
    assert row.first_divergence == "answer"  # and not retrieval, whose hash is that of the passages kept in full


def test_planted_secrets_are_in_no_byte_of_run_report_or_explanation(gated: Gated, tmp_path: Path) -> None:
    from evalkit.pages.explain_text import explain_markdown, explain_screen

    (tmp_path / "kept.py").write_text(KEPT.replace("RETENTION", "full"))
    spec = f"{tmp_path}/kept.py:hashed"
    secret = "SECRET-4711"
    planted = {
        "answer": f"Ask {secret}.",
        "retrieved": [PASSAGE | {"text": f"Card {secret} is kept.", "document_id": f"doc-{secret}"}],
        "citations": [CITED | {"span": f"{secret} span", "document_id": secret}],
        "claims": {"method": f"Refunds go to {secret}."},
        secret: secret,
    }
    unknown = lost(**planted) | {"case_id": "y", "supported_claim_ids": [secret]}
    old = gated("old", [case(), case() | {"case_id": "y"}], metric=spec)
    new = gated("new", [lost(**planted), unknown], metric=spec)
    facts = explain(new, old, metric=load_metric(spec)).facts()
    alone = explain(new, metric=load_metric(spec)).facts()
    assert [row["change"] for row in facts["rows"]] == ["decision", "state"]
    written = {path.name: path.read_bytes() for path in new.folder.rglob("*") if path.is_file()}
    assert {"records.jsonl", "manifest.json", "report.html", "outcome.json", "summary.md"} <= written.keys()
    for found in (facts, alone):
        written |= {"json": json.dumps(found).encode(), "screen": explain_screen(found).encode()}
        written |= {"markdown": explain_markdown(found).encode()}
        assert [name for name, raw in written.items() if secret.encode() in raw] == []
    assert b"[redacted]" in written["records.jsonl"]


# --- the whole runs -------------------------------------------------------------------------------------------------


def test_rows_that_appeared_or_vanished_are_the_datasets(gated: Gated) -> None:
    gone, stays, came = ({**case(), "case_id": name} for name in ("gone", "stays", "came"))
    failing = {**lost(answer="Ask.", citations=[]), "case_id": "failing"}
    found = explain(gated("new", [stays, came, failing]), gated("old", [gone, stays]))
    assert [(row.case_id, row.change, row.first_divergence, row.owner) for row in found.rows] == [
        ("came", "appeared", "dataset", "test-data"),
        ("failing", "appeared", "dataset", "test-data"),
        ("gone", "vanished", "dataset", "test-data"),
    ]
    assert found.rows[1].sentence.startswith("is new in this run (fail): method: its passage was retrieved")
    assert (found.total, found.unchanged) == (4, 1)


def test_c05_lines_that_cannot_be_read_are_not_lost(gated: Gated) -> None:
    old = gated("old", [case(), {**case(), "case_id": "y"}, "not JSON either"])
    new = gated("new", [case(), '{"case_id": "y", "case_id": "y"}', "not JSON either"])
    found = explain(new, old)
    # The line that was no case in both runs is the same line; y vanished, and a line that gives no case came.
    assert [(row.case_id, row.change, row.owner) for row in found.rows] == [
        (None, "appeared", "test-data"),
        ("y", "vanished", "test-data"),
    ]
    assert "the key 'case_id' occurs twice" in found.rows[0].sentence
    assert (found.total, found.unchanged) == (4, 2)


def test_two_unreadable_lines_are_not_taken_for_one(gated: Gated) -> None:
    found = explain(gated("new", ["other"]), gated("old", ["nope"]))
    assert [row.change for row in found.rows] == ["appeared", "vanished"]


def test_a_line_that_gives_no_case_has_lost_no_required_set(gated: Gated) -> None:
    good = case(requirement_set_version="7")
    bad = {**good, "blocking": "yes"}
    row = only_row(gated("new", [bad]), gated("old", [good]))
    assert (row.first_divergence, row.owner) == ("dataset", "test-data")
    assert "the line gives no case any more: blocking" in row.sentence


def test_b03_a_row_that_became_a_duplicate_is_explained_on_each_line(gated: Gated) -> None:
    found = explain(gated("new", [case(), case()]), gated("old", [case()]))
    assert [(row.case_id, row.change, row.first_divergence) for row in found.rows] == [
        ("x", "state", "dataset"),
        ("x", "appeared", "dataset"),
    ]
    assert "occurs more than once" in found.rows[0].sentence


def test_the_order_of_rows_does_not_matter(gated: Gated) -> None:
    names = [f"row-{i}" for i in range(50)]
    shuffled = random.Random(5).sample(names, 50)
    old = gated("old", [{**case(), "case_id": name} for name in names])
    rows = [{**(lost(citations=[]) if name == "row-7" else case()), "case_id": name} for name in shuffled]
    found = explain(gated("new", rows), old)
    assert [(row.case_id, row.first_divergence) for row in found.rows] == [("row-7", "attribution")]
    assert (found.total, found.unchanged, found.unchanged_throughout) == (50, 49, 49)


def test_what_did_not_change_is_counted(gated: Gated) -> None:
    rows = [{**case(), "case_id": name} for name in "abc"]
    other = [
        rows[0],
        {**rows[1], "system_revision": "next"},
        {**case(answer="Refunds go back to the card."), "case_id": "c"},
    ]
    found = explain(gated("new", other), gated("old", rows))
    facts = found.facts()
    # a: the same line; b: another revision, the same evidence; c: the same result from another answer.
    assert (facts["rows"], facts["unchanged"], facts["unchanged_with_other_evidence"]) == ([], 3, 1)
    assert [fact["what"] for fact in facts["runs_differ_in"]] == ["cases"]
    assert {"metric", "contract version", "policy version", "metric source"} <= set(facts["runs_agree_in"])


def test_runs_under_one_policy_only_are_compared_as_far_as_that_makes_sense(gated: Gated) -> None:
    old = gated("old", [case()], policy=None)
    assert explain(gated("same", [case()]), old).rows == ()
    found = explain(gated("new", [lost(citations=[])]), old)
    assert [(row.change, row.first_divergence) for row in found.rows] == [("value", "attribution")]
    assert any("only one of the runs was judged under a policy" in note for note in found.notes)


def test_runs_of_different_contracts_say_so(gated: Gated, tmp_path: Path) -> None:
    source = (FIXTURES / "incidents" / "metric_edited" / "old_metric.py").read_text()
    (tmp_path / "two.py").write_text(source.replace('version="1"', 'version="2"'))
    old = gated("old", [case()], policy=None)
    found = explain(gated("new", [lost()], metric=f"{tmp_path}/two.py:evidence_coverage", policy=None), old)
    (row,) = found.rows
    assert (row.first_divergence, row.owner) == ("contract", "test-data")
    assert "so the two results are not compared" in row.sentence
    assert any(note.startswith("a contract change") for note in found.notes)


def test_runs_of_different_metrics_are_matched_but_their_values_are_not_compared(gated: Gated, tmp_path: Path) -> None:
    source = (FIXTURES / "incidents" / "metric_edited" / "old_metric.py").read_text()
    (tmp_path / "other.py").write_text(source.replace("def evidence_coverage(", "def other("))
    old = gated("old", [case()], policy=None)
    found = explain(gated("new", [lost()], metric=f"{tmp_path}/other.py:other", policy=None), old)
    assert found.rows == ()
    assert any("two metrics" in note for note in found.notes)


def test_one_run_is_triaged_row_by_row(gated: Gated) -> None:
    rows = [
        {**case(), "case_id": "fine"},
        {**lost(answer="Ask.", citations=[]), "case_id": "unused"},
        {**case(required_claim_ids=[]), "case_id": "bad"},
    ]
    found = explain(gated("new", rows))
    assert [(row.case_id, row.change, row.first_divergence, row.owner) for row in found.rows] == [
        ("unused", "fail", "answer", "answer"),
        ("bad", "invalid", "required_set", "test-data"),
    ]
    assert found.rows[0].would_flip is not None
    assert found.rows[0].would_flip.sentence == "the row would pass with method in supported_claim_ids"
    facts = found.facts()
    assert (facts["older_run_id"], facts["total"], facts["unchanged"]) == (None, 3, 1)
    assert {"case_id", "change", "first_divergence", "owner", "old", "new", "sentence"} <= facts["rows"][0].keys()


def test_another_metric_than_the_runs_own_is_not_asked(gated: Gated) -> None:
    other = load_metric(f"{FIXTURES}/incidents/metric_edited/new_metric.py:evidence_coverage")
    found = explain(gated("new", [lost()]), metric=other)
    assert found.rows[0].would_flip is None
    assert any("is not the source that made this run" in note for note in found.notes)


def damage_line(run: Run) -> None:
    path = run.records_path
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:40] + b"\n" + b"".join(lines[2:]))


def change_value(run: Run) -> None:
    path = run.records_path
    path.write_bytes(path.read_bytes().replace(b'"state":"scored","value":1.0', b'"state":"scored","value":0.9', 1))


@pytest.mark.parametrize(
    ("damage", "fragment"),
    [
        (damage_line, "records.jsonl, line 2: is not a record"),
        (change_value, "records.jsonl: does not have the hash that the manifest names"),
        (lambda run: (run.folder / "manifest.json").unlink(), "is an unfinished run"),
        (lambda run: (run.folder / "manifest.json").write_text("{"), "manifest.json: is damaged"),
        (lambda run: (run.folder / "manifest.json").write_text('{"schema": 9}'), "is not a run that this evalkit"),
    ],
)
@pytest.mark.parametrize("side", ["new", "old"])
def test_a_damaged_or_foreign_run_is_refused_by_name(
    gated: Gated, damage: Callable[[Run], object], fragment: str, side: str
) -> None:
    rows = [{**case(), "case_id": name} for name in "abc"]
    runs = {name: gated(name, rows if name == "old" else reversed(rows)) for name in ("new", "old")}
    damage(runs[side])
    with pytest.raises(EvalkitError) as refused:
        explain(open_run(runs["new"].folder), open_run(runs["old"].folder))
    assert fragment in str(refused.value)


def test_a_copied_run_folder_is_the_same_run(gated: Gated, tmp_path: Path) -> None:
    run = gated("run", [case(), {**lost(), "case_id": "y"}])
    shutil.copytree(run.folder, tmp_path / "copy")
    found = explain(open_run(tmp_path / "copy"), run)
    assert (found.rows, found.total, found.unchanged_throughout, found.differ) == ((), 2, 2, ())
