"""The table of all settings: to add one, add a row."""

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


# This package uses named tuples: a dataclass takes ten times as long to define, and every hook
# of a coding agent waits for these imports.
class Setting(NamedTuple):
    """One setting. A `*` in the key stands for a name the user chooses (a provider, tool, purpose)."""

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
    # False for a setting that decides where the files are; a file cannot set it.
    files: bool = True
    # "Off" in any source wins, even over a higher source.
    off_wins: bool = False
    # Whether a file inside a project's folder may set it after the user agrees to that file.
    # Such a file may have come with a clone or an archive, so the default is no.
    project: Literal["never", "ask"] = "never"
    # Values a project's file may set without asking: they cost, send and allow nothing.
    unasked: tuple[Value, ...] = ()

    @property
    def project_may_set(self) -> bool:
        """Whether a project's file may set it, with or without asking."""
        return self.project == "ask"

    @property
    def variable(self) -> str:
        """The environment variable that sets it; `*` where the name goes."""
        return self.env or PREFIX + self.key.upper().replace(".", "_")


def _on(name: str, about: str, *, saves: bool = False) -> Setting:
    """A switch that is on by default; `saves` marks those that cost money when off, so "off" asks, too."""
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
            "The API it offers.",
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
        f"When new memories of type `{type_}` in the inbox are saved without your approval: "
        "`supported`, if their words were found in the messages they cite and nothing about them is "
        "suspicious, or `never`.",
        risk="let text from tools into your memory",
        choices=("never", "supported"),
    )


def _upstream(family: str, address: str) -> Setting:
    about = (
        f"Where the proxy sends requests of the {family} family; another gateway may stand there."
    )
    risk = "send your prompts and keys elsewhere"
    return Setting(f"proxy.upstream.{family}", "url", address, about, risk=risk)


