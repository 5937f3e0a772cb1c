from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from evalkit.contract import Contract, Metric, Outcome, discrete_metric, numeric_metric, ranking_metric, sha256_file
from evalkit.decisions.blockers import Blocker
from evalkit.decisions.fitness import PROVISIONAL_DAYS, Subject, expiry_warnings, last_day, unfit
from evalkit.decisions.policy import read_policy
from evalkit.metrics.evidence_coverage import evidence_coverage

TODAY = date(2026, 12, 1)
SUBJECT = Subject("sha256:m", "sha256:c", "sha256:l", "sha256:j")


def contract(**changed: Any) -> Contract:
    answers: dict[str, Any] = {
        "version": "1", "measures": "m", "reviewed": (), "produced": ("text",), "invalid_when": ("never",),
        "consumed_by": "the gate", "cannot_establish": "truth",
    }  # fmt: skip
    return Contract(**(answers | changed))


def score(text: str) -> float:
    return 1.0


def numeric(allowed: Any = (0.0, 1.0), **changed: Any) -> Metric:
    return numeric_metric(name="quality", allowed_values=allowed, contract=contract(**changed))(score)


PLAIN = {
    "schema": "1", "name": '"release"', "version": '"7"', "metric": '"quality"', "contract_version": '"1"',
    "approved_by": '"council"', "approved_on": "2026-11-30", "expires_on": "2027-02-28", "rationale": '"r"',
}  # fmt: skip


@pytest.fixture
def found(tmp_path: Path) -> Callable[..., list[Blocker]]:
    def against(
        metric: Metric | None = None,
        limits: str = "minimum = 0.5",
        more: str = "",
        *,
        as_of: date = TODAY,
        subject: Subject = SUBJECT,
        **changed: str,
    ) -> list[Blocker]:
        path = tmp_path / "policy.toml"
        head = "".join(f"{key} = {value}\n" for key, value in (PLAIN | changed).items())
        path.write_text(head + f"[slices.default]\n{limits}\n{more}")
        return unfit(read_policy(path), metric or numeric(), subject, as_of)

    return against


def test_a_policy_that_fits_has_nothing_against_it(found):
    assert found() == []


def test_every_reason_is_incomplete_owned_and_says_what_to_do(found):
    blockers = found(
        metric=numeric(version="2"), limits="minimum = 3", expires_on="2026-11-30", more="[frozen]\njudge = 'x'"
    )
    assert len(blockers) == 4
    assert all(blocker.outcome is Outcome.incomplete and blocker.do for blocker in blockers)
    assert [blocker.owner for blocker in blockers] == ["policy", "policy", "policy", "judge"]


def test_a_file_that_cannot_be_used_gives_a_blocker_a_problem(found):
    blockers = found(limits="minimum = nan\nsurplus = 1")
    assert [blocker.kind for blocker in blockers] == ["policy", "policy"]
    assert all(blocker.do == "mend the policy file" for blocker in blockers)


# --- for this metric --------------------------------------------------------------------------------------------------


def test_the_policy_names_its_metric(tmp_path: Path):
    path = tmp_path / "policy.toml"
    head = "".join(f"{key} = {value}\n" for key, value in (PLAIN | {"metric": '"other"'}).items())
    path.write_text(head + "[slices.default]\nminimum = 0.5\n")
    (blocker,) = unfit(read_policy(path), numeric(), SUBJECT, TODAY)
    assert blocker.sentence == "the policy is for the metric 'other', but 'quality' was scored"


def test_s1_6_another_contract_version_is_a_contract_change(found):
    (blocker,) = found(contract_version='"2"')
    assert blocker.sentence == ("contract change: the policy was approved for contract version '2', quality has '1'")
    bare = numeric_metric(name="quality")(score)
    assert len(found(bare)) == 1
    assert found(bare, contract_version='"0"') == []


def test_a_contract_may_be_required(found):
    bare = numeric_metric(name="quality")(score)
    (blocker,) = found(bare, contract_version='"0"', require_contract="true")
    assert blocker.sentence == "the policy requires a contract, and quality has none"
    assert found(require_contract="true") == []


