"""What a record says of preparation hooks: which form of each input the metric received, and the prepared one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from evalkit.contract import Measured, Metric
from evalkit.contract.preparation import FAULT
from evalkit.scoring.records import Record
from evalkit.scoring.retention import form_keeper

__all__ = ["KEY", "Form", "form_recorder", "forms_of"]

KEY = "prepared"
"""Under this key of ``lineage`` a record says what hooks made of its inputs; ``inputs`` holds the raw form."""


class Form(NamedTuple):
    """What a record says of one prepared input."""

    title: str
    """Which input, and which hook prepares it."""
    form: Any
    """The prepared form, as far as it was kept; a sentence where there is none."""


def forms_of(record: Record) -> Iterator[Form]:
    """Read what hooks made of a row's inputs, for whoever shows the row."""
    found = record.lineage.get(KEY)
    for name, entry in (found if isinstance(found, dict) else {}).items():
        received, hook = entry.get("received"), entry.get("hook")
        missing = (
            "none: the metric was not asked" if received == "nothing" else "none: the metric received the raw form"
        )
        word = "prepared by" if received == "prepared" else "to be prepared by"
        yield Form(f"{name}, {word} {hook}", entry.get("form", missing))


def form_recorder(metric: Metric) -> Callable[[Measured], dict[str, Any]]:
    """Compile what is recorded of one row, input by input.

    Each entry has ``hook`` (its name) and ``received``: ``prepared``, ``raw`` (the hook was not called: the input is
    lost, empty or of another type) or ``nothing`` (a hook failed, so the metric was not called). With ``form``, under
    the contract's retention, and the ``sha256`` of the whole form.
    """
    hooks = {name: hook.__qualname__ for name, hook in metric.preparation.hooks.items()} if metric.preparation else {}
    keep = form_keeper(metric.contract)

    def record(measured: Measured) -> dict[str, Any]:
        if measured.prepared is None:  # the row was unfit before it came to the metric
            return {}
        forms = keep(measured.prepared)
        default = "nothing" if measured.error_kind == FAULT else "raw"
        done = default if default == "nothing" else "prepared"
        return {
            KEY: {
                name: {"hook": hook, "received": done if name in forms else default, **forms.get(name, {})}
                for name, hook in hooks.items()
            }
        }

    return record
