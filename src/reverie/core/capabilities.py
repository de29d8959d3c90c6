"""What a model can do, declared as data: layers decide by these, never by a provider's name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Ttl: TypeAlias = Literal["5m", "1h"]

TTL_SECONDS: dict[Ttl, float] = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How a provider's prompt cache behaves.

    explicit   the request marks breakpoints; entries are written only there
    automatic  the provider caches prefixes by itself, in steps of `step` tokens
    none       nothing is cached
    """

    kind: Literal["explicit", "automatic", "none"] = "none"
    minimum: int = 1024
    max_breakpoints: int = 4
    look_back: int = 20
    step: int = 128
    ttl_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Capabilities:
    """One model's abilities and limits."""

    window: int | None = None
    max_output: int | None = None
    cache: CacheRules = field(default_factory=CacheRules)
    thinking: frozenset[str] = frozenset()
    thinking_bound: bool = False
    sampling: bool = True
    effort: bool = False
    json_schema: bool = False
    forced_tool_choice: bool = True
    cache_edits: bool = False
    context_management: bool = False
    compaction: bool = False
    system_messages: bool = False
    exact_counting: bool = False
