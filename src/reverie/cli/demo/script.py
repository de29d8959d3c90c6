"""The demo's script, read from the files `script/README.md` explains, and the model that plays it."""

from __future__ import annotations

import json
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from reverie.agent.fork import is_fork
from reverie.context import session_notes, user_messages
from reverie.context.session_notes import LEARNINGS, STATE
from reverie.core.messages import Attachment, Block, Message, Text, ToolResult, ToolUse
from reverie.core.request import Request
from reverie.core.window import Capabilities
from reverie.errors import InputError
from reverie.learning.side_models import agents_on
from reverie.memory.format.attachment import LABEL as RECALL
from reverie.models import catalog
from reverie.models.offline import PromptCache, ScriptedModel
from reverie.session.prefetch import SessionRecall

if TYPE_CHECKING:
    from reverie.core.usage import Purpose
    from reverie.ports import Clock, Model
    from reverie.session.query import Session
    from reverie.workspace import Workspace

_FOLDER = Path(__file__).parent
# The argument that a tool is called with in the script: `{ Read = "README.md" }`.
_ARGUMENT = {"Bash": "command", "Edit": "path", "Glob": "pattern", "Grep": "pattern", "Read": "path"}  # fmt: skip
# Placeholder for the memory folder in arguments.
_MEMORY = "{memory}"
# Where the words of a fact can be in a request.
OWN_WORDS, RECALLED, ELSEWHERE = "your own words", "a recalled memory", "the rest of the request"
# How side tasks are recognised; a directive with none of these asks for a summary.
_LESSONS, _DREAM, _NOTES = "to the memory directory `", "You work in a copy of the memory", "<notes>"  # fmt: skip
# How many of the last scenes the notes call the current state.
_LATEST = 6


@dataclass(frozen=True, slots=True)
class Scene:
    """One turn of the script."""

    person: str
    replies: Sequence[dict[str, Any]] = ()
    done: str = ""
    fact: dict[str, str] = field(default_factory=dict)
    recalls: Sequence[str] = ()
    lessons: dict[str, str] = field(default_factory=dict)
    pause: float = 1.5
    leaves: bool = False
    compacts: str = ""


def read(*path: str) -> str:
    return _FOLDER.joinpath(*path).read_text("utf-8")


def lay_out(project: Path, memory: Path) -> None:
    """Write the project, whose files end in `.txt` in the package, and the memories of before."""
    for source in (_FOLDER / "ferry").rglob("*.txt"):
        target = project / source.relative_to(_FOLDER / "ferry").with_suffix("")
        target.parent.mkdir(parents=True, exist_ok=True)
        text = source.read_text("utf-8").replace("{python}", shlex.quote(sys.executable))
        target.write_text(text, encoding="utf-8")
        target.chmod(0o755 if text.startswith("#!") else 0o644)
    for source in (_FOLDER / "memories" / "before").iterdir():
        (memory / source.name).write_bytes(source.read_bytes())


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads(read("script", f"{name}.toml"))


def _scenes(name: str) -> tuple[Scene, ...]:
    return tuple(Scene(**turn | {"person": _line(turn["person"])}) for turn in _toml(name)["turn"])


def _line(text: str) -> str:
    """Prose is wrapped in the script, and sent as one line."""
    return " ".join(text.split())


