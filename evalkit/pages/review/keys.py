"""Keys belong to the control that has the focus: JupyterLab would take the arrow keys for moving between cells."""

from __future__ import annotations

import anywidget

__all__ = ["OwnKeys"]


class OwnKeys(anywidget.AnyWidget):
    """Shows nothing. Put into a box of class ``ek-review``, it keeps JupyterLab's shortcuts out of that box.

    In command mode JupyterLab reads ``ArrowDown`` in a list, or a digit, as a command to the notebook and moves the
    focus to the next cell; an attribute of Lumino's switches that off for everything inside an element.
    """

    _esm = """
    function render({ el }) {
      el.style.display = "none";
      const claim = () => {
        const box = el.closest(".ek-review");
        if (box) box.setAttribute("data-lm-suppress-shortcuts", "true");
        else setTimeout(claim, 50);
      };
      claim();
    }
    export default { render };
    """
