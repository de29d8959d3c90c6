"""Whether a shell command certainly only reads, so that nobody need be asked before it runs.

Certain means: every program in the line is known, and so is every option it is given. All that is
unknown, or could become an option once the shell has expanded it, makes the answer no. A no costs
a question; a wrong yes would cost a file.
"""

from __future__ import annotations

import re

from reverie.agent.shell_commands.git import reading_environment
from reverie.agent.shell_commands.programs import program_reads
from reverie.agent.shell_commands.syntax import SimpleCommand, parse

__all__ = ["reading_environment", "reads_only"]


def reads_only(command: str) -> bool:
    """Does this command line, given to sh, bash or dash, certainly change nothing?"""
    commands = parse(command)
    return bool(commands) and all(map(_reads, commands or ()))


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
