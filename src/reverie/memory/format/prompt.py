"""The memory section of the system prompt, rendered once per session.

It must not contain anything that changes (dates, counts): it is part of the cached prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from reverie.core.foreign_text import quoted
from reverie.memory.format.frontmatter import readable
from reverie.memory.format.index import capped
from reverie.memory.format.taxonomy import KINDS

if TYPE_CHECKING:
    from reverie.memory.format.index import Index
    from reverie.memory.format.taxonomy import Kind

AgentScope = Literal["user", "project", "local"]

LOG_PATTERN = "logs/YYYY/MM/YYYY-MM-DD.md"
# The tool that appends to it.
LOG_TOOL = "log_memory"


@dataclass(frozen=True, slots=True)
class PromptMemory:
    """A memory directory and its index; without an index, the prompt shows none."""

    directory: str
    index: Index | None = None


def memory_prompt(
    memory: PromptMemory,
    team: PromptMemory | None = None,
    person: PromptMemory | None = None,
    *,
    daily_log: bool = False,
    transcripts: str | None = None,
    guidelines: str = "",
) -> str:
    """The section for the main agent; team rules only with team memory."""
    saving = (
        _DAILY_LOG.format(directory=memory.directory) if daily_log else _saving(team is not None)
    )
    parts = (
        _where(memory, team, person),
        _kinds(team_on=team is not None),
        _NEVER,
        saving,
        _LOOKING,
        _BEFORE,
        _OTHER_PLACES,
        _searching(tuple(filter(None, (memory, person, team))), transcripts),
        guidelines.strip(),
        _indexes(memory, person, team),
    )
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def agent_memory_prompt(memory: PromptMemory, scope: AgentScope, *, guidelines: str = "") -> str:
    """The section for a subagent with its own memory; it includes the whole index."""
    parts = (
        _AGENT.format(directory=memory.directory, purpose=_AGENT_SCOPES[scope]),
        _kinds(team_on=False),
        _NEVER,
        _saving(team_on=False),
        _BEFORE,
        guidelines.strip(),
        _section("MEMORY.md", "".join(memory.index.lines)) if memory.index is not None else "",
    )
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def _where(memory: PromptMemory, team: PromptMemory | None, person: PromptMemory | None) -> str:
    if team is None:
        place = f"in `{memory.directory}`. The directory exists"
    else:
        place = (
            f"in two directories: `{memory.directory}` is private to this person, "
            f"`{team.directory}` is shared with everyone who works on this project. Both exist"
        )
    where = _WHERE.format(place=place)
    return where if person is None else f"{where}\n\n{_PERSON.format(directory=person.directory)}"


def _kinds(*, team_on: bool) -> str:
    rows = "\n\n".join(_kind(kind, team_on=team_on) for kind in KINDS)
    return f"## The four types\n\nEvery memory is one of these; there are no others.\n\n{rows}"


def _kind(kind: Kind, *, team_on: bool) -> str:
    lines = [f"### {kind.type}", f"- What: {kind.what}"]
    if team_on:
        lines.append(f"- Scope: {kind.scope_rule}.")
    lines += [f"- When: {kind.when}", f"- Use: {kind.use}"]
    if kind.structured:
        lines.append("- Form: the rule or fact first, then **Why:** and **How to apply:**.")
    return "\n".join((*lines, *(f"- Example: {example}" for example in kind.examples)))


def _saving(team_on: bool) -> str:
    if not team_on:
        return _SAVING.format(scope="")
    return _SAVING.format(scope=_TEAM_SAVING)


def _searching(memories: Sequence[PromptMemory], transcripts: str | None) -> str:
    places = [f"`{memory.directory}`" for memory in memories]
    last = (
        f"\n3. Only then the transcripts in `{transcripts}`: large and slow." if transcripts else ""
    )
    return _SEARCHING.format(places=" and ".join(places), last=last)


def _indexes(memory: PromptMemory, person: PromptMemory | None, team: PromptMemory | None) -> str:
    others = (("person/MEMORY.md", person), ("team/MEMORY.md", team))
    memories = [("MEMORY.md", memory), *((title, one) for title, one in others if one is not None)]
    found = ((title, one.index) for title, one in memories if one.index is not None)
    return "\n\n".join(_section(title, capped(index).text) for title, index in found)


def _section(title: str, index: str) -> str:
    return f"## {title}\n\n{quoted(readable(index)).strip() or 'It is empty so far.'}"


_WHERE = """\
# Memory

