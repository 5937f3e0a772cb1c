"""What the certification page computes: the pleasing agreement, the false pass behind it, controls, labels missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.cases.labels import read_labels
from evalkit.cases.locate import locate
from evalkit.cases.settle import Settled, settle
from evalkit.contract import Outcome
from evalkit.contract.judge import Judge
from evalkit.decisions.agreement import Kappa, cohen_kappa
from evalkit.decisions.certifying.against import CONFIDENCE, Labelled, total_of
from evalkit.decisions.certifying.causes import CAUSES
from evalkit.decisions.controlling.results import ControlRun
from evalkit.decisions.controlling.running import judge_controls
from evalkit.decisions.gate import GateOptions, GateResult, gate
from evalkit.decisions.outcome_file import facts_of
from evalkit.pages.notebooks.page import Conclusion, NotebookPage
from evalkit.pages.screen import gate_screen
from evalkit.scoring.judge import Budget, JudgeOptions, JudgeSettings, environment_settings, run_judge
from evalkit.scoring.load_judge import load_judge
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Asked",
    "ask",
    "causes_frame",
    "certify",
    "conclude",
    "controls_frame",
    "counts_frame",
    "errors_frame",
    "false_pass_text",
    "gate_text",
    "seen_agreement",
    "told_frame",
    "try_controls",
]


class Asked(NamedTuple):
    """A judge's verdicts, beside what people say of the same rows."""

    judge: Judge
    run: Run
    records: tuple[Record, ...]
    settled: Mapping[str, Settled]
    labels: Path
    settings: JudgeSettings | None
    """``None`` where recorded verdicts were replayed."""
    note: str
    """Where the verdicts come from."""

    def seen(self) -> list[Record]:
        """Return the scored rows that somebody tuning the judge may look at; all of them, where cases are not split."""
        own = [r for r in self.records if r.state == "scored" and str(r.case_id) in self.settled]
        return [r for r in own if r.partition != "held_out"] or own


def _spec(text: str) -> str:
    place, separator, name = text.rpartition(":")
    return f"{locate(place)}:{name}" if separator and place.endswith(".py") else text


async def ask(judge: str, cases: str, labels: str, page: NotebookPage, *, model: str = "", max_calls: int = 0) -> Asked:
    """Judge the cases into a run beside the page's outcome file: by replay, or live where a model is named."""
    loaded = load_judge(_spec(judge))
    settings = environment_settings(model=model) if model else None
    options = JudgeOptions(settings=settings, budget=Budget(calls=max_calls or None))
    folder = page.outcome_file.parent / f"judged-{page.run_id}"
    done = await run_judge(loaded, locate(cases), folder, options)
    records = tuple(done.run.records())
    seen = {str(r.case_id): r.seen_hash for r in records if r.case_id is not None}
    path = locate(labels)
    note = next(iter(done.findings), "") if settings is None else f"asked {settings.model}, {done.facts['calls']} calls"
    return Asked(loaded, done.run, records, settle(read_labels(path).labels, seen=seen), path, settings, note)


def seen_agreement(asked: Asked) -> Kappa:
    """Compare verdicts and labels over the rows that may be looked at while a judge is being tuned."""
    pairs = [
        (str(record.value), str(label))
        for record in asked.seen()
        if (label := asked.settled[str(record.case_id)].label) is not None
    ]
    return cohen_kappa([verdict for verdict, _ in pairs], [label for _, label in pairs])


def certify(asked: Asked, policy: str, *, causes: str = "", ledger: str = "", as_of: str = "") -> GateResult:
    """Gate the run against the labels, as ``evalkit gate JUDGE RUN --policy FILE --labels FILE`` does."""
    options = GateOptions(
        labels=asked.labels,
        causes=locate(causes) if causes else None,
        ledger=locate(ledger) if ledger else None,
        as_of=date.fromisoformat(as_of) if as_of else None,
    )
    return gate(asked.judge, asked.run.folder, locate(policy), options=options)


def gate_text(result: GateResult) -> str:
    """Return what ``evalkit gate`` prints."""
    return gate_screen(facts_of(result, run_id="", command="", parameters={}))


# --- frames ---------------------------------------------------------------------------------------------------------


def counts_frame(result: GateResult) -> pd.DataFrame:
    """Return what there is before any rate: rows by slice and partition, by what became of them."""
    import pandas as pd

    lines = [
        {
            "slice": found.slice, "rows": found.partition or "all", "decides": "yes" if found.counts else "",
            "eligible": found.eligible, "completed": found.states.get("scored", 0),
            "errored": found.states.get("error", 0), "reviewed": found.n,
            "people: fail": len(found.bad), "people: pass": len(found.good),
        }
        for found in result.labelled
    ]  # fmt: skip
    return pd.DataFrame(lines).set_index(["slice", "rows"]) if lines else pd.DataFrame()


def errors_frame(result: GateResult) -> pd.DataFrame:
    """Return both kinds of mistakes on the rows that decide, with exact intervals and case ids."""
    import pandas as pd

    columns = ["slice", "rate", "count", "of", "share", "low", "high", "cases"]
    return pd.DataFrame(list(_deciding(result)), columns=columns)


