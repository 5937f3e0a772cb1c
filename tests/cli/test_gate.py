"""``evalkit gate`` as CI calls it: a process of its own, its exit code, what it prints and what it leaves behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from evalkit.cli import main

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures" / "evidence_coverage"
TODAY = ("--as-of", "2026-12-01")
ROW_KEYS = [
    "line", "case_id", "slice", "blocking", "state", "decision", "value", "minimum", "policy_version", "reason",
    "error_kind",
]  # fmt: skip
POLICY = """\
schema = 1
name = "release"
version = "7"
metric = "evidence_coverage"
contract_version = "1"
approved_by = "council"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "r"
[slices.default]
minimum = 0.75
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def outside(*arguments: object, cwd: Path, program: Sequence[str] = ("-m", "evalkit")) -> Done:
    done = subprocess.run(
        [sys.executable, *program, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


def row(case_id: str, supported: int = 4, **more: Any) -> dict[str, Any]:
    ids = ["a", "b", "c", "d"]
    return {"case_id": case_id, "required_claim_ids": ids, "supported_claim_ids": ids[:supported]} | more


def cases(here: Path, *lines: Any, name: str = "cases.jsonl") -> Path:
    path = here / name
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def left(here: Path) -> set[str]:
    return {path.relative_to(here).as_posix() for path in here.rglob("*") if path.is_file()}


@pytest.fixture
def inside(here: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Run the command line inside this process: for the many small cases whose way out is shown once from outside."""

    def run(*arguments: object) -> Done:
        monkeypatch.chdir(here)
        monkeypatch.setattr(sys, "argv", ["evalkit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capfd.readouterr()
        assert "Traceback" not in err
        assert isinstance(ended.value.code, int)
        return Done(ended.value.code, out, err)

    return run


@pytest.fixture
def gate(here: Path, inside: Callable[..., Done]) -> Callable[..., Done]:
    """Gate rows (or a file) with the policy that lies there."""

    def run(*lines: Any, options: Sequence[object] = ()) -> Done:
        path = lines[0] if len(lines) == 1 and isinstance(lines[0], Path) else cases(here, *lines)
        return inside("gate", "evidence_coverage", path, "--policy", "policy.toml", *TODAY, *options)

    return run


# --- exit codes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "code", "word"),
    [("release.jsonl", 0, "PASSED"), ("incident.jsonl", 1, "QUALITY FAILED"), ("invalid.jsonl", 2, "INCOMPLETE")],
)
def test_the_bundled_files_exit_0_1_and_2(here: Path, file: str, code: int, word: str):
    done = outside("gate", "evidence_coverage", FIXTURES / file, "--policy", FIXTURES / "policy.toml", *TODAY, cwd=here)
    assert done.code == code
    assert f"(exit code {code})" in done.out
    assert word.casefold() in done.out.casefold()
    assert done.err == ""
    assert max(map(len, done.out.splitlines())) <= 80


def test_a_row_for_people_exits_3(gate, here: Path):
    (here / "policy.toml").write_text(POLICY + "review_band = 0.25\n")
    assert gate(row("a"), row("b", 2)).code == 3


def test_a07_an_empty_file_exits_2_and_says_how_much_there_was(gate):
    done = gate()
    assert done.code == 2
    assert "nothing was evaluated" in done.out


def test_a_policy_that_only_reports_exits_0_and_says_what_it_would_be(gate, here: Path):
    (here / "policy.toml").write_text('mode = "report"\n' + POLICY)
    done = gate(row("a", 0), options=("--json", "out.json"))
    facts = json.loads((here / "out.json").read_text())
    assert (done.code, facts["outcome"], facts["exit_code"]) == (0, "quality_failed", 0)


@pytest.mark.parametrize(
    "limit", ["", "minimum = nan", "minimum = inf", 'minimum = "0.75"', "minimum = 3", "minimum = -0.1"]
)
def test_s1_10_a_threshold_that_is_missing_or_means_nothing_exits_2(inside, here: Path, limit: str):
    (here / "policy.toml").write_text(POLICY.replace("minimum = 0.75", limit))
    done = inside("gate", "evidence_coverage", cases(here, row("a")), "--policy", "policy.toml", *TODAY)
    assert done.code == 2
    assert "slices.default" in done.out


@pytest.mark.parametrize(("day", "code"), [("2027-02-28", 0), ("2027-03-01", 2), ("9999-12-31", 2)])
def test_the_clock_is_an_option(inside, here: Path, day: str, code: int):
    options = ("--policy", "policy.toml", "--as-of", day, "--json", "o.json")
    assert inside("gate", "evidence_coverage", cases(here, row("a")), *options).code == code
    assert json.loads((here / "o.json").read_text())["as_of"] == day


def test_the_revision_is_an_option(gate):
    rows = (row("a", system_revision="r1"), row("b", system_revision="r1"))
    assert gate(*rows, options=("--require-revision", "r1")).code == 0
    done = gate(*rows, options=("--require-revision", "r2"))
    assert done.code == 2
    assert "2 of 2 blocking rows are not of system revision 'r2'" in " ".join(done.out.split())


def test_a_baseline_splits_failures(gate, here: Path):
    assert gate(row("a", 0), row("b"), options=("--run", "runs/main")).code == 1
    (here / "policy.toml").write_text(POLICY.replace("[slices", 'block_on = "new"\n[slices'))
    assert gate(row("a", 0), row("b")).code == 2  # no baseline
    assert gate(row("a", 0), row("b"), options=("--baseline", "runs/main")).code == 0
    done = gate(row("a", 0), row("b", 0), options=("--baseline", "runs/main", "--json", "o.json"))
    baseline = json.loads((here / "o.json").read_text())["baseline"]
    assert (done.code, baseline["new"], baseline["known"]) == (1, ["b"], ["a"])


# --- wrong use --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "fragment"),
    [
        (("gate",), "Missing argument"),
        (("gate", "evidence_coverage", "cases.jsonl"), "--policy"),
        (("gate", "evidence_coverage", "cases.jsonl", "--policy", "policy.toml", "--treshold", "1"), "--treshold"),
        (("gate", "evidence_coverage", "cases.jsonl", "--policy", "policy.toml", "--format", "xml"), "text or jsonl"),
        (("gate", "evidence_coverage", "cases.jsonl", "--policy", "policy.toml", "--as-of", "today"), "such as 2026"),
        (("gate", "evidence_coverage", "cases.jsonl", "--policy", "policy.toml", "--input", "x"), "PARAM=KEY"),
        (("gate", "evidence_coverage", "cases.jsonl", "--policy", "policy.toml", "--input", "x=y"), "does not take"),
        (("gate", "evidence_coverage", "absent.jsonl", "--policy", "policy.toml"), "no such file of cases"),
        (("gate", "evidence_coverage", "cases.jsonl", "--policy", "absent.toml"), "the policy cannot be read"),
        (("gate", "evidence_coverag", "cases.jsonl", "--policy", "policy.toml"), "evidence_coverag"),
        (("gate", "absent.py:metric", "cases.jsonl", "--policy", "policy.toml"), "absent.py"),
        (("gate", "broken.py:metric", "cases.jsonl", "--policy", "policy.toml"), "broken.py"),
        (("gate", "evidence_coverage", "cases.jsonl", "--policy", "policy.toml", "--baseline", "x"), "not a folder"),
        (("gate", "evidence_coverage", ".", "--policy", "policy.toml"), "is not a run folder"),
        (("gaet",), "gaet"),
    ],
)  # fmt: skip
def test_wrong_use_exits_2_and_leaves_nothing(inside, here: Path, arguments: list[str], fragment: str):
    cases(here, row("a"))
    (here / "broken.py").write_text("import a_module_that_is_not_there\n")
    before = left(here)
    done = inside(*arguments, *(("--run", "runs/first") if "--policy" in arguments else ()))
    assert done.code == 2
    assert fragment in " ".join(done.err.split())
    assert done.out == ""
    assert left(here) == before
    assert not (here / "runs" / "first").exists()


def test_wrong_use_exits_2_from_outside_too(here: Path):
    done = outside("gate", "evidence_coverage", "absent.jsonl", "--policy", "policy.toml", cwd=here)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("evalkit: absent.jsonl: there is no such file of cases; ")
    assert outside("gate", "--no-such-option", cwd=here).code == 2


# --- one object a row -------------------------------------------------------------------------------------------------


def test_s1_10_jsonl_prints_one_object_a_row_with_the_documented_keys_and_nothing_else(here: Path):
    path = cases(here, row("a"), row("b", 2, slice="default", blocking=False), "", "{")
    done = outside("gate", "evidence_coverage", path, "--policy", "policy.toml", *TODAY, "--format", "jsonl", cwd=here)
    assert done.code == 2
    assert [list(found) for found in done.rows] == [ROW_KEYS] * 3
    assert done.rows[0] == {
        "line": 1, "case_id": "a", "slice": "default", "blocking": True, "state": "scored", "decision": "pass",
        "value": 1.0, "minimum": 0.75, "policy_version": "7", "reason": "supported=4; required=4; missing=none",
        "error_kind": None,
    }  # fmt: skip
    assert [(found["line"], found["state"], found["decision"], found["value"]) for found in done.rows] == [
        (1, "scored", "pass", 1.0), (2, "scored", "fail", 0.5), (4, "invalid", None, None),
    ]  # fmt: skip


def test_rows_of_a_file_with_duplicate_ids_are_printed_once(gate):
    # Scored, the rows have long reasons; invalid, they have short ones: what was printed first is gone altogether.
    long = {"required_claim_ids": ["k" * 500]}
    done = gate(row("a", 0, **long), row("b"), row("a", 0, **long), options=("--format", "jsonl"))
    assert [(found["case_id"], found["state"]) for found in done.rows] == [
        ("a", "invalid"), ("b", "scored"), ("a", "invalid"),
    ]  # fmt: skip


CHATTY = """
    import os, subprocess, sys
    print("while it is loaded")
    from evalkit import numeric_metric

    @numeric_metric()
    def chatty(text: str) -> float:
        print("while it scores", text)
        sys.__stdout__.write("past the redirection")
        os.write(1, b"as a C library does")
        subprocess.run(["echo", "as a child"], check=True)
        return 1.0
"""


@pytest.mark.parametrize("spec", ["chatty.py:chatty", "chatty:chatty"])
def test_a_metric_that_prints_does_not_get_between_the_rows(here: Path, spec: str):
    (here / "chatty.py").write_text(textwrap.dedent(CHATTY))
    (here / "policy.toml").write_text(
        POLICY.replace("evidence_coverage", "chatty").replace('version = "1"', 'version = "0"')
    )
    path = cases(here, {"case_id": "a", "text": "t"}, {"case_id": "b", "text": "u"})
    done = outside("gate", spec, path, "--policy", "policy.toml", *TODAY, "--format", "jsonl", cwd=here)
    assert done.code == 0
    assert [found["case_id"] for found in done.rows] == ["a", "b"]
    assert "while it is loaded" in done.err
    for text in ("while it scores t", "past the redirection", "as a C library does", "as a child"):
        assert text in done.err


# --- what it leaves behind --------------------------------------------------------------------------------------------


def test_a_run_folder_holds_all_of_it_and_is_never_overwritten(gate, here: Path):
    options = ("--run", "runs/first", "--junit", "junit.xml", "--summary", "summary.md", "--json", "outcome.json")
    assert gate(row("a"), row("b", 0), options=options).code == 1
    run = here / "runs" / "first"
    assert {path.name for path in run.iterdir()} == {
        "manifest.json", "records.jsonl", "outcome.json", "summary.md", "report.html",
    }  # fmt: skip
    assert json.loads((run / "outcome.json").read_text()) == json.loads((here / "outcome.json").read_text())
    assert (here / "junit.xml").read_bytes().startswith(b"<?xml")
    before = {path: path.read_bytes() for path in run.iterdir()}

    again = gate(row("a"), options=("--run", "runs/first"))
    assert (again.code, again.out) == (2, "")
    assert "is a finished run, and a run folder is never overwritten" in again.err
    assert {path: path.read_bytes() for path in run.iterdir()} == before


def test_s1_9_a_rerun_is_a_new_run_with_the_same_outcome_hash(gate, here: Path):
    hashes = []
    for name in ("one", "two"):
        gate(row("a"), row("b", 0), options=("--run", f"runs/{name}"))
        hashes.append(json.loads((here / "runs" / name / "outcome.json").read_text())["outcome_hash"])
    assert hashes[0] == hashes[1]
    regated = gate(here / "runs" / "one", options=("--json", "o.json"))
    assert regated.code == 1
    assert json.loads((here / "o.json").read_text())["outcome_hash"] == hashes[0]


def test_an_unfinished_folder_says_so(gate, here: Path):
    (here / "runs" / "cut").mkdir(parents=True)
    (here / "runs" / "cut" / "records.jsonl.part").write_text("{")
    done = gate(here / "runs" / "cut")
    assert done.code == 2
    assert "is an unfinished run: it holds no manifest.json" in done.err
    done = gate(row("a"), options=("--run", "runs/cut"))
    assert done.code == 2
    assert "holds no finished run" in done.err


def test_nothing_of_this_machine_is_written(gate, here: Path):
    gate(
        row("a"),
        row("b", 0),
        "{",
        options=("--run", "run", "--junit", "junit.xml", "--summary", "s.md", "--json", "o.json"),
    )
    for name in left(here) - {"policy.toml", "cases.jsonl"}:
        text = (here / name).read_text()
        for secret in (str(here), str(ROOT), os.uname().nodename, "/root/", "/home/"):
            assert secret not in text, (name, secret)


def test_the_summary_is_appended_as_a_step_summary_is(gate, here: Path):
    (here / "s.md").write_text("# before\n")
    gate(row("a"), options=("--summary", "s.md"))
    once = (here / "s.md").read_text()
    assert once.startswith("# before\n")
    gate(row("a"), options=("--summary", "s.md"))
    assert (here / "s.md").read_text().startswith(once)


def test_the_outcome_file_may_go_to_standard_output(gate):
    done = gate(row("a", 0), options=("--json", "-", "--format", "jsonl"))
    assert '"outcome": "quality_failed"' in done.out
    assert done.code == 1


def test_a_device_is_written_to_and_stays_one(gate):
    options = ("--json", "/dev/null", "--junit", "/dev/null", "--summary", "/dev/null")
    assert gate(row("a"), options=options).code == 0
    assert not Path("/dev/null").is_file()


# --- processes, pipes and faults --------------------------------------------------------------------------------------

DRIVER = """
    import sys
    from evalkit.decisions import gate
    from evalkit.pages import gate_run
    from evalkit.scoring import stream
    from evalkit.cases import lines
    {change}
    from evalkit.cli import main
    main()
"""


def driven(here: Path, change: str, *arguments: object) -> Done:
    """Run the command line after something inside evalkit was changed."""
    script = here / "driver.py"
    script.write_text(textwrap.dedent(DRIVER).format(change=change))
    return outside(*arguments, cwd=here, program=("driver.py",))


def test_two_processes_print_the_same_bytes_as_one(here: Path):
    path = cases(here, *(row(f"r{i}", i % 5) for i in range(400)), "{", "", row("r7"), row("R8"))
    arguments = ("gate", "evidence_coverage", path, "--policy", "policy.toml", *TODAY, "--format", "jsonl")
    found = []
    for workers in (1, 2):
        change = f"gate_run._cores = lambda: {workers}; stream._PARALLEL_BYTES = 0; lines._SIZE = 5000"
        found.append(driven(here, change, *arguments, "--run", f"run{workers}"))
    assert found[0] == found[1]
    assert found[0].code == 2
    one, two = (here / "run1" / "records.jsonl", here / "run2" / "records.jsonl")
    assert one.read_bytes() == two.read_bytes()
    assert len(one.read_bytes().splitlines()) == 403


FAULT = "gate.unjudged = lambda *_: 1 / 0"


def test_a_fault_inside_evalkit_exits_2_and_says_where_its_log_is(here: Path):
    path = cases(here, row("a"))
    done = driven(here, FAULT, "gate", "evidence_coverage", path, "--policy", "policy.toml", *TODAY, "--run", "run")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("evalkit: a fault inside evalkit (ZeroDivisionError); nothing was decided. Details: ")
    log = Path(done.err.strip().split("Details: ")[1])
    assert "ZeroDivisionError" in log.read_text()
    log.unlink()
    # The records were written already: the folder stays and says that it is unfinished.
    assert {name.name for name in (here / "run").iterdir()} == {"records.jsonl.part"}


def test_a_fault_before_the_first_record_leaves_nothing(here: Path):
    path = cases(here, row("a"))
    fault = "gate.rule_of = lambda *_: 1 / 0"
    done = driven(here, fault, "gate", "evidence_coverage", path, "--policy", "policy.toml", *TODAY, "--run", "run")
    assert done.code == 2
    Path(done.err.strip().split("Details: ")[1]).unlink()
    assert not (here / "run").exists()


def test_a_full_disk_exits_2_in_words(here: Path):
    path = cases(here, row("a"))
    full = "from evalkit.scoring import run; run.os.fsync = lambda _: exec('raise OSError(28, \"No space left\")')"
    done = driven(here, full, "gate", "evidence_coverage", path, "--policy", "policy.toml", *TODAY, "--run", "run")
    assert done.code == 2
    assert "No space left" in done.err
    assert "fault inside" not in done.err


def test_a_reader_that_goes_away_is_no_traceback(here: Path):
    path = cases(here, *(row(f"r{i}", 0) for i in range(5000)))
    command = [
        sys.executable,
        "-m",
        "evalkit",
        "gate",
        "evidence_coverage",
        str(path),
        "--policy",
        "policy.toml",
        *TODAY,
    ]
    process = subprocess.Popen(
        [*command, "--format", "jsonl", "--json", "o.json"], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    said = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(60) in (1, 2)  # never green, whoever stopped reading
    assert "Traceback" not in said
    assert "Exception ignored" not in said


def test_a_pipe_that_is_closed_from_the_start_does_not_turn_green_into_red_or_red_into_green(here: Path):
    for supported, codes in ((4, (0, 2)), (0, (1, 2))):
        path = cases(here, row("a", supported))
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-m", "evalkit", "gate", "evidence_coverage", path, "--policy", "policy.toml", *TODAY],
            cwd=here, stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip
        os.close(writing)
        assert done.returncode in codes
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize(("redirect", "code"), [(">&-", 0), ("<&- >&- 2>&-", 0), (">/dev/full", 2)])
def test_standard_output_that_is_closed_or_full_is_never_exit_1(here: Path, redirect: str, code: int):
    path = cases(here, row("a"))
    command = [
        sys.executable,
        "-m",
        "evalkit",
        "gate",
        "evidence_coverage",
        path.name,
        "--policy",
        "policy.toml",
        *TODAY,
    ]
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" "$@" {redirect}', *command, "--run", "run"],
        cwd=here, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == code
    do = "free space or choose another folder, then run again"
    full = f"evalkit: the system refused a file (No space left on device); not finished: {do}\n"
    assert done.stderr == (full if code else "")
    # No file of the run took the number of a closed stream.
    assert json.loads((here / "run" / "records.jsonl").read_text())["case_id"] == "a"


def test_what_a_row_says_cannot_steer_the_terminal(gate):
    done = gate(row("evil\x1b[2J\u202e", 0))
    assert done.code == 1
    assert "\x1b" not in done.out
    assert "\u202e" not in done.out
