"""The system's git: the one way we start it, and what a repository could make it start.

A repository's own configuration can name programs for almost everything git does: filters, external
diffs, text conversion, file watchers, hooks, pagers, signatures, transports. It comes along with an
archive. So nothing of git's runs unasked, by us or by an agent, where that configuration holds a key that
is not known to be harmless.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from reverie.errors import StorageError

# What a git that started us (a hook, an alias) left behind would send ours to its repository.
_OF_ANOTHER_GIT: Final = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"}
    | {"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_NAMESPACE", "GIT_PREFIX"}
)
# Our messages are found by their English words; a question nobody can answer must fail.
_OURS: Final = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "LANGUAGE": "C"}

# For a git that only reads: no index is refreshed, no hook, watcher, pager or signature program is
# started, nothing is fetched, no submodule is asked for a summary, and a bare repository that lies in a
# folder (as anybody's files can) is not taken for the one to work in.
READING: Final[dict[str, str]] = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "diff.autoRefreshIndex": "false",
    "diff.submodule": "short",
    "log.showSignature": "false",
    "safe.bareRepository": "explicit",
    "status.submoduleSummary": "false",
}
_READING_VARIABLES: Final = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}
# Patches are made by git itself.
PLAIN_DIFF: Final = ("--no-ext-diff", "--no-textconv")

_GRACE: Final = 5.0
_MOST_REPOSITORIES: Final = 100


class NoGit(Exception):
    """Git is not installed."""


class TooSlow(Exception):
    """Git did not finish in time, and was ended."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What git said."""

    code: int
    out: str
    said: str


class Git:
    """Starts git with an environment, which is the process's own, read by settings."""

    def __init__(self, environment: Mapping[str, str], seconds: float, **variables: str) -> None:
        self._environment = {**without_another(environment), **_OURS, **variables}
        self._seconds = seconds

    def run(
        self, *arguments: str, settings: Mapping[str, str] | None = None, given: str = ""
    ) -> Answer:
        """Run a command to its end; `settings` hold for it alone."""
        options = [f"-c{key}={value}" for key, value in (settings or {}).items()]
        spread = [part for option in options for part in (option[:2], option[2:])]
        try:
            # A session of its own: no terminal to ask on, and one signal ends its helpers too.
            process = subprocess.Popen(
                ["git", *spread, *arguments],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            raise NoGit from error
        try:
            out, said = process.communicate(os.fsencode(given), timeout=self._seconds)
        except subprocess.TimeoutExpired as error:
            _end(process)
            raise TooSlow from error
        except BaseException:
            _end(process)
            raise
        return Answer(process.returncode, os.fsdecode(out), said.decode("utf-8", "replace"))


def without_another(environment: Mapping[str, str]) -> dict[str, str]:
    """An environment in which git finds the repository it is told to work in."""
    return {key: value for key, value in environment.items() if key not in _OF_ANOTHER_GIT}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asked first, so that git can tidy up what it had begun."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_GRACE)
            return


def reading_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a command line whose gits must not change or start anything."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    settings = {
        f"GIT_CONFIG_{part}_{first + n}": value
        for n, setting in enumerate(READING.items())
        for part, value in zip(("KEY", "VALUE"), setting, strict=True)
    }
    total = {"GIT_CONFIG_COUNT": str(first + len(READING))}
    return {**environment, **settings, **total, **_READING_VARIABLES}


# ── what a repository could start ────────────────────────────────────────────


