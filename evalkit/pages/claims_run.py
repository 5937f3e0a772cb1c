"""The whole of ``evalkit claims draft``: traces through an adapter, a sheet of proposed claims out."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from evalkit.cases.adapters.apply import Mapper
from evalkit.cases.adapters.case import CaseMaker
from evalkit.cases.claims import Claim, ReviewedClaims, claims_table, draft_claims, read_claims
from evalkit.cases.traces import READERS
from evalkit.contract import EvalkitError
from evalkit.pages.plain import plain
from evalkit.scoring.load_adapter import load_adapter
from evalkit.scoring.run import write_whole

__all__ = ["Drafted", "draft_from", "run_claims_draft"]


class Drafted(NamedTuple):
    """A drafted sheet."""

    claims: tuple[Claim, ...]
    traces: int
    without_reference: tuple[str, ...]
    """Case ids that nothing could be drafted for."""
    unusable: tuple[str, ...]

    def screen(self, out: str) -> str:
        """Return the text for a terminal."""
        says = Counter(claim.answer_says for claim in self.claims)
        counted = ", ".join(f"{n} {word}" for word, n in sorted(says.items())) or "none"
        still_open = sum(claim.is_open for claim in self.claims)
        lines = [
            f"{len(self.claims)} proposed claims of {self.traces} traces written to {out}",
            f"  the answer says them, by words: {counted}",
            f"  to decide: {still_open} of {len(self.claims)} (approve, change or reject; supported yes or no)",
        ]
        lines += [_named("without a reference to draft from", self.without_reference)] if self.without_reference else []
        lines += [_named("no usable trace", self.unusable)] if self.unusable else []
        lines += ["  A draft is never gold: cases with an undecided claim are invalid.", ""]
        return "\n".join(lines)


def _named(what: str, ids: tuple[str, ...]) -> str:
    shown = ", ".join(plain(case_id) for case_id in ids[:5])
    return f"  {what}: {len(ids)} ({shown}{', ...' if len(ids) > 5 else ''})"


def draft_from(spec: str, traces: Path, kept: ReviewedClaims | None = None) -> Drafted:
    """Draft claims for every trace of a file."""
    adapter = load_adapter(spec).adapter
    mapper, maker = Mapper(adapter), CaseMaker(adapter)
    claims: list[Claim] = []
    bare: list[str] = []
    unusable: list[str] = []
    count = 0
    for trace in READERS[adapter.reads](traces):
        count += 1
        adapted = mapper.adapted(trace)
        if adapted.unusable:
            unusable.append(adapted.trace_id)
            continue
        earlier = kept.by_case.get(adapted.trace_id, []) if kept else []
        drafted = draft_claims(maker.case(adapted)["evidence"], adapted.trace_id, earlier)
        claims += drafted
        if not drafted:
            bare.append(adapted.trace_id)
    return Drafted(tuple(claims), count, tuple(bare), tuple(unusable))


def run_claims_draft(spec: str, traces: Path, out: Path, keep: Path | None = None) -> Drafted:
    """Write the sheet; one that is there already may hold decisions, and is never written over."""
    if out.exists():
        msg = "exists already, and may hold decisions"
        raise EvalkitError(msg, where=str(out), do="give --out another name; --keep FILE carries its decisions over")
    drafted = draft_from(spec, traces, read_claims(keep) if keep else None)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, claims_table(drafted.claims))
    return drafted
