"""What the proxy knows about each protocol: where the conversation is, and how to read and change it.

A request's conversation is a list of JSON elements. Each is read as our blocks; what only the
provider understands is kept unchanged. An element is changed only through an `Edit`, and everything
else in it stays as the client wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from reverie.adapters.bridge import mark as placeholder
from reverie.api import history
from reverie.api.shapes import InputObject
from reverie.core.messages import Block, Message, Opaque, Role, Text, ToolResult
from reverie.core.request import Reply, ToolSpec
from reverie.core.window import Ttl
from reverie.errors import InputError
from reverie.models import anthropic, anthropic_wire, openai_chat, openai_responses
from reverie.models.failures import Accumulator
from reverie.proxy import gemini
from reverie.proxy.upstream import Family

Wire: TypeAlias = dict[str, Any]

# Text that a client adds to a person's message. It is forwarded, but the person did not say it.
_ADDED_BY_CLIENT = (
    *("<system-reminder>", "<environment_context>", "<user_instructions>", "<task-notification>"),
    *("<session_context>", "# AGENTS.md instructions", "<command-message>", "<local-command-"),
)
_SYSTEM_ROLES = ("system", "developer")
# How an empty result is recorded, so that no layer adds text to it.
_NOTHING = Text("(no output)")


@dataclass(frozen=True, slots=True)
class Piece:
    """An element as blocks; `places` holds the index of each block in the element's content.

    `joins` if the protocol spreads one message over several elements.
    """

    role: Role
    blocks: tuple[Block, ...]
    places: tuple[int, ...]
    joins: bool = False


@dataclass(frozen=True, slots=True)
class Edit:
    """The changes to one element. `results` are sent in place of the client's, by call id.

    `dropped` holds indices of content blocks that are left out. `marks` are the cache marks of the
    element, by block; None leaves the client's.
    """

    results: Mapping[str, ToolResult] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()
    marks: Mapping[int, Ttl] | None = None

    @property
    def empty(self) -> bool:
        return not self.results and not self.dropped and self.marks is None


@dataclass(frozen=True, slots=True)
class HeadFields:
    """Model, system prompt and tools of a request."""

    model: str
    system: tuple[Text, ...] = ()
    tools: tuple[ToolSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialect:
    """One protocol. `list_key` names the field with the conversation."""

    name: str
    family: Family
    list_key: str
    path: re.Pattern[bytes]
    piece: Callable[[Any], Piece | None]
    written: Callable[[Message], list[Wire]]
    edited: Callable[[Wire, Edit], Wire]
    accumulator: Callable[[], Accumulator]
    whole_reply: Callable[[Wire], Reply]
    # Fields that mean the provider, not the request, holds the conversation.
    held_by: tuple[str, ...] = ()
    system_key: str = ""
    # Whether clearing and storing of tool results is known to work.
    has_results: bool = True

    def error(self, status: int, reason: str) -> Wire:
        kind = "invalid_request_error" if status < 500 else "api_error"
        message = f"reverie proxy: {reason}"
        if self.family == "anthropic":
            return {"type": "error", "error": {"type": kind, "message": message}}
        if self.family == "gemini":
            return {"error": {"code": status, "message": message, "status": kind.upper()}}
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}

    def head(self, fields: Mapping[str, Any], elements: Sequence[Any], model: str) -> HeadFields:
        """Read the head; leading system messages belong to it."""
        system = list(_texts(fields.get(self.system_key))) if self.system_key else []
        for element in elements:
            if not isinstance(element, dict) or element.get("role") not in _SYSTEM_ROLES:
                break
            system += _texts(element.get("content"))
        named = fields.get("model")
        tools = fields.get("tools")
        return HeadFields(
            named if isinstance(named, str) else model,
            tuple(system),
            tuple(map(_tool, tools)) if isinstance(tools, list) else (),
        )


def _texts(value: Any) -> Iterator[Text]:
    if isinstance(value, str):
        yield Text(value)
    elif isinstance(value, dict):
        # Gemini: an object with parts.
        yield from _texts(value.get("parts"))
    elif isinstance(value, list):
        for part in value:
            text = part.get("text") if isinstance(part, dict) else None
            yield Text(text if isinstance(text, str) else json.dumps(part, ensure_ascii=False))


def _tool(tool: Any) -> ToolSpec:
    """A tool as the request declares it; provider tools have no schema and are kept whole."""
    raw = tool if isinstance(tool, dict) else {"tool": tool}
    inner = raw.get("function")
    function = inner if isinstance(inner, dict) else raw
    schema = function.get("input_schema") or function.get("parameters")
    name = str(function.get("name") or raw.get("type") or "tool")
    if not isinstance(schema, dict):
        schema = {key: value for key, value in raw.items() if key != "cache_control"}
    # Only the size and the bytes of a schema matter here: the client runs the tools.
    return ToolSpec.of(name, str(function.get("description") or ""), schema)


# --- reading elements ---


def _blocks(content: Any, *, of_model: bool) -> list[Block]:
    if isinstance(content, str):
        return [_said(content, {"type": "text", "text": content}, of_model=of_model)]
    if content is None:
        return []
    if not isinstance(content, list):
        raise InputError("the content is neither text nor a list")
    return [_block(part, of_model=of_model) for part in content]


def _block(part: Any, *, of_model: bool) -> Block:
    if not isinstance(part, dict):
        return _opaque(part)
    if part.get("type") == "tool_result" and isinstance(part.get("tool_use_id"), str):
        return _result(part, part["tool_use_id"], part.get("content"))
    try:
        (block,) = history.content(InputObject({"content": [part]}, "content"), of_model=of_model)
    except (InputError, ValueError):
        return _opaque(part)
    return _said(block.text, part, of_model=of_model) if isinstance(block, Text) else block


def _said(text: str, part: Any, *, of_model: bool) -> Block:
    """Text as the person's words, unless the client added it."""
    added = not of_model and text.lstrip().startswith(_ADDED_BY_CLIENT)
    return _opaque(part) if added else Text(text)