# --- on this day ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("as_of", "is_over"), [(date(2027, 2, 28), False), (date(2027, 3, 1), True)])
def test_a_policy_holds_on_its_last_day_and_not_on_the_next(found, as_of: date, *, is_over: bool):
    blockers = found(as_of=as_of)
    assert [blocker.kind for blocker in blockers] == ["expired"] * is_over
    if is_over:
        assert blockers[0].sentence == "the policy expired on 2027-02-28; the run is judged as of 2027-03-01"


def test_a_provisional_policy_holds_for_sixty_days_at_most(found):
    # 2026-11-30 and 60 days: 2026 has 31 more days in December, 29 into January.
    assert PROVISIONAL_DAYS == 60
    assert found(basis='"provisional"', as_of=date(2027, 1, 29)) == []
    (blocker,) = found(basis='"provisional"', as_of=date(2027, 1, 30))
    assert blocker.sentence.startswith("the policy expired on 2027-01-29 (provisional: 60 days at most)")
    # Its own date counts where that comes first.
    (blocker,) = found(basis='"provisional"', expires_on="2026-12-24", as_of=date(2026, 12, 25))
    assert blocker.sentence.startswith("the policy expired on 2026-12-24")


OVERRIDE = """[[overrides]]
case_id = "c1"
seen_hash = "h"
approver = "ada"
reason = "r"
expires_on = 2026-12-10
follow_up = "issue 7"
"""


@pytest.mark.parametrize(("as_of", "kinds"), [(date(2026, 12, 10), []), (date(2026, 12, 11), ["expired"])])
def test_an_override_holds_on_its_last_day_and_not_on_the_next(found, as_of: date, kinds: list[str]):
    blockers = found(more=OVERRIDE, as_of=as_of)
    assert [blocker.kind for blocker in blockers] == kinds
    assert all("the override of 'c1' expired on 2026-12-10" in b.sentence and "issue 7" in b.do for b in blockers)


@pytest.mark.parametrize(("as_of", "kinds"), [(date(2026, 12, 10), []), (date(2026, 12, 11), ["expired"])])
def test_an_observation_window_ends(found, as_of: date, kinds: list[str]):
    blockers = found(more='[observation]\nold_metric = "old"\nuntil = 2026-12-10\n', as_of=as_of)
    assert [blocker.kind for blocker in blockers] == kinds


def test_what_ends_within_two_weeks_is_warned_of(tmp_path: Path):
    path = tmp_path / "policy.toml"
    head = "".join(f"{key} = {value}\n" for key, value in PLAIN.items())
    path.write_text(
        head
        + "[slices.default]\nminimum = 0.5\n"
        + OVERRIDE
        + '[observation]\nold_metric = "old"\nuntil = 2026-12-20\n'
    )
    policy = read_policy(path).policy
    assert policy is not None
    assert last_day(policy) == date(2027, 2, 28)
    assert expiry_warnings(policy, date(2026, 11, 25)) == []
    assert expiry_warnings(policy, date(2026, 11, 26)) == ["the override of 'c1' expires on 2026-12-10, in 14 days"]
    assert expiry_warnings(policy, date(2026, 12, 10)) == [
        "the override of 'c1' expires on 2026-12-10, in 0 days",
        "the observation of 'old' expires on 2026-12-20, in 10 days",
    ]
    assert expiry_warnings(policy, date(2027, 2, 14)) == ["the policy expires on 2027-02-28, in 14 days"]
    assert expiry_warnings(policy, date(2027, 3, 1)) == []
    assert expiry_warnings(policy, date.max) == []


# --- limits on the metric's own scale: field case J02 -----------------------------------------------------------------


@pytest.mark.parametrize("bound", ["0.0", "1.0", "1", "0.5"])
def test_j02_both_ends_of_the_range_are_in_it(found, bound: str):
    assert found(limits=f"minimum = {bound}") == []


@pytest.mark.parametrize("bound", ["3", "-0.0001", "1.0000000001", "85", "1e300"])
def test_j02_a_bound_outside_the_range_is_refused(found, bound: str):
    (blocker,) = found(limits=f"minimum = {bound}")
    assert blocker.sentence.startswith("slices.default.minimum = ")
    assert blocker.sentence.endswith("lies outside the range of quality, 0.0 to 1.0")
    assert blocker.do == "write it on the metric's own scale"


