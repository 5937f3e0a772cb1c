"""What notebook 02 does: the cases that merely reach every line, what survives them, and what one more case changes."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from evalkit.cases.locate import locate
from evalkit.contract import Metric, sha256_of
from evalkit.mutate import KillMatrix, Mutant, kill_matrix
from evalkit.pages.notebooks.page import Conclusion

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Broken", "Mended", "add_case", "break_metric", "case_counts", "concluded", "layers_frame"]


class Broken(NamedTuple):
    """A metric with every fault planted in it, against its whole suite and against a tempting part of it."""

    metric: Metric
    folder: Path
    full: KillMatrix
    """All cases; each mutant met each of them."""
    covering: tuple[str, ...]
    """The fewest cases found that reach every line the whole suite reaches."""
    reached: int
    """Lines that `covering` reaches, of `lines`."""
    lines: int
    tempting: KillMatrix
    """Only the covering cases."""


class Mended(NamedTuple):
    """The covering cases with one more."""

    case: Mapping[str, Any]
    """Empty where none was suggested."""
    killed: tuple[Mutant, ...]
    """The mutants that the one case kills and the covering ones did not."""
    matrix: KillMatrix


def break_metric(metric: Metric, folder: str) -> Broken:
    """Mutate a metric against ``contract.jsonl`` of a fixture folder, and against the cases that merely reach it all.

    Where the folder also holds ``policy.toml`` and ``release.jsonl``, the faults of policy and gate are planted too.
    """
    place = locate(folder)
    policy, rows = place / "policy.toml", place / "release.jsonl"
    # No limit can decide a ranking, so its policy has nothing to plant a fault in.
    is_decided = metric.kind != "ranking" and policy.is_file() and rows.is_file()
    layer = {"policy": policy, "rows": rows} if is_decided else {}
    full = kill_matrix(metric, place / "contract.jsonl", full=True, **layer)  # type: ignore[arg-type] # two paths
    lines = full.facts["reached_lines"]
    covering = _covering(lines["by_case"])
    reached = {line for name in covering for line in lines["by_case"][name]}
    tempting = _with_only(metric, place, covering)
    return Broken(metric, place, full, covering, len(reached), len(lines["of"]), tempting)


def _covering(by_case: Mapping[str, Sequence[int]]) -> tuple[str, ...]:
    """Take, again and again, the case that reaches most lines not reached yet (the first of equals)."""
    missing = {line for lines in by_case.values() for line in lines}
    chosen: list[str] = []
    while missing:
        best = max(by_case, key=lambda name: len(missing & set(by_case[name])))
        chosen.append(best)
        missing -= set(by_case[best])
    return tuple(name for name in by_case if name in chosen)


def _with_only(metric: Metric, folder: Path, names: Sequence[str], *more: Mapping[str, Any]) -> KillMatrix:
    equivalent = folder / "equivalent.toml"
    kept = [line for line in _lines(folder) if orjson.loads(line)["case_id"] in set(names)]
    with tempfile.TemporaryDirectory(prefix="evalkit-cases-") as place:
        path = Path(place) / "contract.jsonl"
        path.write_bytes(b"\n".join([*kept, *(orjson.dumps(case) for case in more)]) + b"\n")
        return kill_matrix(metric, path, equivalent=equivalent if equivalent.is_file() else None)


def _lines(folder: Path) -> list[bytes]:
    return [line for line in (folder / "contract.jsonl").read_bytes().splitlines() if line.strip()]


def add_case(broken: Broken) -> Mended:
    """Add one suggested case to the covering ones, the one suggested for most survivors, and mutate again.

    Where none was suggested, the covering cases catch all that can be caught, and nothing is added.
    """
    suggested: dict[bytes, list[Mapping[str, Any]]] = {}
    for mutant in broken.tempting.of("survived"):
        if mutant.suggested_case:
            inputs = {key: value for key, value in mutant.suggested_case.items() if key != "case_id"}
            suggested.setdefault(orjson.dumps(inputs), []).append(mutant.suggested_case)
    if not suggested:
        return Mended({}, (), broken.tempting)
    case = min(suggested.items(), key=lambda found: (-len(found[1]), len(found[0]), found[0]))[1][0]
    matrix = _with_only(broken.metric, broken.folder, broken.covering, case)
    left = {mutant.id for mutant in broken.tempting.of("survived")}
    return Mended(case, tuple(m for m in matrix.of("killed") if m.id in left), matrix)


def layers_frame(broken: Broken) -> pd.DataFrame:
    """Return how many faults of each layer were killed, and of how many."""
    import pandas as pd

    parts = {layer: broken.full.part(layer) for layer in dict.fromkeys(m.layer for m in broken.full.mutants)}
    rows = {layer: (len(part.of("killed")), part.denominator) for layer, part in parts.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["killed", "of"]).rename_axis("faults in the")


def case_counts(broken: Broken) -> dict[str, int]:
    """Return how many cases there are of each role."""
    roles = [str(orjson.loads(line).get("role", "none given")) for line in _lines(broken.folder)]
    return {role: roles.count(role) for role in sorted(set(roles))}


def concluded(broken: Broken) -> Conclusion:
    """Return what the page comes to: the whole suite's matrix."""
    matrix = broken.full
    left = [f"{m.id} survives: {m.diff.splitlines()[-1] if m.diff else m.description}" for m in matrix.of("survived")]
    statuses = {mutant.id: mutant.status for mutant in matrix.mutants}
    kept = ("metric", "contract_version", "metric_fingerprint", "cases_sha256")
    return Conclusion(
        outcome=matrix.outcome,
        sentences=tuple(left) or (() if matrix.score is not None else ("nothing could be planted",)),
        figures={
            "cases": len(matrix.part("metric").cases),
            "mutants": len(matrix.mutants),
            "killed": len(matrix.of("killed")),
            "survived": len(matrix.of("survived")),
            "equivalent": len(matrix.of("equivalent")),
            "not_applicable": len(matrix.of("not_applicable")),
            "score": matrix.score,
            "covering.cases": len(broken.covering),
            "covering.lines": broken.reached,
            "covering.killed": len(broken.tempting.of("killed")),
            "covering.survived": len(broken.tempting.of("survived")),
        },
        outcome_hash=sha256_of({name: matrix.facts[name] for name in kept} | {"statuses": statuses}),
    )
