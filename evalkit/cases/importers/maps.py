"""The map of an import: which column or path is which field of a label, and which value is which label. TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args

from evalkit.cases.labels import Selection
from evalkit.contract import EvalkitError, example_list

__all__ = ["FIELDS", "LabelMap", "Source", "map_from"]

FIELDS = (
    "case_id", "reviewer", "label", "criterion", "reason", "rubric_version", "labelled_on", "confidence", "provenance",
    "question", "answer", "retrieved",
)  # fmt: skip
"""Fields of a label, and what of the case the reviewer was shown."""

Doubles = Literal["refuse", "supersede"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where one field comes from: columns (or paths) in order of preference, or one constant for all."""

    columns: tuple[str, ...] = ()
    value: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)
    """What each written value means, where it is not taken as it is."""

    def in_words(self) -> str:
        """Return the source for a page."""
        where = f"{self.value!r} for all" if self.value is not None else " or ".join(map(repr, self.columns))
        table = ", ".join(f"{written} = {meaning}" for written, meaning in self.values.items())
        return f"{where} ({table})" if table else where


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelMap:
    """A declared mapping from an export to labels."""

    sources: Mapping[str, Source]
    """By field of a label."""
    values: Mapping[str, str | int | float] = field(default_factory=dict)
    """By written value, the label it is."""
    keep_values: bool = False
    """Whether a value that the table does not list is a label as it stands."""
    no_label: tuple[str, ...] = ()
    """Written values that say "no label"; counted, and left out by name."""
    criteria: tuple[str, ...] = ()
    """The criteria to import; all of them where none is named."""
    selection: Selection | None = None
    """How the cases were chosen: only a person knows, so it is asked for."""
    blind: bool | None = None
    date_format: str | None = None
    """As in ``strptime``, or ``epoch_ms``, where dates are not ISO."""
    doubles: Doubles = "refuse"
    """``supersede``: of two labels of one reviewer for one case and criterion, the later corrects the earlier."""
    records: tuple[str, ...] = ("[*]", "data[*]", "")
    """Paths to the records of a JSON document, in order of preference; ``""`` is the document itself."""
    encoding: str | None = None
    delimiter: str | None = None
    preset: str | None = None

    def lacking(self) -> list[str]:
        """Return what nobody but the user can say, each as the line of the map to add."""
        found = [f'{name} = "COLUMN"' for name in ("case_id", "label") if name not in self.sources]
        if "reviewer" not in self.sources:
            found.append('reviewer = "COLUMN"   # or { value = "r1" } where one person labelled all')
        if self.selection is None:
            found.append('selection = "random"   # or "targeted", "unknown": how were the cases chosen?')
        return found


_PLAIN = {f.name for f in fields(LabelMap)} - {"sources"}


def map_from(text: str, presets: Mapping[str, LabelMap]) -> LabelMap:
    """Return the map of a TOML file, or the preset of that name.

    Parameters
    ----------
    text : str
        The name of a preset, or the path of a file.
    presets : mapping of str to LabelMap

    Raises
    ------
    EvalkitError
        For a file that cannot be read, an unknown key or a value of the wrong kind.
    """
    if text in presets:
        return presets[text]
    path = Path(text)
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        msg = f"is neither a preset nor a file that can be read ({error.strerror or error})"
        raise EvalkitError(
            msg, where=text, do=f"presets are {', '.join(sorted(presets))}; a map is a .toml file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"is not valid TOML: {error}"
        raise EvalkitError(msg, where=text, do='a line is for example case_id = "Trace ID"') from None
    return _read(found, presets, text)


def _read(found: dict[str, Any], presets: Mapping[str, LabelMap], where: str) -> LabelMap:
    if unknown := [key for key in found if key not in _PLAIN | set(FIELDS)]:
        named = example_list([repr(key) for key in unknown])
        _refuse(where, f"has unknown keys: {named}", f"known are {', '.join(sorted(_PLAIN | set(FIELDS)))}")
    name = found.get("preset")
    if name is not None and not (isinstance(name, str) and name in presets):
        _refuse(where, f"there is no preset {name!r}", f"presets are {', '.join(sorted(presets))}")
    base = presets[name] if name else LabelMap(sources={})
    sources = {key: _source(key, found[key], where) for key in FIELDS if key in found}
    changed: dict[str, Any] = {"sources": {**base.sources, **sources}}
    for key in _PLAIN & found.keys() - {"preset"}:
        changed[key] = _plain(key, found[key], where)
    return replace(base, **changed)


def _refuse(where: str, message: str, do: str) -> NoReturn:
    raise EvalkitError(message, where=where, do=do)


def _source(key: str, value: Any, where: str) -> Source:
    if isinstance(value, str) and value:
        return Source(columns=(value,))
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return Source(columns=tuple(value))
    if not _is_source_table(value):
        do = f'for example {key} = "Trace ID"'
        _refuse(where, f"{key} must name a column, or be {{ value = ... }}; got {value!r:.60}", do)
    inner = _source(key, value["column"], where) if "column" in value else Source(value=str(value["value"]))
    return replace(inner, values={str(k): str(v) for k, v in value.get("values", {}).items()})


def _is_source_table(value: Any) -> bool:
    is_table = isinstance(value, dict) and value.keys() <= {"column", "value", "values"}
    return is_table and ("column" in value) != ("value" in value) and isinstance(value.get("values", {}), dict)


_EXPECTED: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    "values": (dict, 'a table [values] with lines such as "5" = "pass"'),
    "keep_values": (bool, "true or false"),
    "no_label": (list, "a list of written values"),
    "criteria": (list, "a list of criteria"),
    "selection": (str, f"one of {', '.join(get_args(Selection))}"),
    "blind": (bool, "true or false"),
    "date_format": (str, 'a format such as "%d.%m.%Y", or "epoch_ms"'),
    "doubles": (str, f"one of {', '.join(get_args(Doubles))}"),
    "records": ((str, list), "a path such as data[*]"),
    "encoding": (str, "an encoding such as latin-1"),
    "delimiter": (str, 'a character such as ";"'),
}


def _plain(key: str, value: Any, where: str) -> Any:
    kind, expected = _EXPECTED[key]
    allowed = {"selection": get_args(Selection), "doubles": get_args(Doubles)}.get(key)
    if not isinstance(value, kind) or (allowed and value not in allowed):
        _refuse(where, f"{key} must be {expected}; got {value!r:.60}", "correct that line of the map")
    if isinstance(value, dict):
        if bad := [
            label for label in value.values() if isinstance(label, bool) or not isinstance(label, str | int | float)
        ]:
            _refuse(where, f"a label is a text or a number; got {bad[0]!r:.60}", 'for example "TRUE" = "pass"')
        return value
    if isinstance(value, list):
        return tuple(map(str, value))
    return (value,) if key == "records" else value
