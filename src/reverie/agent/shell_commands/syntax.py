"""Parses a shell command line into every simple command it could run.

The grammar is strict on purpose: what is not understood in exactly one way by sh, bash and dash
(here-documents, arithmetic, arrays, functions, loops, backquotes, `$'…'`) is not parsed at all,
and neither is a redirection that could write. How the commands are joined does not matter here:
pipes, lists, subshells and substitutions are all one flat list, since each must be harmless.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

# fixed: exactly `text`. begins: one or more words, each beginning with `text`, the rest unknown.
# anything: any number of words, nothing is known.
Certainty: TypeAlias = Literal["fixed", "begins", "anything"]

_BLANK = " \t"
_DIGITS = tuple("0123456789")
_ENDS_WORD = " \t\n;&|<>()"
_DEEPEST = 20
_LONGEST = 10_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\}|[0-9?#$]")
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_DESCRIPTOR = re.compile(r"[0-9]|-")
_NAMED_DESCRIPTOR = re.compile(r"[0-9]{2,}|\{.*\}")
_COMMENT = re.compile(r"#[^\n]*")
_REDIRECTION = re.compile(r"&>>|&>|>>|>&|>(?![|(])|<<<|<&|<(?![<>(])")


@dataclass(frozen=True, slots=True)
class Word:
    """One word as the shell reads it, without quotes and escapes."""

    text: str
    certainty: Certainty = "fixed"

    @property
    def fixed(self) -> bool:
        return self.certainty == "fixed"

    @property
    def may_be_option(self) -> bool:
        """Whether the program could take the word, or one it expands to, for an option."""
        if self.certainty == "anything":
            return True
        return self.text.startswith("-") or (not self.fixed and not self.text)


ANYTHING = Word("", "anything")


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program with its arguments, and the variables set for it."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, str], ...] = ()


def parse(line: str) -> tuple[SimpleCommand, ...] | None:
    """Every simple command of a line; None when the line cannot be parsed with certainty."""
    if len(line) > _LONGEST or not all(letter.isprintable() or letter in "\n\t" for letter in line):
        return None
    reader = _Reader(line)
    try:
        reader.script(until="")
    except _NotUnderstood:
        return None
    return tuple(reader.found)


class _NotUnderstood(Exception):
    """Raised by the parser, caught by `parse`."""


class _Draft:
    """A word being parsed; every expansion makes more of it unknown."""

    def __init__(self) -> None:
        self._text = ""
        self._certainty: Certainty = "fixed"
        self._brace: int | None = None

    def literal(self, text: str) -> None:
        if self._certainty == "fixed":
            self._text += text

    def expansion(self, *, splits: bool) -> None:
        if splits:
            self._text, self._certainty = "", "anything"
        elif self._certainty == "fixed":
            self._certainty = "begins"

    def brace(self) -> None:
        if self._brace is None:
            self._brace = len(self._text)
        self.literal("{")

    def word(self, raw: str) -> Word:
        """Braces expand only around a comma or a range."""
        if self._brace is None or not ("," in raw or ".." in raw):
            return Word(self._text, self._certainty)
        splits = self._certainty == "anything"
        return Word(self._text[: self._brace], "anything" if splits else "begins")


def _harmless(operator: str, target: Word) -> bool:
    """Whether a redirection only reads, closes, duplicates or discards."""
    descriptor = target.fixed and _DESCRIPTOR.fullmatch(target.text) is not None
    nowhere = target.fixed and target.text == "/dev/null"
    match operator:
        case "<<<":
            return True
        case "<&":
            return descriptor
        case ">&":
            return descriptor or nowhere
        case "<" if target.fixed:
            # Bash opens these two names as connections.
            return not target.text.startswith(("/dev/tcp", "/dev/udp"))
        case "<":
            return not target.may_be_option and not target.text.startswith("/")
        case _:
            return nowhere


class _Reader:
    def __init__(self, line: str) -> None:
        self._line = line
        self._at = 0
        self._depth = 0
        self.found: list[SimpleCommand] = []

    def script(self, until: str) -> None:
        """Commands, up to the closing parenthesis or the end of the line."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NotUnderstood
        self._skip_empty_lines()
        while self._next() != until:
            self._command()
            self._skip_blanks()
            if self._next() != until:
                self._separator()
            self._skip_empty_lines()
        self._at += len(until)
        self._depth -= 1

    def _command(self) -> None:
        if self._next() == "!" and self._next(1) in _BLANK:
            self._at += 2
            self._skip_blanks()
        if self._next() == "(":
            self._at += 1
            self.script(until=")")
            self._simple(only_redirections=True)
        else:
            self._simple(only_redirections=False)

    def _simple(self, *, only_redirections: bool) -> None:
        assignments: list[tuple[str, str]] = []
        words: list[Word] = []
        self._skip_blanks()
        while not self._at_separator():
            if not self._redirection():
                word = self._word()
                assigned = None if words else _ASSIGNMENT.match(word.text)
                if assigned and not word.fixed:
                    raise _NotUnderstood
                if assigned:
                    assignments.append((assigned[1], word.text[assigned.end() :]))
                else:
                    words.append(word)
            self._skip_blanks()
        if only_redirections == bool(words or assignments):
            raise _NotUnderstood
        if not only_redirections:
            self.found.append(SimpleCommand(tuple(words), tuple(assignments)))

    def _redirection(self) -> bool:
        """Parse a redirection if it is next; refuse any that could write or use the network."""
        start = self._at
        if self._next() in _DIGITS and self._next(1) in ("<", ">"):
            self._at += 1
        operator = self._match(_REDIRECTION)
        if not operator:
            self._at = start
            return False
        self._skip_blanks()
        if not _harmless(operator, self._word()):
            raise _NotUnderstood
        return True

    def _word(self) -> Word:
        draft = _Draft()
        start = self._at
        while (letter := self._next()) and letter not in _ENDS_WORD:
            self._at += 1
            match letter:
                case "'":
                    self._single_quoted(draft)
                case '"':
                    self._double_quoted(draft)
                case "\\":
                    self._escaped(draft)
                case "$":
                    self._dollar(draft, quoted=False)
                case "`":
                    raise _NotUnderstood
                case _:
                    self._bare(letter, draft, first=self._at == start + 1)
        raw = self._line[start : self._at]
        if self._line.startswith(("<(", ">("), self._at):
            self._process(draft, apart=not raw)
        elif not raw or self._next() == "(" or self._names_descriptor(raw):
            raise _NotUnderstood
        return Word(raw) if raw in ("[", "[[") else draft.word(raw)

    def _names_descriptor(self, raw: str) -> bool:
        """Whether some shells take this word for part of the redirection after it."""
        return self._next() in ("<", ">") and _NAMED_DESCRIPTOR.fullmatch(raw) is not None

    def _bare(self, letter: str, draft: _Draft, *, first: bool) -> None:
        if letter in "*?[":
            draft.expansion(splits=False)
        elif letter == "~" and first:
            draft.literal(letter)
            draft.expansion(splits=False)
        elif letter == "{":
            draft.brace()
        elif not letter.isascii():
            # In an old locale one of its bytes could count as a blank.
            draft.expansion(splits=True)
        else:
            draft.literal(letter)

    def _single_quoted(self, draft: _Draft) -> None:
        end = self._line.find("'", self._at)
        if end < 0:
            raise _NotUnderstood
        draft.literal(self._line[self._at : end])
        self._at = end + 1

    def _double_quoted(self, draft: _Draft) -> None:
        while (letter := self._next()) != '"':
            self._at += 1
            match letter:
                case "" | "`":
                    raise _NotUnderstood
                case "\\" if self._next() not in '$`"\\\n':
                    draft.literal("\\")
                case "\\":
                    self._escaped(draft)
                case "$":
                    self._dollar(draft, quoted=True)
                case _:
                    draft.literal(letter)
        self._at += 1

    def _escaped(self, draft: _Draft) -> None:
        letter = self._next()
        if not letter or not letter.isascii():
            raise _NotUnderstood
        self._at += 1
        if letter != "\n":
            draft.literal(letter)

    def _dollar(self, draft: _Draft, *, quoted: bool) -> None:
        if self._line.startswith("((", self._at):
            raise _NotUnderstood
        if self._next() == "(":
            self._at += 1
            self.script(until=")")
            draft.expansion(splits=not quoted)
        elif self._match(_NAME):
            draft.expansion(splits=not quoted)
        elif self._next() in ('"/|) \t\n' if quoted else _ENDS_WORD.replace("(", "")):
            draft.literal("$")
        else:
            raise _NotUnderstood

    def _process(self, draft: _Draft, *, apart: bool) -> None:
        """`<(…)` is a separate word: the name of a pipe to read from."""
        if not apart or self._next() == ">":
            raise _NotUnderstood
        self._at += 2
        self.script(until=")")
        draft.literal("/dev/fd/")
        draft.expansion(splits=False)
        if self._next() not in _ENDS_WORD:
            raise _NotUnderstood

    def _separator(self) -> None:
        for separator in ("&&", "||", "|", ";", "\n"):
            if self._line.startswith(separator, self._at):
                self._at += len(separator)
                if self._next() in ("|", "&", ";"):
                    raise _NotUnderstood
                return
        raise _NotUnderstood

    def _at_separator(self) -> bool:
        letter = self._next()
        if letter == "&":
            return self._next(1) != ">"
        return letter in ("", "\n", ";", "|", ")")

    def _skip_blanks(self) -> None:
        while (letter := self._next()) and (letter in _BLANK or self._continued()):
            self._at += 1 if letter in _BLANK else 2
        self._match(_COMMENT)

    def _skip_empty_lines(self) -> None:
        self._skip_blanks()
        while self._next() == "\n":
            self._at += 1
            self._skip_blanks()

    def _continued(self) -> bool:
        return self._line.startswith("\\\n", self._at)

    def _next(self, ahead: int = 0) -> str:
        """The next character; empty at the end."""
        at = self._at + ahead
        return self._line[at : at + 1]

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._line, self._at)
        if not found:
            return ""
        self._at = found.end()
        return found[0]
