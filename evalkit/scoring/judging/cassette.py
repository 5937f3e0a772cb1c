"""Cassettes: recorded verdicts as reviewed text (JSON Lines): a judge runs without a key, a network or a cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from evalkit.cases.lines import read_lines
from evalkit.cases.strict_json import JsonProblem, parse_object
from evalkit.contract import EvalkitError
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.run import write_whole

__all__ = ["Cassette", "read_cassette", "write_cassette"]

_LAYOUT = 1


class Cassette:
    """A cassette that has been read: verdicts by key.

    Parameters
    ----------
    path : Path
    configuration : mapping
        The judge and the settings under which its keys were made.
    note : str
        Where the verdicts come from, in words: whoever replays them should know.
    kept : mapping of str to Kept
    """

    def __init__(self, path: Path, configuration: Mapping[str, Any], note: str, kept: Mapping[str, Kept]) -> None:
        self.path = path
        self.configuration = configuration
        self.note = note
        self._kept = kept
        self._case_ids = {verdict.case_id for verdict in kept.values() if verdict.case_id is not None}

    def __len__(self) -> int:
        return len(self._kept)

    def in_words(self) -> str:
        """Say that verdicts were replayed, and where they come from."""
        note = f": {self.note}" if self.note else ""
        return f"verdicts were replayed from {self.path.name}, which holds {len(self)}{note}"

    def find(self, key: str) -> Kept | None:
        """Return the verdict recorded under a key."""
        return self._kept.get(key)

    def why_not(self, case_id: str, configuration: Mapping[str, Any]) -> str:
        """Say why a question has no recorded verdict: what is different now, as far as it can be seen."""
        changed = [
            f"{name} was {self.configuration.get(name)!r}, is {value!r}"
            for name, value in configuration.items()
            if self.configuration.get(name) != value
        ]
        if changed:
            return f"it was recorded under another configuration ({'; '.join(changed)[:300]})"
        if case_id in self._case_ids:
            return "this case was recorded with another prompt: its inputs, the rubric or the prompt have changed"
        return "this case was never recorded"


def read_cassette(path: Path | str) -> Cassette:
    """Read a cassette strictly; nothing in it is executed or unpickled.

    Raises
    ------
    EvalkitError
        Where the file cannot be read or a line is not what `write_cassette` writes.
    """
    path = Path(path)
    head: dict[str, Any] | None = None
    kept: dict[str, Kept] = {}
    for line in read_lines(path):
        if not line.raw.strip():
            continue
        where = f"{path}, line {line.number}"
        try:
            fields = parse_object(line.raw)
        except JsonProblem as problem:
            msg = f"is not a line of a cassette: {problem.reason}"
            raise _bad(msg, where) from problem
        if head is None:
            head = _head(fields, where)
        else:
            _add(fields, where, kept)
    if head is None:
        msg = "is empty, and not a cassette"
        raise _bad(msg, str(path))
    return Cassette(path, head["configuration"], head["note"], kept)


def _bad(message: str, where: str) -> EvalkitError:
    return EvalkitError(message, where=where, do="record it again with evalkit judge --export FILE")


def _head(fields: dict[str, Any], where: str) -> dict[str, Any]:
    if fields.get("cassette") != _LAYOUT or not isinstance(fields.get("configuration"), dict):
        msg = f'is no cassette of layout {_LAYOUT}: it must begin with {{"cassette": {_LAYOUT}, "configuration": …}}'
        raise _bad(msg, where)
    return {"configuration": fields["configuration"], "note": str(fields.get("note", ""))}


def _add(fields: dict[str, Any], where: str, kept: dict[str, Kept]) -> None:
    key, prompt, case_id = fields.get("key"), fields.get("prompt_sha256"), fields.get("case_id")
    if not isinstance(key, str) or not isinstance(prompt, str) or not isinstance(case_id, str | None):
        msg = "is not a verdict of a cassette: key, prompt_sha256 and case_id must be texts"
        raise _bad(msg, where)
    if key in kept:
        msg = f"records a second verdict under one key (case {case_id!r}): which one holds is not guessed"
        raise _bad(msg, where)
    try:
        kept[key] = Kept.of(fields, case_id=case_id, prompt_sha256=prompt)
    except ValueError as error:
        msg = f"is not a verdict of a cassette: {error}"
        raise _bad(msg, where) from error


def write_cassette(path: Path, configuration: Mapping[str, Any], kept: Iterable[tuple[str, Kept]], *, note: str) -> int:
    """Write verdicts as text for review, one a line, and return how many."""
    lines = [orjson.dumps({"cassette": _LAYOUT, "note": note, "configuration": dict(configuration)})]
    written: set[str] = set()
    for key, verdict in kept:
        if key not in written:
            written.add(key)
            fields = {"case_id": verdict.case_id, "key": key, "prompt_sha256": verdict.prompt_sha256, **verdict.facts()}
            lines.append(orjson.dumps(fields))
    write_whole(path, b"\n".join([*lines, b""]))
    return len(written)
