"""A figure combined from several judgements, taken apart: what each says, and what the figure alone would hide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.decisions.analysing.side import MetricSide, is_favourable
from evalkit.scoring.records import Record

__all__ = ["Assessment", "Judgement", "Pattern", "assessments_of"]


class Judgement(NamedTuple):
    """One of the judgements behind a combined figure."""

    name: str
    source: str | None
    """The metric that gave it; ``None`` where the cases state it."""
    favourable: int
    judged: int
    """Rows on which it is known."""
    rows: int
    unfavourable: tuple[str, ...]
    """Case ids."""
    unknown: Mapping[str, int]
    """Rows on which it is not known, by state."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return self._asdict() | {"unfavourable": list(self.unfavourable), "unknown": dict(self.unknown)}


class Pattern(NamedTuple):
    """Rows with the same judgements."""

    verdicts: Mapping[str, str]
    combined: str
    case_ids: tuple[str, ...]

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "verdicts": dict(self.verdicts),
            "combined": self.combined,
            "rows": len(self.case_ids),
            "case_ids": list(self.case_ids),
        }


class Assessment(NamedTuple):
    """A combined figure beside the judgements it is made of."""

    metric: str
    combined: Mapping[str, int]
    """Scored rows by combined label."""
    scored: int
    rows: int
    unscored: Mapping[str, int]
    """Rows without a combined figure, by state."""
    judgements: tuple[Judgement, ...]
    patterns: tuple[Pattern, ...]
    """Every combination that occurs, the most frequent first."""
    favourable_judgements: int
    """Over all scored rows and judgements: what an average would show."""
    all_judgements: int
    lacking: tuple[str, ...]
    """Scored rows on which at least one judgement is unfavourable: what that average hides."""
    passed_yet: Mapping[str, tuple[str, ...]]
    """By another metric: rows that pass all judgements here and are unfavourable there."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "combined": dict(self.combined),
            "scored": self.scored,
            "rows": self.rows,
            "unscored": dict(self.unscored),
            "judgements": {found.name: found.facts() for found in self.judgements},
            "patterns": [found.facts() for found in self.patterns],
            "favourable_judgements": self.favourable_judgements,
            "all_judgements": self.all_judgements,
            "lacking": list(self.lacking),
            "passed_yet": {name: list(ids) for name, ids in self.passed_yet.items()},
        }


def assessments_of(sides: Sequence[MetricSide]) -> list[Assessment]:
    """Take apart each metric whose records name the judgements they combine (``detail["verdicts"]``)."""
    return [_assessment(side, sides) for side in sides if any(_verdicts(record) for record in side.records)]


def _verdicts(record: Record) -> Mapping[str, str]:
    found = record.detail.get("verdicts") if record.state == "scored" else None
    return found if isinstance(found, Mapping) else {}


def _absent(record: Record) -> list[str]:
    found = record.detail.get("absent")
    return found if isinstance(found, list) else []


def _assessment(side: MetricSide, sides: Sequence[MetricSide]) -> Assessment:
    scored = [record for record in side.records if _verdicts(record)]
    names = list(dict.fromkeys(name for record in scored for name in _verdicts(record)))
    patterns: dict[tuple[str, ...], list[Record]] = {}
    for record in scored:
        patterns.setdefault((str(record.value), *map(str, _verdicts(record).values())), []).append(record)
    return Assessment(
        metric=side.name,
        combined=Counter(str(record.value) for record in scored),
        scored=len(scored),
        rows=len(side.records),
        unscored=Counter(record.state for record in side.records if record.state != "scored"),
        judgements=tuple(_judgement(name, side, sides) for name in names),
        patterns=tuple(_pattern(rows) for rows in sorted(patterns.values(), key=len, reverse=True)),
        favourable_judgements=sum(len(_verdicts(record)) - len(_absent(record)) for record in scored),
        all_judgements=sum(len(_verdicts(record)) for record in scored),
        lacking=_ids(record for record in scored if _absent(record)),
        passed_yet=_passed_yet(side, sides),
    )


def _pattern(rows: list[Record]) -> Pattern:
    return Pattern(_verdicts(rows[0]), str(rows[0].value), _ids(rows))


def _judgement(name: str, side: MetricSide, sides: Sequence[MetricSide]) -> Judgement:
    """Count a judgement over its own run where that is at hand: the combined row is lost as soon as one of them is."""
    fed = (side.run.manifest.get("verdicts") or {}).get(name) or {}
    source = next((other for other in sides if other.run.manifest.get("run_id") == fed.get("run_id")), None)
    records = source.records if source else side.records
    known = [record for record in records if record.state == "scored"]
    if source:
        bad = [record for record in known if is_favourable(record, source.metric) is False]
    else:
        bad = [record for record in known if name in _absent(record)]
    return Judgement(
        name=name,
        source=fed.get("metric"),
        favourable=len(known) - len(bad),
        judged=len(known),
        rows=len(records),
        unfavourable=_ids(bad),
        unknown=Counter(record.state for record in records if record.state != "scored"),
    )


def _passed_yet(side: MetricSide, sides: Sequence[MetricSide]) -> dict[str, tuple[str, ...]]:
    passed = {record.case_id for record in side.records if _verdicts(record) and not _absent(record)}
    fed = {entry.get("run_id") for entry in (side.run.manifest.get("verdicts") or {}).values()}
    others = [other for other in sides if other is not side and other.run.manifest.get("run_id") not in fed]
    found = {
        other.name: _ids(
            record
            for record in other.records
            if record.case_id in passed and is_favourable(record, other.metric) is False
        )
        for other in others
    }
    return {name: ids for name, ids in found.items() if ids}


def _ids(records: Any) -> tuple[str, ...]:
    return tuple(record.case_id or f"line {record.line}" for record in records)
