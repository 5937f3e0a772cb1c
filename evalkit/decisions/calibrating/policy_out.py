"""From a calibration to the policy file that rests on it, and the record beside it; comments of an old file stay."""

from __future__ import annotations

import tomllib
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from evalkit.contract import EvalkitError, sha256_file
from evalkit.decisions.calibrate import Calibration, SliceCalibration
from evalkit.decisions.calibrating.calibration_record import Basis, calibration_record
from evalkit.decisions.policy import next_version, read_policy
from evalkit.scoring.run import write_whole

__all__ = ["Approval", "PolicyOut", "write_policy"]


class Approval(NamedTuple):
    """What a person adds; without all three the policy only reports."""

    approved_by: str | None = None
    rationale: str | None = None
    expires_on: date | None = None

    def missing(self) -> list[str]:
        """Name what is absent, as options."""
        return [f"--{name.replace('_', '-')}" for name, value in self._asdict().items() if not value]


class PolicyOut(NamedTuple):
    """What was written."""

    policy: Path
    record: Path
    record_sha256: str
    mode: str


def write_policy(path: Path, found: Calibration, basis: Basis, approval: Approval) -> PolicyOut:
    """Write the policy and, beside it, the record that it names by hash.

    Certified slices get their threshold, the others ``decide = "review"``: people decide every row of them. The metric
    as it was calibrated is frozen, so that a gate with an edited metric is incomplete. An existing policy of the same
    metric keeps its comments, limits and overrides.

    Raises
    ------
    EvalkitError
        For an existing file that is no policy or one of another metric, or a file that cannot be written.
    """
    import tomlkit

    document = _existing(path, found.metric.name)
    record = path.with_name(f"{path.stem}.calibration.json")
    content = orjson.dumps(calibration_record(found, basis), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(record, content)
    mode = "report" if approval.missing() else "block"
    _fill(document, path, found, basis, approval, sha256_file(record))
    write_whole(path, tomlkit.dumps(document))
    written = read_policy(path)
    if written.problems:
        msg = f"evalkit wrote a policy that it cannot read: {'; '.join(written.problems)}"
        raise AssertionError(msg)
    return PolicyOut(path, record, sha256_file(record), mode)


def _existing(path: Path, metric: str) -> Any:
    import tomlkit

    if not path.exists():
        return tomlkit.document()
    try:
        document = tomlkit.parse(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomlkit.exceptions.ParseError, tomllib.TOMLDecodeError) as error:
        msg = f"exists and is not TOML: {error}"
        raise EvalkitError(msg, where=str(path), do="give --policy-out another name") from error
    if document.get("metric") != metric:
        msg = f"exists and is a policy of {document.get('metric')!r}, not of {metric!r}"
        raise EvalkitError(msg, where=str(path), do="give --policy-out another name")
    return document


def _fill(document: Any, path: Path, found: Calibration, basis: Basis, approval: Approval, record_sha: str) -> None:
    is_new = not document
    if is_new:
        _head(document, found)
    day = date.fromisoformat(basis.made_on)
    values: dict[str, Any] = {
        "schema": 1,
        "name": document.get("name", path.stem),
        "version": next_version(str(document.get("version") or ""), day),
        "mode": "report" if approval.missing() else "block",
        "metric": found.metric.name,
        "contract_version": found.metric.version,
        "approved_by": approval.approved_by,
        "approved_on": day if approval.approved_by else None,
        "expires_on": approval.expires_on,
        "rationale": approval.rationale,
        "basis": "calibrated",
        "calibration": record_sha,
    }
    if found.is_synthetic:
        values["scope"] = ["the synthetic example only"]
    for key, value in values.items():
        if value is None:
            document.pop(key, None)
        else:
            document[key] = value
    _slices(document, found)
    _frozen(document, basis)


def _head(document: Any, found: Calibration) -> None:
    import tomlkit

    options = found.options
    lines = [
        "Written by evalkit calibrate. A change of this file is reviewed like code.",
        f"Certified slices: at most {100 * options.max_false_pass:g} % of bad answers pass,",
        f"with {100 * options.confidence:g} % confidence over all of these slices together.",
    ]
    if found.is_synthetic:
        lines.append("The labels are SYNTHETIC: this certifies nothing outside the example.")
    for line in lines:
        document.add(tomlkit.comment(line))


def _slices(document: Any, found: Calibration) -> None:
    import tomlkit

    old = document.get("slices", {})
    table = tomlkit.table(is_super_table=True)
    # A slice that was not asked for keeps its limits only if the record speaks for it: it does not, so people decide.
    for name in dict.fromkeys([*found.slices, *old]):
        part = found.slices.get(name)
        limits = tomlkit.table()
        for line in _comments(part):
            limits.add(tomlkit.comment(_one_line(line)))
        for key, value in _limits(part, found).items():
            limits[key] = value
        for key in ("review_band", "critical"):
            if key in old.get(name, {}):
                limits[key] = old[name][key]
        table[name] = limits
    document["slices"] = table


def _comments(part: SliceCalibration | None) -> list[str]:
    if part is None:
        return ["Not calibrated in this run."]
    if part.refusals:
        return [f"Not certified: {reason}." for reason in part.refusals]
    if part.certified is None:
        return [f"Not certified: {part.labels_needed} more labelled fails needed."]
    sample = part.held_out.sample if part.held_out else part.sample
    line = part.held_out.threshold if part.held_out else part.shown()
    where = "held-out" if part.held_out else "labelled"
    errors = line.false_pass if line else 0
    meaning = part.shown().meaning if part.shown() else ""  # type: ignore[union-attr]
    return [*([f"In claims: {meaning}."] if meaning else []), f"{errors} of {sample.n_fail} {where} fails pass."]


def _one_line(text: str) -> str:
    """Keep control characters of a case id out of the comment, where TOML does not allow them."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _limits(part: SliceCalibration | None, found: Calibration) -> dict[str, Any]:
    if part is None or part.certified is None:
        return {"decide": "review"}
    if found.pairing.is_discrete:
        return {"require": sorted(found.options.reading.pass_values)}
    return {"minimum" if found.pairing.better == "higher" else "maximum": part.certified}


def _frozen(document: Any, basis: Basis) -> None:
    import tomlkit

    frozen = document.get("frozen") or tomlkit.table()
    frozen["metric_fingerprint"] = basis.metric_fingerprint
    if basis.judge is not None:
        frozen["judge"] = basis.judge
    document["frozen"] = frozen
