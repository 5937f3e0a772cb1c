"""A gate with labels: false passes and false fails per slice, against limits; an unlabelled row cannot be judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.labels import read_labels
from evalkit.cases.settle import Settled, settle
from evalkit.contract import Outcome
from evalkit.decisions.blockers import Blocker, blocked_rows
from evalkit.decisions.policy import Policy, SliceLimits
from evalkit.scoring.records import Record
from evalkit.scoring.stream import Streamed

__all__ = ["Labelled", "judge_labels", "needs_labels"]


class Labelled(NamedTuple):
    """Decisions of one slice against its labels; only blocking, scored rows with a settled label are counted."""

    slice: str
    n: int
    false_passes: list[Record]
    """Passed by the policy, failed by people."""
    false_fails: list[Record]
    unlabelled: list[Record]
    """Without a label that still fits what the row shows."""
    conflicts: list[Record]
    """Reviewers disagree, and nobody has adjudicated."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values: counts, and the case ids of what is wrong."""
        rows = self._asdict()
        return {key: [r.case_id for r in value] if isinstance(value, list) else value for key, value in rows.items()}


def needs_labels(limits: SliceLimits) -> bool:
    """Tell whether a slice is judged against labels.

    Its rows are then reference rows: a row that fails as people say it should is a success of the metric, so single
    failures block only where ``max_failures`` or ``min_pass_rate`` asks for that as well.
    """
    return limits.max_false_passes is not None or limits.max_false_fails is not None


def judge_labels(policy: Policy, streamed: Streamed, labels: Path | None) -> tuple[list[Labelled], list[Blocker]]:
    """Compare the decisions of every slice that has label limits.

    Raises
    ------
    EvalkitError
        Where the labels cannot be read.
    """
    slices = [name for name, limits in policy.slices.items() if needs_labels(limits)]
    if not slices:
        return [], []
    if labels is None:
        blocker = Blocker(
            "labels",
            Outcome.incomplete,
            "rubric",
            f"the policy limits false passes or false fails in {', '.join(slices)}, and no labels were given",
            "give the reviewers' labels with --labels FILE",
        )
        return [], [blocker]
    seen = {case_id: record.seen_hash for case_id, record in streamed.decided.items()}
    settled = settle(read_labels(labels).labels, seen=seen)
    compared = [_compare(name, streamed.decided, settled) for name in slices]
    blockers = [
        blocker for found in compared for blocker in _blockers(found, policy.slices[found.slice], streamed.sentences)
    ]
    return compared, blockers


def _compare(name: str, decided: Mapping[str, Record], settled: Mapping[str, Settled]) -> Labelled:
    found = Labelled(name, 0, [], [], [], [])
    for case_id, record in decided.items():
        if record.slice != name or not record.blocking or record.state != "scored":
            continue
        label = settled.get(case_id)
        if label is None or label.how == "stale":
            found.unlabelled.append(record)
        elif label.label is None:
            found.conflicts.append(record)
        else:
            found = found._replace(n=found.n + 1)
            if record.decision == "pass" and label.label == "fail":
                found.false_passes.append(record)
            elif record.decision == "fail" and label.label == "pass":
                found.false_fails.append(record)
    return found


def _blockers(found: Labelled, limits: SliceLimits, sentences: Mapping[int, str]) -> Iterator[Blocker]:
    for kind, rows, limit, words in (
        ("false_passes", found.false_passes, limits.max_false_passes, "pass although people say fail"),
        ("false_fails", found.false_fails, limits.max_false_fails, "fail although people say pass"),
    ):
        if limit is not None and len(rows) > limit:
            yield Blocker(
                kind,
                Outcome.quality_failed,
                "metric",
                f"{len(rows)} of {found.n} labelled blocking rows in {found.slice} {words}; the policy allows {limit}",
                "classify each disagreement and mend the earliest faulty boundary",
                blocked_rows(rows, sentences),
            )
    yield from _open_rows(found, sentences)


def _open_rows(found: Labelled, sentences: Mapping[int, str]) -> Iterator[Blocker]:
    todo: Sequence[tuple[str, Outcome, list[Record], str, str]] = (
        (
            "unlabelled",
            Outcome.incomplete,
            found.unlabelled,
            "have no label that fits what they show now",
            "have them labelled (a label of an older answer is stale)",
        ),
        (
            "label_conflict",
            Outcome.review_required,
            found.conflicts,
            "have labels in conflict",
            'settle each with a label of reviewer = "adjudication"',
        ),
    )
    for kind, outcome, rows, words, do in todo:
        if rows:
            sentence = f"{len(rows)} scored blocking rows in {found.slice} {words}"
            yield Blocker(kind, outcome, "rubric", sentence, do, blocked_rows(rows, sentences))
