"""What another limit or confidence would certify: two sliders over one pure function; nothing is written."""

from __future__ import annotations

from collections.abc import Callable
from html import escape

import ipywidgets
import traitlets

__all__ = ["CertificateExplorer"]

_CONFIDENCES = (0.8, 0.9, 0.95, 0.99)


class CertificateExplorer(ipywidgets.VBox):  # type: ignore[misc] # ipywidgets ships no types
    """Two sliders and the verdicts they lead to.

    What is chosen stands in the traits ``limit`` and ``confidence``, which the sliders follow and set; ``text`` is what
    is shown. A limit that was chosen because it certifies proves nothing: the page says so.

    Parameters
    ----------
    describe : callable
        From a limit and a confidence to the lines to show.
    limit, confidence : float
        Where to open: the page's own parameters, so that the first view is the static one above it.
    """

    limit = traitlets.Float(0.05)
    confidence = traitlets.Float(0.95)
    text = traitlets.Unicode("")

    def __init__(self, describe: Callable[[float, float], str], *, limit: float, confidence: float) -> None:
        self._describe = describe
        style = {"description_width": "14em"}
        self.limit_slider = ipywidgets.FloatSlider(
            min=0.01, max=0.5, step=0.01, description="bad that may pass", readout_format=".0%", style=style,
            continuous_update=False,
        )  # fmt: skip
        self.confidence_slider = ipywidgets.SelectionSlider(
            options=sorted({*_CONFIDENCES, confidence}), value=confidence, description="confidence", style=style
        )
        self.shown = ipywidgets.HTML()
        warning = ipywidgets.HTML("Choose the limit by what a mistake costs, not by what these labels certify.")
        super().__init__([warning, self.limit_slider, self.confidence_slider, self.shown])
        ipywidgets.link((self, "limit"), (self.limit_slider, "value"))
        ipywidgets.link((self, "confidence"), (self.confidence_slider, "value"))
        self.observe(self._refresh, names=["limit", "confidence"])
        self.limit, self.confidence = limit, confidence
        self._refresh(None)

    def _refresh(self, _: object) -> None:
        self.text = self._describe(self.limit, self.confidence)
        self.shown.value = f"<pre>{escape(self.text)}</pre>"
