"""Environment variables of other programs: the user's editor, and the folders of coding agents."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reverie.errors import SettingsError
from reverie.settings.sources import environment, person_home

if TYPE_CHECKING:
    from collections.abc import Mapping

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
