"""Recorded agent sessions of four kinds, as the messages and model calls they were made of.

Each is read into records first, so that one replay sizes them all: every message is scaled to what
the provider counted where it reported, and to the session's usual scale where it did not.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from reverie.conversation import transcripts
from reverie.conversation.cache_report import Replay, replay
from reverie.conversation.records import Compacted, HeadFrozen, Opened, Record, Said, Used
from reverie.core.messages import Block, Message, Text, ToolResult, ToolUse, new_message, parse_time
from reverie.core.request import Head, head_segments
from reverie.core.usage import Usage
from reverie.core.window import DEFAULT_WINDOW, Window, block_tokens
from reverie.models.catalog import Row, find

Json = dict[str, Any]

# A call of the main model stands before the messages of its response.
Event: TypeAlias = Message | Used

# Trajectories of models that have no price here are priced as these, and those without times run
# at a steady pace.
STAND_INS = {"gpt-5-mini-2025-08-07": "gpt-5.4-mini", "": "claude-sonnet-4-5"}
SECONDS_BETWEEN_CALLS = 20.0

# A scale beyond these is an accident of the transcript: a rewound turn, something not recorded.
_LEAST_SCALE, _MOST_SCALE = 0.25, 4.0
_HOME = re.compile(r"/(?:Users|home)/[^/\\\"]+/")


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One session. `head` is the size of system prompt and tools, of which the provider had `warm`
    tokens in its cache when the session began."""

    name: str
    source: str
    model: str
    events: tuple[Event, ...]
    head: int
    warm: int
    usual: float
    scales: dict[str, float]
    records: tuple[Record, ...]
    recorded: Replay
    window: Window = field(default_factory=lambda: Window(DEFAULT_WINDOW, "as recorded"))

    @property
    def calls(self) -> list[Used]:
        return [event for event in self.events if isinstance(event, Used)]

    @property
    def person(self) -> str:
        """Whose session it is, by the home folder in its calls."""
        said = (event for event in self.events if isinstance(event, Message))
        found = (_HOME.search(use.arguments) for message in said for use in message.tool_uses)
        return next((home[0] for home in found if home), self.source)

    def sizes(self, message: Message) -> list[int]:
        """Tokens of each block, as the provider would count them."""
        scale = self.scale(message)
        return [round(block_tokens(block) * scale) for block in message.blocks]

    def scale(self, message: Message) -> float:
        """The provider's tokens for one token of our estimate."""
        return self.scales.get(message.id, self.usual)

    @property
    def spoken(self) -> dict[str, int]:
        """Tokens of each response, as the prompts after it tell; transcripts hold unfinished counts."""
        tokens: Counter[str] = Counter({call.response: 0 for call in self.calls})
        for event in self.events:
            if isinstance(event, Message) and event.response is not None:
                tokens[event.response] += sum(self.sizes(event))
        said = {call.response: call.usage.output for call in self.calls}
        return {response: max(count, said.get(response, 0)) for response, count in tokens.items()}

    def size(self, messages: Sequence[Message]) -> int:
        return self.head + sum(sum(self.sizes(message)) for message in messages)


def row_of(model: str) -> Row:
    row = find(STAND_INS.get(model, model))
    if row is None or row.prices is None:
        raise SystemExit(f"no price is known for {model!r}; add it to STAND_INS")
    return row


def load_all(folder: Path, source: str, limit: int | None = None) -> list[Trajectory]:
    """The sessions of one source in the order of their names; those without a call are left out."""
    read = SOURCES[source]
    paths = sorted(path for path in (folder / source).iterdir() if path.suffix == ".gz")
    found = (_trajectory(path.name.partition(".")[0], source, read(path)) for path in paths[:limit])
    return [trajectory for trajectory in found if trajectory.calls]


