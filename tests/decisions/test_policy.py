from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

from evalkit.contract import EvalkitError, sha256_file
from evalkit.decisions.policy import Policy, PolicyFile, read_policy

FIXTURES = Path(__file__).parents[2] / "fixtures"

HEAD = """\
schema = 1
name = "release"
version = "2026-11-30"
metric = "evidence_coverage"
contract_version = "1"
approved_by = "council"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "counts"
"""
SLICE = "[slices.default]\nminimum = 0.75\n"

WHOLE = """\
schema = 1
name = "release"
version = "2026-11-30"
mode = "block"
metric = "evidence_coverage"
contract_version = "1"
scope = ["refunds", "en"]
approved_by = "council"
approved_on = 2026-11-30
expires_on = 2027-02-28
rationale = "counts"
consequences = { false_pass = "harm", false_fail = "delay" }
basis = "calibrated"
calibration = "sha256:0"
block_on = "new"
require_contract = true
votes = "sha256:1"
dissent = "one vote against"
[slices.default]
minimum = 0.85
review_band = 0.05
max_failures = 2
critical = true
[slices.labels]
require = ["pass"]
review = ["unsure"]
min_pass_rate = 0.95
confidence = 0.9
max_false_passes = 0
max_false_fails = 2
[slices.people]
decide = "review"
[limits]
invalid = 1
error = 2
unrun = 3
min_scored = 4
cost = "5.00"
currency = "USD"
[frozen]
metric_fingerprint = "sha256:a"
cases_sha256 = "b"
lock_sha256 = "c"
judge = "d"
controls = "e"
[prices.model]
input = "0.10"
[observation]
old_metric = "old"
until = 2026-12-31
[[overrides]]
case_id = "c1"
seen_hash = "sha256:9"
approver = "ada"
reason = "known gap"
expires_on = 2026-12-31
follow_up = "issue 7"
"""


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str | bytes], PolicyFile]:
    def write(text: str | bytes) -> PolicyFile:
        path = tmp_path / "policy.toml"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return read_policy(path)

    return write


def problems(found: PolicyFile) -> list[str]:
    assert found.policy is None
    return found.problems


# --- what a policy can say --------------------------------------------------------------------------------------------


def test_every_key_of_the_format_is_read(read):
    found = read(WHOLE)
    assert found.problems == []
    assert found.sha256 == sha256_file(found.path)
    policy = found.policy
    assert policy is not None
    default, labels, people = policy.slices.values()
    assert (default.minimum, default.review_band, default.max_failures, default.critical) == (0.85, 0.05, 2, True)
    assert (labels.require, labels.review, labels.min_pass_rate, labels.confidence) == (
        ("pass",),
        ("unsure",),
        0.95,
        0.9,
    )
    assert (labels.max_false_passes, labels.max_false_fails) == (0, 2)
    assert (people.decide, people.minimum, people.require) == ("review", None, ())
    assert policy.limits.cost == Decimal("5.00")
    assert (policy.limits.invalid, policy.limits.error, policy.limits.unrun, policy.limits.min_scored) == (1, 2, 3, 4)
    assert (policy.block_on, policy.require_contract, policy.scope) == ("new", True, ("refunds", "en"))
    assert policy.overrides[0].expires_on == date(2026, 12, 31)
    assert list(policy.frozen.model_dump().values()) == ["sha256:a", "b", "c", "d", "e"]
    assert policy.observation is not None
    assert policy.observation.old_metric == "old"


def test_what_is_left_out_has_the_strictest_meaning(read):
    policy = read(HEAD + SLICE).policy
    assert (policy.mode, policy.block_on, policy.basis, policy.require_contract) == (
        "block",
        "all",
        "by_definition",
        False,
    )
    assert (policy.limits.invalid, policy.limits.error, policy.limits.unrun, policy.limits.min_scored) == (0, 0, 0, 1)
    limits = policy.slices["default"]
    assert (limits.max_failures, limits.review_band, limits.decide, limits.critical) == (None, 0.0, "policy", False)


def test_the_facts_are_the_policy_again(read):
    policy = read(WHOLE).policy
    facts = policy.facts()
    assert facts["schema"] == 1
    assert facts["limits"]["cost"] == "5.00"
    assert Policy.model_validate_json(__import__("orjson").dumps(facts)) == policy


def test_a_bom_and_a_comment_do_no_harm(read):
    assert read(b"\xef\xbb\xbf# reviewed\n" + (HEAD + SLICE).encode()).policy is not None


@pytest.mark.parametrize(
    "path", sorted(FIXTURES.rglob("*policy*.toml")), ids=lambda path: str(path.relative_to(FIXTURES))
)
def test_every_policy_of_the_fixtures_can_be_read(path: Path):
    assert read_policy(path).problems == []


# --- unknown keys, at every level -------------------------------------------------------------------------------------


