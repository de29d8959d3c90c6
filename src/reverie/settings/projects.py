"""The project a folder belongs to, its folder in Reverie's home, and where other programs keep theirs.

Every worktree and sub-folder of a repository shares one project: the canonical git root decides.
The root is found by reading git's pointer files; no git process is started.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from reverie.errors import SettingsError
from reverie.files.atomic import owned_by_us, project_folder
from reverie.settings.sources import environment, person_home

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_PATH = 4096
_LONGEST_CONFIG = 256 * 1024
_ORIGIN = re.compile(
    r"^[ \t]*\[\s*remote\s+\"origin\"\s*\](?P<body>[^\[]*)", re.MULTILINE | re.IGNORECASE
)
_URL = re.compile(r"^[ \t]*url[ \t]*=[ \t]*(?P<url>\S.*)$", re.MULTILINE | re.IGNORECASE)
# scheme://user@host:port/path, or user@host:path
_WITH_SCHEME = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[^/@]*@)?(?P<host>[^/:]+)(?::(?P<port>\d+))?/(?P<path>.+)",
    re.IGNORECASE,
)
_LIKE_SCP = re.compile(r"(?:[^/@:]+@)?(?P<host>[^/:@]+):(?!/)(?P<path>.+)")
_USUAL_PORTS = frozenset({"22", "80", "443", "9418"})


@dataclass(frozen=True, slots=True)
class Project:
    """A project and its folder under Reverie's home."""

    root: Path
    folder: Path
    # Why the root is not the one that a `.git` here names; usually empty.
    note: str = ""
    # The repository's normalised address, by which its clones are one project; empty: only the path.
    remote: str = ""

    @property
    def sessions(self) -> Path:
        return self.folder / "sessions"

    @property
    def hooks(self) -> Path:
        """State of other clients' sessions, one folder each."""
        return self.folder / "hooks"

    def journal(self, session: str) -> Path:
        return self.sessions / f"{session}.jsonl"


class Root(NamedTuple):
    """The root of a project, and why it is not the one that a `.git` file names."""

    path: Path
    note: str = ""


def find_project(start: Path, home: Path) -> Project:
    """The project that contains `start`; outside git, `start` itself."""
    root = find_root(start)
    return Project(root.path, project_folder(home, root.path), root.note, remote_of(root.path))


def remote_of(root: Path) -> str:
    """The normalised address of a repository's `origin`; empty without one."""
    git_dir = root / ".git" if (root / ".git").is_dir() else root
    text = _beginning(git_dir / "config", _LONGEST_CONFIG).decode("utf-8", "replace")
    section = _ORIGIN.search(text)
    found = None if section is None else _URL.search(section["body"])
    return "" if found is None else normalised(found["url"])


def normalised(url: str) -> str:
    """One spelling for the addresses of a repository: `github.com/owner/name`.

    Empty for a path on this machine: it means another repository elsewhere.
    """
    url = url.strip().strip('"')
    found = _WITH_SCHEME.fullmatch(url) or _LIKE_SCP.fullmatch(url)
    if found is None or url.lower().startswith("file:"):
        return ""
    port = found.groupdict().get("port")
    host = found["host"].lower() + ("" if port is None or port in _USUAL_PORTS else f":{port}")
    path = re.sub(r"/+", "/", found["path"]).strip("/").removesuffix(".git").rstrip("/")
    # The large hosts ignore case; elsewhere it may matter.
    path = path.lower() if host in _IGNORE_CASE else path
    return f"{host}/{path}" if path else ""


_IGNORE_CASE = frozenset({"github.com", "gitlab.com", "bitbucket.org"})


def canonical_root(start: Path) -> Path:
    """The root of the main work tree (or the bare repository) that `start` belongs to."""
    return find_root(start).path


def find_root(start: Path) -> Root:
    """Find the canonical root, with a note for the user if a `.git` file was not believed.

    The root decides which memory is loaded, so a worktree counts only if its repository lists it.
    """
    start = start.resolve()
    for folder in (start, *start.parents):
        marker = folder / ".git"
        sign = marker if marker.exists() else folder / "HEAD"
        if sign != marker and not _is_bare(folder):
            continue
        if note := _of_another_user(sign):
            return Root(start, f"{note}: {start} is a project of its own")
        return _linked_root(folder, marker) if marker.is_file() else Root(folder)
    return Root(start)