def test_j02_a_range_of_whole_numbers_ends_with_its_last_member(found):
    # range(1, 10, 3) holds 1, 4 and 7.
    assert found(numeric(range(1, 10, 3)), "minimum = 7") == []
    assert "1 to 7" in found(numeric(range(1, 10, 3)), "minimum = 8")[0].sentence


def test_j02_the_bound_must_be_on_the_side_that_is_better(found):
    (blocker,) = found(limits="maximum = 0.5")
    assert blocker.sentence == "slices.default bounds the wrong side: higher values of quality are better"
    assert blocker.do == "use minimum"
    lower = numeric(better="lower")
    (blocker,) = found(lower, "minimum = 0.8")
    assert blocker.sentence == "slices.default bounds the wrong side: lower values of quality are better"
    assert found(lower, "maximum = 0.2") == []
    bare = numeric_metric(name="quality")(score)
    assert len(found(bare, "maximum = 0.2", contract_version='"0"')) == 1


def test_j02_a_slice_that_people_decide_is_checked_too(found):
    assert found(limits='decide = "review"') == []
    assert len(found(limits='decide = "review"\nminimum = 3')) == 1


def test_labels_for_a_number_and_a_number_for_labels(found):
    (blocker,) = found(limits='require = ["pass"]')
    assert blocker.sentence == "slices.default requires labels, but quality gives numbers"
    labelled = discrete_metric(name="quality", allowed_values=["good", "bad", "unsure"], contract=contract())(score)
    (blocker,) = found(labelled, "minimum = 0.5")
    assert blocker.sentence == "slices.default has a numeric bound, but quality gives discrete values"
    assert found(labelled, 'require = ["good"]\nreview = ["unsure"]') == []
    blockers = found(labelled, 'require = ["good", "Good"]\nreview = ["maybe"]')
    assert [blocker.sentence for blocker in blockers] == [
        "slices.default names the label 'Good', which quality cannot give",
        "slices.default names the label 'maybe', which quality cannot give",
    ]
    assert blockers[0].do == "its labels are 'good', 'bad', 'unsure'"


def test_rankings_are_for_people(found):
    ranked = ranking_metric(name="quality", allowed_values=2, contract=contract())(score)
    for limits in ('require = ["a"]', "minimum = 0.5"):
        (blocker,) = found(ranked, limits)
        assert blocker.sentence == "slices.default has limits, but quality gives rankings, which no limit can decide"
    assert found(ranked, 'decide = "review"') == []


# --- what it rests on -------------------------------------------------------------------------------------------------


@pytest.fixture
def calibrated(tmp_path: Path, found) -> Callable[..., list[Blocker]]:
    def against(record: Any, limits: str = "minimum = 0.5", more: str = "") -> list[Blocker]:
        path = tmp_path / "calibration.json"
        path.write_text(record if isinstance(record, str) else json.dumps(record, indent=2))
        return found(limits=limits, more=more, basis='"calibrated"', calibration=f'"{sha256_file(path)}"')

    return against


RECORD = {"metric": "quality", "contract_version": "1", "slices": {"default": {}}}


def test_a_calibration_that_fits_is_found_by_its_hash_beside_the_policy(calibrated, tmp_path: Path):
    (tmp_path / "a_folder.json").mkdir()
    (tmp_path / "broken.json").symlink_to(tmp_path / "nowhere")
    (tmp_path / "other.json").write_text("{}")
    assert calibrated(RECORD) == []


def test_without_its_record_a_calibration_is_a_claim(found, tmp_path: Path):
    (blocker,) = found(basis='"calibrated"', calibration='"sha256:nothing"')
    assert blocker.sentence == "no .json file beside policy.toml has the hash of its calibration, sha256:nothing"


@pytest.mark.parametrize(
    ("record", "fragment"),
    [
        (RECORD | {"metric": "other"}, "the calibration record is of 'other', contract '1'"),
        (RECORD | {"contract_version": "2"}, "the calibration record is of 'quality', contract '2'"),
        (RECORD | {"slices": {"refunds": {}}}, "the calibration record does not cover slices.default"),
        (RECORD | {"slices": None}, "the calibration record does not cover slices.default"),
        ("[1]", "no .json file beside"),
        ('{"metric": "quality", "metric": "quality"}', "no .json file beside"),
    ],
    ids=str,
)
def test_a_calibration_that_does_not_fit_is_refused(calibrated, record: Any, fragment: str):
    blockers = calibrated(record)
    assert len(blockers) == 1
    assert fragment in blockers[0].sentence


