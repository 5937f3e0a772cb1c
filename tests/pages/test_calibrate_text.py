"""The calibration's screen: counts first, words for both rates, nothing that a case id could forge."""

from __future__ import annotations

import pytest
from labelled_rows import SHARE, label, record, separable, world

from evalkit.decisions.calibrate import CalibrateOptions, calibrate
from evalkit.pages.calibrate_text import calibration_screen
from evalkit.pages.calibrate_verdict import percent

EASY = CalibrateOptions(max_false_pass=0.2, confidence=0.9)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (1.0, "100 %"),
        (0.05, "5 %"),
        (0.999, "99.9 %"),
        (0.001, "0.1 %"),
        (1e-9, "1e-07 %"),
    ],
)
def test_a_share_is_never_rounded_to_none_or_all(share: float, text: str) -> None:
    assert percent(share) == text


def test_the_screen_counts_first_and_says_the_certificate_last() -> None:
    records, labels = world([*separable(59), (1.0, None)])
    records.append(record("lost", None))
    screen = calibration_screen(calibrate(SHARE, records, labels))
    order = [
        "cases   71 rows: 70 scored, 1 invalid",
        "labels  69 labelled",
        "used    69 random",
        "threshold",
        "CERTIFIED",
    ]
    places = [screen.index(words) for words in order]
    assert places == sorted(places)
    assert "0 % of bad answers pass (0 of 59)" in screen
    assert max(map(len, screen.splitlines())) <= 80


@pytest.mark.parametrize(
    "values",
    [[], [(1.0, "pass")], [(0.5, "fail")] * 30, [(0.5, None)] * 3],
    ids=["none", "one", "one class", "no label"],
)
def test_degenerate_data_is_said_in_words(values: list[tuple[float, str | None]]) -> None:
    screen = calibration_screen(calibrate(SHARE, *world(values)))
    assert "nan" not in screen.lower()
    assert ("CANNOT CERTIFY" in screen) is bool(values)
    assert ("INCOMPLETE: no row was scored" in screen) is not bool(values)


def test_targeted_labels_are_said_to_describe_themselves() -> None:
    records, labels = world(separable(30), label_more={"selection": "targeted"})
    screen = " ".join(calibration_screen(calibrate(SHARE, records, labels)).split())
    assert "40 labels that were not drawn at random, 30 of them fail" in screen
    assert "none of these rows was drawn at random: the table describes them and nothing else" in screen
    assert "what these labels support" not in screen


def test_many_thresholds_are_cut_to_a_screen_and_the_rest_is_counted() -> None:
    values = [(i / 400, "fail" if i < 200 else "pass") for i in range(400)]
    screen = calibration_screen(calibrate(SHARE, *world(values), EASY))
    assert "more of 400 distinguishable thresholds are in --json" in screen
    assert len(screen.splitlines()) < 80


def test_a_hostile_name_cannot_forge_a_line() -> None:
    hostile = "s\x1b[2K\nCERTIFIED at 0.0: everything"
    rows = [
        record("a", slice=hostile, text="one two three four"),
        record("b", slice=hostile, text="four three two one"),
    ]
    screen = calibration_screen(calibrate(SHARE, rows, [label(made, "fail", i) for i, made in enumerate(rows)]))
    assert "\x1b" not in screen
    assert not any(line.startswith("CERTIFIED") for line in screen.splitlines())
