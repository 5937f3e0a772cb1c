"""The outcome file of a gate: what CI reads, and every page is made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.decisions.certifying.against import total_of
from evalkit.decisions.fitness import last_day
from evalkit.decisions.gate import GateResult
from evalkit.decisions.policy import Policy
from evalkit.scoring.ledger import Ledger

__all__ = ["facts_of"]


def facts_of(result: GateResult, *, run_id: str, command: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the outcome file of a gate: what CI reads."""
    policy = result.policy
    return {
        "schema": 1,
        "run_id": run_id,
        "command": command,
        "parameters": dict(parameters),
        "cells_total": None,
        "cells_run": None,
        "outcome": result.outcome.name,
        "exit_code": result.exit_code,
        "mode": policy.mode if policy else None,
        "as_of": result.as_of.isoformat(),
        "metric": {"name": result.metric.name, "contract_version": result.metric.version},
        "policy": _policy_facts(policy) if policy else None,
        "ledger": result.ledger.facts(),
        "blockers": [blocker.facts() for blocker in result.blockers],
        "warnings": list(result.warnings),
        "overridden": [record.case_id for record in result.excused.overridden],
        "known": [record.case_id for record in result.excused.known],
        "baseline": result.compared.facts() if result.compared else None,
        "labelled": [found.facts() for found in result.labelled],
        "labels_total": total_of(result.labelled),
        "figures": _figures(result.ledger),
        "outcome_hash": result.outcome_hash,
    }


def _policy_facts(policy: Policy) -> dict[str, Any]:
    last = last_day(policy)
    return {
        "name": policy.name,
        "version": policy.version,
        "basis": policy.basis,
        "approved_by": policy.approved_by,
        "last_day": last.isoformat() if last else None,
    }


def _figures(ledger: Ledger) -> dict[str, Any]:
    facts = ledger.facts()
    figures: dict[str, Any] = {"rows": ledger.total(), "scored": facts["scored"], "mean": facts["mean"]}
    for name, block in facts["slices"].items():
        figures |= {f"{name}.{key}": block[key] for key in ("scored", "pass", "fail", "review", "mean")}
    return figures
