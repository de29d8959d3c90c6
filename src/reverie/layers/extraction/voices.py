"""Who said what in a conversation: each message taken apart by whose words it holds. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime

from reverie.core.messages import Attachment, Document, Message, ToolResult
from reverie.layers.extraction.speech import own_words
from reverie.layers.extraction.values import Voice
from reverie.layers.user_messages import LABEL, said


@dataclass(frozen=True, slots=True)
class Utterance:
    """Words of one voice in one message. What a person pasted is a tool's voice, not theirs."""

    id: str
    voice: Voice
    text: str
    day: date | None = None


def utterances(messages: Iterable[Message]) -> tuple[Utterance, ...]:
    """Everything that was said, in order."""
    return tuple(one for message in messages for one in _parts(message) if one.text.strip())


def _parts(message: Message) -> Iterator[Utterance]:
    day = datetime.fromtimestamp(message.at, UTC).date() if message.at > 0 else None
    if message.role == "assistant" and message.origin == "assistant":
        yield Utterance(message.id, "assistant", message.text, day)
        return
    for text in said(message):
        own = own_words(text)
        yield Utterance(message.id, "user", own, day)
        if own != text.strip():
            yield Utterance(message.id, "tool", text, day)
    yield Utterance(message.id, "tool", _foreign(message), day)


def _foreign(message: Message) -> str:
    """What neither speaker wrote: results, attachments, documents, and the text of hooks."""
    parts = [] if message.origin == "user" else [message.text]
    for block in message.blocks:
        match block:
            case ToolResult():
                parts.append(block.text)
            case Attachment(label, text) if label != LABEL:
                parts.append(text)
            case Document(data=data) if block.media_type.startswith("text/"):
                parts.append(data)
            case _:
                pass
    return "\n".join(part for part in parts if part)
