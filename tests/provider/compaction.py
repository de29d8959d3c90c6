"""Signed summaries: written on demand, verified when a later history begins with one."""

from tests.provider.blocks import Block, Json, Prompt, compact, digest
from tests.provider.models import Model
from tests.provider.rejection import Rejection
from tests.provider.seal import Seal
from tests.provider.thinking import Scene, Setting, Trail

COMPACTION_BETA = "compact-2026-09-04"


def _refuse(code: str, message: str) -> Rejection:
    return Rejection(f"compaction_{code}", message, code=f"compaction_{code}")


def write(seal: Seal, scene: Scene, model: Model, summary: str | None) -> Json:
    """The block that stands for everything the request held; a null summary means it failed."""
    block: Json = {
        "type": "compaction",
        "content": summary,
        "encrypted_content": None,
        "signature": None,
        "tool_changes": [],
    }
    if summary is None:
        return block
    block["signature"] = seal.write(
        {
            "summary": digest(summary),
            "tool_changes": digest(compact([])),
            "system": scene.setting.system,
            "tools": scene.setting.tools,
            # Thinking kept after the summary stays valid only if a bound model wrote it.
            "covers": scene.trail.state if model.bound else None,
        }
    )
    return block


def verify(seal: Seal, prompt: Prompt) -> Trail:
    """Check the summary a history may begin with; the trail its remaining turns continue."""
    found = [block for block in prompt.messages if block.type == "compaction"]
    whole = [block for block in found if block.data.get("content") is not None]
    if not whole:
        return Trail()
    if len(whole) > 1:
        raise _refuse(
            "block_ambiguous",
            f"{whole[1].path}: `messages` holds more than one `compaction` block with content",
        )
    block = whole[0]
    if prompt.messages[0] is not block or block.role == "system":
        raise _refuse(
            "block_misplaced",
            f"{block.path}: the `compaction` block must be the first block of the conversation",
        )
    return _continued(_note(seal, block), block, Setting.of(prompt))


def _note(seal: Seal, block: Block) -> Json:
    note = seal.read(str(block.data.get("signature") or ""))
    if note is None or "summary" not in note:
        raise _refuse("signature_invalid", f"{block.path}.signature: does not verify")
    if note["summary"] != digest(str(block.data["content"])):
        raise _refuse(
            "content_mismatch",
            f"{block.path}.content: differs from the text the signature recorded",
        )
    if note["tool_changes"] != digest(compact(block.data.get("tool_changes") or [])):
        raise _refuse(
            "tool_changes_mismatch",
            f"{block.path}.tool_changes: differs from what was returned with the block",
        )
    return note


def _continued(note: Json, block: Block, setting: Setting) -> Trail:
    same = (note["system"], note["tools"]) == (setting.system, setting.tools)
    if same and note["covers"] is not None:
        return Trail(str(note["covers"]))
    return Trail(digest("summary", block.content))


def check_request(body: Json, prompt: Prompt) -> None:
    """Rules for a request that asks for a summary."""
    config = body["compaction"]
    if not isinstance(config, dict) or config.get("type") != "summarize":
        raise Rejection("compaction", "compaction.type: Input should be 'summarize'")
    for other in ("context_management", "stop_sequences"):
        if body.get(other):
            raise Rejection("compaction", f"compaction: cannot be combined with `{other}`")
    if (body.get("output_config") or {}).get("format"):
        raise Rejection("compaction", "compaction: cannot be combined with `output_config.format`")
    if (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
        raise Rejection("compaction", "compaction: cannot be combined with a forced `tool_choice`")
    spoken = [b for b in prompt.messages if b.role != "system" and b.type != "compaction"]
    if not spoken:
        raise _refuse("nothing_to_summarize", "messages: no content to summarize")
    last = prompt.messages[-1].message
    if any(b.type == "tool_use" for b in prompt.messages if b.message == last):
        raise _refuse(
            "incomplete_turn", f"messages.{last}: the last assistant turn has an open tool call"
        )
