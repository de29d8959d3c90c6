"""The layers that keep a conversation inside its window and its lessons for later.

Each one exists to keep the next, dearer one from firing. All speak the same three verbs:

    due    whether there is anything to do; a refusal is a value with its reason
    plan   what exactly would change; pure
    run    the change itself, through ports, announced

They know neither the session nor each other: the session asks them in order and records what they
decide.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NotDue:
    """Nothing to do now, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Layer:
    """A row of the table: what a layer is called, what it costs and when it fires."""

    number: int
    name: str
    about: str
    cost: str
    fires: str


LAYERS: tuple[Layer, ...] = (
    Layer(0, "window", "counts tokens and knows the window", "nothing", "every request"),
    Layer(
        1,
        "tool results",
        "long results go to files, a preview stays",
        "a file",
        "every tool result",
    ),
    Layer(
        2,
        "microcompaction",
        "old tool results are cleared",
        "nothing, or one rewrite of the cache that pays for itself",
        "before a request, in rare batches",
    ),
    Layer(
        3,
        "session notes",
        "a running summary, ready before it is needed",
        "one fork",
        "every 5,000 tokens or so",
    ),
    Layer(
        4,
        "compaction",
        "the conversation becomes a summary, and what matters is put back",
        "one model call",
        "the window is nearly full and notes did not help",
    ),
    Layer(
        5, "extraction", "what was learnt goes into memory files", "one fork", "the end of a turn"
    ),
    Layer(
        6,
        "dreaming",
        "memory is consolidated across sessions",
        "one longer fork",
        "a day and five sessions have passed",
    ),
    Layer(7, "teamwork", "forks, sub-agents and their mail", "what they do", "on demand"),
)