What you learn here can outlast this conversation. Memory is kept as markdown files {place}, so write there \
with your file tools straight away.

Let it grow as you work. Someone who starts tomorrow with nothing but these files should know whom they work with, \
what has been agreed about the way of working, and why things are being done.

“Remember this” means: save it now, under the type that fits. “Forget this” means: find it and take it out."""

_PERSON = """\
What holds for this person in every project (who they are, how they like to be answered) is kept once, in \
`{directory}`, a directory of the same form; it may not exist yet. Save there only what would be just as true in \
another repository. Whatever names this project, its files, services, people or dates belongs to the project."""

_NEVER = """\
## What is never saved

- Code patterns, conventions, architecture, file paths, project structure: read the code.
- History, and who changed what: ask git.
- Recipes for bugs: the fix is in the code, its reason in the commit.
- Anything the project's instruction files already say.
- The state of a task: what is half done, what comes next in this conversation.

This holds even when you are asked for it. Asked to save a list of changes or files, ask what was surprising \
about it, and save that."""

_SAVING = """\
## How to save

Two steps, always together:

1. Write the memory to a file of its own, such as `user_role.md` or `feedback_testing.md`:

```markdown
---
name: a title
description: one specific line; it alone decides whether this is found again
type: user, feedback, project or reference
---
The memory.
```

2. Add one line to `MEMORY.md`, the index: `- [Title](file.md) — one-line hook`. Under 150 characters, no \
frontmatter, never the memory itself.

Group lines by topic, not by day. If a file already covers it, change that file instead of adding a second one, and \
put right what has become untrue. Write dates as dates, never “Thursday” or “next week”. The index is cut after 200 \
lines, so every line counts.{scope}"""

_TEAM_SAVING = """

Each type says which directory it belongs to, and each directory has its own `MEMORY.md`. When something private \
contradicts something shared, say so in the private file. Shared files never hold passwords, keys or tokens, nor \
anything about a person that they would not tell the whole team."""

_DAILY_LOG = (
    """\
## How to save

Call `"""
    + LOG_TOOL
    + """` once for each thing worth keeping, in a sentence or two. It goes into the log of the day, \
`{directory}/"""
    + LOG_PATTERN
    + """`, where YYYY, MM and DD are today's date; you are told the date in a message when it \
changes. Without that tool, append a bullet with the time of day to the file yourself, and create it and its folders when \
they are missing.

The log only grows: change nothing that is already in it, \
and leave `MEMORY.md` and the topic files alone; a nightly pass turns the log into them."""
)

_LOOKING = """\
## When to look

- A line of the index fits the request, or the person speaks of earlier work: read that file.
- The person asks what you remember, or to check: always look.
- The person says to ignore memory: from then on the index is empty to you. Nothing in it is used, quoted or hinted at."""

_BEFORE = """\
## Before recommending from memory

A memory is a note from its day. The path, function or flag it names was there then; today it may have another name \
or be gone, or it never left its branch. So, at the moment you are about to rely on one:

- a path: look whether the file exists;
- a function or a flag: search the code for it;
- the person will act on your answer: make sure first, then answer.

Notes on the state of the code age worst; for anything current, read the code and its history. If memory and reality \
disagree, reality is right: answer from it, and repair the memory."""

_OTHER_PLACES = """\
## Memory, plan, task list

Ask who needs it. A later conversation: memory. The person, to agree on how a larger piece of work is done: a plan, kept \
up to date when the way changes. Only you, to keep track of steps in this conversation: the task list."""

_SEARCHING = """\
## Searching past context

Search for something rare: an error message, a path, the name of a function. Common words find everything.

1. The index below or the recalled memories.
2. The memory files in {places}: search them for the term.{last}"""

_AGENT = """\
# Agent memory

You keep notes of your own from one task to the next, in `{directory}`. The directory exists, so write there with your \
file tools straight away. {purpose}

Before you finish, note what you wish you had known when you began; put right what you found to be wrong."""

_AGENT_SCOPES: dict[AgentScope, str] = {
    "user": "It serves you in every project: keep general lessons, nothing that holds for one project only.",
    "project": "It belongs to this project and is shared through version control: keep what everyone who works "
    "here with this agent should know.",
    "local": "It belongs to this project on this machine and is not in version control: keep what holds for this "
    "project and this machine.",
}
