"""A judge, cases and options as the tests of judge runs use them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from endpoint import Endpoint

from evalkit.contract import Contract
from evalkit.contract.judge import Judge
from evalkit.scoring.judge import Budget, JudgeOptions, JudgeRun, JudgeSettings, request_maker, run_judge
from evalkit.scoring.judging.preflight import shape_of
from evalkit.scoring.judging.rows import JudgeRows
from evalkit.scoring.judging.verdicts import VerdictStore

__all__ = ["CONTRACT", "JUDGE", "Home", "cases_text"]

CONTRACT = Contract(
    version="1",
    measures="whether the answer is right",
    reviewed=("reference",),
    produced=("response",),
    invalid_when=("an input is absent",),
    consumed_by="the policy",
    cannot_establish="whether the reference is right",
)
JUDGE = Judge(name="right", prompt="Is {response} right, given {reference}?", contract=CONTRACT)


def cases_text(n: int, **more: Any) -> str:
    """Return `n` rows whose inputs all differ."""
    rows = [{"case_id": f"r{i}", "reference": "Berlin", "response": f"answer {i}", **more} for i in range(n)]
    return "".join(json.dumps(row) + "\n" for row in rows)


class Home:
    """A folder with cases, a store and runs, against one endpoint."""

    def __init__(self, folder: Path, endpoint: Endpoint | None = None) -> None:
        self.folder = folder
        self.endpoint = endpoint
        folder.mkdir(parents=True, exist_ok=True)
        self.cases = folder / "cases.jsonl"
        self.store = folder / "verdicts.sqlite"
        self.notes: list[str] = []

    def write(self, cases: str | int) -> None:
        self.cases.write_text(cases if isinstance(cases, str) else cases_text(cases), encoding="utf-8")

    def settings(self, **changes: Any) -> JudgeSettings:
        url = self.endpoint.url if self.endpoint else "http://127.0.0.1:9/v1"
        facts: dict[str, Any] = {"model": "judge-a", "endpoint": url, "api_key": "key", "attempts": 1, "timeout": 10.0}
        return JudgeSettings(**facts | changes)

    def options(self, judge: Judge = JUDGE, **changes: Any) -> JudgeOptions:
        """Return options under which ragas need not be imported: that the requests are its own is tested elsewhere."""
        if "replay" in changes:
            return JudgeOptions(**changes)
        settings = changes.pop("settings", None) or self.settings()
        facts: dict[str, Any] = {
            "settings": settings,
            "store": self.store,
            "budget": Budget(calls=10_000),
            "has_preflight": False,
            "on_note": self.notes.append,
        }
        options = JudgeOptions(**facts | changes)
        with VerdictStore(options.store) as store:
            store.note_conforming(shape_of(JudgeRows(judge, request_maker(judge, settings, None))))
        return options

    def run(self, name: str = "run", judge: Judge = JUDGE, **changes: Any) -> JudgeRun:
        return asyncio.run(run_judge(judge, self.cases, self.folder / name, self.options(judge, **changes)))

    def records(self, name: str = "run") -> list[dict[str, Any]]:
        lines = (self.folder / name / "records.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]
