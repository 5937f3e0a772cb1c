"""How well the passage lookup of a triage finds what people marked, on WiCE; and that it proves no support.

``python benchmarks/lookup_wice.py PATH/oracle_claim_test.jsonl``. Each claim comes with sentences, some of which people
marked as its support, and with a label of how far these support it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from evalkit.cases.lookup import Match, look_for

Rows = dict[str, list[dict[str, Any]]]


def read(path: Path) -> Rows:
    """Group the rows by claim: one claim has several sets of evidence."""
    claims: Rows = defaultdict(list)
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            claims[row["meta"]["id"]].append(row)
    return claims


def marked(rows: list[dict[str, Any]]) -> set[int]:
    """Return the places of the sentences that people marked in any of a claim's rows."""
    wanted = {index for row in rows for index in row["meta"].get("oracle_idx", [])}
    return {place for place, index in enumerate(rows[0]["meta"]["chunk_idx"]) if index in wanted}


def find(claims: Rows) -> None:
    """Print how often one of the first sentences found is one that people marked."""
    hits, n, calls = dict.fromkeys((1, 3, 5), 0), 0, 0
    start = time.perf_counter()
    for rows in claims.values():
        if not (gold := marked(rows)):
            continue
        scores = [look_for(rows[0]["claim"], sentence).score for sentence in rows[0]["evidence"]]
        calls += len(scores)
        order = sorted(range(len(scores)), key=lambda place: -scores[place])
        n += 1
        for k in hits:
            hits[k] += not gold.isdisjoint(order[:k])
    each = 1e6 * (time.perf_counter() - start) / calls
    print(f"a marked sentence is among the first k of {n} claims: " + _shares(hits, n) + f"; {each:.0f} us a sentence")


def _shares(hits: dict[int, int], n: int) -> str:
    return ", ".join(f"k={k} {count / n:.3f}" for k, count in hits.items())


def separate(claims: Rows) -> None:
    """Print what the lookup says of the joined evidence of each claim, by label."""
    best: dict[str, list[Match]] = defaultdict(list)
    for rows in claims.values():
        found = [look_for(row["claim"], " ".join(row["evidence"])) for row in rows]
        best[rows[0]["label"]].append(max(found, key=lambda match: (not match.missing_numbers, match.score)))
    for label, matches in best.items():
        counts = {word: sum(m.sighting == word for m in matches) for word in ("found", "unclear", "absent")}
        print(f"  {label:20} n={len(matches):3}  " + ", ".join(f"{word} {n}" for word, n in counts.items()))
    good = [_rank(match) for match in best["supported"]]
    rest = [_rank(match) for label, matches in best.items() if label != "supported" for match in matches]
    print(f"  AUROC of supported against the rest: {_auroc(good, rest):.3f} (0.5 says nothing, 1 would be a judge)")


def _rank(match: Match) -> float:
    return match.score - bool(match.missing_numbers)


def _auroc(good: list[float], rest: list[float]) -> float:
    return sum((a > b) + 0.5 * (a == b) for a in good for b in rest) / (len(good) * len(rest))


def main() -> None:
    """Parse the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path)
    claims = read(parser.parse_args().path)
    find(claims)
    separate(claims)


if __name__ == "__main__":
    main()
