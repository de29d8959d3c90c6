"""Whole responses of the official SDKs as replies."""

from __future__ import annotations

from typing import Any

from reverie.app.library.shapes import plain, shown
from reverie.core.reply import Reply
from reverie.errors import InputError, ReplyBroken
from reverie.models import anthropic, openai_chat, openai_responses

_WANTED = (
    "give the SDK's response, the final message of a stream "
    "(`await stream.get_final_message()`), or a reverie.Reply"
)


def read_reply(response: object) -> Reply:
    """A response as an object, as a dictionary, or as a reply of ours."""
    if isinstance(response, Reply):
        return response
    raw = plain(response)
    if not isinstance(raw, dict):
        raise InputError(f"this is no response: {shown(response)}; {_WANTED}")
    try:
        return _read(raw)
    except (LookupError, TypeError, AttributeError, ValueError, ReplyBroken) as error:
        raise InputError(f"this is no whole response ({error!r:.200}); {_WANTED}") from error


def _read(raw: dict[str, Any]) -> Reply:
    if "choices" in raw:
        return openai_chat.whole_reply(raw)
    if "output" in raw:
        return openai_responses.whole_reply(raw)
    return anthropic.whole_reply(raw)
