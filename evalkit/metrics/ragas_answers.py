"""ragas' standard metrics of an answer: faithful to what was retrieved, relevant, correct, similar to the reference."""

from __future__ import annotations

from evalkit.contract import Contract
from evalkit.contract.stepped import SteppedJudge

__all__ = ["answer_correctness", "answer_relevancy", "answer_similarity", "faithfulness"]

_CONSUMED = "the release policy, row by row, once the judge has been calibrated against people"
_ABSENT = "the question or the answer is absent or blank"

faithfulness = SteppedJudge(
    name="faithfulness",
    target="ragas.metrics.collections:Faithfulness",
    lists=("retrieved_contexts",),
    contract=Contract(
        version="1",
        measures="share of the answer's statements that can be inferred from the retrieved passages",
        reviewed=("user_input",),
        produced=("response", "retrieved_contexts"),
        invalid_when=(
            f"{_ABSENT}, or a passage is blank",
            "the retrieved passages are lost (null), or nothing was retrieved ([]): there is nothing to be faithful to",
            "the judge finds no statement in the answer, as in a refusal",
        ),
        consumed_by=_CONSUMED,
        cannot_establish="whether the statements are true, answer the question, or leave something out",
        owners={"fail": "answer"},
    ),
)
"""One question takes the answer apart into statements, a second one judges each of them."""

answer_relevancy = SteppedJudge(
    name="answer_relevancy",
    target="ragas.metrics.collections:AnswerRelevancy",
    settings={"strictness": 3},
    allowed_values=(-1.0, 1.0),
    embeds=True,
    contract=Contract(
        version="1",
        measures="how near the questions that the answer would fit are to the question asked (mean cosine)",
        reviewed=("user_input",),
        produced=("response",),
        invalid_when=(_ABSENT,),
        consumed_by=_CONSUMED,
        cannot_establish="whether the answer is right or complete; 0.0 also means that it commits to nothing",
        owners={"fail": "answer"},
    ),
)
"""Three times the same question, each for a question that the answer would fit; then four embeddings."""

answer_correctness = SteppedJudge(
    name="answer_correctness",
    target="ragas.metrics.collections:AnswerCorrectness",
    settings={"weights": [0.75, 0.25], "beta": 1.0},
    allowed_values=(-0.25, 1.0),
    embeds=True,
    contract=Contract(
        version="1",
        measures="agreement of answer and reference: 0.75 times F1 over their statements, 0.25 times their cosine",
        reviewed=("user_input", "reference"),
        produced=("response",),
        invalid_when=(
            "the question, the reference or the answer is absent or blank",
            "the judge finds no statement in the answer or in the reference",
        ),
        consumed_by=_CONSUMED,
        cannot_establish="which of its two unlike parts a change comes from, or whether the reference is right",
        reference_dependent=True,
        owners={"fail": "answer"},
    ),
)
"""Two questions take answer and reference apart, a third sorts the statements; then two embeddings."""

answer_similarity = SteppedJudge(
    name="answer_similarity",
    target="ragas.metrics.collections:SemanticSimilarity",
    settings={"name": "answer_similarity"},
    allowed_values=(-1.0, 1.0),
    asks=False,
    embeds=True,
    contract=Contract(
        version="1",
        measures="how near answer and reference are by an embedding model (cosine)",
        reviewed=("reference",),
        produced=("response",),
        invalid_when=("the reference or the answer is absent or blank",),
        consumed_by=_CONSUMED,
        cannot_establish="agreement: a contradiction in nearly the same words is more similar than a paraphrase",
        reference_dependent=True,
        owners={"fail": "answer"},
    ),
)
"""Two embeddings; no language model is asked."""
