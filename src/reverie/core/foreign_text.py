"""Makes untrusted text safe for a terminal, and for prompts, where it must not imitate our marks."""

from __future__ import annotations

import re
from functools import cache

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

# Characters that are invisible but change what is displayed: control characters except tab and
# newline, surrogates, direction marks and overrides, zero-width blanks, fillers, tags, annotations.
_UNSEEN = (
    r"\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\xad\u034f\u061c\u070f\u115f\u1160\u17b4\u17b5\u180e"
    r"\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    r"\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
# Joiners are legitimate between letters of some scripts and inside emoji, and one variation selector
# is after a character; elsewhere both only hide something.
_JOINED = r"\u0600-\u0dff\u1000-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc"
_PICTURES = r"\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_IDEOGRAPHS = r"\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_VARIANTS = r"\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Tab and newline are allowed.
_HARMLESS = str.maketrans("", "", "\t\n")


# Compiled on first use, because `reverie --help` and every hook import this module.
@cache
def _steering() -> re.Pattern[str]:
    return re.compile(
        rf"[{_UNSEEN}]"
        rf"|(?<![{_JOINED}{_PICTURES}])[\u200c\u200d]"
        rf"|(?<=[{_PICTURES}])(?:\u200c|\u200d(?![{_PICTURES}]))"
        rf"|(?<![^\s{_VARIANTS}])[{_VARIANTS}]"
        rf"|(?<![{_IDEOGRAPHS}])[\U000e0100-\U000e01ef]"
    )


def printable(text: str) -> str:
    """Untrusted text for a terminal: invisible and control characters are escaped."""
    if text.isascii() and text.translate(_HARMLESS).isprintable():
        return text
    return _steering().sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def printable_json(data: Any, *, indent: int | None = None) -> str:
    """JSON with the same characters escaped, safe for a terminal and the same data for a program."""
    import json  # noqa: PLC0415 - not needed for help

    text = json.dumps(data, ensure_ascii=False, indent=indent, default=str)
    return _steering().sub(lambda found: json.dumps(found[0])[1:-1], text)


# --- inside our messages ---

# Marks that we or our clients put around text; quoted text must not begin or end one.
MARKS = ("reminder", "system", "instructions", "letter", "hook_context")

# "<", its look-alikes, and its escapes in HTML, JSON and URLs.
_OPENING = (
    r"(?i)[<\uff1c\ufe64\u2039\u3008\u27e8\u2329\u02c2\u1438\u276e]"
    r"|&(?:amp;){0,3}(?:lt|\#0{0,5}60|\#x0{0,5}3c);?|\\u003c|\\x3c|%3c"
)
# How far after it a name may be; the search ends before the next mark.
_NEAR = 48
_ENDS = "[<>&]"
_APART = r"^[\W_]+|[^\w-]"
# Look-alike letters of other alphabets; NFKC folds compatible forms without a table.
_ALIKE = str.maketrans(
    "аαсϲԁеєҽһіıιӏⅼмոпоοрѕтτυսуүгⲅк01$@3",
    "aaccdeeehiiillmnnoopsttuuyyrrkoisae",
)


def quoted(text: str, *, marks: tuple[str, ...] = MARKS) -> str:
    """Untrusted text for one of our messages, with every form of our marks escaped.

    A backslash disables a mark and leaves it readable. Marks are recognised regardless of case,
    spaces, zero-width blanks, look-alike letters and escapes.
    """
    pieces: list[str] = []
    at = 0
    for found in re.finditer(_OPENING, text):
        if _names(text[found.end() : found.end() + _NEAR], marks):
            pieces += (text[at : found.end()], "\\")
            at = found.end()
    return "".join((*pieces, text[at:])) if pieces else text


def attribute(text: str) -> str:
    """Untrusted text as the value of an attribute: one line, with quotes escaped."""
    import html  # noqa: PLC0415 - its table of entities is large

    return html.escape(" ".join(text.split()))


def _names(following: str, marks: tuple[str, ...]) -> bool:
    # A backslash means that it is escaped already.
    if following.startswith("\\"):
        return False
    inside = re.split(_ENDS, following, maxsplit=1)[0]
    if not inside.isascii():
        import unicodedata  # noqa: PLC0415 - rarely needed

        inside = unicodedata.normalize("NFKD", inside)
    return re.sub(_APART, "", inside.casefold().translate(_ALIKE)).startswith(marks)
