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
# # What goes wrong, before you measure anything?
#
# **You decide** which failures of your system deserve a metric, and of which kind.
#
# **In:** a file of traces, and one note a trace in your own words. **Out:** the failures you found, how often each
# occurs, which kind of metric fits it, and `outcome.json`: *passed* once every trace of the sample was read, each note
# has a group, and each group a kind.
#
# Run it on your own: `evalkit notebooks 00 -p traces=mine.jsonl -p notes=notes.csv -p groups=groups.csv`. A sheet of
# notes that is not there yet is written for you, empty.

# %% tags=["parameters"]
adapter: str = "plain"  # plain, ragas, openinference, otel-genai, csv, or path/to/file.py:object
traces: str = "fixtures/adapters/plain.jsonl"  # a file in the format that the adapter reads
notes: str = "fixtures/adapters/notes.csv"  # one note a trace: case_id, note, group
groups: str = "fixtures/adapters/groups.csv"  # one line a group: group, kind, why
sample: int = 15  # traces to read; fifty are an afternoon, and usually enough
seed: int = 15  # the same seed draws the same traces
out_dir: str = "runs/notebooks"  # outcome.json goes into a folder of this page's name in here
interactive: bool = True  # shows the sheet of notes where somebody has the page open

# %% [markdown]
# A parameter that is unknown or of another type ends the page in the next cell, as *incomplete*.

# %%
import pandas as pd
from IPython.display import display

import evalkit.pages.notebooks as workbench
from evalkit.pages.notebooks import reading

page = workbench.open_page("00_read_your_traces", globals())
pd.set_option("display.max_colwidth", None)
page.versions()

# %% [markdown]
# ## Tempting: measure what is easy to measure
#
# There are metrics for everything: faithfulness, relevancy, similarity. Take three, put them on a dashboard, and the
# team works on what the dashboard shows. Whether that is what hurts the people who ask, nobody has looked.
#
# So first read. Not all of them: a sample, drawn by chance, so that what you count speaks for the rest.

# %%
read = reading.read_traces(adapter, traces, notes, groups, sample, seed)
print(f"{len(read.reading.sample)} of {read.total} traces drawn; {read.unusable} give no row at all")
print(reading.trace_text(read, read.reading.sample[0]))

# %% [markdown]
# ## One note a trace
#
# What is wrong here, in your own words? Not a score, not yet a category. One sentence, and the first thing that went
# wrong, not all that followed from it. These are the reader's (at most 15 are shown):

# %%
reading.traces_frame(read)

# %% [markdown]
# Where somebody has the page open, the notes can be written here; *Save* puts them into the sheet.

# %%
if interactive and page.is_open:
    display(reading.sheet_editor(read, notes))

# %% [markdown]
# ## Group the notes, then count
#
# Notes that name the same failure get the same group. The group's name is yours too: "leaves a condition out" says more
# than "incompleteness". Beside each count stands the interval for the rate in all traces: with fifteen traces it is
# wide, and that is the honest answer.

# %%
reading.counts_frame(read)

# %% [markdown]
# What is still open before the counts mean anything:

# %%
print("\n".join(read.reading.open_ends()) or "nothing: every trace was read, every note grouped, every group decided")

# %% [markdown]
# ## Which kind of metric fits
#
# Not every failure wants a metric, and few want the same kind. A share of countable parts is *numeric*. What a person
# can pass or fail by a rubric is *discrete*. Where one occurrence is one too many, the policy is *boolean*. What can
# only be compared is a *ranking*. And what can simply be mended needs *none*.

# %%
reading.kinds_frame(read)

# %% [markdown]
# ## The number, a second way
#
# The counts once more, from the sheet itself: every trace of the sample is in exactly one group, or unread, or without
# a group.

# %%
sheet = pd.DataFrame([note._asdict() for note in read.notes.values()]).set_index("case_id")
mine = sheet.loc[[name for name in read.reading.sample if name in sheet.index]]
counted = mine[(mine["note"] != "") & (mine["group"] != "")]["group"].value_counts().to_dict()
assert counted == dict(read.reading.counts)
left = len(read.reading.unread) + len(read.reading.ungrouped)
assert sum(counted.values()) + left == len(read.reading.sample)
f"{sum(counted.values())} of {len(read.reading.sample)} traces are in {len(counted)} groups"

# %% [markdown]
# ## What you now know
#
# - What goes wrong, in words that the people who ask would recognise, and how often, with its uncertainty.
# - Which of it to count, which to judge, which to forbid, and which to mend without measuring.
# - Which traces to come back to: the notes are the first draft of your labels.
#
# Next, `01_design_a_metric` takes one failure and writes down what measuring it means.
#
# The last cell writes `outcome.json`, and raises unless the outcome is *passed*: so papermill and CI learn of it.

# %%
page.finish(reading.concluded(read))
