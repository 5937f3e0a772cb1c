"""What ``evalkit judge`` prints: counts, what was asked and what it cost, what is left; 80 columns, plain text."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

from evalkit.contract import example_list
from evalkit.decisions.certifying.instability import repeated_lines
from evalkit.pages.plain import plain
from evalkit.pages.screen import COLUMNS, gate_screen, score_screen
from evalkit.scoring.judge import JudgeRun
from evalkit.scoring.judging.request import Request

__all__ = ["judge_screen", "prompt_screen"]


_WAYS = (("prompt_tokens", "in"), ("completion_tokens", "out"))


def judge_screen(name: str, done: JudgeRun, decided: Mapping[str, Any] | None) -> str:
    """Return the text for a terminal; `decided` is the outcome file, where a policy was given."""
    report = done.run.folder / "report.html"
    asked = [line for sentence in _asked(done.facts, done.run.manifest) for line in _wrapped(sentence)]
    if decided is None:
        return "\n".join([*asked, score_screen(name, done.ledger.facts(), findings=done.findings, run=done.run)])
    found = [line for finding in done.findings for line in _wrapped(f"warning: {finding}")]
    return "\n".join([*asked, *found, "", gate_screen(decided, report=report)])


def _asked(facts: Mapping[str, Any], manifest: Mapping[str, Any]) -> Iterator[str]:
    preflight = f", {facts['preflight_calls']} of them the preflight" if facts["preflight_calls"] else ""
    yield (
        f"calls: {facts['calls']}{preflight}; answered from the store: {facts['cache_hits']}; "
        f"replayed: {facts['replayed']}"
    )
    price = manifest.get("price")
    if facts["calls"]:
        currency = price["currency"] if price else ""
        cost = f"{facts['cost']} {currency}" if facts["cost"] is not None and price else "not known (no price given)"
        tokens = facts["tokens"]
        # An embedding has nothing that comes out.
        counts = [f"{tokens[name]} {way}" for name, way in _WAYS if name in tokens] if tokens else []
        spent = ", ".join(counts) or "not reported"
        yield f"cost: {cost}; tokens: {spent}"
    if repeated := facts.get("repeated"):
        yield from repeated_lines(repeated)
    for what in ("failed_attempts", "error_kinds"):
        if facts[what]:
            counted = ", ".join(f"{kind} {count}" for kind, count in sorted(facts[what].items()))
            yield f"{what.replace('_', ' ')}: {counted}"
    if facts["in_doubt"]:
        ids = example_list([str(doubt["case_id"]) for doubt in facts["in_doubt"]])
        yield f"in doubt: {len(facts['in_doubt'])} calls whose answer was never recorded, charged in full: {ids}"
    if facts["unrun"]:
        yield f"unrun: {len(facts['unrun'])} rows: {example_list(list(map(str, facts['unrun'])))}"


def prompt_screen(request: Request) -> str:
    """Return the messages and parameters of one request; what a terminal would act on is made visible."""
    lines = [f"key {request.key}"]
    for message in request.body.get("messages", ()):
        lines += ["", f"--- {message['role']} ---", plain(str(message["content"]), newline="\n")]
    rest = {name: value for name, value in request.body.items() if name != "messages"}
    return "\n".join([*lines, "", "--- parameters ---", json.dumps(rest, indent=2), ""])


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(plain(text), COLUMNS, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
