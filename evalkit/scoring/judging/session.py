"""One pass through a judge run: recall, ask, add up, and the manifest last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from evalkit.cases.adapter_stamp import adapter_of
from evalkit.cases.read import CaseFile
from evalkit.contract import EvalkitError, sha256_file, sha256_text
from evalkit.contract.prompt import RENDERER
from evalkit.scoring.judging.asking import Asker
from evalkit.scoring.judging.cassette import Cassette, write_cassette
from evalkit.scoring.judging.engine import Engine, Question, Stop
from evalkit.scoring.judging.folder import JudgeFolder
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.kinds import engine_for
from evalkit.scoring.judging.local import sender_of
from evalkit.scoring.judging.options import JudgeOptions
from evalkit.scoring.judging.preflight import check_connection, check_shape
from evalkit.scoring.judging.repeating import RepeatedEngine
from evalkit.scoring.judging.replay import not_recorded
from evalkit.scoring.judging.reply import READER
from evalkit.scoring.judging.rows import JudgeRows, Recorded
from evalkit.scoring.judging.tally import Tally
from evalkit.scoring.judging.verdicts import VerdictStore
from evalkit.scoring.ledger import Ledger
from evalkit.scoring.records import Record
from evalkit.scoring.run import Run, lock_hash

__all__ = ["JudgeRun", "Session"]


class JudgeRun(NamedTuple):
    """A finished judge run."""

    run: Run
    ledger: Ledger
    facts: dict[str, Any]
    """Calls, tokens, cost, what is unrun and what in doubt: the same as in the manifest."""
    findings: list[str]


@dataclass
class Session:
    """One pass through a run."""

    rows: JudgeRows
    cases: CaseFile
    home: JudgeFolder
    store: VerdictStore | None
    cassette: Cassette | None
    options: JudgeOptions

    async def run(self) -> JudgeRun:
        """Do all of it, and return the finished run."""
        tally = Tally()

        def emit(record: Record) -> None:
            tally.add(record)
            self.home.write(record)
            self.options.on_rows(1)

        done = {record.line: record for record in self.home.earlier()}
        for record in done.values():
            tally.add(record)
        engine = self._engine_kind()(
            rows=self.rows,
            recorded=self._recorded(),
            emit=emit,
            run_id=self.home.run_id,
            critical=self.options.critical,
            is_replay=self.cassette is not None,
            keeps=self.options.export is not None,
        )
        questions = await engine.recalled(self.rows.prepare_all(self.cases), done)
        notes = await self._answer(engine, questions)
        if self.options.export:
            self._export(engine, self.options.export)
        return self._finish(tally, [*notes, *tally.findings(), *self.cases.findings])

    def _engine_kind(self) -> Callable[..., Engine]:
        kind, repeat = engine_for(self.rows), self.options.repeat
        if repeat == 1:
            return kind
        if kind is not Engine:
            msg = f"{self.rows.judge.name} asks several questions a row, which depend on each other"
            raise EvalkitError(msg, do="run it again with --fresh instead of --repeat, and compare the runs")
        return partial(RepeatedEngine, repeat=repeat)

    def _recorded(self) -> Recorded:
        kept = self._kept()
        return _Given(self.options.given, kept) if self.options.given else kept

    def _kept(self) -> Recorded:
        if self.cassette is not None:
            return self.cassette
        assert self.store is not None  # noqa: S101 - a run without a cassette has opened its store
        return _OfRun(self.store, self.home.run_id) if self.options.is_fresh else self.store

    async def _answer(self, engine: Engine, questions: list[Question]) -> list[str]:
        """Ask what is left, or say why it is left; return what is worth knowing about it."""
        if self.cassette is not None:
            cassette, configuration = self.cassette, self.rows.maker.configuration
            engine.leave(questions, lambda q: Stop("not_recorded", not_recorded(cassette, q.case_id, configuration)))
            return [cassette.in_words()]
        if not questions:
            return []
        assert self.store is not None  # noqa: S101 - as above
        assert self.options.settings is not None  # noqa: S101 - without a model there is a cassette, or a refusal
        budget = replace(self.options.budget)  # its sums start with this run
        probe = self.rows.maker.request("")
        if budget.cost is not None and "messages" in probe.body and not probe.most_output_tokens():
            msg = "a budget of money cannot be kept where no parameter limits the length of a reply"
            raise EvalkitError(msg, do="send max_tokens or max_completion_tokens, or give --max-calls N instead")
        budget.resume(self.store.used(self.home.run_id))
        sender = self.options.sender or sender_of(self.options.settings)
        asker = Asker(
            judge=self.rows.judge,
            settings=self.options.settings,
            sender=sender,
            store=self.store,
            budget=budget,
            run_id=self.home.run_id,
            price=self.options.price,
            is_fresh=self.options.is_fresh,
        )
        try:
            notes = await check_shape(self.rows, self.store) if self.options.sender is None else []
            if self.options.has_preflight:
                await check_connection(self.rows, asker, self.home, self.options.on_note)
            await engine.ask_all(questions, asker)
        finally:
            await sender.close()
        return notes

    def _export(self, engine: Engine, path: Path) -> None:
        note = f"recorded by evalkit judge {self.rows.judge.name}, run {self.home.run_id}"
        write_cassette(path, self.rows.maker.configuration, engine.kept.items(), note=note)

    def _finish(self, tally: Tally, findings: list[str]) -> JudgeRun:
        judge, maker = self.rows.judge, self.rows.maker
        findings = [*findings, *([judge.preparation.in_words()] if judge.preparation else [])]
        ledger = tally.ledger(lines=self.cases.lines, blank=self.cases.blank)
        facts = tally.facts(self.store, self.home.run_id, is_priced=self.options.price is not None)
        manifest: dict[str, Any] = {
            "cases": self.cases.path.name,
            "cases_sha256": sha256_file(self.cases.path),
            "lock_sha256": lock_hash(Path.cwd()),
            "metric": {
                "name": judge.name,
                "contract_version": judge.version,
                "fingerprint": judge.fingerprint,
                "origin": judge.origin,
                "declaration": judge.declaration(),
                "contract": judge.contract.facts() if judge.contract else None,
                "preparation": judge.preparation_facts(),
            },
            "unanswered": judge.unanswered(),
            "judge": {
                **maker.recorded_facts(),
                "prompt": sha256_text(judge.template.instruction),
                "system_prompt_sha256": maker.configuration["system_prompt_sha256"],
                "response_schema": maker.configuration["response_schema_sha256"],
                "labels": judge.declaration()["allowed_values"],
                "compatibility_map": dict(judge.compatible),
                "parser_version": READER,
                "renderer": RENDERER,
                "configuration": maker.configuration,
            },
            "budget": self.options.budget.facts(),
            "price": self.options.price.facts() if self.options.price else None,
            **facts,
            "policy": None,
            "policy_sha256": None,
            "ledger": ledger.facts(),
            "findings": findings,
        }
        if (stamp := adapter_of(self.cases.path)) is not None:
            manifest["adapter"] = stamp.manifest()
        manifest["records_sha256"] = self.home.close_records()
        self.options.before_manifest(self.home, manifest)
        return JudgeRun(self.home.finish(manifest), ledger, facts, findings)


class _Given(NamedTuple):
    """Replies that came with the cases, before whatever is kept."""

    given: Mapping[str, Kept]
    then: Recorded

    def find(self, key: str) -> Kept | None:
        return self.given.get(key) or self.then.find(key)


class _OfRun:
    """Only the verdicts that one run has paid for itself."""

    def __init__(self, store: VerdictStore, run_id: str) -> None:
        self._store = store
        self._run_id = run_id

    def find(self, key: str) -> Kept | None:
        return self._store.find(key, run_id=self._run_id)
