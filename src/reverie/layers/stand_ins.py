"""The text that stands for a tool result which was put into a file: written here, and read back.

Its bytes are frozen by a record, so a session may read years later what it wrote today.
"""

from __future__ import annotations

import re

from reverie.layers.previews import counted
from reverie.layers.previews.lines import split

_TAG = "persisted-output"
_OPENING = re.compile(rf"\A<{_TAG}>\nThe whole output is in (?P<path>.+) \([\d,]+ characters, ")


def persisted(text: str, path: str, preview: str) -> str:
    """The stand-in for `text`, which is kept at `path`: where it is, how long, and a preview."""
    # What a tool printed cannot close the tag and speak outside of it.
    inside = preview.replace(f"</{_TAG}", f"<\\/{_TAG}")
    return (
        f"<{_TAG}>\n"
        f"The whole output is in {path} ({len(text):,} characters, {counted(len(split(text)))}).\n"
        "To see more of it, Read that file with an offset and a limit, or search it with Grep.\n"
        "A preview:\n\n"
        f"{inside}\n"
        f"</{_TAG}>"
    )


def path_of(stand_in: str) -> str:
    """Where the whole text is kept; empty when the text is no stand-in for a file."""
    found = _OPENING.match(stand_in)
    return found["path"] if found else ""
