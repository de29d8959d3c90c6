"""The text of a summary message: nine parts with their sizes, and what is put back after it (obligations, files as they are now, skills, the plan)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from reverie.context.facts.calls import action_of
from reverie.context.facts.outcomes import FileTouch, Todo
from reverie.context.user_messages import clipped, level
from reverie.core.foreign_text import MARKS, quoted
from reverie.core.messages import Attachment, Message, ToolResult, ToolUse
from reverie.core.window import Window, text_tokens

# Recent messages that stay verbatim beside a summary.
RECENT = 10_000

# Recent messages that stay beside the notes, which are some steps behind.
BESIDE_NOTES = 10_000
MOST_BESIDE_NOTES = 40_000
TEXTS_BESIDE_NOTES = 5

FILES = 5
FILE = 5_000
ALL_FILES = 50_000
EXTRA = 5_000
ALL_EXTRAS = 25_000

_FULL_FROM = 100_000


def scaled(tokens: int, window: Window) -> int:
    """Scale a size meant for large windows down to a smaller window."""
    return tokens if window.tokens >= _FULL_FROM else tokens * window.tokens // _FULL_FROM


_INTRO = "What was said here is no longer in the window; the summary below stands in its place."
_NEXT = "What was said next is no longer in the window either:"
_END = (
    "Go on with the work where it stopped. Do not retell the summary, and ask nothing it answers."
)
_OPEN, _CLOSE = "<summary>", "</summary>"


def worded(body: str, transcript: str, *, follows: bool = False) -> str:
    """The text of the summary message; `transcript` is the path of the full transcript.

    One that follows another does not repeat what the first says about both.
    """
    text = f"{_OPEN}\n{quoted(body, marks=(*MARKS, 'summary'))}\n{_CLOSE}"
    if follows:
        return f"{_NEXT}\n{text}"
    where = (
        f"Every word is kept in {transcript}: read or search that file for a detail that is "
        "missing here."
    )
    intro = f"{_INTRO}\n{where}" if transcript else _INTRO
    return f"{intro}\n\n{text}\n\n{_END}"


def is_summary(message: Message) -> bool:
    return message.origin == "reverie" and message.text.startswith((_INTRO, _NEXT))


def body_of(message: Message) -> str:
    """The body that `worded` was given."""
    _, _, rest = message.text.partition(f"{_OPEN}\n")
    return rest.rpartition(f"\n{_CLOSE}")[0]


def cut_sections(text: str, room: int, path: str = "") -> str:
    """Cut the longest sections of the notes to `room` tokens, each with the path of the full notes."""
    sections = _sections(text.strip("\n"))
    lengths = [text_tokens(section) + 1 for section in sections]
    cap = level(lengths, room) - 1
    whole = f"the whole notes are in {path}" if path else ""
    return "\n".join(clipped(section, cap, whole) for section in sections)


def _sections(text: str) -> list[str]:
    """Each heading with the lines under it."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.startswith("# ") and found[-1]:
            found.append([])
        found[-1].append(line)
    return ["\n".join(lines) for lines in found]


TITLES = (
    "Primary request and intent",
    "Key technical concepts",
    "Files and code",
    "Errors and fixes",
    "Problem solving",
    "All user messages",
    "Pending tasks",
    "Current work",
    "Next step",
)
USER_MESSAGES = TITLES.index("All user messages")

# Never written by the model: the user's messages are copied from the transcript.
_BESIDE = "Word for word beside this summary."

# With fewer parts a reply is no summary, unless the text inside the tags has this length.
_FEWEST = 3
_SHORTEST_OVERVIEW = 200

_NAMES = (
    r"(?:primary|main|user'?s?) requests?(?: (?:and|&) intent)?",
    r"(?:key )?(?:technical )?concepts",
    r"files(?: (?:and|&) code(?: sections| snippets)?)?",
    r"errors?(?: (?:and|&) fix(?:es)?)?",
    r"problem[- ]solving",
    r"(?:all )?user messages",
    r"pending tasks?",
    r"current (?:work|state)",
    r"(?:optional )?next steps?",
)
# Parses a line as a heading: the number of its part and the rest of the line.
_Heading: TypeAlias = Callable[[str], tuple[int, str] | None]

_MARKS = r"[ \t]{0,3}(?P<hashes>#{1,6})?[ \t]*(?P<bold>\*\*|__)?[ \t]*"
_NUMBER = r"(?P<number>\d{1,2})[.):][ \t]*"
_NAMED = re.compile(
    rf"{_MARKS}(?:{_NUMBER})?(?:\*\*|__)?[ \t]*"
    + "(?:"
    + "|".join(f"(?P<part{i}>{name})" for i, name in enumerate(_NAMES))
    + r")[ \t]*(?:\([^)\n]*\))?[ \t]*(?:\*\*|__)?[ \t]*(?P<colon>:)?[ \t]*(?:\*\*|__)?(?P<rest>.*)",
    re.IGNORECASE,
)
_NUMBERED = re.compile(rf"{_MARKS}{_NUMBER}(?P<rest>.*)")

