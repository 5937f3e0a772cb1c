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
# # Has this judge earned trust?
#
# **You decide** whether a judge may decide rows by itself, in which slices, and what is to be mended first where not.
#
# **In:** a judge, labelled cases, a policy, controls. **Out:** the certification, or what is missing, and
# `outcome.json`: *passed* where the question could be answered and every disagreement has a cause; with `must_certify`
# only where the answer is yes.
#
# The page works for any judge: `evalkit notebooks 05 -p judge=mine.py:judge -p cases=mine.jsonl -p model=NAME`.

# %% tags=["parameters"]
judge: str = "refund_answer"  # a built-in name, package.module:object or path/to/file.py:object
cases: str = "fixtures/refund_answer/labelled.jsonl"  # the labelled cases
labels: str = "fixtures/refund_answer/labels.jsonl"  # what people said of them
policy: str = "fixtures/refund_answer/certify_policy.toml"  # how often the judge may be wrong, slice by slice
causes: str = "fixtures/refund_answer/causes.jsonl"  # why judge and people differ; empty while nobody has classified
controls: str = "fixtures/refund_answer/controls.jsonl"  # what the judge must tell apart
next_controls: str = "fixtures/refund_answer/controls_next.jsonl"  # the same and those that a mistake asks for
ledger: str = ""  # the hold-out ledger; empty for the one beside the policy
model: str = ""  # a model to ask, with OPENAI_API_KEY and OPENAI_BASE_URL set; empty replays recorded verdicts
max_calls: int = 200  # the most calls that a live run of the cases may make
max_false_pass: float = 0.2  # what the certificate would have to say: the share of bad answers that may pass
must_certify: bool = False  # ends the page as the certification ends, instead of by whether it could be done
as_of: str = "2026-12-01"  # the day on which dates are judged; empty for today
out_dir: str = "runs/notebooks"  # outcome.json goes into a folder of this page's name in here
renderer: str = "auto"  # of charts: png (static), jupyter (hover, needs no network) or auto

# %% [markdown]
# A parameter that is unknown, of another type or not finite ends the page in the next cell, as *incomplete*.

# %%
import pandas as pd

import evalkit.pages.notebooks as workbench
from evalkit.mutate.judges import judge_matrix
from evalkit.pages.certify_chart import mistakes_chart
from evalkit.pages.kill_chart import kill_chart
from evalkit.pages.kill_frames import kill_grid
from evalkit.pages.notebooks import calibrating, certifying

page = workbench.open_page("05_judge_controls_and_certification", globals())
page.enable_charts(renderer)
pd.set_option("display.max_colwidth", None)
page.versions()

# %% [markdown]
# ## The verdicts
#
# Every case is judged once, and every attempt kept. Without a model, recorded verdicts are replayed: no key, no call.

# %%
asked = await certifying.ask(judge, cases, labels, page, model=model, max_calls=max_calls)
print(asked.note)
pd.Series([record.state for record in asked.records]).value_counts().rename("rows").to_frame()

# %% [markdown]
# ## Tempting: the agreement
#
# The rows that somebody tuning the judge may look at (development and calibration), verdict beside label. This is the
# figure that most judges are introduced with.

# %%
seen = certifying.seen_agreement(asked)
always = f"always saying {seen.base_label} agrees on {seen.base_count}"
print(f"{seen.agree} of {seen.n} verdicts are people's ({seen.share:.0%}), kappa {seen.kappa:.2f}; {always}")

# %% [markdown]
# Should one believe it? It was read off rows that the judge could be tuned on, and one number over all slices does not
# say which mistakes are among the rest.
#
# ## Better: certify, once, on rows that nobody has seen
#
# First the counts: eligible, completed, errored, reviewed. Then the held-out rows are opened, and the look is written
# into a ledger: a judge that is edited afterwards cannot be certified on them again.

# %%
result = certifying.certify(asked, policy, causes=causes, ledger=ledger, as_of=as_of)
certifying.counts_frame(result)

# %% [markdown]
# Two questions, slice by slice: how many bad answers pass, and how many good ones fail. Bars are exact 95 % intervals:
# what so few rows leave open.

# %%
errors = certifying.errors_frame(result)
page.draw(mistakes_chart, errors)

