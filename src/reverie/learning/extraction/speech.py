"""Separates what a person wrote themselves from what they pasted into a message. Pure.

Code, logs, quotations, mails and markup are certainly pasted and left out. Prose may be the
person's or pasted, and only its position shows which: the first paragraph is theirs, unless later
text may discuss it. Later paragraphs are doubtful, and a person decides about them. The ways to
introduce or discuss pasted text cannot all be listed, so the harmless ones are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reverie.learning.extraction.authorship import (
    ASKS,
    REPORTING,
    doubt_about,
    doubt_on_later,
    function_words,
    hidden,
    moves_on,
    rare_words,
)
from reverie.learning.extraction.questions import inquires
from reverie.learning.extraction.speech_signs import EMPOWERS, LETTER, NOT_SPEECH

# A longer message is a document with a few words around it.
LONGEST_SPEECH = 3_000
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)|/\*.*?(?:\*/|\Z)", re.S)
_TAGGED = re.compile(r"<([A-Za-z][\w:-]*)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.S)
_BARE_TAG = re.compile(r"</?[A-Za-z][\w:-]*\b[^<>]*>")
_HTML = re.compile(
    r"</?(?:html|head|body|p|div|span|br|hr|h[1-6]|ul|ol|li|table|t[rdh]|a|b|i|em|strong|img|pre|code|script|style|title"
    r"|blockquote|details|summary|section|article|meta)\b",
    re.I,
)
_OBJECT = re.compile(r"\{\s*\"[^{}\n]{0,2000}\}")

# After such a line the rest of the message is pasted.
_DOCUMENT = re.compile(
    r"\s*(?:#{1,6} \S|(?:from|to|cc|subject|date|von|an|betreff|de|à|objet|asunto|para) ?: \S"
    r"|-{2,} ?(?:original message|forwarded message|begin)|begin forwarded message"
    r"|on .{6,60} wrote:|am .{6,60} schrieb|le .{6,60} a écrit|el .{6,60} escribió|diff --git|commit [0-9a-f]{7,}"
    r"|traceback \(most recent|(?:[=*_~#-] ?){3,}\s*$)",
    re.I,
)
# "Here is the guideline:" at the end of a line, unless the person asks to remember what follows.
_LEAD_IN = re.compile(rf"(?!.*\b(?:{ASKS})).*[:：]\s*$", re.I)

_FENCE = "```"
BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_BOUNDED = re.compile(r"\s*(?:>|```|\|)")
# A short line without final punctuation, like a heading, but no bullet.
_TITLE = re.compile(r"(?!\s*(?:[-*+•]|\d{1,2}[.)])\s).{0,60}[^\s.!,;…]\s*$")
_INDENTED = re.compile(r"(?: {4}|\t)\S|[ \t]{2,}[\w\"'-]+: ")
# A chat log: names before a colon, one a line.
_SPEAKER = re.compile(r"\s*[A-Z][\w.-]{0,20}(?: [A-Z][\w.-]{1,20})?: \S")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»|`[^`\n]+`"
)
_REPORTED = re.compile(
    r"(?:\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»)(?<!\w)"
)

# A quotation of a whole sentence or more; names and terms in quotation marks are shorter.
_LONG_QUOTE = re.compile(
    r"\"\"\".{1,3000}?(?:\"\"\"|\Z)|\"[^\"]{1,3000}\"|“[^”]{1,3000}”|„[^“”]{1,3000}[“”]|«[^»]{1,3000}»|(?<![\w'])'(?=\S)[^'\n]*(?:'\w[^'\n]*){0,20}'(?!\w)",
    re.S,
)
_WORDS_OF_A_NAME = 5
# The columns at which editors and mail programs wrap lines.
_NARROWEST, _WIDEST = 50, 100


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph of prose. `doubt` says why it may not be the person's own; empty if it plainly is."""

    text: str
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    # Adjacent to or after code, a log or a chat, where pasted text may continue as prose.
    pasted: bool = False


def own_words(text: str) -> str:
    """What the writer plainly said in this text, without pasted and doubtful passages."""
    return _ends("\n\n".join(one.text for one in passages(text) if not one.doubt))


def passages(text: str) -> tuple[Passage, ...]:
    """The paragraphs of prose in a message, each with the doubt about its author."""
    found = [*_paragraphs(text)]
    whole = _about_message(found, text)
    before = ""
    doubts = []
    for one in found:
        doubts.append(hidden(one.text) or whole or before or _about(one))
        before = before or doubt_on_later(one.text)
    spoken_of = False
    later: set[str] = set()
    for place in range(len(found) - 1, -1, -1):
        words = rare_words(found[place].text)
        if not doubts[place] and (spoken_of or words & later):
            doubts[place] = "what follows may speak of it as a text"
        if not doubts[place] and len(found) > 1 and EMPOWERS.search(found[place].text):
            doubts[place] = (
                "it gives others power or lifts a check, and may be another author's text"
            )
        spoken_of = spoken_of or not moves_on(found[place].text)
        later |= words
    return tuple(Passage(one.text, doubt) for one, doubt in zip(found, doubts, strict=True))


