"""What was before the demo's session: memories, conversations, and what a dream makes of them."""

from __future__ import annotations

from dataclasses import dataclass

from reverie.cli.demo.script import memory

_OLD, _NEW = "reference_corrections.md", "reference_corrections_now.md"
_STORHOLM = "project_storholm_change.md"
_TABLE = "project_corrected_table.md"

# What earlier sessions left behind.
SEEDS = (
    memory(
        "feedback_short_answers.md",
        "The owner of ferry wants short answers",
        "feedback",
        "A few lines, the result first; details only when asked for.\n\n**Why:** the owner reads "
        "them on a phone.\n**How to apply:** to every answer.",
    ),
    memory(
        "reference_harbour_office.md",
        "Who answers questions about the sailings and the table of the office",
        "reference",
        "The table is exported by the harbour office on the first Monday of a month. Kaja answers "
        "questions about it, not on Fridays.",
    ),
    memory(
        _OLD,
        "Corrections of the table go to Tor",
        "reference",
        "Corrections of the table go to Tor.",
        created="2026-09-07",
    ),
    memory(
        _NEW,
        "Corrections of the table go to Kaja",
        "reference",
        "Corrections of the table go to Kaja.",
        created="2026-11-02",
    ),
    memory(
        _TABLE,
        "When the corrected table is to be expected",
        "project",
        "The corrected table is sent next Monday.",
        created="2026-11-02",
    ),
)

# Conversations of the days before: what the person said, and what was answered.
CONVERSATIONS = (
    ("What is ferry written in?", "Python, and nothing that has to be installed."),
    ("Who draws up the table?", "The harbour office; it is exported once a month."),
    (
        "Corrections of the table go to Kaja now, no longer to Tor.",
        "Understood: from now on to Kaja.",
    ),
    ("When do we get the corrected table?", "You said that it is sent next Monday."),
    ("Please answer shorter, I read this on a phone.", "I will: a few lines, the result first."),
)


def conversation(number: int) -> str:
    """What the session of a conversation is called."""
    return f"earlier-{number}"


@dataclass(frozen=True, slots=True)
class Tidying:
    """One thing a dream does to a memory, why, and the conversation it rests on."""

    file: str
    old: str
    new: str
    why: str
    source: str = ""


# The last of them loses a date: no check lets it pass.
DREAM = (
    Tidying(_TABLE, "next Monday", "on 2026-11-09", "a date for “next Monday”", conversation(4)),
    Tidying(
        _OLD,
        "type: reference\n",
        f"type: reference\nsuperseded_by: {_NEW}\nvalid_until: 2026-11-02\n",
        "the person named somebody else since",
        conversation(3),
    ),
    Tidying(
        _NEW,
        "type: reference\n",
        f"type: reference\nsupersedes: [{_OLD}]\n",
        "it is the newer one of two",
        conversation(3),
    ),
    Tidying(
        _STORHOLM,
        " From 2027-04-15 a shuttle runs and seven minutes are enough, as everywhere.",
        "",
        "shorter",
    ),
)
