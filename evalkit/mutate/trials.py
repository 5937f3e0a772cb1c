"""Contract cases made ready to be tried: inputs that no mutant can change for the next one, and what they expect."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.cases.read import BadLine, Case, CaseFile
from evalkit.contract import EvalkitError, Metric, example_list
from evalkit.mutate.expect import Oracle, parse_oracle
from evalkit.scoring.score import Scorer

__all__ = ["Trial", "Trials", "read_trials"]


class Trial(NamedTuple):
    """One case, as each mutant meets it."""

    case_id: str
    inputs: bytes
    """JSON of the metric's inputs: read anew each time."""
    oracle: Oracle


class Trials(NamedTuple):
    """A suite of cases."""

    trials: tuple[Trial, ...]
    without_oracle: tuple[str, ...]
    """Cases that say nothing of what they should come to, and so can catch nothing."""
    feeds: Mapping[str, str]
    """Which key of a case feeds which parameter."""


def read_trials(path: Path, metric: Metric, feeds: Mapping[str, str] | None = None) -> Trials:
    """Read the contract cases of a metric.

    Raises
    ------
    EvalkitError
        For a line that is no case, an oracle that cannot be read, a case of another contract version, or a file in
        which no case says what it should come to.
    """
    scorer = Scorer(metric, feeds)
    trials, without = [], []
    for item in CaseFile(path, scorer.required, scorer.optional):
        if isinstance(item, BadLine):
            msg = f"is not a case: {item.reason}"
            raise EvalkitError(msg, where=f"{path.name}, line {item.line}", do="mend the line; nothing was mutated")
        _check_version(item, metric, path)
        if "oracle" not in item.fields:
            without.append(item.case_id)
            continue
        oracle = parse_oracle(item.fields["oracle"], f"{path.name}, line {item.line}, case {item.case_id!r}")
        inputs = {name: item.fields[key] for name, key in scorer.feeds.items() if key in item.fields}
        trials.append(Trial(item.case_id, orjson.dumps(inputs), oracle))
    if not trials:
        named = f": {example_list(without)}" if without else ""
        msg = f"no case says what it should come to ({len(without)} cases without an oracle{named})"
        do = (
            'give each case "oracle": {"value": ..., "reason": "..."}, {"invalid": "fragment"} or {"error": "fragment"}'
        )
        raise EvalkitError(msg, where=path.name, do=do)
    return Trials(tuple(trials), tuple(without), scorer.feeds)


def _check_version(case: Case, metric: Metric, path: Path) -> None:
    wanted: Any = case.fields.get("contract_version", metric.version)
    if wanted != metric.version:
        msg = f"is written for contract version {wanted!r}; {metric.name} has {metric.version!r}"
        where = f"{path.name}, line {case.line}, case {case.case_id!r}"
        raise EvalkitError(msg, where=where, do="review the case against the new contract, then change its version")