_SCRATCH_BEFORE_SUMMARY = re.compile(
    r"<analysis>.*</analysis>\s*(?=<summary>)", re.DOTALL | re.IGNORECASE
)
_SCRATCH = re.compile(r"<analysis>.*?</analysis>", re.DOTALL | re.IGNORECASE)
_UNCLOSED_SCRATCH = re.compile(r"<analysis>.*?(?=<summary>)", re.DOTALL | re.IGNORECASE)
_SUMMARY = re.compile(r"<summary>(.*?)(?:</summary>(?!.*</summary>)|\Z)", re.DOTALL | re.IGNORECASE)
_TAGS_AT_ENDS = re.compile(r"\A\s*(?:</?(?:summary|analysis)>\s*)+|(?:\s*</?summary>)+\s*\Z", re.I)
_OUTER_FENCE = re.compile(r"\A\s*```[\w-]*\n(.*)\n```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Parts:
    """One text per part, empty where there is none; `overview` is the text before all headings."""

    texts: tuple[str, ...] = ("",) * len(TITLES)
    overview: str = ""

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(
            title
            for i, title in enumerate(TITLES)
            if i != USER_MESSAGES and not self.texts[i].strip()
        )

    def completed(self, other: Parts) -> Parts:
        """Fill empty parts from `other`."""
        texts = (mine or theirs for mine, theirs in zip(self.texts, other.texts, strict=True))
        return replace(self, texts=tuple(texts), overview=self.overview or other.overview)


def parse_reply(reply: str) -> Parts | None:
    """Parse the summary in a model's reply, without its scratch pad; None when it is unusable."""
    text = _SCRATCH_BEFORE_SUMMARY.sub("", reply, count=1)
    text = _SCRATCH.sub("", text)
    text = _UNCLOSED_SCRATCH.sub("", text, count=1)
    tagged = _SUMMARY.search(text)
    inside = _TAGS_AT_ENDS.sub("", tagged[1] if tagged else text)
    fenced = _OUTER_FENCE.match(inside)
    parts = parse(fenced[1] if fenced else inside)
    if not tagged or len(parts.overview) < _SHORTEST_OVERVIEW:
        parts = replace(parts, overview="")
    found = len(TITLES) - 1 - len(parts.missing)
    return parts if found >= _FEWEST or parts.overview else None


def parse(text: str) -> Parts:
    """Split a text by the titles of its headings, or by their numbers if no title is known."""
    named = _split(text, _named)
    return named if any(named.texts) else _split(text, _numbered)


def render(parts: Parts, room: int, whole: str = "") -> str:
    """Render all nine parts under their headings within `room` tokens; the longest are cut."""
    headings = [f"## {i}. {title}" for i, title in enumerate(TITLES, 1)]
    texts = [text.strip() or "Nothing." for text in parts.texts]
    texts[USER_MESSAGES] = _BESIDE
    overview = parts.overview.strip()
    frame = sum(text_tokens(heading) + 1 for heading in headings)
    lengths = [text_tokens(text) + 1 for text in (*texts, overview)]
    cap = level(lengths, room - frame) - 1
    blocks = [
        f"{heading}\n{clipped(text, cap, whole)}"
        for heading, text in zip(headings, texts, strict=True)
    ]
    return "\n\n".join(([clipped(overview, cap, whole)] if overview else []) + blocks)


def _split(text: str, heading: _Heading) -> Parts:
    found: list[list[str]] = [[] for _ in TITLES]
    overview: list[str] = []
    current = overview
    for line, fenced in _lines(text):
        part = None if fenced else heading(line)
        if part is None:
            current.append(line)
        else:
            number, rest = part
            current = found[number]
            current += [rest] if rest else []
    return Parts(tuple(_joined(lines) for lines in found), _joined(overview))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Every line, and whether it is inside a code fence, where no heading can be."""
    inside = False
    for line in text.split("\n"):
        mark = line.lstrip().startswith("```")
        yield line, inside or mark
        inside ^= mark


def _named(line: str) -> tuple[int, str] | None:
    match = _NAMED.fullmatch(line.rstrip())
    if match is None:
        return None
    rest = match["rest"].strip(" \t*_")
    if rest and not match["colon"]:
        return None
    return next(i for i in range(len(TITLES)) if match[f"part{i}"]), rest


def _numbered(line: str) -> tuple[int, str] | None:
    match = _NUMBERED.fullmatch(line.rstrip())
    if match is None or not (match["hashes"] or match["bold"]):
        return None
    number = int(match["number"])
    return (number - 1, "") if 1 <= number <= len(TITLES) else None


def _joined(lines: list[str]) -> str:
    return "\n".join(lines).strip("\n").rstrip()


FILE_LABEL = "file"

# Returns a file's current text, or None when it can no longer be read.
ReadFile: TypeAlias = Callable[[str], str | None]

_PIECES = frozenset({"offset", "limit", "view_range", "pages"})
_NOT_WHOLE = ("<persisted-output>", "[Old tool result content cleared")


@dataclass(frozen=True, slots=True)
class Restorable:
    """Other loaded content that is needed again: a skill, the plan, tools loaded later."""

    label: str
    text: str


def wanted(files: Sequence[FileTouch], kept: Sequence[Message]) -> tuple[str, ...]:
    """The last read files, newest first, without those whose whole text is in the kept messages."""
    there = whole_files(kept)
    recent = (touch.path for touch in reversed(files) if touch.reads and touch.path not in there)
    return tuple(recent)[:FILES]


def whole_files(messages: Iterable[Message]) -> frozenset[str]:
    """The files whose whole text is in these messages."""
    reading: dict[str, str] = {}
    found: set[str] = set()
    for message in messages:
        for block in message.blocks:
            match block:
                case ToolUse() if not _PIECES & block.input.keys():
                    action = action_of(block)
                    if action.kind == "read":
                        reading[block.id] = action.target
                case ToolResult(id_, _, False) if id_ in reading:
                    if block.text and not block.text.startswith(_NOT_WHOLE):
                        found.add(reading[id_])
                case _:
                    pass
    return frozenset(found)


def restored(
    paths: Sequence[str], extras: Sequence[Restorable], read_file: ReadFile, window: Window
) -> tuple[Attachment, ...]:
    """Build the attachments, each cut to its limit: skills and plan first, then files."""
    guides = (
        Attachment(extra.label, clipped(extra.text, scaled(EXTRA, window))) for extra in extras
    )
    files = (
        file(path, text, scaled(FILE, window))
        for path in paths
        if (text := read_file(path)) is not None
    )
    return (
        *fitting(guides, scaled(ALL_EXTRAS, window)),
        *fitting(files, scaled(ALL_FILES, window)),
    )


def fitting(attachments: Iterable[Attachment], room: int) -> tuple[Attachment, ...]:
    """As many attachments as fit, in order; one that does not fit is skipped."""
    kept: list[Attachment] = []
    for attachment in attachments:
        size = text_tokens(attachment.text)
        if size <= room:
            kept.append(attachment)
            room -= size
    return tuple(kept)


def file(path: str, text: str, room: int) -> Attachment:
    lead = f"{path}, as it is on disk now:\n"
    return Attachment(FILE_LABEL, lead + clipped(text, room - text_tokens(lead), "read the file"))


OBLIGATIONS_LABEL = "obligations"

_LEAD = "Still owed at this point, from the session's own records."
_REQUEST = "The user's last request, word for word:"
_REQUEST_ELSEWHERE = (
    "The user's last request is the last of their messages, word for word beside this."
)


@dataclass(frozen=True, slots=True)
class Running:
    """A running sub-agent or background task; `id` is its address."""

    id: str
    what: str


@dataclass(frozen=True, slots=True)
class Obligations:
    """What is still open. `request` is empty when the conversation still contains it."""

    request: str = ""
    todos: tuple[Todo, ...] = ()
    running: tuple[Running, ...] = ()
    questions: tuple[str, ...] = ()


def render_obligations(owed: Obligations, room: int) -> Attachment | None:
    """Render the obligations within `room` tokens; None when there are none.

    A long request is not repeated, because the user's messages are carried verbatim anyway.
    """
    lists = [
        *_listed("Open todos:", [_todo(todo) for todo in owed.todos if todo.open]),
        *_listed("Running now:", [f"{running.id}: {running.what}" for running in owed.running]),
        *_listed("Questions that wait for an answer:", list(owed.questions)),
    ]
    quoted = "\n".join([_REQUEST, *(f"> {line}" for line in owed.request.split("\n"))])
    for request in (quoted, _REQUEST_ELSEWHERE):
        parts = [request, *lists] if owed.request else lists
        text = "\n\n".join([_LEAD, *parts])
        if text_tokens(text) <= room:
            break
    return Attachment(OBLIGATIONS_LABEL, clipped(text, room)) if parts else None


def _listed(title: str, items: list[str]) -> list[str]:
    return ["\n".join([title, *(f"- {item}" for item in items)])] if items else []


def _todo(todo: Todo) -> str:
    return f"{todo.text} ({todo.status.replace('_', ' ')})"
