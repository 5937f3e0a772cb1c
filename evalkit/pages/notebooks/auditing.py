"""What notebook 07 does: traces through a mapping, the same traces through a faulty one, and the audit of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.cases.adapters.apply import Mapper
from evalkit.cases.adapters.case import CaseMaker
from evalkit.cases.adapters.checks import CHECKS, Check, Pair
from evalkit.cases.adapters.meanings import texts_of
from evalkit.cases.adapters.observed import Happened, happened_in, witnessed_by
from evalkit.cases.adapters.profile import FILE_CHECKS, MEANINGS, FileProfile
from evalkit.cases.locate import locate
from evalkit.cases.traces import READERS
from evalkit.contract import EvalkitError, Measured, Metric, Outcome, sha256_of
from evalkit.mutate.audited import Audit
from evalkit.mutate.corruptions import CORRUPTIONS, Corruption
from evalkit.mutate.traces import audit
from evalkit.pages.notebooks.judged import open_metric
from evalkit.pages.notebooks.page import Conclusion
from evalkit.scoring.load_adapter import load_adapter

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Audited", "Row", "concluded", "controls_frame", "faults_frame", "fields_frame", "open_audit"]


class Row(NamedTuple):
    """One trace under the mapping, and under the faulty one."""

    pair: Pair
    corrupted: Pair
    """The same as `pair` where the fault has nothing to change."""
    before: Measured
    after: Measured

    @property
    def is_changed(self) -> bool:
        """Whether the fault changed the row at all."""
        return self.corrupted is not self.pair


@dataclass(frozen=True, kw_only=True)
class Audited:
    """A mapping on a file of traces, beside the same mapping with one fault."""

    result: Audit
    metric: Metric
    corruption: Corruption
    rows: tuple[Row, ...]

    @property
    def check(self) -> Check:
        """The check that is there for this fault."""
        return CHECKS[self.corruption.check]

    def means(self) -> dict[str, float | None]:
        """Return the mean over the rows that both mappings score; None where there is none."""
        both = [row for row in self.rows if row.before.state == row.after.state == "scored"]
        sides = {"mapping": [row.before.value for row in both], "faulty": [row.after.value for row in both]}
        return {name: _mean(values) for name, values in sides.items()}

    def states(self) -> pd.DataFrame:
        """Return how many rows each mapping scores: no schema complains about the faulty one."""
        import pandas as pd

        states = {"mapping": [r.before.state for r in self.rows], "faulty": [r.after.state for r in self.rows]}
        counts = {name: pd.Series(found).value_counts() for name, found in states.items()}
        return pd.DataFrame(counts).fillna(0).astype(int)

    def better(self, most: int = 15) -> pd.DataFrame:
        """Return the rows whose score the fault improved, the most improved first."""
        import pandas as pd

        gained = [
            (row.pair.adapted.trace_id, row.before.value, row.after.value)
            for row in self.rows
            if isinstance(row.before.value, int | float)
            and isinstance(row.after.value, int | float)
            and row.after.value > row.before.value
        ]
        gained.sort(key=lambda found: found[1] - found[2])
        return pd.DataFrame(gained[:most], columns=["case_id", "mapping", "faulty"])

    def shown(self, case_id: str) -> pd.DataFrame:
        """Return one row as the trace has it, as the mapping gives it and as the faulty one does."""
        import pandas as pd

        row = next((row for row in self.rows if row.pair.adapted.trace_id == case_id), None)
        if row is None:
            return pd.DataFrame()
        sides = (_of_trace(row.pair.happened), _of_case(row.pair), _of_case(row.corrupted))
        return pd.DataFrame(sides, index=["the trace kept", "the mapping gives", "the faulty one gives"]).T

    def findings(self) -> pd.DataFrame:
        """Return what the audit says of the faulty mapping: each check that fails, and on how many rows."""
        import pandas as pd

        rows = []
        for name, check in CHECKS.items():
            said = [found for row in self.rows if (found := check.find(row.corrupted)) is not None]
            if said:
                rows.append((name, f"{len(said)} of {len(self.rows)}", said[0]))
        rows += [(name, "the file", sentence) for name, sentence in self._of_file()]
        return pd.DataFrame(rows, columns=["check", "fails on", "for example"])

    def _of_file(self) -> list[tuple[str, str]]:
        profile = FileProfile(self.result.profile.mapped, self.result.profile.needed)
        for row in self.rows:
            profile.add(row.corrupted)
        return [(name, sentence) for name, check in FILE_CHECKS.items() for sentence in check.find(profile)]


def _mean(values: Sequence[Any]) -> float | None:
    numbers = [value for value in values if isinstance(value, int | float)]
    return sum(numbers) / len(numbers) if numbers else None


def open_audit(adapter: str, traces: str, metric: str, fault: str) -> Audited:
    """Read traces through a mapping and through the same one with a fault, and audit it.

    Parameters
    ----------
    adapter : str
        A shipped mapping, or ``path/to/file.py:object``.
    traces, metric : str
        As in a notebook's parameters: see `evalkit.locate`. The metric must cost nothing to call.
    fault : str
        The name of a planted fault, as `evalkit audit` lists them.
    """
    if fault not in CORRUPTIONS:
        msg = f"there is no planted fault {fault!r}"
        raise EvalkitError(msg, do=f"one of {', '.join(CORRUPTIONS)}")
    place, colon, name = adapter.rpartition(":")
    loaded = load_adapter(f"{locate(place)}:{name}" if colon else adapter).adapter
    measured, path = open_metric(metric), locate(traces)
    mapper, observed = Mapper(loaded), loaded.observed
    mapped = frozenset(meaning for meaning in MEANINGS if loaded.place_of(meaning) is not None)
    pairs: list[Pair] = []
    for trace in READERS[loaded.reads](path):
        adapted = mapper.adapted(trace)
        happened = happened_in(trace, adapted.trace_id, observed) if observed else Happened(trace_id=adapted.trace_id)
        pairs.append(Pair(adapted, happened, mapped, witnessed_by(observed)))
    maker = CaseMaker(loaded, [parameter.name for parameter in measured.parameters])
    corruption = CORRUPTIONS[fault]
    rows = tuple(_row(pairs, at, corruption, maker, measured) for at in range(len(pairs)))
    return Audited(result=audit(loaded, path, [measured]), metric=measured, corruption=corruption, rows=rows)


def _row(pairs: Sequence[Pair], at: int, corruption: Corruption, maker: CaseMaker, metric: Metric) -> Row:
    pair = pairs[at]
    corrupted = corruption.plant(pair, pairs[(at + 1) % len(pairs)]) or pair
    before, after = (_measured(maker, metric, side) for side in (pair, corrupted))
    return Row(pair, corrupted, before, after)


def _measured(maker: CaseMaker, metric: Metric, pair: Pair) -> Measured:
    case = maker.case(pair.adapted, pair.happened)
    if "unfit" in case:
        return Measured("invalid", None, case["unfit"]["reason"], {}, "unfit")
    return metric.measure({p.name: case[p.name] for p in metric.parameters if p.name in case})


def _of_trace(happened: Happened) -> dict[str, Any]:
    return {
        "question": happened.question,
        "answer": happened.answer,
        "passages given to generation": _texts(happened.passages),
        "reference": happened.reference,
        "reference passages": _texts(happened.reference_contexts),
    }


def _of_case(pair: Pair) -> dict[str, Any]:
    adapted = pair.adapted
    return {
        "question": adapted.question,
        "answer": adapted.answer,
        "passages given to generation": _texts(adapted.retrieved),
        "reference": adapted.reference,
        "reference passages": _texts(adapted.reference_contexts),
    }


def _texts(passages: Any) -> str:
    texts = texts_of(passages)
    return "null" if texts is None else " | ".join(texts) or "[]"


def fields_frame(found: Audited) -> pd.DataFrame:
    """Return what the file looks like, meaning by meaning."""
    import pandas as pd

    from evalkit.pages.audit_text import fields_table

    return pd.DataFrame(fields_table(found.result)).set_index("field")


def faults_frame(found: Audited, most: int = 15) -> pd.DataFrame:
    """Return the planted faults of a row, the check that names each, and on how many rows it was planted."""
    import pandas as pd

    rows = [
        (m.id, m.status, m.where, len(m.kills), m.kills[0].seen if m.kills else m.note)
        for m in found.result.matrix.mutants
        if m.id in CORRUPTIONS
    ]
    return pd.DataFrame(rows[:most], columns=["fault", "status", "check", "rows", "for example"])


def controls_frame(found: Audited, most: int = 15) -> pd.DataFrame:
    """Return the untouched traces, those that failed first: how each fared, and beside which faults it stands."""
    import pandas as pd

    beside: dict[tuple[bool, str, str], list[str]] = {}
    for control in found.result.controls:
        state = ", ".join(control.states.values()) if control.ok else control.sentence
        beside.setdefault((control.ok, control.case_id or "none", state), []).append(control.corruption)
    rows = [(case_id, state, ok, ", ".join(faults)) for (ok, case_id, state), faults in beside.items()]
    rows.sort(key=lambda row: row[2])
    return pd.DataFrame(rows[:most], columns=["untouched trace", "state", "ok", "stands beside"])


def concluded(found: Audited, traces: str) -> Conclusion:
    """Return what the page comes to: the audit of the mapping as it is."""
    result, means = found.result, found.means()
    sentences = [f"{check.name} fails on {check.failed} of {check.rows}" for check in result.failed]
    sentences += [f"{mutant.id} came through: {mutant.note}" for mutant in result.matrix.of("survived")]
    sentences += [f"{c.corruption}: {c.sentence}" for c in result.controls if not c.ok]
    sentences += [f"nothing was recorded to hold {name} against" for name in result.unseen]
    if not sentences and result.outcome is not Outcome.passed:
        sentences.append("nothing was shown")
    return Conclusion(
        outcome=result.outcome,
        sentences=tuple(sentences),
        figures={
            "traces": result.rows,
            "checks": len(result.checks),
            "checks.failed": len(result.failed),
            "faults.caught": len(result.matrix.of("killed")),
            "faults.missed": len(result.matrix.of("survived")),
            "faults.not_applicable": len(result.matrix.of("not_applicable")),
            "controls.ok": sum(control.ok for control in result.controls),
            "controls": len(result.controls),
            "mean.mapping": means["mapping"],
            "mean.faulty": means["faulty"],
            "rows.improved": len(found.better(most=len(found.rows))),
            "rows.corrupted": sum(row.is_changed for row in found.rows),
        },
        outcome_hash=sha256_of(
            {
                "adapter": result.adapter.fingerprint,
                "metric": found.metric.fingerprint,
                "traces_sha256": result.traces_sha256,
                "checks": {check.name: check.failed for check in result.checks},
                "faults": {mutant.id: mutant.status for mutant in result.matrix.mutants},
            }
        ),
        facts={
            "traces": Path(traces).name,
            "adapter": {"name": result.adapter.name, "revision": result.adapter.revision},
        },
    )
