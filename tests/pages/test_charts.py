from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd
import pytest

from evalkit.contract import EvalkitError
from evalkit.decisions.resolution import resolution_of
from evalkit.pages.charts import label_chart, ledger_chart, resolution_chart, use_renderer, value_chart

FRAME = pd.DataFrame(
    {
        "slice": ["a", "a", "b\u202e", "a"],
        "state": ["scored", "scored", "scored", "error"],
        "decision": ["pass", "fail", "review", None],
        "value": pd.array([1.0, 0.5, 0.7, None], dtype="Float64"),
    }
)


@pytest.fixture(autouse=True)
def _renderer_as_before() -> Iterator[None]:
    before = alt.renderers.active
    yield
    alt.renderers.enable(before)


def png_of(chart: Any) -> bytes:
    bundle = chart._repr_mimebundle_()
    content: bytes = (bundle[0] if isinstance(bundle, tuple) else bundle)["image/png"]
    return content


def test_k04_every_chart_is_drawn_without_the_network_as_a_small_picture() -> None:
    use_renderer("png")
    resolutions = [resolution_of("a", {0.5: 1, 1.0: 3}, threshold=0.75)]
    labels = FRAME.assign(value=["x", "y", "x", None])
    for chart in (
        value_chart(FRAME, bounds={"a": 0.75}),
        ledger_chart(FRAME),
        resolution_chart(resolutions),
        label_chart(labels),
    ):
        png = png_of(chart)
        assert png.startswith(b"\x89PNG")
        assert len(png) < 100_000


def test_k04_the_interactive_renderer_is_the_offline_one() -> None:
    use_renderer("jupyter")
    assert alt.renderers.active == "jupyter"
    assert alt.renderers.options["offline"] is True
    with pytest.raises(EvalkitError, match="must be 'png' or 'jupyter'; got 'mimetype'"):
        use_renderer("mimetype")


def test_k01_50000_rows_are_counted_before_they_are_plotted() -> None:
    frame = pd.DataFrame({"slice": ["a"] * 50_000, "value": [n / 50_000 for n in range(50_000)]})
    data = value_chart(frame).to_dict()["datasets"]
    assert sum(map(len, data.values())) <= 20


def test_k03_rows_without_a_score_are_said_in_the_subtitle() -> None:
    assert value_chart(FRAME).to_dict()["title"]["subtitle"] == "3 of 4 rows; 1 not shown (no score)"
    assert value_chart(FRAME.assign(odd=pd.Timedelta(1, "D"))).to_dict()["title"]["subtitle"].startswith("3 of 4")


def test_hidden_characters_do_not_reach_a_chart() -> None:
    text = value_chart(FRAME, title="a\u2066b").to_json() + ledger_chart(FRAME).to_json()
    assert "\u202e" not in text
    assert "\\u202e" not in text
    assert "b[U+202E]" in text
    assert "a[U+2066]b" in text


def test_the_ledger_is_told_with_its_denominator_and_by_more_than_colour() -> None:
    chart = ledger_chart(FRAME).to_dict()
    assert chart["title"]["subtitle"] == "4 of 4 rows"
    assert {"color", "stroke", "fillOpacity"} <= chart["encoding"].keys()
    assert chart["encoding"]["color"]["scale"]["domain"] == ["pass", "review", "fail", "error"]
