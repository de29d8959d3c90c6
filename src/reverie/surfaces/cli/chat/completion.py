"""Completion while typing: slash commands at the start of a line, files behind an @."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion

from reverie.surfaces.cli.chat.slash import COMMANDS
from reverie.surfaces.cli.figures import printable

if TYPE_CHECKING:
    from prompt_toolkit.document import Document

_MENTION = re.compile(r"(?:^|\s)@(\S*)$")
_MOST_FILES = 200


class ChatCompleter(Completer):
    """`root` is where paths begin."""

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
    """What lies in the folder typed so far; hidden files only when asked for."""
    folder, _, start = typed.rpartition("/")
    lead = f"{folder}/" if folder or typed.startswith("/") else ""
    names = _names(root, lead)
    fitting = (name for name in names if name.lower().startswith(start.lower()))
    visible = (name for name in fitting if start.startswith(".") or not name.startswith("."))
    # The line that is being edited is drawn as it is: no name that could steer the terminal.
    visible = (name for name in visible if printable(name) == name)
    for name, _ in zip(visible, range(_MOST_FILES), strict=False):
        yield Completion(f"{lead}{name}", start_position=-len(typed), display=name)


def _names(root: Path, folder: str) -> list[str]:
    """None for a folder that cannot be read, or a `~somebody` nobody knows."""
    try:
        with os.scandir(root / Path(folder).expanduser()) as entries:
            return sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in entries)
    except (OSError, ValueError, RuntimeError):
        return []
