"""The coding agents Reverie can be installed into: their files, their hook events, and notes for the person."""

from __future__ import annotations

import json
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from importlib.resources import files as resources
from pathlib import Path
from typing import IO, Any, cast

from reverie.clients.install.entries import Default, Entry, Hook, Json, Server, Switch, is_ours
from reverie.clients.install.files import NOTE, ClientFile, JsonFile, TomlFile, WholeFile
from reverie.clients.install.wiring import Client, InstallOptions, grouped, server

# --- Claude Code: hooks in its settings, the MCP server beside them ---

# Only the results of these tools are ever replaced by a preview, and only these name files that memories may be
# about; for others the hook would be a wasted process.
_FILE_TOOLS = "Read|Edit|MultiEdit|Write|NotebookEdit"
CLAUDE_MATCHERS = {
    "PostToolUse": f"Bash|Grep|WebFetch|mcp__.*|{_FILE_TOOLS}",
    "PostToolUseFailure": "Bash",
}

# Claude Code's own memory: its index, and the part of its prompt that says how to write to it.
OWN_MEMORY = "autoMemoryEnabled"

# In seconds. Without a timeout, the client gives SessionEnd little more than one second. Not PreCompact: `/compact`
# prints the command of each such hook to the person, and SessionStart comes again after a compaction.
CLAUDE_TIMEOUTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PostToolUse": 10,
    "PostToolUseFailure": 10,
    "Stop": 10,
    "SessionEnd": 10,
}


def _claude_code_files(options: InstallOptions) -> tuple[ClientFile, ...]:
    places, user = options.places, options.scope == "user"
    settings = places.claude if user else places.project / ".claude"
    servers = places.claude_state if user else places.project / ".mcp.json"
    hooks = tuple(
        grouped(
            "claude-code",
            options,
            event,
            timeout,
            matcher=CLAUDE_MATCHERS.get(event),
        )
        for event, timeout in CLAUDE_TIMEOUTS.items()
    )
    entries: tuple[Entry, ...] = () if options.way == "mcp" else hooks
    switch = Switch(OWN_MEMORY, value=False)
    if options.way == "beside":
        entries = (*entries, switch)
    file = settings / "settings.json"
    return (
        JsonFile("settings", file, "claude-code", entries, switches=(switch,)),
        JsonFile("mcp", servers, "claude-code", server(options), table="mcpServers"),
    )


def hindrance(settings: Json) -> str | None:
    """Why Claude Code would not run hooks, according to one of its settings files."""
    for key in ("disableAllHooks", "allowManagedHooksOnly"):
        if settings.get(key) is True:
            return f"{key} is set, so Claude Code runs no hook of ours"
    return None


_CLAUDE_CODE = Client(
    "claude-code",
    "Claude Code",
    _claude_code_files,
    tuple(CLAUDE_TIMEOUTS),
    "SessionStart",
    notes=(
        "Running sessions of Claude Code do not see it: start a new one.",
        "If you also loaded Reverie's plugin, remove it: every hook would run twice.",
        "Long results are stored in Reverie's folder. To let it read them without asking, add "
        '"Read({home}/projects/*/hooks/**)" to permissions.allow in its settings.',
    ),
)


# --- Codex: a hooks file of its own, and a table in its configuration ---

_CODEX_TOOLS = "Bash|apply_patch|mcp__.*"
# In seconds. Codex reports a failed command in PostToolUse.
_CODEX_TIMEOUTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "PostToolUse": 10,
    "PreCompact": 30,
    "Stop": 10,
    # Codex ends it after three seconds, whatever timeout it is given.
    "SessionEnd": 3,
}


def _codex_files(options: InstallOptions) -> tuple[ClientFile, ...]:
    places = options.places
    folder = places.codex if options.scope == "user" else places.project / ".codex"
    hooks = tuple(
        grouped(
            "codex",
            options,
            event,
            timeout,
            matcher=_CODEX_TOOLS if event == "PostToolUse" else None,
        )
        for event, timeout in _CODEX_TIMEOUTS.items()
    )
    return (
        JsonFile("hooks", folder / "hooks.json", "codex", hooks),
        TomlFile("config", folder / "config.toml", options.program, options.server, options.mcp),
    )


_CODEX = Client(
    "codex",
    "Codex",
    _codex_files,
    tuple(_CODEX_TIMEOUTS),
    "SessionStart",
    notes=(
        "Codex runs no hook that you have not trusted, and `codex exec` says nothing about it: "
        "start `codex`, type /hooks, and trust Reverie's. Again after an upgrade that moves it.",
    ),
    project_note="Codex reads .codex in a project only if you trust the project.",
)


# --- Gemini CLI: hooks and the MCP server in one settings file ---

# Not AfterTool, which replaces a result only as an error; not PreCompress, which runs before every
# model call and not only before a compression.
_GEMINI_EVENTS = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
_GEMINI_MILLISECONDS = 10_000


def _gemini_files(options: InstallOptions) -> tuple[ClientFile, ...]:
    places = options.places
    folder = places.gemini if options.scope == "user" else places.project / ".gemini"
    hooks = (grouped("gemini", options, event, _GEMINI_MILLISECONDS) for event in _GEMINI_EVENTS)
    entries = (*hooks, *server(options))
    settings = folder / "settings.json"
    return (JsonFile("settings", settings, "gemini", entries, table="mcpServers", comments=True),)


_GEMINI = Client(
    "gemini",
    "Gemini CLI",
    _gemini_files,
    _GEMINI_EVENTS,
    "BeforeAgent",
    project_note="Gemini CLI asks once whether it may run the hooks of a project.",
)


# --- opencode: a plugin file of ours, and the MCP server in its configuration ---

