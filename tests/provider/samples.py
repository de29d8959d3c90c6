"""Requests the provider's own tests are built from."""

from typing import Any

from tests.provider.blocks import Json

MARK: Json = {"type": "ephemeral"}
HOUR: Json = {"type": "ephemeral", "ttl": "1h"}


def prose(tokens: int, letter: str = "a") -> str:
    """Text of exactly this many tokens."""
    return letter * (4 * tokens)


def text(value: str, mark: Json | None = None) -> Json:
    block: Json = {"type": "text", "text": value}
    return block if mark is None else {**block, "cache_control": mark}


def user(*content: str | Json) -> Json:
    return _message("user", content)


def assistant(*content: str | Json) -> Json:
    return _message("assistant", content)


def system(*content: str | Json, **around: object) -> Json:
    return {**_message("system", content), **around}


def _message(role: str, content: tuple[str | Json, ...]) -> Json:
    return {"role": role, "content": [text(c) if isinstance(c, str) else c for c in content]}


def call(id_: str, name: str = "read", **arguments: object) -> Json:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def result(id_: str, content: str = "done", mark: Json | None = None) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": id_, "content": content}
    return block if mark is None else {**block, "cache_control": mark}


def tool(name: str = "read", description: str = "Reads a file.") -> Json:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    return {"name": name, "description": description, "input_schema": schema}


def ask(*messages: Json, model: str = "claude-opus-5", **more: Any) -> Json:
    """Arguments of a Messages request."""
    return {"model": model, "max_tokens": 100, "messages": list(messages), **more}
