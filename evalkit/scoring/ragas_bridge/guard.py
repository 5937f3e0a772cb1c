"""The one import of ragas: kept from reporting usage, and told apart from the user's own mistakes when it fails."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from types import ModuleType

from evalkit.contract import EvalkitError

__all__ = ["PIN", "import_ragas", "keep_ragas_quiet", "ragas_fault"]

PIN = "langchain-community<0.4.2"
"""ragas 0.4.3 imports a module that newer releases of langchain-community no longer have (field case L01)."""


def keep_ragas_quiet() -> None:
    """Keep ragas from reporting usage to its makers: it reads this setting when it is imported."""
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"


def import_ragas() -> ModuleType:
    """Import ``ragas.metrics`` (10 seconds or more), or say which pin is missing."""
    keep_ragas_quiet()
    try:
        return importlib.import_module("ragas.metrics")
    except Exception as error:
        raise ragas_fault(error) or _unusable(error) from error


def ragas_fault(error: BaseException, *, where: str = "") -> EvalkitError | None:
    """Return the plain message where ragas is what could not be imported, ``None`` for every other fault."""
    return next((_unusable(link, where) for link in _chain(error) if _is_of_ragas(link)), None)


def _unusable(error: BaseException, where: str = "") -> EvalkitError:
    if isinstance(error, ModuleNotFoundError) and error.name == "ragas":
        msg, first = "ragas is not installed in this environment", "install it"
    else:
        msg, first = f"ragas cannot be imported ({type(error).__name__}: {error})", "mend the environment"
    do = f'{first}: pip install "ragas==0.4.3" "{PIN}" (requirements.lock pins both)'
    return EvalkitError(msg, where=where, do=do)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    # Python links each exception to at most one earlier one, and never in a circle.
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _is_of_ragas(error: BaseException) -> bool:
    """Whether the error left ragas while it was being imported, or says that there is no ragas."""
    if isinstance(error, ModuleNotFoundError) and error.name == "ragas":
        return True
    trace = error.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        if module.partition(".")[0] == "ragas" and trace.tb_frame.f_code.co_name == "<module>":
            return True
        trace = trace.tb_next
    return False
