"""Small programs inside a command line, sed's and awk's, proven to only read or refused."""

from __future__ import annotations

import re

from reverie.agent.shell_commands.options import Words
from reverie.agent.shell_commands.syntax import Word

# Text between slashes. A bracket must close before the next slash: seds disagree on what a slash
# inside one means.
_REGEX = r"(?:[^/\\\[\n]|\\[^\n]|\[\^?+(?:[^][/\\\n]|\[:[a-z]+:\])+\])*"
_REPLACEMENT = r"(?:[^/\\\n]|\\[^\n])*"
_ADDRESS = rf"(?:\d+(?:~\d+)?|\$|/{_REGEX}/I?)"
_RANGE = rf"(?:{_ADDRESS}(?:,[+~]?\d+|,{_ADDRESS})?)?"
_SED_COMMAND = (
    rf"[ \t]*+{_RANGE}[ \t]*+!?[ \t]*+(?:[pdq=]|s/{_REGEX}/{_REPLACEMENT}/[gpiI0-9]*+)?[ \t]*+"
)
_SED_FLAGS = re.compile(r"-[nErsuz]+|--quiet|--silent|--regexp-extended|--separate|--null-data")


def sed_reads(words: Words) -> bool:
    """Scripts that print, delete, quit or substitute, without `w`, `e` or `-i`."""
    scripts: list[Word] = []
    operands: list[Word] = []
    rest = list(words)
    while rest:
        word, *rest = rest
        if not word.may_be_option:
            operands.append(word)
        elif word == Word("-e") or (word.fixed and re.fullmatch(r"-[nErsuz]+e", word.text)):
            scripts, rest = [*scripts, *rest[:1]], rest[1:]
        elif not word.fixed or not _SED_FLAGS.fullmatch(word.text):
            return False
    scripts = scripts or operands[:1]
    return bool(scripts) and all(word.fixed and _harmless_script(word.text) for word in scripts)


def _harmless_script(script: str) -> bool:
    # Compiled when it is needed: it is large, and most sessions never see a sed.
    return re.fullmatch(rf"{_SED_COMMAND}(?:[;\n]{_SED_COMMAND})*", script) is not None


# Pipes, redirections, indirect calls, and the functions that run or load something.
_AWK_ACTS = re.compile(r"[|>@]|system|getline|extension|close|\\\n")


def awk_reads(words: Words) -> bool:
    """A program without any means to write, run or connect; options -F and -v."""
    rest = list(words)
    while rest and rest[0].fixed and rest[0].text.startswith("-"):
        flag, *rest = rest
        if flag.text in ("-F", "-v") and rest and rest[0].fixed:
            rest = rest[1:]
        elif not re.fullmatch(r"-F.+|-v\w+=.*", flag.text):
            return False
    if not rest or not rest[0].fixed or _AWK_ACTS.search(rest[0].text):
        return False
    # One awk takes names below /inet for connections.
    return all(
        not word.may_be_option and not "/inet".startswith(word.text[:5]) for word in rest[1:]
    )