def _linked_root(folder: Path, marker: Path) -> Root:
    """A worktree belongs to its main repository; a submodule is a project of its own."""
    text = _first_line(marker)
    if not text.startswith("gitdir:"):
        return Root(folder)
    git_dir = _real(folder, text.removeprefix("gitdir:").strip())
    common = _first_line(git_dir / "commondir")
    if not common:
        return Root(folder)
    shared = _real(git_dir, common)
    if wrong := _unconfirmed(marker, git_dir, shared):
        advice = "if it is a worktree of yours, run `git worktree repair` in its repository"
        return Root(folder, f"{wrong}: {folder} is a project of its own; {advice}")
    return Root(shared.parent if shared.name == ".git" else shared)


def _unconfirmed(marker: Path, git_dir: Path, shared: Path) -> str:
    """Why the repository does not confirm the worktree that points to it; empty when it does.

    A clone or archive can contain pointers to any repository, and a git directory that points back.
    Only the repository's owner can add such a directory to its worktrees.
    """
    back = _first_line(git_dir / "gitdir")
    if git_dir.parent != shared / "worktrees" or not back or _real(git_dir, back) != marker:
        return f"{marker} claims to be a worktree of {shared}, which knows nothing of it"
    return _of_another_user(git_dir) or _of_another_user(shared)


def _of_another_user(path: Path) -> str:
    try:
        status = path.stat()
    except OSError as error:
        return f"{path} cannot be looked at ({error.strerror})"
    if owned_by_us(status):
        return ""
    return f"{path} belongs to another user (uid {status.st_uid})"


def _real(folder: Path, pointer: str) -> Path:
    """The target of a pointer, with every link resolved."""
    return Path(os.path.realpath(folder / pointer))


def _is_bare(folder: Path) -> bool:
    return (
        (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
    )


def _first_line(path: Path) -> str:
    """The first line of a pointer file; empty for devices, pipes and unreadable files."""
    start = os.fsdecode(_beginning(path, _LONGEST_PATH))
    return start.partition("\n")[0].strip().replace("\0", "")


def _beginning(path: Path, most: int) -> bytes:
    """The first bytes of a file; none of a device or a pipe, which could be waited for in vain."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(most)
    except (OSError, ValueError):
        return b""


_EDITORS: Final = ("sensible-editor", "nano", "vim", "vi")


def editor(environ: Mapping[str, str] | None = None) -> list[str]:
    """The command that opens an editor: `VISUAL`, else `EDITOR`, else an installed one."""
    environ = environment() if environ is None else environ
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name, "").strip():
            return _split(name, environ[name])
    path = environ.get("PATH")
    found = next((name for name in _EDITORS if shutil.which(name, path=path)), None)
    if found is None:
        raise SettingsError("no editor found; set VISUAL or EDITOR to the one you use")
    return [found]


def columns(environ: Mapping[str, str] | None = None) -> int | None:
    """The terminal width from `COLUMNS`; None if it is unset or not a positive number."""
    wanted = (environment() if environ is None else environ).get("COLUMNS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else None


def _split(name: str, value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError as error:
        raise SettingsError(f"{name}={value!r} is not a valid command: {error}") from error


def claude_config(environ: Mapping[str, str] | None = None) -> Path:
    """Claude Code's configuration folder: `CLAUDE_CONFIG_DIR`, or `~/.claude`."""
    environ = environment() if environ is None else environ
    chosen = environ.get("CLAUDE_CONFIG_DIR", "").strip()
    return Path(chosen).absolute() if chosen else person_home(environ) / ".claude"


def claude_state(environ: Mapping[str, str] | None = None) -> Path:
    """Claude Code's state file, which lists MCP servers: in `CLAUDE_CONFIG_DIR` if that is set."""
    environ = environment() if environ is None else environ
    if environ.get("CLAUDE_CONFIG_DIR", "").strip():
        return claude_config(environ) / ".claude.json"
    return person_home(environ) / ".claude.json"


def codex_home(environ: Mapping[str, str] | None = None) -> Path:
    """Codex's folder: `CODEX_HOME`, or `~/.codex`."""
    environ = environment() if environ is None else environ
    chosen = environ.get("CODEX_HOME", "").strip()
    return Path(chosen).absolute() if chosen else person_home(environ) / ".codex"


def opencode_config(environ: Mapping[str, str] | None = None) -> Path:
    """opencode's folder: in `XDG_CONFIG_HOME`, or `~/.config`."""
    environ = environment() if environ is None else environ
    chosen = environ.get("XDG_CONFIG_HOME", "").strip()
    return (Path(chosen) if chosen else person_home(environ) / ".config") / "opencode"
