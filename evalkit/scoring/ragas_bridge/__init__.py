"""The only package that imports ragas, and only once it is asked for something that needs it."""

from evalkit.scoring.ragas_bridge.guard import import_ragas, keep_ragas_quiet, ragas_fault
from evalkit.scoring.ragas_bridge.incoming import from_ragas, is_decorator_metric, is_of_ragas
from evalkit.scoring.ragas_bridge.outgoing import to_ragas

__all__ = [
    "from_ragas",
    "import_ragas",
    "is_decorator_metric",
    "is_of_ragas",
    "keep_ragas_quiet",
    "ragas_fault",
    "to_ragas",
]
