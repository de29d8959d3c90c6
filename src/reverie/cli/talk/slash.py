"""What is typed: lines as prompts or slash commands, folded pastes, and completion."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from prompt_toolkit.completion import CompleteEvent, Completer, Completion

from reverie.cli.invocation import printable
from reverie.recall.prompt_kind import asks
from reverie.text.statements import statements
from reverie.text.word_classes import language_of

if TYPE_CHECKING:
    from prompt_toolkit.document import Document


@dataclass(frozen=True, slots=True)
class Slash:
    """One slash command; an optional `argument` is written in brackets."""

    name: str
    argument: str
    about: str
    aliases: tuple[str, ...] = ()

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.argument}".rstrip()

    @property
    def needs_argument(self) -> bool:
        return bool(self.argument) and not self.argument.startswith("[")


COMMANDS: tuple[Slash, ...] = (
    Slash("help", "", "This list."),
    Slash("remember", "TEXT", "Save a memory."),
    Slash("recall", "QUESTION", "The memories that fit a question."),
    Slash("undo", "[REV]", "Undo the last change to memory, or the one named."),
    Slash("redo", "", "Redo what was undone last."),
    Slash("search", "WORDS", "Memories and past conversations."),
    Slash("memory", "", "Where memory is kept, and its index."),
    Slash("inbox", "", "Proposed memories that wait for you."),
    Slash("dream", "[stop]", "Tidy memory in the background now; or stop it."),
    Slash("context", "", "What fills the window."),
    Slash("compact", "[FOCUS]", "Summarise the conversation to make room; say what matters most."),
    Slash("snip", "ROUNDS [NOTE]", "Drop this many finished rounds from the window."),
    Slash("notes", "", "The notes of this session."),
    Slash("todos", "", "What the agent still has to do."),
    Slash("agents", "[types or stop NAME]", "The agents of this session; their types; or end one."),
    Slash("cost", "", "What this session cost, and on what."),
    Slash("model", "[NAME]", "Which model answers; or change it."),
    Slash("clear", "", "Begin a new conversation."),
    Slash("resume", "[ID]", "List past conversations, or continue one."),
    Slash("exit", "", "Leave.", aliases=("quit",)),
)

NAMES: dict[str, Slash] = {
    name: command for command in COMMANDS for name in (command.name, *command.aliases)
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class Called:
    """A slash command with its argument."""

    command: Slash
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Mistyped:
    """An unknown or incomplete command; `advice` says what to type instead."""

    advice: str


@dataclass(frozen=True, slots=True)
class Shell:
    """A shell command the user runs; the model sees its output with the next message."""

    command: str


Line: TypeAlias = Prompt | Called | Shell | Mistyped | None

# `/etc/hosts is wrong` is about a file: a command's name ends at a space or the end of the line.
_COMMAND = re.compile(r"/([A-Za-z?][A-Za-z-]*)(?:\s+(.*))?", re.DOTALL)
_REMEMBER = re.compile(
    r"(?:please\s+)?remember\s*(?:(?:that|this)\b)?\s*[:,]?\s+(.+)", re.IGNORECASE | re.DOTALL
)

# One line after a single `#`; a pasted document with headings is a prompt.
_NOTE = re.compile(r"#(?!#)\s*(\S.*)")


def read_line(line: str, *, offline: bool = False) -> Line:
    """Parse a line; None if it is empty. Offline, "remember …" is /remember: no model would do it.

    `!ls` runs a command, `#fact` saves a memory, and a bare `exit` leaves.
    """
    text = line.strip()
    if not text:
        return None
    if found := _COMMAND.fullmatch(text):
        return _called(found[1].lower(), (found[2] or "").strip())
    if text.startswith("!") and text[1:].strip():
        return Shell(text[1:].strip())
    return _in_words(text, offline=offline)


def _in_words(text: str, *, offline: bool) -> Prompt | Called:
    if text.lower() in ("exit", "quit"):
        return Called(NAMES["exit"])
    if found := _NOTE.fullmatch(text):
        return Called(NAMES["remember"], found[1])
    if offline and (found := _REMEMBER.fullmatch(text)) and not text.endswith("?"):
        return Called(NAMES["remember"], found[1].strip())
    return Prompt(text)


def states_fact(text: str) -> bool:
    """Whether a line states something in one sentence: a subject and a verb, not a question."""
    if "\n" in text or asks(text):
        return False
    found = statements(text, language_of(text))
    return any(one.parsed and one.tokens[0].phrase == 0 for one in found)


def _called(name: str, rest: str) -> Called | Mistyped:
    command = NAMES.get("help" if name == "?" else name)
    if command is None:
        return Mistyped(_no_such(name))
    if command.needs_argument and not rest:
        return Mistyped(f"/{command.name} needs more: {command.usage}")
    return Called(command, rest)


def _no_such(name: str) -> str:
    close = get_close_matches(name, NAMES, n=1) or [
        known for known in NAMES if known[:2] == name[:2]
    ]
    hint = f"did you mean /{close[0]}?" if close else "/help lists them"
    return f"there is no /{name}; {hint}"


class Pastes:
    """Long pasted texts, shown in the input as one short mark each."""

    _LINES = 10
    _CHARACTERS = 1_000

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def folded(self, pasted: str) -> str:
        """The text for the input: a mark in place of a long text."""
        text = pasted.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        if lines <= self._LINES and len(text) <= self._CHARACTERS:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        mark = f"[pasted text {len(self._texts) + 1}: {size}]"
        self._texts[mark] = text
        return mark

    def unfolded(self, typed: str) -> str:
        """The message with the pasted texts in place of their marks."""
        for mark, text in self._texts.items():
            typed = typed.replace(mark, text)
        return typed


_MENTION = re.compile(r"(?:^|\s)@(\S*)$")
_MOST_FILES = 200


class ChatCompleter(Completer):
    """Completes /commands and @files; paths are relative to `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        before = document.text_before_cursor
        if before.startswith("/") and not before[1:].strip(_LETTERS):
            yield from _commands(before[1:])
        elif found := _MENTION.search(before):
            yield from _files(self._root, found[1])


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def _commands(typed: str) -> Iterator[Completion]:
    for command in COMMANDS:
        if command.name.startswith(typed):
            yield Completion(
                command.name,
                start_position=-len(typed),
                display=command.usage,
                display_meta=command.about,
            )


def _files(root: Path, typed: str) -> Iterator[Completion]:
    """The files in the folder typed so far; hidden files only after a dot."""
    folder, _, start = typed.rpartition("/")
    lead = f"{folder}/" if folder or typed.startswith("/") else ""
    names = _names(root, lead)
    fitting = (name for name in names if name.lower().startswith(start.lower()))
    visible = (name for name in fitting if start.startswith(".") or not name.startswith("."))
    # The input line is drawn unescaped: leave out names with control characters.
    visible = (name for name in visible if printable(name) == name)
    for name, _ in zip(visible, range(_MOST_FILES), strict=False):
        yield Completion(f"{lead}{name}", start_position=-len(typed), display=name)


def _names(root: Path, folder: str) -> list[str]:
    """The names in a folder; none if it cannot be read or names an unknown `~user`."""
    try:
        with os.scandir(root / Path(folder).expanduser()) as entries:
            return sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
    except (OSError, ValueError, RuntimeError):
        return []
