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

from reverie.agent.shell_commands.git import (
    Options,
    Rule,
    Words,
    at_most_one,
    awk_reads,
    git_reads,
    names,
    no_words,
    sed_reads,
)
from reverie.agent.shell_commands.syntax import ANYTHING, SimpleCommand, Word, parse
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
    names = {words[-1].text for words in moves}
    for _ in moves:
        for place, name in product(tuple(found), names):
            found |= _joined(place, name)
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


def program_reads(words: Words) -> bool:
    """Whether the program that these words start certainly only reads."""
    if not words or not words[0].fixed:
        return False
    name = words[0].text
    if name in _PLAIN:
        return True
    if name in _VERSIONED:
        return list(words[1:]) == [Word("--version")]
    rule = _RULES.get(name)
    return rule is not None and rule(words[1:])


# Programs and builtins that neither write nor run other programs, whatever their arguments.
_PLAIN = names("""
    : b2sum basename cat cd cksum cmp column comm cut df diff dirname du echo egrep expand expr
    false fgrep fmt fold free grep groups head hexdump id join jq ls lsblk lscpu md5 md5sum nl nproc
    numfmt od paste pgrep printenv ps pwd readlink realpath rev seq sha1sum sha224sum sha256sum
    sha384sum sha512sum shasum sleep stat strings sum tac tail tr true tsort type uname unexpand
    uptime wc whereis which whoami
""")

# Programs that run code, but with a version option alone only print their version.
_VERSIONED = names("bash gcc make node python python3")


def _builtin_test(words: Words) -> bool:
    """Shells evaluate text in brackets in some operands of `test`."""
    return all(
        word.fixed and word.text not in ("-v", "-R") and not re.search(r"[$`\[]", word.text)
        for word in words
    )


def _printf(words: Words) -> bool:
    """`printf -v` assigns, and a subscript in the name would be evaluated."""
    return all(
        not word.may_be_option and word.fixed and not re.search(r"[$`]", word.text)
        for word in words
    )


def _command(words: Words) -> bool:
    return bool(words) and words[0] in (Word("-v"), Word("-V"))


def _time(words: Words) -> bool:
    return program_reads(words[1:] if words and words[0] == Word("-p") else words)


def _timeout(words: Words) -> bool:
    lasting = words and words[0].fixed and re.fullmatch(r"\d+(\.\d+)?[smhd]?", words[0].text)
    return bool(lasting) and program_reads(words[1:])


def _nice(words: Words) -> bool:
    match words:
        case [Word("-n", "fixed"), number, *rest]:
            return number.fixed and number.text.isdigit() and program_reads(rest)
    return program_reads(words)


_XARGS_FLAG = re.compile(r"-[0rt]+|-[nPL]\d+|-I({}|%|@)|-d.+|--null|--no-run-if-empty")


def _xargs(words: Words) -> bool:
    """xargs turns its input into arguments: the program must be harmless with any of them."""
    rest = list(words)
    inserted: list[str] = []
    while rest and rest[0].text.startswith("-"):
        flag, *rest = rest
        if flag.fixed and flag.text in ("-n", "-P", "-L", "-I", "-d") and rest:
            flag, rest = Word(flag.text + rest[0].text, rest[0].certainty), rest[1:]
        if not flag.fixed or not _XARGS_FLAG.fullmatch(flag.text):
            return False
        inserted += [flag.text[2:]] if flag.text.startswith("-I") else []
    started = rest or [Word("echo")]
    # A later flag can undo -I, so the input may still be appended.
    return program_reads([*_with_unknown(started, inserted), ANYTHING])


def _with_unknown(words: Words, inserted: list[str]) -> list[Word]:
    """The words, with those that text is inserted into marked as unknown."""
    return [ANYTHING if any(mark in word.text for mark in inserted) else word for word in words]


_FIND = names("""
    -H -L -P -a -amin -and -anewer -atime -cmin -cnewer -ctime -daystart -depth -empty
    -executable -false -follow -group -ilname -iname -inum -ipath -iregex -iwholename -links -lname -ls
    -maxdepth -mindepth -mmin -mount -mtime -name -newer -nogroup -noleaf -not -nouser -o -or -path
    -perm -print -print0 -printf -prune -quit -readable -regex -regextype -samefile -size -true -type
    -uid -used -user -wholename -writable -xdev -xtype
""")
_FIND_VALUE = re.compile(r"-newer[aBcm][aBcmt]|-\d+[a-zA-Z]?")


def _find(words: Words) -> bool:
    rest = list(words)
    while rest:
        word, *rest = rest
        if word == Word("-exec"):
            started, rest = _executed(rest)
            if not program_reads([*_with_unknown(started, ["{}"]), ANYTHING]):
                return False
        elif word.may_be_option and not (
            word.fixed and (word.text in _FIND or _FIND_VALUE.fullmatch(word.text))
        ):
            return False
    return True


