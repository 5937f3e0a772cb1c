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
# # Does one number lead to the missing evidence?
#
# **You decide** whether this metric may gate a release, row by row.
#
# **In:** a metric, a file of cases, a policy. **Out:** one of four outcomes, and `outcome.json`, which CI reads.
#
# The page works for any metric: change the parameters here, or run `evalkit notebooks 01 -p cases=mine.jsonl`.

# %% tags=["parameters"]
metric: str = "evidence_coverage"  # a built-in name, package.module:object or path/to/file.py:object
cases: str = "fixtures/evidence_coverage/release.jsonl"  # one JSON object a line
policy: str = "fixtures/evidence_coverage/policy.toml"  # the reviewed limits
as_of: str = "2026-12-01"  # the day on which dates are judged; empty for today
out_dir: str = "runs/notebooks"  # outcome.json goes into a folder of this page's name in here
renderer: str = "auto"  # of charts: png (static), jupyter (hover, needs no network) or auto
interactive: bool = True  # shows the row explorer where somebody has the page open

# %% [markdown]
# A parameter that is unknown, of another type or not finite ends the page in the next cell, as *incomplete*.

# %%
import pandas as pd
from IPython.display import display

import evalkit.pages.notebooks as workbench
from evalkit.pages import charts

page = workbench.open_page("01_design_a_metric", globals())
page.enable_charts(renderer)
pd.set_option("display.max_colwidth", None)
page.versions()

# %% [markdown]
# ## Four questions before any number
#
# A metric that leaves one of them open is a number nobody can defend. They are fields of its contract.

# %%
measured = workbench.open_metric(metric)
workbench.contract_markdown(measured)

# %% [markdown]
# ## One row, worked through
#
# Three claims are required, and reviewed evidence supports two of them. (A metric with other inputs shows a row of its
# own cases here.)

# %%
judged = workbench.judge(measured, cases, policy, as_of)
example = workbench.worked_example(judged)
pd.Series(example.inputs, name=example.title).to_frame()

# %% [markdown]
# The value alone says *two thirds*. The reason names what is missing, and the detail says it again for programs.

# %%
workbench.worked_result(judged, example)

# %% [markdown]
# ## The rows, and what became of each
#
# Every line that is not blank ends in exactly one state. *Invalid* (the test data is wrong), *error* (the metric
# failed) and *unrun* never become a number. `mean_of` says how many rows the mean is over. At most 15 slices are shown.

# %%
ledger = judged.result.ledger.facts()
print(f"{ledger['lines']} lines = {ledger['blank']} blank + {len(judged.records)} rows")
pd.DataFrame.from_dict(ledger["slices"], orient="index").rename_axis("slice").head(15)

# %% [markdown]
# The scored ones among them have a decision too: what the policy says of the row. Charts show the six largest slices.

# %%
table = judged.frame()
largest = table["slice"].value_counts().index[:6]
drawn = table[table["slice"].isin(largest)]
page.draw(charts.ledger_chart, drawn)

# %% [markdown]
# ## Tempting: the average
#
# The mean of a slice clears its minimum, so ship? `below` names the rows under the minimum while the mean is above it.
# `could_fall_to_zero` says how many of `rows` could lose everything before the mean would fall under the minimum.

# %%
averages = workbench.hidden_by_average(judged.records, judged.result.policy)
hiding = pd.DataFrame(averages, columns=workbench.Hidden._fields)
hiding.assign(below=hiding["below"].str.join(", ")).head(15)

# %% [markdown]
# An average answers "how good are we on the whole", which no customer asks. The policy reads rows.
#
# ## Tempting: count a claim when the answer sounds like it
#
# Matching by wording would spare the reviewers: the text of a required claim resembles a stretch of the answer, so call
# it supported. It can be tried on rows whose evidence holds the answer and the reviewed text of each claim.

# %%
lenient = workbench.lenient_frame(judged.in_order())
print(f"{len(lenient)} of {len(judged.records)} rows can be scored so; the mean over those rows:")
lenient[["strict", "lenient"]].mean().round(4).to_frame("mean")

# %% [markdown]
# The lenient number is never the lower one, which is what makes it tempting. Here is what it lets through (at most 15
# rows are shown): the answer says something like these claims, and no reviewed citation supports them.

