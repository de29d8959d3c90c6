"""The message that stands for what was compacted: how it is worded, and how it is known again."""

from __future__ import annotations

from reverie.core.foreign_text import MARKS, quoted
from reverie.core.messages import Message

_INTRO = "What was said here is no longer in the window; the summary below stands in its place."
_END = (
    "Go on with the work where it stopped. Do not retell the summary, and ask nothing it answers."
)
_OPEN, _CLOSE = "<summary>", "</summary>"


def worded(body: str, transcript: str) -> str:
    """The text of the message; `transcript` is where every word can still be read."""
    where = (
        f"Every word is kept in {transcript}: read or search that file for a detail that is "
        "missing here."
    )
    intro = f"{_INTRO}\n{where}" if transcript else _INTRO
    return f"{intro}\n\n{_OPEN}\n{quoted(body, marks=(*MARKS, 'summary'))}\n{_CLOSE}\n\n{_END}"


def is_summary(message: Message) -> bool:
    return message.origin == "reverie" and message.text.startswith(_INTRO)


def body_of(message: Message) -> str:
    """What `worded` was given."""
    _, _, rest = message.text.partition(f"{_OPEN}\n")
    return rest.rpartition(f"\n{_CLOSE}")[0]
