"""The control run that a policy rests on: found beside it by its hash, of this very judge, and separated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import Metric, Outcome, sha256_file
from evalkit.contract.judge import Judge
from evalkit.decisions.blockers import Blocker
from evalkit.decisions.policy import Policy, PolicyFile

__all__ = ["control_run_problems"]

_AGAIN = "run evalkit controls again for this judge, look at it, and freeze the hash of its new --json file"


def control_run_problems(file: PolicyFile, metric: Metric, fingerprint: str, judge: str | None) -> Iterator[Blocker]:
    """Yield what speaks against the control run of a policy; nothing, where it neither has nor needs one.

    Parameters
    ----------
    file : PolicyFile
        ``[frozen] controls`` is the SHA-256 of the file that ``evalkit controls --json FILE`` wrote, beside the policy.
    metric : Metric
    fingerprint : str
        Of the judge that made the run at hand.
    judge : str or None
        Hash of the configuration it was asked under; ``None`` where the run does not say.
    """
    policy = file.policy
    if policy is None:
        return
    frozen = policy.frozen.controls
    if frozen is None:
        if _certifies(policy, metric):
            yield _blocker(
                f"the policy holds {metric.name} to labels, but names no control run that has separated",
                'put the file of evalkit controls --json beside it and freeze its hash: [frozen] controls = "sha256:…"',
            )
        return
    path = _file_of(file.path.parent, frozen)
    if path is None:
        yield _blocker(f"no .json file beside {file.path.name} has the hash of its control run, {frozen[:23]}…", _AGAIN)
        return
    try:
        run = parse_object(path.read_bytes())
    except JsonProblem as problem:
        yield _blocker(f"{path.name}, the frozen control run, cannot be read: {problem.reason}", _AGAIN)
        return
    yield from _unfit(run, path.name, metric, fingerprint, judge)


def _certifies(policy: Policy, metric: Metric) -> bool:
    """Tell whether people's labels decide what the judge may do: then it must have been shown to tell at all."""
    limits = policy.slices.values()
    needs_labels = any(one.max_false_passes is not None or one.max_false_fails is not None for one in limits)
    return isinstance(metric, Judge) and policy.mode == "block" and (needs_labels or policy.basis == "calibrated")


def _file_of(folder: Path, wanted: str) -> Path | None:
    wanted = wanted.removeprefix("sha256:")
    files = (path for path in sorted(folder.glob("*.json")) if path.is_file())
    return next((path for path in files if sha256_file(path).removeprefix("sha256:") == wanted), None)


def _unfit(run: Mapping[str, Any], name: str, metric: Metric, fingerprint: str, judge: str | None) -> Iterator[Blocker]:
    controls, subject = run.get("controls"), run.get("judge")
    if not isinstance(controls, list) or not isinstance(subject, Mapping):
        yield _blocker(f"{name} has the frozen hash, but is no control run", _AGAIN)
        return
    missed = [str(c.get("case_id")) for c in controls if isinstance(c, Mapping) and not c.get("ok")]
    if run.get("separated") is not True or missed or not controls:
        named = f": {', '.join(missed[:5])}" if missed else ""
        yield _blocker(
            f"the control run {name} did not separate ({len(missed)} of {len(controls)} controls{named})",
            "mend the judge until all its controls separate; a judge that cannot tell them certifies nothing",
        )
    elif run.get("outcome") != Outcome.passed.name:
        yield _blocker(
            f"the control run {name} came out {run.get('outcome')!r}: a faulty judge would pass its controls as well",
            "add the control that the survivor asks for, and run evalkit controls again",
        )
    now = {"name": metric.name, "fingerprint": fingerprint, "configuration_hash": judge}
    for key, found in now.items():
        if subject.get(key) != found and (key != "configuration_hash" or found is not None):
            yield _blocker(
                f"the control run {name} is of another judge: its {key.replace('_', ' ')} is "
                f"{_short(subject.get(key))}, here it is {_short(found)}",
                _AGAIN,
            )


def _short(value: object) -> str:
    text = str(value)
    return f"{text[:23]}…" if len(text) > 24 else repr(value)


def _blocker(sentence: str, do: str) -> Blocker:
    return Blocker("controls", Outcome.incomplete, "judge", sentence, do)
