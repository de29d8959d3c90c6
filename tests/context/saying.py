"""Short builders for tool calls, as Claude Code and Reverie record them."""

from __future__ import annotations

import json
from itertools import count

from reverie.core.messages import Attachment, Message, Text, ToolResult, ToolUse, new_message

_ids = count()


def user(text: str, *attachments: Attachment) -> Message:
    return new_message("user", Text(text), *attachments)


def model(text: str) -> Message:
    return new_message("assistant", Text(text))


def did(
    tool: str, answer: str = "ok", *, error: bool = False, **arguments: object
) -> tuple[Message, Message]:
    """A call and its result."""
    id_ = f"call-{next(_ids)}"
    asked = new_message("assistant", ToolUse(id_, tool, json.dumps(arguments)))
    result = ToolResult(id_, (Text(answer),), is_error=error)
    return asked, new_message("user", result, origin="tool")


def read(path: str) -> tuple[Message, Message]:
    return did("Read", file_path=path)


def edit(path: str) -> tuple[Message, Message]:
    return did("Edit", file_path=path, old_string="a", new_string="b")


def ran(command: str, answer: str = "ok", *, error: bool = False) -> tuple[Message, Message]:
    return did("Bash", answer, error=error, command=command)


def failed(command: str, output: str, status: int = 1) -> tuple[Message, Message]:
    return ran(command, f"Exit code {status}\n{output}", error=True)


def story(*parts: Message | tuple[Message, ...]) -> list[Message]:
    return [m for part in parts for m in ((part,) if isinstance(part, Message) else part)]
