"""Run folders that were tampered with: read as they are or refused in words, by every command that takes one."""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hostile import bent, broken, evalkit, look_for
from hypothesis import strategies as st

pytestmark = pytest.mark.fuzz

FIXTURES = Path(__file__).parents[2] / "fixtures" / "evidence_coverage"
OPTIONS = ("--policy", FIXTURES / "policy.toml", "--as-of", "2026-12-01")
FILES = ("manifest.json", "records.jsonl", "outcome.json")


class Damage(NamedTuple):
    name: str
    raw: bytes | None
    """What the file holds now; ``None`` where it is gone."""
    signs: bool
    """Whether whoever did it also wrote the new hash of the records into the manifest."""


@st.composite
def damages(draw: st.DrawFn, whole: dict[str, bytes]) -> Damage:
    name = draw(st.sampled_from(FILES))
    raw = whole[name]
    match draw(st.integers(0, 9)):
        case 0:
            return Damage(name, None, signs=False)
        case 1 | 2:
            return Damage(name, draw(broken(raw)), signs=draw(st.booleans()))
    if name == "records.jsonl":
        lines = raw.splitlines()
        at = draw(st.integers(0, len(lines) - 1))
        lines[at] = json.dumps(draw(bent(json.loads(lines[at])))).encode()
        return Damage(name, b"\n".join(lines) + b"\n", signs=True)
    return Damage(name, json.dumps(draw(bent(json.loads(raw)))).encode(), signs=False)


def do(damage: Damage, run: Path) -> None:
    path = run / damage.name
    if damage.raw is None:
        path.unlink()
        return
    path.write_bytes(damage.raw)
    if damage.name == "records.jsonl" and damage.signs:
        manifest = json.loads((run / "manifest.json").read_text())
        manifest["records_sha256"] = "sha256:" + hashlib.sha256(damage.raw).hexdigest()
        (run / "manifest.json").write_text(json.dumps(manifest))


def test_fuzz_a_run_folder_that_was_tampered_with_is_read_or_refused_in_words(tmp_path: Path) -> None:
    incident = FIXTURES / "incidents" / "answer_stopped_saying"
    for name in ("old", "new"):
        evalkit("gate", "evidence_coverage", incident / f"{name}.jsonl", *OPTIONS, "--run", tmp_path / name)
    whole = {name: (tmp_path / "new" / name).read_bytes() for name in FILES}

    def check(damage: Damage) -> None:
        with tempfile.TemporaryDirectory() as name:
            here = Path(name)
            run, old = here / "run", tmp_path / "old"
            shutil.copytree(tmp_path / "new", run)
            do(damage, run)
            gated = evalkit(
                "gate", "evidence_coverage", run, *OPTIONS, "--json", here / "o.json", "--run", here / "again"
            )
            if damage.raw is None and damage.name != "outcome.json":
                assert gated.code == 2
            evalkit("explain", run, "--json", here / "e.json")
            evalkit("explain", run, old, "--json", here / "e2.json")
            evalkit("explain", old, run, "--json", here / "e3.json")
            evalkit("gate", "evidence_coverage", incident / "new.jsonl", *OPTIONS, "--baseline", run)
            evalkit("ballot", run, "--out", here / "ballot.html")

    look_for(damages(whole), check)
