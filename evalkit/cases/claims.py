"""Proposed claims for people to decide on: required ones from the reference, support by words; never gold as such."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.lookup import best_passage, look_for, passages_of
from evalkit.cases.seen import seen_hash
from evalkit.cases.tables import read_table, table_bytes, table_format, unguarded
from evalkit.contract import EvalkitError, example_list, sha256_of

__all__ = [
    "CLAIM_INPUTS",
    "COLUMNS",
    "Claim",
    "ReviewedClaims",
    "claims_table",
    "draft_claims",
    "read_claims",
    "sentences",
]

CLAIM_INPUTS = ("required_claim_ids", "supported_claim_ids")
"""The metric inputs that reviewed claims feed."""

COLUMNS = (
    "case_id", "claim_id", "question", "claim", "answer_says", "answer_words", "passage_says", "passage",
    "passage_text", "decision", "changed_claim", "supported", "reviewer", "note", "seen_hash",
)  # fmt: skip
"""Columns of the sheet; people fill ``decision``, ``changed_claim``, ``supported``, ``reviewer`` and ``note``."""

_DECISIONS = ("approve", "change", "reject")
_ANSWERS = {"yes": True, "no": False}
_EXCERPT = 240
_ABBREVIATIONS = re.compile(r"(?:\b(?:e\.g|i\.e|approx|no|dr|mr|mrs|vs|etc|fig)|\b[A-Z])\.$", re.IGNORECASE)


class Claim(NamedTuple):
    """One line of the sheet: what is proposed, and what a person decided."""

    case_id: str
    claim_id: str
    claim: str
    """As proposed."""
    question: str = ""
    answer_says: str = ""
    """``found``, ``unclear`` or ``absent`` by words; a place to read, never support."""
    answer_words: str = ""
    passage_says: str = ""
    passage: str = ""
    """Names of the passage that repeats most of the claim."""
    passage_text: str = ""
    decision: str = ""
    """``approve``, ``change`` (with the text in `changed_claim`) or ``reject``; blank while nobody decided."""
    changed_claim: str = ""
    supported: str = ""
    """``yes`` or ``no``: whether reviewed evidence supports the claim in this answer."""
    reviewer: str = ""
    note: str = ""
    seen_hash: str = ""
    """Of question, answer and passages as they were shown."""

    @property
    def is_open(self) -> bool:
        """Whether a person still has to decide something."""
        return self.decision not in _DECISIONS or (self.decision != "reject" and self.supported not in _ANSWERS)

    @property
    def text(self) -> str:
        """The claim as it was decided."""
        return self.changed_claim if self.decision == "change" else self.claim


def sentences(text: str) -> list[str]:
    """Split a reference into sentences; numbers and usual abbreviations do not end one.

    >>> sentences("The fee is 0.20 euros, e.g. for a book. At most 8 euros.")
    ['The fee is 0.20 euros, e.g. for a book.', 'At most 8 euros.']
    """
    found: list[str] = []
    for part in re.split(r"(?<=[.!?])\s+|\n+|(?<=[。！？])", text):  # noqa: RUF001 - full-width marks end sentences too
        if found and _ABBREVIATIONS.search(found[-1]):
            found[-1] += f" {part.strip()}"
        elif part.strip():
            found.append(part.strip())
    return found


def draft_claims(evidence: Mapping[str, Any], case_id: str, kept: Iterable[Claim] = ()) -> list[Claim]:
    """Propose the required claims of one case, and where its answer and passages say them.

    Parameters
    ----------
    evidence : mapping
        Of the case: question, answer, retrieved, reference.
    case_id : str
    kept : iterable of Claim, optional
        What was decided on this case before: its claims stand instead of new ones, and so does the decision on support
        where question, answer and passages are still the same.

    Returns
    -------
    list of Claim
        Empty where there is no reference to draft from.
    """
    seen = seen_hash(evidence) or ""
    claims = list(kept)
    if not claims:
        reference = evidence.get("reference")
        texts = sentences(reference) if isinstance(reference, str) else []
        claims = [Claim(case_id, f"c{number:02d}", text) for number, text in enumerate(texts, start=1)]
    return [_proposed(claim, evidence, seen) for claim in claims]


def _proposed(claim: Claim, evidence: Mapping[str, Any], seen: str) -> Claim:
    answer, passages = evidence.get("answer"), passages_of(evidence.get("retrieved"))
    said = look_for(claim.text, answer) if isinstance(answer, str) else None
    best = best_passage(claim.text, passages)
    lacks = f", lacks {' and '.join(said.missing_numbers)}" if said and said.missing_numbers else ""
    names = (best.passage.document_id, best.passage.revision, best.passage.passage_id) if best else ()
    return claim._replace(
        question=str(evidence.get("question") or ""),
        answer_says=said.sighting if said else "no answer",
        answer_words=f"{said.hits} of {said.words} words{lacks}" if said else "",
        passage_says=best.match.sighting if best else "no passages",
        passage=" / ".join(name for name in names if name),
        passage_text=best.passage.text[:_EXCERPT] if best else "",
        supported=claim.supported if claim.seen_hash == seen else "",
        seen_hash=seen,
    )


def claims_table(claims: Iterable[Claim]) -> bytes:
    """Return the sheet as people open it."""
    return table_bytes(COLUMNS, (claim._asdict() for claim in claims))


class ReviewedClaims:
    """What people decided, by case."""

    def __init__(self, claims: Iterable[Claim]) -> None:
        self.by_case: dict[str, list[Claim]] = {}
        for claim in claims:
            self.by_case.setdefault(claim.case_id, []).append(claim)

    def amend(self, case: dict[str, Any]) -> dict[str, Any]:
        """Return a case with its required and supported claims, or *unfit* where they are not decided."""
        claims = self.by_case.get(case["case_id"], [])
        if (reason := _open(claims, case)) is not None:
            unfit = {"reason": reason, "owner": "test-data", "inputs": list(CLAIM_INPUTS)}
            return case if "unfit" in case else case | {"unfit": unfit}
        required = [claim for claim in claims if claim.decision != "reject"]
        texts = {claim.claim_id: claim.text for claim in required}
        return case | {
            "requirement_set_version": f"claims-{sha256_of(texts)[7:19]}",
            CLAIM_INPUTS[0]: list(texts),
            CLAIM_INPUTS[1]: [claim.claim_id for claim in required if _ANSWERS[claim.supported]],
            "evidence": {**case.get("evidence", {}), "claims": texts},
        }


def _open(claims: list[Claim], case: Mapping[str, Any]) -> str | None:
    if not claims:
        return "no claims were reviewed for this case"
    if undecided := [claim.claim_id for claim in claims if claim.is_open]:
        return f"{len(undecided)} of {len(claims)} claims are not approved: {example_list(undecided)}"
    seen = seen_hash(case.get("evidence")) or ""
    # A line that people added has no hash of its own: it was decided with the others of its case.
    shown = next((claim.seen_hash for claim in claims if claim.seen_hash), "")
    own = [(claim.claim_id, claim.seen_hash or shown) for claim in claims if claim.decision != "reject"]
    if stale := [claim_id for claim_id, hashed in own if hashed != seen]:
        return f"support of {example_list(stale)} was decided for another answer or other passages: draft it again"
    return None


def read_claims(path: Path) -> ReviewedClaims:
    """Read a reviewed sheet, or refuse it with everything that is wrong with it.

    Raises
    ------
    EvalkitError
        For an unknown decision, a change without its text, a decision without its reviewer, one claim id twice.
    """
    form = table_format(path)
    if lacking := [
        name for name in ("case_id", "claim_id", "claim", "decision", "supported") if name not in form.columns
    ]:
        msg = f"lacks the columns {', '.join(lacking)}"
        raise EvalkitError(msg, where=str(path), do="start from the sheet that evalkit claims draft writes")
    claims: list[Claim] = []
    problems: list[str] = []
    seen: dict[tuple[str, str], int] = {}
    for row in read_table(path, form):
        claim = _claim(row.cells)
        problems += [f"line {row.line}: {text}" for text in ([row.problem] if row.problem else _problems(claim))]
        first = seen.setdefault((claim.case_id, claim.claim_id), row.line)
        if first != row.line:
            problems.append(f"line {row.line}: {claim.case_id} / {claim.claim_id} stands on line {first} already")
        claims.append(claim)
    if problems:
        msg = f"{len(problems)} problems in {len(claims)} claims: {example_list(problems)}"
        raise EvalkitError(msg, where=str(path), do="correct the lines in the sheet")
    return ReviewedClaims(claims)


def _claim(cells: Mapping[str, str]) -> Claim:
    kept = {name: unguarded(cells.get(name, "")) for name in Claim._fields}
    words = {name: kept[name].strip().lower() for name in ("decision", "supported")}
    return Claim(**(kept | words | {name: kept[name].strip() for name in ("case_id", "claim_id", "reviewer")}))


def _problems(claim: Claim) -> Iterator[str]:
    if not claim.case_id or not claim.claim_id:
        yield "case_id or claim_id is blank"
    if claim.decision not in ("", *_DECISIONS):
        yield f"decision must be {', '.join(_DECISIONS)} or blank; got {claim.decision!r}"
    if claim.supported not in ("", *_ANSWERS):
        yield f"supported must be yes, no or blank; got {claim.supported!r}"
    if claim.decision == "change" and not claim.changed_claim.strip():
        yield "a change needs its text in changed_claim"
    if claim.decision and not claim.reviewer:
        yield "a decision needs its reviewer"
