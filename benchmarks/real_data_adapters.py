"""Read real human-labelled data through adapters: clean audits, every corruption caught, the known figures reproduced.

Run it from the project's root: ``python benchmarks/real_data_adapters.py [FOLDER]`` (``../shared/data`` by default).
The data are public and not part of this project; without them the script says so and exits 2.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from expertqa import expertqa_policy
from real_adapters import EXPERTQA, EXPERTQA_FILE, WICE, WICE_FILE

from evalkit import evidence_coverage, gate
from evalkit.cases.adapters import Adapter
from evalkit.contract import Metric
from evalkit.mutate.audited import Audit
from evalkit.pages.bring_run import adapt
from evalkit.scoring.load_adapter import LoadedAdapter

DATA = Path(__file__).parents[2] / "shared/data"


def audited(adapter: Adapter, source: Path, folder: Path, metrics: list[Metric]) -> tuple[Audit, Path]:
    """Write the cases of a file, and return their audit and where they are."""
    out = folder / f"{adapter.name}.jsonl"
    return adapt(LoadedAdapter(adapter, None), source, out, metrics), out


def figures(data: Path, folder: Path) -> list[tuple[str, Any, Any]]:
    """Return each figure: its name, what was found, what was expected."""
    expertqa, cases = audited(EXPERTQA, data / EXPERTQA_FILE, folder, [evidence_coverage])
    slices = {str(row["slice"]): row for row in _rows(cases)}
    (folder / "policy.toml").write_text(expertqa_policy(list(slices.values())), encoding="utf-8")
    result = gate(evidence_coverage, cases, folder / "policy.toml")
    wice, _ = audited(WICE, data / WICE_FILE, folder, [])
    return [
        ("ExpertQA: traces", expertqa.rows, 217),
        ("ExpertQA: checks that fail", [check.name for check in expertqa.failed], []),
        *_planted("ExpertQA", expertqa, 19),
        (
            "ExpertQA: scored / invalid",
            (result.ledger.total(state="scored"), result.ledger.total(state="invalid")),
            (216, 1),
        ),
        ("ExpertQA: mean coverage", round(result.ledger.facts()["mean"], 3), 0.599),
        ("ExpertQA: adapter blockers", sum(blocker.kind == "adapter" for blocker in result.blockers), 0),
        ("WiCE: traces", wice.rows, 1070),
        ("WiCE: checks that fail", [check.name for check in wice.failed], []),
        *_planted("WiCE", wice, 13),
    ]


def _planted(name: str, found: Audit, killed: int) -> list[tuple[str, Any, Any]]:
    intact = sum(control.ok for control in found.controls)
    return [
        (
            f"{name}: planted faults caught",
            (len(found.matrix.of("killed")), len(found.matrix.of("survived"))),
            (killed, 0),
        ),
        (
            f"{name}: untouched controls scored",
            f"{intact} of {len(found.controls)}",
            f"{len(found.controls)} of {len(found.controls)}",
        ),
        (f"{name}: outcome", found.outcome.name, "passed"),
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    import json

    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> int:
    """Print each figure beside the one expected; exit 1 where they differ."""
    data = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    if not (data / EXPERTQA_FILE).exists():
        print(f"{EXPERTQA_FILE} is not here: give the folder that holds it")
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        found = figures(data, Path(scratch))
    for name, seen, wanted in found:
        print(f"{'ok  ' if seen == wanted else 'DIFF'} {name:36} {seen!r} expected {wanted!r}")
    return int(any(seen != wanted for _, seen, wanted in found))


if __name__ == "__main__":
    sys.exit(main())
