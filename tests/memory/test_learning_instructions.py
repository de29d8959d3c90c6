"""`learning.md`: the section for the model, and the phrases that apply without one."""

import pytest

from reverie.memory.format.instructions import MOST_CHARACTERS, parse

TEXT = """\
# What to learn

## Always keep
- names of customers

## Never keep
- salaries
* Project Nightingale
1. anything about my health.
- what I say about colleagues, unless I ask for it (then only the fact)
- a b c d e f g

## Notes
- deadlines
"""


def test_short_plain_lines_below_never_are_phrases() -> None:
    found = parse([("yours", TEXT)])
    assert found.never == ("salaries", "Project Nightingale", "anything about my health")


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("Salaries are paid on Fridays.", "salaries"),
        ("The codename is project\n nightingale.", "Project Nightingale"),
        ("The salariesman rang.", None),
        ("Deadlines are on Friday.", None),
        ("Names of customers are in the CRM.", None),
    ],
)
def test_a_phrase_is_found_whatever_its_case_as_whole_words(text: str, phrase: str | None) -> None:
    assert parse([("yours", TEXT)]).excluded(text) == phrase


@pytest.mark.parametrize("heading", ["Never", "What you should never keep", "Don't keep", "Do not"])
def test_headings_that_say_never(heading: str) -> None:
    assert parse([("yours", f"## {heading}\nsalaries\n")]).never == ("salaries",)


def test_the_section_quotes_it_in_order_and_says_whose_it_is() -> None:
    section = parse([("yours", "Keep names."), ("blank", " \n"), ("here", "Keep\ndates.")]).section
    assert section.endswith("yours:\n> Keep names.\n\nhere:\n> Keep\n> dates.")
    assert section.startswith("The person wrote down")
    assert parse([("blank", "")]).section == ""


def test_a_long_file_is_cut_and_that_is_told() -> None:
    found = parse([("yours", "- a line\n" * 1_000)])
    assert found.notes == (f"only the first {MOST_CHARACTERS:,} characters of yours are used",)
    assert len(found.parts[0][1]) < MOST_CHARACTERS + 20
    assert found.parts[0][1].endswith("- a line\n[cut here]")
