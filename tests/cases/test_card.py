"""The dataset card answers every question, and says what is synthetic."""

from __future__ import annotations

from pathlib import Path

from evalkit.cases.card import SECTIONS, card_problems

FULL = "\n".join(f"## {name}\nSome words that say it.\n" for name in SECTIONS)


def written(folder: Path, text: str) -> Path:
    path = folder / "card.md"
    path.write_text(text)
    return path


def test_a_full_card_has_no_problem(tmp_path: Path) -> None:
    assert card_problems(written(tmp_path, FULL)) == []


def test_each_section_is_missed_and_an_empty_one_is_not_taken_for_an_answer(tmp_path: Path) -> None:
    for name in SECTIONS:
        assert card_problems(written(tmp_path, FULL.replace(f"## {name}", "## Other"))) == [
            f"card.md: {name!r} is absent"
        ]
    hollow = FULL.replace("## Gaps\nSome words that say it.", "## Gaps\nnone")
    assert card_problems(written(tmp_path, hollow)) == ["card.md: 'Gaps' says nothing"]


def test_synthetic_labels_must_be_called_so(tmp_path: Path) -> None:
    path = written(tmp_path, FULL)
    assert card_problems(path, is_synthetic=True) == [
        "card.md: labels are marked synthetic, and the card does not say so"
    ]
    assert card_problems(written(tmp_path, FULL + "All Synthetic."), is_synthetic=True) == []


def test_no_card_is_one_problem(tmp_path: Path) -> None:
    assert "there is no card.md" in card_problems(tmp_path / "card.md")[0]
