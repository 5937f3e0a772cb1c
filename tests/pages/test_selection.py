from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from evalkit.contract import Contract, MetricResult, numeric_metric
from evalkit.decisions.gate import GateOptions, gate
from evalkit.pages.selection import select_rows

Row = Callable[..., dict[str, Any]]


def test_rows_that_did_not_pass_come_first_blocking_ones_before_others(
    gated: Callable[..., Any], coverage_row: Row
) -> None:
    rows = [
        coverage_row("good", 4),
        coverage_row("other-bad", 1, blocking=False),
        coverage_row("bad", 1),
        coverage_row("unknown-slice", 4, slice="nobody-limits-this"),
        "not json",
        coverage_row("doubt", 7, 10, slice="doubtful"),
    ]
    made = gated(rows)
    found = select_rows(made.run.records_path, made.result.places)
    assert [row.line for row in found.rows] == [3, 4, 5, 6, 2, 1]
    assert (found.total, found.not_passing, found.not_passing_hidden) == (6, 5, 0)
    assert found.rows == sorted(made.run.records(), key=lambda record: [3, 4, 5, 6, 2, 1].index(record.line))


def test_what_a_page_leaves_out_is_counted(gated: Callable[..., Any], coverage_row: Row) -> None:
    rows = [coverage_row(f"bad-{n}", 1) for n in range(5)] + [coverage_row(f"good-{n}", 4) for n in range(3)]
    made = gated(rows)
    few = select_rows(made.run.records_path, made.result.places, most=3)
    assert [row.case_id for row in few.rows] == ["bad-0", "bad-1", "bad-2"]
    assert (few.total, few.not_passing, few.not_passing_hidden) == (8, 5, 2)
    more = select_rows(made.run.records_path, made.result.places, most=6)
    assert [row.case_id for row in more.rows][-1] == "good-0"
    assert more.not_passing_hidden == 0


def test_values_of_all_rows_are_counted_also_of_those_not_shown(gated: Callable[..., Any], coverage_row: Row) -> None:
    rows = [coverage_row(f"r{n}", 2, blocking=bool(n % 2)) for n in range(6)] + [coverage_row("good", 3, 3), "bad json"]
    values = gated(rows).result.ledger.values["default"]
    assert values.counts == {(0.5, "fail"): 6, (1.0, "pass"): 1}
    assert values.denominators == {4: 6, 3: 1}
    assert (values.scored, values.uncounted) == (7, 0)


def test_a_gate_over_a_run_counts_what_rows_are_out_of_as_the_gate_over_their_cases_did(
    gated: Callable[..., Any], tmp_path: Path
) -> None:
    contract = Contract(
        version="1", measures="share", reviewed=("wanted",), produced=("found",), invalid_when=("nothing is wanted",),
        consumed_by="the gate", cannot_establish="truth",
    )  # fmt: skip

    @numeric_metric(allowed_values=(0.0, 1.0), contract=contract)
    def share(wanted: list[str], found: list[str]) -> MetricResult:
        return MetricResult(len(found) / len(wanted))  # no detail: only the reviewed list says out of how many

    policy = (
        'schema = 1\nname = "p"\nversion = "1"\nmode = "report"\nmetric = "share"\ncontract_version = "1"\n'
        "[slices.default]\nminimum = 0.5\n"
    )
    rows = [{"case_id": f"r{i}", "wanted": ["x"] * n, "found": ["x"]} for i, n in enumerate((1, 2, 2))]
    made = gated(rows, policy=policy, metric=share)
    again = gate(share, made.run.folder, tmp_path / "policy.toml", options=GateOptions(as_of=date(2026, 12, 1)))
    assert made.result.ledger.values["default"].denominators == {1: 1, 2: 2}
    assert again.ledger.values["default"].denominators == {1: 1, 2: 2}
