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
# # Does the case say what the trace said?
#
# **You decide** whether a mapping from traces to cases may be trusted, before any judge is paid for what it gives.
#
# **In:** an adapter, a file of traces, a metric that costs nothing. **Out:** the audit, and `outcome.json`: *passed*
# when every check holds, every planted fault is caught and untouched traces reach scoring as themselves.
#
# The page works for any mapping: `evalkit notebooks 07 -p adapter=mine.py:MINE -p traces=mine.jsonl -p metric=...`

# %% tags=["parameters"]
adapter: str = "plain"  # plain, ragas, openinference, otel-genai, csv, or path/to/file.py:object
traces: str = "fixtures/adapters/plain.jsonl"  # a file in the format that the adapter reads
metric: str = "fixtures/adapters/metrics.py:passage_recall"  # reads the cases; must cost nothing to call
fault: str = "reference_as_retrieved"  # the planted fault that the first half of the page looks at
out_dir: str = "runs/notebooks"  # outcome.json goes into a folder of this page's name in here
renderer: str = "auto"  # of charts: png (static), jupyter (hover, needs no network) or auto

# %% [markdown]
# A parameter that is unknown or of another type ends the page in the next cell, as *incomplete*.

# %%
import pandas as pd

import evalkit.pages.notebooks as workbench
from evalkit.pages.kill_chart import kill_chart
from evalkit.pages.kill_frames import kill_grid
from evalkit.pages.notebooks.auditing import concluded, controls_frame, faults_frame, fields_frame, open_audit

page = workbench.open_page("07_audit_the_adapter", globals())
page.enable_charts(renderer)
pd.set_option("display.max_colwidth", None)
page.versions()

# %% [markdown]
# ## The traces, meaning by meaning
#
# A mapping is about meanings first: what was asked, what was answered, which passages generation was given, what people
# wrote as reference. Names of columns come after. `distinct` is how many different texts there are.

# %%
audited = open_audit(adapter, traces, metric, fault)
fields_frame(audited)

# %% [markdown]
# What the metric asks, and of which inputs:

# %%
workbench.contract_markdown(audited.metric)

# %% [markdown]
# ## Tempting: the number went up
#
# Somebody touched the mapping on Friday. On Monday the same metric on the same traces says:

# %%
pd.Series(audited.means(), name="mean").round(4).to_frame()

# %% [markdown]
# Nothing complains. As many rows are scored as before, every field has the right type, nothing is missing.

# %%
audited.states()

# %% [markdown]
# ## What is behind it
#
# The rows that improved, the most improved first (at most 15):

# %%
better = audited.better()
better

# %% [markdown]
# One of them, three times: as the trace kept it, as the mapping gives it, and as the changed mapping gives it.

# %%
shown = better["case_id"].iloc[0] if len(better) else audited.rows[0].pair.adapted.trace_id
audited.shown(shown)

# %% [markdown]
# Where the last two columns differ, the metric was fed with something the system never did. It measured the test set.
# No score can show that, however good the metric: it is the right answer to the wrong question.
#
# ## The audit
#
# The trace kept more than the mapping reads: what generation was given, what was sent, what was observed. So each case
# can be held against it, row by row, before a judge is called. This is what the audit says of the changed mapping:

# %%
audited.findings()

# %% [markdown]
# And this is what it says of the mapping as it is: nothing, on any of its rows.

# %%
print(f"{len(audited.result.failed)} of {len(audited.result.checks)} checks fail on {audited.result.rows} traces")
pd.DataFrame([(c.name, c.failed, c.examples[0].sentence) for c in audited.result.failed],
             columns=["check", "rows", "for example"])  # fmt: skip

# %% [markdown]
# ## Would the audit notice the other slips?
#
# A check that cannot fail is worthless. So every slip that people make is planted into these very traces, one at a
# time, and a check of its own must name it on each row it was planted into (at most 15 are shown).

# %%
faults_frame(audited)

# %% [markdown]
# Which trace gave which fault away; a column without a mark is a fault that came through.

# %%
page.draw(kill_chart, kill_grid(audited.result.matrix), title="Which trace catches which fault")

# %% [markdown]
# ## Rejecting everything is not passing
#
# Beside each planted fault stands an untouched trace. It must reach scoring, with its own id and its own content. (A
# trace that failed, or whose passages were lost, cannot be scored: another one stands beside those.)

# %%
controls_frame(audited)

# %% [markdown]
# Faults that change none of this metric's scores are invisible to it. Only the audit stands between them and you:

# %%
", ".join(audited.result.blind()[audited.metric.name]) or "it sees every fault that was planted"

# %% [markdown]
# ## The number, a second way
#
# How many rows did the fault touch? Once by comparing what the two mappings give, once by asking the check that is
# there for this fault.

# %%
touched = [row for row in audited.rows if row.is_changed]
check = audited.check
assert len(touched) == sum(check.find(row.corrupted) is not None for row in audited.rows)
assert not any(check.find(row.pair) for row in audited.rows) or audited.result.failed
f"{len(touched)} of {len(audited.rows)} rows, both ways"

# %% [markdown]
# ## What you now know
#
# - Which number a wrong mapping would have shown, and that no schema would have minded.
# - That each of these slips has a check that names it on your own traces, and which slips your metric cannot see.
# - That untouched traces arrive as themselves. `evalkit adapt` writes this audit beside the cases, and a gate of cases
#   that were changed afterwards is *incomplete*.
#
# Next, `01_design_a_metric` asks whether the score made from these cases means what it says.
#
# The last cell writes `outcome.json`, and raises unless the outcome is *passed*: so papermill and CI learn of it.

# %%
page.finish(concluded(audited, traces))
