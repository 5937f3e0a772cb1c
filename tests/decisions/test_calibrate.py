"""From scores and labels to certificates: slices, partitions, degenerate data, the held-out look, two ways to count."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from labelled_rows import SHARE, WORD, label, record, separable, world

from evalkit.cases.labels import Label
from evalkit.contract import EvalkitError, Outcome, make_metric
from evalkit.decisions.calibrate import CalibrateOptions, calibrate
from evalkit.decisions.calibrating.calibration_record import calibration_facts
from evalkit.scoring.records import Record

EASY = CalibrateOptions(max_false_pass=0.2, confidence=0.9)


def split_world(
    partitions: dict[str, list[tuple[float, str]]], slice_name: str = "s"
) -> tuple[list[Record], list[Label]]:
    records: list[Record] = []
    labels: list[Label] = []
    for partition, values in partitions.items():
        prefix = f"{slice_name}-{partition}-"
        made, said = world(values, prefix=prefix, partition=partition, slice=slice_name)
        records += made
        labels += said
    return records, labels


def test_a_slice_with_enough_fails_is_certified_and_exit_code_is_0() -> None:
    found = calibrate(SHARE, *world(separable(59)))
    assert found.certified == {"s": 1.0}
    assert found.outcome is Outcome.passed


def test_one_label_short_says_exactly_one_and_the_exit_code_is_3() -> None:
    found = calibrate(SHARE, *world(separable(58)))
    part = found.slices["s"]
    assert (part.certified, part.labels_needed) == (None, 1)
    assert part.certificate.bound == pytest.approx(1 - 0.05 ** (1 / 58))
    assert found.outcome is Outcome.review_required


def test_the_lowest_certified_threshold_is_chosen_and_one_error_is_allowed_where_labels_allow_it() -> None:
    values = [(0.2, "fail")] * 21 + [(0.7, "fail")] + [(0.7, "pass")] * 5 + [(1.0, "pass")] * 10
    # one slice at 90 %: P(X <= 1), X ~ Binomial(22, 0.2) = 0.048 <= 0.1
    assert calibrate(SHARE, *world(values), EASY).certified == {"s": 0.7}


def test_slices_are_certified_together_and_the_small_one_says_what_it_lacks() -> None:
    records: list[Record] = []
    labels: list[Label] = []
    for name, n in (("a", 14), ("b", 14), ("small", 3)):
        made, said = world(separable(n), prefix=f"{name}-", slice=name)
        records += made
        labels += said
    found = calibrate(SHARE, records, labels, EASY)
    assert found.family.levels == {"a": pytest.approx(0.05), "b": pytest.approx(0.05)}
    assert found.certified == {"a": 1.0, "b": 1.0}
    # a third slice gets 0.1 / 3 and needs 16 fails (0.8**16 = 0.028, 0.8**15 = 0.035)
    assert found.slices["small"].labels_needed == 13
    assert found.outcome is Outcome.review_required


def test_pooling_is_described_and_never_certified() -> None:
    found = calibrate(SHARE, *world(separable(200)))
    assert found.overall.sample.n_fail == 200
    assert found.overall.certified is None
    assert calibration_facts(found)["overall"]["certified_threshold"] is None


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ([], Outcome.incomplete),
        ([(1.0, "pass")], Outcome.review_required),
        ([(1.0, "fail")], Outcome.review_required),
        ([(0.5, "pass")] * 30, Outcome.review_required),
        ([(0.5, "fail")] * 30, Outcome.review_required),
        ([(0.5, "pass"), (0.5, "fail")] * 15, Outcome.review_required),
        ([(0.5, None)] * 5, Outcome.review_required),
    ],
    ids=["nothing", "n = 1", "one bad", "one class", "all bad", "all values equal", "no label"],
)
def test_degenerate_data_is_not_defined_and_never_nan_or_a_crash(
    values: list[tuple[float, str | None]], outcome: Outcome
) -> None:
    found = calibrate(SHARE, *world(values))
    assert found.outcome is outcome
    assert found.certified == {}
    assert list(not_finite(calibration_facts(found))) == []


def not_finite(facts: Any) -> Iterator[float]:
    if isinstance(facts, dict):
        facts = list(facts.values())
    if isinstance(facts, list | tuple):
        for value in facts:
            yield from not_finite(value)
    elif isinstance(facts, float) and not math.isfinite(facts):
        yield facts


def test_nothing_scored_is_incomplete() -> None:
    lost = [record("a", None), record("b", None)]
    found = calibrate(SHARE, lost, [label(lost[0], "pass")])
    assert found.outcome is Outcome.incomplete


def test_targeted_labels_describe_themselves_and_certify_nothing() -> None:
    records, labels = world(separable(100), label_more={"selection": "targeted"})
    part = calibrate(SHARE, records, labels).slices["s"]
    assert part.is_described_only
    assert part.table[0].n_fail == 100
    assert (part.certified, part.labels_needed, part.certificate.bound) == (None, 59, None)
    assert (part.table[0].p_value, part.table[0].bound) == (None, None)


def test_a_refused_slice_is_not_certified_whatever_its_numbers_are() -> None:
    records, labels = world(separable(100))
    labels.append(label(records[0], "pass", 999, reviewer="r2"))
    found = calibrate(SHARE, records, labels)
    assert "disagree" in found.slices["s"].refusals[0]
    assert found.certified == {}


def test_lower_is_better_chooses_a_maximum() -> None:
    contract = replace(SHARE.contract, better="lower") if SHARE.contract else None
    metric = make_metric(SHARE.function, (0.0, 1.0), name="share", contract=contract)
    values = [(1.0 - value, said) for value, said in separable(59)]
    assert calibrate(metric, *world(values)).certified == {"s": 0.0}


def test_a_discrete_metric_is_certified_as_it_passes() -> None:
    values = [("fail" if said == "fail" else "pass", said) for _, said in separable(59)]
    records = [record(f"c{i}", value) for i, (value, _) in enumerate(values)]
    labels = [label(made, said, i) for i, (made, (_, said)) in enumerate(zip(records, values, strict=True))]
    found = calibrate(WORD, records, labels)
    assert found.certified == {"s": 1.0}
    assert [line.meaning for line in found.slices["s"].table] == ["its values that pass"]


def test_only_calibration_rows_choose_and_development_rows_are_counted() -> None:
    found = calibrate(SHARE, *split_world({"development": separable(100, passing=50), "calibration": separable(59)}))
    assert found.partition == "calibration"
    assert found.certified == {"s": 1.0}
    assert found.slices["s"].sample.left_out == {"partition development": 110}


def test_a_family_on_both_sides_is_refused() -> None:
    records, labels = split_world({"development": separable(3), "calibration": separable(3)})
    records[0] = records[0]._replace(family="f")
    records[-1] = records[-1]._replace(family="f")
    with pytest.raises(EvalkitError, match="1 pairs of cases cross partitions"):
        calibrate(SHARE, records, labels)


HELD = {"calibration": separable(14), "held_out": separable(14)}


def held_options(folder: Path, **more: Any) -> CalibrateOptions:
    return replace(EASY, ledger=folder / "holdout.jsonl", looked_on="2026-11-30", **more)


def test_held_out_rows_stay_unseen_without_a_ledger() -> None:
    found = calibrate(SHARE, *split_world(HELD), EASY)
    assert found.held_out is None
    assert found.certified == {"s": 1.0}


def test_held_out_rows_certify_what_calibration_rows_chose(tmp_path: Path) -> None:
    found = calibrate(SHARE, *split_world(HELD), held_options(tmp_path))
    assert found.certified == {"s": 1.0}
    assert len((tmp_path / "holdout.jsonl").read_text().splitlines()) == 1


def test_held_out_rows_can_take_the_certificate_away(tmp_path: Path) -> None:
    bad = {"calibration": separable(14), "held_out": separable(14, passing=5)}
    found = calibrate(SHARE, *split_world(bad), held_options(tmp_path))
    part = found.slices["s"]
    assert (part.candidate, part.certified) == (1.0, None)
    assert part.held_out is not None
    assert part.held_out.threshold is not None
    assert part.held_out.threshold.false_pass == 5
    assert part.labels_needed > 0


def test_held_out_rows_that_only_support_a_stricter_threshold_say_so(tmp_path: Path) -> None:
    mild = [(0.7, "pass")] * 5
    parts = {
        "calibration": separable(14) + mild,
        "held_out": [(0.7, "fail")] * 4 + separable(20) + mild,
    }
    part = calibrate(SHARE, *split_world(parts), held_options(tmp_path)).slices["s"]
    assert (part.candidate, part.certified) == (0.7, 1.0)


def test_too_few_held_out_fails_stay_unseen_and_unspent(tmp_path: Path) -> None:
    parts = {"calibration": separable(14), "held_out": separable(5)}
    part = calibrate(SHARE, *split_world(parts), held_options(tmp_path)).slices["s"]
    assert part.held_out is not None
    assert (part.held_out.certificate, part.certified) == (None, None)
    assert part.labels_needed == 6  # 11 without an error for one slice at 20 % / 90 %
    assert not (tmp_path / "holdout.jsonl").exists()


def test_s2_14_a_second_certification_after_an_edit_is_refused_and_a_repeat_is_not(tmp_path: Path) -> None:
    data = split_world(HELD)
    calibrate(SHARE, *data, held_options(tmp_path))
    again = calibrate(SHARE, *data, held_options(tmp_path))
    assert again.held_out is not None
    assert again.held_out.is_repeat
    assert len((tmp_path / "holdout.jsonl").read_text().splitlines()) == 1
    with pytest.raises(
        EvalkitError, match=r"the held-out partition is spent: 24 of these rows .* the metric was edited"
    ):
        calibrate(SHARE, *data, held_options(tmp_path, metric_fingerprint="sha256:edited"))


def test_seeded_simulation_choosing_and_certifying_together_err_at_most_as_often_as_they_say(tmp_path: Path) -> None:
    # Bad rows score N(0, 1): the false-pass rate at t is 1 - Phi(t), 20 % at 0.8416.
    rng, rounds, wrong, made = np.random.default_rng(12), 150, 0, 0
    for i in range(rounds):
        parts = {
            name: [(float(value), "fail") for value in rng.normal(0, 1, 40)]
            + [(float(value), "pass") for value in rng.normal(2, 1, 20)]
            for name in ("calibration", "held_out")
        }
        options = replace(EASY, ledger=tmp_path / f"{i}.jsonl", looked_on="2026-11-30")
        certified = calibrate(SHARE, *split_world(parts), options).certified
        made += bool(certified)
        wrong += bool(certified) and certified["s"] < 0.8416
    assert wrong / rounds <= 0.1 + 3 * (0.1 * 0.9 / rounds) ** 0.5
    assert made > rounds / 2


def test_agreement_of_the_metric_is_counted_at_each_slices_own_threshold() -> None:
    found = calibrate(SHARE, *world([*separable(59), (0.0, "pass")]))
    assert (found.metric_people.n, found.metric_people.agree) == (70, 69)


def test_an_unknown_slice_and_a_share_that_is_none_are_refused() -> None:
    with pytest.raises(EvalkitError, match="no case has the slice 'x'"):
        calibrate(SHARE, *world(separable(3)), CalibrateOptions(slices=("x",)))
    for bad in (0.0, 1.0, math.nan, -0.1, "0.05"):
        with pytest.raises(EvalkitError, match="--max-false-pass must be a number between 0 and 1"):
            CalibrateOptions(max_false_pass=bad)  # type: ignore[arg-type]


def test_facts_have_the_keys_of_the_interface() -> None:
    facts = calibration_facts(calibrate(SHARE, *world(separable(59))))
    part = facts["slices"]["s"]
    assert {"n", "n_fail_labels", "thresholds", "certified_threshold", "labels_needed"} <= part.keys()
    assert {
        "threshold", "meaning", "false_pass", "false_fail", "false_pass_interval", "false_fail_interval",
        "bad_among_passes",
    } <= part["thresholds"][0].keys()  # fmt: skip
    assert {"slices", "agreement", "partitions"} <= facts.keys()
    assert (part["certified_threshold"], part["labels_needed"]) == (1.0, 0)