def _opaque(part: Any) -> Opaque:
    if isinstance(part, dict):
        part = {key: value for key, value in part.items() if key != "cache_control"}
    return Opaque("client", json.dumps(part, ensure_ascii=False))


def _result(part: Wire, id_: str, content: Any) -> ToolResult:
    """A tool's result; parts that are neither text nor media become placeholders."""
    failed = part.get("is_error") is True
    if content is None or content == "" or content == []:
        return ToolResult(id_, (_NOTHING,), failed)
    if isinstance(content, str):
        return ToolResult(id_, (Text(content),), failed)
    parts = content if isinstance(content, list) else [content]
    found: list[Any] = []
    for one in parts:
        block = _block(one, of_model=False)
        known = getattr(block, "kind", "") in ("text", "image", "document")
        text = one.get("text") if isinstance(one, dict) else None
        found.append(block if known else Text(text) if isinstance(text, str) else placeholder(one))
    return ToolResult(id_, tuple(found), failed)


def _numbered(role: Role, blocks: Sequence[Block], *, joins: bool = False) -> Piece:
    return Piece(role, tuple(blocks), tuple(range(len(blocks))), joins)


def _anthropic_piece(element: Any) -> Piece | None:
    role = _role(element)
    if role == "system":
        return None
    return _numbered(role, _blocks(element.get("content"), of_model=role == "assistant"))


def _role(element: Any) -> Role:
    if not isinstance(element, dict):
        raise InputError("a message is not an object")
    role = element.get("role")
    if role in _SYSTEM_ROLES:
        return "system"
    if role not in ("user", "assistant", "tool", "function"):
        raise InputError(f"the role {role!r} is not known")
    return "assistant" if role == "assistant" else "user"


def _chat_piece(element: Any) -> Piece | None:
    role = _role(element)
    if role == "system":
        return None
    if element.get("role") in ("tool", "function"):
        id_ = str(element.get("tool_call_id") or element.get("name") or "")
        return _numbered("user", [_result(element, id_, element.get("content"))], joins=True)
    if role == "user":
        return _numbered("user", _blocks(element.get("content"), of_model=False))
    given = InputObject(element, "message")
    calls = [
        history.call(
            InputObject(one.inner("function").raw | {"id": one.get("id")}, "tool_calls"), "id"
        )
        for one in given.each("tool_calls")
    ]
    return _numbered("assistant", [*_blocks(element.get("content"), of_model=True), *calls])


def _responses_piece(element: Any) -> Piece | None:
    if not isinstance(element, dict):
        raise InputError("an item is not an object")
    kind = element.get("type") or ("message" if "role" in element else None)
    if kind == "message":
        role = _role(element)
        if role == "system":
            return None
        of_model = role == "assistant"
        blocks = _blocks(element.get("content"), of_model=of_model)
        return _numbered(role, blocks, joins=of_model)
    if kind in ("function_call_output", "custom_tool_call_output", "local_shell_call_output"):
        found = _result(element, str(element.get("call_id") or ""), element.get("output"))
        return _numbered("user", [found], joins=True)
    if kind == "function_call":
        found_call = history.call(InputObject(element, "item"), "call_id")
        return _numbered("assistant", [found_call], joins=True)
    if kind == "custom_tool_call":
        arguments = json.dumps({"input": element.get("input")}, ensure_ascii=False)
        shaped = element | {"arguments": arguments}
        return _numbered(
            "assistant", [history.call(InputObject(shaped, "item"), "call_id")], joins=True
        )
    kept = Opaque(openai_responses.PROVIDER, openai_responses.verbatim(element))
    return _numbered("assistant", [kept], joins=True)


