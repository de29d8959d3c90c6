"""The models this provider knows: windows, cache minimums and what each one accepts.

Numbers without a documented source repeat those of the predecessor of the same line; the module
docstring of the package says which.
"""

from dataclasses import dataclass

_ANY = frozenset({"adaptive", "enabled", "disabled"})
_ADAPTIVE = frozenset({"adaptive"})


@dataclass(frozen=True, slots=True)
class Model:
    """What one Anthropic model accepts."""

    id: str
    window: int = 1_000_000
    max_output: int = 128_000
    cache_minimum: int = 1024
    # The model refuses a thinking block whose prefix changed.
    bound: bool = False
    # Thinking of earlier turns stays in the prompt unless an edit clears it.
    keeps_thinking: bool = True
    system_messages: bool = True
    prefill: bool = False
    forced_tools: bool = True
    thinking: frozenset[str] = _ANY
    # Other models whose thinking this one may read; its own it always reads.
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class OpenAiModel:
    id: str
    window: int


def _old(id_: str, minimum: int, *, small: bool = False, prefill: bool = True) -> Model:
    """A 4.x model: no mid-conversation system messages."""
    return Model(
        id_,
        window=200_000 if small else 1_000_000,
        max_output=64_000 if small else 128_000,
        cache_minimum=minimum,
        system_messages=False,
        prefill=prefill,
        keeps_thinking=not small or "opus" in id_,
    )


_FABLE_READS = frozenset({"claude-opus-5", "claude-opus-5-5"})
# Blocks of this model are not tied to a reader.
READ_BY_ALL = "claude-haiku-5-5"

_ALL = (
    Model(
        "claude-fable-5-2", cache_minimum=512, bound=True, thinking=_ADAPTIVE, reads=_FABLE_READS
    ),
    Model(
        "claude-fable-5-1", cache_minimum=512, bound=True, thinking=_ADAPTIVE, reads=_FABLE_READS
    ),
    Model("claude-fable-5", cache_minimum=512, thinking=_ADAPTIVE),
    Model("claude-mythos-5-2", cache_minimum=512, thinking=_ADAPTIVE),
    Model("claude-mythos-5-1", cache_minimum=512, thinking=_ADAPTIVE),
    Model("claude-mythos-5", cache_minimum=512, thinking=_ADAPTIVE),
    Model("claude-mythos-preview", cache_minimum=2048),
    Model("claude-opus-5-5", cache_minimum=512, bound=True, thinking=_ADAPTIVE),
    Model("claude-opus-5", cache_minimum=512),
    Model(
        "claude-sonnet-5-5",
        bound=True,
        forced_tools=False,
        thinking=frozenset({"adaptive", "disabled", "between_tools"}),
    ),
    Model("claude-sonnet-5", system_messages=False),
    Model("claude-haiku-5-5", cache_minimum=4096, bound=True),
    Model("claude-opus-4-8"),
    _old("claude-opus-4-7", 2048, prefill=False),
    _old("claude-opus-4-6", 4096, prefill=False),
    _old("claude-sonnet-4-6", 1024, prefill=False),
    _old("claude-opus-4-5", 4096, small=True),
    _old("claude-opus-4-5-20251101", 4096, small=True),
    _old("claude-sonnet-4-5", 1024, small=True),
    _old("claude-sonnet-4-5-20250929", 1024, small=True),
    _old("claude-haiku-4-5", 4096, small=True),
    _old("claude-haiku-4-5-20251001", 4096, small=True),
)

ANTHROPIC: dict[str, Model] = {model.id: model for model in _ALL}

OPENAI: dict[str, OpenAiModel] = {
    model.id: model
    for model in (
        OpenAiModel("gpt-6-astra", 1_000_000),
        OpenAiModel("gpt-6.1-sol", 400_000),
        OpenAiModel("gpt-6.1-terra", 400_000),
        OpenAiModel("gpt-6-sol", 400_000),
        OpenAiModel("gpt-6-luna", 400_000),
        OpenAiModel("gpt-5.6", 400_000),
        OpenAiModel("gpt-5.5", 400_000),
        # What a local server would call its only model.
        OpenAiModel("local", 32_768),
    )
}


def may_read(reader: Model, producer: str) -> bool:
    """Whether `reader` may be shown thinking that `producer` wrote."""
    return producer in {reader.id, READ_BY_ALL} or producer in reader.reads
