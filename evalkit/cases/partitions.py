"""Development, calibration, held-out: split by family so that no near-copy of a row stands on both sides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from evalkit.cases.near_duplicates import NearPair, near_duplicates
from evalkit.cases.shape import PARTITIONS
from evalkit.contract import EvalkitError, example_list

if TYPE_CHECKING:
    import numpy as np

__all__ = ["SHARES", "Leak", "Member", "Split", "leaks", "refuse_leaks", "split_by_family"]

SHARES: Mapping[str, float] = {"development": 0.2, "calibration": 0.4, "held_out": 0.4}


class Member(NamedTuple):
    """A case as far as partitions are concerned."""

    case_id: str
    slice: str
    family: str | None
    partition: str | None
    text: str
    """Question and answer: what near-duplicates are looked for in."""
    label: str | int | float | None = None


class Leak(NamedTuple):
    """Two cases that belong together and stand in different partitions."""

    first: Member
    second: Member
    why: str

    def sentence(self) -> str:
        """Name both cases, where they stand and what joins them."""
        return (
            f"{self.first.case_id!r} ({self.first.partition}) and {self.second.case_id!r} ({self.second.partition}): "
            f"{self.why}"
        )


class Split(NamedTuple):
    """Where each case goes, and what was kept together."""

    partition: Mapping[str, str]
    """Partition by case id."""
    groups: int
    """Families, single cases counted as one each."""
    joined: tuple[NearPair, ...]
    """Near-duplicates that no family declared; they were kept together."""

    def counts(self, members: Iterable[Member]) -> Counter[tuple[str, str, str | int | float | None]]:
        """Count cases by partition, slice and label."""
        return Counter((self.partition[m.case_id], m.slice, m.label) for m in members)


def leaks(members: Iterable[Member]) -> list[Leak]:
    """Find families and near-duplicates that cross partitions; cases without a partition cannot leak."""
    placed = [member for member in members if member.partition is not None]
    found: list[Leak] = []
    first_of: dict[str, Member] = {}
    for member in placed:
        if member.family is not None:
            other = first_of.setdefault(member.family, member)
            if other.partition != member.partition:
                found.append(Leak(other, member, f"both of family {member.family!r}"))
    if len({member.partition for member in placed}) > 1:
        by_id = {member.case_id: member for member in placed}
        apart = {member.case_id: member.partition for member in placed}
        for pair in near_duplicates({member.case_id: member.text for member in placed}, apart=apart):
            first, second = by_id[pair.first], by_id[pair.second]
            if first.family is None or first.family != second.family:
                found.append(Leak(first, second, f"near-duplicates ({pair.similarity:g} of 100)"))
    return found


def refuse_leaks(members: Iterable[Member]) -> None:
    """Raise where rows that belong together stand in different partitions.

    A row that was seen in development and comes back in the held-out partition proves nothing.

    Raises
    ------
    EvalkitError
        Naming at most five pairs.
    """
    found = leaks(members)
    if found:
        msg = f"{len(found)} pairs of cases cross partitions: {example_list([leak.sentence() for leak in found])}"
        raise EvalkitError(msg, do="give near-copies one family and split again: evalkit partition")


def split_by_family(
    members: Sequence[Member], *, rng: np.random.Generator, shares: Mapping[str, float] = SHARES
) -> Split:
    """Assign each case to a partition: whole families, each slice and label in the wanted shares.

    Families (and near-duplicates that nobody declared as one) are placed one by one, large ones first, each where its
    slices and labels are most short; among equals the order is random.

    Parameters
    ----------
    members : sequence of Member
        Their present partitions are ignored. Unlabelled cases are spread as a label of their own.
    rng : numpy Generator
        ``numpy.random.default_rng(7)`` gives the same split each time.
    shares : mapping of partition to share
        Adding up to 1.

    Raises
    ------
    EvalkitError
        For shares that do not add up or name another partition.
    """
    _check_shares(shares)
    family = {member.case_id: member.family for member in members}
    pairs = near_duplicates({member.case_id: member.text for member in members})
    joined = [pair for pair in pairs if family[pair.first] is None or family[pair.first] != family[pair.second]]
    groups = _groups(members, joined)
    strata = Counter((member.slice, member.label) for member in members)
    filled: dict[str, Counter[tuple[str, str | int | float | None]]] = {name: Counter() for name in shares}
    placed: dict[str, str] = {}
    order = [groups[i] for i in rng.permutation(len(groups))]
    for group in sorted(order, key=len, reverse=True):
        content = Counter((member.slice, member.label) for member in group)

        def shortage(name: str, content: Counter[tuple[str, str | int | float | None]] = content) -> float:
            return sum(n * (shares[name] - filled[name][stratum] / strata[stratum]) for stratum, n in content.items())

        best = max(shares, key=shortage)
        filled[best].update(content)
        placed |= {member.case_id: best for member in group}
    return Split({member.case_id: placed[member.case_id] for member in members}, len(groups), tuple(joined))


def _check_shares(shares: Mapping[str, float]) -> None:
    wrong = [name for name in shares if name not in PARTITIONS]
    if wrong or not shares or any(share <= 0 for share in shares.values()) or abs(sum(shares.values()) - 1) > 1e-9:
        msg = f"shares must be above 0, add up to 1 and name {', '.join(PARTITIONS)}; got {dict(shares)!r}"
        raise EvalkitError(msg, do="for example --shares 0.2,0.4,0.4")


def _groups(members: Sequence[Member], joined: Iterable[NearPair]) -> list[list[Member]]:
    """Union of families and near-duplicates, in the order of their first members."""
    parent = {member.case_id: member.case_id for member in members}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    families: dict[str, list[str]] = {}
    for member in members:
        if member.family is not None:
            families.setdefault(member.family, []).append(member.case_id)
    for names in families.values():
        for a, b in pairwise(names):
            parent[root(b)] = root(a)
    for pair in joined:
        parent[root(pair.second)] = root(pair.first)
    grouped: dict[str, list[Member]] = {}
    for member in members:
        grouped.setdefault(root(member.case_id), []).append(member)
    return list(grouped.values())