# --- changing elements ---


def _anthropic_edited(element: Wire, edit: Edit) -> Wire:
    content = element["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    changed = [
        _anthropic_part(part, edit, i) for i, part in enumerate(parts) if i not in edit.dropped
    ]
    return element | {"content": changed}


def _anthropic_part(part: Any, edit: Edit, index: int) -> Any:
    if not isinstance(part, dict):
        return part
    result = edit.results.get(str(part.get("tool_use_id")))
    if result is not None and part.get("type") == "tool_result":
        sent = (anthropic_wire.block_to_wire(one) for one in result.content)
        part = part | {"content": [one for one in sent if one is not None]}
    return part if edit.marks is None else marked(part, edit.marks.get(index))


def marked(part: Wire, ttl: Ttl | None) -> Wire:
    """The block with only this cache mark."""
    plain = {key: value for key, value in part.items() if key != "cache_control"}
    if ttl is None:
        return plain
    control = {"type": "ephemeral"} if ttl == "5m" else {"type": "ephemeral", "ttl": ttl}
    return plain | {"cache_control": control}


def _chat_edited(element: Wire, edit: Edit) -> Wire:
    result = edit.results.get(str(element.get("tool_call_id")))
    if result is None:
        return element
    return element | {"content": _plain(result)}


def _responses_edited(element: Wire, edit: Edit) -> Wire:
    result = edit.results.get(str(element.get("call_id")))
    if result is None:
        return element
    return element | {"output": _plain(result)}


def _plain(result: ToolResult) -> str:
    return "\n".join(openai_chat.content_text(part) for part in result.content)


def _anthropic_written(message: Message) -> list[Wire]:
    found = anthropic_wire.message_to_wire(message)
    return [] if found is None else [found]


ANTHROPIC = Dialect(
    "anthropic",
    "anthropic",
    "messages",
    re.compile(rb"\A(?:/[^?]*)?/v1/messages(?:\?|\Z)"),
    _anthropic_piece,
    _anthropic_written,
    _anthropic_edited,
    anthropic.MessageAccumulator,
    anthropic.whole_reply,
    held_by=("thread", "compaction"),
    system_key="system",
)
CHAT = Dialect(
    "openai-chat",
    "openai",
    "messages",
    re.compile(rb"\A(?:/[^?]*)?/chat/completions(?:\?|\Z)"),
    _chat_piece,
    openai_chat.message_to_wire,
    _chat_edited,
    openai_chat.ChatAccumulator,
    openai_chat.whole_reply,
)
RESPONSES = Dialect(
    "openai-responses",
    "openai",
    "input",
    re.compile(rb"\A(?:/[^?]*)?/responses(?:\?|\Z)"),
    _responses_piece,
    openai_responses.message_to_wire,
    _responses_edited,
    openai_responses.ResponsesAccumulator,
    openai_responses.whole_reply,
    held_by=("previous_response_id", "conversation", "prompt"),
    system_key="instructions",
)


def _gemini_piece(element: Any) -> Piece | None:
    return _numbered(*gemini.blocks_of(element))


GEMINI = Dialect(
    "gemini",
    "gemini",
    "contents",
    re.compile(rb"\A(?:/[^?]*)?/models/[^/?]+:(?:streamG|g)enerateContent(?:\?|\Z)"),
    _gemini_piece,
    gemini.written,
    lambda element, edit: element,
    gemini.GeminiAccumulator,
    gemini.whole_reply,
    held_by=("cachedContent",),
    system_key="systemInstruction",
    has_results=False,
)

ALL = (ANTHROPIC, CHAT, RESPONSES, GEMINI)


def find(method: str, family: Family, target: bytes) -> Dialect | None:
    """The dialect of a request that asks a model for a reply; None for any other request."""
    if method != "POST":
        return None
    return next((d for d in ALL if d.family == family and d.path.match(target)), None)


def of_family(family: Family) -> Dialect:
    """A dialect whose errors a client of this family understands."""
    return next(dialect for dialect in ALL if dialect.family == family)


def model_in(target: bytes) -> str:
    """The model that a Gemini path names; empty for other paths."""
    found = re.search(rb"/models/([^/:?]+):", target)
    return found.group(1).decode("latin-1") if found else ""
