"""Codex: a hooks file of its own, and a table in its configuration."""

from __future__ import annotations

from reverie.clients.install.claude_code import TIMEOUTS
from reverie.clients.install.files import ClientFile, JsonFile, TomlFile
from reverie.clients.install.wiring import Client, InstallOptions, grouped

NAME = "codex"

_REPLACEABLE = "Bash|mcp__.*"

# The client cuts the last hook of a session off after three seconds, whatever is asked for.
_LAST = 3


def files(wish: InstallOptions) -> tuple[ClientFile, ...]:
    places = wish.places
    folder = places.codex if wish.scope == "user" else places.project / ".codex"
    hooks = tuple(
        grouped(
            NAME,
            wish,
            event,
            _LAST if event == "SessionEnd" else timeout,
            matcher=_REPLACEABLE if event == "PostToolUse" else None,
        )
        for event, timeout in TIMEOUTS.items()
    )
    return (
        JsonFile("hooks", folder / "hooks.json", NAME, hooks),
        TomlFile("config", folder / "config.toml", wish.program, wish.server, wish.mcp),
    )


CLIENT = Client(
    NAME,
    "Codex",
    files,
    tuple(TIMEOUTS),
    "SessionStart",
    notes=(
        "Codex runs no hook that you have not trusted, and `codex exec` says nothing about it: "
        "start `codex`, type /hooks, and trust Reverie's. Again after an upgrade that moves it.",
    ),
    project_note="Codex reads .codex in a project only if you trust the project.",
)
