"""Run the system's git, and find configuration that could make it start other programs.

A repository's own configuration can name programs for almost everything git does: filters, external
diffs, text conversion, file watchers, hooks, pagers, signatures, transports. An archive can contain
such a configuration. So neither Reverie nor an agent runs git without asking if the configuration
has a key that is not known to be harmless.
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

# A git that started this process (a hook, an alias) sets these; they would select its repository.
_OF_ANOTHER_GIT: Final = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"}
    | {"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_QUARANTINE_PATH", "GIT_NAMESPACE", "GIT_PREFIX"}
)
# Git's messages are matched in English; a prompt must fail, since there is no terminal.
_OURS: Final = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", "LANGUAGE": "C"}

# Settings for git commands that only read: no index is refreshed, no hook, watcher, pager or
# signature program is started, nothing is fetched, no submodule is asked for a summary, and a bare
# repository embedded in a folder (which may be part of any clone) is not used as the current
# repository.
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
# Git makes the patches itself, without external programs.
PLAIN_DIFF: Final = ("--no-ext-diff", "--no-textconv")

_GRACE: Final = 5.0
_MOST_REPOSITORIES: Final = 100


class NoGit(Exception):
    """Git is not installed."""


class TooSlow(Exception):
    """Git did not finish in time and was killed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Exit code, output and error output of a git command."""

    code: int
    out: str
    said: str


class Git:
    """Runs git with a given environment and a time limit."""

    def __init__(self, environment: Mapping[str, str], seconds: float, **variables: str) -> None:
        self._environment = {**without_another(environment), **_OURS, **variables}
        self._seconds = seconds

    def run(
        self, *arguments: str, settings: Mapping[str, str] | None = None, given: str = ""
    ) -> Answer:
        """Run a command to its end; `settings` apply to this command only, `given` is its input."""
        options = [f"-c{key}={value}" for key, value in (settings or {}).items()]
        spread = [part for option in options for part in (option[:2], option[2:])]
        try:
            # Its own session has no terminal for prompts, and one signal ends its children, too.
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
            out, errors = process.communicate(os.fsencode(given), timeout=self._seconds)
        except subprocess.TimeoutExpired as error:
            _end(process)
            raise TooSlow from error
        except BaseException:
            _end(process)
            raise
        return Answer(process.returncode, os.fsdecode(out), errors.decode("utf-8", "replace"))


def without_another(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables that would make git use another repository."""
    return {key: value for key, value in environment.items() if key not in _OF_ANOTHER_GIT}


def _end(process: subprocess.Popen[bytes]) -> None:
    """Terminate git, then kill it; SIGTERM lets it remove its lock files."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_GRACE)
            return


def reading_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a command in which git must not change or start anything."""
    count = environment.get("GIT_CONFIG_COUNT", "")
    first = int(count) if count.isdecimal() else 0
    settings = {
        f"GIT_CONFIG_{part}_{first + n}": value
        for n, setting in enumerate(READING.items())
        for part, value in zip(("KEY", "VALUE"), setting, strict=True)
    }
    total = {"GIT_CONFIG_COUNT": str(first + len(READING))}
    return {**environment, **settings, **total, **_READING_VARIABLES}


# ── configuration that could start a program ─────────────────────────────────


def unknown_settings(folder: Path, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Configuration keys of a folder's repository and its submodules that may start a program.

    Empty when all keys are known to be harmless, or when there is no repository. Git lists the
    configuration, so included files and those of a worktree count; listing starts no program.
    """
    # GIT_DIR and similar variables stay: the check must see the repository the command will use.
    check = _ConfigCheck(reading_environment(environment))
    try:
        return tuple(dict.fromkeys(check.unknown_keys(folder)))
    except NoGit:
        return ()
    except (TooSlow, StorageError) as error:
        return (f"the repository cannot be checked: {error or 'git is too slow'}",)


class _ConfigCheck:
    """Checks the configuration of a repository and of its submodules, each once."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._git = Git({}, 20.0, **environment)
        self._seen: set[Path] = set()

    def unknown_keys(self, folder: Path) -> Iterator[str]:
        if not folder.is_dir():
            return
        listed = self._run(folder, "config", "--list", "-z", "--show-scope", "--includes")
        if listed.code:
            raise StorageError(" ".join(listed.said.split())[-200:])
        found = tuple(_unknown(listed.out))
        if found:
            # One unknown key is enough; the submodules need no check.
            yield from found
            return
        answer = self._run(folder, "rev-parse", "--show-toplevel")
        if answer.code:
            return
        top = Path(answer.out.removesuffix("\n"))
        if "\0core.worktree\n" in listed.out and self._git_dir(folder) != self._git_dir(top):
            # The work tree would be an unrelated folder, such as the home folder.
            yield "core.worktree"
            return
        yield from self._submodules(top)

    def _submodules(self, top: Path) -> Iterator[str]:
        """Git enters every submodule of its index, with the submodule's configuration."""
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
                yield from self.unknown_keys(inner)

    def _git_dir(self, folder: Path) -> str:
        if not folder.is_dir():
            return ""
        answer = self._run(folder, "rev-parse", "--absolute-git-dir")
        return "" if answer.code else os.path.realpath(answer.out.removesuffix("\n"))

    def _run(self, folder: Path, *arguments: str) -> Answer:
        return self._git.run("-C", str(folder), *arguments)


def _unknown(listed: str) -> Iterator[str]:
    """The keys that the repository itself sets and that are not known to be harmless."""
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


# Harmless keys by section. A name in the middle (of a branch, a remote, a driver) is `.+`.
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
# Harmless values, by section and last part of the key.
_VALUES: Final[dict[str, str]] = {
    "core.fsmonitor": _SWITCH,
    "diff.submodule": r"short|log",
    "status.submodulesummary": r"false|no|off|0",
    # `ext::command`, and every other `helper::address`, is a program with arguments.
    "remote.url": r"(?!-)(?!\w+::).*",
    "remote.pushurl": r"(?!-)(?!\w+::).*",
    "submodule.url": r"(?!-)(?!\w+::).*",
}
