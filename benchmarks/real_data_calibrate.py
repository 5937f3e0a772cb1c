"""Calibrate on public human labels and compare with the figures that a correct implementation reproduces.

Run it from the project's root: ``python benchmarks/real_data_calibrate.py [FOLDER]`` (``../shared/data`` by default).
FRANK (artidoro/frank), WiCE in its oracle-retrieval version (ryokamoi/wice) and PandaLM (WeOpenML/PandaLM) are public
and not part of this project; without them the script says so and exits 2.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from human_labels import Files, frank, pandalm, wice

from evalkit import load_metric, score_cases
from evalkit.cases.labels import read_labels
from evalkit.cases.settle import settle
from evalkit.decisions.agreement import agreement_of, cohen_kappa
from evalkit.decisions.calibrate import CalibrateOptions
from evalkit.decisions.calibrating.pairing import Reading
from evalkit.pages.calibrate_run import CalibrateDone, CalibrateFiles, run_calibrate

DATA = Path(__file__).parents[2] / "shared/data"
METRICS = Path(__file__).with_name("stored_scores.py")
SUPPORTED = Reading(
    passes=frozenset({"supported"}),
    fails=frozenset({"partially_supported", "not_supported"}),
    pass_values=frozenset({"supported"}),
)


class Figure(NamedTuple):
    """A figure beside the one expected; ``None`` where it is only reported."""

    name: str
    found: Any
    expected: Any = None


def calibrated(files: Files, metric: str, parameter: str, key: str, **options: Any) -> CalibrateDone:
    """Calibrate one stored column."""
    ledger = options.pop("ledger", None)
    wanted = CalibrateFiles(labels=files.labels, ledger=ledger, feeds={parameter: key})
    return run_calibrate(f"{METRICS}:{metric}", files.cases, CalibrateOptions(**options), wanted)


def frank_figures(source: Path, folder: Path) -> Iterator[Figure]:
    """Yield the area under the curve of six metrics, then the certificate of the best one."""
    alone = frank(source, folder / "frank", split=False)
    areas = {
        "bert_score_p_art": 0.823,
        "factcc": 0.770,
        "qags": 0.758,
        "feqa": 0.732,
        "rouge_l": 0.605,
        "dep_entail": 0.604,
    }
    absent = {"dep_entail": 83, "feqa": 4}
    for key, expected in areas.items():
        part = calibrated(alone, "stored_score", "score", key).facts["slices"]["default"]
        yield Figure(f"FRANK {key}: AUROC", round(part["auroc"], 3), expected)
        yield Figure(f"FRANK {key}: rows without a score", part["states"].get("invalid", 0), absent.get(key, 0))
        if key == "bert_score_p_art":
            yield Figure("FRANK: fully factual", part["n_pass_labels"], 810)
            yield Figure("FRANK: summaries", part["n"], 2246)
    split = frank(source, folder / "frank-split", split=True)
    for risk, confidence in ((0.05, 0.95), (0.2, 0.9)):
        done = calibrated(
            split, "stored_score", "score", "bert_score_p_art",
            max_false_pass=risk, confidence=confidence, ledger=folder / f"frank-{risk}.jsonl",
        )  # fmt: skip
        part = done.facts["slices"]["default"]
        line = f"FRANK BertScore-P-Art, {risk:.0%} at {confidence:.0%}"
        yield Figure(f"{line}: chosen on {part['n_fail_labels']} fails", part["chosen_threshold"])
        yield Figure(f"{line}: certified on {part['held_out']['n_fail_labels']} fails", part["certified_threshold"])


def wice_figures(source: Path, folder: Path) -> Iterator[Figure]:
    """Yield two recorded judges and two support models against the claims' labels."""
    files = wice(source, folder / "wice")
    for key, agree, kappa in (("gpt_4", 77, 0.462), ("gpt_3_5", 39, 0.063)):
        facts = calibrated(files, "support_verdict", "entailment", key, reading=SUPPORTED).facts
        found = facts["agreement"]["metric_human"]
        yield Figure(f"WiCE {key}: agreeing of {found['n']}", found["agree"], agree)
        yield Figure(f"WiCE {key}: kappa", round(found["kappa"], 3), kappa)
        line = facts["slices"]["default"]["thresholds"][0]
        yield Figure(f"WiCE {key}: certified", facts["slices"]["default"]["certified_threshold"], None)
        if key == "gpt_4":
            yield Figure("WiCE gpt_4: bad that pass", line["false_pass"], 19)
            yield Figure("WiCE gpt_4: passes", line["passes"], 37)
            yield Figure("WiCE gpt_4: good that fail", line["false_fail"], 4)
    for key, area in (("t5_anli", 0.863), ("t5_wice", 0.934)):
        part = calibrated(files, "stored_score", "score", key, reading=SUPPORTED).facts["slices"]["default"]
        yield Figure(f"WiCE {key}: AUROC over {part['n']} claims", round(part["auroc"], 3), area)


def pandalm_figures(source: Path, folder: Path) -> Iterator[Figure]:
    """Yield agreement among three people, and of two judges with their majority."""
    files = pandalm(source, folder / "pandalm")
    settled = settle(read_labels(files.labels).labels)
    people = agreement_of(settled.values())
    for pair, kappa in zip(people.pairs, (0.852, 0.879, 0.862), strict=True):
        yield Figure(f"PandaLM {pair.first} / {pair.second}: kappa", round(pair.kappa.kappa or 0, 3), kappa)
    yield Figure("PandaLM: all three agree", sum(case.how == "agreement" for case in settled.values()), 879)
    yield Figure("PandaLM: two against one", people.adjudicated, 120)
    yield Figure("PandaLM: nobody agrees", people.conflicts, 0)
    metric = load_metric(f"{METRICS}:preferred_response")
    for key, share, garbage in (("gpt_3_5", 0.693, 25), ("pandalm_7b", 0.668, 0)):
        records = list(score_cases(metric, files.cases, feeds={"verdict": key}))
        scored = [record for record in records if record.state == "scored"]
        labels = [settled[str(r.case_id)].label for r in scored]
        found = cohen_kappa([str(r.value) for r in scored], labels)
        yield Figure(f"PandaLM {key}: verdicts that are none end as error", len(records) - len(scored), garbage)
        yield Figure(f"PandaLM {key}: majority met, of all {len(records)}", round(found.agree / len(records), 3), share)
        # GPT-3.5 writes "Tie" where people write 0; the published figure compares the words as they stand.
        tied = cohen_kappa(["0" if r.value == "Tie" else str(r.value) for r in scored], labels)
        yield Figure(f"PandaLM {key}: the same with Tie read as 0", round(tied.agree / len(records), 3))
        yield Figure(f"PandaLM {key}: of the {tied.n} that gave a verdict", round(tied.share or 0, 3))


def main() -> int:
    """Print each figure beside the one expected; exit 1 where they differ."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else DATA
    sets = {"frank": frank_figures, "wice": wice_figures, "pandalm": pandalm_figures}
    if missing := [name for name in sets if not (source / name).is_dir()]:
        print(f"{', '.join(missing)} not here: give the folder that holds them")
        return 2
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, figures in sets.items():
            for figure in figures(source / name, Path(scratch)):
                is_wrong = figure.expected is not None and figure.found != figure.expected
                wrong += is_wrong
                mark = "DIFF" if is_wrong else "ok  " if figure.expected is not None else "    "
                expected = f" expected {figure.expected!r}" if figure.expected is not None else ""
                print(f"{mark} {figure.name:70} {figure.found!r:>8}{expected}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
