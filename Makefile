# Needs only make, Python 3.11 or newer and its pip; everything else goes into .venv from requirements.lock, by hash.

PYTHON  ?= python3
WORKERS ?= 2
PYTEST_ARGS ?=
LAB_ARGS ?=
# JupyterLab asks no server about news and updates, and asks nobody whether it may (tools/lab).
QUIET := --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate \
         --LabApp.extension_manager=readonly --LabApp.app_settings_dir="$(CURDIR)/tools/lab"
LOCK_ARGS ?=
BENCH_ARGS ?=

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.installed
LOCK  := requirements.lock

# No address is written down here: uv is told where pip looks, and pip itself takes over where uv cannot go.
define INSTALL
set -eu
pip_says() { # pip's setting $$1: the environment, sorted last, beats the files
  printf '%s\n' "$$settings" | while IFS='=' read -r key value; do
    case "$$key" in "global.$$1" | ":env:.$$1") value="$${value#?}"; printf '%s\n' "$${value%?}" ;; esac
  done | tail -n 1
}
settings=$$($(BIN)/python -m pip config list | sort -r)
index="$${UV_DEFAULT_INDEX:-$${UV_INDEX_URL:-$$(pip_says index-url)}}"
if [ -n "$$index" ]; then export UV_DEFAULT_INDEX="$$index"; fi
cert="$${SSL_CERT_FILE:-$$(pip_says cert)}"
if [ -n "$$cert" ]; then export SSL_CERT_FILE="$$cert"; fi
unset UV_INDEX_URL VIRTUAL_ENV
uv() { $(BIN)/uv "$$@" --python $(BIN)/python; }
if [ "$${1:-}" = lock ]; then
  exec $(BIN)/uv pip compile pyproject.toml --all-extras --universal --fork-strategy fewest --python-version 3.11 \
    --generate-hashes --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' \
    --quiet --output-file $(LOCK) $(LOCK_ARGS)
fi
uv pip sync --quiet --require-hashes $(LOCK) || {
  echo "uv could not install the lock; pip tries (a few minutes)" >&2
  $(BIN)/python -m pip install --quiet --require-hashes -r $(LOCK)
}
uv pip install --quiet --no-deps --no-build-isolation --editable . ||
  $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
endef

# uv's own pin and hashes, cut out of the lock: the pin stands in one place.
define UV_PIN
import pathlib, re
print(re.search(r"^uv==(?:.*\\\n)+.*", pathlib.Path("$(LOCK)").read_text(), re.M).group())
endef

define PYTHON_IS_NEW_ENOUGH
import sys
sys.exit(sys.version_info < (3, 11) and "evalkit needs Python 3.11 or newer, this is %d.%d: make PYTHON=python3.11" % sys.version_info[:2])
endef

define HELP
import re
for line in open("Makefile"):
    target = re.match(r"([a-z]+):.*?## (.*)", line)
    if target:
        print("  make %-10s %s" % target.groups())
endef

# Exits 1 where no test carries the marker given as argument, so that an empty run is never taken for a green one.
define CARRIED
import pathlib, sys
sys.exit(not any("mark." + sys.argv[1] in page.read_text(encoding="utf-8") for page in pathlib.Path("tests").rglob("test_*.py")))
endef

export INSTALL UV_PIN PYTHON_IS_NEW_ENOUGH HELP CARRIED
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export RAGAS_DO_NOT_TRACK = true

# The scripts of a checkout that was copied or moved still point at the old folder: make .venv again.
ifneq ($(shell cat $(STAMP) 2>/dev/null),$(CURDIR))
$(STAMP): again
endif

.DEFAULT_GOAL := help
.PHONY: help setup run test check lint format types notebooks lab bench faults fuzz lock clean again

help:  ## this list
	@$(PYTHON) -c "$$HELP"

setup: $(STAMP)  ## make .venv from requirements.lock (done by every other target when needed)

$(STAMP): $(LOCK) pyproject.toml
	@$(PYTHON) -c "$$PYTHON_IS_NEW_ENOUGH"
	@echo "setting up $(VENV) from $(LOCK)"
	@if ! { [ "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" ] && $(BIN)/python -c ""; } 2>/dev/null; then \
	  $(PYTHON) -m venv --clear $(VENV); fi
	@$(BIN)/python -c "$$UV_PIN" >$(VENV)/uv.txt
	@$(BIN)/python -m pip install --quiet --require-hashes -r $(VENV)/uv.txt
	@sh -c "$$INSTALL"
	@printf '%s\n' "$(CURDIR)" >$@

run: setup  ## the release check on a red incident: counts, what is missing, the report (no key needed)
	@$(BIN)/python tools/demo.py

test: setup  ## all tests but faults and fuzz, doctests included
	$(BIN)/pytest -m "not faults and not fuzz" -n $(WORKERS) --dist loadfile $(PYTEST_ARGS)

check: lint types test  ## what must be green before a commit: ruff, format, mypy --strict, tests, doctests

lint: setup  ## ruff check and ruff format --check
	$(BIN)/ruff check
	$(BIN)/ruff format --check

format: setup  ## let ruff mend what it can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

types: setup  ## mypy --strict on evalkit
	$(BIN)/mypy --strict evalkit

notebooks: setup  ## run the notebooks headless and rebuild their pages
	$(BIN)/evalkit notebooks --build

lab: setup  ## open JupyterLab on the first notebook
	$(BIN)/jupyter lab $(QUIET) $(LAB_ARGS) notebooks/01_design_a_metric.ipynb

bench: setup  ## side-by-side measurements as ratios, into benchmarks/RESULTS.md (BENCH_ARGS=NAME: one of them)
	$(BIN)/python benchmarks/bench.py --out benchmarks/RESULTS.md $(BENCH_ARGS)

define MARKED
@if $(BIN)/python -c "$$CARRIED" $@; then $(BIN)/pytest tests -m $@ $(PYTEST_ARGS); \
else echo "no test carries the marker '$@' yet: nothing to run"; fi
endef

faults: setup  ## kills, full disks and closed pipes
	$(MARKED)

fuzz: setup  ## generated hostile input, within a time box
	$(MARKED)

lock: setup  ## write requirements.lock anew from pyproject.toml (LOCK_ARGS=--upgrade for the newest versions)
	@sh -c "$$INSTALL" sh lock

clean:  ## remove .venv, caches and build output; run folders stay
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis mutants
	@$(PYTHON) -c "import pathlib, shutil; [shutil.rmtree(p) for r in ('evalkit', 'tests', 'benchmarks', 'notebooks') for p in pathlib.Path(r).rglob('__pycache__')]"
