"""Which git commands only read, by their arguments. What the repository configures is judged in `reverie.files.git`."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from reverie.agent.shell_commands.options import Options, Rule, Words, anything, names, no_words
from reverie.agent.shell_commands.syntax import Word


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
