"""The closed vocabularies: states, decisions, outcomes and owners (nothing else may be written in those fields)."""

from __future__ import annotations

from enum import IntEnum
from typing import Literal, get_args

__all__ = [
    "CASE_KEYS",
    "DECISIONS",
    "OWNERS",
    "STATES",
    "Better",
    "Decision",
    "Kind",
    "Outcome",
    "Owner",
    "Retention",
    "State",
]

State = Literal["scored", "invalid", "error", "unrun"]
Decision = Literal["pass", "fail", "review"]
Kind = Literal["numeric", "discrete", "ranking"]
Better = Literal["higher", "lower"]
Retention = Literal["full", "excerpt", "hash"]
Owner = Literal[
    "test-data", "metric", "adapter", "attribution", "retrieval", "answer", "rubric", "judge", "provider", "policy"
]

STATES: tuple[State, ...] = get_args(State)
DECISIONS: tuple[Decision, ...] = get_args(Decision)
OWNERS: tuple[Owner, ...] = get_args(Owner)

CASE_KEYS = frozenset(
    {
        # identity
        "case_id", "slice", "blocking", "family", "partition", "contract_version", "requirement_set_version",
        "system_revision",
        # lineage
        "rubric_version", "evidence_version", "response_sha256", "generation", "source", "stratum",
        "prevalence_weight", "provenance",
        # contract cases and controls
        "oracle", "role", "pair_id", "rationale",
        # why whoever prepared the case says that it must not be scored
        "unfit",
        # what a machine only proposes: no command reads such a line as a case
        "proposed",
        "evidence",
    }
)  # fmt: skip
"""Reserved keys of a case: a metric parameter of one of these names is fed with ``--input PARAM=KEY``."""


class Outcome(IntEnum):
    """What a check concludes; the number is the exit code.

    ``incomplete`` beats ``quality_failed`` beats ``review_required``: what cannot be judged is never called bad,
    and what is bad is never sent to a committee first.
    """

    passed = 0
    quality_failed = 1
    incomplete = 2
    review_required = 3

    @classmethod
    def worst(cls, outcomes: list[Outcome]) -> Outcome:
        """Return the outcome that wins when several checks disagree (``passed`` for none)."""
        order = (cls.incomplete, cls.quality_failed, cls.review_required)
        return next((outcome for outcome in order if outcome in outcomes), cls.passed)
