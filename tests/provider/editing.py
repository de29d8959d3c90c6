"""What the server itself hides or clears before the model reads a prompt.

The client's history stays as it was sent; only the server's view of it shrinks. Everything that
is counted or cached is counted and cached on the view.
"""

from dataclasses import dataclass, replace

from tests.provider.blocks import THINKING, Block, Json, Prompt
from tests.provider.models import Model
from tests.provider.rejection import Rejection

EDITING_BETA = "context-management-2025-06-27"
CLEARED = "[Old tool result content cleared]"


@dataclass(frozen=True, slots=True)
class View:
    prompt: Prompt
    applied: tuple[Json, ...]
    # Size before the requested edits.
    original: int


def _hidden(block: Block, blocks: tuple[Block, ...]) -> bool:
    """Whether a system message meant for one turn has served its turn."""
    if block.around.get("clear_at") != "next_user_message":
        return False
    return any(other.role == "user" and other.message > block.message for other in blocks)


def _turns(blocks: tuple[Block, ...]) -> dict[int, int]:
    """Message index to turn: a user message with more than tool results starts a new turn."""
    starts = {b.message for b in blocks if b.role == "user" and b.type != "tool_result"}
    turns: dict[int, int] = {}
    current = 0
    for message in sorted({b.message for b in blocks}):
        current += message in starts
        turns[message] = current
    return turns


def _without_old_thinking(
    blocks: tuple[Block, ...], keep: int, applied: list[Json]
) -> tuple[Block, ...]:
    turns = _turns(blocks)
    thoughtful = sorted({turns[b.message] for b in blocks if b.type in THINKING})
    gone = set(thoughtful[: max(0, len(thoughtful) - keep)])
    cleared = [b for b in blocks if b.type in THINKING and turns[b.message] in gone]
    if cleared:
        applied.append(
            {
                "type": "clear_thinking_20251015",
                "cleared_input_tokens": sum(b.tokens for b in cleared),
                "cleared_thinking_turns": len(gone),
            }
        )
    return tuple(b for b in blocks if b.type not in THINKING or turns[b.message] not in gone)


def _current_thinking(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """What an older model is shown: thinking of the turn that is under way, and no other."""
    turns = _turns(blocks)
    now = max(turns.values(), default=0)
    return tuple(b for b in blocks if b.type not in THINKING or turns[b.message] == now)


def _thinking_kept(edit: Json) -> int | None:
    """How many turns keep their thinking; None means all."""
    keep = edit.get("keep", {"type": "thinking_turns", "value": 1})
    if keep == "all" or keep.get("type") == "all":
        return None
    if int(keep.get("value", 0)) < 1:
        raise Rejection(
            "context-management", "context_management: keep.value: must be greater than 0"
        )
    return int(keep["value"])


def _triggered(edit: Json, prompt: Prompt, uses: int) -> bool:
    trigger = edit.get("trigger") or {"type": "input_tokens", "value": 100_000}
    measured = uses if trigger["type"] == "tool_uses" else prompt.tokens
    return bool(measured > int(trigger["value"]))


def _clear_result(block: Block, edit: Json, names: dict[str, str]) -> Block:
    if block.type == "tool_result":
        return replace(block, data={**block.data, "content": CLEARED})
    inputs = edit.get("clear_tool_inputs") or False
    name = names[str(block.data["id"])]
    if inputs is True or (isinstance(inputs, list) and name in inputs):
        return replace(block, data={**block.data, "input": {}})
    return block


def _without_old_results(prompt: Prompt, edit: Json, applied: list[Json]) -> tuple[Block, ...]:
    blocks = prompt.messages
    names = {str(b.data["id"]): str(b.data["name"]) for b in blocks if b.type == "tool_use"}
    if not _triggered(edit, prompt, len(names)):
        return blocks
    keep = int((edit.get("keep") or {"value": 3})["value"])
    excluded = set(edit.get("exclude_tools") or ())
    older = list(names)[: max(0, len(names) - keep)]
    chosen = {id_ for id_ in older if names[id_] not in excluded}
    after = tuple(
        _clear_result(b, edit, names)
        if b.data.get("tool_use_id", b.data.get("id")) in chosen
        and b.type in {"tool_use", "tool_result"}
        else b
        for b in blocks
    )
    saved = sum(b.tokens for b in blocks) - sum(b.tokens for b in after)
    at_least = int((edit.get("clear_at_least") or {"value": 0})["value"])
    if not chosen or saved <= 0 or saved < at_least:
        return blocks
    applied.append(
        {
            "type": "clear_tool_uses_20250919",
            "cleared_input_tokens": saved,
            "cleared_tool_uses": len(chosen),
        }
    )
    return after


def check_edits(edits: list[Json]) -> None:
    known = ("clear_thinking_20251015", "clear_tool_uses_20250919")
    for index, edit in enumerate(edits):
        if edit.get("type") not in known:
            raise Rejection(
                "context-management",
                f"context_management.edits.{index}: {edit.get('type')!r} is not implemented by "
                f"this server; it knows {', '.join(known)}",
            )
        if edit["type"] == known[0] and index > 0:
            raise Rejection(
                "context-management",
                "context_management.edits: `clear_thinking_20251015` must be the first edit",
            )


def view(prompt: Prompt, edits: list[Json], model: Model) -> View:
    """The prompt as the model will read it, and what the requested edits did."""
    check_edits(edits)
    blocks = tuple(
        b
        for b in prompt.messages
        if not _hidden(b, prompt.messages)
        and not (b.type == "compaction" and b.data.get("content") is None)
    )
    if not model.keeps_thinking and not any("thinking" in edit["type"] for edit in edits):
        blocks = _current_thinking(blocks)
    current = replace(prompt, messages=blocks)
    original = current.tokens
    applied: list[Json] = []
    for edit in edits:
        if edit["type"] == "clear_thinking_20251015":
            keep = _thinking_kept(edit)
            if keep is not None:
                blocks = _without_old_thinking(current.messages, keep, applied)
        else:
            blocks = _without_old_results(current, edit, applied)
        current = replace(current, messages=blocks)
    return View(current, tuple(applied), original)
