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
# # Would two of us decide these rows alike?
#
# **You decide** where the threshold of one slice lies: by reading the rows just below and just above it, voting blind,
# talking about those you disagree on, and writing the policy that CI reads.
#
# **In:** scored rows (a run, or cases), labels, the policy under review. **Out:** votes, a policy, `outcome.json`.
#
# The rows, labels and votes of the example are synthetic: they certify nothing. For your own meeting, run
# `evalkit gate … --run runs/mine` and give that folder as `cases`; the votes then lie beside it, in `runs/mine.review`.

# %% tags=["parameters"]
metric: str = "evidence_coverage"  # a built-in name, package.module:object or path/to/file.py:object
cases: str = "fixtures/evidence_coverage/release.jsonl"  # a run folder, or one JSON object a line
labels: str = "fixtures/evidence_coverage/review/labels.jsonl"  # what people said of the rows; empty for none
policy: str = "fixtures/evidence_coverage/policy.toml"  # the limits under review
slice_name: str = "default"  # whose threshold is reviewed
threshold: float = 0.75  # what is proposed; by hand, where the slider stands at first
rows: int = 5  # just below and just above the threshold
far: int = 2  # rows from elsewhere among them, so that nobody knows which are close calls
seed: int = 7  # of the order of the rows, and of the draw among rows of one score
votes: str = "fixtures/evidence_coverage/review/votes"  # further votes, only read; empty for a meeting of your own
review_dir: str = ""  # where votes are kept; empty: beside the run, or in out_dir
policy_out: str = "runs/review/policy.toml"  # where the decision is written; empty: over the policy
as_of: str = "2026-12-01"  # the day of the meeting; empty for today
out_dir: str = "runs/notebooks"  # outcome.json goes into a folder of this page's name in here
renderer: str = "auto"  # of charts: png (static), jupyter (hover, needs no network) or auto
interactive: bool = True  # shows the meeting where somebody has the page open

# %% [markdown]
# A parameter that is unknown, of another type or not finite ends the page in the next cell, as *incomplete*.

# %%
import pandas as pd
from IPython.display import display

import evalkit.pages.notebooks as workbench
from evalkit.decisions.meeting.agenda import AgendaOptions
from evalkit.decisions.meeting.confusion import confusion_at
from evalkit.pages.review import page as meeting_page
from evalkit.pages.review import pictures, views

page = workbench.open_page("04_threshold_review", globals())
page.enable_charts(renderer)
pd.set_option("display.max_colwidth", None)
page.versions()

# %% [markdown]
# ## The rows on the agenda
#
# The nearest on each side, in an order drawn by lot. Everybody gets the same rows, also those who vote on a ballot
# (`evalkit ballot RUN --out ballot.html`). Held-out rows are not looked at.

# %%
review = meeting_page.review_of(
    workbench.open_metric(metric), cases=cases, labels=labels, policy=policy, slice_name=slice_name,
    threshold=threshold, rows=AgendaOptions(rows, far, seed), votes=votes, review_dir=review_dir,
    policy_out=policy_out, out_dir=out_dir, as_of=as_of,
)  # fmt: skip
meeting = review.meeting
print(f"{len(review.agenda.rows)} of {len(meeting.ranked(slice_name))} rows of {slice_name} are voted on")
print(f"{meeting.held_out} of {len(meeting.records)} rows are held out")

# %% [markdown]
# ## What a voter sees
#
# Question, answer and passages, and what a complete answer says. No score, no reason, no label, no other vote. One
# question: *would you ship this answer?*

# %%
print(meeting_page.blind_text(review))

# %% [markdown]
# Where somebody has the page open, the meeting begins here. **Vote** on each row; **Discuss** shows scores and votes;
# **Decide** writes the policy. Tab and the arrow keys reach everything.

# %%
widget = None
if interactive and page.is_open:
    from evalkit.pages.review.widget import ThresholdReview

    widget = ThresholdReview(review, {slice_name: threshold})
    display(widget)