def _trajectory(name: str, source: str, records: Sequence[Record]) -> Trajectory:
    recorded = replay(records)
    plausible = [s for s in recorded.scales.values() if _LEAST_SCALE <= s <= _MOST_SCALE]
    usual = statistics.median(plausible) if plausible else 1.0
    scales = {
        id_: scale if _LEAST_SCALE <= scale <= _MOST_SCALE else usual
        for id_, scale in recorded.scales.items()
    }
    events = list(_events(records))
    # The head was sized by what the first prompt leaves over beside these.
    for event in events:
        if isinstance(event, Used):
            break
        scales[event.id] = 1.0
    head = recorded.heads[0] if recorded.heads else _head_size(records)
    hidden = head - min(recorded.heads, default=head)
    if hidden:
        earlier = new_message("user", Text("Not recorded. " * (hidden * 4 // 14)), origin="import")
        scales[earlier.id] = 1.0
        events.insert(0, earlier)
    first = recorded.reported[0].usage if recorded.reported else Usage()
    return Trajectory(
        name=name,
        source=source,
        model=recorded.model,
        events=tuple(events),
        head=head - hidden,
        warm=min(first.cache_read, head - hidden),
        usual=usual,
        scales=scales,
        records=tuple(records),
        recorded=recorded,
    )


def _events(records: Sequence[Record]) -> Iterator[Event]:
    """What was said, without the client's own summaries; each call before its response."""
    calls = {r.response: r for r in records if isinstance(r, Used) and r.purpose == "main"}
    for record in records:
        if isinstance(record, Said):
            if record.message.response in calls:
                yield calls.pop(record.message.response)
            if record.message.origin != "reverie":
                yield record.message


def _head_size(records: Sequence[Record]) -> int:
    heads = [record.head for record in records if isinstance(record, HeadFrozen)]
    return sum(segment.tokens for head in heads[:1] for segment in head_segments(head))


# ── Claude Code ──────────────────────────────────────────────────────────────


def _claude_code(path: Path) -> Sequence[Record]:
    return transcripts.load(path).records


# ── pi ───────────────────────────────────────────────────────────────────────


def _pi(path: Path) -> Sequence[Record]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        entries: list[Json] = [json.loads(line) for line in lines]
    records: list[Record] = [Opened(path.name, parse_time(entries[0]["timestamp"]))]
    ids: dict[int, str] = {}
    for index, entry in enumerate(entries):
        at = parse_time(entry["timestamp"])
        if entry["type"] == "compaction":
            summary = new_message("user", Text(entry["summary"]), at=at, origin="reverie")
            kept = next((ids[i] for i in sorted(ids) if i >= entry["firstKeptEntryIndex"]), None)
            records.append(Compacted((summary,), kept, "auto", entry["tokensBefore"], at))
        elif entry["type"] == "message":
            said = _pi_message(entry["message"], f"{path.name} {index}", at)
            records += said
            if said and isinstance(said[0], Said):
                ids[index] = said[0].message.id
    return records


def _pi_message(raw: Json, response: str, at: float) -> list[Record]:
    match raw["role"]:
        case "assistant":
            blocks = tuple(_pi_block(block) for block in raw["content"])
            usage = raw["usage"]
            counted = Usage(
                usage["input"], usage["cacheRead"], usage["cacheWrite"], 0, usage["output"]
            )
            if not blocks or not counted.prompt:
                return []
            used = Used(response, "main", raw["model"], counted, at)
            return [Said(new_message("assistant", *blocks, at=at, response=response)), used]
        case "toolResult":
            content = tuple(_pi_text(part) for part in raw["content"])
            result = ToolResult(raw["toolCallId"], content, bool(raw.get("isError")))
            return [Said(new_message("user", result, at=at, origin="tool"))]
        case "bashExecution":
            text = Text(f"$ {raw['command']}\n{raw['output']}")
            return [Said(new_message("user", text, at=at, origin="hook"))]
        case _:
            parts = raw["content"]
            texts = [Text(parts)] if isinstance(parts, str) else [_pi_text(part) for part in parts]
            return [Said(new_message("user", *texts, at=at))] if texts else []


def _pi_block(raw: Json) -> Block:
    if raw["type"] == "toolCall":
        return ToolUse(raw["id"], raw["name"], json.dumps(raw["arguments"], ensure_ascii=False))
    return _pi_text(raw)


def _pi_text(raw: Json) -> Text:
    return Text(raw.get("text") or raw.get("thinking") or f"[{raw['type']}]")


# ── mini-SWE-agent and SWE-agent ─────────────────────────────────────────────


def _swe(path: Path) -> Sequence[Record]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        data: Json = json.load(file)
    history: list[Json] = data.get("messages") or data["history"]
    system = [Text(_plain(raw["content"])) for raw in history if raw["role"] == "system"]
    at = 0.0
    records: list[Record] = [Opened(path.name, at)]
    if not any(_response(raw) for raw in history):
        records.append(HeadFrozen(Head("", tuple(system))))
    for index, raw in enumerate(history):
        if raw["role"] == "assistant":
            at = float(_response(raw).get("created") or at + SECONDS_BETWEEN_CALLS)
            records += _swe_reply(raw, f"{path.name} {index}", at)
        elif raw["role"] != "system":
            records.append(Said(_swe_message(raw, index, at)))
    return records


def _swe_reply(raw: Json, response: str, at: float) -> Iterator[Record]:
    words = _plain(raw["content"])
    calls = raw.get("tool_calls") or []
    uses = [ToolUse(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls]
    blocks: list[Block] = [Text(words)] if words or not uses else []
    yield Said(new_message("assistant", *blocks, *uses, at=at, response=response))
    counted = _response(raw).get("usage") or {}
    cached = int((counted.get("prompt_tokens_details") or {}).get("cached_tokens") or 0)
    usage = Usage(
        input=int(counted.get("prompt_tokens") or 0) - cached,
        cache_read=cached,
        output=int(counted.get("completion_tokens") or 0),
    )
    yield Used(response, "main", str(_response(raw).get("model") or ""), usage, at)


def _swe_message(raw: Json, index: int, at: float) -> Message:
    text = _plain(raw["content"])
    id_ = raw.get("tool_call_id") or (raw.get("tool_call_ids") or [None])[0]
    if id_:
        return new_message("user", ToolResult(id_, (Text(text),)), at=at, origin="tool")
    # Without tool calls what a command printed comes as a user's message; only the task is theirs.
    theirs = index <= 2 and not raw.get("is_demo")
    return new_message("user", Text(text), at=at, origin="user" if theirs else "tool")


def _response(raw: Json) -> Json:
    found = (raw.get("extra") or {}).get("response") or {}
    return found if isinstance(found, dict) else {}


def _plain(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text") or "") for part in content if isinstance(part, dict))
    return str(content or "")


SOURCES: dict[str, Callable[[Path], Sequence[Record]]] = {
    "claude_sessions": _claude_code,
    "pi_sessions": _pi,
    "mini_swe_traj": _swe,
    "sweagent_traj": _swe,
}