# The events the plugin forwards.
_OPENCODE_EVENTS = (
    "session.created",
    "chat.message",
    "tool.execute.after",
    "session.idle",
    "experimental.session.compacting",
    "session.compacted",
    "session.deleted",
)


def _opencode_files(options: InstallOptions) -> tuple[ClientFile, ...]:
    places, user = options.places, options.scope == "user"
    folder = places.opencode if user else places.project / ".opencode"
    config = _opencode_config(places.opencode if user else places.project)
    item = {"type": "local", "command": [options.program, *options.server], "enabled": True}
    servers: tuple[Entry, ...] = (Server("mcp", item),) if options.mcp else ()
    return (
        WholeFile("plugin", folder / "plugins" / "reverie.js", _opencode_plugin(options)),
        JsonFile("config", config, "opencode", servers, table="mcp", comments=True),
    )


def _opencode_plugin(options: InstallOptions) -> str:
    """The plugin's source with the path of `reverie` and its home filled in."""
    template = resources("reverie.clients.install").joinpath("opencode_plugin.js")
    return (
        template.read_text("utf-8")
        .replace("__NOTE__", NOTE)
        .replace('"__PROGRAM__"', json.dumps(options.program))
        .replace('["__OPTIONS__"]', json.dumps(["--client", "opencode", *options.at]))
    )


def _opencode_config(folder: Path) -> Path:
    """The .jsonc file if there is one, else the .json file."""
    with_comments = folder / "opencode.jsonc"
    return with_comments if with_comments.exists() else folder / "opencode.json"


_OPENCODE = Client(
    "opencode",
    "opencode",
    _opencode_files,
    _OPENCODE_EVENTS,
    "session.created",
    notes=("Running instances of opencode do not see it: start a new one.",),
)


# --- Cursor: a hooks file and a file of MCP servers ---

# Hooks of prompts and answers return nothing: Reverie only learns from them.
_CURSOR_EVENTS = (
    "sessionStart",
    "beforeSubmitPrompt",
    "afterAgentResponse",
    "preCompact",
    "stop",
    "sessionEnd",
)
_CURSOR_SECONDS = 10


def _cursor_files(options: InstallOptions) -> tuple[ClientFile, ...]:
    places = options.places
    folder = places.cursor if options.scope == "user" else places.project / ".cursor"
    hooks = (
        Hook(event, {"command": options.hook(event, "cursor"), "timeout": _CURSOR_SECONDS})
        for event in _CURSOR_EVENTS
    )
    entries: tuple[Entry, ...] = (Default("version", 1), *hooks)
    servers = server(options)
    return (
        JsonFile("hooks", folder / "hooks.json", "cursor", entries, comments=True),
        JsonFile("mcp", folder / "mcp.json", "cursor", servers, table="mcpServers", comments=True),
    )


_CURSOR = Client(
    "cursor",
    "Cursor",
    _cursor_files,
    _CURSOR_EVENTS,
    "sessionStart",
    notes=(
        "Cursor lets no hook add to a prompt: memories that fit come through the MCP server.",
        "Turn the server on once in Cursor's settings, under MCP.",
    ),
)

CLIENTS: dict[str, Client] = {
    client.name: client for client in (_CLAUDE_CODE, _CODEX, _GEMINI, _OPENCODE, _CURSOR)
}

SECONDS = 8.0
_TRUSTED = ("trusted", "managed")
_REQUESTS = (
    {
        "id": 1,
        "method": "initialize",
        "params": {"clientInfo": {"name": "reverie", "version": "1"}},
    },
    {"method": "initialized"},
)


def untrusted_events(root: Path, environment: Mapping[str, str]) -> tuple[str, ...] | None:
    """The events of our hooks that Codex does not run; None if that cannot be determined."""
    program = shutil.which("codex", path=environment.get("PATH"))
    listed = None if program is None else _hooks(program, root, environment)
    if listed is None:
        return None
    ours = [hook for hook in listed if is_ours(hook.get("command"), "codex")]
    return tuple(
        str(hook.get("eventName"))
        for hook in ours
        if hook.get("trustStatus") not in _TRUSTED or hook.get("enabled") is False
    )


def _hooks(program: str, root: Path, environment: Mapping[str, str]) -> list[dict[str, Any]] | None:
    asked = {"id": 2, "method": "hooks/list", "params": {"cwds": [str(root)]}}
    lines = (json.dumps({"jsonrpc": "2.0", **one}) for one in (*_REQUESTS, asked))
    try:
        process = subprocess.Popen(
            [program, "app-server"],
            cwd=root,
            env=dict(environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    with process:
        try:
            stdin = cast("IO[bytes]", process.stdin)
            stdin.write("".join(f"{line}\n" for line in lines).encode())
            stdin.flush()
            found = next((one for one in _answers(process) if one.get("id") == 2), {})
        except OSError:
            found = {}
        finally:
            process.terminate()
    try:
        return [hook for folder in found["result"]["data"] for hook in folder["hooks"]]
    except (KeyError, TypeError):
        return None


def _answers(process: subprocess.Popen[bytes]) -> Iterator[dict[str, Any]]:
    """The messages a process writes, for at most SECONDS."""
    stdout = cast("IO[bytes]", process.stdout)
    until, rest = time.monotonic() + SECONDS, b""
    with selectors.DefaultSelector() as selector:
        selector.register(stdout, selectors.EVENT_READ)
        while (left := until - time.monotonic()) > 0 and selector.select(left):
            data = os.read(stdout.fileno(), 65_536)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                try:
                    message = json.loads(line)
                except ValueError:
                    continue
                if isinstance(message, dict):
                    yield message
