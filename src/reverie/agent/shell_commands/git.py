"""Which git commands only read, by their arguments. What the repository configures is judged in `reverie.files.git`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
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

    Every word that could be an option must be one of these, wherever it is, even after `--` or as
    the value of another option, so that a program's own way of counting values does not matter.
    Long options are matched in full, never by prefix; one listed as `name=` must include its value.
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


def git_reads(words: Words) -> bool:
    """Whether git's arguments are global options and then a command that its rule allows."""
    command = _after_global_options(words)
    if not command or not command[0].fixed or any(map(_starts_another, command)):
        return False
    rule = _COMMANDS.get(command[0].text)
    return rule is not None and rule(command[1:])


def _after_global_options(words: Words) -> Words:
    match words:
        case [Word("-C", "fixed"), Word(_, "fixed"), *rest]:
            return _after_global_options(rest)
        case [Word(text, "fixed"), *rest] if text in _GLOBAL:
            return _after_global_options(rest)
    return words


_GLOBAL = names("-P --no-pager --no-optional-locks --literal-pathspecs")


def _starts_another(word: Word) -> bool:
    """Whether an option makes git start gpg, or another git in a submodule."""
    signature = "%G" in word.text or "%(signature" in word.text
    return signature or word.text.startswith("--submodule=d")


def _first(**rules: Rule) -> Rule:
    """For commands with subcommands: the first word selects the rule."""

    def rule(words: Words) -> bool:
        chosen = rules.get(words[0].text) if words and words[0].fixed else None
        return chosen is not None and chosen(words[1:])

    return rule


def _either(*rules: Rule) -> Rule:
    return lambda words: any(rule(words) for rule in rules)


def _listing(options: Options, by: str) -> Rule:
    """A bare name would be created; with one of the options in `by`, names are only searched."""
    bare = replace(options, operands=no_words)
    return lambda words: options(words) if _has(words, by) else bare(words)


def _asking(options: Options, by: str) -> Rule:
    """Only with one of the options in `by`: without, the same words would set something."""
    return lambda words: _has(words, by) and options(words)


def _has(words: Words, wanted: str) -> bool:
    """Whether one of these options is given; after an operand or `--` it could be a name."""
    leading = takewhile(lambda word: word.fixed and word.may_be_option and word.text != "--", words)
    return any(word.text.partition("=")[0] in names(wanted) for word in leading)


_DIFF = names("""
    abbrev anchored binary break-rewrites cached check color color-moved color-words
    compact-summary cumulative diff-algorithm diff-filter dirstat dst-prefix exit-code find-copies
    find-copies-harder find-object find-renames full-index function-context histogram
    ignore-all-space ignore-blank-lines ignore-cr-at-eol ignore-matching-lines ignore-space-at-eol
    ignore-space-change ignore-submodules indent-heuristic inter-hunk-context irreversible-delete
    line-prefix merge-base minimal name-only name-status no-color no-ext-diff no-index no-patch
    no-prefix no-relative no-renames no-textconv numstat patch patch-with-stat patience pickaxe-all
    pickaxe-regex quiet raw relative rename-empty shortstat src-prefix staged stat submodule summary
    text unified word-diff word-diff-regex
""")
_LOG = _DIFF | names("""
    abbrev-commit after all all-match ancestry-path author author-date-order basic-regexp before
    bisect boundary branches cc cherry cherry-mark cherry-pick children clear-decorations committer
    count date date-order decorate decorate-refs decorate-refs-exclude dense diff-merges do-walk encoding
    exclude expand-tabs extended-regexp first-parent fixed-strings follow format full-diff
    full-history glob graph grep grep-reflog ignore-missing invert-grep left-only left-right
    log-size max-count max-parents merge merges min-parents name-only no-abbrev-commit no-decorate
    no-expand-tabs no-max-parents no-merges no-min-parents no-notes no-walk not notes objects
    oneline parents perl-regexp pretty regexp-ignore-case relative-date remotes remove-empty reverse
    right-only root show-linear-break show-notes show-pulls simplify-by-decoration simplify-merges
    since since-as-filter skip source sparse stdin tags timestamp topo-order until use-mailmap
    walk-reflogs
""")

