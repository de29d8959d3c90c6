"""Converts records to JSON objects and back: the lines of a journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any

from reverie.conversation.records import (
    AgentHired,
    AgentLeft,
    Branched,
    CacheEdited,
    Compacted,
    CompactionFailed,
    DateChanged,
    Extracted,
    Folded,
    HeadFrozen,
    Json,
    MemoriesShown,
    NotesTaken,
    Opened,
    Record,
    Redacted,
    Replaced,
    Rewound,
    Said,
    TodosSet,
    ToolResultsCleared,
    Unfolded,
    Unknown,
    Used,
)
from reverie.core.messages import Text, iso_time, message_from_json, message_to_json, parse_time
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


def render(record: Record) -> Json:
    """The record as a JSON object; `type` comes first, so that a person can scan a journal."""
    match record:
        case Unknown(raw):
            return raw
        case Said(message):
            return {"type": "message", **message_to_json(message)}
        case HeadFrozen(head):
            return {"type": "head", **_head_to_json(head)}
        case Compacted():
            return {
                "type": "compacted",
                "at": iso_time(record.at),
                "trigger": record.trigger,
                "how": record.how,
                "tokens_before": record.tokens_before,
                "last": record.last,
                "kept_up_to": record.kept_up_to,
                "kept_from": record.kept_from,
                "start": [message_to_json(message) for message in record.start],
            }
        case Folded(first, last, marker, kind):
            return {
                "type": "folded",
                "kind": kind,
                "first": first,
                "last": last,
                "marker": message_to_json(marker),
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
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise TranscriptError(f"bad {data['type']!r} record: {error!r:.200}") from error
    except RecursionError as error:
        raise TranscriptError(f"bad {data['type']!r} record: nested too deeply") from error


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
        **({"reminder_key": head.reminder_key} if head.reminder_key else {}),
    }


def _head_from_json(data: Json) -> Head:
    return Head(
        model=_text(data["model"]),
        system=tuple(Text(text) for text in _texts(data["system"])),
        tools=tuple(
            ToolSpec(_text(t["name"]), _text(t["description"]), _text(t["schema"]))
            for t in data["tools"]
        ),
        options=_options_from_json(data["options"]),
        reminder_key=_text(data.get("reminder_key", "")),
    )


def _options_from_json(data: Json) -> Options:
    summarize = data.get("summarize")
    temperature = data.get("temperature")
    return Options(
        max_tokens=_count(data.get("max_tokens", Options().max_tokens)),
        thinking=_optional_text(data.get("thinking")),
        effort=_optional_text(data.get("effort")),
        tool_choice=_optional_text(data.get("tool_choice")),
        output_schema=_optional_text(data.get("output_schema")),
        stop=_texts(data.get("stop", [])),
        temperature=None if temperature is None else float(temperature),
        edits=tuple(_edit_from_json(edit) for edit in data.get("edits", [])),
        summarize=None if summarize is None else Summarize(_text(summarize["instructions"])),
    )


def _edit_from_json(data: Json) -> ContextEdit:
    if data["kind"] == "ClearThinking":
        keep = data["keep_turns"]
        return ClearThinking(None if keep is None else _count(keep))
    if data["kind"] != "ClearToolUses":
        raise ValueError(f"unknown edit {data['kind']!r}")
    return ClearToolUses(
        _count(data["trigger_tokens"]),
        _count(data["clear_at_least"]),
        _count(data["keep"]),
        _texts(data["exclude"]),
    )


def _compacted(data: Json) -> Compacted:
    return Compacted(
        start=tuple(message_from_json(message) for message in data["start"]),
        kept_from=_optional_text(data.get("kept_from")),
        trigger=_text(data["trigger"]),
        tokens_before=_count(data["tokens_before"]),
        at=parse_time(data["at"]),
        kept_up_to=_optional_text(data.get("kept_up_to")),
        how=_text(data.get("how", "")),
        last=_optional_text(data.get("last")),
    )


def _folded(data: Json) -> Folded:
    return Folded(
        first=_text(data["first"]),
        last=_text(data["last"]),
        marker=message_from_json(data["marker"]),
        kind=_text(data["kind"]),
    )


def _used(data: Json) -> Used:
    counts = {name: _count(data["usage"].get(name, 0)) for name in _USAGE_FIELDS}
    return Used(
        response=_text(data["response"]),
        purpose=_text(data["purpose"]),
        model=_text(data["model"]),
        usage=Usage(**counts),
        at=parse_time(data["at"]),
    )


_USAGE_FIELDS = tuple(field.name for field in fields(Usage))


def _flat(kind: Callable[..., Record], names: Sequence[str]) -> Callable[[Json], Record]:
    """A reader for records whose fields are plain values of the same name."""

    def read(data: Json) -> Record:
        values = {name: _PLAIN.get(name, _text)(data[name]) for name in names if name in data}
        return kind(**values)

    return read


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text, not {value!r}")
    return value


def _optional_text(value: object) -> str | None:
    return None if value is None else _text(value)


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, not {value!r}")
    return tuple(_text(item) for item in value)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"expected a whole number, not {value!r}")
    return value


def _named_texts(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, not {value!r}")
    return {_text(name): _text(text) for name, text in value.items()}


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, not {value!r}")
    return tuple((_text(text), _text(status)) for text, status in value)


# How fields that are not text are read, in records whose fields are plain values.
_PLAIN: Mapping[str, Callable[[Any], Any]] = {
    "at": lambda value: parse_time(_text(value)),
    "format": _count,
    "tool_use_ids": _texts,
    "texts": _named_texts,
    "tokens": _count,
    "files": _texts,
    "bytes": _count,
    "todos": _pairs,
    "messages": _texts,
}

# Records whose fields are plain values, by their name in a journal.
_FLAT = {
    "session": Opened,
    "replaced": Replaced,
    "cache_edited": CacheEdited,
    "cleared": ToolResultsCleared,
    "compaction_failed": CompactionFailed,
    "unfolded": Unfolded,
    "notes": NotesTaken,
    "memories": MemoriesShown,
    "todos": TodosSet,
    "branch": Branched,
    "extracted": Extracted,
    "date": DateChanged,
    "agent_hired": AgentHired,
    "agent_left": AgentLeft,
    "redacted": Redacted,
}

_NAMES: Mapping[type, str] = {
    Used: "usage",
    Rewound: "rewound",
    **{kind: name for name, kind in _FLAT.items()},
}

_PARSERS: Mapping[str, Callable[[Json], Record]] = {
    "head": lambda data: HeadFrozen(_head_from_json(data)),
    "message": lambda data: Said(message_from_json(data)),
    "usage": _used,
    "compacted": _compacted,
    "folded": _folded,
    "rewound": lambda data: Rewound(_optional_text(data["first"])),
    **{name: _flat(kind, [field.name for field in fields(kind)]) for name, kind in _FLAT.items()},
}
