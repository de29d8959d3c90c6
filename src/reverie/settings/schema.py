"""Every setting there is, as data: to add one, add a row."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, NamedTuple

Value = bool | int | float | str | Path | None
Kind = Literal[
    "bool", "int", "float", "str", "path", "choice", "money", "url", "variable", "threshold"
]

PREFIX: Final = "REVERIE_"
NEVER: Final = "never"
NONE: Final = "none"


# Named tuples all over this package: a dataclass takes ten times as long to define, and every
# hook of a coding agent waits for these imports.
class Setting(NamedTuple):
    """One row. A `*` in the key stands for a name the person chooses (a provider, tool, purpose)."""

    key: str
    kind: Kind
    default: Value
    about: str
    # What a hostile repository could do with it.
    risk: str = ""
    env: str = ""
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    # The file is found through this setting, so that a file cannot set it.
    files: bool = True
    # "Off" in any source holds, whatever a higher source says.
    off_wins: bool = False
    # Whether a file inside a project's folder may set it at all, once the person agreed to that file.
    # Such a file came with a clone or an archive, so the default is no.
    project: Literal["never", "ask"] = "never"
    # Values a project's file may set without asking: they cost nothing, send nothing, allow nothing.
    unasked: tuple[Value, ...] = ()

    @property
    def project_may_set(self) -> bool:
        """Is there any way for a project's file to set it?"""
        return self.project == "ask"

    @property
    def variable(self) -> str:
        """The environment variable that sets it; `*` where the name goes."""
        return self.env or PREFIX + self.key.upper().replace(".", "_")


def _on(name: str, about: str, *, saves: bool = False) -> Setting:
    """A switch that is on; `saves` marks those whose absence costs money, so that "off" is asked for too."""
    return _switch(name, about, default=True, unasked=() if saves else (False,))


def _off(name: str, about: str, *, saves: bool = False) -> Setting:
    return _switch(name, about, default=False, unasked=() if saves else (False,))


def _switch(name: str, about: str, *, default: bool, unasked: tuple[Value, ...]) -> Setting:
    key = f"features.{name}"
    return Setting(key, "bool", default, about, project="ask", unasked=unasked)


def _provider(
    name: str, kind: str | None, base_url: str | None, variable: str | None, protocol: str = "chat"
) -> tuple[Setting, ...]:
    table = f"providers.{name}"
    about_url = "Where its API is; unset: the SDK's own address."
    about_key = "Name of the environment variable that holds its key."
    return (
        Setting(
            f"{table}.kind",
            "choice",
            kind,
            "Which protocol it speaks.",
            risk="send your prompts elsewhere",
            choices=("anthropic", "openai"),
        ),
        Setting(
            f"{table}.base_url", "url", base_url, about_url, risk="send your prompts elsewhere"
        ),
        Setting(
            f"{table}.api_key_env", "variable", variable, about_key, risk="pick up another key"
        ),
        Setting(
            f"{table}.protocol",
            "choice",
            protocol,
            "For OpenAI-compatible providers: Chat Completions, or Responses where offered.",
            risk="send your prompts elsewhere",
            choices=("chat", "responses"),
        ),
    )


def _auto_approve(type_: str) -> Setting:
    return Setting(
        f"inbox.auto_approve.{type_}",
        "choice",
        "never",
        f"New memories of type `{type_}` that wait in the inbox: saved without you when their words "
        "were found in the messages they cite and nothing about them is suspicious, or never.",
        risk="let text from tools into your memory",
        choices=("never", "supported"),
    )


def _price(name: str, about: str) -> Setting:
    return Setting(f"prices.*.{name}", "money", None, about, risk="hide what you spend")


