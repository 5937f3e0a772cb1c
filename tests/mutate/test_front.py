"""The worker process: a kernel is never forked, what a module prints disturbs nothing, faults come back as faults."""

from __future__ import annotations

import os
import sys

import pytest

from evalkit.contract import EvalkitError
from evalkit.metrics.evidence_coverage import evidence_coverage
from evalkit.mutate import kill_matrix
from evalkit.mutate.front import spec_of
from evalkit.scoring.load import load_metric

LOUD = """
    import os
    import sys

    print("loading", flush=True)
    os.write(1, b"raw bytes")
    sys.stdout.write("more")

    from evalkit.contract import numeric_metric


    @numeric_metric()
    def share(n: int) -> float:
        print("scoring", n)
        return n / 4
"""
CASES = [{"case_id": "third", "n": 1, "oracle": {"value": 0.25}}]


def test_the_calling_process_is_not_forked(write, monkeypatch):
    def forked():
        raise AssertionError

    # subprocess starts the worker with vfork or posix_spawn, inside C: no Python of this process runs in a child.
    monkeypatch.setattr(os, "fork", forked)
    matrix = kill_matrix(*write(LOUD, CASES))
    assert matrix.score is not None


def test_what_the_module_prints_disturbs_nothing(write, capfd):
    matrix = kill_matrix(*write(LOUD, CASES))
    assert matrix.cases == ("third",)
    out, err = capfd.readouterr()
    assert out == ""
    assert "scoring" not in err


def test_equivalents_beside_the_cases_are_read(write, tmp_path):
    spec, path = write(LOUD, CASES)
    (tmp_path / "equivalent.toml").write_text(
        'schema = 1\n[[equivalent]]\nid = "gone"\nreason = "r"\nreviewed_by = "us"\non = 2026-11-30\n'
    )
    with pytest.raises(EvalkitError, match=r"equivalent\.toml: names mutants that no longer exist: gone"):
        kill_matrix(spec, path)


def test_a_refusal_keeps_its_place_and_its_mend(write):
    spec, path = write(LOUD, [{**CASES[0], "oracle": {"value": 1.0}}])
    with pytest.raises(EvalkitError) as fault:
        kill_matrix(spec, path)
    assert fault.value.where == "share"
    assert "fails 1 of its 1 cases: third (value: 0.25)" in fault.value.message
    assert fault.value.do.startswith("mend the metric or the cases")


def test_a_module_that_ends_its_process_while_it_loads(write):
    spec, path = write("import os\nos._exit(3)\n", CASES)
    with pytest.raises(EvalkitError, match=r"ended without an answer \(exit code 3\)"):
        kill_matrix(spec, path)


def test_a_metric_object_is_loaded_again_by_its_name(write):
    spec, path = write(LOUD, CASES)
    assert spec_of(load_metric(spec)) == spec
    assert spec_of(evidence_coverage) == "evalkit.metrics.evidence_coverage:evidence_coverage"
    assert kill_matrix(load_metric(spec), path).to_json() == kill_matrix(spec, path).to_json()


def test_a_metric_typed_into_a_notebook_is_refused(monkeypatch):
    names: dict = {"__name__": "__main__"}
    exec(
        "from evalkit.contract import numeric_metric\n@numeric_metric()\ndef typed(n: int) -> float:\n    return 1.0\n",
        names,
    )
    monkeypatch.setattr(sys.modules["__main__"], "typed", names["typed"], raising=False)
    with pytest.raises(EvalkitError, match=r"typed lives only in this process.*save it in a \.py file"):
        kill_matrix(names["typed"], "cases.jsonl")


def test_the_hash_seed_of_the_caller_does_not_matter(write, monkeypatch):
    source = """
        from evalkit.contract import MetricResult, numeric_metric

        @numeric_metric()
        def share(found: list[str]) -> MetricResult:
            return MetricResult(1.0, ",".join(sorted(set(found))))
    """
    cases = [{"case_id": "many", "found": list("gfedcba"), "oracle": {"value": 1.0, "reason": "a,b,c,d,e,f,g"}}]
    seen = []
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        seen.append(kill_matrix(*write(source, cases)).to_json())
    assert seen[0] == seen[1]
    unsorted = [m for m in seen[0]["mutants"] if "list(set(found))" in m["diff"]]
    assert unsorted[0]["kills"][0]["by"] == "reason"
