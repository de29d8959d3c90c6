"""Whether a shell command certainly only reads, so that nobody need be asked before it runs.

Certain means: every program in the line is known, and so is every option it is given. All that is
unknown, or could become an option once the shell has expanded it, makes the answer no. A no costs
a question; a wrong yes would cost a file.
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
    """Does this command line, given to sh, bash or dash, certainly change nothing?"""
    commands = parse(command)
    return bool(commands) and all(map(_reads, commands or ()))


def starts_nothing(command: str, folder: Path, environment: Mapping[str, str]) -> bool:
    """Do the gits of a line that only reads start no other program, begun in this folder?

    Git does whatever the repository's own configuration says, and that comes along with an archive.
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
    """What follows the word git, wherever it stands: `timeout 5 git …` runs it, too."""
    found = (at for at, word in enumerate(words) if word == Word("git"))
    at = next(found, None)
    return None if at is None else words[at + 1 :]


def _folders(
    commands: tuple[SimpleCommand, ...], start: Path, environment: Mapping[str, str]
) -> set[Path] | None:
    """Every folder the line could be in at some time; None when that cannot be told.

    How the commands are joined is not known here, so each `cd` may or may not come before any other.
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
    """The folders of `-C`, which moves a git before it does anything else."""
    return [value.text for flag, value in pairwise(words) if flag == Word("-C")]


def _moved(start: Path, names: list[str]) -> set[Path]:
    found = {start}
    for name in names:
        found |= {place for one in found for place in _joined(one, name)}
    return found


def _joined(folder: Path, told: str) -> set[Path]:
    """Shells take `..` off the name, git off the folder that a link leads to."""
    there = folder / told
    return {Path(os.path.normpath(there)), Path(os.path.realpath(there))}


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
