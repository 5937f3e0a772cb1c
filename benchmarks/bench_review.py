"""A step of the threshold slider, at 5,000 and 50,000 rows, against 200 ms; the first sight of the discussion, too.

A step moves the rule and works out confusion by slice, the rows around it and the chosen row's evidence, or (in decide
mode) every row that flips and the difference of the policy file. What the browser draws afterwards is not in it.
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from coverage_rows import POLICY
from measuring import Row, Size, run_alone, seconds

from evalkit.decisions.meeting.review import Review, open_review
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.pages.review.widget import ThresholdReview

TARGET = 0.2
CLAIMS = [f"claim-{number}" for number in range(20)]


def write_meeting(folder: Path, n: int, rng: random.Random) -> None:
    """Write `n` rows over three slices with up to 20 claims each, and labels of every other one."""
    rows, labels = [], []
    for i in range(n):
        required = CLAIMS[: rng.randint(1, 20)]
        supported = required[: rng.randint(0, len(required))]
        texts = {claim: f"The rule {claim} of case {i} is so." for claim in required}
        evidence = {"question": f"What of {i}?", "answer": " ".join(texts[c] for c in supported), "claims": texts}
        slice_name = ("default", "billing-critical", "multilingual")[i % 3]
        ids = {"required_claim_ids": required, "supported_claim_ids": supported}
        rows.append({"case_id": f"case-{i:06d}", "slice": slice_name, "evidence": evidence, **ids})
        if i % 2:
            word = "pass" if rng.random() < len(supported) / len(required) else "fail"
            labels.append({"case_id": f"case-{i:06d}", "reviewer": "r1", "label": word, "selection": "targeted"})
    for name, lines in (("rows", rows), ("labels", labels)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "policy.toml").write_text(POLICY, encoding="utf-8")


def open_one(folder: Path) -> Review:
    """Open the meeting over what `write_meeting` wrote."""
    return open_review(
        evidence_coverage,
        folder / "rows.jsonl",
        folder / "policy.toml",
        folder / "labels.jsonl",
        folder=folder / "review",
        as_of=date(2026, 12, 1),
    )


def steps(widget: ThresholdReview, mode: str) -> list[float]:
    """Move the slider through all its stops and time each."""
    widget.mode = mode
    slider = widget.room.thresholds.slider
    spent = []
    for _, stop in list(slider.options)[::2][:40]:
        start = time.perf_counter()
        slider.value = stop
        spent.append(time.perf_counter() - start)
    return spent


def measure(size: Size) -> Iterator[Row]:
    """Measure steps of both modes, and the first sight of the discussion."""
    for n in (size.of(5_000, 50), size.of(50_000, 100)):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_meeting(folder, n, random.Random(n))
            widget = ThresholdReview(open_one(folder), reviewer="anna")
            widget.mode = "discuss"
            first = seconds(widget.open_votes.click)
            for mode in ("discuss", "decide"):
                spent = steps(widget, mode)
                yield Row(
                    what=f"a step of the threshold slider over {n:,} rows, mode {mode}",
                    against=f"{1e3 * TARGET:.0f} ms",
                    ratios=[step / TARGET for step in spent],
                    most=1,
                    note=f"first sight of the discussion {first:.1f} s" if mode == "discuss" else "",
                )


if __name__ == "__main__":
    run_alone(measure, __doc__)
