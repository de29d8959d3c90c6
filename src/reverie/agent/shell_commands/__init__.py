"""Decides whether a shell command certainly only reads, so that it can run without asking.

Certain means that every program in the line is known, and so is every option it is given. Anything
unknown, or that could become an option after expansion, makes the answer no. A no costs a question;
a wrong yes would cost a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from itertools import pairwise, product
from pathlib import Path

from reverie.agent.shell_commands.programs import program_reads
from reverie.agent.shell_commands.syntax import SimpleCommand, Word, parse
from reverie.files.git import unknown_settings

__all__ = ["reads_only", "starts_nothing"]

_MOST_FOLDERS = 64


def reads_only(command: str) -> bool:
    """Whether this command line certainly changes nothing in sh, bash or dash."""
    commands = parse(command)
    return bool(commands) and all(map(_reads, commands or ()))


def starts_nothing(command: str, folder: Path, environment: Mapping[str, str]) -> bool:
    """Whether the git commands of a read-only line, run in this folder, start no other program.

    Git runs programs that the repository's configuration names, and an archive may contain one.
    """
    commands = parse(command) or ()
    gits = [at for one in commands if (at := _after_git(one.words)) is not None]
    if not gits:
        return True
    folders = _folders(commands, folder, environment)
    if folders is None:
        return False
    given = [_given(words) for words in gits]
    if any(name.startswith("~") for names in given for name in names):
        return False
    places = {place for names in given for start in folders for place in _moved(start, names)}
    return not any(unknown_settings(place, environment) for place in sorted(places))


def _after_git(words: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The words after `git`, which need not come first: `timeout 5 git …` runs it, too."""
    found = (at for at, word in enumerate(words) if word == Word("git"))
    at = next(found, None)
    return None if at is None else words[at + 1 :]


def _folders(
    commands: tuple[SimpleCommand, ...], start: Path, environment: Mapping[str, str]
) -> set[Path] | None:
    """Every folder the line could be in at some time; None when that cannot be known.

    How the commands are joined is not known here, so `cd` commands may run in any order or not at all.
    """
    moves = [one.words[1:] for one in commands if one.words[:1] == (Word("cd"),)]
    found = {start}
    if moves and (environment.get("CDPATH") or any(not _plain_move(words) for words in moves)):
        return None
    for _ in moves:
        for place, words in product(sorted(found), moves):
            found |= _joined(place, words[-1].text)
        if len(found) > _MOST_FOLDERS:
            return None
    return found


def _plain_move(words: tuple[Word, ...]) -> bool:
    match words:
        case (Word(text, "fixed"),) | (Word("--", "fixed"), Word(text, "fixed")):
            return bool(text) and not text.startswith(("-", "~"))
    return False


def _given(words: tuple[Word, ...]) -> list[str]:
    """The folders given with `-C`, in which git then runs."""
    return [value.text for flag, value in pairwise(words) if flag == Word("-C")]


def _moved(start: Path, names: list[str]) -> set[Path]:
    found = {start}
    for name in names:
        found |= {place for one in found for place in _joined(one, name)}
    return found


def _joined(folder: Path, name: str) -> set[Path]:
    """Shells resolve `..` in the name, git after following links: both results."""
    path = folder / name
    return {Path(os.path.normpath(path)), Path(os.path.realpath(path))}


def _reads(command: SimpleCommand) -> bool:
    if not all(_harmless_variable(name, value) for name, value in command.assignments):
        return False
    return not command.words or program_reads(command.words)


_HARMLESS_VARIABLES = {
    "COLUMNS": r"\d*",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "NO_COLOR": r"\w*",
    "PAGER": "cat",
    "TZ": r"[\w+-]+(/[\w+-]+)*",
}


def _harmless_variable(name: str, value: str) -> bool:
    language = name == "LANG" or name.startswith("LC_")
    allowed = r"[\w.-]*" if language else _HARMLESS_VARIABLES.get(name)
    return allowed is not None and re.fullmatch(allowed, value) is not None
