from __future__ import annotations

import inspect
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evalkit.contract import EvalkitError, Metric
from evalkit.metrics import BUILT_IN
from evalkit.scoring.load import as_metric, load_metric

Write = Callable[..., Path]

SHARE = """
    from evalkit import numeric_metric

    SCALE = 1.0

    @numeric_metric()
    def share(found: list[str], wanted: list[str]) -> float:
        return SCALE * len(set(found) & set(wanted)) / len(wanted)
"""


def refused(spec: str) -> EvalkitError:
    with pytest.raises(EvalkitError) as fault:
        load_metric(spec)
    return fault.value


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_built_in_metric_goes_by_its_name(name: str):
    assert load_metric(name).name == name


def test_a_misspelt_built_in_name_gets_the_nearest_and_the_list():
    assert str(refused("evidence_covrage")) == (
        "there is no built-in metric 'evidence_covrage', did you mean 'evidence_coverage'?; built in are "
        f"{', '.join(sorted(BUILT_IN))}; your own is named path/to/file.py:object or package.module:object"
    )


@pytest.mark.parametrize("spec", ["", "zzz"])
def test_a_name_near_nothing_gets_the_list_alone(spec: str):
    fault = refused(spec)
    assert fault.message == f"there is no built-in metric {spec!r}"
    assert "built in are" in fault.do


def test_a_module_is_named_with_its_object():
    assert load_metric("evalkit.metrics.evidence_coverage:evidence_coverage") is load_metric("evidence_coverage")


def test_a_module_of_the_current_folder_can_be_named(user_file: Write):
    user_file("", "my_shares/__init__.py")
    user_file(SHARE, "my_shares/overlap.py")
    assert load_metric("my_shares.overlap:share").measure({"found": ["a"], "wanted": ["a", "b"]}).value == 0.5
    assert str(Path.cwd()) not in sys.path
    for name in ("my_shares", "my_shares.overlap"):
        del sys.modules[name]


def test_a_file_is_found_from_the_current_folder(user_file: Write):
    user_file(SHARE, "metrics/mine.py")
    metric = load_metric("metrics/mine.py:share")
    assert metric.measure({"found": ["a"], "wanted": ["a", "b"]}).value == 0.5
    assert load_metric(f"{Path.cwd() / 'metrics' / 'mine.py'}:share").fingerprint == metric.fingerprint


def test_an_object_inside_another_can_be_named(user_file: Write):
    user_file(SHARE + "\n    class Kept:\n        it = share\n")
    assert load_metric("mine.py:Kept.it").name == "share"


# --- a file is run as a user expects --------------------------------------------------------------------------------


def test_source_and_pickle_find_what_was_loaded(user_file: Write):
    user_file(SHARE)
    metric = load_metric("mine.py:share")
    assert "SCALE * len(set(found)" in inspect.getsource(metric.function)
    assert pickle.loads(pickle.dumps(metric)) is metric


def test_postponed_annotations_and_dataclasses_find_their_module(user_file: Write):
    user_file(
        """
        from __future__ import annotations
        from dataclasses import dataclass
        from typing import ClassVar
        from evalkit import numeric_metric

        @dataclass
        class Settings:
            scale: float = 0.5
            kinds: ClassVar[int] = 1

        @numeric_metric()
        def mine(text: str) -> float:
            return Settings().scale
        """
    )
    assert load_metric("mine.py:mine").measure({"text": "a"}).value == 0.5


def test_a_second_load_reads_the_file_anew_even_within_the_same_second(user_file: Write):
    path = user_file(SHARE)
    row = {"found": ["a"], "wanted": ["a", "b"]}
    first = load_metric("mine.py:share")
    stamp = path.stat()
    user_file(SHARE.replace("SCALE = 1.0", "SCALE = 0.5"))  # the same length
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    second = load_metric("mine.py:share")
    assert (first.measure(row).value, second.measure(row).value) == (0.5, 0.25)
    assert not (path.parent / "__pycache__").exists()


def test_the_same_source_has_the_same_fingerprint_at_each_load(user_file: Write):
    user_file(SHARE)
    assert load_metric("mine.py:share").fingerprint == load_metric("mine.py:share").fingerprint


