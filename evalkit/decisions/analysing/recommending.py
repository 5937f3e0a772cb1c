"""A recommendation that follows from the policies alone: what each gate says, and what no policy speaks about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from evalkit.contract import Outcome
from evalkit.contract.judge import Judge
from evalkit.decisions.analysing.side import MetricSide
from evalkit.decisions.blockers import Blocker
from evalkit.decisions.fitness import last_day

__all__ = ["Recommendation", "Stop", "recommend"]

_SENTENCES = {
    Outcome.passed: "Release, as far as {under} says: {passed} of {gated} gates pass.",
    Outcome.quality_failed: "Do not release: {passed} of {gated} gates pass; {failed}.",
    Outcome.review_required: "People decide before a release: {passed} of {gated} gates pass; {failed}.",
    Outcome.incomplete: "No recommendation can be given: {passed} of {gated} gates pass; {failed}.",
}


class Stop(NamedTuple):
    """What keeps one metric's gate from passing."""

    metric: str
    blocker: Blocker


class Recommendation(NamedTuple):
    """What follows from the policies."""

    outcome: Outcome | None
    """The worst of the gates' outcomes; ``None`` without a policy."""
    exit_code: int | None
    """The same, but 0 for policies that only report."""
    sentence: str
    stops: tuple[Stop, ...]
    """Why it is not *passed*: what blocks, whose it is, what to do."""
    without_policy: tuple[str, ...]
    """Metrics that have no say; empty where no metric has one."""
    caveats: tuple[str, ...]
    """What a reader must know of the rows and limits it rests on."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "outcome": self.outcome.name if self.outcome is not None else None,
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            "because": [{"metric": stop.metric, **stop.blocker.facts()} for stop in self.stops],
            "without_policy": list(self.without_policy),
            "caveats": list(self.caveats),
        }


def recommend(sides: Sequence[MetricSide]) -> Recommendation:
    """Combine the gates; nothing is weighed against anything, so the worst of them is the recommendation."""
    gated = [(side, side.gated) for side in sides if side.gated is not None]
    silent = tuple(side.name for side in sides if side.gated is None)
    caveats = tuple(_caveats(sides))
    if not gated:
        sentence = "None: no policy was given, and nothing but a policy says what ships."
        return Recommendation(None, None, sentence, (), (), caveats)
    outcome = Outcome.worst([result.outcome for _, result in gated])
    passed = [side.name for side, result in gated if result.outcome is Outcome.passed]
    failed = [f"{side.name} is {_word(result.outcome)}" for side, result in gated if result.outcome != Outcome.passed]
    sentence = _SENTENCES[outcome].format(
        under="its policy" if len(gated) == 1 else "each policy",
        passed=len(passed), gated=len(gated), failed=", ".join(failed),
    )  # fmt: skip
    return Recommendation(
        outcome=outcome,
        exit_code=int(Outcome.worst([Outcome(result.exit_code) for _, result in gated])),
        sentence=sentence,
        stops=tuple(Stop(side.name, blocker) for side, result in gated for blocker in result.blockers),
        without_policy=silent,
        caveats=caveats,
    )


def _word(outcome: Outcome) -> str:
    return outcome.name.replace("_", " ")


def _caveats(sides: Sequence[MetricSide]) -> Iterator[str]:
    yield from _made_up(sides[0])
    if unproven := [side.name for side in sides if _needs_people(side)]:
        which = f"any of these {len(sides)} metrics" if len(unproven) == len(sides) > 2 else ", ".join(unproven)
        yield f"no calibration against people stands behind {which}"
    for side in sides:
        policy = side.gated.policy if side.gated else None
        if policy is not None and policy.basis == "provisional":
            yield f"the limits of {side.name} are provisional and hold until {last_day(policy)}"
    asked = Counter((r.judge["model"], r.judge.get("provider")) for side in sides for r in side.records if r.judge)
    for (model, provider), rows in sorted(asked.items(), key=str):
        source = "rules, not a model, made" if provider == "rule" else f"model {model} ({provider}) gave"
        yield f"{source} {rows} of {sum(asked.values())} verdicts of judges"


def _made_up(side: MetricSide) -> Iterator[str]:
    synthetic = sum(record.lineage.get("provenance") == "synthetic" for record in side.records)
    if synthetic:
        yield f"{synthetic} of {len(side.records)} rows are synthetic: they show how this works and certify nothing"


def _needs_people(side: MetricSide) -> bool:
    contract = side.metric.contract
    is_opinion = isinstance(side.metric, Judge) or (contract is not None and contract.needs_validation)
    policy = side.gated.policy if side.gated else None
    return is_opinion and (policy is None or policy.basis != "calibrated")
