"""Gate real human-labelled answers and compare with the figures that a correct implementation reproduces.

Run it from the project's root: ``python benchmarks/real_data.py [FOLDER]`` (``../shared/data`` by default). The data
are public and not part of this project; without them the script says so and exits 2.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import fmean

from expertqa import FILE, expertqa_cases, expertqa_policy

from evalkit import GateResult, evidence_coverage, gate
from evalkit.scoring.run import RunWriter

DATA = Path(__file__).parents[2] / "shared/data"


def gate_expertqa(source: Path, folder: Path) -> tuple[GateResult, dict[str, list[float]]]:
    """Write cases and policy into `folder`, gate them, and return the result and the values by usefulness."""
    cases = list(expertqa_cases(source))
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    (folder / "policy.toml").write_text(expertqa_policy(cases), encoding="utf-8")
    with RunWriter(folder / "records") as writer:
        result = gate(evidence_coverage, folder / "cases.jsonl", folder / "policy.toml", sink=writer)
        writer.close_records()
    usefulness: dict[str, list[float]] = {}
    for line in (folder / "records/records.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        if record["state"] == "scored":
            usefulness.setdefault(record["evidence"]["usefulness"], []).append(record["value"])
    return result, usefulness


def main() -> int:
    """Print each figure beside the one expected; exit 1 where they differ."""
    source = (Path(sys.argv[1]) if len(sys.argv) > 1 else DATA) / FILE
    if not source.exists():
        print(f"{FILE} is not here: give the folder that holds it")
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        result, usefulness = gate_expertqa(source, Path(scratch))
    ledger = result.ledger
    values = [value for block in ledger.values.values() for value in block.by_value().elements()]
    expected = [
        ("answers", ledger.lines, 217),
        ("scored", ledger.total(state="scored"), 216),
        ("invalid (no scorable claim)", ledger.total(state="invalid"), 1),
        ("mean coverage of the scored", round(fmean(values), 3), 0.599),
        ("answers at 1.0", values.count(1.0), 49),
        ("answers at 0.0", values.count(0.0), 28),
        ("mean where useful (173)", round(fmean(usefulness["Useful"]), 2), 0.61),
        ("mean where partially useful (37)", round(fmean(usefulness["Partially useful"]), 2), 0.53),
        ("mean where not useful (6)", round(fmean(usefulness["Not useful at all"]), 2), 0.58),
        ("outcome", result.outcome.name, "incomplete"),
    ]
    for name, found, wanted in expected:
        print(f"{'ok  ' if found == wanted else 'DIFF'} {name:34} {found!r:>12} expected {wanted!r}")
    print("Coverage does not predict usefulness here: it is reported, and nothing is calibrated on it.")
    return int(any(found != wanted for _, found, wanted in expected))


if __name__ == "__main__":
    sys.exit(main())