# %% [markdown]
# The cells below would tell a voter the scores, so the page waits here until the votes are opened;
# headless, it goes on.

# %%
meeting_page.curtain(widget)
proposal = widget.proposal if widget else {slice_name: threshold}
chosen = proposal.get(slice_name, meeting.bound(slice_name))
f"{slice_name} at {chosen!r}; the policy says {meeting.bound(slice_name)!r}"

# %% [markdown]
# ## Tempting: the threshold that agrees best with the labels
#
# One number, read off the labels, typed into a configuration by whoever had it open.

# %%
candidates = views.candidates_table(meeting, slice_name, chosen)
candidates.frame()

# %% [markdown]
# ## Where it breaks: one score, two verdicts
#
# Rows with the same score, of which people say pass *and* fail. No threshold separates them, and more decimals do not
# help. Such rows ask for a clearer contract, a slice of their own, or a person.

# %%
mixed = meeting_page.mixed_scores(meeting, slice_name)
mixed.frame() if mixed.rows else "no score has labels of both kinds"

# %% [markdown]
# ## The distribution, and what is close
#
# The dashed line is the threshold; a row on it passes. How full a bar is says the same as its colour.

# %%
counted = pictures.distribution(meeting, slice_name)
page.draw(pictures.distribution_chart, counted, chosen, title=f"{slice_name}: scores by label")

# %% [markdown]
# Each slice at its threshold. Both kinds of mistake are counted out of the labels of their own kind.

# %%
lines = confusion_at(meeting, proposal)
views.confusion_table(lines).frame()

# %% [markdown]
# The rows just above and just below, nearest in the middle:

# %%
views.borderline_table(meeting, slice_name, chosen, rows).frame()

# %% [markdown]
# ## The votes
#
# Before and after the discussion. Two rows of one score that reviewers decide differently are worth more talk than any
# figure on this page.

# %%
tally = review.tally()
views.agreement_table(tally).frame()

# %% [markdown]
# Rows first that two reviewers would still decide differently; *needs* is what somebody says would mend it.

# %%
views.votes_table(meeting, tally, proposal).frame()

# %% [markdown]
# ## What the proposal changes
#
# Exactly these rows are decided differently from the policy under review:

# %%
flips = meeting.flips(proposal)
flipped = views.flips_table(flips)
print(flipped.caption)
flipped.frame() if flipped.rows else "the proposal is the policy"

# %% [markdown]
# ## The numbers, a second way
#
# The passes from plain comparison, and the flips from two columns of decisions.

# %%
scores = pd.Series([float(record.value) for record in meeting.ranked(slice_name).rows])
passes = (scores >= chosen) if meeting.better == "higher" else (scores <= chosen)
line = next(line for line in lines if line.slice == slice_name)
assert line.n == len(scores)
assert line.passing == int(passes.sum())
f"{line.passing} of {line.n} rows pass at {chosen!r}"

# %% [markdown]
# ## What you now know
#
# - Which rows lie next to the threshold, and what each of them misses.
# - Whether two of you would decide them alike, before and after talking.
# - Which rows any other threshold would flip, and that some rows no threshold can sort.
#
# Next, `06_explain_and_migrate` asks why a check turned red, and what changes with a new metric.
#
# The last cell judges all rows under the policy that was decided above or, headless, under the proposal.

# %%
page.finish(
    widget.result() if widget else review.gate(proposal),
    figures={
        "agenda.rows": len(review.agenda.rows),
        "thresholds.distinct": len(meeting.candidates(slice_name)),
        "scores.with_two_verdicts": len(mixed.rows),
        "threshold.passing": line.passing,
        "threshold.flips": len(flips.flips),
        "labels.false_pass": line.false_pass,
        "labels.false_fail": line.false_fail,
        "votes.split": len(tally.split()),
        "votes.agreement_before": tally.agreement(is_final=False).share,
        "votes.agreement_after": tally.agreement(is_final=True).share,
    },
)
