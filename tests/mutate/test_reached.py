"""The lines each case reaches: the tempting figure of notebook 02."""

from __future__ import annotations

from evalkit.mutate.killing import matrix_of
from evalkit.scoring.load import load_metric

SOURCE = '''
    from evalkit.contract import InvalidRow, numeric_metric


    async def half(n):
        if n == 0:
            return 0.0
        return n / 4


    @numeric_metric()
    async def share(n: int) -> float:
        """What it measures."""
        if n < 0:
            msg = "negative"
            raise InvalidRow(msg)
        return await half(n)
'''


def test_lines_are_those_of_statements_and_each_case_reaches_its_own(write):
    cases = [
        {"case_id": "third", "n": 1, "oracle": {"value": 0.25}},
        {"case_id": "none", "n": 0, "oracle": {"value": 0.0}},
        {"case_id": "negative", "n": -1, "oracle": {"invalid": "negative"}},
    ]
    spec, path = write(SOURCE, cases)
    found = matrix_of(load_metric(spec), path, full=True, suggestions=False).facts["reached_lines"]
    # Lines 5 to 7 are those of half, 13 to 16 those of share; def lines and the docstring are none.
    assert found["of"] == [5, 6, 7, 13, 14, 15, 16]
    assert found["by_case"] == {"third": [5, 7, 13, 16], "none": [5, 6, 13, 16], "negative": [13, 14, 15]}


def test_only_a_full_matrix_notes_them(write):
    spec, path = write(SOURCE, [{"case_id": "third", "n": 1, "oracle": {"value": 0.25}}])
    assert "reached_lines" not in matrix_of(load_metric(spec), path, suggestions=False).facts