def test_two_files_of_one_name_are_two_modules(user_file: Write):
    user_file(SHARE, "a/mine.py")
    user_file(SHARE.replace("SCALE = 1.0", "SCALE = 0.5"), "b/mine.py")
    metrics = [load_metric("a/mine.py:share"), load_metric("b/mine.py:share")]
    assert [metric.measure({"found": ["a"], "wanted": ["a"]}).value for metric in metrics] == [1.0, 0.5]
    assert [pickle.loads(pickle.dumps(metric)) is metric for metric in metrics] == [True, True]


def test_what_lies_beside_the_file_can_be_imported_while_it_loads_and_only_then(
    user_file: Write, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    source = """
        from evalkit import numeric_metric
        from beside import scale

        @numeric_metric()
        def mine(text: str) -> float:
            return scale()
    """
    for folder, scale in (("a", 0.25), ("b", 0.75)):
        user_file(source, f"{folder}/mine.py")
        user_file(f"def scale():\n    return {scale}\n", f"{folder}/beside.py")
    path = list(sys.path)
    metrics = [load_metric("a/mine.py:mine"), load_metric("b/mine.py:mine")]
    assert [metric.measure({"text": "a"}).value for metric in metrics] == [0.25, 0.75]
    assert sys.path == path
    stamp = Path("b/beside.py").stat()
    user_file("def scale():\n    return 0.55\n", "b/beside.py")  # the same length, within the same second
    os.utime("b/beside.py", ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert load_metric("b/mine.py:mine").measure({"text": "a"}).value == 0.55


def test_a_package_that_was_imported_from_elsewhere_is_left_in_place(user_file: Write):
    user_file(SHARE)
    before = {name: id(module) for name, module in sys.modules.items() if name.split(".")[0] in ("evalkit", "pydantic")}
    load_metric("mine.py:share")
    load_metric("mine.py:share")
    assert {name: id(sys.modules[name]) for name in before} == before


def test_what_is_installed_further_down_in_the_folder_is_not_read_anew(
    user_file: Write, monkeypatch: pytest.MonkeyPatch
):
    user_file("x = 1\n", ".venv/site-packages/installed_once.py")
    monkeypatch.syspath_prepend(".venv/site-packages")
    user_file("import installed_once\nfrom evalkit import evidence_coverage as mine\n")
    load_metric("mine.py:mine")
    module = sys.modules["installed_once"]
    load_metric("mine.py:mine")
    assert sys.modules.pop("installed_once") is module


def test_what_a_file_prints_goes_to_stderr(user_file: Write, capsys: pytest.CaptureFixture[str]):
    user_file("print('loading')\n" + "from evalkit import evidence_coverage as mine\n")
    load_metric("mine.py:mine")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "loading\n")


def test_ragas_is_kept_from_reporting_before_the_file_runs(user_file: Write, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("RAGAS_DO_NOT_TRACK", raising=False)
    user_file(
        """
        import os
        assert os.environ["RAGAS_DO_NOT_TRACK"] == "true"
        from evalkit import evidence_coverage as m
        """
    )
    assert load_metric("mine.py:m").name == "evidence_coverage"


FAILED = "the file cannot be imported"


# --- faults: a plain message with what, where and what to do --------------------------------------------------------


def test_a_file_without_an_object_is_asked_for_one(user_file: Write):
    user_file(SHARE)
    assert str(refused("mine.py")) == "'mine.py' names a file, but not the metric in it; write mine.py:object"


def test_no_such_file(user_file: Write):
    user_file(SHARE)
    assert str(refused("mime.py:share")) == (
        "mime.py: there is no such file, did you mean 'mine.py'?; "
        "give the path of a .py file, as seen from the current folder"
    )
    assert refused("nowhere/mine.py:share").message == "there is no such file"


def test_no_python_file(user_file: Write):
    user_file("{}", "mine.ipynb")
    assert refused("./mine.ipynb:share").message == "a Python file was expected; this is another kind of file"
    Path("folder.py").mkdir()
    assert refused("folder.py:share").message == "a Python file was expected; this is a folder"


def test_no_such_module():
    assert str(refused("no_such_package.metrics:share")) == (
        "no_such_package.metrics: there is no module 'no_such_package'; name a module of this environment or of the "
        "current folder, or a file as path/to/file.py:object"
    )
    assert refused("evalkit.no_such_room:share").message == "there is no module 'evalkit.no_such_room'"


@pytest.mark.parametrize("name", ["shaer", "share.more", ""])
def test_no_such_object_lists_the_metrics_there_are(user_file: Write, name: str):
    user_file(SHARE)
    fault = refused(f"mine.py:{name}")
    assert fault.message.startswith(f"has no object {name!r}")
    assert (fault.where, fault.do) == ("mine.py", "its metrics are share")


def test_a_file_without_metrics_says_so(user_file: Write):
    user_file("x = 1\n")
    assert refused("mine.py:share").do == "it holds no metric: decorate a function"


@pytest.mark.parametrize(
    ("source", "line", "message", "do"),
    [
        ("x = 1\nimport no_such_thing\n", "line 2", f"{FAILED} (ModuleNotFoundError: No module named 'no_such_thing')",
         "install what provides 'no_such_thing' here, or put that module beside the file"),
        ("from json import no_such_name\n", "line 1", f"{FAILED} (ImportError: cannot import name", "mend that line"),
        ("def f():\n    1 / 0\n\nf()\n", "line 2", f"{FAILED} (ZeroDivisionError: division by zero)", "mend that"),
        ("def f(:\n", "line 1", "this is not valid Python (invalid syntax)", "mend that line"),
        ("if True:\nx = 1\n", "line 2", "this is not valid Python (expected an indented block", "mend that line"),
        ("x = 1\0\n", "", "", "mend that line"),
        ("import sys\nsys.exit(3)\n", "line 2", f"{FAILED} (SystemExit: 3)", "mend that line"),
        ("assert False\n", "line 1", f"{FAILED} (AssertionError)", "mend that line"),
        ("from . import beside\n", "line 1", f"{FAILED} (ImportError: attempted relative import",
         "name the metric as package.module:object, so that its relative imports have a package"),
        ("from evalkit import numeric_metric\n\n@numeric_metric()\ndef mine(x):\n    return 1.0\n", "line 3",
         "parameter 'x' of mine has no annotation", "annotate it, for example x: str or x: list[str]"),
        ("from evalkit import Contract\nContract(version='')\n", "line 2", f"{FAILED} (TypeError: ", "mend that line"),
    ],
    ids=["module", "name", "error", "syntax", "indent", "null byte", "exit", "assertion", "relative", "lint", "call"],
)  # fmt: skip
def test_a_fault_in_the_users_file_is_shown_with_its_line(
    user_file: Write, source: str, line: str, message: str, do: str
):
    user_file("x = 1\n").write_text(source, encoding="utf-8")
    modules = {name for name in sys.modules if name.startswith("user_metric_")}
    fault = refused("mine.py:mine")
    assert fault.where == (f"mine.py, {line}" if line else "mine.py")
    assert fault.message.startswith(message)
    assert fault.do.startswith(do)
    assert {name for name in sys.modules if name.startswith("user_metric_")} == modules


def test_a_fault_in_a_file_beside_it_is_shown_where_it_was_imported(user_file: Write):
    user_file("import beside\n")
    user_file("\n\nraise RuntimeError('not today')\n", "beside.py")
    fault = refused("mine.py:mine")
    assert (fault.where, fault.message) == ("mine.py, line 1", "the file cannot be imported (RuntimeError: not today)")
    user_file("def broken(:\n", "beside.py")
    assert refused("mine.py:mine").where == "beside.py, line 1"


def test_a_file_outside_the_current_folder_is_shown_by_its_name(user_file: Write, monkeypatch: pytest.MonkeyPatch):
    path = user_file("1 / 0\n").resolve()
    Path("elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert refused(f"{path}:mine").where == "mine.py, line 1"


def test_a_failed_load_leaves_the_one_before_it_working(user_file: Write):
    user_file(SHARE)
    metric = load_metric("mine.py:share")
    user_file("1 / 0\n")
    refused("mine.py:share")
    assert pickle.loads(pickle.dumps(metric)) is metric


# --- what is a metric -----------------------------------------------------------------------------------------------


def a_function(text: str) -> float:
    return 1.0


def test_a_metric_is_one_as_it_is():
    metric = load_metric("evidence_coverage")
    assert as_metric(metric) is metric


@pytest.mark.parametrize(
    ("found", "message", "do"),
    [
        (
            a_function,
            "a_function is a plain function: nothing says which values it may return",
            "decorate it with @numeric",
        ),
        (3, "a metric was expected; got an object of type int", "name an evalkit metric, or a metric object"),
        (None, "a metric was expected; got an object of type NoneType", "name an evalkit metric"),
        (Metric, "a metric was expected; got the class Metric", "name an evalkit metric"),
    ],
    ids=["function", "number", "nothing", "class"],
)
def test_anything_else_is_refused_in_plain_words(found: object, message: str, do: str):
    with pytest.raises(EvalkitError) as fault:
        as_metric(found)
    assert fault.value.message == message
    assert fault.value.do.startswith(do)


def test_the_refusal_of_a_loaded_object_names_it(user_file: Write):
    user_file("def mine(text: str) -> float:\n    return 1.0\n")
    assert str(refused("mine.py:mine")).startswith("mine.py:mine: mine is a plain function")


# --- ragas is not needed, and its broken install is named -----------------------------------------------------------


def python(code: str, *, site: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [site, os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | {"PYTHONPATH": path}, check=False
    )


def test_a_bundled_metric_is_loaded_and_scored_without_ragas_or_pandas():
    code = """
import sys
import evalkit.scoring.ragas_bridge
from evalkit.scoring.load import load_metric
print(load_metric("evidence_coverage").measure({"required_claim_ids": ["a"], "supported_claim_ids": []}).value)
print([name for name in ("ragas", "langchain_core", "pandas", "numpy", "altair", "scipy") if name in sys.modules])
"""
    assert python(code).stdout == "0.0\n[]\n"


LOAD = """
from evalkit.contract import EvalkitError
from evalkit.scoring.load import load_metric
try:
    load_metric("mine.py:mine")
except EvalkitError as fault:
    print(fault.where, fault.message, fault.do, sep="\\n")
"""

BROUGHT = "x = 1\nfrom ragas.metrics import numeric_metric\n"
PINNED = 'pip install "ragas==0.4.3" "langchain-community<0.4.2" (requirements.lock pins both)'


@pytest.mark.parametrize(
    "importing",
    ["from langchain_community.chat_models.vertexai import ChatVertexAI", "raise AttributeError('no such thing')"],
    ids=["module gone", "another fault"],
)
def test_l01_a_ragas_that_cannot_be_imported_is_named_with_its_pin(user_file: Write, importing: str):
    user_file(BROUGHT)
    user_file("\n", "site/langchain_community/__init__.py")
    user_file(f"{importing}\n", "site/ragas/__init__.py")
    user_file("\n", "site/ragas/metrics.py")
    where, message, do = python(LOAD, site="site").stdout.splitlines()
    assert where == "mine.py, line 2"
    assert message.startswith("ragas cannot be imported (")
    assert do == f"mend the environment: {PINNED}"


def test_l01_no_ragas_at_all_is_told_apart(user_file: Write):
    user_file(BROUGHT)
    hidden = """
import sys
class Hidden:
    def find_spec(name, path=None, target=None):
        if name == "ragas":
            raise ModuleNotFoundError("No module named 'ragas'", name="ragas")
sys.meta_path.insert(0, Hidden)
"""
    where, message, do = python(hidden + LOAD).stdout.splitlines()
    assert (where, message) == ("mine.py, line 2", "ragas is not installed in this environment")
    assert do == f"install it: {PINNED}"


def test_l01_a_fault_of_the_users_own_is_not_blamed_on_ragas(user_file: Write):
    user_file("import ragas\nimport no_such_thing\n")
    user_file("\n", "site/ragas/__init__.py")
    assert "ragas" not in python(LOAD, site="site").stdout
    user_file("import ragas\nragas.fail()\n")
    user_file("def fail():\n    raise ImportError('called, not imported')\n", "site/ragas/__init__.py")
    assert (
        "mine.py, line 2\nthe file cannot be imported (ImportError: called, not imported)"
        in python(LOAD, site="site").stdout
    )
