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
# # Which threshold do the labels prove?
#
# **You decide** at which score a row may pass without a person, slice by slice, or how many labels are still missing.
#
# **In:** a metric, cases, labels by people. **Out:** a policy file that rests on a certificate, its record, and
# `outcome.json`: *passed* where every slice that has to be certified is.
#
# The page works for any metric: `evalkit notebooks 03 -p cases=mine.jsonl -p labels=labels.jsonl -p must_certify=`.

# %% tags=["parameters"]
metric: str = "evidence_coverage"  # a built-in name, package.module:object or path/to/file.py:object
cases: str = "fixtures/evidence_coverage/calibration/cases.jsonl"  # cases, or a run folder
labels: str = "fixtures/evidence_coverage/calibration/labels.jsonl"  # what people said of them
max_false_pass: float = 0.2  # the largest acceptable share of bad answers that pass
confidence: float = 0.9  # of all certificates together, one-sided
must_certify: str = "billing-critical,default"  # slices that have to be certified; empty for all of them
ledger: str = ""  # the hold-out ledger beside your policy; empty for one that begins anew (the example)
approved_by: str = ""  # who approves the policy; empty for one that only reports
rationale: str = ""  # why these limits
expires_on: str = ""  # its last day, such as 2027-02-28
as_of: str = "2026-12-01"  # the day that is written down; empty for today
out_dir: str = "runs/notebooks"  # outcome.json and policy.toml go into a folder of this page's name in here
renderer: str = "auto"  # of charts: png (static), jupyter (hover, needs no network) or auto
interactive: bool = True  # shows the limit explorer where somebody has the page open

# %% [markdown]
# A parameter that is unknown, of another type or not finite ends the page in the next cell, as *incomplete*.

# %%
import numpy as np
import pandas as pd
from IPython.display import display

import evalkit.pages.notebooks as workbench
from evalkit.pages import calibrate_frames, calibrate_verdict
from evalkit.pages.calibrate_chart import error_chart
from evalkit.pages.notebooks import calibrating

page = workbench.open_page("03_calibrate_threshold", globals())
page.enable_charts(renderer)
pd.set_option("display.max_colwidth", None)
page.versions()

# %% [markdown]
# ## What is there, before any rate
#
# Each labelled case ends in one fate: paired with a score, or left out for a reason. Only cases that were drawn at
# random speak for cases that nobody labelled; of each family of near-copies one row counts.

# %%
loaded = calibrating.open_labels(metric, cases, labels)
found = calibrating.explore(loaded, max_false_pass=max_false_pass, confidence=confidence)
print("SYNTHETIC LABELS: nothing here holds outside the example." if found.is_synthetic else "labels by people")
calibrate_frames.counts_frame(found).head(15)

# %% [markdown]
# ## Do people agree?
#
# No metric can be held to labels that people themselves do not agree on. Raw agreement flatters where one label is
# frequent, so what a constant answer would get stands beside it.

# %%
calibrate_frames.agreement_frame(found).head(15)

# %% [markdown]
# ## Tempting: the best cut-off
#
# The usual recipe labels a few dozen rows and takes the cut-off with the highest accuracy on them. Here it is read off
# the development rows, and then tried on rows that it has not seen.

# %%
cuts = calibrating.best_cuts(found)
calibrating.cuts_frame(cuts).head(15)

# %% [markdown]
# Should one believe the first figure? The last column says what the few bad rows behind it leave open: how many of all
# bad answers may pass at that cut-off, by the exact 95 % interval.
#
# ## Where it breaks: it works for scores that mean nothing
#
# Scores and labels thrown at random, four hundred times each. The best cut-off looks like knowledge, and on new rows
# it is a coin.

# %%
calibrating.meaningless_scores(np.random.default_rng(2026))

# %% [markdown]
# ## Better: every threshold that these rows can tell apart
#
# Between two observed values nothing changes, so these are all there are. Two questions are asked of each: how many bad
# answers pass, and how many good ones do not. Bars are exact intervals, the dashed line is the limit.

# %%
table = calibrate_frames.threshold_frame(found)
page.draw(error_chart, table, limit=max_false_pass)

# %% [markdown]
# The same in words, for the first slices: what a threshold means in claims, and the share of *passes* that are bad,
# which is another number than the share of bad answers that pass.

# %%
for name, part in list(found.slices.items())[:3]:
    for line in part.table[:4]:
        print(f"{name}, {line.threshold:.4g} ({line.meaning or 'no ratio'}): {line.words()}")

# %% [markdown]
# ## The certificate
#
# From the strictest threshold on, each is tested: if `max_false_pass` or more of the bad answers passed, how often
# would so few of the labelled ones? The first test that does not reject ends the sequence. The chance that any slice's
# certificate is wrong is at most one minus `confidence`.
#
# The threshold is chosen on calibration rows. Now the held-out rows are opened, once, and the look is written down: a
# metric that is edited afterwards cannot be certified on them again.

# %%
certified = calibrating.certify_once(loaded, page, max_false_pass=max_false_pass, confidence=confidence, ledger=ledger)
calibrate_frames.verdict_frame(certified).head(15)

# %% [markdown]
# What is certified, slice by slice, and what is missing where nothing is: the number of labelled fails, and the
# strongest statement that the labels at hand do support.

# %%
for name, part in certified.slices.items():
    print(name, *calibrate_verdict.verdict(certified, part), sep="\n    ")

# %% [markdown]
# ## The number, a second way
#
# Errors counted from the rows, and the binomial tail summed by hand instead of by scipy.

# %%
print(*calibrating.recount(certified) or ["no slice is certified"], sep="\n")

# %% [markdown]
# ## The policy file
#
# Certified slices get their threshold, people decide the others. The record that the policy names by hash binds metric,
# cases and labels: after a change of any of them a gate is *incomplete* until somebody calibrates again.

# %%
written = calibrating.write_policy_beside(
    certified, loaded, page, approved_by=approved_by, rationale=rationale, expires_on=expires_on
)
print(written.policy.read_text(encoding="utf-8"))

# %% [markdown]
# What would another limit certify? The explorer reads calibration rows only, and opens on this page's own parameters.
# Without somebody who has the page open, the verdicts above are its first view.

# %%
if interactive and page.is_open:
    from functools import partial

    from evalkit.pages.calibrate_widget import CertificateExplorer

    describe = partial(calibrating.what_if, loaded)
    display(CertificateExplorer(describe, limit=max_false_pass, confidence=confidence))

# %% [markdown]
# ## What you now know
#
# - What the best cut-off on its own rows is worth, and what it becomes on others.
# - Which threshold of each slice is certified, for what share of bad answers and with what confidence.
# - How many labels are missing where nothing is certified; `evalkit next-labels` says which.
#
# Next, `04_threshold_review` puts the rows at the border before people.
#
# The last cell writes `outcome.json`, and raises unless the outcome is *passed*: so papermill and CI learn of it.

# %%
page.finish(calibrating.conclude(certified, must_certify, cuts, written))
