"""The one place that knows when replayed thinking is still valid.

Newer models bind a thinking block to the exact prefix it was produced under: model, tools, system
and every earlier message. Replayed after any other prefix it is refused. So each response is
stamped with the digest of its prefix (`Message.bound_to`), and while a request is assembled the
digest of what is *actually* being sent is compared with the stamp. Where they differ, something
before this message was edited, by whichever layer, and its thinking is left out.

The rule needs no memory of edits and no cooperation from layers: it follows from the bytes, so it
holds after a resume and inside a fork as well. Stripping changes the prefix of what follows, which
strips everything later up to the first response that was produced after the edit: just what the
provider demands.
"""

from __future__ import annotations

from dataclasses import replace

from reverie.core.messages import Message, Thinking


def valid_under(message: Message, prefix: str, *, bound: bool) -> Message:
    """The message as it may be sent after `prefix`: without thinking that was bound elsewhere."""
    if not bound or message.role != "assistant" or message.bound_to == prefix:
        return message
    return without_thinking(message)


def without_thinking(message: Message) -> Message:
    if not any(isinstance(block, Thinking) for block in message.blocks):
        return message
    kept = tuple(block for block in message.blocks if not isinstance(block, Thinking))
    return replace(message, blocks=kept)
