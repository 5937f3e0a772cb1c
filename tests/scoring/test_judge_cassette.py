from __future__ import annotations

import json
from pathlib import Path

import pytest

from evalkit.contract import EvalkitError
from evalkit.scoring.judging.attempt import Attempt
from evalkit.scoring.judging.cassette import read_cassette, write_cassette
from evalkit.scoring.judging.kept import Kept
from evalkit.scoring.judging.reply import Reply

REPLY = Reply(1, '{"reason": "ü\u2028", "value": "pass"}', None, "stop", "m", {"total_tokens": 3})
KEPT = Kept(REPLY, (Attempt(1, "2026-11-30T00:00:00+00:00", 2.5, 200, None, None, None, "0.1"),), "a", "sha256:p")
HEAD = {"cassette": 1, "note": "by hand", "configuration": {"model": "m"}}
LINE = {"case_id": "a", "key": "k", "prompt_sha256": "p", "reply": REPLY._asdict(), "attempts": []}


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_a_cassette_is_text_that_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    assert write_cassette(path, {"model": "m"}, [("k", KEPT), ("k2", KEPT), ("k", KEPT)], note="by hand") == 2
    cassette = read_cassette(path)
    assert (cassette.note, cassette.configuration, len(cassette)) == ("by hand", {"model": "m"}, 2)
    assert cassette.find("k") == KEPT
    assert cassette.find("missing") is None
    assert len(path.read_bytes().splitlines()) == 3  # one line a verdict, for a diff that can be reviewed


@pytest.mark.parametrize(
    ("lines", "fragment"),
    [
        ([], "is empty, and not a cassette"),
        ([LINE], "line 1: is no cassette of layout 1"),
        ([HEAD | {"cassette": 2}], "is no cassette of layout 1"),
        ([{"cassette": 1}], "is no cassette of layout 1"),
        ([HEAD, "not json"], "line 2: is not a line of a cassette: not valid JSON"),
        ([HEAD, '{"key": "k", "key": "k"}'], "line 2: is not a line of a cassette: the key 'key' occurs twice"),
        ([HEAD, LINE, LINE], "line 3: records a second verdict under one key (case 'a')"),
        ([HEAD, LINE | {"key": 5}], "line 2: is not a verdict of a cassette: key, prompt_sha256 and case_id"),
        ([HEAD, LINE | {"reply": {"content": "x"}}], "do not have the fields expected"),
        ([HEAD, LINE | {"reply": REPLY._asdict() | {"content": 5}}], "has the wrong type"),
        ([HEAD, LINE | {"attempts": [{}]}], "do not have the fields expected"),
        ([HEAD, LINE | {"reply": "gASVBQAAAAAAAACMAWGULg=="}], "reply must be an object"),
    ],
)
def test_a_cassette_that_cannot_be_trusted_is_refused_with_its_line(
    tmp_path: Path, lines: list[object], fragment: str
) -> None:
    with pytest.raises(EvalkitError) as caught:
        read_cassette(write(tmp_path / "c.jsonl", *lines))
    assert fragment in str(caught.value)


def test_a_cassette_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match="cannot be read"):
        read_cassette(tmp_path / "none.jsonl")


def test_why_a_verdict_is_missing_is_said_as_far_as_it_can_be_seen(tmp_path: Path) -> None:
    cassette = read_cassette(write(tmp_path / "c.jsonl", HEAD, LINE))
    assert (
        cassette.why_not("a", {"model": "m2"}) == "it was recorded under another configuration (model was 'm', is 'm2')"
    )
    assert "with another prompt" in cassette.why_not("a", {"model": "m"})
    assert cassette.why_not("b", {"model": "m"}) == "this case was never recorded"
