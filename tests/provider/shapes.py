"""Rules about single messages, blocks and tools: which fields they have, and who may say what."""

import re
from dataclasses import dataclass
from typing import Any

from tests.provider.blocks import Json
from tests.provider.models import Model
from tests.provider.rejection import Rejection

MAX_MESSAGES = 100_000
ROLES = ("user", "assistant", "system")
CLEAR_AT_BETA = "mid-conversation-system-clear-at-2026-08-21"
EFFORT_BETA = "mid-conversation-output-config-2026-07-01"
TOOL_CHANGE_BETAS = ("mid-conversation-tool-changes-2026-07-01", "inline-tools-2026-09-15")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")


@dataclass(frozen=True, slots=True)
class Shape:
    """The fields of one type of block, and the roles that may send it."""

    needed: frozenset[str]
    allowed: frozenset[str]
    roles: frozenset[str]


def _shape(needed: str, optional: str, roles: str) -> Shape:
    wanted = frozenset(["type", *needed.split()])
    return Shape(wanted, wanted | frozenset(optional.split()), frozenset(roles.split()))


# Types that are not listed here are passed on unread.
SHAPES: dict[str, Shape] = {
    "text": _shape("text", "cache_control citations", "user assistant system"),
    "thinking": _shape("thinking signature", "cache_control", "assistant"),
    "redacted_thinking": _shape("data", "cache_control", "assistant"),
    "tool_use": _shape("id name input", "cache_control caller toolset_name", "assistant"),
    "tool_result": _shape("tool_use_id", "cache_control content is_error", "user"),
    "image": _shape("source", "cache_control transformations", "user"),
    "compaction": _shape(
        "", "content cache_control encrypted_content signature tool_changes", "user assistant"
    ),
    "tool_addition": _shape("", "tool cache_control", "system"),
    "tool_removal": _shape("", "tool cache_control", "system"),
}


def _check_block(path: str, block: Any, role: str) -> None:
    if not isinstance(block, dict) or not isinstance(block.get("type"), str):
        raise Rejection("block", f"{path}: Input should be an object with a `type`")
    shape = SHAPES.get(block["type"])
    if shape is None:
        return
    for name in sorted(shape.needed - block.keys()):
        raise Rejection("block", f"{path}.{block['type']}.{name}: Field required")
    for name in sorted(block.keys() - shape.allowed):
        raise Rejection("block", f"{path}.{block['type']}.{name}: Extra inputs are not permitted")
    if role not in shape.roles:
        allowed = " or ".join(f"`{one}`" for one in sorted(shape.roles))
        raise Rejection(
            "block", f"{path}: `{block['type']}` blocks can only be in {allowed} messages"
        )
    if block["type"] == "tool_use" and not isinstance(block["input"], dict):
        raise Rejection("block", f"{path}.tool_use.input: Input should be a valid dictionary")


def check_messages(messages: object, model: Model, betas: frozenset[str]) -> None:
    """Each message on its own."""
    if not isinstance(messages, list) or not messages:
        raise Rejection("messages", "messages: at least one message is required")
    if len(messages) > MAX_MESSAGES:
        raise Rejection("messages", f"messages: at most {MAX_MESSAGES} messages are allowed")
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ROLES:
            raise Rejection(
                "role", f"messages.{index}.role: Input should be 'user', 'assistant' or 'system'"
            )
        _check_content(index, message)
        if role == "system":
            _check_system_message(index, message, model, betas)
        else:
            for name in sorted(message.keys() - {"role", "content"}):
                rule = "clear-at" if name == "clear_at" else "message"
                raise Rejection(rule, f"messages.{index}.{name}: Extra inputs are not permitted")


def _check_content(index: int, message: Json) -> None:
    content = message.get("content")
    if not isinstance(content, str | list):
        raise Rejection("content", f"messages.{index}.content: Field required")
    if not content and not message.get("output_config"):
        raise Rejection("content", f"messages.{index}: all messages must have non-empty content")
    if isinstance(content, list):
        for place, block in enumerate(content):
            _check_block(f"messages.{index}.content.{place}", block, str(message["role"]))


def _check_system_message(index: int, message: Json, model: Model, betas: frozenset[str]) -> None:
    if not model.system_messages:
        raise Rejection(
            "system-role", f"messages.{index}: role 'system' is not supported on this model"
        )
    for name in sorted(message.keys() - {"role", "content", "clear_at", "output_config"}):
        raise Rejection("message", f"messages.{index}.{name}: Extra inputs are not permitted")
    if message.get("clear_at") is not None:
        if CLEAR_AT_BETA not in betas:
            raise Rejection("beta", f"messages.{index}.clear_at: Extra inputs are not permitted")
        if message["clear_at"] not in {"next_user_message", "never"}:
            raise Rejection("clear-at", f"messages.{index}.clear_at: unknown value")
    if message.get("output_config") is not None and EFFORT_BETA not in betas:
        raise Rejection("beta", f"messages.{index}.output_config: Extra inputs are not permitted")


def check_system(system: object) -> None:
    if system is None or isinstance(system, str):
        return
    if not isinstance(system, list):
        raise Rejection("block", "system: Input should be a string or a list of text blocks")
    for place, block in enumerate(system):
        _check_block(f"system.{place}", block, "system")


def check_tools(tools: object) -> None:
    if tools is None:
        return
    names: set[str] = set()
    for place, tool in enumerate(tools if isinstance(tools, list) else [tools]):
        if not isinstance(tool, dict):
            raise Rejection("tools", f"tools.{place}: Input should be an object")
        # Server tools and toolsets name themselves by type.
        if tool.get("type", "custom") != "custom":
            continue
        name = str(tool.get("name", ""))
        if not _TOOL_NAME.fullmatch(name):
            raise Rejection(
                "tools", f"tools.{place}.custom.name: should match {_TOOL_NAME.pattern}"
            )
        if name in names:
            raise Rejection("tools", "tools: Tool names must be unique.")
        if not isinstance(tool.get("input_schema"), dict):
            raise Rejection("tools", f"tools.{place}.custom.input_schema: Field required")
        names.add(name)
