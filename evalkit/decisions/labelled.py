"""A gate with labels: decisions beside what people say, against limits; what nobody labelled or classified blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import NamedTuple

from evalkit.cases.labels import read_labels
from evalkit.cases.settle import Settled, settle
from evalkit.contract import EvalkitError, Metric, Outcome, example_list
from evalkit.contract.judge import Judge
from evalkit.decisions.blockers import Blocker, blocked_rows
from evalkit.decisions.certifying.against import Labelled, compare_rows
from evalkit.decisions.certifying.causes import CAUSES, Classified, earliest, read_causes, still_fits
from evalkit.decisions.certifying.look import Judged, open_held_out
from evalkit.decisions.policy import Policy, SliceLimits
from evalkit.scoring.parts import Streamed
from evalkit.scoring.records import Record

__all__ = ["Compared", "LabelSide", "Labelled", "judge_labels", "needs_labels"]


class Compared(NamedTuple):
    """What the labels say of a run."""

    slices: list[Labelled]
    """By slice and partition."""
    blockers: list[Blocker]
    warnings: list[str]


@dataclass(frozen=True, kw_only=True)
class LabelSide:
    """What is compared with labels, and the files that it takes."""

    metric: Metric
    judged: Judged
    labels: Path | None
    causes: Path | None
    """What reviewers say of the disagreements; for a judge each needs a cause."""
    ledger: Path
    as_of: date
    is_sound: bool = True
    """False where the gate is incomplete for another reason: held-out rows are not spent on it."""

    @property
    def wants_causes(self) -> bool:
        """Whether a disagreement without a cause blocks."""
        return isinstance(self.metric, Judge) or self.causes is not None


def needs_labels(limits: SliceLimits) -> bool:
    """Tell whether a slice is judged against labels.

    Its rows are then reference rows: a row that fails as people say it should is a success of the metric, so single
    failures block only where ``max_failures`` or ``min_pass_rate`` asks for that as well.
    """
    return limits.max_false_passes is not None or limits.max_false_fails is not None


def judge_labels(policy: Policy, streamed: Streamed, side: LabelSide) -> Compared:
    """Compare the decisions of every slice that has label limits.

    Where cases are split, the limits hold for held-out rows, which are opened once (`certifying.look`); the other
    partitions are shown beside them.

    Raises
    ------
    EvalkitError
        Where labels or causes cannot be read.
    """
    slices = [name for name, limits in policy.slices.items() if needs_labels(limits)]
    if not slices:
        return Compared([], [], [])
    if side.labels is None:
        return Compared([], [_no_labels(slices)], [])
    seen = {case_id: record.seen_hash for case_id, record in streamed.decided.items()}
    settled = settle(read_labels(side.labels).labels, seen=seen)
    causes = read_causes(side.causes) if side.causes else ()
    compared = [
        _accepted(_classified(found, causes), policy, side.as_of)
        for name in slices
        for found in compare_rows(name, streamed.decided.values(), settled, policy.slices[name], side.metric)
    ]
    compared, spent = _opened(compared, policy, side, _torn(streamed.decided.values()))
    blockers = [
        blocker
        for found in compared
        if found.counts
        for blocker in _blockers(found, policy.slices[found.slice], streamed.sentences, causes, side)
    ]
    return Compared(compared, [*spent, *blockers], [*_strangers(settled, seen), *_outdated(causes, compared)])


def _no_labels(slices: Sequence[str]) -> Blocker:
    return Blocker(
        "labels",
        Outcome.incomplete,
        "rubric",
        f"the policy limits false passes or false fails in {', '.join(slices)}, and no labels were given",
        "give the reviewers' labels with --labels FILE",
    )


def _strangers(settled: Mapping[str, Settled], seen: Mapping[str, str | None]) -> Iterator[str]:
    if missing := [case_id for case_id in settled if case_id not in seen]:
        yield f"{len(missing)} labelled cases are not among these rows: {example_list(missing)}"


# --- causes and overrides -------------------------------------------------------------------------------------------


def _classified(found: Labelled, causes: Sequence[Classified]) -> Labelled:
    known: dict[str, list[str]] = {}
    rows = {str(record.case_id): record for record in found.disagreements}
    for entry in causes:
        record = rows.get(entry.case_id)
        if record is not None and entry.cause and still_fits(entry, record, found.labels[entry.case_id]):
            known.setdefault(entry.case_id, []).append(entry.cause)
    return replace(found, causes={case_id: str(earliest(given)) for case_id, given in known.items()})


def _outdated(causes: Sequence[Classified], compared: Sequence[Labelled]) -> Iterator[str]:
    closed = {case_id for found in compared if not found.is_open for case_id in found.labels}
    known = {case_id for found in compared for case_id in found.causes}
    old = [entry.case_id for entry in causes if not entry.is_open and entry.case_id not in known | closed]
    if old:
        yield f"{len(old)} classified rows are no such disagreements any more: {example_list(sorted(set(old)))}"


def _accepted(found: Labelled, policy: Policy, as_of: date) -> Labelled:
    """Set apart what an override in force lets stand: it is still counted as wrong, and does not block."""
    in_force = {(o.case_id, o.seen_hash) for o in policy.overrides if o.expires_on >= as_of}
    return replace(
        found, overridden=[record for record in found.disagreements if (record.case_id, record.seen_hash) in in_force]
    )


# --- held-out rows --------------------------------------------------------------------------------------------------


def _torn(records: Iterable[Record]) -> list[str]:
    """Return the families that stand in several partitions: what was tuned on comes back in the held-out rows."""
    places: dict[str, set[str]] = {}
    for record in records:
        if record.family is not None and record.partition is not None:
            places.setdefault(record.family, set()).add(record.partition)
    return [family for family, partitions in places.items() if len(partitions) > 1]


def _opened(
    compared: list[Labelled], policy: Policy, side: LabelSide, torn: list[str]
) -> tuple[list[Labelled], list[Blocker]]:
    """Open the held-out rows, where nothing stands against it; else return them closed."""
    if not any(found.partition for found in compared):
        return compared, []
    held_out = [found for found in compared if found.partition == "held_out"]
    if not held_out:
        return compared, [_held_out("the cases are split, and no row of these slices is held out")]
    is_ready = not any(found.unlabelled or found.conflicts or found.unknown for found in held_out)
    refused: list[Blocker] = []
    if torn:
        sentence = f"{len(torn)} families stand in several partitions: {example_list(torn)}"
        refused = [_held_out(sentence, "give near-copies one partition: evalkit partition")]
    elif side.is_sound and is_ready:
        try:
            open_held_out(side.ledger, held_out, policy, side.judged, side.as_of)
        except EvalkitError as error:
            refused = [_held_out(error.message, str(error.do))]
        else:
            return compared, []
    return [replace(found, is_open=found.partition != "held_out") for found in compared], refused


def _held_out(sentence: str, do: str = "label families of cases as held_out (evalkit partition)") -> Blocker:
    return Blocker("held_out", Outcome.incomplete, "test-data", sentence, do)


# --- what blocks ----------------------------------------------------------------------------------------------------


def _blockers(
    found: Labelled,
    limits: SliceLimits,
    sentences: Mapping[int, str],
    causes: Sequence[Classified],
    side: LabelSide,
) -> Iterator[Blocker]:
    yield from _open_rows(found, sentences)
    if not found.is_open:
        return
    otherwise = "judge" if isinstance(side.metric, Judge) else "metric"
    for kind, rows, limit, words in (
        ("false_passes", found.false_passes, limits.max_false_passes, "pass although people say fail"),
        ("false_fails", found.false_fails, limits.max_false_fails, "fail although people say pass"),
    ):
        left = [record for record in rows if record not in found.overridden]
        if limit is not None and len(left) > limit:
            accepted = f" ({len(rows) - len(left)} more under an override)" if len(left) < len(rows) else ""
            yield Blocker(
                kind,
                Outcome.quality_failed,
                _owner(found, left, otherwise),
                f"{len(left)} of {found.n} labelled blocking rows in {found.slice} {words}; the policy allows {limit}"
                f"{accepted}",
                "mend the earliest faulty boundary of each, and certify again",
                blocked_rows(_owned(found, left, otherwise), dict(sentences) | _words(found, left, causes)),
            )
    if side.wants_causes and found.unclassified:
        yield Blocker(
            "unclassified",
            Outcome.review_required,
            "rubric",
            f"{len(found.unclassified)} of {len(found.disagreements)} disagreements in {found.slice} have no cause",
            "classify them: --run DIR writes disagreements.jsonl to fill in; give it back with --causes FILE",
            blocked_rows(found.unclassified, {}),
        )


def _owner(found: Labelled, rows: Sequence[Record], otherwise: str) -> str:
    cause = earliest(found.causes[str(r.case_id)] for r in rows if str(r.case_id) in found.causes)
    return CAUSES[cause].owner if cause else otherwise


def _owned(found: Labelled, rows: Sequence[Record], otherwise: str) -> list[Record]:
    """Give each row the owner of its own earliest cause."""
    return [record._replace(owner=_owner(found, [record], otherwise)) for record in rows]


def _words(found: Labelled, rows: Sequence[Record], causes: Sequence[Classified]) -> dict[int, str]:
    said = {(entry.case_id, entry.cause): f"{entry.cause} ({entry.reviewer}): {entry.reason}" for entry in causes}
    return {
        record.line: said.get((str(record.case_id), found.causes.get(str(record.case_id))), "not classified yet")
        for record in rows
    }


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
            "unknown_label",
            Outcome.incomplete,
            found.unknown,
            "have a label that means nothing here",
            "use the metric's labels, or pass and fail",
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
