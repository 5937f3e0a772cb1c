"""A judge of several questions: a library's own metric asks them one by one and makes one value of the replies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from evalkit.contract.judge import NOT_ASKED, Judge
from evalkit.contract.lint import AllowedValues, ContractError
from evalkit.contract.measure import Measured

__all__ = ["SteppedJudge", "WhenEmpty"]


class WhenEmpty(NamedTuple):
    """What an empty list means for a metric: a value that follows from it, so that nobody is asked."""

    value: float
    reason: str


@dataclass(frozen=True, eq=False, kw_only=True)
class SteppedJudge(Judge):
    """A judge whose questions and arithmetic are those of a ragas metric, and whose replies are evalkit's to keep.

    Each question is a call of its own: kept under its complete key, counted against the budget, read strictly, never
    asked again for a better answer. What each reply said is the record's detail.

    Parameters
    ----------
    name : str
    target : str
        ``module:Class`` of the ragas metric, or the place of a metric object that was brought (see `original`).
    settings : mapping, optional
        Arguments of the class, beside its model.
    contract : Contract, optional
        Its inputs are the metric's; without one (a metric that was brought) they are `inputs`.
    inputs : tuple of str, optional
        The names of the inputs, where no contract gives them a role.
    lists : tuple of str, optional
        Inputs that are lists of texts.
    allowed_values : (float, float), optional
        ``(0.0, 1.0)`` by default.
    asks, embeds : bool
        Whether a language model is asked, and whether texts are compared by an embedding model.
    when_empty : mapping of str to WhenEmpty, optional
        Inputs whose empty list has a value by definition; the contract's ``allows_missing`` says what it means.
    source : str, optional
        Hash of the source of a metric that was brought.

    Examples
    --------
    >>> from evalkit.metrics.ragas_answers import faithfulness
    >>> faithfulness.measure({"user_input": "When?", "response": "At ten.", "retrieved_contexts": []}).reason
    'retrieved_contexts is []: the contract does not allow that'
    """

    prompt: str = field(init=False, repr=False)
    target: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()
    allowed_values: AllowedValues = (0.0, 1.0)
    asks: bool = True
    embeds: bool = False
    when_empty: Mapping[str, WhenEmpty] = field(default_factory=dict)
    source: str = field(default="", repr=False)
    fenced: bool = False

    def __post_init__(self) -> None:
        names = (*self.contract.reviewed, *self.contract.produced) if self.contract else self.inputs
        # The questions' own words are ragas' and come with its version; of them only the inputs are known here.
        self._set("prompt", "".join(f"{{{name}}}" for name in names))
        self._set("settings", MappingProxyType(dict(self.settings)))
        self._set("when_empty", MappingProxyType(dict(self.when_empty)))
        super().__post_init__()
        allows = self.contract.allows_missing if self.contract else {}
        if silent := [name for name in self.when_empty if "[]" not in allows.get(name, {})]:
            msg = f"{self.name} has a value for an empty {silent[0]}, but its contract does not say what [] means"
            raise ContractError(msg, do=f'add allows_missing={{"{silent[0]}": {{"[]": "…"}}}}')

    def _measured(self, inputs: Mapping[str, Any]) -> Measured:
        found = super()._measured(inputs)
        for name, empty in self.when_empty.items():
            if found is NOT_ASKED and inputs[name] == []:
                return Measured("scored", empty.value, empty.reason, {name: []}, None)
        return found

    def render(self, inputs: Mapping[str, Any]) -> NoReturn:  # noqa: ARG002 - it refuses whatever it is given
        """Refuse: there is no one prompt, and what a later question says depends on earlier replies."""
        msg = f"{self.name} asks several questions: see them with evalkit judge {self.name} CASES --show-prompt CASE_ID"
        raise TypeError(msg)

    def declaration(self) -> dict[str, Any]:
        """Everything that decides what is asked and how the value is made, but for ragas' version."""
        return super().declaration() | {
            "target": self.target,
            "settings": dict(self.settings),
            "asks": self.asks,
            "embeds": self.embeds,
            "when_empty": {name: list(empty) for name, empty in self.when_empty.items()},
            "source": self.source,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        kept = {name: getattr(self, name) for name, made in self.__dataclass_fields__.items() if made.init}
        maps = {name: dict(value) for name, value in kept.items() if isinstance(value, MappingProxyType)}
        return _made_again, (kept | maps,)


def _made_again(fields: dict[str, Any]) -> SteppedJudge:
    return SteppedJudge(**fields)
