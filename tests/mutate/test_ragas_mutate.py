"""Metrics that were written only against ragas, sync and async, are mutated as they stand in their file."""

from __future__ import annotations

from evalkit.mutate import kill_matrix

THEIRS = """
    from ragas.metrics import discrete_metric, numeric_metric
    from ragas.metrics.result import MetricResult


    def count(found):
        return len(set(found))


    @numeric_metric(name="share", allowed_values=(0.0, 1.0))
    def share(found: list, wanted: list) -> MetricResult:
        if not wanted:
            raise ValueError("wanted is empty")
        return MetricResult(value=count(found) / count(wanted), reason=f"{count(found)} of {count(wanted)}")


    @discrete_metric(name="covered", allowed_values=["pass", "fail"])
    async def covered(found: list, wanted: list) -> str:
        return "pass" if count(found) >= count(wanted) else "fail"
"""


def case(case_id: str, found: list, wanted: list, **oracle: object) -> dict:
    return {"case_id": case_id, "found": found, "wanted": wanted, "oracle": oracle}


def test_a_ragas_metric_of_both_kinds(write):
    cases = [
        case("third", ["a"], ["a", "b", "c"], value=1 / 3, reason="1 of 3"),
        case("twice", ["a", "a"], ["a", "b"], value=0.5, reason="1 of 2"),
        case("empty", [], [], invalid="wanted is empty"),
    ]
    spec, path = write(THEIRS, cases)
    matrix = kill_matrix(spec, path, full=True)
    killed = {(m.operator, m.where) for m in matrix.of("killed")}
    assert {("guard", "share"), ("numerator", "share"), ("exception_message", "share"), ("boundary", "count")} <= killed
    assert {m.operator for m in matrix.of("survived")} <= {"clamp"}
    assert matrix.facts["contract_version"] == "0"

    covered = [case("equal", ["a"], ["b"], value="pass"), case("fewer", [], ["b"], value="fail")]
    spec, path = write(THEIRS, covered, name="covered")
    matrix = kill_matrix(spec, path)
    assert {m.operator: m.killed_by for m in matrix.of("killed")}["comparison"] == ["equal"]
