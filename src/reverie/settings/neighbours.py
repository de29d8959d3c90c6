"""What other programs' variables say: the person's editor, and where coding agents keep their files."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from reverie.errors import SettingsError
from reverie.settings.sources import environment, person_home

if TYPE_CHECKING:
    from collections.abc import Mapping

_USUAL: Final = ("sensible-editor", "nano", "vim", "vi")


def editor(environ: Mapping[str, str] | None = None) -> list[str]:
    """The command that opens a text: `VISUAL`, then `EDITOR`, then what is usually there."""
    environ = environment() if environ is None else environ
    for name in ("VISUAL", "EDITOR"):
        if environ.get(name, "").strip():
            return _split(name, environ[name])
    path = environ.get("PATH")
    found = next((name for name in _USUAL if shutil.which(name, path=path)), None)
    if found is None:
        raise SettingsError("there is no editor; set VISUAL or EDITOR to the one you use")
    return [found]


def columns(environ: Mapping[str, str] | None = None) -> int | None:
    """The width somebody asked for with `COLUMNS`; None when they did not."""
    wanted = (environment() if environ is None else environ).get("COLUMNS", "")
    return int(wanted) if wanted.isdecimal() and int(wanted) > 0 else None


def _split(name: str, value: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError as error:
        raise SettingsError(f"{name}={value!r} is no command: {error}") from error


def claude_config(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of Claude Code: `CLAUDE_CONFIG_DIR`, or `~/.claude`."""
    environ = environment() if environ is None else environ
    chosen = environ.get("CLAUDE_CONFIG_DIR", "").strip()
    return Path(chosen).absolute() if chosen else person_home(environ) / ".claude"


def claude_state(environ: Mapping[str, str] | None = None) -> Path:
    """Where Claude Code keeps its own state and the person's servers: in its folder if one was chosen."""
    environ = environment() if environ is None else environ
    if environ.get("CLAUDE_CONFIG_DIR", "").strip():
        return claude_config(environ) / ".claude.json"
    return person_home(environ) / ".claude.json"


def codex_home(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of Codex: `CODEX_HOME`, or `~/.codex`."""
    environ = environment() if environ is None else environ
    chosen = environ.get("CODEX_HOME", "").strip()
    return Path(chosen).absolute() if chosen else person_home(environ) / ".codex"


def opencode_config(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of opencode: under `XDG_CONFIG_HOME`, or `~/.config`."""
    environ = environment() if environ is None else environ
    chosen = environ.get("XDG_CONFIG_HOME", "").strip()
    return (Path(chosen) if chosen else person_home(environ) / ".config") / "opencode"
