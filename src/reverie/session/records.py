"""What a journal line can say. Unknown kinds are kept: a newer Reverie may have written them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeAlias, TypeVar

from reverie.core.codec import iso_time, message_from_json, message_to_json, parse_time
from reverie.core.messages import Message, Text
from reverie.core.request import (
    ClearThinking,
    ClearToolUses,
    ContextEdit,
    Head,
    Options,
    Summarize,
    ToolSpec,
)
from reverie.core.usage import Usage
from reverie.errors import TranscriptError

FORMAT = 1

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Opened:
    """The first line: which session this is, where and when it began."""

    session: str
    at: float
    project: str = ""
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class HeadFrozen:
    """The head as it was rendered; requests use these bytes until the next such record."""

    head: Head


@dataclass(frozen=True, slots=True)
class Said:
    message: Message


@dataclass(frozen=True, slots=True)
class Used:
    """What one response cost in tokens."""

    response: str
    purpose: str
    model: str
    usage: Usage
    at: float


@dataclass(frozen=True, slots=True)
class Replaced:
    """Layer 1 decided: this tool result is sent as `text`, for ever."""

    tool_use_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CacheEdited:
    """Layer 2 asked the provider to drop these results; the request repeats it in place."""

    tool_use_ids: tuple[str, ...]
    after_message: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """From here on the conversation is `start`, then the messages from `kept_from` on."""

    start: tuple[Message, ...]
    kept_from: str | None
    trigger: str
    tokens_before: int
    at: float


@dataclass(frozen=True, slots=True)
class Extracted:
    """Layer 5 has read everything up to this message."""

    up_to: str


@dataclass(frozen=True, slots=True)
class DateChanged:
    date: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A record this version does not know, kept word for word."""

    raw: Json


Record: TypeAlias = (
    Opened
    | HeadFrozen
    | Said
    | Used
    | Replaced
    | CacheEdited
    | Compacted
    | Extracted
    | DateChanged
    | Unknown
)


def render(record: Record) -> Json:
    """The record as a JSON object; `type` comes first, so that a person can scan a journal."""
    match record:
        case Unknown(raw):
            return raw
        case Said(message):
            return {"type": "message", **message_to_json(message)}
        case HeadFrozen(head):
            return {"type": "head", **_head_to_json(head)}
        case Compacted(start, kept_from, trigger, tokens_before, at):
            return {
                "type": "compacted",
                "at": iso_time(at),
                "trigger": trigger,
                "tokens_before": tokens_before,
                "kept_from": kept_from,
                "start": [message_to_json(message) for message in start],
            }
        case _:
            flat = asdict(record)
            if "at" in flat:
                flat["at"] = iso_time(flat["at"])
            return {"type": _NAMES[type(record)], **flat}


def parse(data: object) -> Record:
    """A record from a parsed line; raises TranscriptError with the reason."""
    if not isinstance(data, dict):
        raise TranscriptError("a journal line must be a JSON object")
    read = _PARSERS.get(data["type"]) if isinstance(data.get("type"), str) else None
    if read is None:
        return Unknown(data)
    try:
        return read(data)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TranscriptError(f"bad {data['type']!r} record: {error!r}") from error


def _head_to_json(head: Head) -> Json:
    options = {k: v for k, v in asdict(head.options).items() if v not in (None, ())}
    if head.options.edits:
        options["edits"] = [
            {"kind": type(edit).__name__, **asdict(edit)} for edit in head.options.edits
        ]
    return {
        "model": head.model,
        "system": [block.text for block in head.system],
        "tools": [asdict(tool) for tool in head.tools],
        "options": options,
    }


def _head_from_json(data: Json) -> Head:
    return Head(
        model=_text(data["model"]),
        system=tuple(Text(_text(text)) for text in data["system"]),
        tools=tuple(
            ToolSpec(_text(t["name"]), _text(t["description"]), _text(t["schema"]))
            for t in data["tools"]
        ),
        options=_options_from_json(data["options"]),
    )


def _options_from_json(data: Json) -> Options:
    known = {field.name for field in fields(Options)}
    found = {key: value for key, value in data.items() if key in known}
    found["stop"] = tuple(found.get("stop") or ())
    found["edits"] = tuple(_edit_from_json(edit) for edit in found.get("edits") or ())
    if found.get("summarize") is not None:
        found["summarize"] = Summarize(**found["summarize"])
    return Options(**found)


def _edit_from_json(data: Json) -> ContextEdit:
    rest = {key: value for key, value in data.items() if key != "kind"}
    if data["kind"] == "ClearThinking":
        return ClearThinking(**rest)
    return ClearToolUses(**{**rest, "exclude": tuple(rest.get("exclude") or ())})


def _compacted(data: Json) -> Compacted:
    return Compacted(
        start=tuple(message_from_json(message) for message in data["start"]),
        kept_from=data.get("kept_from"),
        trigger=_text(data["trigger"]),
        tokens_before=int(data["tokens_before"]),
        at=parse_time(data["at"]),
    )


def _used(data: Json) -> Used:
    counts = {name: int(data["usage"].get(name, 0)) for name in _USAGE_FIELDS}
    return Used(
        response=_text(data["response"]),
        purpose=_text(data["purpose"]),
        model=_text(data["model"]),
        usage=Usage(**counts),
        at=parse_time(data["at"]),
    )


_USAGE_FIELDS = tuple(field.name for field in fields(Usage))

_Flat = TypeVar("_Flat", Opened, Replaced, CacheEdited, Extracted, DateChanged)


def _flat(kind: type[_Flat]) -> Callable[[Json], _Flat]:
    """A reader for records whose fields are plain values of the same name."""
    names = [field.name for field in fields(kind)]

    def read(data: Json) -> _Flat:
        values = {name: _plain(name, data[name]) for name in names if name in data}
        return kind(**values)

    return read


def _plain(name: str, value: object) -> Any:
    if name == "at":
        return parse_time(_text(value))
    if isinstance(value, list):
        return tuple(_text(item) for item in value)
    if not isinstance(value, str | int):
        raise TypeError(f"{name} is {value!r}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, not {value!r}")
    return value


_NAMES: Mapping[type, str] = {
    Opened: "session",
    Used: "usage",
    Replaced: "replaced",
    CacheEdited: "cache_edited",
    Extracted: "extracted",
    DateChanged: "date",
}

_PARSERS: Mapping[str, Callable[[Json], Record]] = {
    "session": _flat(Opened),
    "head": lambda data: HeadFrozen(_head_from_json(data)),
    "message": lambda data: Said(message_from_json(data)),
    "usage": _used,
    "replaced": _flat(Replaced),
    "cache_edited": _flat(CacheEdited),
    "compacted": _compacted,
    "extracted": _flat(Extracted),
    "date": _flat(DateChanged),
}
