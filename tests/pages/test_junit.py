from __future__ import annotations

from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase

from evalkit.pages.junit import render_junit

Row = Callable[..., dict[str, Any]]


def cases_of(facts: dict[str, Any]) -> dict[tuple[str, str], TestCase]:
    xml = JUnitXml.fromstring(render_junit(facts))
    return {(case.classname, case.name): case for suite in xml for case in suite}


def test_a_case_per_check_and_not_per_row(gated: Callable[..., Any], coverage_row: Row) -> None:
    few = gated([coverage_row("good", 4), coverage_row("bad", 1)]).facts
    many = gated([coverage_row(f"good-{n}", 4) for n in range(50)] + [coverage_row("bad", 1)]).facts
    assert cases_of(few).keys() == cases_of(many).keys()
    failed = {key: case for key, case in cases_of(few).items() if case.result}
    assert list(failed) == [("evidence_coverage.default", "rows reach the limit")]
    (result,) = next(iter(failed.values())).result
    assert isinstance(result, Failure)
    assert result.type == "quality_failed"
    assert "owner: answer" in str(result.text)
    assert "bad (line 2): 0.25 < 0.75; supported=1; required=4; missing=b,c,d" in str(result.text)


def test_of_very_many_rows_the_first_are_told_and_the_others_counted(
    gated: Callable[..., Any], coverage_row: Row
) -> None:
    facts = gated([coverage_row(f"bad-{n}", 1) for n in range(507)]).facts
    (result,) = cases_of(facts)["evidence_coverage.default", "rows reach the limit"].result
    lines = str(result.text).strip().splitlines()
    # Owner and what to do, 500 rows, and what was left out of 507.
    assert len(lines) == 2 + 500 + 1
    assert lines[-2].startswith("bad-499 (line 500)")
    assert lines[-1] == "and 7 more (--json FILE or --run DIR keeps all 507)"


def test_incomplete_is_an_error_and_a_person_a_failure_of_its_own_type(
    gated: Callable[..., Any], coverage_row: Row
) -> None:
    broken = cases_of(gated(["not json", coverage_row("good", 4)]).facts)
    (result,) = broken["evidence_coverage", "no more invalid rows than allowed"].result
    assert isinstance(result, Error)
    assert "(no case id) (line 1)" in str(result.text)
    doubtful = cases_of(gated([coverage_row("doubt", 7, 10, slice="doubtful")]).facts)
    (result,) = doubtful["evidence_coverage.doubtful", "no row waits for a person"].result
    assert isinstance(result, Failure)
    assert result.type == "review_required"


def test_what_was_not_checked_is_not_listed_as_passed(
    gated: Callable[..., Any], coverage_row: Row, policy_text: str
) -> None:
    unusable = policy_text.replace('"evidence_coverage"', '"another_metric"')
    cases = cases_of(gated([coverage_row("bad", 1)], policy=unusable).facts)
    assert isinstance(cases["evidence_coverage", "the policy can be used"].result[0], Error)
    for key in (
        ("evidence_coverage.default", "rows reach the limit"),
        ("evidence_coverage", "enough rows were scored"),
    ):
        (result,) = cases[key].result
        assert isinstance(result, Skipped), key
    assert cases["evidence_coverage", "metric, cases and policy speak of one contract"].result == []


def test_report_mode_shows_without_enforcing(gated: Callable[..., Any], coverage_row: Row, policy_text: str) -> None:
    facts = gated([coverage_row("bad", 1)], policy=f'mode = "report"\n{policy_text}').facts
    (result,) = cases_of(facts)["evidence_coverage.default", "rows reach the limit"].result
    assert isinstance(result, Skipped)
    assert str(result.message).startswith("report mode, not enforced: ")
    xml = JUnitXml.fromstring(render_junit(facts))
    assert (xml.failures, xml.errors) == (0, 0)


def test_any_text_gives_well_formed_xml(gated: Callable[..., Any], coverage_row: Row) -> None:
    evil = "]]><failure/>&\x00\x1b[31m\ufffe\u202e<x"
    raw = render_junit(gated([coverage_row(evil, 1, slice="default")]).facts)
    root = ElementTree.fromstring(raw)
    assert len(root.findall(".//failure")) == 1
    assert "]]><failure/>&\\x00\\x1b[31m[U+FFFE][U+202E]<x" in str(root.find(".//failure").text)  # type: ignore[union-attr]


def test_a_blocker_of_an_unknown_kind_is_never_lost(gated: Callable[..., Any], coverage_row: Row) -> None:
    facts = gated([coverage_row("good", 4)]).facts
    blocker = {
        "kind": "something_new",
        "outcome": "incomplete",
        "owner": "policy",
        "sentence": "s",
        "do": "d",
        "rows": [],
    }
    cases = cases_of(facts | {"blockers": [blocker, blocker | {"kind": "pass_rate", "outcome": "review_required"}]})
    assert isinstance(cases["evidence_coverage", "something_new"].result[0], Error)
    assert isinstance(cases["evidence_coverage", "pass_rate"].result[0], Failure)