def unknown_settings(folder: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """What the repository around a folder, and its submodules, configure that may start a program.

    Empty when all is known to be harmless, or when there is no repository. Git itself is asked, so that
    included files and those of a worktree count; listing the configuration starts nothing.
    """
    # Not without GIT_DIR and its like: what is looked at must be what the command will use.
    look = _Look(reading_environment(environment))
    try:
        return tuple(dict.fromkeys(look.around(folder)))
    except NoGit:
        return ()
    except (TooSlow, StorageError) as error:
        return (f"the repository cannot be looked at: {error or 'git is too slow'}",)


class _Look:
    """One look at a repository and the submodules below it, each once."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._git = Git({}, 20.0, **environment)
        self._seen: set[Path] = set()

    def around(self, folder: Path) -> Iterator[str]:
        if not folder.is_dir():
            return
        listed = self._run(folder, "config", "--list", "-z", "--show-scope", "--includes")
        if listed.code:
            raise StorageError(" ".join(listed.said.split())[-200:])
        found = tuple(_unknown(listed.out))
        if found:
            # Enough is known: what lies below need not be looked at.
            yield from found
            return
        asked = self._run(folder, "rev-parse", "--show-toplevel")
        if asked.code:
            return
        top = Path(asked.out.removesuffix("\n"))
        if "\0core.worktree\n" in listed.out and self._git_dir(folder) != self._git_dir(top):
            # Its files would be those of a folder that knows nothing of it, such as the home folder.
            yield "core.worktree"
            return
        yield from self._below(top)

    def _below(self, top: Path) -> Iterator[str]:
        """Git looks into every folder its index calls a submodule, with that one's configuration."""
        self._seen.add(top)
        if len(self._seen) > _MOST_REPOSITORIES:
            raise StorageError(f"it has more than {_MOST_REPOSITORIES} submodules")
        index = self._run(top, "ls-files", "--stage", "-z")
        if index.code:
            raise StorageError(" ".join(index.said.split())[-200:])
        for entry in index.out.split("\0"):
            mode, _, name = entry.partition("\t")
            inner = top / name
            submodule = mode.startswith("160000 ") and os.path.lexists(inner / ".git")
            if submodule and inner not in self._seen:
                yield from self.around(inner)

    def _git_dir(self, folder: Path) -> str:
        asked = self._run(folder, "rev-parse", "--absolute-git-dir") if folder.is_dir() else None
        return os.path.realpath(asked.out.removesuffix("\n")) if asked and not asked.code else ""

    def _run(self, folder: Path, *arguments: str) -> Answer:
        return self._git.run("-C", str(folder), *arguments)


def _unknown(listed: str) -> Iterator[str]:
    """The keys of a listing that came with the repository and are not known to be harmless."""
    parts = listed.split("\0")
    for scope, entry in zip(parts[::2], parts[1::2], strict=False):
        key, _, value = entry.partition("\n")
        if scope in ("local", "worktree") and not _harmless(key, value):
            yield key


def _harmless(key: str, value: str) -> bool:
    section, _, rest = key.partition(".")
    allowed = _HARMLESS.get(section.lower())
    if allowed is None or not re.fullmatch(allowed, rest, re.IGNORECASE | re.DOTALL):
        return False
    wanted = _VALUES.get(f"{section}.{rest.rpartition('.')[2]}".lower())
    return wanted is None or re.fullmatch(wanted, value, re.IGNORECASE) is not None


# By section, what may follow it. A name in the middle (of a branch, a remote, a driver) is `.+`.
_HARMLESS: Final[dict[str, str]] = {
    "advice": r"\w+",
    "author": r"name|email",
    "blame": r"\w+",
    "branch": r".+",
    "checkout": r"\w+",
    "color": r".+",
    "column": r"\w+",
    "commit": r"template|status|verbose|cleanup|gpgsign",
    "committer": r"name|email",
    "core": r"repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode"
    r"|protecthfs|protectntfs|symlinks|autocrlf|eol|safecrlf|quotepath|abbrev|worktree|untrackedcache"
    r"|splitindex|sparsecheckout|sparsecheckoutcone|commentchar|compression|loosecompression"
    r"|packedgit\w+|bigfilethreshold|deltabasecachelimit|preloadindex|fscache|longpaths|trustctime"
    r"|checkstat|whitespace|sharedrepository|multipackindex|commitgraph|usereplacerefs"
    r"|warnambiguousrefs|hidedotfiles|filesreflocktimeout|packedrefstimeout|fsync\w*|notesref"
    r"|disambiguate|fsmonitor|fsmonitorhookversion|maxtreedepth|longpaths|bare",
    "diff": r"algorithm|renames|renamelimit|mnemonicprefix|noprefix|colormoved(?:ws)?|context"
    r"|interhunkcontext|indentheuristic|wserrorhighlight|suppressblankempty|statgraphwidth"
    r"|statnamewidth|autorefreshindex|submodule|ignoresubmodules|dirstat|wordregex|relative"
    r"|.+\.(?:x?funcname|wordregex|binary|algorithm|cachetextconv)",
    "extensions": r"\w+",
    "feature": r"\w+",
    "fetch": r"\w+",
    "gc": r".+",
    "gitflow": r"(?:branch|prefix)\..+",
    "grep": r"\w+",
    "gui": r"\w+",
    "http": r"postbuffer",
    "i18n": r"\w+",
    "index": r"\w+",
    "init": r"defaultbranch",
    "lfs": r"repositoryformatversion|.+\.(?:access|locksverify)",
    "log": r"date|decorate|follow|abbrevcommit|graphcolors|mailmap|excludedecoration|showroot",
    "maintenance": r".+",
    "merge": r"\w+",
    "notes": r".+",
    "pack": r"\w+",
    "pull": r"\w+",
    "push": r"\w+",
    "rebase": r"\w+",
    "receive": r"denycurrentbranch",
    "remote": r"pushdefault|.+\.(?:url|pushurl|fetch|push|mirror|tagopt|prune|prunetags|promisor"
    r"|partialclonefilter|skipdefaultupdate|skipfetchall|followremotehead|gh-resolved|glab-resolved)",
    "rerere": r"\w+",
    "splitindex": r"\w+",
    "stash": r"\w+",
    "status": r"\w+",
    "submodule": r"active|recurse|.+\.(?:url|active|branch|ignore|path|fetchrecursesubmodules)",
    "svn-remote": r".+",
    "tag": r"sort|gpgsign",
    "user": r"name|email|signingkey|useconfigonly",
    "versionsort": r"\w+",
    "worktree": r"\w+",
}
_SWITCH: Final = r"true|false|yes|no|on|off|0|1|"
# By section and last part, the only values that are harmless.
_VALUES: Final[dict[str, str]] = {
    "core.fsmonitor": _SWITCH,
    "diff.submodule": r"short|log",
    "status.submodulesummary": r"false|no|off|0",
    # `ext::command`, and every other `helper::address`, is a program with arguments.
    "remote.url": r"(?!-)(?!\w+::).*",
    "remote.pushurl": r"(?!-)(?!\w+::).*",
    "submodule.url": r"(?!-)(?!\w+::).*",
}
