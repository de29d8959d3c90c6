"""Settings of models: providers, prices, caps on spending, and the context window."""

from __future__ import annotations

from typing import Final

from reverie.settings.schema.row import Setting


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
    Setting(
        "context.profile",
        "choice",
        "balanced",
        "How soon old tool traffic leaves a long conversation: `thrifty` for the lowest bill, `faithful` to "
        "keep most of the files in work in sight. What was said and decided stays under all of them.",
        choices=("thrifty", "balanced", "faithful"),
        project="ask",
    ),
)
