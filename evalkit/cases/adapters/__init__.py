"""Adapters: which place of a trace carries which meaning, and whether the case says what the trace preserved."""

from evalkit.cases.adapters.declare import Adapter, Observed
from evalkit.cases.adapters.places import At, PassagesAt

__all__ = ["Adapter", "At", "Observed", "PassagesAt"]
