"""Rules for the arguments with which a program only reads: harmless options and operands."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reverie.agent.shell_commands.syntax import Word

Words: TypeAlias = Sequence[Word]
Rule: TypeAlias = Callable[[Words], bool]


def anything(words: Words) -> bool:
    """For programs that never write, whatever their arguments."""
    return True


def no_words(words: Words) -> bool:
    return not words


def at_most_one(words: Words) -> bool:
    """For programs that write to their second operand."""
    return len(words) <= 1 and all(word.fixed for word in words)


@dataclass(frozen=True, slots=True)
class Options:
    """The options that are known to be harmless; any other refuses the command.

    Every word that could be an option must be one of these, wherever it stands: what comes after
    `--`, or is the value of another option, is judged all the same, so that no program's own way
    of counting values can lead us astray. Long options are matched whole, never by prefix; one
    listed as `name=` must carry its value with it.
    """

    short: str = ""
    valued: str = ""
    long: frozenset[str] = frozenset()
    operands: Rule = anything
    numeric: bool = False

    def __call__(self, words: Words) -> bool:
        operands: list[Word] = []
        value_follows = False
        for word in words:
            if not word.may_be_option or word == Word("-"):
                operands += [] if value_follows else [word]
                value_follows = False
            elif self._harmless(word):
                value_follows = self._takes_next(word.text)
            else:
                return False
        return self.operands(operands)

    def _harmless(self, word: Word) -> bool:
        if not word.fixed:
            return False
        if word.text.startswith("--"):
            name, equals, _ = word.text[2:].partition("=")
            return not name or name in self.long or name + equals in self.long
        if self.numeric and word.text[1:].isdigit():
            return True
        flags = self._flags(word.text)
        return all(flag in self.short + self.valued for flag in flags)

    def _flags(self, text: str) -> str:
        """The letters of a cluster that are options; what follows an option with a value is its value."""
        letters = text[1:]
        ends = [letters.index(flag) + 1 for flag in self.valued if flag in letters]
        return letters[: min(ends, default=len(letters))]

    def _takes_next(self, text: str) -> bool:
        apart = self._flags(text) == text[1:]
        return apart and not text.startswith("--") and text[-1] in self.valued


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


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
    # Compiled on first use: it is large, and most sessions run no sed.
    return re.fullmatch(rf"{_SED_COMMAND}(?:[;\n]{_SED_COMMAND})*", script) is not None


# Pipes, redirections, indirect calls, and the functions that run or load something.
_AWK_ACTS = re.compile(r"[|>@]|system|getline|extension|close|\\\n")


def awk_reads(words: Words) -> bool:
    """An awk program that cannot write, run or connect; options -F and -v."""
    rest = list(words)
    while rest and rest[0].fixed and rest[0].text.startswith("-"):
        flag, *rest = rest
        if flag.text in ("-F", "-v") and rest and rest[0].fixed:
            rest = rest[1:]
        elif not re.fullmatch(r"-F.+|-v\w+=.*", flag.text):
            return False
    if not rest or not rest[0].fixed or _AWK_ACTS.search(rest[0].text):
        return False
    # gawk opens names below /inet as connections.
    return all(
        not word.may_be_option and not "/inet".startswith(word.text[:5]) for word in rest[1:]
    )
