"""Conversations of Claude.ai and ChatGPT, as their data exports have them, read as our messages."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from reverie.core.messages import Message, Text, new_message
from reverie.learning.extraction import find
from reverie.memory.changes.draft import NewMemory
from reverie.memory.changes.imports import Found

_PEOPLE = {"human": "user", "user": "user", "assistant": "assistant"}


def read_chats(name: str, data: bytes) -> list[Found] | None:
    """What a person said in exported conversations that is worth keeping; None for other files."""
    conversations = _conversations(data)
    if conversations is None:
        return None
    return [found for chat in conversations for found in _learnt(name, chat)]


def _conversations(data: bytes) -> list[Mapping[str, Any]] | None:
    try:
        loaded = json.loads(data)
    except (ValueError, RecursionError):
        return None
    listed = loaded if isinstance(loaded, list) else [loaded]
    chats: list[Mapping[str, Any]] = [
        one for one in listed if isinstance(one, dict) and _is_chat(one)
    ]
    return chats or None


def _is_chat(one: Mapping[str, Any]) -> bool:
    return isinstance(one.get("chat_messages"), list) or isinstance(one.get("mapping"), dict)


def _learnt(name: str, chat: Mapping[str, Any]) -> Iterator[Found]:
    """Statements of the person, found by the rules that read a session; the model's words are not."""
    messages = list(_of_claude(chat) if "chat_messages" in chat else _of_chatgpt(chat))
    said = {message.id: message for message in messages}
    title = str(chat.get("name") or chat.get("title") or "a conversation")
    known = str(chat.get("uuid") or chat.get("conversation_id") or chat.get("id") or title)
    for candidate in find(messages, ()):
        if candidate.origin != "user":
            continue
        at = next((said[one].at for one in candidate.sources if one in said), 0.0)
        new = NewMemory(
            candidate.text,
            type=candidate.type,
            origin="import",
            source=(f"import:{name}#{known}",),
            said=datetime.fromtimestamp(at, UTC).date() if at else None,
        )
        yield Found(f"{name}, {title}", new)


def _of_claude(chat: Mapping[str, Any]) -> Iterator[Message]:
    for one in chat["chat_messages"]:
        if isinstance(one, dict):
            content = one.get("content")
            parts = content if isinstance(content, list) else []
            texts = [part.get("text") for part in parts if isinstance(part, dict)]
            text = one.get("text") or "\n".join(part for part in texts if isinstance(part, str))
            yield from _message(one.get("sender"), text, _seconds(one.get("created_at")))


def _of_chatgpt(chat: Mapping[str, Any]) -> Iterator[Message]:
    """The branch that the conversation ended on, oldest first."""
    nodes = {key: node for key, node in chat["mapping"].items() if isinstance(node, dict)}
    path: list[Mapping[str, Any]] = []
    key = chat.get("current_node") or next(reversed(nodes), None)
    seen: set[object] = set()
    while key in nodes and key not in seen:
        seen.add(key)
        path.append(nodes[key])
        key = nodes[key].get("parent")
    for node in reversed(path):
        message = node.get("message")
        if isinstance(message, dict):
            author, content = message.get("author"), message.get("content")
            role = author.get("role") if isinstance(author, dict) else None
            parts = content.get("parts") if isinstance(content, dict) else None
            texts = [part for part in parts or () if isinstance(part, str)]
            yield from _message(role, "\n".join(texts), message.get("create_time"))


def _message(role: object, text: object, at: object) -> Iterator[Message]:
    who = _PEOPLE.get(str(role))
    if who is None or not isinstance(text, str) or not text.strip():
        return
    seconds = float(at) if isinstance(at, int | float) else 0.0
    yield new_message("user" if who == "user" else "assistant", Text(text), at=seconds)


def _seconds(written: object) -> float | None:
    try:
        return datetime.fromisoformat(str(written)).timestamp()
    except ValueError:
        return None
