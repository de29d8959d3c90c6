"""Fields of a stranger's JSON, read without ever failing, and answers written as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Json = Mapping[str, Any]


def text(data: Json, *names: str) -> str:
    """The first of these fields that holds text; empty when none does."""
    return next((value for name in names if isinstance(value := data.get(name), str)), "")


def table(data: Json, name: str) -> dict[str, Any]:
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def transcript(data: Json) -> Path | None:
    """Where the client writes the conversation down: an absolute path of plain JSON lines."""
    value = text(data, "transcript_path")
    plain = value.startswith("/") and value.endswith(".jsonl") and "\0" not in value
    return Path(value) if plain else None


def said(content: object) -> str | None:
    """The text of an MCP result: a text, a list of blocks, or an object that holds one."""
    match content:
        case str():
            return content
        case {"content": inner}:
            return said(inner)
        case list(blocks) if blocks and all(isinstance(block, dict) for block in blocks):
            texts = [block.get("text") for block in blocks]
            return "\n".join(texts) if all(isinstance(text, str) for text in texts) else None
        case _:
            return None


def written(answer: object) -> bytes:
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass")