# %%
improved = lenient[lenient["let_through"] != ""]
print(f"{len(improved)} of {len(lenient)} rows score higher when sounding alike is enough")
improved.head(15)

# %% [markdown]
# Nor is sounding alike saying. A sentence and its denial share most of their letters (0 to 100; 60 would count):

# %%
claim = "The refund goes back to the original payment method."
denial = "The refund never goes back to the original payment method."
round(workbench.resemblance(claim, denial), 1)

# %% [markdown]
# ## Strict: each row against the minimum of its slice
#
# The strict score counts what reviewers decided, and nothing else. The dashed line is the policy's bound.

# %%
draw_values = charts.value_chart if judged.is_numeric else charts.label_chart
page.draw(draw_values, drawn, **({"bounds": judged.bounds()} if judged.is_numeric else {}))

# %% [markdown]
# The rows themselves, those that most need reading first (at most 15):

# %%
judged.frame(most=15).drop(columns="missing")

# %% [markdown]
# ## What a threshold can tell apart
#
# With *k* required claims only *k* + 1 values exist, so most thresholds say the same. Between two steps of a line,
# moving the threshold changes nothing on these rows; the dashed line is the policy's.

# %%
found = workbench.resolutions(judged)
page.draw(
    charts.resolution_chart, [r for r in found if r.slice in largest]
) if found else "labels have no threshold to move"

# %% [markdown]
# What the policy's threshold asks for, in claims (at most 15 lines):

# %%
meanings = [(r.slice, m.words, f"{m.rows} of {r.n}") for r in found for m in r.meanings]
pd.DataFrame(meanings, columns=["slice", "threshold in claims", "rows"]).head(15)

# %% [markdown]
# ## The decision
#
# What `evalkit gate` says of the same file: counts, then whatever stands in the way, each with its owner.

# %%
print(judged.screen())

# %% [markdown]
# ## The number, a second way
#
# The same counts and the same mean from the data frame. If one of these lines fails, the page stops here and its
# outcome is *incomplete*: a number that two ways disagree on decides nothing.

# %%
scored = table[table["state"] == "scored"]
assert len(table) == sum(ledger[state] for state in ("scored", "invalid", "error", "unrun"))
assert len(scored[scored["decision"] == "pass"]) == ledger["pass"]
if judged.is_numeric and len(scored):
    assert abs(float(scored["value"].mean()) - ledger["mean"]) < 1e-9
f"{len(scored)} of {len(table)} rows scored"

# %% [markdown]
# For metrics that take claims, each row's ratio again, from nothing but the lengths of two lists.

# %%
inputs = pd.DataFrame([record.inputs for record in judged.records if record.state == "scored"])
if {"required_claim_ids", "supported_claim_ids"} <= set(inputs.columns):
    shares = inputs["supported_claim_ids"].str.len() / inputs["required_claim_ids"].str.len()
    assert (shares.to_numpy() == scored["value"].to_numpy(dtype=float)).all()

# %% [markdown]
# ## Hand one row to somebody who did not write the metric
#
# Case id, inputs, score and reason must lead to the same missing evidence and the same owner. This is the row that most
# needs reading. Where somebody has the page open, the explorer below shows every row so.

# %%
print(judged.row_text(0))

# %% [markdown]
# Filter by state, decision or slice, or find a word; choose a row with the mouse or the arrow keys.

# %%
if interactive and page.is_open:
    from evalkit.pages.widgets import RowExplorer

    display(RowExplorer(judged.in_order(), measured.contract))

# %% [markdown]
# ## What you now know
#
# - Which rows an average or a lenient match would let through, by name.
# - What the threshold asks for in claims, and which other thresholds would have decided the same.
# - What is missing from the row that most needs reading, and who has to mend it.
#
# Next, `02_mutation_test` breaks the metric on purpose, to see whether its cases would notice.
#
# The last cell writes `outcome.json`, and raises unless the outcome is *passed*: so papermill and CI learn of it.

# %%
page.finish(
    judged.result,
    figures={
        "average.rows_hidden": sum(len(hidden.below) for hidden in averages),
        "lenient.rows": len(lenient),
        "lenient.rows_improved": len(improved),
        "lenient.mean": float(lenient["lenient"].mean()) if len(lenient) else None,
        "thresholds.distinct": sum(len(resolution.steps) for resolution in found),
    },
)
