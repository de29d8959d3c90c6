"""What others do to keep a conversation inside its window, each as it is or as it is documented."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from counterfactual import Prompt, SideCall, Strategy
from trajectories import Trajectory

from reverie.context.microcompaction import context_edits
from reverie.conversation.records import Compacted, Record, Said, Used
from reverie.conversation.state import SessionState
from reverie.core.messages import Message, Text, ToolResult, ToolUse, new_message
from reverie.core.request import ClearToolUses
from reverie.core.transcript import rounds
from reverie.core.usage import Usage
from reverie.core.window import Capabilities, Ttl, substituted

Make: TypeAlias = Callable[[Trajectory], Strategy]

# No model is asked here. What one would have written is this long (the median of the summaries in
# the recorded sessions) and holds none of the facts that are asked for, whoever has it written.
SUMMARY_TOKENS = 3_000
STAND_IN = "A summary. " * (SUMMARY_TOKENS * 4 // 11)

# About what a client's own prompt for a summary has.
SUMMARY_PROMPT_TOKENS = 400

CLEARED = "[Old tool result content cleared]"


class FullHistory:
    """Everything is sent, whether or not it fits."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.messages: list[Message] = []
        self.fired: Counter[str] = Counter()
        self.stored: dict[str, str] = {}

    def feed(self, message: Message) -> None:
        self.messages.append(message)

    def request(self, call: Used) -> Prompt:
        return Prompt(tuple(self.messages))

    def answered(self, call: Used, usage: Usage, ttl: Ttl) -> None:
        """Whatever it used, the next request is the same and more."""

    def ended(self) -> tuple[SideCall, ...]:
        return ()

    def close(self) -> None:
        """Nothing was opened."""


class Truncation(FullHistory):
    """The oldest rounds go as soon as the rest would not fit, as many as must."""

    def __init__(self, trajectory: Trajectory) -> None:
        super().__init__(trajectory)
        self._gone = 0

    def request(self, call: Used) -> Prompt:
        kept = self.messages[self._gone :]
        size = self.trajectory.size(kept)
        limit = self.trajectory.window.compaction
        if size > limit:
            self.fired["truncation"] += 1
            for group in rounds(kept)[:-1]:
                if size <= limit:
                    break
                size -= self.trajectory.size(group) - self.trajectory.head
                self._gone += len(group)
        return Prompt(tuple(self.messages[self._gone :]))


# What a provider's `clear_tool_uses` does when it is not told otherwise.
DEFAULTS = ClearToolUses(trigger_tokens=100_000, clear_at_least=0, keep=3)


class ProviderClearing(FullHistory):
    """The provider clears old results from its view of each request; the history stays whole."""

    def __init__(self, trajectory: Trajectory, edit: ClearToolUses) -> None:
        super().__init__(trajectory)
        self._edit = edit
        self._cleared: dict[str, Message] = {}

    def request(self, call: Used) -> Prompt:
        whole = tuple(self.messages)
        size = self.trajectory.size(whole)
        if size <= self._edit.trigger_tokens:
            return Prompt(whole)
        ids = [result.tool_use_id for message in whole for result in message.tool_results]
        gone = frozenset(ids[: max(0, len(ids) - self._edit.keep)])
        view = tuple(self._view(message, gone) for message in whole)
        if not gone or size - self.trajectory.size(view) < self._edit.clear_at_least:
            return Prompt(whole)
        self.fired["clearing"] += 1
        return Prompt(view)

    def _view(self, message: Message, gone: frozenset[str]) -> Message:
        """A message keeps its identity once all of its results are cleared."""
        ids = {result.tool_use_id for result in message.tool_results}
        if not ids & gone:
            return message
        view = self._cleared.get(message.id)
        if view is None or not ids <= gone:
            view = substituted(message, dict.fromkeys(ids & gone, CLEARED))
            if ids <= gone:
                self._cleared[message.id] = view
        return view


