"""From several reviewers' labels to one per case: agreement or adjudication settles it, anything else is a conflict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from evalkit.cases.labels import ADJUDICATION, Label, Provenance, Selection, current_labels
from evalkit.contract import EvalkitError

__all__ = ["Settled", "one_criterion", "rubric_versions", "settle"]

How = Literal["single", "agreement", "adjudication", "conflict", "stale"]


class Settled(NamedTuple):
    """What the labels of one case come to."""

    case_id: str
    label: str | int | float | None
    """``None`` for a conflict that nobody adjudicated, and where every label is stale."""
    how: How
    selection: Selection
    """``random`` only if every reviewer's label of the case says so."""
    provenance: Provenance
    labels: tuple[Label, ...]
    """The current labels that still fit the case, adjudication included."""
    stale: tuple[Label, ...]
    """Current labels of another answer or other passages than the case shows now: counted, never paired."""
    is_bound: bool
    """Whether every label that counts says what its reviewer saw."""

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines that the label rests on."""
        return tuple(label.line for label in self.labels)


def one_criterion(labels: Iterable[Label], criterion: str | None = None) -> list[Label]:
    """Return the labels of one criterion; where there are several, it must be named.

    Raises
    ------
    EvalkitError
        Where the criterion does not occur, or several do and none was named.
    """
    labels = list(labels)
    known = sorted({label.criterion for label in labels})
    if criterion is None and len(known) > 1:
        msg = f"the labels answer {len(known)} criteria: {', '.join(map(repr, known))}"
        raise EvalkitError(msg, do="name one with --criterion")
    if criterion is not None and criterion not in known:
        msg = f"no label has the criterion {criterion!r}"
        raise EvalkitError(msg, do=f"the labels have {', '.join(map(repr, known)) or 'none'}")
    return [label for label in labels if criterion is None or label.criterion == criterion]


def rubric_versions(labels: Iterable[Label]) -> list[str | None]:
    """Return the rubric versions that occur, in the order of their first label."""
    return list(dict.fromkeys(label.rubric_version for label in labels))


def settle(
    labels: Iterable[Label],
    *,
    criterion: str | None = None,
    rubric_version: str | None = None,
    seen: Mapping[str, str | None] | None = None,
) -> dict[str, Settled]:
    """Settle each case's labels.

    Superseded labels are left out first, then stale ones. What remains is settled by the adjudication, where there is
    one, else by the reviewers' agreement. A majority settles nothing: two against one is a disagreement to talk about,
    and dropping or outvoting it would make the labels look surer than they are.

    Parameters
    ----------
    labels : iterable of Label
    criterion : str, optional
        Needed where the labels answer several.
    rubric_version : str, optional
        Needed where labels under several rubric versions exist: they are different questions.
    seen : mapping of case id to hash, optional
        What each case shows now; without it no label can be found stale.

    Returns
    -------
    dict
        By case id, in the order of each case's first label.

    Examples
    --------
    >>> a = Label(1, "c1", "pass", "r1", selection="random")
    >>> b = Label(2, "c1", "fail", "r2", selection="random")
    >>> settle([a, b])["c1"].how
    'conflict'
    >>> verdict = Label(3, "c1", "fail", "adjudication")
    >>> found = settle([a, b, verdict])["c1"]
    >>> found.label, found.how, found.selection
    ('fail', 'adjudication', 'random')
    """
    chosen = one_criterion(labels, criterion)
    versions = rubric_versions(chosen)
    if rubric_version is None and len(versions) > 1:
        msg = f"the labels follow {len(versions)} rubric versions: {', '.join(map(repr, versions))}"
        raise EvalkitError(msg, do="name one with --rubric")
    grouped: dict[str, list[Label]] = {}
    for label in current_labels(chosen):
        if rubric_version is None or label.rubric_version == rubric_version:
            grouped.setdefault(label.case_id, []).append(label)
    return {case_id: _settled(case_id, group, seen) for case_id, group in grouped.items()}


def _settled(case_id: str, group: list[Label], seen: Mapping[str, str | None] | None) -> Settled:
    stale = [label for label in group if _is_stale(label, seen)]
    fresh = [label for label in group if label not in stale]
    label, how = _verdict(fresh)
    counted = fresh or group
    return Settled(
        case_id=case_id,
        label=label,
        how=how,
        selection=_selection(counted),
        provenance=_provenance(counted),
        labels=tuple(fresh),
        stale=tuple(stale),
        is_bound=all(label.seen_hash is not None for label in fresh),
    )


def _is_stale(label: Label, seen: Mapping[str, str | None] | None) -> bool:
    if seen is None or label.seen_hash is None or label.case_id not in seen:
        return False
    return label.seen_hash != seen[label.case_id]


def _verdict(fresh: list[Label]) -> tuple[str | int | float | None, How]:
    if not fresh:
        return None, "stale"
    verdicts = [label for label in fresh if label.reviewer == ADJUDICATION]
    if verdicts:
        return verdicts[-1].label, "adjudication"
    if len({label.label for label in fresh}) > 1:
        return None, "conflict"
    return fresh[0].label, "single" if len(fresh) == 1 else "agreement"


def _selection(labels: list[Label]) -> Selection:
    # The adjudicator is shown the cases in dispute: the reviewers' labels say how a case was chosen.
    own = [label.selection for label in labels if label.reviewer != ADJUDICATION] or [
        label.selection for label in labels
    ]
    for word in ("targeted", "unknown"):
        if word in own:
            return word
    return "random"


def _provenance(labels: list[Label]) -> Provenance:
    """Return the weakest provenance: one authored label makes the case an authored one."""
    found = {label.provenance for label in labels}
    for word in ("model", "synthetic"):
        if word in found:
            return word
    return "production"
