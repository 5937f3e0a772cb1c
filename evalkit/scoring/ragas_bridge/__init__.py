"""The only package that imports ragas, and only once it is asked for something that needs it.

`from_ragas` brings a metric that was written only against ragas; `to_ragas` makes a ragas metric object of an evalkit
metric. Both ways lead to the same number: for every row the ragas object gives the metric's value, its reason contains
the metric's, and it gives ``None`` (or a ``TypeError`` at the call) exactly where the metric says *invalid* or *error*.

Below is where evalkit deliberately differs from what ragas 0.4.3 makes of the same decorated function. Each row is a
test of the same name in ``tests/scoring/test_ragas_bridge.py``. "As ragas" marks what an object of `to_ragas` cannot
help: ragas converts the arguments before the metric sees them.

=======================  ==============================  =======================================  ====================
difference               ragas' decorator                evalkit                                  ``to_ragas(metric)``
=======================  ==============================  =======================================  ====================
bool as number           ``True`` is scored as 1         refused: wrong type                      as ragas
text as number           ``"0.9"`` is read as 0.9        refused: wrong type                      as ragas
number as flag           ``1`` and ``"no"`` are read     refused: wrong type                      as ragas
float as int             ``1.0`` is read as 1            refused: wrong type                      as ragas
tuple or set as list     turned into a list              refused: wrong type                      as ragas
bytes as text            decoded                         refused: wrong type                      as ragas
NaN as input             handed to the function          refused: not finite                      ``None``
unknown argument         ignored with a warning          ``TypeError``                            as ragas
unannotated parameter    takes anything                  refused when the metric is defined       cannot be made
``Optional`` unstated    ``None`` for an absent input    absent is not null: ``TypeError``        as evalkit
constraint               dropped from ``Annotated``      enforced                                 ``None``
undeclared null or []    handed to the function          invalid, once there is a contract        ``None``
numpy scalar as value    refused, ``float64`` excepted   converted to a plain number, once        as evalkit
bool as value            ``True`` is scored as 1         error: not a number                      ``None``
whole float in a range   3.0 stays a float               becomes the integer 3                    as evalkit
integer in an interval   1 stays an integer              becomes the float 1.0                    as evalkit
NaN in a ranking         scored                          error: not plain finite JSON             ``None``
SystemExit               leaves the scoring loop         error, like any other exception          ``None``
detail                   no such field                   kept beside value and reason             left out
=======================  ==============================  =======================================  ====================

Metrics of class style are brought too (`ways`): one that computes becomes a metric of its method; one that asks a model
becomes a `evalkit.contract.stepped.SteppedJudge`, which `play` plays row by row with evalkit's calls in the place of
its model's. The bundled standard metrics are such judges. `standard` says where a value of ragas would not have been
measured: no statement, fewer verdicts than statements, a verdict other than 0 and 1. Otherwise their values are those
of the ragas object, but that a cosine which rounding has lifted above its range is brought back to the bound.
"""

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
