"""The README's table of metrics is written from the contracts."""

from __future__ import annotations

import re

from evalkit.contract import Contract, attach, discrete_metric, make_metric, ranking_metric
from evalkit.metrics import BUILT_IN
from evalkit.pages.metric_table import metric_table
from evalkit.scoring.load import load_metric


def rows_of(table: str) -> list[list[str]]:
    return [re.split(r"(?<!\\)\|", line.strip("|\n")) for line in table.splitlines()]


def test_every_bundled_metric_has_its_line_with_what_its_contract_says():
    table = metric_table()
    head, rule, *rows = rows_of(table)
    assert [cell.strip() for cell in rows_of(table)[0]] == [
        "metric", "gives", "measures", "reviewed inputs", "produced inputs", "cannot establish",
    ]  # fmt: skip
    assert len(rule) == len(head) == 6
    assert [row[0].strip(" `") for row in rows] == sorted(BUILT_IN)
    for row in rows:
        metric = load_metric(row[0].strip(" `"))
        assert metric.contract is not None
        assert len(row) == 6
        assert row[2].strip().replace("\\", "") == metric.contract.measures
        assert re.findall(r"`(\w+)`", row[3]) == list(metric.contract.reviewed)
        assert re.findall(r"`(\w+)`", row[4]) == list(metric.contract.produced)


def test_what_a_metric_gives_is_said_for_each_kind():
    def count(answer: str) -> int:
        return len(answer)

    contract = Contract(
        version="1", measures="a | b\nand *c*", reviewed=(), produced=("answer",), invalid_when=("never",),
        consumed_by="tests", cannot_establish="`anything`", better="lower",
    )  # fmt: skip
    counted = attach(make_metric(count, range(11)), contract)
    polite = discrete_metric(allowed_values=["yes", "no"])(count)
    order = ranking_metric(allowed_values=3)(count)
    lines = metric_table([counted, polite, order, load_metric("refund_answer")]).splitlines()[2:]
    assert lines[0] == "| `count` | 0 to 10, lower is better | a \\| b and \\*c\\* | none | `answer` | \\`anything\\` |"
    assert "| `yes`, `no` | no contract |" in lines[1]
    assert "| a ranking of 3 |" in lines[2]
    assert "| `pass`, `fail` (a model judges) |" in lines[3]
