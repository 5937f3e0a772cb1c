from __future__ import annotations

from pathlib import Path

import orjson

from evalkit.scoring.counted import count_records
from evalkit.scoring.records import Record


def record(line: int, **changed: object) -> dict[str, object]:
    blank = dict.fromkeys(Record._fields) | {
        "line": line, "case_id": f"c{line}", "slice": "default", "blocking": True, "state": "scored", "value": 1.0,
        "reason": "r" * line, "detail": {"required": 3}, "input_hash": "sha256:0", "contract_version": "1",
        "lineage": {},
    }  # fmt: skip
    return blank | changed


def test_places_are_those_of_the_file_whoever_wrote_it(tmp_path: Path) -> None:
    path = tmp_path / "records.jsonl"
    rows = [
        record(1, owner="judge"),  # an owner beside a score: written again without a ruling it would be shorter
        record(2, state="error", value=None),
        record(3, decision="review", blocking=False),
        record(4, decision="pass", value=0.5),
    ]
    # Another spacing than ours, as an editor may leave it.
    path.write_bytes(b"".join(orjson.dumps(row).replace(b'{"line":', b'{ "line":') + b"\n" for row in rows))
    counted = count_records(path)
    raw = path.read_bytes()
    found = [[orjson.loads(raw[s : s + n])["line"] for s, n in group] for group in counted.places.groups]
    assert found == [[2], [3], [1, 4]]
    values = counted.ledger.values["default"]
    assert (counted.ledger.lines, values.scored, values.denominators) == (4, 3, {3: 3})
    counted.ledger.check()