def _proxy_switch(name: str, about: str) -> Setting:
    risk = "change what your clients send"
    return Setting(f"proxy.{name}", "bool", default=True, about=f"Proxy: {about}", risk=risk)


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
        about="Memory as a whole: prompt section, recall, extraction, dreams. Off in any source wins.",
        off_wins=True,
        project="ask",
        unasked=(True, False),
    ),
    Setting(
        "memory.person",
        "bool",
        default=True,
        about="Keep memories about you in `<home>/person`, for every project. Off in any source wins; "
        "then they stay in the project.",
        off_wins=True,
        project="ask",
        unasked=(True, False),
    ),
    Setting(
        "memory.index_in_prompt",
        "bool",
        default=True,
        about="Put MEMORY.md in the prompt; off: recall only.",
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
        "The embedding model of recall: the `default` static model, `none` (words only), the stronger "
        "`extra` (see `reverie models recall`), or an `endpoint`.",
        risk="send your memories elsewhere",
        choices=("default", "none", "extra", "endpoint"),
    ),
    Setting(
        "recall.model",
        "str",
        None,
        "The model of `extra`, by its name at the hub (needs `fastembed`; downloaded at the first use); "
        "unset: the one in an installed package, or snowflake/snowflake-arctic-embed-s.",
        risk="run a model of its own",
    ),
    Setting(
        "recall.model_folder",
        "path",
        None,
        "Folder of a sentence model (`model.onnx`, `tokenizer.json`) for `extra`, where there is no "
        "network.",
        risk="run a model of its own",
    ),
    Setting(
        "sync.remote",
        "str",
        None,
        "The git remote of yours that `reverie sync` uses; unset: the one given last with --remote.",
        risk="send your memories elsewhere",
    ),
    Setting(
        "sync.key",
        "path",
        None,
        "File with an age key; set: `reverie sync` encrypts everything it sends.",
        risk="send your memories unencrypted",
    ),
    Setting(
        "store.url",
        "url",
        None,
        "Address of a Reverie service that keeps the memory; unset: files on this machine.",
        risk="send your memories elsewhere",
    ),
    Setting(
        "store.project",
        "str",
        None,
        "The project's name in that service; unset: the repository's address, or the folder's name.",
        risk="read the memory of another project",
    ),
    Setting(
        "store.key_env",
        "variable",
        "REVERIE_KEY",
        "Name of the environment variable that holds the key for that service.",
        risk="pick up another key",
    ),
    Setting(
        "recall.endpoint.base_url",
        "url",
        None,
        "Address of an OpenAI-compatible embeddings API; unset: OpenAI's own address.",
        risk="send your memories elsewhere",
    ),
    Setting(
        "recall.endpoint.model",
        "str",
        "text-embedding-3-small",
        "The embedding model to use there.",
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
        "Seconds the selector may take; after that, the scores decide.",
        low=0.1,
        high=120,
        project="ask",
    ),
    Setting(
        "recall.deadline",
        "float",
        1.0,
        "Seconds a turn waits for memories before the model starts without them; offline, it always "
        "waits for recall.",
        low=0,
        high=60,
        project="ask",
    ),
    Setting(
        "recall.late",
        "choice",
        "inject",
        "What happens to memories found after the model started: `inject` adds them at the next "
        "boundary (the end of a tool round, or the next message), `drop` drops them.",
        choices=("inject", "drop"),
        project="ask",
        unasked=("inject", "drop"),
    ),
    # models
    Setting(
        "models.main",
        "str",
        "offline",
        "The model you talk to: `provider:model`, or `offline` for none.",
        project="ask",
    ),
    Setting(
        "models.side",
        "str",
        "offline",
        "The small model that selects memories, dreams and reads past sessions; if it is `offline`, "
        "`models.main` does the last two.",
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
        "How often to retry a call that an overloaded provider refused; the waits grow from 0.5 to 16 "
        "seconds, or are as long as the provider asks for, up to a minute.",
        low=0,
        high=20,
    ),
    Setting(
        "models.idle_timeout",
        "float",
        180.0,
        "Seconds without data from a provider after which a call fails.",
        low=0.1,
        high=3600,
    ),
    *_provider("anthropic", "anthropic", None, "ANTHROPIC_API_KEY"),
    *_provider("openai", "openai", None, "OPENAI_API_KEY", "responses"),
    *_provider("ollama", "openai", "http://localhost:11434/v1", None),
    *_provider("llamacpp", "openai", "http://localhost:8080/v1", None),
    *_provider("*", None, None, None),
    # other agents
    Setting(
        "hooks.notice",
        "choice",
        "session",
        "When a client shows the person a line about memory: once a session, after each turn with news, never.",
        choices=("session", "turn", "off"),
    ),
    # window and cache
    Setting(
        "window.tokens",
        "int",
        None,
        "Context window of models whose window is not known (unset: 200,000); a smaller value also shrinks a known one.",
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
        "How long a cached prompt prefix lives; `auto` uses one hour where it pays off.",
        choices=("5m", "1h", "auto"),
        project="ask",
    ),
    # prices of models that the built-in table lacks or has wrong
    _price("input", "US dollars per million input tokens of one model."),
    _price("output", "US dollars per million output tokens of one model."),
    _price(
        "cache_read", "US dollars per million tokens read from the cache; unset: same as input."
    ),
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
        "Results longer than this go to a file; unset: what the tool declares, else 50,000; for commands and "
        "searches at most what `context.profile` allows (6,000, 8,000 or 16,000).",
        low=0,
        high=10_000_000,
        project="ask",
    ),
    Setting(
        "learning.every",
        "int",
        1,
        "Extract memories every this many turns.",
        low=1,
        high=10_000,
        project="ask",
    ),
    Setting(
        "learning.pause",
        "float",
        120.0,
        "Seconds without a new prompt after which a model is asked what to remember of the turns so far; "
        "also when a conversation ends, and after four turns that state something. 0: after every turn.",
        low=0,
        high=3600,
        project="ask",
    ),
    Setting(
        "context.profile",
        "choice",
        "balanced",
        "How soon old tool traffic leaves a long conversation: `thrifty` for the lowest bill, `faithful` to "
        "keep most of the files in work in sight. What was said and decided stays under all of them.",
        choices=("thrifty", "balanced", "faithful"),
        project="ask",
    ),
    Setting(
        "learning.alarm_after",
        "int",
        5,
        "Sessions without a learning run that worked, after which you are told; 0: never.",
        low=0,
        high=1_000,
        project="ask",
    ),
    Setting(
        "impact.holdout",
        "float",
        0.0,
        "Share of sessions that get no recalled memories, chosen by chance at their start, so that "
        "`reverie impact` can compare; 0.1 is every tenth, 0 none.",
        low=0,
        high=0.5,
        risk="take memories away from your sessions",
    ),
    Setting(
        "notes.refine",
        "choice",
        "late",
        "When a model refines the session notes: shortly before a compaction (`late`), whenever they are "
        "due, or never.",
        choices=("late", "due", "never"),
        project="ask",
        unasked=("never",),
    ),
    Setting(
        "dream.hours",
        "float",
        24.0,
        "Minimum hours between two dreams.",
        low=0,
        high=10_000,
        project="ask",
    ),
    Setting(
        "dream.sessions",
        "int",
        5,
        "Minimum number of other sessions since the last dream.",
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
        "Share of the memories that a dream may delete or archive without asking you.",
        risk="let a dream throw memories away",
        low=0,
        high=1,
    ),
    *map(_auto_approve, ("user", "feedback", "project", "reference")),
    Setting(
        "tools.preview",
        "choice",
        "useful",
        "What the prompt keeps of a result that went to a file: its most useful lines, or its first lines.",
        choices=("useful", "head"),
        project="ask",
        unasked=("useful", "head"),
    ),
    Setting(
        "agent.max_requests",
        "int",
        200,
        "Maximum number of model requests for one message of yours.",
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
        "How deep agents may hire agents; 0: the session's own agent may hire none.",
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
        "How many tokens all agents of a session may use together.",
        risk="spend more than you expect",
        low=0,
        high=1_000_000_000,
    ),
    Setting(
        "agents.minutes",
        "float",
        30.0,
        "How many minutes an agent may work, teammates included.",
        risk="spend more than you expect",
        low=0.001,
        high=10_080,
    ),
    Setting(
        "daemon.idle_minutes",
        "int",
        30,
        "Minutes without a hook call after which the daemon ends.",
        low=1,
        high=1_440,
        risk="keep a process running",
    ),
    # the proxy
    Setting(
        "proxy.port",
        "int",
        8790,
        "Where `reverie proxy` listens on this machine; 0 takes any free port.",
        risk="listen where another program should",
        low=0,
        high=65_535,
    ),
    _upstream("anthropic", "https://api.anthropic.com"),
    _upstream("openai", "https://api.openai.com"),
    _upstream("gemini", "https://generativelanguage.googleapis.com"),
    Setting(
        "proxy.patience",
        "int",
        150,
        "Milliseconds after which a request goes on with nothing new from Reverie.",
        risk="delay every request",
        low=1,
        high=60_000,
    ),
    Setting(
        "proxy.project",
        "path",
        None,
        "The project of clients that do not say where they work; unset: where the proxy was started.",
        risk="mix the memory of projects",
    ),
    _proxy_switch("memory", "Add memories that fit behind the person's messages."),
    _proxy_switch("layers", "Store long tool results, and clear old ones where that pays."),
    Setting(
        "proxy.clearing",
        "choice",
        "safe",
        "When the proxy clears old tool results: `safe`, if that costs no more than the session has "
        "saved before; `expected`, if it pays in a session that goes on for ten more requests.",
        risk="change what your clients send",
        choices=("safe", "expected"),
    ),
    _proxy_switch("marks", "Place cache marks where that costs less than the client's own."),
    _proxy_switch("compaction", "Compact for clients that do not do so themselves."),
    _proxy_switch("learning", "Learn from proxied conversations after each turn."),
    _proxy_switch("record", "Keep a journal and a ledger of proxied conversations."),
    Setting(
        "proxy.shadow",
        "bool",
        default=False,
        about="Change nothing; only count what would have been saved.",
        risk="change what is sent",
    ),
    Setting(
        "permissions.mode",
        "choice",
        "ask",
        "What tools may do without asking.",
        risk="run commands without asking",
        choices=("ask", "accept-edits", "plan", "bypass"),
    ),
    # logs and telemetry
    Setting(
        "log.level",
        "choice",
        "warning",
        "Lowest level that is logged.",
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
    # feature switches
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