OVERRIDE = WHOLE[WHOLE.index("[[overrides]]") :]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("expires = 2027-01-01", "expires is an unknown key; did you mean 'expires_on'?"),
        ("[slice.default]\nminimum = 1.0", "slice is an unknown key; did you mean 'slices'?"),
        (
            "[slices.x]\nminimum = 0.5\nreview_bnad = 0.1",
            "slices.x.review_bnad is an unknown key; did you mean 'review_band'?",
        ),
        ("[limits]\ninvalids = 3", "limits.invalids is an unknown key; did you mean 'invalid'?"),
        ('[frozen]\ncases = "x"', "frozen.cases is an unknown key; did you mean 'cases_sha256'?"),
        (
            '[consequences]\nfalse_pass = "a"\nfalse_fail = "b"\nfalse_pas = "c"',
            "consequences.false_pas is an unknown key; did you mean 'false_pass'?",
        ),
        (
            '[observation]\nold_metric = "m"\nuntil = 2027-01-01\nuntill = 2027-01-01',
            "observation.untill is an unknown key; did you mean 'until'?",
        ),
        (OVERRIDE + 'followup = "g"', "overrides.0.followup is an unknown key; did you mean 'follow_up'?"),
        ("zzzz = 1", "zzzz is an unknown key; known here: schema, name, version, mode, metric,"),
        ("format = 1", "format is an unknown key"),
    ],
)
def test_an_unknown_key_is_refused_at_every_level(read, text: str, problem: str):
    # TOML wants plain keys before the first table.
    content = f"{HEAD}{text}\n{SLICE}" if "[" not in text else f"{HEAD}{SLICE}{text}\n"
    (found,) = problems(read(content))
    assert found.startswith(f"policy.toml: {problem}")


def test_all_problems_are_told_at_once(read):
    found = problems(read(HEAD.replace('name = "release"\n', "") + "surplus = 1\n" + SLICE + "max_failures = -1\n"))
    assert len(found) == 3
    assert "policy.toml: name is absent" in found
    assert any(
        text.startswith("policy.toml: slices.default.max_failures") and text.endswith("got -1") for text in found
    )


# --- slice limits that mean nothing -----------------------------------------------------------------------------------

ONE_LIMIT = "needs exactly one of minimum, maximum and require: a slice without a limit lets everything through"


@pytest.mark.parametrize(
    ("limits", "problem"),
    [
        ("", ONE_LIMIT),
        ("max_failures = 3", ONE_LIMIT),
        ("require = []", ONE_LIMIT),
        ("minimum = 0.5\nmaximum = 0.6", ONE_LIMIT),
        ('minimum = 0.5\nrequire = ["pass"]', ONE_LIMIT),
        ('decide = "review"\nminimum = 0.5\nmaximum = 0.6', ONE_LIMIT),
        ("minimum = 0.5\nmax_failures = 0\nmin_pass_rate = 0.9", "has both max_failures and min_pass_rate"),
        ('decide = "review"\nmax_failures = 0\nmin_pass_rate = 0.9', "has both max_failures and min_pass_rate"),
        ('require = ["a", "b"]\nreview = ["b"]', "lists ['b'] under both require and review"),
        ('minimum = 0.5\nreview = ["b"]', "has review labels but no require labels"),
        ('require = ["a"]\nreview_band = 0.1', "has a review_band, which is for numbers"),
        ("minimum = nan", "must be a finite number, got nan"),
        ("minimum = inf", "must be a finite number, got inf"),
        ("maximum = -inf", "must be a finite number, got -inf"),
        ("minimum = 1" + "0" * 400, "got 1000"),
        ('minimum = "0.5"', "got '0.5'"),
        ("minimum = true", "got True"),
        ("minimum = 2026-01-01", "got datetime.date(2026, 1, 1)"),
        ("minimum = 0.5\nreview_band = -0.1", "got -0.1"),
        ("minimum = 0.5\nreview_band = nan", "must be a finite number, got nan"),
        ("minimum = 0.5\nmax_failures = -1", "got -1"),
        ("minimum = 0.5\nmax_failures = 1.0", "got 1.0"),
        ("minimum = 0.5\nmax_failures = true", "got True"),
        ("minimum = 0.5\nmin_pass_rate = 0", "got 0"),
        ("minimum = 0.5\nmin_pass_rate = 1.0", "got 1.0"),
        ("minimum = 0.5\nmin_pass_rate = 95", "got 95"),
        ("minimum = 0.5\nmin_pass_rate = nan", "must be a finite number, got nan"),
        ("minimum = 0.5\nconfidence = 1.0", "got 1.0"),
        ("minimum = 0.5\nmax_false_passes = -1", "got -1"),
        ("minimum = 0.5\nmax_false_fails = -1", "got -1"),
        ('minimum = 0.5\ndecide = "people"', "got 'people'"),
        ("minimum = 0.5\ncritical = 1", "got 1"),
        ('require = "pass"', "got 'pass'"),
        ("require = [1]", "got 1"),
        ('require = [" "]', "got ' '"),
    ],
)
def test_a_limit_that_means_nothing_is_refused_with_its_place(read, limits: str, problem: str):
    found = problems(read(HEAD + f"[slices.refunds]\n{limits}\n"))
    assert len(found) == 1
    assert found[0].startswith("policy.toml: slices.refunds")
    assert problem in found[0]


