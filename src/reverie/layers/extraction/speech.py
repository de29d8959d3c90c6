"""Whose words: what a person wrote themselves, apart from what they pasted into a message. Pure."""

from __future__ import annotations

import re

# Beyond this a message is a document with a few words around it.
LONGEST_SPEECH = 3_000

_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_TAGGED = re.compile(r"<([A-Za-z][\w:-]*)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.S)
_BARE_TAG = re.compile(r"</?[A-Za-z][\w:-]*\b[^<>]*>")

# From such a line on, the rest is somebody else's text.
_DOCUMENT = re.compile(
    r"\s*(?:#{1,6} \S|(?:from|to|cc|subject|date|von|an|betreff|de|objet|asunto): \S"
    r"|-{2,} ?(?:original message|forwarded message|begin)|begin forwarded message"
    r"|on .{6,60} wrote:|am .{6,60} schrieb|le .{6,60} a écrit|diff --git|commit [0-9a-f]{7,}"
    r"|traceback \(most recent|---\s*$)",
    re.I,
)
_ASKS = r"remember|note|memory|memori[sz]e|from now on|merk|souviens|retiens|recuerda"
# "Here is the guideline:" at the end of a line, unless the person asks to keep what follows.
_LEAD_IN = re.compile(rf"(?!.*\b(?:{_ASKS})).*[:：]\s*$", re.I)

_NOT_SPEECH = re.compile(
    r"\s*(?:>|\$ |❯|% |⏺|⎿|\+\+\+ |--- |@@ |[+-] {2,}\S|\||//|/\*|\*/|\{|\}|\[\{"
    r"|\d{4}-\d{2}-\d{2}[T ]\d{2}:|\[?\d{1,2}:\d{2}:\d{2}"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d+ \d\d:"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|FAIL|PASS|DEBU)\b|(?:error|fatal|warning|remote): "
    r"|at \S+\(|File \"|make(?:\[\d+\])?: |\w+Error: |\w+Exception\b|npm (?:ERR|WARN)"
    r"|(?:user|assistant|system|human|ai|tool|bot|admin) ?: |\"[^\"]*\"\s*[,:]?\s*$)",
    re.I,
)
_INDENTED = re.compile(r"(?: {4}|\t)\S")
# A chat log: names before a colon, one a line.
_SPEAKER = re.compile(r"\s*[A-Z][\w.-]{1,20}(?: [A-Z][\w.-]{1,20})?: \S")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»|`[^`\n]+`"
)


def own_words(text: str) -> str:
    """What the writer said in this text; quotations, code, logs, mails and documents are left out."""
    bare = _BARE_TAG.sub("\n", _TAGGED.sub("\n", _COMMENT.sub("\n", _FENCED.sub("\n", text))))
    lines = bare.split("\n")
    chat = sum(_SPEAKER.match(line) is not None for line in lines) >= 2
    kept: list[str] = []
    for line in lines:
        if _DOCUMENT.match(line):
            break
        if _NOT_SPEECH.match(line) or _INDENTED.match(line) or (chat and _SPEAKER.match(line)):
            continue
        kept.append(line)
        if _LEAD_IN.match(line):
            break
    return _ends("\n".join(kept).strip())


def unquoted(sentence: str) -> str:
    """The sentence with what it quotes blotted out: a cue inside quotation marks is not meant."""
    return _QUOTED.sub("“…”", sentence)


def _ends(text: str) -> str:
    """Of a very long text the first and the last paragraph: people speak around what they paste."""
    if len(text) <= LONGEST_SPEECH:
        return text
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    around = (paragraphs[0], paragraphs[-1]) if len(paragraphs) > 1 else ()
    return "\n\n".join(part for part in around if len(part) <= LONGEST_SPEECH)
