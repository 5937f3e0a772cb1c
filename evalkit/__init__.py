"""evalkit: design, break, calibrate, decide, gate and explain the metrics that decide whether an LLM system ships.

Everything public is here; importing this module loads no pandas, scipy, Jupyter or ragas, and each name on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalkit.cases.locate import locate
    from evalkit.cases.read import Case, read_cases
    from evalkit.contract.faults import EvalkitError
    from evalkit.contract.judge import Judge
    from evalkit.contract.metric import Metric, attach, discrete_metric, numeric_metric, ranking_metric
    from evalkit.contract.model import Contract, InvalidRow, MetricResult
    from evalkit.contract.words import Outcome
    from evalkit.decisions.calibrate import calibrate
    from evalkit.decisions.compare import compare
    from evalkit.decisions.explain import explain
    from evalkit.decisions.gate import GateOptions, GateResult, gate
    from evalkit.decisions.policy import Policy, read_policy
    from evalkit.metrics.evidence_coverage import evidence_coverage
    from evalkit.mutate.front import kill_matrix
    from evalkit.scoring.load import load_metric
    from evalkit.scoring.records import Record
    from evalkit.scoring.run import Run, open_run
    from evalkit.scoring.score import score_cases
    from evalkit.scoring.score_all import score_all

_HOMES = {
    "Case": "cases.read",
    "Contract": "contract.model",
    "EvalkitError": "contract.faults",
    "GateOptions": "decisions.gate",
    "GateResult": "decisions.gate",
    "InvalidRow": "contract.model",
    "Judge": "contract.judge",
    "Metric": "contract.metric",
    "MetricResult": "contract.model",
    "Outcome": "contract.words",
    "Policy": "decisions.policy",
    "Record": "scoring.records",
    "Run": "scoring.run",
    "attach": "contract.metric",
    "calibrate": "decisions.calibrate",
    "compare": "decisions.compare",
    "discrete_metric": "contract.metric",
    "evidence_coverage": "metrics.evidence_coverage",
    "explain": "decisions.explain",
    "gate": "decisions.gate",
    "kill_matrix": "mutate.front",
    "load_metric": "scoring.load",
    "locate": "cases.locate",
    "numeric_metric": "contract.metric",
    "open_run": "scoring.run",
    "ranking_metric": "contract.metric",
    "read_cases": "cases.read",
    "read_policy": "decisions.policy",
    "score_all": "scoring.score_all",
    "score_cases": "scoring.score",
}

__all__ = [
    "Case",
    "Contract",
    "EvalkitError",
    "GateOptions",
    "GateResult",
    "InvalidRow",
    "Judge",
    "Metric",
    "MetricResult",
    "Outcome",
    "Policy",
    "Record",
    "Run",
    "attach",
    "calibrate",
    "compare",
    "discrete_metric",
    "evidence_coverage",
    "explain",
    "gate",
    "kill_matrix",
    "load_metric",
    "locate",
    "numeric_metric",
    "open_run",
    "ranking_metric",
    "read_cases",
    "read_policy",
    "score_all",
    "score_cases",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        msg = f"module 'evalkit' has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(import_module(f"evalkit.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