def test_a_slice_that_people_decide_needs_no_calibration(calibrated):
    assert calibrated(RECORD, more='[slices.new]\ndecide = "review"\n') == []
    (blocker,) = calibrated(RECORD, more="[slices.new]\nminimum = 0.5\n")
    assert 'slices.new.decide = "review"' in blocker.do


# --- what was frozen --------------------------------------------------------------------------------------------------

FROZEN = {
    "metric_fingerprint": ("sha256:m", "metric"), "cases_sha256": ("sha256:c", "test-data"),
    "lock_sha256": ("sha256:l", "policy"), "judge": ("sha256:j", "judge"),
}  # fmt: skip


@pytest.mark.parametrize("name", FROZEN)
def test_what_is_frozen_must_be_the_same(found, name: str):
    value, owner = FROZEN[name]
    assert found(more=f'[frozen]\n{name} = "{value}"\n') == []
    assert found(more=f'[frozen]\n{name} = "{value.removeprefix("sha256:")}"\n') == []
    (blocker,) = found(more=f'[frozen]\n{name} = "sha256:{"0" * 64}"\n')
    assert (blocker.kind, blocker.owner, blocker.outcome) == ("frozen", owner, Outcome.incomplete)
    assert blocker.sentence == f"{name} is frozen at sha256:0000000000000000…, but this run has '{value}'"


def test_what_is_frozen_and_absent_differs(found):
    nothing = SUBJECT._replace(lock_sha256=None)
    assert len(found(more='[frozen]\nlock_sha256 = "sha256:l"\n', subject=nothing)) == 1


@pytest.mark.parametrize(("bound", "is_fit"), [("0.75", True), ("0.8", True), ("0.7499", False), ("0.1", False)])
def test_a_bound_laxer_than_the_certified_one_is_refused(tmp_path: Path, bound: str, is_fit: bool) -> None:
    record = json.dumps(
        {"metric": "evidence_coverage", "contract_version": "1", "slices": {"default": {"threshold": 0.75}}}
    ).encode()
    (tmp_path / "record.json").write_bytes(record)
    (tmp_path / "policy.toml").write_text(
        'schema = 1\nname = "p"\nversion = "1"\nmode = "report"\nmetric = "evidence_coverage"\ncontract_version = "1"\n'
        f'basis = "calibrated"\ncalibration = "sha256:{hashlib.sha256(record).hexdigest()}"\n'
        f"[slices.default]\nminimum = {bound}\n"
    )
    subject = Subject("", "", None, None)
    found = unfit(read_policy(tmp_path / "policy.toml"), evidence_coverage, subject, date(2026, 12, 1))
    assert [b.sentence for b in found] == (
        [] if is_fit else [f"slices.default is bound at {float(bound)!r}, but its calibration certified 0.75"]
    )


# --- what it rests on -------------------------------------------------------------------------------------------------


def judged() -> Metric:
    from evalkit.contract.judge import Judge

    return Judge(name="quality", prompt="Is it good? {text}", contract=contract())


def test_s3_8_a_judge_cannot_block_by_definition(found):
    labels = 'require = ["pass"]'
    (blocker,) = found(judged(), limits=labels)
    assert blocker.outcome is Outcome.incomplete
    assert "quality gives what a model judges" in blocker.sentence
    assert "comparison with labels of independent reviewers over the same answers is missing" in blocker.sentence
    assert 'basis = "calibrated"' in blocker.do
    assert found(judged(), limits=labels, basis='"provisional"') == []
    assert found(judged(), limits=labels, mode='"report"') == []
    assert found(judged(), limits='decide = "review"') == []


def test_s3_8_nor_can_a_metric_that_stands_for_a_judgement_of_its_domain(found):
    (blocker,) = found(numeric(needs_validation=True))
    assert "quality stands for a judgement of its domain" in blocker.sentence
    assert found(numeric(needs_validation=True), basis='"provisional"') == []
    assert found(numeric()) == []
