"""FRANK, WiCE and PandaLM as cases and labels files: what a user would write to calibrate on them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Files", "frank", "pandalm", "wice"]

FRANK_SCORES = {
    "bert_score_p_art": "BertScore P Art",
    "factcc": "FactCC",
    "qags": "QAGS",
    "feqa": "FEQA",
    "rouge_l": "Rouge L",
    "dep_entail": "Dep Entail",
}
_PARTITION = {"valid": "calibration", "test": "held_out"}


class Files(NamedTuple):
    """A file of cases and a file of labels."""

    cases: Path
    labels: Path


def _written(folder: Path, cases: Iterable[dict[str, Any]], labels: Iterable[dict[str, Any]]) -> Files:
    folder.mkdir(parents=True)
    files = Files(folder / "cases.jsonl", folder / "labels.jsonl")
    for path, rows in zip(files, (cases, labels), strict=True):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return files


def frank(source: Path, folder: Path, *, split: bool) -> Files:
    """Write FRANK's 2,246 summaries with six stored scores; its mean factuality of 1.0 is a pass.

    Parameters
    ----------
    source, folder : Path
    split : bool
        Families are articles, FRANK's own split gives calibration (valid) and held-out (test) rows. Without it every
        row stands alone, which is how published figures count them.
    """
    scores = json.loads((source / "baseline_factuality_metrics_outputs.json").read_text(encoding="utf-8"))
    people = json.loads((source / "human_annotations.json").read_text(encoding="utf-8"))
    factuality = {(row["hash"], row["model_name"]): row["Factuality"] for row in people}
    cases, labels = [], []
    for row in scores:
        case_id = f"{row['hash']}/{row['model_name']}"
        # A score that is not there stays away from the row: what is missing never becomes a number.
        kept = {key: row[name] for key, name in FRANK_SCORES.items() if isinstance(row.get(name), int | float)}
        finite = {key: float(value) for key, value in kept.items() if value == value}
        where = {"family": row["hash"], "partition": _PARTITION[row["split"]]} if split else {}
        cases.append({"case_id": case_id, **where, **finite})
        is_pass = factuality[row["hash"], row["model_name"]] == 1.0
        labels.append(_label(case_id, "frank", "pass" if is_pass else "fail"))
    return _written(folder, cases, labels)


def _label(case_id: str, reviewer: str, label: str, **more: Any) -> dict[str, Any]:
    # The sets were sampled by their makers; taking them as random draws is this benchmark's assumption.
    return {"case_id": case_id, "reviewer": reviewer, "label": label, "selection": "random", **more}


def wice(source: Path, folder: Path) -> Files:
    """Write WiCE's 358 test claims with two models' support scores (the maximum over a claim's evidence sets).

    The verdicts of GPT-4 and GPT-3.5 stand beside the 100 claims that they judged. "Supported" is a pass.
    """
    lines = (source / "oracle_claim_test.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    models = {
        key: list(map(float, (source / f"{name}.test.entailment_score.txt").read_text().split()))
        for key, name in (("t5_anli", "t5-3b-anli"), ("t5_wice", "t5-3b-anli-wice"))
    }
    judges = {
        key: json.loads((source / f"{name}.test.entailment_score.json").read_text())
        for key, name in (("gpt_4", "gpt-4-0613"), ("gpt_3_5", "gpt-3.5-turbo-0613"))
    }
    cases: dict[str, dict[str, Any]] = {}
    labels: dict[str, dict[str, Any]] = {}
    for i, row in enumerate(rows):
        case_id = row["meta"]["id"]
        case = cases.setdefault(case_id, {"case_id": case_id, "evidence": {"question": row["claim"]}})
        for key, scores in models.items():
            case[key] = max(case.get(key, 0.0), scores[i])
        case |= {key: verdicts[case_id] for key, verdicts in judges.items() if case_id in verdicts}
        labels[case_id] = _label(case_id, "wice", row["label"])
    return _written(folder, cases.values(), labels.values())


def pandalm(source: Path, folder: Path) -> Files:
    """Write PandaLM's 999 pairs with three reviewers each; the majority adjudicates where they disagree."""
    rows = json.loads((source / "testset-v1.json").read_text(encoding="utf-8"))
    verdicts = {
        "gpt_3_5": _verdicts(source / "gpt-3.5-turbo-testset-v1.json", "gpt_result"),
        "pandalm_7b": _verdicts(source / "pandalm-7b-testset-v1.json", "pandalm_result"),
    }
    cases, labels = [], []
    for row in rows:
        case_id = str(row["idx"])
        cases.append({"case_id": case_id} | {key: found[case_id] for key, found in verdicts.items()})
        said = [str(row[f"annotator{i}"]) for i in (1, 2, 3)]
        labels += [_label(case_id, f"annotator-{i}", label) for i, label in enumerate(said, 1)]
        winner, count = Counter(said).most_common(1)[0]
        if count == 2:
            labels.append(_label(case_id, "adjudication", winner))
    return _written(folder, cases, labels)


def _verdicts(path: Path, key: str) -> dict[str, str]:
    return {str(row["idx"]): str(row[key]) for row in json.loads(path.read_text(encoding="utf-8"))}
