"""Facts from the early part of a session, and whether they are still in what is sent later.

Taken from what was recorded by rules that know nothing of any strategy: paths from the arguments of
tool calls, error lines from results, decisions from the assistant's sentences, requests from the
user's messages. A fact is kept when its words, white space and marks of quotation aside, stand in
the request. Apart from these: whether the text that an edit replaces was in sight when the agent
made the edit; if not, it would have had to read the file again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from reverie.core.messages import Attachment, Block, Message, Text, Thinking, ToolResult, ToolUse

if TYPE_CHECKING:
    from counterfactual import Outcome
    from trajectories import Trajectory

Kind: TypeAlias = Literal["paths", "errors", "decisions", "requests", "edits"]
KINDS: tuple[Kind, ...] = ("paths", "errors", "decisions", "requests")

# Facts are taken from this share of the calls, and asked for at these.
EARLY = 0.6
ASKED_AT = (0.7, 0.8, 0.9, 1.0)
MOST_A_KIND = 40

_PATH_ARGUMENTS = ("file_path", "notebook_path", "path", "filename")
# What these give back is somebody's text, in which errors are spoken of but do not happen.
_READING = frozenset(
    {"Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "read", "grep", "find"}
)
_REPLACED_TEXT = ("old_string", "oldText", "old_str")
_SHORTEST_EDIT = 10
_ERROR = re.compile(
    r"\b\w*(error|exception)\b\s*[:\[(]|^\W*(error|fatal|panic|fail(ed|ure)?)\b|\bnot found\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(I'll|I will|let's|instead|decided|the (issue|problem|fix|bug|cause|solution) (is|was)|"
    r"root cause|should (be|use|not)|because|the best (way|approach))\b",
    re.IGNORECASE,
)
_QUOTE = re.compile(r"^\s*(?:> ?)+", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
_NOT_A_REQUEST = ("<", "[Request interrupted")


@dataclass(frozen=True, slots=True)
class Fact:
    kind: Kind
    text: str


@dataclass(slots=True)
class Retention:
    """How many facts were asked for, were there, or could at least be read up."""

    asked: Counter[Kind] = field(default_factory=Counter)
    kept: Counter[Kind] = field(default_factory=Counter)
    reachable: Counter[Kind] = field(default_factory=Counter)

    def __iadd__(self, other: Retention) -> Retention:
        self.asked += other.asked
        self.kept += other.kept
        self.reachable += other.reachable
        return self

    def share(self, *kinds: Kind) -> float:
        """The share that was kept: of these kinds together, or of all of them."""
        chosen = kinds or KINDS
        asked = sum(self.asked[kind] for kind in chosen)
        return sum(self.kept[kind] for kind in chosen) / asked if asked else 1.0

    @property
    def within_reach(self) -> float:
        asked = sum(self.asked[kind] for kind in KINDS)
        found = sum(self.kept[kind] + self.reachable[kind] for kind in KINDS)
        return found / asked if asked else 1.0


class Probes:
    """The facts of one session, and when they are asked for."""

    def __init__(self, trajectory: Trajectory) -> None:
        calls = len(trajectory.calls)
        self.facts = _facts(_early(trajectory, int(calls * EARLY)))
        self._asked_at = frozenset(max(0, round(calls * share) - 1) for share in ASKED_AT)
        self._edits = _edits(trajectory)
        self._holds: dict[int, tuple[Message, frozenset[int]]] = {}
        self._texts: dict[int, tuple[Message, str]] = {}

    @property
    def checkpoints(self) -> frozenset[int]:
        """The calls at which it must be known what is sent."""
        return self._asked_at | self._edits.keys()

    def retention(self, outcome: Outcome) -> Retention:
        found = self._facts_kept(outcome)
        for call, texts in self._edits.items():
            sent = [self._text(message) for message in outcome.shown[call]]
            found.asked["edits"] += len(texts)
            found.kept["edits"] += sum(any(text in part for part in sent) for text in texts)
        return found

    def _facts_kept(self, outcome: Outcome) -> Retention:
        found = Retention()
        stored = {path: flat(text) for path, text in outcome.stored.items()}
        for call in self._asked_at:
            shown = outcome.shown[call]
            kept = frozenset[int]().union(*map(self._held, shown))
            near = self._within_reach(shown, stored) if len(kept) < len(self.facts) else frozenset()
            for i, fact in enumerate(self.facts):
                found.asked[fact.kind] += 1
                found.kept[fact.kind] += i in kept
                found.reachable[fact.kind] += i in near - kept
        return found

    def _held(self, message: Message) -> frozenset[int]:
        """Which facts a message holds; each message is looked through once."""
        known = self._holds.get(id(message))
        if known is None:
            text = self._text(message)
            holds = (i for i, fact in enumerate(self.facts) if fact.text in text)
            known = self._holds[id(message)] = (message, frozenset(holds))
        return known[1]

    def _text(self, message: Message) -> str:
        known = self._texts.get(id(message))
        if known is None:
            text = flat("\n".join(texts_of(message.blocks)))
            known = self._texts[id(message)] = (message, text)
        return known[1]

    def _within_reach(self, shown: Sequence[Message], stored: Mapping[str, str]) -> frozenset[int]:
        if not stored:
            return frozenset()
        sent = "\n".join(text for message in shown for text in texts_of(message.blocks))
        named = [text for path, text in stored.items() if path in sent]
        return frozenset(
            i for i, fact in enumerate(self.facts) if any(fact.text in text for text in named)
        )


def _edits(trajectory: Trajectory) -> dict[int, list[str]]:
    """By call, a line of each text that the agent replaced: the longest, as it tells most."""
    found: dict[int, list[str]] = {}
    call = -1
    for event in trajectory.events:
        if not isinstance(event, Message):
            call += 1
            continue
        for use in event.tool_uses:
            for line in replaced_lines(use):
                found.setdefault(call, []).append(line)
    return found


def replaced_lines(use: ToolUse) -> Iterator[str]:
    """The longest line of each text that an edit replaces."""
    replaced = (use.input.get(name) for name in _REPLACED_TEXT)
    for text in (text for text in replaced if isinstance(text, str)):
        line = max(map(flat, text.splitlines()), key=len, default="")
        if len(line) >= _SHORTEST_EDIT:
            yield line


def _early(trajectory: Trajectory, calls: int) -> Iterator[Message]:
    for event in trajectory.events:
        if isinstance(event, Message):
            yield event
        elif calls == 0:
            return
        else:
            calls -= 1


def _facts(messages: Iterator[Message]) -> tuple[Fact, ...]:
    """Each fact once, as many of each kind as there may be, spread over the early part."""
    names: dict[str, str] = {}
    found = list(dict.fromkeys(fact for message in messages for fact in _told(message, names)))
    chosen: list[Fact] = []
    for kind in KINDS:
        of_kind = [fact for fact in found if fact.kind == kind]
        step = max(1, -(-len(of_kind) // MOST_A_KIND))
        chosen += of_kind[::step]
    return tuple(chosen)


def _told(message: Message, names: dict[str, str]) -> Iterator[Fact]:
    """What a message tells; `names` are the tools that were called so far."""
    names |= {use.id: use.name for use in message.tool_uses}
    for block in message.blocks:
        match block:
            case ToolUse():
                paths = (block.input.get(name) for name in _PATH_ARGUMENTS)
                yield from (Fact("paths", flat(p)) for p in paths if isinstance(p, str) and p)
            case ToolResult(id_, _, failed):
                if failed or names.get(id_) not in _READING:
                    yield from _errors(block.text)
            case Text(text) if message.role == "assistant":
                yield from _decisions(text)
            case Text(text) if message.origin == "user":
                words = flat(text)
                if words and not words.startswith(_NOT_A_REQUEST):
                    yield Fact("requests", words[:400])
            case _:
                pass


def _errors(text: str) -> Iterator[Fact]:
    """Up to three lines of a result that speak of something that went wrong."""
    lines = (flat(line) for line in text.splitlines())
    telling = (line for line in lines if 15 <= len(line) <= 200 and _ERROR.search(line))
    for _, line in zip(range(3), telling, strict=False):
        yield Fact("errors", line)


def _decisions(text: str) -> Iterator[Fact]:
    for sentence in _SENTENCE.split(text):
        words = flat(sentence)
        if 30 <= len(words) <= 300 and _DECISION.search(words):
            yield Fact("decisions", words)


def texts_of(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        match block:
            case Text(text) | Attachment(_, text) | Thinking(text):
                yield text
            case ToolResult():
                yield block.text
            case ToolUse():
                yield from strings(block.input)
            case _:
                pass


def strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from strings(item)
        case list():
            for item in value:
                yield from strings(item)


def flat(text: str) -> str:
    """Words alone: white space and marks of quotation do not count."""
    return " ".join(_QUOTE.sub("", text).split())