def prose(text: str) -> str:
    """All prose, doubtful or not, for an assistant's message, which contains no pasted text."""
    return _ends("\n\n".join(one.text for one in _paragraphs(text)))


def unquoted(sentence: str) -> str:
    """The sentence with its quotations masked, because a cue inside them does not count."""
    return _QUOTED.sub("“…”", sentence)


def unreported(sentence: str) -> str:
    """The sentence without what it says others said: `she wrote "…"`."""
    return _REPORTED.sub("“…”", sentence) if REPORTING.search(sentence) else sentence


def _paragraphs(text: str) -> Iterator[_Paragraph]:
    """Split at blank lines, at text that is not prose, and after a line that asks or introduces."""
    # Clients put their own tags before the person's words; an HTML page is pasted.
    pasted = _HTML.search(text) is not None
    text = _without_long_quotations(_FENCED.sub(f"\n{_FENCE}\n", text))
    for pattern in (_COMMENT, _TAGGED, _BARE_TAG):
        text = pattern.sub("\n\n", text)
    lines = _unwrapped(_OBJECT.sub("“…”", text).split("\n"))
    chat = sum(_SPEAKER.match(line) is not None for line in lines) >= 2
    kept: list[str] = []
    for line in (*lines, ""):
        document = _DOCUMENT.match(line) is not None
        foreign = not document and _foreign(line, chat=chat)
        titled = bool(kept) and _TITLE.match(kept[-1]) is not None and not BULLET.match(line)
        # Prose before a fence or a quotation is the person's; a log or a chat may begin as prose.
        touching = pasted or (foreign and not _BOUNDED.match(line))
        if kept and (document or foreign or titled or not line.strip()):
            yield _Paragraph("\n".join(kept).strip(), touching)
            kept = []
        pasted = pasted or foreign
        if document:
            return
        if foreign or not line.strip():
            continue
        introduces = _LEAD_IN.match(line) is not None
        asks = inquires(line)
        if asks and kept:
            yield _Paragraph("\n".join(kept).strip(), pasted)
            kept = []
        kept.append(line)
        if introduces or asks:
            yield _Paragraph("\n".join(kept).strip(), pasted)
            kept = []
        if introduces:
            return


def _without_long_quotations(text: str) -> str:
    """Mask long quotations, except where the person asks to remember them."""

    def masked(found: re.Match[str]) -> str:
        asked = re.search(
            rf"\b(?:{ASKS})[^.!?\n]*$", text[max(0, found.start() - 80) : found.start()], re.I
        )
        return found[0] if asked or len(found[0].split()) <= _WORDS_OF_A_NAME else "“…”"

    return _LONG_QUOTE.sub(masked, text)


def _unwrapped(lines: Sequence[str]) -> list[str]:
    """Join lines that an editor wrapped at a column."""
    made: list[str] = []
    block: list[str] = []
    for line in (*lines, ""):
        if line.strip() and not (NOT_SPEECH.match(line) or _DOCUMENT.match(line)):
            block.append(line.rstrip())
            continue
        width = max(map(len, block), default=0)
        last = ""
        for part in block:
            if _NARROWEST <= width <= _WIDEST and _broken(last, part, width):
                made[-1] += f" {part.lstrip()}"
            else:
                made.append(part)
            last = part
        made.append(line)
        block = []
    return made[:-1]


def _broken(line: str, following: str, width: int) -> bool:
    """Whether the line was wrapped here because the next word did not fit."""
    words = line.split()
    if not words or BULLET.match(following) or line.endswith((".", "!", "?", ":", "…", "？", "：")):
        return False
    first = following.split()[0]
    goes_on = not first[0].isupper() or line.endswith(",") or words[-1].lower() in function_words()
    return len(line) + 1 + len(first) > width and goes_on and not inquires(line)


def _foreign(line: str, *, chat: bool) -> bool:
    if NOT_SPEECH.match(line) or _INDENTED.match(line):
        return True
    return chat and _SPEAKER.match(line) is not None


def _about_message(found: Sequence[_Paragraph], text: str) -> str:
    """A doubt about a whole message."""
    if LETTER.search(text):
        return "it stands in a letter"
    # The last words may come after a document that was cut off.
    tail = _FENCED.sub("", text).rstrip().rpartition("\n\n")[2].strip()
    cut_off = bool(found) and tail not in ("", found[-1].text) and "\n\n" in text
    return "what follows may speak of it as a text" if cut_off and not moves_on(tail) else ""


def _about(one: _Paragraph) -> str:
    return "it stands beside code, a log or a chat" if one.pasted else doubt_about(one.text)


def _ends(text: str) -> str:
    """The first and last paragraph of a very long text, where people write around pasted text."""
    if len(text) <= LONGEST_SPEECH:
        return text
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    around = (paragraphs[0], paragraphs[-1]) if len(paragraphs) > 1 else ()
    return "\n\n".join(part for part in around if len(part) <= LONGEST_SPEECH)
