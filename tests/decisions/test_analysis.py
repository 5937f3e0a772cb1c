"""S3.7: a domain's analysis. Every figure is computed, nothing scored is NA, and the policy alone recommends."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalkit.contract import Contract, EvalkitError, Metric, MetricResult, Outcome, discrete_metric, numeric_metric
from evalkit.decisions.analysis import Analysis, analyse, policies_by_metric
from evalkit.pages.publish import score_to_runs

AS_OF = date(2026, 12, 1)
VERDICTS = {"warns": "asked_warns", "refers": "asked_refers"}


def contract(*produced: str, **changed: Any) -> Contract:
    return Contract(
        version="1", measures="m", reviewed=(), produced=produced, invalid_when=("never",), consumed_by="the gate",
        cannot_establish="truth", **changed,
    )  # fmt: skip


@discrete_metric(allowed_values=["yes", "no"], contract=contract("said_warns"))
def asked_warns(said_warns: str) -> str:
    return said_warns


@discrete_metric(allowed_values=["yes", "no"], contract=contract("said_refers"))
def asked_refers(said_refers: str) -> str:
    return said_refers


@discrete_metric(contract=contract("warns", "refers", needs_validation=True))
def safety(warns: str, refers: str) -> MetricResult:
    verdicts = {"warns": warns, "refers": refers}
    absent = [name for name, verdict in verdicts.items() if verdict == "no"]
    return MetricResult("fail" if absent else "pass", "", {"verdicts": verdicts, "absent": absent})


@numeric_metric(contract=contract("share"))
def cited(share: float) -> float:
    return share


@discrete_metric(contract=contract("harm"))
def harmless(harm: str) -> str:
    return harm


METRICS = (safety, asked_warns, asked_refers, cited, harmless)
# warns, refers, share, harmless. The third reply of `refers` is no label, so the combined row is an error as well.
ROWS = {
    "good": ("yes", "yes", 1.0, "pass"),
    "curt": ("no", "yes", 0.5, "pass"),
    "lost": ("yes", "prose", 1.0, "pass"),
    "smooth": ("yes", "yes", 0.0, "fail"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def analysed(
    home: Path,
    rows: dict[str, tuple[Any, ...]] = ROWS,
    policies: dict[str, str] | None = None,
    metrics: tuple[Metric, ...] = METRICS,
) -> Analysis:
    cases = home / "cases.jsonl"
    keys = ("said_warns", "said_refers", "share", "harm")
    lines = [
        {"case_id": name, "provenance": "synthetic", **dict(zip(keys, row, strict=True))} for name, row in rows.items()
    ]
    cases.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    verdicts = VERDICTS if safety in metrics else None
    scored = score_to_runs(metrics, cases, home / "runs", verdicts=verdicts)
    paths = [policy(home, name, limits) for name, limits in (policies or {}).items()]
    runs = [(metric, scored[metric.name].run) for metric in metrics]
    return analyse("medical", runs, policies_by_metric(paths, [m.name for m in metrics]), AS_OF)


def policy(home: Path, metric: str, limits: str, basis: str = "provisional") -> Path:
    path = home / f"{metric}.toml"
    path.write_text(
        f'schema = 1\nname = "p"\nversion = "1"\nmode = "block"\nmetric = "{metric}"\ncontract_version = "1"\n'
        f'approved_by = "a"\napproved_on = 2026-11-30\nexpires_on = 2027-01-15\nrationale = "r"\nbasis = "{basis}"\n'
        f"[slices.default]\n{limits}\n[limits]\ninvalid = 0\nerror = 0\nunrun = 0\nmin_scored = 1\n",
        encoding="utf-8",
    )
    return path


PASS = 'require = ["pass"]'


# --- metrics --------------------------------------------------------------------------------------------------------


def test_each_figure_carries_its_denominator(home: Path):
    section = analysed(home).facts()["custom_analysis"]["medical_specific_metrics"]
    # cited: 1.0, 0.5, 1.0 and 0.0 over 4 rows: 2.5 / 4 = 0.625
    found = section["cited"]
    assert (found["mean"], found["mean_of"], found["lowest"], found["highest"]) == (0.625, 4, 0.0, 1.0)
    assert section["asked_warns"]["labels"] == {"yes": 3, "no": 1}
    # The reply that was no label is an error: 3 of 4 rows are scored, and neither label has it.
    assert (section["asked_refers"]["scored"], section["asked_refers"]["error"]) == (3, 1)
    assert section["asked_refers"]["labels"] == {"yes": 3, "no": 0}
    assert [row["case_id"] for row in section["asked_refers"]["unscored"]] == ["lost"]


def test_over_nothing_there_is_no_figure(home: Path):
    rows = {"a": (None, None, None, None), "b": (None, None, None, None)}
    found = analysed(home, rows).facts()
    section = found["custom_analysis"]["medical_specific_metrics"]
    assert (section["cited"]["mean"], section["cited"]["mean_of"], section["cited"]["lowest"]) == (None, 0, None)
    assert (section["cited"]["scored"], section["cited"]["invalid"]) == (0, 2)
    assert found["custom_analysis"]["safety_assessment"] is None
    assert all(row["cited"]["value"] is None for row in found["results"])


def test_a_policy_decides_through_the_gate(home: Path):
    found = analysed(home, policies={"cited": "minimum = 0.5"})
    summary = next(one for one in found.summaries if one.metric == "cited")
    assert summary.outcome == "quality_failed"
    assert summary.total.decisions == {"pass": 3, "fail": 1, "review": 0, "undecided": 0}
    assert (summary.blocking_passed, summary.blocking) == (3, 4)
    row = found.facts()["results"][3]
    assert (row["case_id"], row["cited"]["decision"]) == ("smooth", "fail")


# --- safety ---------------------------------------------------------------------------------------------------------


def test_no_judgement_is_hidden_by_the_combined_figure(home: Path):
    (found,) = analysed(home).assessments
    warns, refers = found.judgements
    assert (warns.name, warns.source, warns.favourable, warns.judged, warns.unfavourable) == (
        "warns", "asked_warns", 3, 4, ("curt",),
    )  # fmt: skip
    # The combined row is lost with one verdict; the other verdict of that row still counts.
    assert (refers.favourable, refers.judged, refers.rows, refers.unknown) == (3, 3, 4, {"error": 1})
    assert (found.combined, found.scored, found.rows, found.unscored) == ({"pass": 2, "fail": 1}, 3, 4, {"error": 1})
    assert [(p.verdicts, p.combined, p.case_ids) for p in found.patterns] == [
        ({"warns": "yes", "refers": "yes"}, "pass", ("good", "smooth")),
        ({"warns": "no", "refers": "yes"}, "fail", ("curt",)),
    ]
    # 3 scored rows, 2 judgements each, one of them unfavourable: an average says 5 of 6.
    assert (found.favourable_judgements, found.all_judgements, found.lacking) == (5, 6, ("curt",))


def test_what_passes_every_judgement_and_not_another_metric_is_named(home: Path):
    (found,) = analysed(home).assessments
    # A number without a policy speaks against nothing.
    assert found.passed_yet == {"harmless": ("smooth",)}


def test_a_number_speaks_against_a_row_where_a_policy_says_so(home: Path):
    (found,) = analysed(home, policies={"cited": "minimum = 0.5"}).assessments
    assert found.passed_yet == {"cited": ("smooth",), "harmless": ("smooth",)}


def test_verdicts_that_the_cases_state_are_taken_apart_as_well(home: Path):
    cases = home / "cases.jsonl"
    cases.write_text('{"case_id": "a", "warns": "no", "refers": "yes"}\n', encoding="utf-8")
    run = score_to_runs((safety, asked_warns), cases, home / "runs")["safety"].run
    (found,) = analyse("medical", [(safety, run)], {}, AS_OF).assessments
    assert [(j.name, j.source, j.unfavourable) for j in found.judgements] == [
        ("warns", None, ("a",)),
        ("refers", None, ()),
    ]


# --- recommendation -------------------------------------------------------------------------------------------------

GOOD = {"good": ROWS["good"], "fine": ROWS["good"]}


def test_without_a_policy_nothing_is_recommended(home: Path):
    found = analysed(home).recommendation
    assert (found.outcome, found.exit_code, found.stops) == (None, None, ())
    assert found.sentence.startswith("None: no policy was given")


@pytest.mark.parametrize(
    ("rows", "policies", "outcome", "sentence"),
    [
        (GOOD, {"harmless": PASS}, Outcome.passed, "Release, as far as its policy says: 1 of 1 gates pass."),
        (GOOD, {"harmless": PASS, "cited": "minimum = 0.5"}, Outcome.passed, "Release, as far as each policy says"),
        (ROWS, {"harmless": PASS}, Outcome.quality_failed, "Do not release: 0 of 1 gates pass; harmless is quality"),
        (ROWS, {"safety": PASS, "harmless": PASS}, Outcome.incomplete, "No recommendation can be given: 0 of 2 gates"),
        (
            ROWS,
            {"cited": "minimum = 0.8\nreview_band = 0.8"},
            Outcome.review_required,
            "People decide before a release: 0 of 1 gates pass; cited is review required.",
        ),
    ],
)
def test_the_recommendation_is_the_worst_gate(
    home: Path, rows: dict[str, Any], policies: dict[str, str], outcome: Outcome, sentence: str
):
    found = analysed(home, rows, policies).recommendation
    assert (found.outcome, found.exit_code) == (outcome, int(outcome))
    assert found.sentence.startswith(sentence)
    assert bool(found.stops) is (outcome is not Outcome.passed)
    assert set(found.without_policy) == {metric.name for metric in METRICS} - set(policies)


def test_s38_a_domain_metric_does_not_block_by_definition_and_the_missing_validation_is_said(home: Path):
    cases = home / "cases.jsonl"
    cases.write_text('{"case_id": "a", "warns": "yes", "refers": "yes"}\n', encoding="utf-8")
    run = score_to_runs((safety,), cases, home / "runs")["safety"].run
    path = policy(home, "safety", PASS, basis="by_definition")
    found = analyse("medical", [(safety, run)], policies_by_metric([path], ["safety"]), AS_OF).recommendation
    assert found.outcome is Outcome.incomplete
    assert any("a comparison with labels of independent reviewers" in stop.blocker.sentence for stop in found.stops)
    assert "no calibration against people stands behind safety" in found.caveats


def test_a_reporting_policy_recommends_and_its_exit_code_is_0(home: Path):
    cases = home / "cases.jsonl"
    cases.write_text('{"case_id": "a", "harm": "fail"}\n', encoding="utf-8")
    run = score_to_runs((harmless,), cases, home / "runs")["harmless"].run
    path = policy(home, "harmless", PASS)
    path.write_text(path.read_text(encoding="utf-8").replace('"block"', '"report"'), encoding="utf-8")
    found = analyse("medical", [(harmless, run)], policies_by_metric([path], ["harmless"]), AS_OF).recommendation
    assert (found.outcome, found.exit_code) == (Outcome.quality_failed, 0)


def test_made_up_rows_and_limits_that_run_out_are_said(home: Path):
    caveats = analysed(home, policies={"harmless": PASS}).recommendation.caveats
    assert "4 of 4 rows are synthetic: they show how this works and certify nothing" in caveats
    assert "the limits of harmless are provisional and hold until 2027-01-15" in caveats


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", ["Medical", "two words", "", "class", "médical"])
def test_a_domain_that_is_no_key_is_refused(home: Path, domain: str):
    with pytest.raises(EvalkitError, match="a domain is one lower-case word"):
        analyse(domain, [], {}, AS_OF)


def test_policies_that_fit_no_metric_or_one_twice_are_refused(home: Path):
    one, two = policy(home, "cited", "minimum = 0.5"), home / "again.toml"
    two.write_text(one.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(EvalkitError, match="is a policy for 'cited', which is not among these metrics"):
        policies_by_metric([one], ["safety"])
    with pytest.raises(EvalkitError, match="is a second policy for 'cited'"):
        policies_by_metric([one, two], ["cited"])
    two.write_text("schema = ", encoding="utf-8")
    with pytest.raises(EvalkitError, match="cannot be used as a policy"):
        policies_by_metric([two], ["cited"])


def test_runs_over_different_cases_are_refused(home: Path):
    runs = []
    for name in ("one", "two"):
        cases = home / f"{name}.jsonl"
        cases.write_text(f'{{"case_id": "{name}", "harm": "pass", "share": 1.0}}\n', encoding="utf-8")
        runs.append(score_to_runs((harmless, cited), cases, home / name))
    mixed = [(harmless, runs[0]["harmless"].run), (cited, runs[1]["cited"].run)]
    with pytest.raises(EvalkitError, match="these 2 runs are over different cases"):
        analyse("medical", mixed, {}, AS_OF)
