"""Prefix-bound thinking: how a block is tied to what stood before it, and how that is checked.

What is implemented, and why it fits the documentation:

* The **trail** is a running hash over every block of `messages` that is not thinking, in order,
  with its role. `system` and `tools` have a hash each. Cache markers are left out of all three.
  Hashes are taken over the request *as it was sent*: what the server hides or clears on its own
  side is no edit.
* A new thinking block is signed over: the producing model, both hashes, the trail up to the
  block (earlier blocks of the same reply included), its own text, and the identity of the
  thinking block before it.
* A replayed block is **intact** when system, tools and trail are the recorded ones, and the
  thinking block now in front of it is the recorded one *or there is none at all*. So thinking
  may be cut from the start of the history, oldest first; a gap in the middle breaks every block
  after the gap.
* A summary written by the server carries the trail of what it replaced. A history that begins
  with such a summary continues that trail, so thinking in the kept turns stays valid. A turn
  boundary is part of the trail, and `system` messages belong to the user's side: a kept part that
  starts on the side the summary ended on does not match, as documented.
* A block by a model the current one may not read is dropped without an error, before the prefix
  check. A signature this server did not write is an error on every model.
"""

import hashlib
from dataclasses import dataclass

from tests.provider.blocks import THINKING, Block, Json, Prompt, digest
from tests.provider.models import Model, may_read
from tests.provider.rejection import Rejection
from tests.provider.seal import Seal

BINDING_BETA = "thinking-binding-controls-2026-08-01"

_REPAIR = (
    'Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block". '
    f"That setting requires the `{BINDING_BETA}` value in the `anthropic-beta` header."
)


@dataclass(frozen=True, slots=True)
class Trail:
    """The running hash of a conversation."""

    state: str = ""
    side: str = ""

    def step(self, role: str, content: bytes) -> "Trail":
        side = "assistant" if role == "assistant" else "user"
        state = self.state if side == self.side else digest(self.state, "turn", side)
        return Trail(digest(state, role, content), side)


@dataclass(frozen=True, slots=True)
class Setting:
    """Hashes of the parts of a prompt that stand before the conversation."""

    system: str
    tools: str

    @classmethod
    def of(cls, prompt: Prompt) -> "Setting":
        return cls(
            digest(*(block.content for block in prompt.system)),
            digest(*(block.content for block in prompt.tools)),
        )


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything a new thinking block is signed over, except its own text."""

    model: str
    setting: Setting
    trail: Trail
    previous: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The request's blocks after the check: those dropped, and the scene of the reply."""

    messages: tuple[Block, ...]
    dropped: tuple[Json, ...]
    scene: Scene


def _text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def identity(signature: str) -> str:
    return _text_hash(signature)


def sign(seal: Seal, scene: Scene, text: str) -> str:
    return seal.write(
        {
            "model": scene.model,
            "system": scene.setting.system,
            "tools": scene.setting.tools,
            "trail": scene.trail.state,
            "side": scene.trail.side,
            "previous": scene.previous,
            "text": _text_hash(text),
        }
    )


def _mismatch(note: Json, scene: Scene) -> str | None:
    """Which part of the prefix differs, in the words of the error, or None."""
    if note["system"] != scene.setting.system:
        return "The `system` prompt differs from the one this block was created with."
    if note["tools"] != scene.setting.tools:
        return "The `tools` list differs from the one this block was created with."
    if scene.previous and note["previous"] != scene.previous:
        return (
            "The `thinking` block that preceded this one when it was created is missing from "
            "this request."
        )
    if (note["trail"], note["side"]) != (scene.trail.state, scene.trail.side):
        return "A message before this block differs from the one this block was created with."
    return None


def _authentic(seal: Seal, block: Block) -> Json:
    note = seal.read(str(block.data.get("signature", "")))
    if (
        note is None
        or "trail" not in note
        or note["text"] != _text_hash(str(block.data.get("thinking", "")))
    ):
        raise Rejection(
            "thinking-signature", f"{block.path}: Invalid `signature` in `{block.type}` block"
        )
    return note


def check(seal: Seal, prompt: Prompt, model: Model, start: Trail, *, drop: bool) -> Checked:
    """Verify every replayed thinking block, dropping or refusing those that moved."""
    scene = Scene(model.id, Setting.of(prompt), start, "")
    kept: list[Block] = []
    dropped: list[Json] = []
    for block in prompt.messages:
        if block.type not in THINKING:
            kept.append(block)
            if block.type != "compaction":
                trail = scene.trail.step(block.role, block.content)
                scene = Scene(model.id, scene.setting, trail, scene.previous)
            continue
        reason = _fault(_authentic(seal, block), scene, model, block, drop=drop)
        if reason is not None:
            dropped.append({"type": "thinking_dropped", "path": block.path, "reason": reason})
            continue
        kept.append(block)
        previous = identity(str(block.data["signature"]))
        scene = Scene(model.id, scene.setting, scene.trail, previous)
    return Checked(tuple(kept), tuple(dropped), scene)


def _fault(note: Json, scene: Scene, model: Model, block: Block, *, drop: bool) -> str | None:
    """Why the block must be dropped, or None; raises where dropping was not asked for."""
    if not may_read(model, str(note["model"])):
        return "model_binding_mismatch"
    why = _mismatch(note, _turned(scene, block.role)) if model.bound else None
    if why is None:
        return None
    if drop:
        return "prefix_binding_mismatch"
    raise Rejection(
        "thinking-prefix",
        f"{block.path}: Invalid `signature` in `{block.type}` block. The block is bound to a "
        f"different conversation. {_REPAIR} {why}",
    )


def _turned(scene: Scene, role: str) -> Scene:
    """The scene once the block's turn has begun: thinking itself leaves no step in the trail."""
    side = "assistant" if role == "assistant" else "user"
    if side == scene.trail.side:
        return scene
    trail = Trail(digest(scene.trail.state, "turn", side), side)
    return Scene(scene.model, scene.setting, trail, scene.previous)


def reply_scene(scene: Scene) -> Scene:
    """The scene in which the reply to this request begins."""
    return _turned(scene, "assistant")


def after(scene: Scene, block: Json, content: bytes) -> Scene:
    """The scene after one more block of the reply."""
    if block["type"] in THINKING:
        previous = identity(str(block["signature"]))
        return Scene(scene.model, scene.setting, scene.trail, previous)
    return Scene(scene.model, scene.setting, scene.trail.step("assistant", content), scene.previous)
