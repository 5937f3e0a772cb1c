"""One row that is not green, walked back from its number to the first faulty evidence and its owner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from evalkit.contract import Contract
from evalkit.decisions.explaining.claims import Finding, find_claim
from evalkit.decisions.explaining.divergence import Divergence, Promises, earliest, owner_of, promises_of, word_of_input
from evalkit.decisions.explaining.evidence import EvidenceView
from evalkit.scoring.records import Record

__all__ = ["Triage", "missing_claims", "needs_triage", "triage"]


class Triage(NamedTuple):
    """Where a row went wrong, as far as its own record can say."""

    first_divergence: Divergence
    """``none`` where the record does not decide it; `sentence` then says what was not kept."""
    owner: str | None
    sentence: str
    findings: tuple[Finding, ...] = ()
    """One for each missing claim, in the order in which the metric names them."""

    def facts(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**self._asdict(), "findings": [finding.facts() for finding in self.findings]}


def needs_triage(record: Record) -> bool:
    """Tell whether a row is anything but a plain pass (without a policy: whether it misses something)."""
    if record.state != "scored" or record.decision in ("fail", "review"):
        return True
    return record.decision is None and bool(missing_claims(record))


def missing_claims(record: Record) -> list[str]:
    """Return the claim ids that the metric names as missing (``detail["missing"]``)."""
    missing = record.detail.get("missing")
    if not isinstance(missing, list):
        return []
    return [claim_id for claim_id in missing if isinstance(claim_id, str)]


def triage(record: Record, contract: Contract | Mapping[str, Any] | None) -> Triage:
    """Walk back from a row's result: id lists, then citations, then retrieved passages.

    Parameters
    ----------
    record : Record
        With its inputs and evidence as they were kept.
    contract : Contract or mapping or None
        The metric's contract, or its facts as a manifest holds them.

    Returns
    -------
    Triage
        For several missing claims the earliest fault counts: what was never retrieved cannot be said or cited.

    Notes
    -----
    It misleads where a claim is said in other words than the reviewed text: words are looked up, meaning is not, and
    a place that was found is a place to read, never support. On WiCE (``benchmarks/lookup_wice.py``) the first
    sentence it finds is one that people marked for 0.90 of 326 claims; of 110 claims whose evidence supports them it
    finds 35 and leaves 37 open, so "never retrieved" comes with the closest passage, for a person to read.
    """
    promises = promises_of(contract)
    if record.state != "scored":
        return _not_scored(record, promises)
    missing = missing_claims(record)
    if not missing:
        return _nothing_named(record, promises)
    if stray := _not_required(record, missing, promises):
        sentence = f"the metric names {stray} as missing, which no reviewed list of this row requires"
        return Triage("metric", owner_of("metric", promises), sentence)
    view = EvidenceView(record)
    findings = tuple(find_claim(claim_id, view, promises) for claim_id in missing)
    word = earliest([found.first_divergence for found in findings if found.first_divergence != "none"])
    return Triage(word, owner_of(word, promises), _sentence(word, findings), findings)


def _sentence(word: Divergence, findings: tuple[Finding, ...]) -> str:
    first = next(found for found in findings if found.first_divergence == word)
    others = [f"{found.claim_id} ({found.first_divergence})" for found in findings if found is not first]
    if not others:
        return first.sentence
    shown = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
    return f"{first.sentence}; of {len(findings)} missing claims also: {shown}"


def _not_scored(record: Record, promises: Promises) -> Triage:
    word = _word_of_state(record, promises)
    owner = record.owner if word == "state" else None
    return Triage(
        word, owner or owner_of(word, promises, state=record.state), f"{record.state}: {record.reason or 'no reason'}"
    )


def _word_of_state(record: Record, promises: Promises) -> Divergence:
    if record.state == "error" and record.judge is None:
        return "metric"
    if record.state != "invalid":
        return "state"
    if record.error_kind == "contract_version":
        return "contract"
    if record.error_kind == "unfit":
        return _UNFIT.get(record.owner or "", "state")
    if record.inputs is None:
        return "dataset"  # the line gave no case at all
    named = [name for name in record.inputs if record.reason.startswith(name)]
    named += [name for name in promises.reviewed - record.inputs.keys() if record.reason.startswith(name)]
    words = {word_of_input(name, record.inputs.get(name, []), promises) for name in named if name in promises.reviewed}
    # A produced input that breaks the contract is the state's own business: the row is unfit, whoever made it so.
    return words.pop() if len(words) == 1 else "state"


_UNFIT: Mapping[str, Divergence] = {"adapter": "adapter", "answer": "answer", "test-data": "dataset"}
"""By owner, what whoever prepared a case found at fault."""


def _nothing_named(record: Record, promises: Promises) -> Triage:
    result = f"value {record.value!r}" + ("" if record.minimum is None else f" against {record.minimum!r}")
    words = {word_of_input(name, (record.inputs or {}).get(name), promises) for name in promises.produced}
    if len(words) == 1 and (word := words.pop()):
        return Triage(word, owner_of(word, promises), f"{result}: {record.reason or 'no reason given'}")
    sentence = (
        f"{result}: {record.reason or 'no reason given'}; not decidable here: the metric names no missing item "
        "(detail.missing) to look for"
    )
    return Triage("none", promises.owners.get("fail"), sentence)


def _not_required(record: Record, missing: list[str], promises: Promises) -> str | None:
    """Return a missing id that is in no reviewed list, where these lists were kept."""
    lists = [value for name, value in (record.inputs or {}).items() if name in promises.reviewed]
    if not lists or not all(isinstance(value, list) for value in lists):
        return None
    required = {item.strip() for value in lists for item in value if isinstance(item, str)}
    return next((claim_id for claim_id in missing if claim_id.strip() not in required), None)
