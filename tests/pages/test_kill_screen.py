"""What ``evalkit mutate`` prints."""

from __future__ import annotations

import json

from evalkit.mutate.matrix import Kill, KillMatrix, Mutant
from evalkit.pages.kill_screen import kill_screen

CASE = {"case_id": "kills-b", "role": "boundary", "n": 0, "oracle": {"value": 0.0, "reason": "0 of 4"}}


def mutant(name: str, **fields: object) -> Mutant:
    given = {"operator": "number", "where": "share", "line": 7, "diff": "- return n\n+ return n + 1"} | fields
    return Mutant(id=f"share:number:{name}", **given)


def killed(name: str, *cases: str, **fields: object) -> Mutant:
    return mutant(name, status="killed", kills=tuple(Kill(case, "value") for case in cases), **fields)


def screen(*mutants: Mutant, **fields: object) -> str:
    cases = ("half", "all", "none", "third")
    return kill_screen(KillMatrix(subject="share", cases=cases, mutants=mutants, **fields))


def test_a_killed_mutant_shows_its_diff_and_its_killer():
    text = screen(killed("a", "half"))
    assert "number: share, line 7\n    - return n\n    + return n + 1\n    by half (value)\n" in text
    assert text.endswith("PASSED (exit code 0): killed 1 of 1, score 1.0\n")


def test_three_killers_are_named_and_the_rest_counted():
    assert "by half (value), all (value), none (value) and 1 more" in screen(
        killed("a", "half", "all", "none", "third")
    )


def test_a_survivor_comes_last_with_a_line_to_paste():
    text = screen(mutant("b", suggested_case=CASE), killed("a", "half"))
    pasted = [line for line in text.splitlines() if line.startswith("{")]
    assert [json.loads(line) for line in pasted] == [CASE]
    assert text.index("share:number:b (line 7)") > text.index("by half")
    assert "QUALITY_FAILED (exit code 1): killed 1 of 2, score 0.500; 1 survived" in text


def test_a_case_that_kills_several_survivors_is_shown_once():
    text = screen(mutant("b", suggested_case=CASE), mutant("c", suggested_case={**CASE, "case_id": "kills-c"}))
    assert text.count('"case_id"') == 1
    assert "this case would kill these 2" in text


def test_survivors_are_sorted_by_the_size_of_their_case():
    small, large = CASE, {**CASE, "n": 1_000_000}
    text = screen(mutant("b", suggested_case=large), mutant("c", suggested_case=small))
    assert text.index("share:number:c") < text.index("share:number:b")


def test_a_survivor_without_a_case_says_what_was_tried():
    note = "none of 9 varied inputs tells it from the original: it may be equivalent"
    text = " ".join(screen(mutant("b", note=note)).split())
    assert note in text
    assert "if so, name it in equivalent.toml, with the reason" in text


def test_what_is_set_aside_has_its_reason():
    text = " ".join(
        screen(
            killed("a", "half"),
            mutant("e", status="equivalent", note="never outside (us, 2026-11-30)"),
            mutant("n", status="not_applicable", operator="label", note="nothing of the kind in this metric"),
            mutant("m", status="not_applicable", operator="order", note="nothing of the kind in this metric"),
        ).split()
    )
    assert "never outside (us, 2026-11-30)" in text
    assert "nothing of the kind in this metric: label, order" in text
    assert "killed 1 of 1 (4 in all, without 1 equivalent and 2 not applicable), score 1.0" in text


def test_nothing_planted_is_not_a_pass():
    text = screen(mutant("n", status="not_applicable", note="no"))
    assert "INCOMPLETE (exit code 2): nothing could be planted, so nothing was shown" in text


def test_a_score_just_below_1_is_never_shown_as_1():
    mutants = [killed(str(n), "half") for n in range(4_000)]
    assert "score 0.999;" in screen(*mutants, mutant("b"))


def test_every_line_but_those_to_paste_fits_80_columns():
    long = "x = " + " + ".join(f"value_{n}" for n in range(20))
    text = screen(
        killed("a", "half", diff=f"- {long}\n+ {long.replace('value_15 +', 'value_15 -')}"),
        mutant("b" * 40, suggested_case=CASE, diff="\n".join(f"- line {n}" for n in range(30)) + "\n+ pass"),
    )
    lines = [line for line in text.splitlines() if not line.startswith("{")]
    assert max(map(len, lines)) <= 80
    assert "value_15 -" in text  # of a long line, the part that changed is in sight
    assert "    + pass\n" in text  # of a long diff, the first lines and the last


def test_nothing_in_a_diff_or_a_case_can_forge_a_line():
    text = screen(killed("a", "half", diff="- x\r\x1b[2KPASSED"), mutant("b", suggested_case={**CASE, "n": "a\u202eb"}))
    assert "\x1b" not in text
    assert "\u202e" not in text
    pasted = [line for line in text.splitlines() if line.startswith("{")]
    assert json.loads(pasted[0])["n"] == "a\u202eb"


def test_in_full_the_cases_that_killed_nothing_are_named():
    text = screen(killed("a", "half", "none"), full=True)
    assert "cases that killed nothing (2 of 4): all, third" in text
    assert "killed nothing" not in screen(killed("a", "half"))


def test_layers_have_a_heading_each():
    text = screen(killed("a", "half"), killed("g", "half", layer="gate"))
    assert "-- killed in the metric's source -" in text
    assert "-- killed in the gate -" in text
