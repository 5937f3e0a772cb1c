"""Hostile input for the command line, what must hold whatever it is given, and a box of time to look in."""

from __future__ import annotations

import copy
import io
import os
import random
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from evalkit.cli import main

__all__ = ["Said", "bent", "broken", "evalkit", "look_for", "scalars", "texts", "values"]

SECONDS = float(os.environ.get("EVALKIT_FUZZ_SECONDS", "12"))
"""For each test; `make fuzz` as a whole takes about a minute."""

texts = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["", " ", "NaN", "\x1b[2J", "\u202eevil", "</script>", "{{ x }}", "../../etc", "\x00", "ﬁ", "1e999", "a" * 300]
    ),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([2**63, 2**64, -(2**63) - 1, 10**400, 0, -1, 1]),
    st.floats(allow_nan=False),
    texts,
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


class Said(NamedTuple):
    code: int
    out: str
    err: str


def evalkit(*arguments: object) -> Said:
    """Run the command line in this process and hold it to what it promises of every input."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    kept = sys.argv, sys.stdout, sys.stderr
    sys.argv, sys.stdout, sys.stderr = ["evalkit", *map(str, arguments)], out, err
    try:
        main()
    except SystemExit as done:
        code = done.code
    finally:
        sys.argv, sys.stdout, sys.stderr = kept
    said = Said(
        code if isinstance(code, int) else 99,
        *(stream.buffer.getvalue().decode() for stream in (out, err)),  # type: ignore[attr-defined]
    )
    if log := re.search(r"fault inside evalkit.*Details: (\S+)", said.err):
        details = Path(log[1]).read_text(encoding="utf-8")
        Path(log[1]).unlink()
        pytest.fail(f"evalkit {' '.join(map(str, arguments))}\n{details}")
    assert said.code in (0, 1, 2, 3), said
    assert "Traceback" not in said.out + said.err
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\x9b\u202a-\u202e\u2066-\u2069]", said.err), "raw control characters"
    return said


@st.composite
def bent(draw: st.DrawFn, whole: Any) -> Any:
    """A copy of a JSON value with one to three of its parts replaced, removed or added to."""
    found = copy.deepcopy(whole)
    for _ in range(draw(st.integers(1, 3))):
        found = _bend(draw, found)
    return found


def _bend(draw: st.DrawFn, value: Any) -> Any:
    if not isinstance(value, dict | list) or not value or draw(st.integers(0, 5)) == 0:
        return draw(values)
    key = draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    match draw(st.integers(0, 7)):
        case 0:
            del value[key]
        case 1 if isinstance(value, list):
            value.append(value[key])
        case 1:
            value[draw(texts)] = value[key]
        case _:
            value[key] = _bend(draw, value[key])
    return value


@st.composite
def broken(draw: st.DrawFn, raw: bytes) -> bytes:
    """A copy of some bytes with a few cut out, changed or put in."""
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(raw)))
        put = draw(
            st.one_of(st.binary(max_size=4), st.sampled_from([b"\n", b"\r\n", b"\xef\xbb\xbf", b'"', b"{", b"\\ud800"]))
        )
        raw = raw[:at] + put + raw[at + draw(st.sampled_from([0, 1, 1, 7, 400, len(raw)])) :]
    return raw


def look_for(strategy: st.SearchStrategy[Any], check: Callable[[Any], object], seconds: float = SECONDS) -> int:
    """Try examples until the time is up; new ones in each run, unless ``EVALKIT_FUZZ_SEED`` names an earlier one."""
    first = int(os.environ.get("EVALKIT_FUZZ_SEED", random.SystemRandom().randrange(10**9)))
    rules = settings(
        max_examples=15, derandomize=False, database=None, deadline=None, print_blob=False,
        phases=[Phase.generate, Phase.shrink], suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    until, tried = time.monotonic() + seconds, 0

    def counted(example: Any) -> None:
        nonlocal tried
        tried += 1
        check(example)

    while time.monotonic() < until:
        try:
            seed(first + tried)(rules(given(strategy)(counted)))()
        except BaseException as failure:
            failure.add_note(f"EVALKIT_FUZZ_SEED={first} tries the same examples again")
            raise
    return tried
