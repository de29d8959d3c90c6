"""Settings of memory: where it is, recall, learning and dreams."""

from __future__ import annotations

from typing import Final

from reverie.settings.schema.row import Setting


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


MEMORY: Final[tuple[Setting, ...]] = (
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
        about="All of memory: prompt section, recall, extraction, dreams. Off in any source wins.",
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
        "memory.index_tokens",
        "int",
        3_000,
        "The most tokens that one MEMORY.md may take in the prompt; recall finds what it does not list.",
        low=100,
        high=10_000,
        project="ask",
    ),
    Setting(
        "memory.extra_guidelines",
        "str",
        None,
        "Guidelines of your own, added at the end of the memory section of the prompt.",
        risk="put words in your prompts",
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
        "server.model",
        "str",
        "offline",
        "The model that workers of `reverie serve` extract and dream with, under each organisation's "
        "caps; `offline`: the rules alone.",
        risk="spend money of the service",
    ),
    Setting(
        "sync.remote",
        "str",
        None,
        "Your git remote for `reverie sync`; unset: the one last given with --remote.",
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
        "Folder of the model of `extra`, where there is no network: a sentence model (`model.onnx`, "
        "`tokenizer.json`) or a static one of Model2Vec (`model.safetensors`, `tokenizer.json`).",
        risk="run a model of its own",
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
        "boundary (the end of a tool round, or the next message), `drop` discards them.",
        choices=("inject", "drop"),
        project="ask",
        unasked=("inject", "drop"),
    ),
    Setting(
        "learning.every",
        "int",
        1,
        "Number of turns from one extraction to the next.",
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
        "learning.share",
        "float",
        0.01,
        "The most that a model may cost which reads a conversation for memories, as a share of what the "
        "conversation has cost, where prices are known. Turns that would cost more wait, if need be for "
        "later conversations; the rules read every turn at once. 1: never wait.",
        low=0,
        high=1,
        project="ask",
    ),
    Setting(
        "learning.batch",
        "choice",
        "off",
        "`when-idle`: a model reads ended sessions, also those of other clients, in a batch: at half "
        "price, within a day (Anthropic and OpenAI). `off`: only `reverie extract --batch` does.",
        risk="spend your money",
        choices=("off", "when-idle"),
    ),
    Setting(
        "learning.alarm_after",
        "int",
        5,
        "You are told after this many sessions without a successful learning run; 0: never.",
        low=0,
        high=1_000,
        project="ask",
    ),
    *map(_auto_approve, ("user", "feedback", "project", "reference")),
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
        "impact.holdout",
        "float",
        0.0,
        "Share of sessions that get no recalled memories, chosen by chance at their start, so that "
        "`reverie impact` can compare; 0.1 is every tenth, 0 none.",
        low=0,
        high=0.5,
        risk="take memories away from your sessions",
    ),
)
