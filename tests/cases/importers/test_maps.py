"""Maps of an import: TOML, strict, with presets as a base; what nobody said is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalkit.cases.importers.maps import LabelMap, Source, map_from
from evalkit.cases.importers.presets import PRESETS
from evalkit.contract import EvalkitError


def read(tmp_path: Path, text: str) -> LabelMap:
    path = tmp_path / "map.toml"
    path.write_text(text, encoding="utf-8")
    return map_from(str(path), PRESETS)


def test_a_map_in_full(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        case_id = "Trace ID"
        reviewer = { value = "r1" }
        label = ["Verdict", "Score"]
        provenance = { column = "Kind", values = { human = "production" } }
        selection = "random"
        criteria = ["correct"]
        no_label = ["n/a", 0]
        doubles = "supersede"
        records = "items[*]"
        [values]
        TRUE = "pass"
        "5" = 5
        """,
    )
    assert found.sources["case_id"] == Source(columns=("Trace ID",))
    assert found.sources["reviewer"] == Source(value="r1")
    assert found.sources["label"] == Source(columns=("Verdict", "Score"))
    assert found.sources["provenance"] == Source(columns=("Kind",), values={"human": "production"})
    assert (found.selection, found.criteria, found.no_label) == ("random", ("correct",), ("n/a", "0"))
    assert (found.doubles, found.records, found.values) == ("supersede", ("items[*]",), {"TRUE": "pass", "5": 5})
    assert found.lacking() == []


def test_a_preset_is_a_base_that_a_map_completes(tmp_path: Path) -> None:
    found = read(tmp_path, 'preset = "langfuse"\nselection = "random"\nreviewer = { value = "me" }\n')
    assert found.sources["case_id"] == PRESETS["langfuse"].sources["case_id"]
    assert found.sources["reviewer"] == Source(value="me")
    assert found.preset == "langfuse"
    assert map_from("langfuse", PRESETS) is PRESETS["langfuse"]


def test_what_only_a_person_knows_is_asked_for() -> None:
    assert [line.split(" = ")[0] for line in LabelMap(sources={}).lacking()] == [
        "case_id",
        "label",
        "reviewer",
        "selection",
    ]
    for preset in PRESETS.values():
        assert [line.split(" = ")[0] for line in preset.lacking()] == ["selection"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("lable = 'x'", "has unknown keys: 'lable'"),
        ("preset = 'trulens'", "there is no preset 'trulens'; presets are langfuse, langsmith, mlflow, phoenix"),
        ("preset = []", r"there is no preset \[\]; presets are langfuse"),
        ("preset = ''", "there is no preset ''"),
        ("case_id = 5", "case_id must name a column"),
        ("case_id = { value = 'x', column = 'y' }", "case_id must name a column"),
        ("case_id = { colum = 'y' }", "case_id must name a column"),
        ("selection = 'convenient'", "selection must be one of random, targeted, unknown; got 'convenient'"),
        ("doubles = 'last'", "doubles must be one of refuse, supersede"),
        ("keep_values = 'yes'", "keep_values must be true or false"),
        ("[values]\nx = true", "a label is a text or a number; got True"),
        ("[values]\nx = ['a']", "a label is a text or a number"),
        ("not toml", "is not valid TOML"),
    ],
)
def test_a_map_that_cannot_be_meant_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(EvalkitError, match=told):
        read(tmp_path, text)


def test_neither_preset_nor_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvalkitError, match="is neither a preset nor a file that can be read"):
        map_from("nowhere.toml", PRESETS)
