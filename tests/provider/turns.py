"""Rules about the order of turns in a Messages request, and about calls and their results."""

from dataclasses import dataclass

from tests.provider.blocks import Block, Prompt
from tests.provider.models import Model
from tests.provider.rejection import Rejection


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring messages of one role, which the API reads as one."""

    role: str
    blocks: tuple[Block, ...]

    @property
    def index(self) -> int:
        return self.blocks[0].message


def merged(prompt: Prompt) -> list[Turn]:
    turns: list[Turn] = []
    for block in prompt.messages:
        if turns and turns[-1].role == block.role:
            turns[-1] = Turn(block.role, (*turns[-1].blocks, block))
        else:
            turns.append(Turn(block.role, (block,)))
    return turns


def check_text(prompt: Prompt) -> None:
    for block in (*prompt.system, *prompt.messages):
        if block.type == "text":
            text = str(block.data["text"])
            if not text:
                raise Rejection(
                    "empty-text", f"{block.path}: text content blocks must be non-empty"
                )
            if block.level == "messages" and not text.strip():
                raise Rejection(
                    "empty-text",
                    f"{block.path}: text content blocks must contain non-whitespace text",
                )


def check_order(turns: list[Turn], model: Model, *, summarizing: bool) -> None:
    """Who speaks first, who speaks last, and where a system message may stand."""
    first = turns[0]
    if first.role != "user" and first.blocks[0].type != "compaction":
        raise Rejection("first-role", 'messages: first message must use the "user" role')
    for before, turn in zip([None, *turns], turns, strict=False):
        if turn.role == "system" and (before is None or before.role != "user"):
            raise Rejection(
                "system-placement",
                f"messages.{turn.index}: a `system` message must immediately follow a user turn",
            )
        if before is not None and before.role == "system" and turn.role != "assistant":
            raise Rejection(
                "system-placement",
                f"messages.{before.index}: a `system` message must be last or be followed by an "
                "assistant turn",
            )
    last = turns[-1]
    if last.role == "assistant" and not summarizing and last.blocks[-1].type != "compaction":
        _check_prefill(last, model)


def _check_prefill(turn: Turn, model: Model) -> None:
    final = turn.blocks[-1]
    # An unanswered call is the pairing rule's to explain.
    if any(block.type == "tool_use" for block in turn.blocks):
        return
    if not model.prefill:
        raise Rejection(
            "prefill",
            "This model does not support assistant message prefill. The conversation must end "
            "with a user message.",
        )
    text = str(final.data.get("text", ""))
    if final.type == "text" and text != text.rstrip():
        raise Rejection(
            "prefill-whitespace",
            "messages: final assistant content cannot end with trailing whitespace",
        )


def check_tools(turns: list[Turn], *, summarizing: bool) -> None:
    """Every call answered in the next user turn, no answer without its call, no id twice."""
    seen: set[str] = set()
    for turn, following in zip(turns, [*turns[1:], None], strict=True):
        calls = [str(b.data.get("id")) for b in turn.blocks if b.type == "tool_use"]
        for block, id_ in zip((b for b in turn.blocks if b.type == "tool_use"), calls, strict=True):
            if id_ in seen:
                raise Rejection(
                    "tool-id", f"{block.path}.id: `tool_use` ids must be unique; {id_} is repeated"
                )
            seen.add(id_)
        answered = _answers(following) if following is not None else []
        missing = [id_ for id_ in calls if id_ not in answered]
        # The rules of compaction name an open call themselves.
        if missing and not (summarizing and following is None):
            raise Rejection(
                "tool-pairing",
                f"messages.{turn.blocks[-1].message}: `tool_use` ids were found without "
                f"`tool_result` blocks immediately after: {', '.join(missing)}. Each `tool_use` "
                "block must have a corresponding `tool_result` block in the next message.",
            )
    for before, turn in zip([None, *turns], turns, strict=False):
        _check_results(before, turn)


def _answers(turn: Turn) -> list[str]:
    return [str(b.data.get("tool_use_id")) for b in turn.blocks if b.type == "tool_result"]


def _check_results(before: Turn | None, turn: Turn) -> None:
    calls = (
        {str(b.data.get("id")) for b in before.blocks if b.type == "tool_use"} if before else set()
    )
    answered: set[str] = set()
    other = False
    for block in turn.blocks:
        if block.type != "tool_result":
            other = True
            continue
        id_ = str(block.data.get("tool_use_id"))
        if turn.role != "user" or id_ not in calls:
            raise Rejection(
                "tool-pairing",
                f"{block.path}: unexpected `tool_use_id` found in `tool_result` blocks: {id_}. "
                "Each `tool_result` block must have a corresponding `tool_use` block in the "
                "previous message.",
            )
        if id_ in answered:
            raise Rejection(
                "tool-pairing",
                f"{block.path}: each tool_use must have a single result. Found multiple "
                f"`tool_result` blocks with id: {id_}",
            )
        if other:
            raise Rejection(
                "tool-result-first",
                f"{block.path}: `tool_result` blocks must come before any other content",
            )
        answered.add(id_)
