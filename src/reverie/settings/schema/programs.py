"""Settings of models, and of the programs around memory: agents and their tools, hooks, daemon, proxy, logs."""

from __future__ import annotations

from typing import Final

from reverie.settings.schema.row import Setting


def _upstream(family: str, address: str) -> Setting:
    about = (
        f"Where the proxy sends requests of the {family} family: the provider or another gateway."
    )
    risk = "send your prompts and keys elsewhere"
    return Setting(f"proxy.upstream.{family}", "url", address, about, risk=risk)


def _proxy_switch(name: str, about: str) -> Setting:
    risk = "change what your clients send"
    return Setting(f"proxy.{name}", "bool", default=True, about=f"Proxy: {about}", risk=risk)


PROGRAMS: Final[tuple[Setting, ...]] = (
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
        "tools.head_tokens",
        "int",
        4_000,
        "The most tokens for the definitions of tools that a program adds to a session; beyond that, "
        "tools are found and called through two others, `find_tools` and `call_tool`.",
        low=0,
        high=1_000_000,
        project="ask",
    ),
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
        "permissions.mode",
        "choice",
        "ask",
        "What tools may do without asking.",
        risk="run commands without asking",
        choices=("ask", "accept-edits", "plan", "bypass"),
    ),
    Setting(
        "hooks.notice",
        "choice",
        "session",
        "When a client shows you a line about memory: once a session, after each turn with news, or never.",
        choices=("session", "turn", "off"),
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
        "Milliseconds after which a request is sent without anything new from Reverie.",
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
    _proxy_switch("memory", "Add fitting memories after the person's messages."),
    _proxy_switch("layers", "Store long tool results, and clear old ones where that pays."),
    Setting(
        "proxy.clearing",
        "choice",
        "safe",
        "When the proxy clears or compacts what is old: `safe`, if that costs no more than the session has "
        "saved before; `expected`, if it pays in a session that continues for ten more requests.",
        risk="change what your clients send",
        choices=("safe", "expected"),
    ),
    _proxy_switch("marks", "Place cache marks where that costs less than the client's own."),
    _proxy_switch(
        "compaction", "Compact by price; by size for clients that do not do so themselves."
    ),
    _proxy_switch("learning", "Learn from proxied conversations after each turn."),
    _proxy_switch("record", "Keep a journal and a ledger of proxied conversations."),
    _proxy_switch(
        "slim_tools",
        "Send the client's tools in their shortest equivalent form, without what a model does not need.",
    ),
    Setting(
        "proxy.shadow",
        "bool",
        default=False,
        about="Change nothing; only count what would have been saved.",
        risk="change what is sent",
    ),
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
)


def _provider(
    name: str, kind: str | None, base_url: str | None, variable: str | None, protocol: str = "chat"
) -> tuple[Setting, ...]:
    table = f"providers.{name}"
    about_url = "Address of its API; unset: the SDK's default."
    about_key = "Name of the environment variable that holds its key."
    return (
        Setting(
            f"{table}.kind",
            "choice",
            kind,
            "The kind of API it offers.",
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


def _price(name: str, about: str) -> Setting:
    return Setting(f"prices.*.{name}", "money", None, about, risk="hide what you spend")


MODELS: Final[tuple[Setting, ...]] = (
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
    _price("input", "US dollars per million input tokens of one model."),
    _price("output", "US dollars per million output tokens of one model."),
    _price(
        "cache_read", "US dollars per million tokens read from the cache; unset: same as input."
    ),
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
    Setting(
        "window.tokens",
        "int",
        None,
        "Context window of models whose window is not known (unset: 200,000); a smaller value also "
        "shrinks a known one.",
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
    Setting(
        "context.profile",
        "choice",
        "balanced",
        "How soon old tool traffic leaves a long conversation: `thrifty` for the lowest bill, `faithful` "
        "to keep most of the files being worked on in view. What was said and decided always stays.",
        choices=("thrifty", "balanced", "faithful"),
        project="ask",
    ),
)