def _rates(found: Labelled) -> Iterator[dict[str, Any]]:
    facts = found.facts()
    for rate, key, of, interval in (
        ("bad that pass", "false_passes", "people_fail", "false_pass_interval"),
        ("good that fail", "false_fails", "people_pass", "false_fail_interval"),
    ):
        low, high = facts[interval] or (None, None)
        n = facts[of]
        yield {
            "slice": found.slice, "rate": rate, "count": len(facts[key]), "of": n,
            "share": len(facts[key]) / n if n else None, "low": low, "high": high,
            "cases": ", ".join(map(str, facts[key])),
        }  # fmt: skip


def false_pass_text(asked: Asked, result: GateResult, *, most: int = 3) -> str:
    """Return what each false pass says, what the judge said of it, and what people say: the row to read first."""
    from evalkit.pages.plain import plain

    wrong = {str(record.case_id) for found in result.labelled if found.is_open for record in found.false_passes}
    texts = []
    for record in [r for r in asked.records if r.case_id in wrong][:most]:
        lines = [f"{record.case_id} ({record.slice})"]
        lines += [f"  {name}: {plain(str(value), newline=' ')}" for name, value in (record.inputs or {}).items()]
        lines.append(f"  the judge: {record.value}; {plain(record.reason, newline=' ')}")
        case = asked.settled[str(record.case_id)]
        lines += [f"  {label.reviewer}: {label.label}; {plain(label.reason, newline=' ')}" for label in case.labels]
        texts.append("\n".join(lines))
    return "\n\n".join(texts) or "no false pass: nothing to read here"


def causes_frame(result: GateResult) -> pd.DataFrame:
    """Return every disagreement on the rows that decide, with its cause and the owner of the boundary to mend."""
    import pandas as pd

    lines = [
        {
            "case": record.case_id, "slice": found.slice,
            "mistake": "bad that passes" if record.decision == "pass" else "good that fails",
            "cause": found.causes.get(str(record.case_id), "not classified"),
            "owner": CAUSES[cause].owner if (cause := found.causes.get(str(record.case_id))) else "",
        }
        for found in result.labelled
        if found.counts and found.is_open
        for record in found.disagreements
    ]  # fmt: skip
    return pd.DataFrame(lines).set_index("case") if lines else pd.DataFrame()


# --- controls -------------------------------------------------------------------------------------------------------


async def try_controls(asked: Asked, controls: str) -> ControlRun:
    """Ask the judge its controls, the way its verdicts were asked for."""
    options = JudgeOptions(settings=asked.settings, budget=Budget(calls=1000)) if asked.settings else None
    return await judge_controls(asked.judge, locate(controls), options)


def controls_frame(run: ControlRun) -> pd.DataFrame:
    """Return how many controls of each role the judge told."""
    import pandas as pd

    roles: dict[str, list[bool]] = {}
    for result in run.results:
        roles.setdefault(result.control.role, []).append(result.ok)
    lines = [{"role": role, "told": f"{sum(told)} of {len(told)}"} for role, told in roles.items()]
    return pd.DataFrame(lines).set_index("role")


def told_frame(run: ControlRun, known: ControlRun) -> pd.DataFrame:
    """Return the controls that another file does not hold: what was expected, and what came."""
    import pandas as pd

    old = {result.control.case_id for result in known.results}
    lines = [
        {
            "control": result.control.case_id, "pair": result.control.pair_id, "expected": result.control.expected,
            "came": result.came,
            "told": "yes" if result.ok else "NO",
        }
        for result in run.results
        if result.control.case_id not in old
    ]  # fmt: skip
    return pd.DataFrame(lines).set_index("control") if lines else pd.DataFrame()


# --- the conclusion -------------------------------------------------------------------------------------------------


def conclude(
    asked: Asked, result: GateResult, controls: ControlRun, missing: Mapping[str, int], *, must_certify: bool
) -> Conclusion:
    """Conclude the page: *passed* where the question could be answered, or, if asked for, where the answer is yes.

    A judge that is refused with every disagreement classified is an answer; a certification that could not be carried
    out, or a disagreement that nobody has classified, is none.
    """
    total = total_of(result.labelled) or {}
    seen = seen_agreement(asked)
    stops = [b for b in result.blockers if must_certify or b.outcome is Outcome.incomplete or b.kind == "unclassified"]
    return Conclusion(
        outcome=Outcome.worst([blocker.outcome for blocker in stops]),
        sentences=tuple(f"{b.sentence} (owner: {b.owner}); {b.do}" for b in stops),
        figures={
            "rows": len(asked.records),
            "scored": sum(record.state == "scored" for record in asked.records),
            "seen.agree": seen.agree, "seen.n": seen.n, "seen.kappa": seen.kappa,
            "decides.agree": total.get("agree"), "decides.n": total.get("n"), "decides.kappa": total.get("kappa"),
            "confidence": CONFIDENCE,
            "certification": result.outcome.name,
            "controls.told": sum(one.ok for one in controls.results), "controls": len(controls.results),
            **{f"{row['slice']}.{row['rate'].replace(' ', '_')}": row["count"] for row in _deciding(result)},
            **{f"{name}.labels_needed": needed for name, needed in missing.items()},
        },
        outcome_hash=result.outcome_hash,
    )  # fmt: skip


def _deciding(result: GateResult) -> Iterator[dict[str, Any]]:
    for found in result.labelled:
        if found.counts and found.is_open:
            yield from _rates(found)
