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
# # Nine good figures: may these answers go out?
#
# **You decide** which metrics speak about a set of answers, what follows when each is held to its own policy, and
# whether one more metric earns its place.
#
# **In:** metrics, a file of cases, a policy a metric, labels of people. **Out:** `analysis.html`, `.md` and `.json`,
# and `outcome.json`: *passed* when every metric has a value for every row, so that the analysis speaks of all of them
# (with `follow=True`: what the policies recommend).
#
# The page works for any metrics: `evalkit notebooks 08 -p metrics=... -p cases=mine.jsonl -p policies=...`

# %% tags=["parameters"]
metrics: str = "medical_*, patient_safety"  # separated by commas, each as for evalkit score; * stands for any letters
cases: str = "fixtures/medical_answers/cases.jsonl"  # judges replay NAME.cassette.jsonl beside it
verdicts: str = "fixtures/medical_answers/verdicts.toml"  # which metric feeds which parameter; empty for none
policies: str = "fixtures/medical_answers/policies"  # files, or folders of them, separated by commas
labels: str = "fixtures/medical_answers/labels.jsonl"  # what people say of the rows; empty for none
added: str = "patient_safety"  # the metric in question; empty for none
domain: str = "medical"  # names the section of its metrics in the analysis
as_of: str = "2026-12-01"  # the day on which policies are judged; empty for today
follow: bool = False  # end with the outcome that the policies recommend
out_dir: str = "runs/notebooks"  # outcome.json and the analysis go into a folder of this page's name in here
renderer: str = "auto"  # of charts: png (static), jupyter (hover, needs no network) or auto

# %% [markdown]
# A parameter that is unknown or of another type ends the page in the next cell, as *incomplete*.

# %%
import pandas as pd

import evalkit.pages.notebooks as workbench
from evalkit.pages.analysis_chart import metrics_chart
from evalkit.pages.analysis_frames import judgements_frame, metrics_frame, patterns_frame
from evalkit.pages.notebooks.domain import bullets, concluded, study, write_pages

page = workbench.open_page("08_domain_metrics", globals())
page.enable_charts(renderer)
pd.set_option("display.max_colwidth", None)
page.versions()

# %% [markdown]
# ## One pass, one tidy frame
#
# Each line of the file is read once and scored by every metric. A metric that fails on a row touches no other metric's
# row. Here is every metric, with what it came to on all rows.

# %%
studied = study(
    metrics, cases, domain=domain, verdicts=verdicts, policies=policies, labels=labels, added=added, as_of=as_of
)
studied.states()

# %% [markdown]
# A column a metric, and beside it the state of the row; the first three rows, the first two metrics:

# %%
frame = studied.frame()
frame.iloc[:3, :6]

# %% [markdown]
# Where verdicts come from must be said before they are read:

# %%
bullets(studied.analysis.recommendation.caveats)

# %% [markdown]
# ## Tempting: one figure
#
# Nine metrics are tiring to look at, so somebody averages them: the share of metrics that speak for an answer, over all
# answers.

# %%
combined = studied.combined()
f"combined: {combined.mean():.3f} over {combined.notna().sum()} of {len(combined)} answers"

# %% [markdown]
# Would you ship it? Nothing in that figure says no.
#
# ## What it hides
#
# Reviewers have said which of these answers a patient must not be shown. Here they are, the best looking first, with
# the metrics that speak against each (at most 15).

# %%
hidden = studied.hidden()
hidden.head(15)

# %% [markdown]
# A line that says *none* is an answer that people refuse and that no metric minds: no way of combining these metrics
# finds it, only a better judge or one more metric does.
#
# The best looking answer that at least one metric speaks against, in full:

# %%
opposed = hidden[hidden["speaking against it"] != "none"]
shown = opposed.index[0] if len(opposed) else combined.index[0]
print(studied.answer(shown))

# %% [markdown]
# Of the bundled answers, this one warns, sends the patient to a doctor, says what it cannot know, can be read, and
# cites a page that was retrieved. A patient who follows it may be dead tomorrow: an average lets eight easy virtues buy
# off the one that matters.
#
# ## Each judgement by itself
#
# A combined figure may be computed, as long as it hides none of its parts. The same rows, judgement by judgement:

# %%
judgements_frame(studied.analysis)

# %% [markdown]
# Every combination that occurs, and how many rows have it:

# %%
patterns_frame(studied.analysis)

# %% [markdown]
# ## Each metric, held to its own policy
#
# A metric with a policy passes or fails as `evalkit gate` says; without one it is shown and has no say. `first_label`
# counts the first of a metric's own labels (pass, yes).

# %%
metrics_frame(studied.analysis).drop(columns=["rows", "invalid", "error", "unrun"])

# %% [markdown]
# The same as a picture: what each metric says of each row, by its policy or else by its own label.

# %%
page.draw(metrics_chart, studied.ledger())

# %% [markdown]
# What follows is not an opinion of this page: it is the worst of the gates, with the reasons they give.

# %%
recommended = studied.analysis.recommendation
bullets([recommended.sentence, *(f"{stop.metric}: {stop.blocker.sentence}" for stop in recommended.stops)])

# %% [markdown]
# ## Does one more metric earn its place?
#
# Against the others as a baseline: does it say something else, is it right where they are all wrong, and what does it
# cost?

# %%
bullets(studied.added.in_words() if studied.added else ["no metric was named"])

# %% [markdown]
# Rows on which it alone is right are why it is there. Rows on which it alone is wrong are its price: read them before
# it blocks anything. And no number of made-up labels makes it more than *provisional*: `evalkit calibrate` says how
# many labels of people are missing.
#
# ## The number, a second way
#
# The combined figure again, from the tidy frame of verdicts alone; and the rows it hides, counted by labels.

# %%
votes = studied.verdicts().stack().astype(int)
again = votes.groupby(level=0).mean().mean()
assert combined.isna().all() or abs(again - combined.mean()) < 1e-12
assert len(hidden) == sum(label == "fail" for label in studied.labels.values())
f"{again:.3f}, both ways; {len(hidden)} of {len(studied.labels)} labelled answers are refused"

# %% [markdown]
# ## The analysis, to send round
#
# The same figures as a page without scripts or network, as Markdown, and as a file with every row:

# %%
write_pages(studied, page)

# %% [markdown]
# ## What you now know
#
# - Which answers an average would have shipped, and that a combined figure is harmless only while its parts are shown.
# - What each metric says of each row, and that a metric without a policy has no say in the recommendation.
# - What the metric in question adds: where it alone agrees with people, where it alone does not, and what it costs.
#
# Next, `03_calibrate_threshold` and `05_judge_controls_and_certification` ask how sure a limit is, and whether a judge
# can tell at all.
#
# The last cell writes `outcome.json`, and raises unless the outcome is *passed*: so papermill and CI learn of it.

# %%
page.finish(concluded(studied, follow=follow))
