"""What a notebook works on: every row judged once, kept as records, with the gate's result over the same pass."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.cases.locate import locate
from evalkit.contract import Metric, MetricResult
from evalkit.contract.judge import Judge
from evalkit.decisions.gate import GateOptions, GateResult, gate
from evalkit.decisions.outcome_file import facts_of
from evalkit.decisions.resolution import Resolution, resolution_of
from evalkit.decisions.wrong_tool_rows import advise_in_words
from evalkit.pages.plain import plain
from evalkit.pages.row_view import reading_order, row_text, rows_frame
from evalkit.pages.screen import gate_screen
from evalkit.scoring.ledger import denominator_of
from evalkit.scoring.load import load_metric
from evalkit.scoring.parts import MemorySink
from evalkit.scoring.records import Record

if TYPE_CHECKING:
    import pandas as pd
    from IPython.display import Markdown

__all__ = [
    "Example",
    "Judged",
    "contract_markdown",
    "judge",
    "open_metric",
    "resolutions",
    "worked_example",
    "worked_result",
]

_CLAIMS = ("required_claim_ids", "supported_claim_ids")


class Judged(NamedTuple):
    """A file of cases under a policy."""

    result: GateResult
    records: tuple[Record, ...]
    """Every line that is not blank, in input order, with its decision."""

    @property
    def is_numeric(self) -> bool:
        """Whether the values can be averaged at all (that they can does not mean that they should)."""
        return self.result.metric.kind == "numeric"

    def in_order(self) -> list[Record]:
        """Return the rows in the order in which somebody should read them."""
        contract = self.result.metric.contract
        return reading_order(self.records, contract.better if contract else "higher")

    def frame(self, *, most: int | None = None) -> pd.DataFrame:
        """Return the rows as a frame: all of them in input order, or the `most` that should be read first."""
        return rows_frame(self.records) if most is None else rows_frame(self.in_order(), most=most)

    def row_text(self, position: int) -> str:
        """Return all that one row says, as plain text; `position` counts in reading order, from 0."""
        rows = self.in_order()
        return (
            row_text(rows[position], self.result.metric.contract)
            if position < len(rows)
            else f"there are only {len(rows)} rows"
        )

    def bounds(self) -> dict[str, float]:
        """Return the policy's minimum (or maximum) by slice, for those that have one."""
        policy = self.result.policy
        found = {
            name: limits.minimum if limits.minimum is not None else limits.maximum
            for name, limits in (policy.slices if policy else {}).items()
        }
        return {name: bound for name, bound in found.items() if bound is not None}

    def screen(self) -> str:
        """Return what ``evalkit gate`` prints about these rows."""
        facts = facts_of(self.result, run_id="", command="", parameters={})
        facts["warnings"] += advise_in_words(self.result.metric, self.records)
        return gate_screen(facts)


def open_metric(spec: str) -> Metric:
    """Load a metric as ``evalkit gate`` does; a relative path in it starts where those of a notebook do."""
    place, separator, name = spec.rpartition(":")
    return load_metric(f"{locate(place)}:{name}" if separator and place.endswith(".py") else spec)


def judge(metric: Metric, cases: Path | str, policy: Path | str, as_of: str = "") -> Judged:
    """Judge every row of `cases` under `policy`, and keep the rows.

    Parameters
    ----------
    metric : Metric
    cases, policy : path
        As in a notebook's parameters: see `evalkit.locate`.
    as_of : str
        The day on which dates are judged; today where it is empty.
    """
    kept = MemorySink()
    options = GateOptions(as_of=date.fromisoformat(as_of) if as_of else None)
    result = gate(metric, locate(cases), locate(policy), options=options, sink=kept)
    return Judged(result, tuple(kept.records()))


def contract_markdown(metric: Metric) -> Markdown:
    """Return the four questions of a contract with their answers, unanswered ones included, for a notebook to show."""
    from IPython.display import Markdown

    if metric.contract is None:
        rows = [
            (f"{question}?", "not answered; evalkit.attach(metric, Contract(...)) answers it")
            for question in metric.unanswered()
        ]
    else:
        contract = metric.contract
        rows = [
            ("What one property is measured?", contract.measures),
            ("Which inputs are reviewed facts?", ", ".join(contract.reviewed) or "none"),
            ("Which did the system produce?", ", ".join(contract.produced) or "none"),
            *[("When is a row invalid, not bad?", sentence) for sentence in contract.invalid_when],
            ("Who reads the score?", contract.consumed_by),
            ("What can it not establish?", contract.cannot_establish),
        ]
    text = "\n".join(f"- **{_inert(question)}** {_inert(answer)}" for question, answer in rows)
    return Markdown(text)  # type: ignore[no-untyped-call] # IPython ships types for a part only


def _inert(text: str) -> str:
    """Return text that Markdown shows as it is written."""
    return re.sub(r"([\\`*\[\]<>#|])", r"\\\1", plain(text, newline=" "))


class Example(NamedTuple):
    """Inputs of one row to look at closely."""

    title: str
    inputs: Mapping[str, Any]
    verdict: MetricResult | None = None
    """What a judge said of the row; a metric that computes is asked anew."""


def worked_example(judged: Judged) -> Example:
    """Return two of three claims where the metric takes claims; else the row whose value lies between the ends.

    Where nothing was scored there is no row to work through, and the inputs are empty.
    """
    metric = judged.result.metric
    if {parameter.name for parameter in metric.parameters} == set(_CLAIMS):
        required = ["refund-window", "refund-method", "support-channel"]
        return Example("two of three claims", dict(zip(_CLAIMS, (required, required[::2]), strict=True)))
    scored = [record for record in judged.in_order() if record.state == "scored" and record.inputs]
    ends = metric.allowed_values if isinstance(metric.allowed_values, tuple) else ()
    chosen = next((record for record in scored if record.value not in ends), scored[0] if scored else None)
    if chosen is None:
        return Example("no row was scored, so there is none to work through", {})
    verdict = MetricResult(chosen.value, chosen.reason, chosen.detail) if isinstance(metric, Judge) else None
    return Example(f"row {chosen.case_id}", dict(chosen.inputs or {}), verdict)


def worked_result(judged: Judged, example: Example) -> MetricResult | str:
    """Return what the example's row comes to: computed here, or read from what the judge said of it."""
    if not example.inputs:
        return example.title
    return judged.result.metric.score(**example.inputs) if example.verdict is None else example.verdict


def resolutions(judged: Judged) -> list[Resolution]:
    """Return, slice by slice, which thresholds differ on these rows; nothing for labels and rankings."""
    metric, bounds = judged.result.metric, judged.bounds()
    if not judged.is_numeric:
        return []
    reviewed = metric.contract.reviewed if metric.contract else ()
    found = []
    for name, values in sorted(judged.result.ledger.values.items()):
        rows = [record for record in judged.records if record.slice == name and record.state == "scored"]
        sizes = Counter(denominator_of(record.detail, record.inputs, reviewed) for record in rows)
        sizes.pop(None, None)
        numbers = {float(value): n for value, n in values.by_value().items()}
        better = metric.contract.better if metric.contract else "higher"
        found.append(
            resolution_of(
                name, numbers, {k: n for k, n in sizes.items() if k}, threshold=bounds.get(name), better=better
            )
        )
    return found