def test_a_whole_number_is_a_number(read):
    assert read(HEAD + "[slices.default]\nminimum = 1\n").policy.slices["default"].minimum == 1.0


def test_a_policy_needs_slices(read):
    assert problems(read(HEAD)) == ["policy.toml: slices is absent"]
    assert problems(read(HEAD + "[slices]\n"))[0].startswith(
        "policy.toml: slices dictionary should have at least 1 item"
    )
    assert problems(read(HEAD + '[slices." "]\nminimum = 0.5\n'))


# --- who approved it, until when, on what it rests --------------------------------------------------------------------


@pytest.mark.parametrize("key", ["approved_by", "approved_on", "expires_on", "rationale"])
def test_a_policy_that_blocks_is_approved_and_bounded(read, key: str):
    lines = [line for line in HEAD.splitlines(keepends=True) if not line.startswith(key)]
    (problem,) = problems(read("".join(lines) + SLICE))
    assert problem == (
        f'policy.toml lacks {key}: a policy that blocks is approved and bounded (or set mode = "report")'
    )
    assert read('mode = "report"\n' + "".join(lines) + SLICE).policy is not None


@pytest.mark.parametrize(
    ("line", "fragment"),
    [
        ('mode = "warn"', "mode"),
        ('basis = "guessed"', "basis"),
        ('block_on = "old"', "block_on"),
        ('schema = 2', "schema"),
        ('schema = "1"', "schema"),
        ('name = ""', "name"),
        ("version = 3", "version"),
        ("contract_version = 1", "contract_version"),
        ('expires_on = "2027-02-28"', "expires_on"),
        ("approved_on = 2026-11-30T10:00:00Z", "approved_on"),
        ('approved_by = " "', "approved_by"),
        ('scope = "en"', "scope"),
        ("require_contract = 1", "require_contract"),
    ],
)  # fmt: skip
def test_a_value_of_the_wrong_kind_is_refused(read, line: str, fragment: str):
    key = line.split(" ")[0]
    lines = [old for old in HEAD.splitlines(keepends=True) if not old.startswith(f"{key} ")]
    found = problems(read(line + "\n" + "".join(lines) + SLICE))
    assert len(found) == 1
    assert found[0].startswith(f"policy.toml: {fragment}")
    assert "got " in found[0]


def test_a_calibrated_policy_names_its_calibration(read):
    (problem,) = problems(read('basis = "calibrated"\n' + HEAD + SLICE))
    assert problem.startswith('policy.toml has basis = "calibrated" but no calibration')


@pytest.mark.parametrize("key", ["case_id", "seen_hash", "approver", "reason", "expires_on", "follow_up"])
def test_an_override_needs_all_it_rests_on(read, key: str):
    start = WHOLE.index("[[overrides]]")
    lines = [line for line in WHOLE[start:].splitlines(keepends=True) if not line.startswith(key)]
    assert problems(read(WHOLE[:start] + "".join(lines))) == [f"policy.toml: overrides.0.{key} is absent"]


@pytest.mark.parametrize("cost", ["5.00", "-1", "nan", "Infinity", "five", ""])
def test_money_is_a_decimal_in_quotes(read, cost: str):
    found = read(HEAD + SLICE + f'[limits]\ncost = "{cost}"\ncurrency = "USD"\n')
    assert (found.policy is None) == (cost != "5.00")
    if found.policy is None:
        assert "must be a decimal amount in quotes" in found.problems[0]


def test_money_is_no_float_and_has_a_currency(read):
    assert "must be a decimal amount" in problems(read(HEAD + SLICE + '[limits]\ncost = 5.0\ncurrency = "USD"\n'))[0]
    assert "limits.cost needs limits.currency" in problems(read(HEAD + SLICE + '[limits]\ncost = "5"\n'))[0]


@pytest.mark.parametrize("limit", ["invalid = -1", "error = 0.5", "unrun = true", "min_scored = 0", 'invalid = "0"'])
def test_limits_of_the_run_are_counts(read, limit: str):
    assert len(problems(read(HEAD + SLICE + f"[limits]\n{limit}\n"))) == 1


# --- files that are no policy -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"a = ",
        b"\xff",
        b"a = 1\na = 2\n",
        b"[slices.default]\n[slices.default]\n",
        b"x = " + b"9" * 5000,
        b"x = " + b"[" * 5000,
    ],
    ids=lambda content: repr(content)[:30],
)
def test_what_is_no_toml_is_a_problem_and_no_crash(read, content: bytes):
    (problem,) = problems(read(content))
    assert problem.startswith("policy.toml is not TOML: ")


def test_an_empty_file_lacks_everything(read):
    found = problems(read(b""))
    assert "policy.toml: schema is absent" in found
    assert "policy.toml: slices is absent" in found


def test_no_file_is_an_error_that_says_what_to_give(tmp_path: Path):
    for path in (tmp_path / "absent.toml", tmp_path):
        with pytest.raises(EvalkitError, match="the policy cannot be read") as caught:
            read_policy(path)
        assert caught.value.do == "give the path of a policy.toml with --policy"
