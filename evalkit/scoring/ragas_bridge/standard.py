"""ragas' standard metrics, read closely: which replies cannot be counted on, and what every reply said as detail."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from evalkit.contract import example_list
from evalkit.scoring.judging.reply import Reading
from evalkit.scoring.judging.steps import Step

__all__ = ["STANDARD", "Finding", "Standard"]


class Finding(NamedTuple):
    """Why a value is what it is."""

    reason: str
    """Counts first; what quotes an input stands after ``" | "``."""
    detail: dict[str, Any]


class Standard(NamedTuple):
    """How the replies of one metric are read."""

    check: Callable[[Sequence[Step], Mapping[str, Any]], Reading | None]
    """Asked after each reply: why it is none that the metric may count on, and ``None`` where it is."""
    explain: Callable[[Sequence[Step], Any], Finding]

    def detail(self, steps: Sequence[Step]) -> dict[str, Any]:
        """Return what the replies said, for a row that came to no value."""
        return _any_detail(steps)


def _error(kind: str, reason: str) -> Reading:
    return Reading("error", None, reason, kind, {})


def _nothing_to_measure(kind: str, reason: str) -> Reading:
    return Reading("invalid", None, reason, kind, {})


def _asked(steps: Sequence[Step]) -> list[Any]:
    return [step.parsed for step in steps if step.asks != "embedding"]


def _vectors(steps: Sequence[Step]) -> list[list[float]]:
    return [step.parsed for step in steps if step.asks == "embedding"]


def _flag(value: int, what: str) -> Reading | None:
    """Refuse a verdict other than 0 and 1: ragas reads every other number as yes."""
    return None if value in (0, 1) else _error("out_of_range", f"{what} must be 0 or 1; got {value}")


def _first(problems: Sequence[Reading | None]) -> Reading | None:
    return next((problem for problem in problems if problem is not None), None)


def _no_statements(of: str) -> Reading:
    return _nothing_to_measure("no_statements", f"the judge found no statement in the {of}: there is nothing to check")


def _cosine(one: Sequence[float], other: Sequence[float]) -> float | None:
    lengths = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=False)) / lengths if lengths else None


def _shown(cosine: float | None) -> str:
    return "none" if cosine is None else f"{cosine:.4f}"


def _quoted(label: str, texts: Sequence[str]) -> str:
    return f" | {label}: {example_list([repr(text) for text in texts], most=3)}" if texts else ""


# --- faithfulness ---------------------------------------------------------------------------------------------------


def _check_faithfulness(steps: Sequence[Step], _: Mapping[str, Any]) -> Reading | None:
    statements, *rest = _asked(steps)
    if not statements.statements:
        return _no_statements("answer")
    if not rest:
        return None
    verdicts, wanted = rest[0].statements, len(statements.statements)
    if len(verdicts) != wanted:
        return _error("incomplete_reply", f"{wanted} statements were to be judged, and {len(verdicts)} verdicts came")
    return _first([_flag(verdict.verdict, f"verdict {place}") for place, verdict in enumerate(verdicts, 1)])


def _explain_faithfulness(steps: Sequence[Step], _: Any) -> Finding:
    verdicts = _asked(steps)[1].statements
    rows = [{"statement": v.statement, "verdict": v.verdict, "reason": v.reason} for v in verdicts]
    unfaithful = [v.statement for v in verdicts if not v.verdict]
    counts = f"faithful={len(verdicts) - len(unfaithful)}; statements={len(verdicts)}"
    return Finding(counts + _quoted("not inferred", unfaithful), {"statements": rows})


# --- answer relevancy -----------------------------------------------------------------------------------------------


def _check_relevancy(steps: Sequence[Step], _: Mapping[str, Any]) -> Reading | None:
    last = _asked(steps)[-1]
    if not last.question.strip():
        return _error("incomplete_reply", "the judge was to write a question, and wrote none")
    return _flag(last.noncommittal, "noncommittal")


def _explain_relevancy(steps: Sequence[Step], _: Any) -> Finding:
    replies, (asked, *generated) = _asked(steps), _vectors(steps)
    cosines = [_cosine(asked, vector) for vector in generated]
    rows = [
        {"question": reply.question, "noncommittal": reply.noncommittal, "cosine": cosine}
        for reply, cosine in zip(replies, cosines, strict=False)
    ]
    flags = sum(reply.noncommittal for reply in replies)
    counts = f"questions={len(replies)}; noncommittal={flags}; cosines={', '.join(map(_shown, cosines))}"
    closed = "; an answer that commits to nothing is given 0.0" if flags == len(replies) else ""
    return Finding(f"{counts}{closed}", {"questions": rows})


# --- contexts -------------------------------------------------------------------------------------------------------


def _check_precision(steps: Sequence[Step], _: Mapping[str, Any]) -> Reading | None:
    replies = _asked(steps)
    return _flag(replies[-1].verdict, f"the verdict on passage {len(replies)}")


def _explain_precision(steps: Sequence[Step], _: Any) -> Finding:
    replies = _asked(steps)
    rows = [{"position": n, "verdict": r.verdict, "reason": r.reason} for n, r in enumerate(replies, 1)]
    useful = [str(n) for n, reply in enumerate(replies, 1) if reply.verdict]
    return Finding(f"useful={','.join(useful) or 'none'}; passages={len(replies)}", {"contexts": rows})


def _check_recall(steps: Sequence[Step], _: Mapping[str, Any]) -> Reading | None:
    (found,) = _asked(steps)
    if not found.classifications:
        return _error("incomplete_reply", "the judge took no statement out of the reference")
    return _first([_flag(c.attributed, f"attributed {n}") for n, c in enumerate(found.classifications, 1)])


def _explain_recall(steps: Sequence[Step], _: Any) -> Finding:
    found = _asked(steps)[0].classifications
    rows = [{"statement": c.statement, "attributed": c.attributed, "reason": c.reason} for c in found]
    missing = [c.statement for c in found if not c.attributed]
    counts = f"attributed={len(found) - len(missing)}; statements={len(found)}"
    return Finding(counts + _quoted("missing", missing), {"statements": rows})


def _check_entities(steps: Sequence[Step], _: Mapping[str, Any]) -> Reading | None:
    if not _asked(steps)[0].entities:
        return _nothing_to_measure("no_entities", "the judge found no name, date or figure in the reference")
    return None


def _explain_entities(steps: Sequence[Step], _: Any) -> Finding:
    reference, contexts = (sorted(set(reply.entities)) for reply in _asked(steps))
    missing = [entity for entity in reference if entity not in contexts]
    counts = f"found={len(reference) - len(missing)}; entities={len(reference)}"
    detail = {"reference_entities": reference, "context_entities": contexts, "missing": missing}
    return Finding(counts + _quoted("missing", missing), detail)


# --- against a reference --------------------------------------------------------------------------------------------


def _check_correctness(steps: Sequence[Step], _: Mapping[str, Any]) -> Reading | None:
    replies = _asked(steps)
    if len(replies) < 3:
        return None if replies[-1].statements else _no_statements(("answer", "reference")[len(replies) - 1])
    answer, reference, sorted_out = len(replies[0].statements), len(replies[1].statements), replies[2]
    counted = len(sorted_out.TP) + len(sorted_out.FP)
    if counted != answer or len(sorted_out.FN) > reference:
        reason = (
            f"{answer} statements of the answer and {reference} of the reference were to be sorted; "
            f"TP={len(sorted_out.TP)}, FP={len(sorted_out.FP)}, FN={len(sorted_out.FN)} came"
        )
        return _error("incomplete_reply", reason)
    return None


def _explain_correctness(steps: Sequence[Step], _: Any) -> Finding:
    sorted_out, vectors = _asked(steps)[2], _vectors(steps)
    similarity = _cosine(*vectors) if len(vectors) == 2 else None
    rows = {
        kind: [{"statement": s.statement, "reason": s.reason} for s in getattr(sorted_out, kind)]
        for kind in ("TP", "FP", "FN")
    }
    counts = "; ".join(f"{kind}={len(found)}" for kind, found in rows.items())
    wrong = [row["statement"] for kind in ("FP", "FN") for row in rows[kind]]
    return Finding(
        f"{counts}; similarity={_shown(similarity)}{_quoted('only in one', wrong)}", {**rows, "similarity": similarity}
    )


def _no_check(*_: Any) -> None:
    """Vectors are checked where they are read."""


def _explain_similarity(steps: Sequence[Step], _: Any) -> Finding:
    cosine = _cosine(*_vectors(steps))
    return Finding(f"cosine={_shown(cosine)}", {"cosine": cosine})


# --- any other metric -----------------------------------------------------------------------------------------------


def _any_detail(steps: Sequence[Step]) -> dict[str, Any]:
    rows = [
        {"asks": step.asks, "reply": step.parsed.model_dump(mode="json")}
        for step in steps
        if hasattr(step.parsed, "model_dump")
    ]
    return {"replies": rows}


def _explain_any(steps: Sequence[Step], _: Any) -> Finding:
    asked, compared = len(_asked(steps)), len(_vectors(steps))
    return Finding(f"questions={asked}; embeddings={compared}", _any_detail(steps))


_OF = "ragas.metrics.collections:"

STANDARD: Mapping[str, Standard] = {
    f"{_OF}Faithfulness": Standard(_check_faithfulness, _explain_faithfulness),
    f"{_OF}AnswerRelevancy": Standard(_check_relevancy, _explain_relevancy),
    f"{_OF}ContextPrecision": Standard(_check_precision, _explain_precision),
    f"{_OF}ContextRecall": Standard(_check_recall, _explain_recall),
    f"{_OF}ContextEntityRecall": Standard(_check_entities, _explain_entities),
    f"{_OF}AnswerCorrectness": Standard(_check_correctness, _explain_correctness),
    f"{_OF}SemanticSimilarity": Standard(_no_check, _explain_similarity),
    "": Standard(_no_check, _explain_any),
}
"""By target; the last one reads any metric that was brought."""
