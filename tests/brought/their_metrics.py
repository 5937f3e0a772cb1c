"""A team's metrics, written against ragas alone, as people write them: every kind that ragas has."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import BaseModel
from ragas.dataset_schema import SingleTurnSample
from ragas.metrics import DiscreteMetric, MetricResult, MetricType, SingleTurnMetric, discrete_metric, numeric_metric
from ragas.metrics.base import MetricWithLLM, MultiTurnMetric, SimpleBaseMetric
from ragas.metrics.collections.base import BaseMetric
from ragas.prompt import PydanticPrompt

STOP = {"the", "a", "of", "to"}


def words_of(text: str) -> set[str]:
    return {word.strip(".,").lower() for word in text.split()} - STOP


def overlap_of(response: str, reference: str) -> float:
    wanted = words_of(reference)
    if not wanted:
        raise ValueError("the reference has no words")  # noqa: EM101 - as people write it
    return len(words_of(response) & wanted) / len(wanted)


@numeric_metric(name="decorated", allowed_values=(0.0, 1.0))
def decorated(response: str, reference: str) -> float:
    return overlap_of(response, reference)


@discrete_metric(name="decorated_async", allowed_values=["pass", "fail"])
async def decorated_async(response: str, reference: str) -> str:
    return "pass" if overlap_of(response, reference) >= 0.5 else "fail"


@dataclass
class Overlap(SimpleBaseMetric):
    """Class style, synchronous: ``ascore`` only hands on."""

    least: int = 1

    def score(self, response: str, reference: str) -> MetricResult:
        if len(words_of(reference)) < self.least:
            raise ValueError("the reference has no words")  # noqa: EM101 - as people write it
        return MetricResult(value=overlap_of(response, reference), reason=f"of {len(words_of(reference))} words")

    async def ascore(self, **kwargs) -> MetricResult:
        return self.score(**kwargs)


class AsyncOverlap(BaseMetric):
    """Class style, asynchronous, of the newer collections; it notes its last row on itself, as careless code does."""

    def __init__(self) -> None:
        super().__init__(name="class_async", allowed_values=(0.0, 1.0))
        self.last = ""

    async def ascore(self, response: str, reference: str) -> MetricResult:
        self.last = self.last or response
        return MetricResult(value=overlap_of(self.last, reference))


@dataclass
class LegacyOverlap(SingleTurnMetric):
    """The older style: a sample with declared columns."""

    name: str = "legacy"
    _required_columns: dict = field(default_factory=lambda: {MetricType.SINGLE_TURN: {"response", "reference"}})

    def init(self, run_config) -> None:
        pass

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks) -> float:
        return overlap_of(sample.response, sample.reference)


class Question(BaseModel):
    response: str


class Verdict(BaseModel):
    grounded: bool
    words: list[str]


class ToneJudge(BaseMetric):
    """Class style with a model of its own."""

    def __init__(self, llm=None) -> None:
        self.llm = llm
        super().__init__(name="class_judge", allowed_values=(0.0, 1.0))

    def _validate_llm(self) -> None:
        """Take no model yet: the team sets it later."""

    async def ascore(self, response: str) -> MetricResult:
        found = await self.llm.agenerate(f"List the words of: {response}", Verdict)
        checked = [await self.llm.agenerate(f"Is it polite? {word}", Verdict) for word in found.words]
        return MetricResult(value=sum(c.grounded for c in checked) / len(checked), reason="by word")


class GroundedPrompt(PydanticPrompt[Question, Verdict]):
    instruction = "Is it grounded?"
    input_model = Question
    output_model = Verdict


@dataclass
class LegacyJudge(MetricWithLLM, SingleTurnMetric):
    """The older style with a model."""

    name: str = "legacy_judge"
    _required_columns: dict = field(default_factory=lambda: {MetricType.SINGLE_TURN: {"response"}})
    prompt: PydanticPrompt = field(default_factory=GroundedPrompt)

    async def _single_turn_ascore(self, sample: SingleTurnSample, callbacks) -> float:
        verdict = await self.prompt.generate(llm=self.llm, data=Question(response=sample.response), callbacks=callbacks)
        return float(verdict.grounded)


class Conversation(MultiTurnMetric):
    name = "conversation"

    def init(self, run_config) -> None:
        pass

    async def _multi_turn_ascore(self, sample, callbacks) -> float:
        return 1.0


class Anything(BaseMetric):
    async def ascore(self, **kwargs) -> MetricResult:
        return MetricResult(value=1.0)


class Hidden(BaseMetric):
    """A judge inside a metric: its calls would go past every budget."""

    def __init__(self) -> None:
        super().__init__(name="hidden")
        self.inner = ToneJudge()

    async def ascore(self, response: str) -> MetricResult:
        return await self.inner.ascore(response=response)


class_sync = Overlap(name="class_sync", allowed_values=(0.0, 1.0))
class_async = AsyncOverlap()
legacy = LegacyOverlap()
prompted = DiscreteMetric(name="prompted", prompt="Is this polite? {response}", allowed_values=["pass", "fail"])
class_judge = ToneJudge()
legacy_judge = LegacyJudge()
conversation = Conversation()
anything = Anything(name="anything")
hidden = Hidden()
