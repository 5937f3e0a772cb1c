# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     notebook_metadata_filter: -jupytext.text_representation.jupytext_version
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Would the cases notice a broken metric?
#
# **You decide** whether the contract cases of a metric are good enough to stand between a slip and a release.
#
# **In:** a metric, and a folder with its `contract.jsonl`. **Out:** the kill matrix (which case catches which planted
# fault), and `outcome.json`: *passed* when every fault that is not equivalent is caught.
#
# The page works for any metric: `evalkit notebooks 02 -p metric=mine.py:score -p fixtures=my_fixtures`.

# %% tags=["parameters"]
metric: str = "evidence_coverage"  # a built-in name, package.module:object or path/to/file.py:object
fixtures: str = "fixtures/evidence_coverage"  # holds contract.jsonl; policy.toml and release.jsonl are used if there
out_dir: str = "runs/notebooks"  # outcome.json goes into a folder of this page's name in here
renderer: str = "auto"  # of charts: png (static), jupyter (hover, needs no network) or auto

# %% [markdown]
# A parameter that is unknown or of another type ends the page in the next cell, as *incomplete*.

# %%
import json

import pandas as pd

import evalkit.pages.notebooks as workbench
from evalkit.pages.kill_chart import kill_chart
from evalkit.pages.kill_frames import kill_grid, mutants_frame
from evalkit.pages.kill_screen import kill_screen
from evalkit.pages.notebooks.mutation import add_case, break_metric, case_counts, concluded, layers_frame

page = workbench.open_page("02_mutation_test", globals())
page.enable_charts(renderer)
pd.set_option("display.max_colwidth", None)
page.versions()

# %% [markdown]
# ## The cases
#
# A contract case says what the metric must come to: a value with its reason, or that the row is invalid, and why.
# *Guard* cases each stand for one rule; *boundary*, *incident* and *example* cases may overlap with them.

# %%
broken = break_metric(workbench.open_metric(metric), fixtures)
pd.Series(case_counts(broken), name="cases").rename_axis("role").to_frame()

# %% [markdown]
# ## Tempting: every line is covered
#
# These few cases run through every line of the metric that the whole suite runs through. A coverage report would be
# green from here on.

# %%
print(f"{len(broken.covering)} cases reach {broken.reached} of {broken.lines} lines")
pd.DataFrame({"case": broken.covering})

# %% [markdown]
# A line that was run is not a line that was checked. So break the metric on purpose: plant one small fault at a time,
# the slips people make, and ask the same cases. A fault that no case notices has *survived*.

# %%
print(broken.tempting.in_words())

# %% [markdown]
# ## What survives full coverage
#
# Each of these metrics would have shipped with a green coverage report (at most 15 are shown). `-` is the author's
# line, `+` the slip.

# %%
mutants_frame(broken.tempting, "survived", most=15).drop(columns="note", errors="ignore")

# %% [markdown]
# ## One case more
#
# For a survivor, the smallest case that would kill it is searched among reduced and varied inputs of the suite. What it
# expects is what the metric does today: a person still has to say that this is right.

# %%
mended = add_case(broken)
print(json.dumps(mended.case, ensure_ascii=False))

# %% [markdown]
# With that one case added to the covering ones:

# %%
print(f"before: {broken.tempting.in_words()}\nafter:  {mended.matrix.in_words()}")
pd.DataFrame([(m.operator, m.where, m.line) for m in mended.killed], columns=["now killed", "where", "line"])

# %% [markdown]
# ## The whole suite
#
# Cases down, faults across; the colour says what gave the fault away. A column without a mark is a survivor. A row with
# few marks is not useless: look for the columns that only it fills.

# %%
page.draw(kill_chart, kill_grid(broken.full.part("metric")))

# %% [markdown]
# The faults that only one case notices: without that case, the fault would ship (at most 15 are shown).

# %%
alone = [m for m in broken.full.of("killed", "metric") if len(m.kills) == 1]
print(f"{len(alone)} of {broken.full.part('metric').denominator} faults hang on a single case")
pd.DataFrame([(m.kills[0].case_id, m.operator, m.where, m.line) for m in alone[:15]],
             columns=["case", "operator", "where", "line"])  # fmt: skip

# %% [markdown]
# Faults that change nothing are *equivalent*. They are few, and each has a reason that somebody reviewed:

# %%
mutants_frame(broken.full, "equivalent", most=15)

# %% [markdown]
# ## The verdict
#
# Where the folder holds a policy and release rows, the policy and the gate were broken too: by those rows and by the
# gate's own cases, which say what a gate must do in terms of the policy alone.

# %%
layers_frame(broken)

# %% [markdown]
# What `evalkit mutate` prints at its end; a survivor would stand here with the case that would kill it.

# %%
print("\n".join(kill_screen(broken.full).rstrip().split("\n\n")[-1:]))

# %% [markdown]
# ## The number, a second way
#
# The covering cases were run alone. The same survivors must follow from the full matrix: the faults that none of the
# covering cases is listed for. (A fault that had to be stopped never met the later cases, so it is left out.)

# %%
stopped = {m.id for m in broken.full.mutants if any(kill.by in ("time", "memory", "death") for kill in m.kills)}
metric_only = [m for m in broken.full.mutants if m.layer == "metric" and m.id not in stopped]
judged = [m for m in metric_only if m.status in ("killed", "survived")]
unnoticed = {m.id for m in judged if not set(m.killed_by) & set(broken.covering)}
assert unnoticed == {m.id for m in broken.tempting.of("survived")} - stopped
counts = pd.Series([m.status for m in broken.full.mutants]).value_counts()
assert counts.get("killed", 0) + counts.get("survived", 0) == broken.full.denominator
f"{len(unnoticed)} faults survive the covering cases, both ways"

# %% [markdown]
# ## What you now know
#
# - Which slips a green coverage report would have let through, and which case stops each of them.
# - Which faults hang on a single case: do not delete that one.
# - That the faults called equivalent were looked at by a person, with a reason.
#
# Next, `03_calibrate_threshold` asks where the limit should lie.
#
# The last cell writes `outcome.json`, and raises unless the outcome is *passed*: so papermill and CI learn of it.

# %%
page.finish(concluded(broken))
