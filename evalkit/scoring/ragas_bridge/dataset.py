"""Records and cases as ragas' datasets hold them: samples for its own tools, rows for its experiments, and back."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalkit.contract import EvalkitError
from evalkit.contract.words import CASE_KEYS
from evalkit.scoring.ragas_bridge.guard import keep_ragas_quiet, ragas_fault
from evalkit.scoring.records import Record

__all__ = ["cases_of_dataset", "dataset_of_records", "experiment_rows"]

_TEXTS = ("user_input", "response", "reference")
_LISTS = ("retrieved_contexts", "reference_contexts")
_FROM_EVIDENCE = {"user_input": "question", "response": "answer", "reference": "reference"}


def dataset_of_records(records: Iterable[Record], *, name: str | None = None) -> Any:
    """Return a ragas ``EvaluationDataset`` with one ``SingleTurnSample`` a record, in input order.

    A field is taken from the input of the same name, else from the evidence (question, answer, reference, retrieved
    passages). ragas' samples have no place for a case id, a state or a value: `experiment_rows` keeps those. An empty
    retrieval stays ``[]`` and a lost one ``None``.

    Raises
    ------
    EvalkitError
        For a record of which question and answer were kept as hashes only, and where there is no record at all.
    """
    schema = _schema()
    samples = [schema.SingleTurnSample(**_sample(record)) for record in records]
    if not samples:
        msg = "a dataset of ragas needs at least one sample; there is no record"
        raise EvalkitError(msg)
    return schema.EvaluationDataset(samples=samples, name=name)


def experiment_rows(records: Sequence[Record], metric: str) -> list[dict[str, Any]]:
    """Return records as rows of a ragas experiment: plain objects with the sample, the score and why.

    Parameters
    ----------
    records : sequence of Record
    metric : str
        The metric's name: its column holds the value (``None`` where nothing was scored, never NaN), ``NAME_state`` and
        ``NAME_reason`` say why.
    """
    return [
        {
            "case_id": record.case_id,
            **_sample(record),
            metric: record.value,
            f"{metric}_state": record.state,
            f"{metric}_reason": record.reason,
        }
        for record in records
    ]


def cases_of_dataset(dataset: Any, *, prefix: str = "row") -> list[dict[str, Any]]:
    """Return the cases of a ragas dataset: what `dataset_of_records` made, or any dataset of single turns.

    Parameters
    ----------
    dataset : EvaluationDataset or iterable of mappings or samples
    prefix : str
        Samples have no ids: cases are called ``row-1``, ``row-2`` … unless a row (of an experiment) has a ``case_id``.

    Returns
    -------
    list of dict
        Ready to be written as JSON Lines: the sample's own fields as inputs, question and answer as evidence too. A
        field that the sample does not have is left out, so that a metric which needs it says that it is absent;
        retrieved passages are always there (``null``: lost; ``[]``: nothing was found).

    Raises
    ------
    EvalkitError
        For a conversation: which of its turns is evaluated is a decision (see ``evalkit adapt ragas``).
    """
    return [_case(_fields(sample, place), f"{prefix}-{place}") for place, sample in enumerate(dataset, 1)]


def _schema() -> Any:
    keep_ragas_quiet()
    try:
        return importlib.import_module("ragas.dataset_schema")
    except Exception as error:
        fault = ragas_fault(error)
        if fault is None:
            raise
        raise fault from error


def _sample(record: Record) -> dict[str, Any]:
    inputs, evidence = record.inputs or {}, record.evidence or {}
    sample = {name: inputs.get(name, evidence.get(_FROM_EVIDENCE[name])) for name in _TEXTS}
    sample["retrieved_contexts"] = inputs.get("retrieved_contexts", _passages(evidence.get("retrieved")))
    sample["reference_contexts"] = inputs.get("reference_contexts")
    for name, value in sample.items():
        if isinstance(value, Mapping) or (isinstance(value, list) and any(isinstance(v, Mapping) for v in value)):
            msg = f"{name} of case {record.case_id!r} was kept as a hash only"
            raise EvalkitError(msg, do='give records of a run whose contract keeps it (retention "full")')
    return {name: value for name, value in sample.items() if _fits(name, value)}


def _passages(retrieved: Any) -> list[Any] | None:
    if not isinstance(retrieved, list):
        return None
    return [passage.get("text") if isinstance(passage, Mapping) else passage for passage in retrieved]


def _fits(name: str, value: Any) -> bool:
    """Tell whether a value is of the sample's type: a metric may use one of these names for something else."""
    if name in _TEXTS:
        return isinstance(value, str)
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _fields(sample: Any, place: int) -> dict[str, Any]:
    fields = dict(sample) if isinstance(sample, Mapping) else sample.model_dump(exclude_none=True)
    if isinstance(fields.get("user_input"), list):
        msg = f"sample {place} is a conversation: which of its turns is evaluated is not guessed"
        raise EvalkitError(msg, do="save the dataset as JSON Lines and map it: evalkit adapt ragas FILE --out CASES")
    return fields


def _case(fields: dict[str, Any], case_id: str) -> dict[str, Any]:
    passages = fields.get("retrieved_contexts")
    evidence = {key: fields[name] for name, key in _FROM_EVIDENCE.items() if fields.get(name) is not None}
    evidence["retrieved"] = None if passages is None else [{"text": text} for text in passages]
    kept = {name: value for name, value in fields.items() if value is not None and name not in CASE_KEYS}
    own = {name: value for name, value in fields.items() if value is not None and name in CASE_KEYS}
    return {"case_id": case_id} | own | kept | {"retrieved_contexts": passages, "evidence": evidence}
