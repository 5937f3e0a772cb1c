"""``CASES.adapter.json``: which adapter made a file of cases, how it was audited, and whether that still holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError, Metric, Outcome, sha256_file, sha256_of

__all__ = [
    "SCHEMA",
    "AdapterStamp",
    "StampProblem",
    "adapter_of",
    "contract_terms",
    "refuse_unaudited",
    "stamp_in",
    "stamp_path",
]

SCHEMA = 1


class StampProblem(NamedTuple):
    """Why cases may not be judged by what their adapter once passed."""

    outcome: Outcome
    sentence: str
    do: str


def stamp_path(cases: Path) -> Path:
    """Return where the stamp of a file of cases lies.

    >>> stamp_path(Path("runs/cases.jsonl")).as_posix()
    'runs/cases.jsonl.adapter.json'
    """
    return cases.with_name(f"{cases.name}.adapter.json")


@dataclass(frozen=True, slots=True)
class AdapterStamp:
    """What `adapt` wrote beside the cases, or a run kept of it."""

    facts: Mapping[str, Any]
    damage: str | None = None
    """Why the file cannot be read as a stamp."""

    def manifest(self) -> dict[str, Any]:
        """Return what travels with a run: name, revision, mapping, fingerprint, audit."""
        return {"damage": self.damage} if self.damage else {k: v for k, v in self.facts.items() if k != "schema"}

    def problems(self, metric: Metric, cases_sha256: str | None, *, folder: Path | None = None) -> list[StampProblem]:
        """Return every reason why the audit does not speak for these cases and this metric.

        Parameters
        ----------
        metric : Metric
            That reads the cases now; a changed contract wants the controls again.
        cases_sha256 : str or None
            Hash of the cases as they are; ``None`` where they are records of an earlier run.
        folder : Path, optional
            Where a relative path to the adapter's file starts: the current folder by default.
        """
        if self.damage:
            return [_incomplete(f"the adapter's stamp beside the cases {self.damage}", _AGAIN)]
        found = [
            *_of_cases(self.facts, cases_sha256),
            *_of_audit(self.facts),
            *_of_adapter(self.facts, folder or Path.cwd()),
            *_of_metric(self.facts, metric),
        ]
        return list(found)


_AGAIN = "write the cases again with evalkit adapt, which replays the controls"


def _incomplete(sentence: str, do: str) -> StampProblem:
    return StampProblem(Outcome.incomplete, sentence, do)


def _of_cases(facts: Mapping[str, Any], cases_sha256: str | None) -> Iterator[StampProblem]:
    if cases_sha256 is not None and facts.get("cases_sha256") != cases_sha256:
        yield _incomplete("the cases were changed after the adapter wrote them: its audit is of another file", _AGAIN)


def _of_audit(facts: Mapping[str, Any]) -> Iterator[StampProblem]:
    audit = facts["audit"]
    name = audit.get("outcome")
    if name == Outcome.passed.name:
        return
    failed = ", ".join(audit.get("failed") or ()) or "see evalkit audit"
    outcome = Outcome.review_required if name == Outcome.review_required.name else Outcome.incomplete
    do = "mend the mapping (evalkit audit names each row), then write the cases again"
    if outcome is Outcome.review_required:
        do = "declare where the trace keeps its own record (observed=...), or have a person confirm the mapping"
    yield StampProblem(outcome, f"the audit of adapter {facts['name']!r} ended {name}: {failed}", do)


def _of_adapter(facts: Mapping[str, Any], folder: Path) -> Iterator[StampProblem]:
    source = facts["audit"].get("source")
    if isinstance(source, Mapping):
        path = folder / str(source.get("path"))
        if path.is_file() and sha256_file(path) != source.get("sha256"):
            sentence = f"adapter {facts['name']!r} ({path.name}) was changed after its controls ran"
            yield _incomplete(sentence, _AGAIN)
        return
    # Imported here: a gate of cases that no adapter made does not pay for the mappings.
    from evalkit.cases.adapters.shipped import SHIPPED

    shipped = SHIPPED.get(str(facts["name"]))
    if shipped is not None and shipped.fingerprint != facts.get("fingerprint"):
        sentence = f"the mapping {facts['name']!r} is now revision {shipped.revision}; the cases were made by another"
        yield _incomplete(sentence, _AGAIN)


def _of_metric(facts: Mapping[str, Any], metric: Metric) -> Iterator[StampProblem]:
    known = facts["audit"].get("metrics") or {}
    if metric.name not in known:
        named = f" (they ran for {', '.join(known)})" if known else ""
        yield _incomplete(
            f"the adapter's controls never ran for {metric.name}{named}",
            f"write the cases again with evalkit adapt --metric {metric.name}",
        )
    elif known[metric.name] != contract_terms(metric):
        yield _incomplete(f"the contract of {metric.name} changed after the adapter's controls ran", _AGAIN)


def contract_terms(metric: Metric) -> str:
    """Hash what of a contract decides how a trace becomes a row; better wording is not a change."""
    contract = metric.contract
    facts = contract.facts() if contract else {}
    kept = ("version", "reviewed", "produced", "reference_dependent", "allows_missing")
    parameters = [(p.name, p.required) for p in metric.parameters]
    return sha256_of({"name": metric.name, "parameters": parameters, **{key: facts.get(key) for key in kept}})


def adapter_of(cases: Path) -> AdapterStamp | None:
    """Return the stamp beside a file of cases; ``None`` where no adapter made them.

    A stamp that cannot be read is returned with its damage: cases of an unknown origin are not cases without one.
    """
    path = stamp_path(cases)
    if not path.is_file():
        return None
    try:
        facts = parse_object(path.read_bytes())
    except OSError as error:
        return AdapterStamp({}, f"cannot be read ({error.strerror or error})")
    except JsonProblem as problem:
        return AdapterStamp({}, f"is damaged: {problem}")
    return _stamp(facts)


def refuse_unaudited(metric: Metric, cases: Path) -> None:
    """Stop before anything is paid for cases whose adapter's audit failed or no longer holds.

    Raises
    ------
    EvalkitError
        With every reason; cases that no adapter made are not refused.
    """
    stamp = adapter_of(cases)
    problems = stamp.problems(metric, sha256_file(cases)) if stamp else []
    if void := [problem for problem in problems if problem.outcome is Outcome.incomplete]:
        msg = "; ".join(problem.sentence for problem in void)
        raise EvalkitError(msg, where=str(cases), do=void[0].do)


def stamp_in(manifest: Mapping[str, Any]) -> AdapterStamp | None:
    """Return the stamp that travelled with an earlier run."""
    kept = manifest.get("adapter")
    return _stamp({"schema": SCHEMA, **kept}) if isinstance(kept, Mapping) else None


def _stamp(facts: Mapping[str, Any]) -> AdapterStamp:
    if facts.get("damage"):
        return AdapterStamp({}, str(facts["damage"]))
    if facts.get("schema") != SCHEMA or not isinstance(facts.get("audit"), Mapping) or "name" not in facts:
        return AdapterStamp({}, f"is no stamp that this evalkit reads (schema {facts.get('schema')!r})")
    return AdapterStamp(facts)
