"""What a script is made of: scenes, in which a person says something and the agent goes to work."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

# In arguments, stands for the folder the memories are in.
MEMORY = "{memory}"

MINUTE = 60.0
HOUR = 60 * MINUTE


@dataclass(frozen=True, slots=True)
class Do:
    """A tool the agent uses; the arguments are JSON."""

    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Reply:
    """What the agent says at once, and the tools it uses then; without any it waits for the person."""

    text: str
    calls: tuple[Do, ...] = ()


@dataclass(frozen=True, slots=True)
class Fact:
    """Something the person said early. Who still has one of `words` before them can `tell` it."""

    name: str
    words: tuple[str, ...]
    tell: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """Something worth a memory that was said in a scene; `voice` is who said it, person or tool."""

    file: str
    about: str
    kind: str
    text: str
    voice: str = "user"


@dataclass(frozen=True, slots=True)
class Scene:
    """One turn: what the person says, and what the agent does about it.

    `done` is what came of it, for notes and summaries. `facts` can only be told by an agent that
    still has them. `recalls` are the memories that help with it, `lessons` what a model that looks for
    memories would write after it. `pause` is how long the person was
    away, and with `leaves` they close the session meanwhile; `compacts` is what they say to `/compact`
    before they ask.
    """

    asks: str
    replies: tuple[Reply, ...]
    done: str
    facts: tuple[Fact, ...] = ()
    recalls: tuple[str, ...] = ()
    lessons: tuple[Lesson, ...] = ()
    pause: float = 1.5 * MINUTE
    leaves: bool = False
    compacts: str = ""


def says(text: str, *calls: Do) -> Reply:
    return Reply(text, calls)


def read(path: str) -> Do:
    return _do("Read", path=path)


def grep(pattern: str, path: str) -> Do:
    return _do("Grep", pattern=pattern, path=path, output="content")


def glob(pattern: str) -> Do:
    return _do("Glob", pattern=pattern)


def run(command: str) -> Do:
    return _do("Bash", command=command)


def edit(path: str, old: str, new: str) -> Do:
    return _do("Edit", path=path, old_text=old, new_text=new)


def write(path: str, content: str) -> Do:
    return _do("Write", path=path, content=content)


def todo(done: int, *items: str) -> Do:
    """The list with its first items done, and the next one being done."""
    states = ["done"] * done + ["doing"] + ["open"] * len(items)
    todos = [{"text": item, "status": status} for item, status in zip(items, states, strict=False)]
    return _do("Todo", todos=todos)


def memory(file: str, about: str, kind: str, text: str, **keys: str) -> tuple[str, str]:
    """A memory: the name of its file, and what stands in it."""
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    return file, f"---\nname: {about}\ndescription: {about}\ntype: {kind}\n{more}---\n{text}\n"


def save(file: str, about: str, kind: str, text: str) -> tuple[Do, Do]:
    """A memory in a file of its own, and its line in the index."""
    name, content = memory(file, about, kind, text)
    line = json.dumps(f"- [{about}]({name}) — {kind}", ensure_ascii=False)
    index = json.dumps(f"{MEMORY}/MEMORY.md")
    return write(f"{MEMORY}/{name}", content), run(f"echo {line} >> {index}")


def _do(tool: str, **arguments: Any) -> Do:
    return Do(tool, json.dumps(arguments, ensure_ascii=False))
