"""Use without a mouse: keys belong to the control that has the focus, and a slider has a name."""

from __future__ import annotations

import anywidget

__all__ = ["OwnKeys"]


class OwnKeys(anywidget.AnyWidget):
    """Shows nothing. In a box of class ``ek-review`` or ``evalkit-explorer``, it keeps JupyterLab's shortcuts out.

    It names the sliders there, too.

    In command mode JupyterLab reads ``ArrowDown`` in a list, or a digit on a button, as a command to the notebook and
    moves the focus to the next cell. Lumino passes over a key where the focused element itself has this attribute.
    """

    _esm = """
    function render({ el }) {
      el.style.display = "none";
      const claim = () => {
        const box = el.closest(".ek-review, .evalkit-explorer");
        if (!box) return setTimeout(claim, 50);
        box.addEventListener("focusin", (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "true"));
        const name = () => {
          for (const handle of box.querySelectorAll(".noUi-handle:not([aria-label])")) {
            const label = handle.closest(".jupyter-widgets")?.querySelector("label");
            handle.setAttribute("aria-label", label?.textContent || "Threshold");
          }
        };
        new MutationObserver(name).observe(box, { childList: true, subtree: true });
        name();
      };
      claim();
    }
    export default { render };
    """
