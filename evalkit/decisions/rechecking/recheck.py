"""What a recheck comes to: checks, controls and the frozen set, in that order, each with its outcome and owner."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.contract import Outcome, example_list
from evalkit.decisions.blockers import Blocker
from evalkit.decisions.controlling.results import ControlRun
from evalkit.decisions.rechecking.checks import Check
from evalkit.decisions.rechecking.transitions import Compared, Transition

__all__ = ["Recheck"]


@dataclass(frozen=True, kw_only=True)
class Recheck:
    """A finished recheck; what was not reached is ``None``."""

    checks: Sequence[Check]
    is_same_set: bool
    """Whether the cases are, byte for byte, those of the older run."""
    controls: ControlRun | None = None
    controls_changed: tuple[str, ...] = ()
    """Controls that came out otherwise than in the control run that the policy has frozen."""
    compared: Compared | None = None

    @property
    def is_ready(self) -> bool:
        """Whether anything may be asked: every check holds, and it is the frozen set."""
        return self.is_same_set and not any(check.ok is False for check in self.checks)

    @property
    def blockers(self) -> list[Blocker]:
        """Everything that keeps the recheck from passing, with its owner."""
        return [*self._unready(), *self._controls(), *(self._set(self.compared) if self.compared else ())]

    @property
    def outcome(self) -> Outcome:
        """The worst of the blockers' outcomes."""
        return Outcome.worst([blocker.outcome for blocker in self.blockers])

    def _unready(self) -> Iterator[Blocker]:
        for check in self.checks:
            if check.ok is False:
                yield _blocker(
                    "rehearsal", Outcome.incomplete, "judge", f"{check.name}: {check.sentence}",
                    "mend it before anything is paid for; the older versions are in the rollback file",
                )  # fmt: skip
        if not self.is_same_set:
            yield _blocker(
                "dataset", Outcome.incomplete, "test-data", "the set is not the one that the older run judged",
                "give that file, unchanged: drift shows on a frozen set only",
            )  # fmt: skip

    def _controls(self) -> Iterator[Blocker]:
        found = self.controls
        if found is None or found.separated:
            return
        failed = example_list([result.control.case_id for result in (*found.wrong, *found.unjudged)])
        outcome = found.outcome if found.outcome is not Outcome.passed else Outcome.incomplete
        yield _blocker(
            "controls", outcome, "judge", f"the judge does not tell its controls apart any more: {failed}",
            "do not use it; evalkit controls shows each",
        )  # fmt: skip

    def _set(self, compared: Compared) -> Iterator[Blocker]:
        if compared.strangers:
            yield _blocker(
                "dataset", Outcome.incomplete, "test-data",
                f"{len(compared.strangers)} rows are not the same in both runs: {_listed(compared.strangers)}",
                "recheck on the set as it was frozen",
            )  # fmt: skip
        if compared.lost:
            yield _blocker(
                "lost", Outcome.incomplete, "judge",
                f"{len(compared.lost)} blocking rows had a verdict and have none now: "
                f"{_listed(compared.lost)}",
                "read the reason of each in the new run, and run it to the end",
            )  # fmt: skip
        yield from _moved(compared)

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        compared = self.compared
        return {
            "outcome": self.outcome.name,
            "exit_code": int(self.outcome),
            "checks": [check._asdict() for check in self.checks],
            "controls": self.controls.facts() if self.controls else None,
            "controls_changed": list(self.controls_changed),
            "rows": compared.rows if compared else None,
            "unchanged": compared.unchanged if compared else None,
            "transitions": [found.facts() for found in compared.transitions] if compared else [],
            "lost": list(compared.lost) if compared else [],
            "blockers": [blocker.facts() for blocker in self.blockers],
        }


def _listed(case_ids: Sequence[str]) -> str:
    return example_list(list(case_ids))


def _blocker(kind: str, outcome: Outcome, owner: str, sentence: str, do: str) -> Blocker:
    return Blocker(kind, outcome, owner, sentence, do)


def _moved(compared: Compared) -> Iterator[Blocker]:
    blocking = [found for found in compared.transitions if found.blocking]
    broken = [found for found in blocking if found.direction == "broken"]
    still_open = [found for found in blocking if found.direction == "open"]
    if broken:
        yield _blocker(
            "broken", Outcome.quality_failed, _owner(broken),
            f"{len(broken)} of {compared.rows} rows were judged as people do and are not any more: {_ids(broken)}",
            "keep the older judge, or mend this one; each names what it is put down to",
        )  # fmt: skip
    if still_open:
        yield _blocker(
            "moved", Outcome.review_required, _owner(still_open),
            f"{len(still_open)} of {compared.rows} verdicts changed, and no label says which is right: "
            f"{_ids(still_open)}",
            "have these rows labelled; --proposed FILE writes them for review",
        )  # fmt: skip


def _ids(found: Sequence[Transition]) -> str:
    return example_list([transition.case_id for transition in found])


def _owner(found: Sequence[Transition]) -> str:
    owners = sorted({transition.owner or "judge" for transition in found})
    return max(owners, key=lambda owner: sum((t.owner or "judge") == owner for t in found))
