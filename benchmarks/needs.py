"""What a response takes from earlier tool results, and which of them it would have to get again.

The recorded agent acted on what it saw. Where a strategy no longer sends a result that a response
draws on, the agent would have had to run the call again. A response draws on a result when it edits
text that stands only there, or when it names at least two identifiers that stand only there. The
same rule holds for every strategy.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from probes import flat, replaced_lines, strings, texts_of

from reverie.core.messages import Message, Text, ToolResult, ToolUse, new_message, shared_length

if TYPE_CHECKING:
    from trajectories import Trajectory

# A call that is made again: its arguments and a word of why.
CALL_TOKENS = 120
LEAST_NAMES = 2

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")
# Names of code, not words of a language: an underscore, a digit or a capital inside.
_NAME = re.compile(r"[a-zA-Z]_[a-zA-Z]|[a-z][A-Z]|[A-Za-z]\d|[A-Z]{2,}[a-z]")


@dataclass(frozen=True, slots=True)
class Source:
    """A result of the session, and the call that got it."""

    use: ToolUse
    result: ToolResult
    message: Message
    names: frozenset[str]
    text: str
    key: tuple[str, str]
    length: int


@dataclass(frozen=True, slots=True)
class Again:
    """A call made once more, with its result: what the agent says, and what comes back."""

    asked: Message
    answer: Message


class Needs:
    """The needs of one session under one strategy."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._responses, self._sources = _told(trajectory)
        self._sight = _Sight()
        self._made = 0

    def missing(self, call: int, shown: Sequence[Message]) -> tuple[Source, ...]:
        """The results that the response to this call draws on and that are not in sight."""
        self._sight.look(shown)
        spoken = self._responses[call]
        hidden = [
            source
            for source in reversed(self._sources[: spoken.sources])
            if not self._sight.shows(source) and source.key not in spoken.calls
        ]
        found = list(self._for_edits(spoken, hidden))
        names = spoken.names - self._sight.names.keys()
        for source in found:
            names -= source.names
        while len(names) >= LEAST_NAMES:
            best = max(hidden, key=lambda source: len(names & source.names), default=None)
            if best is None or len(names & best.names) < LEAST_NAMES:
                break
            found.append(best)
            names -= best.names
        return tuple(found)

    def again(self, sources: Sequence[Source], after: Message, response: str) -> Again:
        """The same calls once more, in the sizes that the provider counted for them."""
        uses, results = [], []
        for source in sources:
            self._made += 1
            id_ = f"again_{self._made}_{source.use.id}"
            uses.append(replace(source.use, id=id_))
            results.append(replace(source.result, tool_use_id=id_))
        asked = new_message("assistant", *uses, after=after, at=after.at, response=response)
        answer = new_message("user", *results, after=asked, at=after.at, origin="tool")
        scales = [self._trajectory.scale(source.message) for source in sources]
        self._trajectory.scales[answer.id] = sum(scales) / len(scales)
        return Again(asked, answer)

    def _for_edits(self, spoken: _Spoken, hidden: Sequence[Source]) -> Iterator[Source]:
        found: list[Source] = []
        for line in spoken.edited:
            if self._sight.holds(line) or any(line in source.text for source in found):
                continue
            source = next((source for source in hidden if line in source.text), None)
            if source is not None:
                found.append(source)
                yield source


@dataclass(frozen=True, slots=True)
class _Spoken:
    """What a response names, edits and calls, and how many results there were before it."""

    names: frozenset[str]
    edited: tuple[str, ...]
    calls: frozenset[tuple[str, str]]
    sources: int


class _Sight:
    """What is in sight: names with how often they occur, and whole texts by message."""

    def __init__(self) -> None:
        self.names: Counter[str] = Counter()
        self._shown: list[Message] = []
        self._known: dict[int, tuple[Message, frozenset[str], str]] = {}
        self._results: dict[str, int] = {}

    def look(self, shown: Sequence[Message]) -> None:
        kept = shared_length(self._shown, shown)
        for message in self._shown[kept:]:
            for name in self._read(message)[1]:
                self.names[name] -= 1
                if not self.names[name]:
                    del self.names[name]
            for result in message.tool_results:
                self._results.pop(result.tool_use_id, None)
        for message in shown[kept:]:
            self.names.update(self._read(message)[1])
            for result in message.tool_results:
                self._results[result.tool_use_id] = len(result.text)
        self._shown = list(shown)

    def shows(self, source: Source) -> bool:
        return self._results.get(source.result.tool_use_id) == source.length

    def holds(self, line: str) -> bool:
        return any(line in self._read(message)[2] for message in reversed(self._shown))

    def _read(self, message: Message) -> tuple[Message, frozenset[str], str]:
        known = self._known.get(id(message))
        if known is None:
            text = "\n".join(texts_of(message.blocks))
            known = self._known[id(message)] = (message, names_in(text), flat(text))
        return known


def names_in(text: str) -> frozenset[str]:
    return frozenset(word for word in set(_WORD.findall(text)) if _NAME.search(word))


_last: list[tuple[Trajectory, list[_Spoken], list[Source]]] = []


def _told(trajectory: Trajectory) -> tuple[list[_Spoken], list[Source]]:
    """What a session says is the same for every strategy; the last session's is kept."""
    if not _last or _last[0][0] is not trajectory:
        _last[:] = [(trajectory, _responses(trajectory), _sources(trajectory))]
    return _last[0][1:]


def _responses(trajectory: Trajectory) -> list[_Spoken]:
    """One for each call: everything said until the next call."""
    found: list[_Spoken] = []
    seen = 0
    parts: list[Message] = []
    for event in trajectory.events:
        if isinstance(event, Message):
            if found and event.role == "assistant":
                parts.append(event)
                found[-1] = _spoken(parts, found[-1].sources)
            seen += len(event.tool_results)
            continue
        parts = []
        found.append(_Spoken(frozenset(), (), frozenset(), seen))
    return found


def _spoken(messages: Sequence[Message], sources: int) -> _Spoken:
    uses = [use for message in messages for use in message.tool_uses]
    words = [block.text for m in messages for block in m.blocks if isinstance(block, Text)]
    given = [text for use in uses for text in strings(use.input)]
    edited = tuple(line for use in uses for line in replaced_lines(use))
    names = names_in("\n".join((*words, *given)))
    return _Spoken(names, edited, frozenset(map(_key, uses)), sources)


def _sources(trajectory: Trajectory) -> list[Source]:
    uses: dict[str, ToolUse] = {}
    found: list[Source] = []
    for event in trajectory.events:
        if not isinstance(event, Message):
            continue
        uses |= {use.id: use for use in event.tool_uses}
        for result in event.tool_results:
            use = uses.get(result.tool_use_id) or ToolUse(result.tool_use_id, "unknown")
            text = result.text
            names, plain = names_in(text), flat(text)
            found.append(Source(use, result, event, names, plain, _key(use), len(text)))
    return found


def _key(use: ToolUse) -> tuple[str, str]:
    """Two calls are the same that read the same file or run the same command."""
    given = use.input
    target = given.get("file_path") or given.get("path") or given.get("command")
    return use.name, str(target or use.arguments)