def _call(raw: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A tool and its arguments; in the script the first key is the tool, or `Save` for a memory."""
    (tool, value), *rest = raw.items()
    match tool:
        case "Todo":
            states = zip(_PLAN, ["done"] * value + ["doing"] + ["open"] * len(_PLAN), strict=False)
            return tool, {"todos": [{"text": text, "status": state} for text, state in states]}
        case "Write":
            return tool, {"path": value, "content": read("written", f"{value}.txt")}
        case "Save":
            path = f"{_MEMORY}/{value}"
            return "Write", {"path": path, "content": read("memories", "saved", value)}
    return tool, {_ARGUMENT[tool]: value, **dict(rest)}


_PLAN: list[str] = _toml("morning")["plan"]
SCENES = (*_scenes("morning"), *_scenes("afternoon"))
QUESTIONS = _scenes("next_week")
VARIANTS: list[dict[str, Any]] = _toml("layers")["variant"]
LAYERS: list[dict[str, str]] = _toml("layers")["layer"]
# The day before: what was asked and answered, and what a dream makes of it.
CONVERSATIONS: list[dict[str, str]] = _toml("before")["conversation"]
DREAM: list[dict[str, str]] = _toml("before")["dream"]


@dataclass(slots=True)
class Actor:
    """Plays the model. `memory` is the memory folder.

    `found` says where the words of each fact were, `recalled` which memories have them.
    """

    memory: str
    found: dict[str, list[str]] = field(default_factory=dict)
    recalled: list[str] = field(default_factory=list)
    _played: list[Scene] = field(default_factory=list)
    _replies: Iterator[dict[str, Any]] = field(default_factory=lambda: iter(()))
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def enter(self, scene: Scene) -> None:
        self._played.append(scene)
        self._replies = iter(scene.replies)

    def speak(self, request: Request) -> Sequence[Block]:
        """Reply as the main model or as a fork of it."""
        if is_fork(request.messages):
            return self._side_task(request.messages)
        reply: dict[str, Any] = next(self._replies, {"says": ""})
        fact = self._played[-1].fact
        calls = [_call(raw) for raw in reply.get("calls", ())]
        answer = self._answer(fact, request) if fact and not calls else ""
        text = f"{answer} {_line(reply['says'])}".strip()
        return (Text(text), *(self._use(tool, **arguments) for tool, arguments in calls))

    def select(self, request: Request) -> Sequence[Block]:
        """Reply as the small model that selects memories and learns from turns."""
        if is_fork(request.messages):
            return self._side_task(request.messages)
        return (Text(json.dumps({"selected_memories": self._played[-1].recalls})),)

    def _answer(self, fact: dict[str, str], request: Request) -> str:
        name, words = fact["name"], fact["words"]
        texts = [(_place(m, b), getattr(b, "text", "")) for m in request.messages for b in m.blocks]
        texts += [(ELSEWHERE, block.text) for block in request.head.system]
        having = [(place, text) for place, text in texts if words in text]
        self.found[name] = [p for p in (OWN_WORDS, RECALLED, ELSEWHERE) if p in dict(having)]
        recalled = "\n## ".join(text for place, text in having if place == RECALLED).split("\n## ")
        self.recalled += [one.partition(" (")[0] for one in recalled if words in one]
        return _line(fact["answer" if having else "otherwise"])

    def _side_task(self, messages: Sequence[Message]) -> Sequence[Block]:
        begin = max(i for i, m in enumerate(messages) if m.origin == "reverie" and m.text)
        task, answers = messages[begin].text, messages[begin + 1 :]
        if _LESSONS in task:
            return self._learn(task, answers)
        if _DREAM in task:
            return self._dream(answers)
        if _NOTES in task:
            return (Text("The notes are up to date."),) if answers else tuple(self._note(task))
        *earlier, last = (scene.done for scene in self._played)
        summary = read("script", "summary.md").strip()
        return (Text(summary.format(earlier=_listed(earlier) or "- nothing yet", last=last)),)

    def _learn(self, task: str, answers: Sequence[Message]) -> Sequence[Block]:
        """Write the lessons of the scene; each cites the last message in its voice."""
        lessons = self._played[-1].lessons
        if answers or not lessons:
            return (Text("Written." if answers else "Nothing to keep."),)
        written = []
        for file, voice in lessons.items():
            [cited] = re.findall(rf"^(\d+)\. {voice}:", task, re.M)[-1:]
            head, _, text = read("memories", "learnt", file).rpartition("---\n")
            content = f"{head}source: [{cited}]\n---\n{text}"
            written.append(self._use("Write", path=f"{_MEMORY}/{file}", content=content))
        return written

    def _dream(self, answers: Sequence[Message]) -> Sequence[Block]:
        """Read the memories, edit those that exist, then give the account."""
        results = [message.tool_results for message in answers if message.tool_results]
        if not results:
            return [self._use("Read", path=f"{_MEMORY}/{one['file']}") for one in DREAM]
        there = [one for one, r in zip(DREAM, results[0], strict=True) if not r.is_error]
        if len(results) == 1:
            return [self._edit(f"{_MEMORY}/{one['file']}", one["old"], one["new"]) for one in there]
        account = "\n".join(f"{one['file']} | {one['why']} | {one['source']}" for one in there)
        return (Text(account),)

    def _note(self, task: str) -> Iterator[Block]:
        """One edit for each section of the notes that changes."""
        path = task.partition("in the file ")[2].partition(".\n")[0]
        notes = session_notes.parse(task.partition("<notes>\n")[2].partition("\n</notes>")[0])
        done = [scene.done for scene in self._played]
        texts = {STATE: _listed(done[-_LATEST:]), LEARNINGS: _listed(done[:-_LATEST])}
        for section, before in notes.sections if notes else ():
            after = texts.get(section.title, "")
            if after and before != after:
                old = f"{section.hint}\n\n{before}\n" if before else f"{section.hint}\n"
                yield self._edit(path, old, f"{section.hint}\n\n{after}\n")

    def _edit(self, path: str, old: str, new: str) -> ToolUse:
        return self._use("Edit", path=path, old_text=old, new_text=new)

    def _use(self, tool: str, **arguments: Any) -> ToolUse:
        given = json.dumps(arguments, ensure_ascii=False).replace(_MEMORY, self.memory)
        return ToolUse(f"call_{next(self._numbers)}", tool, given)


def _listed(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _place(message: Message, block: Block) -> str:
    if isinstance(block, Attachment):
        return {RECALL: RECALLED, user_messages.LABEL: OWN_WORDS}.get(block.label, ELSEWHERE)
    own = message.origin == "user" and message.role == "user" and not isinstance(block, ToolResult)
    return OWN_WORDS if own else ELSEWHERE


# A model's reply to a request.
Part: TypeAlias = Callable[["Request"], "Sequence[Block]"]


def rehearsed(part: Part, *, like: str, window: int, clock: Clock) -> Model:
    """Plays `part` with the prices and the cache rules of the model it is `like`."""
    row = catalog.find(like)
    if row is None:
        raise InputError(f"no model {like!r} in the catalog to be billed like")
    cache = row.capabilities.cache
    return ScriptedModel(
        otherwise=part,
        name=f"scripted-{like}",
        capabilities=Capabilities(window=window, max_output=window // 8, cache=cache),
        prices=row.prices,
        cache=PromptCache(cache, clock),
    )


def let_select(model: Model, session: Session, app: Workspace) -> None:
    """Have this model select the memories of a session, with its usage metered."""
    if isinstance(session.recall, SessionRecall):
        id_ = session.conversation.state.session
        session.recall.recall.selector = app.metered(
            model, session=id_, purpose="recall", announce=session.announce
        )


def let_learn(model: Model, session: Session, app: Workspace) -> None:
    """Have this model read what is new after a turn, where that is cheaper than a fork."""
    learning = session.learning
    if learning is None:
        return
    id_ = session.conversation.state.session

    def metered(purpose: Purpose) -> Model:
        return app.metered(model, session=id_, purpose=purpose, announce=session.announce)

    folder = app.project.sessions / id_ / "forks"
    learning.apart = agents_on(app, metered, id_, folder, session.announce)
    learning.apart_prices = model.prices
