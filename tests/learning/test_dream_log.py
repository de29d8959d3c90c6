"""The daily log in a dream: which entries there are, and what the rules make of them."""

from datetime import date

import pytest

from reverie.learning.dreaming.changes import Reason
from reverie.learning.dreaming.log import MOST_CHARACTERS, LogEntry, distilled, entries_of, portion
from reverie.memory.format import topic as topics

FILE = "logs/2025/06/2025-06-15.md"
TEXT = """\
# 2025-06-15

- 09:15 Looked at the parser.
- 10:02 From now on always use pnpm.
  Anna asked for it.

* An entry without a time
A line of its own.
"""


def test_entries_are_bullets_with_the_lines_below_them() -> None:
    found = entries_of(FILE, TEXT)
    assert [(entry.line, entry.text) for entry in found] == [
        (3, "Looked at the parser."),
        (4, "From now on always use pnpm.\nAnna asked for it."),
        (7, "An entry without a time"),
        (8, "A line of its own."),
    ]
    assert {entry.day for entry in found} == {date(2025, 6, 15)}
    assert found[1].source == f"{FILE}:4"
    assert [entry.line for entry in entries_of(FILE, TEXT, after=4)] == [7, 8]


@pytest.mark.parametrize(
    ("file", "number"), [("logs/2025/06/2025-06-15_2.md", 4), ("logs/notes.md", 0)]
)
def test_the_day_is_in_the_name(file: str, number: int) -> None:
    assert len(entries_of(file, TEXT)) == number


def test_a_portion_is_the_oldest_that_fit_and_at_least_one() -> None:
    def entry(day: int, size: int) -> LogEntry:
        return LogEntry(f"logs/2025/06/2025-06-{day:02}.md", 1, date(2025, 6, day), "x" * size)

    half = MOST_CHARACTERS // 2
    assert portion([entry(3, half), entry(1, half), entry(2, half)]) == (
        (entry(1, half), entry(2, half)),
        1,
    )
    assert portion([entry(1, MOST_CHARACTERS * 2), entry(2, 1)])[1] == 1


def kept(text: str, **files: str) -> tuple[dict[str, str], dict[str, Reason]]:
    there = {
        f"{name}.md": topics.render(
            topics.new(said, said, "project", said, file=f"{name}.md", created="2025-01-01")
        )
        for name, said in files.items()
    }
    made, reasons = distilled(entries_of(FILE, f"- 10:00 {text}\n"), there, lambda said: False)
    return {name: data.decode() for name, data in made.items()}, reasons


def test_a_memory_names_its_line_and_counts_dates_from_its_day() -> None:
    made, reasons = kept("Remember that the audit begins tomorrow.")
    [(file, text)] = made.items()
    assert "The audit begins 2025-06-16" in text
    assert f"source: [{FILE}:1]" in text
    assert "origin: assistant" in text
    assert reasons[file].sources == (f"{FILE}:1",)


def test_what_is_known_is_left_alone() -> None:
    assert kept("Remember that Anna owns billing.", known="Anna owns billing.") == ({}, {})


def test_another_value_is_a_second_memory_and_never_an_overwrite() -> None:
    made, _ = kept(
        "Remember that the port of the harbour service is 8443.",
        port="The port of the harbour service is 8080.",
    )
    # The log does not say that the other value is over: both stand.
    (fresh,) = made.values()
    assert "8443" in fresh
    assert "port.md" not in made


def test_nothing_is_forgotten_because_a_log_says_so() -> None:
    assert kept("Forget what you know about the harbour.", port="The harbour closes.") == ({}, {})


def test_small_talk_and_what_the_person_never_wants_give_nothing() -> None:
    assert kept("Looked at the parser.") == ({}, {})
    entries = entries_of(FILE, "- 10:00 Remember that salaries are paid on Fridays.\n")
    assert distilled(entries, {}, lambda said: "alaries" in said) == ({}, {})
