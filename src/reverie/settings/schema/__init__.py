"""The table of all settings: to add one, add a row to the module of its table."""

from __future__ import annotations

from typing import Final

from reverie.settings.schema.memory import MEMORY
from reverie.settings.schema.programs import MODELS, PROGRAMS
from reverie.settings.schema.row import NEVER, NONE, PREFIX, Kind, Setting, Value

__all__ = [
    "FEATURES",
    "NEED_MEMORY",
    "NEVER",
    "NONE",
    "OTHER_VARIABLES",
    "PREFIX",
    "SETTINGS",
    "Kind",
    "Setting",
    "Value",
]


def _on(name: str, about: str, *, saves: bool = False) -> Setting:
    """A switch that is on by default; `saves` marks those that cost money when off, so "off" asks, too."""
    return _switch(name, about, default=True, unasked=() if saves else (False,))


def _off(name: str, about: str, *, saves: bool = False) -> Setting:
    return _switch(name, about, default=False, unasked=() if saves else (False,))


def _switch(name: str, about: str, *, default: bool, unasked: tuple[Value, ...]) -> Setting:
    key = f"features.{name}"
    return Setting(key, "bool", default, about, project="ask", unasked=unasked)


SWITCHES: Final[tuple[Setting, ...]] = (
    _on("recall", "Find memories that fit the prompt and attach them."),
    _on("extract", "Save memories at the end of a turn."),
    _on("dream", "Consolidate memory between sessions."),
    _on("session_notes", "Keep notes during the session."),
    _on("notes_compaction", "Compact with the session notes, without a model call.", saves=True),
    _on("autocompact", "Compact when the window is nearly full.", saves=True),
    _on(
        "compact_by_price",
        "Compact without a model as soon as old messages cost more than a short record of them.",
        saves=True,
    ),
    _off("microcompact_time", "Clear old tool results after an hour's pause.", saves=True),
    _on(
        "microcompact_cached",
        "Clear old tool results by cache edits, where the provider has them.",
        saves=True,
    ),
    _on(
        "microcompact_server",
        "Let the provider clear old tool results, where it can and the cost of a batch is not known.",
        saves=True,
    ),
    _on(
        "microcompact_batch",
        "Clear old tool results in large, rare batches that pay for themselves.",
        saves=True,
    ),
    _on("tool_result_storage", "Move long tool results to files.", saves=True),
    _off("snip", "Drop rounds that were marked as finished."),
    _off(
        "collapse",
        "Fold finished rounds into summaries that can be expanded; replaces autocompact.",
    ),
    _off("web_fetch", "Let the agent fetch pages from the web."),
    _off("team", "Share a part of memory with a team."),
    _off("daily_log", "Append to a daily log; a nightly dream condenses it."),
    _off(
        "agent_summary", "Have a model summarise every 30 s what each agent does (costs a little)."
    ),
    _on("agents", "Let the agent hire other agents and send them messages."),
    _off("agent_socket", "Let your other sessions send messages to this one."),
    _on("search_past_context", "Tell the model how to search past sessions."),
)

SETTINGS: Final[tuple[Setting, ...]] = (*MEMORY, *MODELS, *PROGRAMS, *SWITCHES)

FEATURES: Final[tuple[str, ...]] = tuple(
    row.key.removeprefix("features.") for row in SETTINGS if row.key.startswith("features.")
)

# These do nothing while memory.enabled is off.
NEED_MEMORY: Final = frozenset({"recall", "extract", "dream", "team", "daily_log"})

# Variables with our prefix that are not settings.
DISABLE_MEMORY: Final = "REVERIE_DISABLE_MEMORY"
REMOTE: Final = "REVERIE_REMOTE"
MEMORY_DIR: Final = "REVERIE_MEMORY_DIR"
OTHER_VARIABLES: Final[dict[str, str]] = {
    DISABLE_MEMORY: "`1` turns `memory.enabled` off.",
    REMOTE: f"`1` marks a remote host: `memory.enabled` is off unless `{MEMORY_DIR}` is set.",
    "REVERIE_KEY": "The key for the service of `store.url`, and the admin key of `reverie tenants`.",
    "REVERIE_DATABASE": "The database of `reverie serve`, `worker` and `tenants`; unset: an embedded one.",
    "REVERIE_DATABASE_PASSWORD": "The password of the roles `reverie_app` and `reverie_worker` there.",
    "REVERIE_MCP_TOKEN": "The token clients must send to `reverie mcp --http`; unset: one is made and printed.",
    "REVERIE_PROXY_TOKEN": "The token clients must send to `reverie proxy --listen`; unset: one is made and printed.",
    "REVERIE_DATA": "Where tests and benchmarks find their data sets.",
}

_BY_KEY: Final = {row.key: row for row in SETTINGS if "*" not in row.key}
_BY_VARIABLE: Final = {row.variable: row for row in _BY_KEY.values()}
_NAMED: Final = tuple(row for row in SETTINGS if "*" in row.key)


def find(key: str) -> tuple[Setting, str] | None:
    """The row for a key, and the key as it is stored; None for an unknown key."""
    if row := _BY_KEY.get(key):
        return row, key
    for row in _NAMED:
        # On the command line a name may be quoted as in TOML: prices."gpt-5.5".input.
        if name := (_between(key, row.key) or "").strip('"'):
            stored = row.key.replace("*", fold(name))
            return _BY_KEY.get(stored, row), stored
    return None


def find_variable(variable: str) -> tuple[Setting, str] | None:
    """The row and stored key for an environment variable; None for an unknown one."""
    if row := _BY_VARIABLE.get(variable):
        return row, row.key
    for row in _NAMED:
        if name := _between(variable, row.variable):
            return find(row.key.replace("*", name))
    return None


def is_table(key: str) -> bool:
    """Whether there are settings below this key."""
    parts = key.split(".")
    rows = (row.key.split(".") for row in SETTINGS)
    return any(
        len(row) > len(parts)
        and all(ours in (part, "*") for part, ours in zip(parts, row, strict=False))
        for row in rows
    )


def fold(name: str) -> str:
    """A name as it is stored: lower case, with `_` for a dash, as variables cannot keep either."""
    return "".join(char if char.isalnum() or char == "." else "_" for char in name.lower())


def _between(text: str, pattern: str) -> str | None:
    """The text that the `*` matches: `Read` for `tools.Read.x` and `tools.*.x`."""
    before, _, after = pattern.partition("*")
    long_enough = len(text) > len(before) + len(after)
    if long_enough and text.startswith(before) and text.endswith(after):
        return text[len(before) : len(text) - len(after)]
    return None