def _executed(words: list[Word]) -> tuple[list[Word], list[Word]]:
    """The command of `-exec`, and what comes after it; no command without a clear end."""
    for at, word in enumerate(words):
        if not word.fixed:
            break
        if word == Word(";") or words[at - 1 : at + 1] == [Word("{}"), Word("+")]:
            return words[:at], words[at + 1 :]
    return [], []


_DATE = re.compile(
    r"""\+.*|-u|-R|-I\w*|--utc|--universal|--rfc-email|--iso-8601(=\w+)?|--rfc-3339=\w+
    |--date=.*|--reference=.*|-d.+|-r.+""",
    re.VERBOSE | re.DOTALL,
)


def _date(words: Words) -> bool:
    """date: an operand that is not a format would set the clock."""
    return all(
        word.fixed and _DATE.fullmatch(word.text) for word in _with_values(words, "-d", "-r")
    )


_XXD = re.compile(r"-(a|b|d|e|E|i|p|ps|u)|-[cgls](0x)?[0-9a-f]+")


def _xxd(words: Words) -> bool:
    """A second operand would be written to; options cannot be combined."""
    joined = _with_values(words, "-c", "-g", "-l", "-s")
    operands = [word for word in joined if not word.may_be_option]
    return at_most_one(operands) and all(
        word in operands or (word.fixed and _XXD.fullmatch(word.text)) for word in joined
    )


def _with_values(words: Words, *valued: str) -> list[Word]:
    """Options that always take a value, with their values."""
    joined: list[Word] = []
    rest = iter(words)
    for word in rest:
        takes_value = word.fixed and word.text in valued
        value = next(rest, None) if takes_value else None
        joined.append(word if value is None else Word(word.text + value.text, value.certainty))
    return joined


_RULES: dict[str, Rule] = {
    "[": _builtin_test,
    "arch": no_words,
    "awk": awk_reads,
    "base64": Options("dDi", "w", names("decode ignore-garbage wrap")),
    "command": _command,
    "date": _date,
    "env": no_words,
    "fd": Options(
        "0aFgHIiLpqsu",
        "deEStc",
        names("""
            absolute-path case-sensitive changed-before changed-within color count exact-depth exclude
            extension fixed-strings follow full-path glob hidden ignore-case max-depth max-results
            min-depth no-ignore no-ignore-vcs print0 size type unrestricted
        """),
    ),
    "file": Options(
        "0bhikLNrs",
        "eF",
        names("brief dereference keep-going mime mime-encoding mime-type no-pad"),
    ),
    "find": _find,
    "git": git_reads,
    "hostname": Options("AIdfis", long=names("fqdn long short"), operands=no_words),
    "nice": _nice,
    "printf": _printf,
    "rg": Options(
        "0aFHhIilLNnoPpqSsUuVvwxc",
        "ABCEMdefgjmrtT",
        names("""
            after-context before-context binary block-buffered byte-offset case-sensitive color colors
            column context context-separator count count-matches crlf encoding engine
            field-context-separator field-match-separator file files files-with-matches
            files-without-match fixed-strings follow glob glob-case-insensitive heading hidden iglob
            ignore-case ignore-file include-zero invert-match json line-buffered line-number line-regexp
            max-columns max-columns-preview max-count max-depth max-filesize multiline
            multiline-dotall no-config no-filename no-heading no-ignore no-ignore-parent no-ignore-vcs
            no-line-number no-messages null null-data one-file-system only-matching passthru pcre2
            pretty quiet regexp replace smart-case sort sortr stats stop-on-nonmatch text threads trim
            type type-list type-not unrestricted version vimgrep with-filename word-regexp
        """),
    ),
    "sed": sed_reads,
    "sort": Options(
        "bcCdfghiMmnRrsuVz",
        "kt",
        names("""
            check debug dictionary-order field-separator general-numeric-sort human-numeric-sort
            ignore-case ignore-leading-blanks ignore-nonprinting key merge month-sort numeric-sort
            random-sort reverse sort stable unique version-sort zero-terminated
        """),
    ),
    "test": _builtin_test,
    "time": _time,
    "timeout": _timeout,
    "tree": Options(
        "aACdDfFghiJlnNpqrsStuUvxX",
        "ILP",
        names("""
            charset device dirsfirst du filelimit filesfirst gitignore ignore-case info inodes matchdirs
            noreport prune si sort
        """),
    ),
    "uniq": Options(
        "cdDiuz",
        "fsw",
        names("all-repeated count group ignore-case repeated unique zero-terminated"),
        at_most_one,
    ),
    "xargs": _xargs,
    "xxd": _xxd,
}
_RULES["fdfind"] = _RULES["fd"]
