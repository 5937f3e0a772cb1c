from __future__ import annotations

import datetime

import pytest

from evalkit.contract import EvalkitError
from evalkit.mutate.equivalent import Reviewed, check_equivalents, read_equivalents
from evalkit.mutate.matrix import Kill, Mutant

ENTRY = '[[equivalent]]\nid = "a"\nreason = "never outside"\nreviewed_by = "us"\non = 2026-11-30\n'
REVIEWED = {"a": Reviewed("a", "never outside", "us", datetime.date(2026, 11, 30))}


def read(tmp_path, text: str):
    path = tmp_path / "equivalent.toml"
    path.write_text(text)
    return read_equivalents(path)


def test_entries_are_read(tmp_path):
    assert read(tmp_path, f"schema = 1\nmetric = 'share'\n{ENTRY}") == REVIEWED
    assert read(tmp_path, "schema = 1") == {}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("schema = 1\n" + ENTRY + ENTRY, "names 'a' twice"),
        (ENTRY, "must have schema = 1"),
        ("schema = 2", "must have schema = 1"),
        ("schema = 1\nlimit = 3", "got schema, limit"),
        (
            "schema = 1\n[[equivalent]]\nid = 'a'",
            "entry 1: an entry has exactly id, reason, reviewed_by and on; got id",
        ),
        ("schema = 1\n" + ENTRY.replace("never outside", " "), "reason must be a non-blank text; got ' '"),
        ("schema = 1\n" + ENTRY.replace("2026-11-30", '"2026-11-30"'), "on must be a date; got '2026-11-30'"),
        ("schema = 1\nequivalent = [3]", "got int"),
        ("schema = ", "is not TOML"),
    ],
)
def test_what_is_wrong_with_the_file_is_said(tmp_path, text, message):
    with pytest.raises(EvalkitError, match=message):
        read(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(EvalkitError, match="cannot be read"):
        read_equivalents(tmp_path / "none.toml")


def test_a_reviewed_survivor_is_equivalent_with_its_reason():
    mutants = [Mutant(id="a", operator="clamp"), Mutant(id="b", operator="round")]
    first, second = check_equivalents(REVIEWED, mutants, "equivalent.toml")
    assert (first.status, first.note) == ("equivalent", "never outside (us, 2026-11-30)")
    assert second.status == "survived"


def test_a_stale_entry_is_an_error():
    with pytest.raises(EvalkitError, match=r"equivalent\.toml: names mutants that no longer exist: a"):
        check_equivalents(REVIEWED, [Mutant(id="b", operator="clamp")], "equivalent.toml")


def test_an_entry_that_a_case_kills_is_an_error():
    killed = Mutant(id="a", operator="clamp", status="killed", kills=(Kill("above", "value"),))
    with pytest.raises(EvalkitError, match=r"calls mutants equivalent that a case kills: a \(killed by above\)"):
        check_equivalents(REVIEWED, [killed], "equivalent.toml")