class AsRecorded:
    """What the real client sent, as far as its transcript tells: its own compactions included."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._trajectory = trajectory
        self._records = list(trajectory.records)
        self._state = SessionState()
        self._next = 0
        self.fired: Counter[str] = Counter()
        self.stored: dict[str, str] = {}

    def feed(self, message: Message) -> None:
        """The records tell the same."""

    def request(self, call: Used) -> Prompt:
        self._summaries: list[SideCall] = []
        for record in self._records[self._next :]:
            if isinstance(record, Said) and record.message.response == call.response:
                break
            self._apply(record)
        return Prompt(tuple(self._state.shown), side=tuple(self._summaries))

    def answered(self, call: Used, usage: Usage, ttl: Ttl) -> None:
        """What was billed is in the records."""

    def ended(self) -> tuple[SideCall, ...]:
        return ()

    def close(self) -> None:
        """Nothing was opened."""

    def _apply(self, record: Record) -> None:
        self._next += 1
        if isinstance(record, Compacted):
            self.fired["compaction"] += 1
            self._summaries.append(self._summary(record))
        self._state.apply(record)

    def _summary(self, record: Compacted) -> SideCall:
        """The call that wrote the client's summary: on its prefix, as long as the summary is."""
        asked = new_message("user", Text("Summarise. " * SUMMARY_PROMPT_TOKENS), origin="reverie")
        written = sum(sum(self._trajectory.sizes(message)) for message in record.start)
        return SideCall((*self._state.shown, asked), written, on_prefix=True)


def baselines() -> dict[str, Make]:
    """Every strategy but ours, by the name it has in the tables."""
    found: dict[str, Make] = {
        "full history": FullHistory,
        "truncation": Truncation,
        "provider clears (its defaults)": lambda t: ProviderClearing(t, DEFAULTS),
        "provider clears (as layer 2 asks it to)": lambda t: ProviderClearing(t, _asked_for(t)),
    }
    return found | langchain()


def _asked_for(trajectory: Trajectory) -> ClearToolUses:
    asked = context_edits(Capabilities(context_management=True), trajectory.window, None)
    return next(edit for edit in asked if isinstance(edit, ClearToolUses))


# ── LangChain ────────────────────────────────────────────────────────────────

LANGCHAIN = {
    "LangChain summarization": ("summarize",),
    "LangChain context editing": ("edit",),
    "LangChain both": ("summarize", "edit"),
}


def langchain() -> dict[str, Make]:
    """The real middleware, run by an interpreter that has it; without one it is said not to run."""
    python = Path(os.environ.get("REVERIE_PEERS") or "/nonexistent") / "bin" / "python"
    script = Path(__file__).parent / "peers" / "langchain_context_peer.py"
    started = python.exists() and subprocess.run(
        [python, script, "--check"], capture_output=True, check=False
    )
    if not started or started.returncode:
        print("not run: LangChain (set REVERIE_PEERS to an environment that has it)")
        return {}
    return {name: _langchain(python, script, parts) for name, parts in LANGCHAIN.items()}


def _langchain(python: Path, script: Path, parts: Sequence[str]) -> Make:
    process: list[subprocess.Popen[str]] = []

    def make(trajectory: Trajectory) -> Strategy:
        if not process:
            command = [str(python), str(script), *parts]
            pipe = subprocess.PIPE
            process.append(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True))
        return LangChain(trajectory, process[0])

    return make