SETTINGS: Final[tuple[Setting, ...]] = (
    Setting(
        "home",
        "path",
        None,
        "Where Reverie keeps everything; unset: `~/.reverie`.",
        risk="move your data",
        files=False,
    ),
    Setting(
        "memory_directory",
        "path",
        None,
        "The memory directory itself; unset: `<home>/projects/<project>/memory`.",
        risk="send writes to ~/.ssh",
        env="REVERIE_MEMORY_DIR",
    ),
    Setting(
        "memory.enabled",
        "bool",
        default=True,
        about="Memory as a whole: prompt section, recall, extraction, dreams. Off in any source is off.",
        off_wins=True,
        project="ask",
        unasked=(True, False),
    ),
    Setting(
        "memory.person",
        "bool",
        default=True,
        about="Keep what is said about you in `<home>/person`, known in every project. Off in any "
        "source is off; then it stays in the project.",
        off_wins=True,
        project="ask",
        unasked=(True, False),
    ),
    Setting(
        "memory.index_in_prompt",
        "bool",
        default=True,
        about="Put MEMORY.md in the prompt; off: recall alone.",
        project="ask",
        unasked=(False,),
    ),
    Setting(
        "memory.extra_guidelines",
        "str",
        None,
        "Guidelines of your own, added at the end of the memory section of the prompt.",
        risk="put words in your prompts",
    ),
    # recall
    Setting(
        "recall.embedder",
        "choice",
        "default",
        "What recall knows of meaning: the `default` static model, `none` (words alone), the stronger "
        "`extra` (ONNX), or an `endpoint`.",
        risk="send your memories elsewhere",
        choices=("default", "none", "extra", "endpoint"),
    ),
    Setting(
        "recall.onnx_folder",
        "path",
        None,
        "Folder of a sentence model (`model.onnx`, `tokenizer.json`) for `extra`; unset: the one in an "
        "installed package.",
        risk="run a model of its own",
    ),
    Setting(
        "recall.endpoint.base_url",
        "url",
        None,
        "Where the OpenAI-compatible embeddings are; unset: OpenAI's own address.",
        risk="send your memories elsewhere",
    ),
    Setting(
        "recall.endpoint.model",
        "str",
        "text-embedding-3-small",
        "Which embedding model is asked there.",
        risk="raise your bill",
    ),
    Setting(
        "recall.endpoint.api_key_env",
        "variable",
        None,
        "Name of the environment variable that holds its key; unset: OPENAI_API_KEY at OpenAI's own "
        "address, none elsewhere.",
        risk="pick up another key",
    ),
    Setting(
        "recall.timeout",
        "float",
        10.0,
        "Seconds the selector may take; after that the score decides.",
        low=0.1,
        high=120,
        project="ask",
    ),
    Setting(
        "recall.deadline",
        "float",
        1.0,
        "Seconds the model waits for memories before it begins without them; offline, recall is always "
        "waited for.",
        low=0,
        high=60,
        project="ask",
    ),
    Setting(
        "recall.late",
        "choice",
        "inject",
        "Memories that are found after the model began: put in at the next boundary (the end of a tool "
        "round, or the next message), or dropped.",
        choices=("inject", "drop"),
        project="ask",
        unasked=("inject", "drop"),
    ),
    # models
    Setting(
        "models.main",
        "str",
        "offline",
        "Who talks to you: `provider:model`, or `offline` for none.",
        project="ask",
    ),
    Setting(
        "models.side",
        "str",
        "offline",
        "The small model that selects memories, dreams and reads past sessions; for the last two "
        "`models.main` stands in when it is `offline`.",
        project="ask",
    ),
    Setting(
        "models.summary",
        "str",
        "offline",
        "The cheapest model, for one-line summaries.",
        project="ask",
    ),
    Setting(
        "models.fallback",
        "str",
        None,
        "Takes over when `models.main` stays overloaded.",
        project="ask",
    ),
    Setting(
        "models.retries",
        "int",
        6,
        "How often a call is repeated that an overloaded provider refused; the waits grow from half a "
        "second to 16, or are as long as it asks for, up to a minute.",
        low=0,
        high=20,
    ),
    Setting(
        "models.idle_timeout",
        "float",
        180.0,
        "Seconds a provider may say nothing before a call is given up.",
        low=0.1,
        high=3600,
    ),
    *_provider("anthropic", "anthropic", None, "ANTHROPIC_API_KEY"),
    *_provider("openai", "openai", None, "OPENAI_API_KEY", "responses"),
    *_provider("ollama", "openai", "http://localhost:11434/v1", None),
    *_provider("*", None, None, None),
    # window and cache
    Setting(
        "window.tokens",
        "int",
        None,
        "Context window of a model that nothing else is known about; unset: 200,000.",
        env="REVERIE_CONTEXT_WINDOW",
        low=4_000,
        high=10_000_000,
        project="ask",
    ),
    Setting(
        "window.beta_1m",
        "bool",
        default=False,
        about="Ask for the 1M-token window where it is a beta.",
        project="ask",
        unasked=(False,),
    ),
    Setting(
        "cache.ttl",
        "choice",
        "auto",
        "How long a cached prompt prefix lives; `auto` pays for the hour where it is cheap.",
        choices=("5m", "1h", "auto"),
        project="ask",
    ),
    # prices of models the shipped table does not know, or knows wrongly
    _price("input", "US dollars per million input tokens of one model."),
    _price("output", "US dollars per million output tokens of one model."),
    _price("cache_read", "US dollars per million tokens read from the cache; unset: as input."),
    # spend
    Setting(
        "spend.day", "money", None, "Cap per day, all purposes together.", risk="raise your bill"
    ),
    Setting("spend.session", "money", None, "Cap per session.", risk="raise your bill"),
    Setting(
        "spend.dream",
        "money",
        2.0,
        "Cap for one dream, where the price of its model is known.",
        risk="raise your bill",
    ),
    Setting(
        "spend.purpose.*",
        "money",
        None,
        "Cap per day for one purpose: main, recall, extract, notes, compact, dream, summary, agent:NAME.",
        risk="raise your bill",
    ),
    Setting(
        "spend.main_on_cap",
        "choice",
        "warn",
        "What happens to the conversation itself when a cap is reached.",
        risk="raise your bill",
        choices=("warn", "stop"),
    ),
    # tools and permissions
    Setting(
        "tools.*.result_threshold",
        "threshold",
        None,
        "Results longer than this go to a file; unset: what the tool declares, else 50,000.",
        low=0,
        high=10_000_000,
        project="ask",
    ),
    Setting(
        "learning.every",
        "int",
        1,
        "Look for memories after every so many turns.",
        low=1,
        high=10_000,
        project="ask",
    ),
    Setting(
        "notes.refine",
        "choice",
        "late",
        "When a model refines the session notes: shortly before a compaction, whenever they are due, or never.",
        choices=("late", "due", "never"),
        project="ask",
        unasked=("never",),
    ),
    Setting(
        "dream.hours",
        "float",
        24.0,
        "How many hours pass between two dreams, at least.",
        low=0,
        high=10_000,
        project="ask",
    ),
    Setting(
        "dream.sessions",
        "int",
        5,
        "How many other sessions there must have been since the last dream.",
        low=0,
        high=10_000,
        project="ask",
    ),
    Setting(
        "dream.review",
        "bool",
        default=False,
        about="Leave every dream as a proposal for you to approve, change by change.",
        project="ask",
        unasked=(True,),
    ),
    Setting(
        "dream.loss_share",
        "float",
        0.10,
        "How much of memory a dream may delete or archive without asking you.",
        risk="let a dream throw memories away",
        low=0,
        high=1,
    ),
    *map(_auto_approve, ("user", "feedback", "project", "reference")),
    Setting(
        "tools.preview",
        "choice",
        "useful",
        "What stays of a result that went to a file: what tells most, or its first lines.",
        choices=("useful", "head"),
        project="ask",
        unasked=("useful", "head"),
    ),
    Setting(
        "agent.max_requests",
        "int",
        200,
        "How often the model is asked for one message of yours, at most.",
        low=1,
        high=10_000,
        project="ask",
    ),
    Setting(
        "agent.on_interrupt",
        "choice",
        "go-on",
        "What background work does when you interrupt a turn.",
        choices=("go-on", "stop"),
        project="ask",
        unasked=("stop",),
    ),
    Setting(
        "agents.depth",
        "int",
        2,
        "How deep agents may hire agents; 0: the session's own agent hires nobody.",
        risk="spend more than you expect",
        low=0,
        high=8,
    ),
    Setting(
        "agents.concurrent",
        "int",
        8,
        "How many agents may work at the same time.",
        risk="spend more than you expect",
        low=0,
        high=64,
    ),
    Setting(
        "agents.tokens",
        "int",
        2_000_000,
        "How many tokens the agents of a session may use together.",
        risk="spend more than you expect",
        low=0,
        high=1_000_000_000,
    ),
    Setting(
        "agents.minutes",
        "float",
        30.0,
        "How long an agent may work, teammates included.",
        risk="spend more than you expect",
        low=0.001,
        high=10_080,
    ),
    Setting(
        "daemon.idle_minutes",
        "int",
        30,
        "How long the process that answers hooks waits for the next one before it ends.",
        low=1,
        high=1_440,
        risk="keep a process running",
    ),
    Setting(
        "permissions.mode",
        "choice",
        "ask",
        "What tools may do without asking.",
        risk="run commands without asking",
        choices=("ask", "accept-edits", "plan", "bypass"),
    ),
    # what Reverie says about itself
    Setting(
        "log.level",
        "choice",
        "warning",
        "The least serious thing that is logged.",
        choices=("debug", "info", "warning", "error", "critical"),
        project="ask",
    ),
    Setting(
        "log.file", "path", None, "Log to this file; unset: no file.", risk="overwrite your files"
    ),
    Setting(
        "telemetry.enabled",
        "bool",
        default=False,
        about="OpenTelemetry spans and metrics.",
        risk="report what you do",
    ),
    # one switch for every system
    _on("recall", "Find memories that fit the prompt and attach them."),
    _on("extract", "Save what was learnt at the end of a turn."),
    _on("dream", "Consolidate memory between sessions."),
    _on("session_notes", "Keep notes of the session as it goes."),
    _on("notes_compaction", "Compact with the session notes, without a model call.", saves=True),
    _on("autocompact", "Compact when the window is nearly full.", saves=True),
    _off("microcompact_time", "Clear old tool results after an hour's pause.", saves=True),
    _on(
        "microcompact_cached",
        "Clear old tool results by cache edits, where the provider has them.",
        saves=True,
    ),
    _on(
        "microcompact_server",
        "Let the provider clear old tool results, where it can and batches cannot count the cost.",
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
        "collapse", "Fold finished rounds into summaries that open again; instead of autocompact."
    ),
    _off("web_fetch", "Let the agent fetch pages from the web."),
    _off("team", "Share a part of memory with a team."),
    _off("daily_log", "Append to a log by day; a nightly dream distils it."),
    _off("agent_summary", "Have a model say every 30 s what each agent does (it costs a little)."),
    _on("agents", "Let the agent hire others and write to them."),
    _off("agent_socket", "Let other sessions of yours write to this one."),
    _on("search_past_context", "Tell the model how to search past sessions."),
)

FEATURES: Final[tuple[str, ...]] = tuple(
    row.key.removeprefix("features.") for row in SETTINGS if row.key.startswith("features.")
)

# These do nothing while memory.enabled is off.
NEED_MEMORY: Final = frozenset({"recall", "extract", "dream", "team", "daily_log"})

# Variables that are ours but set no setting of their own name.
DISABLE_MEMORY: Final = "REVERIE_DISABLE_MEMORY"
REMOTE: Final = "REVERIE_REMOTE"
MEMORY_DIR: Final = "REVERIE_MEMORY_DIR"
OTHER_VARIABLES: Final[dict[str, str]] = {
    DISABLE_MEMORY: "`1` turns `memory.enabled` off.",
    REMOTE: f"`1` says this is a remote host: `memory.enabled` is off unless `{MEMORY_DIR}` is set.",
    "REVERIE_MCP_TOKEN": "The token clients must show to `reverie mcp --http`; otherwise one is made and printed.",
    "REVERIE_DATA": "Where tests and benchmarks find their data sets.",
}
