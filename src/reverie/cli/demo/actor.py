"""Who plays the models: the script in the conversation itself, and whatever else is asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from reverie.agent.fork import is_fork
from reverie.cli.demo.past import DREAM, Tidying
from reverie.cli.demo.script import (
    MEMORY,
    Do,
    Fact,
    Lesson,
    Reply,
    Scene,
    edit,
    memory,
    read,
    write,
)
from reverie.context import user_messages
from reverie.context.session_notes import notes as session_notes
from reverie.context.session_notes.notes import LEARNINGS, STATE
from reverie.core.messages import Attachment, Block, Message, Text, ToolUse
from reverie.core.request import Request
from reverie.memory.format.attachment import LABEL as RECALL

# Where a fact can stand that somebody is asked for, in the order one would name them.
OWN_WORDS = "the person's own words"
RECALLED = "a recalled memory"
ELSEWHERE = "what was said about it"

# Words of the directives, by which the side tasks are told apart.
_NOTES = "<notes>"
_LESSONS = "The new messages, by number:"
_DREAM = "You work in a copy of the memory"

_LATEST = 6


@dataclass(slots=True)
class Actor:
    """Answers requests. `memory` is the folder of the memories, for what the script writes there.

    `found` says for every fact that was asked for where it stood in the request.
    """

    memory: str
    found: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _played: list[Scene] = field(default_factory=list)
    _replies: Iterator[Reply] = field(default_factory=lambda: iter(()))
    _calls: Iterator[int] = field(default_factory=lambda: count(1))

    def enter(self, scene: Scene) -> None:
        """The person is about to say what this scene begins with."""
        self._played.append(scene)
        self._replies = iter(scene.replies)

    def speak(self, request: Request) -> Sequence[Block]:
        """As the agent, or as a fork of it."""
        if is_fork(request.messages):
            return self._aside(request.messages)
        reply = next(self._replies, Reply(""))
        text = reply.text if reply.calls else self._final(reply.text, request)
        return (Text(text), *map(self._do, reply.calls))

    def select(self, request: Request) -> Sequence[Block]:
        """As the small model that selects memories."""
        return (Text(json.dumps({"selected_memories": self._played[-1].recalls})),)

    def _final(self, text: str, request: Request) -> str:
        """The last words of a scene: what was asked about is told if it is still there."""
        answers = [self._tell(fact, request.messages) for fact in self._played[-1].facts]
        return " ".join(filter(None, (*answers, text)))

    def _tell(self, fact: Fact, messages: Sequence[Message]) -> str:
        places = {_place(m, b) for m in messages for b in m.blocks if _has(fact, b)}
        found = tuple(place for place in (OWN_WORDS, RECALLED, ELSEWHERE) if place in places)
        self.found[fact.name] = found
        return fact.tell if found else "I do not know any more: it is not in my context."

    def _aside(self, messages: Sequence[Message]) -> Sequence[Block]:
        """A side task: notes are edited, memories written, a dream dreamt, or a summary is written."""
        begun = max(i for i, m in enumerate(messages) if m.origin == "reverie" and m.text)
        task, answers = messages[begun].text, messages[begun + 1 :]
        if _LESSONS in task:
            return self._learn(task, answers)
        if _DREAM in task:
            return self._dream(answers)
        if _NOTES not in task:
            return (Text(self._summary()),)
        return (Text("The notes are up to date."),) if answers else tuple(self._note_edits(task))

    def _learn(self, task: str, answers: Sequence[Message]) -> Sequence[Block]:
        """Each lesson of the scene becomes a file that cites who said it."""
        lessons = self._played[-1].lessons
        if answers or not lessons:
            return (Text("Written." if answers else "Nothing to keep."),)
        return tuple(self._do(_written(lesson, task)) for lesson in lessons)

    def _dream(self, answers: Sequence[Message]) -> Sequence[Block]:
        """Read, then edit what is there, then account for it."""
        results = [message.tool_results for message in answers if message.tool_results]
        if not results:
            return tuple(self._do(read(f"{MEMORY}/{one.file}")) for one in DREAM)
        there = [one for one, r in zip(DREAM, results[0], strict=True) if not r.is_error]
        if len(results) == 1:
            return tuple(self._do(_tidied(one)) for one in there)
        return (Text("\n".join(f"{one.file} | {one.why} | {one.source}" for one in there)),)

    def _note_edits(self, task: str) -> Iterator[Block]:
        """One edit a section: what stands in it becomes what the script says came of the scenes."""
        path = task.partition("in the file ")[2].partition(".\n")[0]
        text = task.partition("<notes>\n")[2].partition("\n</notes>")[0]
        found = session_notes.parse(text)
        for section, before in found.sections if found else ():
            after = self._note(section.title)
            if after and before != after:
                old = f"{section.hint}\n\n{before}\n" if before else f"{section.hint}\n"
                new = f"{section.hint}\n\n{after}\n"
                yield self._do(edit(path, old, new))

    def _note(self, title: str) -> str:
        done = [scene.done for scene in self._played]
        told = {STATE: done[-_LATEST:], LEARNINGS: done[:-_LATEST]}
        return "\n".join(f"- {line}" for line in told.get(title, ()))

    def _summary(self) -> str:
        """Four of the nine parts; the rest comes from the record."""
        *earlier, last = (scene.done for scene in self._played)
        solved = "\n".join(f"- {line}" for line in earlier) or "- nothing yet"
        return (
            "<summary>\n"
            "## 1. Primary request and intent\nTo mend ferry, an inherited planner for island "
            "ferries, and to extend it within the owner's rules.\n"
            "## 2. Key technical concepts\nWhole minutes after midnight; whole cents; a search over "
            "the sailings of a day in the order they leave.\n"
            f"## 5. Problem solving\n{solved}\n"
            f"## 8. Current work\n{last}\n"
            "</summary>"
        )

    def _do(self, do: Do) -> ToolUse:
        return ToolUse(
            f"call_{next(self._calls)}", do.tool, do.arguments.replace(MEMORY, self.memory)
        )


def _written(lesson: Lesson, task: str) -> Do:
    """As a memory, with the number of the last message in its voice."""
    numbers = re.findall(rf"^(\d+)\. {lesson.voice}:", task, re.M)
    file, content = memory(
        lesson.file,
        lesson.about,
        lesson.kind,
        lesson.text,
        source=f"[{', '.join(numbers[-1:])}]",
    )
    return write(f"{MEMORY}/{file}", content)


def _tidied(tidying: Tidying) -> Do:
    return edit(f"{MEMORY}/{tidying.file}", tidying.old, tidying.new)


def _place(message: Message, block: Block) -> str:
    if isinstance(block, Attachment):
        return {RECALL: RECALLED, user_messages.LABEL: OWN_WORDS}.get(block.label, ELSEWHERE)
    return OWN_WORDS if message.origin == "user" and message.role == "user" else ELSEWHERE


def _has(fact: Fact, block: Block) -> bool:
    text = block.text if isinstance(block, Text | Attachment) else ""
    return any(words in text for words in fact.words)
