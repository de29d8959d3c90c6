"""The user's messages, carried verbatim through compaction, and texts cut to a size. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from reverie.core.messages import Attachment, Document, Image, Message, Text
from reverie.core.window import TEXT_BYTES_PER_TOKEN, text_tokens

# A cut text keeps this share of the room from its beginning, the rest from its end.
_HEAD_SHARE = 2 / 3


def level(sizes: Sequence[int], room: int) -> int:
    """Return the cap per item at which all of them fit the room; smaller items stay whole."""
    left = max(room, 0)
    ordered = sorted(sizes)
    for done, size in enumerate(ordered):
        share = left // (len(ordered) - done)
        if size > share:
            return share
        left -= size
    return ordered[-1] if ordered else 0


def clipped(text: str, tokens: int, whole: str = "") -> str:
    """Cut a text to at most `tokens`: its beginning, a note on what is missing, and its end.

    `whole` says where the full text can be read.
    """
    if text_tokens(text) <= tokens:
        return text
    data = text.encode("utf-8", "surrogatepass")
    where = f"; {whole}" if whole else ""
    note = f"\n[… {len(data):,} bytes in all, the middle is left out{where} …]\n"
    room = max(tokens, 0) * TEXT_BYTES_PER_TOKEN - len(note.encode("utf-8", "surrogatepass"))
    if room < len(note):
        return _decoded(data[: max(tokens, 0) * TEXT_BYTES_PER_TOKEN])
    head = int(room * _HEAD_SHARE)
    return _decoded(data[:head]) + note + _decoded(data[len(data) - (room - head) :])


def _decoded(data: bytes) -> str:
    """Decode, dropping a character that the cut went through."""
    return data.decode("utf-8", "ignore")


LABEL = "user-messages"

_LEAD = "Everything the user said before this point, word for word, oldest first."
_NUMBER = re.compile(r"\[\d+\]")
_QUOTE = "> "

# Text that a client writes in the user's name: client commands and their output.
_NO_REQUEST = re.compile(
    r"\s*(?:<(?:command-|local-command-|bash-(?:input|stdout|stderr))|\[Request interrupted by user)"
)


def carried(messages: Iterable[Message]) -> tuple[str, ...]:
    """All texts of the user in these messages, and in those that an earlier summary replaced."""
    return tuple(text for message in messages for text in said(message))


def said(message: Message) -> tuple[str, ...]:
    """The user's texts in one message: its own, or those that a summary carries."""
    # Only Reverie attaches user texts; an attachment from a hook or a tool is not trusted as one.
    if message.role != "user" or message.origin not in ("user", "reverie"):
        return ()
    earlier = [
        text
        for block in message.blocks
        if isinstance(block, Attachment) and block.label == LABEL
        for text in parse(block)
    ]
    own = _own_words(message) if message.origin == "user" else ""
    return (*earlier, own) if own.strip() else tuple(earlier)


def is_request(text: str) -> bool:
    """Whether the text asks for something. Every message is kept, but not all are requests."""
    return not _NO_REQUEST.match(text)


def render(texts: Sequence[str]) -> Attachment:
    """Render the messages as one readable attachment."""
    parts = [_LEAD]
    for number, text in enumerate(texts, 1):
        parts.append(f"[{number}]")
        parts += [_QUOTE + line for line in text.split("\n")]
    return Attachment(LABEL, "\n".join(parts))


def parse(attachment: Attachment) -> tuple[str, ...]:
    """Parse the messages of an attachment; lines that belong to no message are skipped."""
    found: list[list[str]] = []
    for line in attachment.text.split("\n"):
        if _NUMBER.fullmatch(line):
            found.append([])
        elif found and line.startswith(_QUOTE):
            found[-1].append(line.removeprefix(_QUOTE))
    return tuple("\n".join(lines) for lines in found)


def _own_words(message: Message) -> str:
    """The text of a message, with a marker for each image and document."""
    parts: list[str] = []
    for block in message.blocks:
        match block:
            case Text(text):
                parts.append(text)
            case Image() | Document():
                parts.append(f"[{block.kind}]")
    return "\n".join(parts)


# The last part of a path, with an ending; tried once for each run of letters, however long.
_FILE = re.compile(r"(?<![\w.-])[\w.-]*\w\.[A-Za-z]\w{0,9}\b")


def named_files(text: str) -> list[str]:
    """The names of files in a text, without their folders."""
    return _FILE.findall(text)