_diff = Options("abcmpqrstuwzDRW", "BCGMOSUXl", _DIFF, numeric=True)
_log = Options("abcgimpqrstuwzDEFPRW", "BCGLMOSUXln", _LOG, numeric=True)
# `--sort --list x` would sort by "--list", and make x: these must carry their values.
_refs = names("""
    color column contains format= ignore-case merged no-color no-column no-contains no-merged
    points-at sort=
""")

_COMMANDS: dict[str, Rule] = {
    "blame": Options(
        "bcefklnpstw",
        "CLMS",
        names("""
            abbrev color-by-age color-lines date first-parent ignore-rev ignore-revs-file incremental
            line-porcelain minimal porcelain reverse root score-debug show-email show-name show-number
            show-stats since
        """),
    ),
    "branch": _listing(
        Options(
            "aivr", long=_refs | names("abbrev all list no-abbrev remotes show-current verbose")
        ),
        by="--list --contains --no-contains --merged --no-merged --points-at",
    ),
    "cat-file": Options(
        "epst", long=names("batch batch-all-objects batch-check buffer unordered use-mailmap")
    ),
    "check-attr": anything,
    "check-ignore": anything,
    "cherry": anything,
    "config": _asking(
        Options(
            "lz",
            long=names("""
                default= get get-all get-regexp global includes list local name-only no-includes null
                show-origin show-scope system type= worktree
            """),
        ),
        by="--get --get-all --get-regexp --list -l",
    ),
    "count-objects": anything,
    "describe": Options(
        long=names(
            "abbrev all always candidates contains dirty exact-match exclude first-parent long match tags"
        ),
    ),
    "diff": _diff,
    "diff-files": _diff,
    "diff-index": _diff,
    "diff-tree": replace(_diff, long=_LOG | names("no-commit-id")),
    "for-each-ref": anything,
    "grep": Options(
        "EFGHILPWacghilnopqvwz",
        "ABCefm",
        names("""
            after-context all-match and before-context break cached color column context count
            exclude-standard extended-regexp files-with-matches files-without-match fixed-strings
            full-name function-context heading ignore-case invert-match line-number max-count max-depth
            name-only no-color no-index no-recursive not null only-matching or perl-regexp quiet
            recursive show-function text threads untracked word-regexp
        """),
        numeric=True,
    ),
    "log": _log,
    "ls-files": anything,
    "ls-tree": anything,
    "merge-base": anything,
    "name-rev": anything,
    "reflog": _either(no_words, _first(show=_log)),
    "remote": _either(
        Options("v", long=names("verbose"), operands=no_words),
        _first(**{"get-url": Options(long=names("all push"))}),
    ),
    "rev-list": _log,
    "rev-parse": anything,
    "shortlog": replace(
        _log, short=_log.short + "ens", long=_LOG | names("email group numbered summary")
    ),
    "show": _log,
    "show-ref": anything,
    "stash": _first(
        list=_log, show=replace(_diff, long=_DIFF | names("include-untracked only-untracked"))
    ),
    "status": Options(
        "bsvz",
        "u",
        names("""
            ahead-behind branch column find-renames ignore-submodules ignored long no-ahead-behind
            no-column no-renames porcelain renames short show-stash untracked-files verbose
        """),
    ),
    "tag": _listing(
        Options("il", "n", _refs | names("list")),
        by="-l --list --contains --no-contains --merged --no-merged --points-at",
    ),
    "version": anything,
    "--version": no_words,
    "whatchanged": _log,
    "worktree": _first(list=Options("vz", long=names("porcelain verbose"))),
}
