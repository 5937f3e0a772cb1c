"""What going back would take: the older run's lock, judge, renderer, parser and schema, by hash."""

from __future__ import annotations

from typing import Any

from evalkit.scoring.run import Run

__all__ = ["ROLLBACK_NAME", "rollback_facts"]

ROLLBACK_NAME = "rollback.json"


def rollback_facts(old: Run) -> dict[str, Any]:
    """Return what has to be as it was for the older run's verdicts to come back; ``None`` for what it did not keep.

    Going back is a change like any other: the judge is certified again afterwards.
    """
    manifest, judge = old.manifest, old.manifest.get("judge") or {}
    return {
        "schema": 1,
        "note": "going back to this means certifying again: controls, labels, gate",
        "run_id": manifest.get("run_id"),
        "lock_sha256": manifest.get("lock_sha256"),
        "metric": {key: manifest["metric"].get(key) for key in ("name", "contract_version", "fingerprint")},
        "prompt_sha256": judge.get("prompt"),
        "configuration": judge.get("configuration"),
        "configuration_hash": judge.get("configuration_hash"),
        "renderer_version": judge.get("renderer"),
        "parser_version": judge.get("parser_version"),
        "response_schema": judge.get("response_schema"),
        "record_schema": manifest.get("schema"),
        "versions": {name: manifest.get(name) for name in ("evalkit", "ragas", "python")},
        "cases_sha256": manifest.get("cases_sha256"),
        "policy_sha256": manifest.get("policy_sha256"),
    }
