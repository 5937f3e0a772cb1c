"""What a metric promises: contracts, metric objects, the lint at definition, and one row's measurement."""

from evalkit.contract.canonical import canonical_json, sha256_file, sha256_of, sha256_text
from evalkit.contract.faults import EvalkitError, example_list
from evalkit.contract.lint import ContractError
from evalkit.contract.measure import Measured
from evalkit.contract.metric import Metric, attach, discrete_metric, make_metric, numeric_metric, ranking_metric
from evalkit.contract.model import Contract, InvalidRow, MetricResult
from evalkit.contract.words import Decision, Outcome, Owner, State

__all__ = [
    "Contract",
    "ContractError",
    "Decision",
    "EvalkitError",
    "InvalidRow",
    "Measured",
    "Metric",
    "MetricResult",
    "Outcome",
    "Owner",
    "State",
    "attach",
    "canonical_json",
    "discrete_metric",
    "example_list",
    "make_metric",
    "numeric_metric",
    "ranking_metric",
    "sha256_file",
    "sha256_of",
    "sha256_text",
]
