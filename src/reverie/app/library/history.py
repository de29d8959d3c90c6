"""A caller's messages as ours, whichever way they are written: dictionaries, SDK objects or Messages.

Order and content stay; what differs between protocols goes: each tool result in a message of its own
or all in one, a reply as one message or as several items, text before the results or behind them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, takewhile
from typing import Literal

from reverie.app.library import blocks
from reverie.app.library.shapes import Given
from reverie.core.messages import Block, Message, Opaque, Text, ToolResult
from reverie.errors import InputError
from reverie.models.openai_responses import PROVIDER as OPENAI
from reverie.models.openai_responses import verbatim

_WANTED = "a dictionary with role and content, an SDK's message, or a reverie.Message"
_SYSTEM = ("system", "developer")
_ROLES = ("user", "assistant", "tool", *_SYSTEM)


@dataclass(frozen=True, slots=True)
class History:
    """The conversation, and the system prompt if it came as its first messages (else None)."""

    system: str | None
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """One entry of the caller's list; `joins` if its protocol splits what we keep together."""

    where: str
    role: Literal["user", "assistant", "system"]
    blocks: tuple[Block, ...]
    joins: bool = False


def read_history(messages: Sequence[object]) -> History:
    """Read a whole conversation; an InputError says which message is wrong, and how."""
    if isinstance(messages, str | bytes) or not isinstance(messages, Sequence):
        raise InputError(f"messages is a {type(messages).__name__}; give a list of messages")
    pieces = [_piece(value, f"messages[{i}]") for i, value in enumerate(messages)]
    leading = [_text(piece) for piece in takewhile(_is_system, pieces)]
    rest = list(dropwhile(_is_system, pieces))
    for piece in rest:
        if _is_system(piece):
            raise InputError(
                f"{piece.where} is a system message; the system prompt comes first and stays as "
                "it is: give it to Context(system=…), and what is new as a user's message"
            )
    system = "\n\n".join(leading) if leading else None
    return History(system, tuple(_messages(_joined(rest))))


def _piece(value: object, where: str) -> _Piece:
    if isinstance(value, Message):
        return _Piece(where, value.role, value.blocks)
    given = Given.of(value, where, _WANTED)
    if "role" not in given.raw:
        return _item(given)
    role = given.text("role")
    match role:
        case "tool":
            found = blocks.result(given, "tool_call_id", "content")
            return _Piece(where, "user", (found,), joins=True)
        case "assistant":
            return _Piece(where, "assistant", _said(given), _is_output(given))
        case "user":
            return _Piece(where, "user", _asked(given))
        case "system" | "developer":
            return _Piece(where, "system", blocks.content(given))
    raise InputError(f"{where}.role is {role!r}; known: {', '.join(_ROLES)}")


def _item(given: Given) -> _Piece:
    """An item of the Responses API that is no message."""
    match given.get("type"):
        case "function_call":
            return _Piece(given.where, "assistant", (blocks.call(given, "call_id"),), joins=True)
        case "function_call_output":
            found = blocks.result(given, "call_id", "output")
            return _Piece(given.where, "user", (found,), joins=True)
        case str():
            kept = Opaque(OPENAI, verbatim(given.raw))
            return _Piece(given.where, "assistant", (kept,), joins=True)
    raise InputError(f"{given.where} has neither a role nor a type; give {_WANTED}")


def _is_output(given: Given) -> bool:
    """Is this one of the items a reply of the Responses API consists of?"""
    content = given.get("content")
    kinds = (
        {part.get("type") for part in given.each("content")} if isinstance(content, list) else set()
    )
    return bool(kinds) and kinds <= {"output_text", "refusal"}


def _said(given: Given) -> tuple[Block, ...]:
    """What an assistant said, and the functions it calls."""
    calls = []
    for call in given.each("tool_calls"):
        function = call.inner("function")
        with_id = Given(function.raw | {"id": call.get("id")}, function.where)
        calls.append(blocks.call(with_id, "id"))
    return (*blocks.content(given, of_model=True), *calls)


def _asked(given: Given) -> tuple[Block, ...]:
    found = blocks.content(given)
    if not found:
        raise InputError(f"{given.where} says nothing: its content is empty; leave it out")
    return found


def _joined(pieces: Sequence[_Piece]) -> Iterator[_Piece]:
    held: _Piece | None = None
    for piece in pieces:
        if held is not None and held.joins and piece.joins and held.role == piece.role:
            held = replace(held, blocks=(*held.blocks, *piece.blocks))
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held


def _messages(pieces: Iterator[_Piece]) -> Iterator[Message]:
    """Results are not a person's words: they get a message of their own, before the words."""
    for piece in pieces:
        if piece.role == "assistant":
            if piece.blocks:
                yield Message("", "assistant", piece.blocks, origin="assistant")
            continue
        results = tuple(block for block in piece.blocks if isinstance(block, ToolResult))
        words = tuple(block for block in piece.blocks if not isinstance(block, ToolResult))
        if results:
            yield Message("", "user", results, origin="tool")
        if words:
            yield Message("", "user", words)


def _is_system(piece: _Piece) -> bool:
    return piece.role == "system"


def _text(piece: _Piece) -> str:
    return "\n\n".join(block.text for block in piece.blocks if isinstance(block, Text))
