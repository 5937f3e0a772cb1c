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
# # Which evidence went missing, and whose is it?
#
# **You decide** who mends a red build, and whether a new version of the metric may replace the one in use.
#
# **In:** two files of cases (or run folders), a metric, a policy, a candidate metric. **Out:** each changed row with
# its first diverging evidence and owner, and `outcome.json`: *passed* when every changed row has an owner.
#
# The page works for any metric: `evalkit notebooks 06 -p old=before.jsonl -p new=after.jsonl -p incidents=`.

# %% tags=["parameters"]
metric: str = "evidence_coverage"  # a built-in name, package.module:object or path/to/file.py:object
old: str = "fixtures/evidence_coverage/incidents/document_ids_changed/old.jsonl"  # cases, or a run folder
new: str = "fixtures/evidence_coverage/incidents/document_ids_changed/new.jsonl"  # cases, or a run folder
policy: str = "fixtures/evidence_coverage/policy.toml"  # the reviewed limits
old_metric: str = ""  # where the old cases were judged with another source; empty for the same
old_policy: str = ""  # where they were judged under other limits; empty for the same
incidents: str = "fixtures/evidence_coverage/incidents"  # a folder of look-alikes; empty for none
candidate: str = "fixtures/evidence_coverage/incidents/metric_edited/new_metric.py:evidence_coverage"  # for a dual run
dual_cases: str = "fixtures/evidence_coverage/incident.jsonl"  # the stored cases of the dual run
as_of: str = "2026-12-01"  # the day on which dates are judged; empty for today
out_dir: str = "runs/notebooks"  # outcome.json goes into a folder of this page's name in here
renderer: str = "auto"  # of charts: png (static), jupyter (hover, needs no network) or auto

# %% [markdown]
# A parameter that is unknown, of another type or not finite ends the page in the next cell, as *incomplete*.

# %%
import pandas as pd

import evalkit.pages.notebooks as workbench
from evalkit.pages.compare_text import compare_screen
from evalkit.pages.explain_chart import dashboard_chart
from evalkit.pages.explain_text import explain_screen
from evalkit.pages.notebooks import explaining

page = workbench.open_page("06_explain_and_migrate", globals())
page.enable_charts(renderer)
pd.set_option("display.max_colwidth", None)
page.versions()

# %% [markdown]
# ## Tempting: the dashboard's one number
#
# Both files, judged as `evalkit gate` judges them. This is what a dashboard shows the morning after.

# %%
runs = explaining.two_runs(old, new, metric, policy, as_of, old_metric=old_metric, old_policy=old_policy)
dashboard = explaining.dashboard_frame(runs)
page.draw(dashboard_chart, dashboard)

# %% [markdown]
# The numbers of the picture, with the rows they are over (at most 15 lines):

# %%
dashboard.head(15)

# %% [markdown]
# The guess it invites is that the model got worse, or that retrieval broke, and a day goes into tuning one of the two.
# A number cannot say which: it has forgotten the rows. Count the passages first, before anybody touches the retriever.

# %%
explaining.passage_counts(runs)

# %% [markdown]
# Same counts do not prove that retrieval is well, and other counts do not prove that it broke: they only say how much
# the guess rests on.
#
# ## Where it breaks: which rows changed
#
# The runs are matched by case id. A row is listed when its state, value or decision changed, or when it appeared or
# vanished. For each, the evidence is compared in a fixed order, from what people agreed on (contract, required claims,
# policy, metric) through what the system did (passages, their identity, the answer, its citations) to what a judge made
# of it. The *first* that differs is where to look: what comes after it may differ only in consequence.

# %%
explaining.rows_frame(runs, most=15)

# %% [markdown]
# ## The first diverging evidence, and its owner
#
# The same as `evalkit explain NEW OLD` prints it: old and new evidence, the owner, and at the end what did *not*
# change.

# %%
print(explain_screen(runs.facts()))

# %% [markdown]
# ## One run alone
#
# On the night of the incident there may be no older run at hand. Then the row is walked back by itself: was the missing
# claim said, was it cited, was its passage retrieved? Words are looked up to find the place to read; a place that was
# found is never called support. Where something was not kept, it says *not decidable here* and does not guess.

# %%
alone = explaining.explain(runs.new).facts()
for row in alone["rows"][:5]:
    print(f"{row['case_id']} (owner: {row['owner']})\n    {row['sentence']}\n")

# %% [markdown]
# ## Look-alikes
#
# From the dashboard these are one regression: a check that was green has a red row, and the mean fell or did not (at
# most 15 are shown). What differs is who has to do something.

# %%
found = explaining.look_alikes(incidents, metric, policy, as_of)
explaining.look_alikes_frame(found).head(15)

# %% [markdown]
# ## Migrate: a dual run
#
# A candidate for the metric's next version is run beside the one in use, over the same stored cases and under one
# policy. Every disagreement is listed by row, those that only one of them can score first.

# %%
rehearsal = explaining.rehearse(metric, candidate, dual_cases, policy)
print(compare_screen(rehearsal.facts()))

# %% [markdown]
# Switch when every row on that list has been read, and keep the old metric for an observation window with an end date:
# `[observation] old_metric, until` in the policy. After that day it is refused.
#
# ## The number, a second way
#
# The changed rows once more, from the two lists of records and a join in pandas; and the roll-ups must add up.

# %%
results = {
    side: pd.Series({r.case_id: f"{r.state} {r.decision} {r.value}" for r in run.records()})
    for side, run in (("old", runs.old), ("new", runs.new))
}
joined = pd.concat(results, axis=1).fillna("absent")
changed = set(joined.index[joined["old"] != joined["new"]])

# %%
rows = runs.explanation.rows
assert changed == {row.case_id for row in rows} or not runs.is_comparable
assert sum(runs.facts()["by_owner"].values()) == sum(runs.facts()["by_kind"].values()) == len(rows)
assert sum(rehearsal.transitions.values()) == rehearsal.n
f"{len(rows)} of {runs.explanation.total} rows changed"

# %% [markdown]
# ## What you now know
#
# - Which piece of evidence is the first that differs, row by row, and who owns it.
# - That a number which falls says nothing about why: unlike causes look the same from it.
# - On which rows the next version of the metric would decide otherwise, before anybody depends on it.
#
# The last cell writes `outcome.json`, and raises unless the outcome is *passed*: so papermill and CI learn of it.

# %%
page.finish(explaining.concluded(runs, found, rehearsal))