class LangChain(FullHistory):
    """What the middleware would send at each call, worked out for the whole session at once."""

    def __init__(self, trajectory: Trajectory, process: subprocess.Popen[str]) -> None:
        super().__init__(trajectory)
        said = [event for event in trajectory.events if isinstance(event, Message)]
        self._view = list(_as_langchain_sees(said))
        self._edited: dict[tuple[int, str], Message] = {}
        self._answers = self._ask(process)
        # Calls that were made again, by the message they followed.
        self._again: dict[str, list[Message]] = {}
        self._now: tuple[str, Prompt] | None = None

    def feed(self, message: Message) -> None:
        """The session is known; only calls that were made again are news."""
        again = any(result.tool_use_id.startswith("again_") for result in message.tool_results)
        if self._now and (again or (message.response or "").endswith(" again")):
            last = self._now[1].messages[-1]
            self._again.setdefault(last.id, []).append(message)

    def request(self, call: Used) -> Prompt:
        if self._now is None or self._now[0] != call.response:
            self._now = (call.response, self._next(call))
            side = self._now[1].side
        else:
            side = ()
        shown = [
            one
            for message in self._now[1].messages
            for one in (message, *self._again.get(message.id, ()))
        ]
        return Prompt(tuple(shown), side=side)

    def _next(self, call: Used) -> Prompt:
        answer = next(self._answers)
        side: tuple[SideCall, ...] = ()
        self.fired["summary"] += answer["compacted"]
        if answer["summarized"]:
            told = new_message("user", Text("x" * answer["summarized"]))
            side = (SideCall((told,), SUMMARY_TOKENS),)
        cleared = (item for item in answer["shown"] if not isinstance(item, int) and item[0] >= 0)
        self.fired["clearing"] += any(cleared)
        return Prompt(tuple(self._message(item) for item in answer["shown"]), side=side)

    def _message(self, item: int | list[Any]) -> Message:
        """A message by its place, or one with another text; a summary is at no place."""
        if isinstance(item, int):
            return self._view[item]
        place, text = item
        if (place, text) not in self._edited:
            self._edited[place, text] = self._otherwise(place, text)
        return self._edited[place, text]

    def _otherwise(self, place: int, text: str) -> Message:
        if place < 0:
            return new_message("user", Text(text), origin="reverie")
        ids = [result.tool_use_id for result in self._view[place].tool_results]
        return substituted(self._view[place], dict.fromkeys(ids, text))

    def _ask(self, process: subprocess.Popen[str]) -> Iterator[dict[str, Any]]:
        if process.stdin is None or process.stdout is None:
            raise SystemExit("the LangChain process has no pipes")
        sizes = [sum(self.trajectory.sizes(message)) for message in self._view]
        calls = list(self._known_at_each_call())
        given = {
            "head": self.trajectory.head,
            "window": self.trajectory.window.tokens,
            "summary": STAND_IN,
            "messages": list(map(_to_json, self._view, sizes)),
            "calls": calls,
        }
        process.stdin.write(json.dumps(given) + "\n")
        process.stdin.flush()
        return iter([json.loads(process.stdout.readline()) for _ in calls])

    def _known_at_each_call(self) -> Iterator[int]:
        """How many messages of the view there are at each call."""
        place = {message.id: i for i, message in enumerate(self._view, 1)}
        known = 0
        for event in self.trajectory.events:
            if isinstance(event, Message):
                known = max(known, place.get(event.id, 0))
            else:
                yield known


def _as_langchain_sees(messages: Sequence[Message]) -> Iterator[Message]:
    """One message a response, then one a result: pieces of a response are put together."""
    for response, group in groupby(_by_response(messages), key=lambda pair: pair[0]):
        pieces = [message for _, message in group]
        if response is None:
            for message in pieces:
                yield from _parted(message)
            continue
        spoken = [message for message in pieces if message.role == "assistant"]
        blocks = tuple(block for message in spoken for block in message.blocks)
        yield replace(spoken[0], blocks=blocks)
        for message in pieces:
            if message.role != "assistant":
                yield from _parted(message)


def _by_response(messages: Sequence[Message]) -> Iterator[tuple[str | None, Message]]:
    """Each message with the response it belongs to; results between pieces belong to theirs."""
    last = {m.response: i for i, m in enumerate(messages) if m.response is not None}
    current: str | None = None
    for i, message in enumerate(messages):
        if message.response is not None:
            current = message.response
        elif current is not None and i > last[current]:
            current = None
        yield current, message


def _parted(message: Message) -> Iterator[Message]:
    results = message.tool_results
    if len(message.blocks) == len(results) == 1 or not results:
        yield message
        return
    for i, result in enumerate(results):
        yield replace(message, id=f"{message.id} {i}", blocks=(result,))
    rest = tuple(block for block in message.blocks if not isinstance(block, ToolResult))
    if rest:
        yield replace(message, blocks=rest, origin="user")


def _to_json(message: Message, tokens: int) -> Mapping[str, object]:
    calls = [
        {"id": block.id, "name": block.name, "args": block.input}
        for block in message.blocks
        if isinstance(block, ToolUse)
    ]
    result = message.tool_results[0] if message.tool_results else None
    return {
        "role": "tool" if result else "ai" if message.role == "assistant" else "human",
        "text": result.text if result else message.text,
        "call": result.tool_use_id if result else None,
        "calls": calls,
        "tokens": tokens,
    }
