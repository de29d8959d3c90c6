"""What a model is told when it dreams, and how its account of the dream is read."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from reverie.layers.dreaming.changes import Reason
from reverie.layers.dreaming.dream import Branch, Dreamer, Dreamt
from reverie.memory.index import MOST_BYTES, MOST_LINES, POINTER_AIM

MOST_TURNS = 40

_DIRECTIVE = """\
This is not a message from the person. While they are away, go through the project's memory and put
it in order, as somebody would who sleeps on what they learnt. You work in a copy of the memory:
{folder}
Nothing you do there counts before it was checked, and nothing outside it can be changed. You may
read, search and list anywhere; edit and write only in that folder. Commands may only read.

1. Look around. List the folder, read MEMORY.md, skim the memories it leads to.
2. Gather. {logs}Find memories that contradict each other or the present state of the
   project. Past conversations are in {transcripts}: look for single terms in them, never read one
   as a whole.
3. Consolidate. Put what says the same into one file, the one that exists longer, with every
   number, name, date and address both had. Turn "yesterday" or "next week" into dates, counted
   from the day the memory was written. Where a newer memory replaces an older one, keep both
   files: `superseded_by` and `valid_until` in the old one, `supersedes` in the new one.
4. Prune and index. One line a memory in MEMORY.md: `- [Title](file.md) — hook`, about
   {aim} characters; no line that leads nowhere, none missing; at most {lines} lines
   and {bytes:,} bytes. Detail belongs in the memory, not in its line.

These changes are thrown away again, so do not try them: deleting or archiving a memory that still
holds, changing a number, a name or who said something, touching a pinned memory, merging memories
whose values differ. What you doubt, leave as it is.

End with one line for every file you changed, and nothing else:
file.md | why | what it rests on (files, or session#message), separated by commas
"""

_LOGS = "Begin with the daily logs in {folder}: what is worth keeping becomes a memory. "
_LINE = re.compile(r"^[-*\s]*`?(?P<file>[\w./-]+\.md)`?\s*\|\s*(?P<why>[^|\n]*)(?:\|(?P<on>.*))?$")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where a dream may look beside its copy; `named` is the folder whose name the copy goes by."""

    transcripts: Path
    logs: Path | None = None
    named: Path | None = None


# One fork of a conversation: given the directive, it works in the branch and says how it ended.
Ask: TypeAlias = Callable[[str, Branch], Awaitable[str]]


def directive(folder: Path, around: Surroundings) -> str:
    logs = "" if around.logs is None else _LOGS.format(folder=around.logs)
    return _DIRECTIVE.format(
        folder=folder,
        logs=logs,
        transcripts=around.transcripts,
        aim=POINTER_AIM,
        lines=MOST_LINES,
        bytes=MOST_BYTES,
    )


def parse_account(reply: str) -> dict[str, Reason]:
    """Why each file was changed, from the last lines of a dream; what does not read is left out."""
    found: dict[str, Reason] = {}
    for line in reply.splitlines():
        match = _LINE.match(line.strip())
        if match:
            sources = (one.strip(" `") for one in (match["on"] or "").split(","))
            found[match["file"]] = Reason(match["why"].strip(), tuple(filter(None, sources)))
    return found


def model_dreamer(ask: Ask, around: Surroundings) -> Dreamer:
    """A dreamer that is a fork of the conversation, under the permission function of memory forks."""

    async def dream(branch: Branch) -> Dreamt:
        reply = await ask(directive(around.named or branch.folder, around), branch)
        return Dreamt(parse_account(reply))

    return dream
