"""S4.3: a failed audit stops a judge run before anything is sent; a replay, which costs nothing, may still be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from endpoint import Endpoint
from judges import JUDGE, Home

from evalkit.cases.adapter_stamp import contract_terms, stamp_path
from evalkit.contract import EvalkitError, sha256_file


def stamp(home: Home, outcome: str) -> None:
    facts = {
        "schema": 1,
        "name": "mine",
        "revision": "1",
        "mapping": {},
        "cases_sha256": sha256_file(home.cases),
        "audit": {
            "outcome": outcome,
            "failed": ["answer_not_reference"],
            "metrics": {JUDGE.name: contract_terms(JUDGE)},
        },
    }
    stamp_path(home.cases).write_text(json.dumps(facts))


def test_no_judge_is_called_on_cases_whose_audit_failed(tmp_path: Path) -> None:
    with Endpoint() as endpoint:
        home = Home(tmp_path, endpoint)
        home.write(2)
        stamp(home, "incomplete")
        with pytest.raises(EvalkitError, match="the audit of adapter 'mine' ended incomplete: answer_not_reference"):
            home.run("first")
        assert endpoint.count == 0
        stamp(home, "passed")
        done = home.run("second")
        assert endpoint.count > 0
        assert done.run.manifest["adapter"]["audit"]["outcome"] == "passed"
