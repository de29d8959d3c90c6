"""Claude Code: hooks in its settings, the MCP server beside them."""

from __future__ import annotations

from reverie.clients.install.entries import Json
from reverie.clients.install.files import ClientFile, JsonFile
from reverie.clients.install.wiring import Client, InstallOptions, grouped, server

NAME = "claude-code"

# Only the results of these are replaced by a preview; others would pay for a process in vain.
REPLACEABLE = "Bash|Grep|WebFetch|mcp__.*"

# Seconds. Without one, the client gives the last hook of a session little more than a second.
TIMEOUTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PostToolUse": 10,
    "PreCompact": 30,
    "Stop": 10,
    "SessionEnd": 10,
}


def files(wish: InstallOptions) -> tuple[ClientFile, ...]:
    places, user = wish.places, wish.scope == "user"
    settings = places.claude if user else places.project / ".claude"
    servers = places.claude_state if user else places.project / ".mcp.json"
    hooks = tuple(
        grouped(
            NAME,
            wish,
            event,
            timeout,
            matcher=REPLACEABLE if event == "PostToolUse" else None,
        )
        for event, timeout in TIMEOUTS.items()
    )
    return (
        JsonFile("settings", settings / "settings.json", NAME, hooks),
        JsonFile("mcp", servers, NAME, server(wish), table="mcpServers"),
    )


def hindrance(settings: Json) -> str | None:
    """Why hooks would not run, going by one of the client's settings files."""
    for key in ("disableAllHooks", "allowManagedHooksOnly"):
        if settings.get(key) is True:
            return f"{key} is set, so Claude Code runs no hook of ours"
    return None


CLIENT = Client(
    NAME,
    "Claude Code",
    files,
    tuple(TIMEOUTS),
    "SessionStart",
    plain=("PreCompact",),
    notes=(
        "Running sessions of Claude Code do not see it: start a new one.",
        "With the plugin loaded as well, every hook would run twice: use one of the two.",
        "Long results are put aside in Reverie's folder. To let it read them without asking, add "
        '"Read({home}/projects/*/hooks/**)" to permissions.allow in its settings.',
    ),
)