# %% [markdown]
# The numbers of the picture, with the rows to read:

# %%
errors.drop(columns="share").round({"low": 3, "high": 3}).set_index(["slice", "rate"])

# %% [markdown]
# ## The false pass behind the agreement
#
# Read it before any average: what was asked, what is right, what the answer says, what the judge said of it, and what
# people say.

# %%
print(certifying.false_pass_text(asked, result))

# %% [markdown]
# ## The controls, and the one that would have caught it
#
# Controls are labelled cases that prove a judge can tell: minimally changed pairs, long and wrong beside terse and
# right, answers that talk to the judge, rows that must never be asked about.

# %%
told = await certifying.try_controls(asked, controls)
certifying.controls_frame(told)

# %% [markdown]
# Where all of them are told apart and a false pass still got through, look at the controls: a suite that nobody has
# tried to fool proves little. So it is tried on judges that are wrong on purpose. Controls down, faulty judges across;
# a column without a mark would be a faulty judge that these controls let live.

# %%
matrix = judge_matrix(asked.judge, told)
print(matrix.in_words())
page.draw(kill_chart, kill_grid(matrix), title="Which control catches which faulty judge")

# %% [markdown]
# The mistake above is of a kind that was not among them. The next version of the controls has it: here a pair with the
# same number and another unit, which this judge does not tell apart. With it, the judge would have been refused before
# a single label was spent.

# %%
next_told = await certifying.try_controls(asked, next_controls or controls)
certifying.told_frame(next_told, told)

# %% [markdown]
# ## Whose is it?
#
# A reviewer has written down why judge and people differ, row by row. The first faulty boundary is the one to mend, in
# this order: scope, label, rubric, evidence, prompt, provider, reasoning, parser. A cause changes the owner of a
# mistake; it never makes it count less.

# %%
certifying.causes_frame(result)

# %% [markdown]
# ## The certification
#
# What `evalkit gate JUDGE RUN --policy FILE --labels FILE --causes FILE` prints, with its exit code.

# %%
print(certifying.gate_text(result))

# %% [markdown]
# ## The certificate, or how many labels are missing
#
# No mistake among a handful of rows is not yet a statement about rows that nobody labelled. On the calibration rows:
# may it be said with 90 % confidence that at most `max_false_pass` of the bad answers pass, and if not, how many more
# labelled fails would that take?

# %%
loaded = calibrating.open_labels(judge, str(asked.run.folder), labels)
found = calibrating.explore(loaded, max_false_pass=max_false_pass, confidence=0.9)
missing = {name: part.labels_needed for name, part in found.slices.items()}
pd.Series(missing, name="labelled fails still missing").to_frame()

# %% [markdown]
# ## The number, a second way
#
# Mistakes on the held-out rows counted once more, from the records and the settled labels alone.

# %%
both = [r for r in asked.records if r.state == "scored" and r.case_id in asked.settled]
rows = pd.DataFrame([(r.slice, r.partition, r.value, asked.settled[r.case_id].label) for r in both],
                    columns=["slice", "partition", "verdict", "people"])  # fmt: skip
deciding = rows[(rows["partition"] == "held_out") | rows["partition"].isna().all()]
wrong = (deciding["verdict"] != deciding["people"]).sum()
is_plain = set(rows["verdict"]) | set(rows["people"]) <= {"pass", "fail"}
assert not (is_plain and len(errors)) or wrong == errors["count"].sum()
pd.crosstab([deciding["slice"], deciding["people"]], deciding["verdict"])

# %% [markdown]
# ## What you now know
#
# - That a high agreement can hide the one mistake that costs money, and which row it is.
# - Which control would have caught it, and that the controls themselves catch faulty judges.
# - Whether the judge may decide, in which slices, who mends what first, and how many labels a certificate takes.
#
# Next: mend the judge, take in the new controls, label fresh held-out families, and certify again. Before a model,
# prompt or library changes, `evalkit recheck` asks the judge again about these rows.
#
# The last cell writes `outcome.json`, and raises unless the outcome is *passed*: so papermill and CI learn of it.

# %%
page.finish(certifying.conclude(asked, result, told, missing, must_certify=must_certify))
