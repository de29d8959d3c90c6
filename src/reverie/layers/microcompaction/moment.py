"""What a decision on old tool results is made from: the moment, and how eager to be. Values only."""

from __future__ import annotations

from dataclasses import dataclass, replace

from reverie.core.capabilities import TTL_SECONDS, Capabilities, Ttl
from reverie.core.usage import Prices
from reverie.core.window import Window


@dataclass(frozen=True, slots=True)
class Moment:
    """What is true right before a request.

    `context` is the size of the whole prompt as best known. Forks are not the main thread: they share a prefix they must not touch.
    """

    now: float
    context: int
    window: Window
    capabilities: Capabilities
    prices: Prices | None = None
    ttl: Ttl = "5m"
    main: bool = True

    @property
    def pressed(self) -> bool:
        return self.window.state(self.context) != "ok"

    @property
    def life(self) -> float:
        """How long the provider keeps a prefix nobody asks for, in seconds."""
        cache = self.capabilities.cache
        return TTL_SECONDS[self.ttl] if cache.kind == "explicit" else cache.ttl_seconds

    def idle(self, since: float | None) -> float:
        """Seconds since then; none when nothing happened yet."""
        return 0.0 if since is None else self.now - since

    @property
    def rates(self) -> Prices | None:
        return self.prices.tier(self.context) if self.prices is not None else None


# The sizes below suit windows from here on.
FULL_WINDOW = 200_000


@dataclass(frozen=True, slots=True)
class Policy:
    """The switches, and the figures behind them.

    time       after a pause of `idle_seconds`, keep the newest `keep`
    cached     past `live_above` results, or when the window fills up, ask the provider to drop all
               but the newest `keep`
    batch      when it pays: at least `least_freed` tokens, worth `margin` times what they cost;
               never the newest `keep` nor the newest `keep_tokens`

    A context under `least_context` is left alone by the last two. `calls` is how far ahead a batch
    looks (see batches.py).
    """

    time: bool = False
    cached: bool = True
    batch: bool = True
    keep: int = 3
    idle_seconds: float = 3_600.0
    live_above: int = 20
    least_context: int = 40_000
    least_freed: int = 1_000
    keep_tokens: int = 0
    margin: float = 1.0
    calls: int = 10

    def fitting(self, window: Window) -> Policy:
        """The same policy for a smaller window: sizes shrink with it."""
        share = min(1.0, window.tokens / FULL_WINDOW)
        return replace(
            self,
            least_context=int(self.least_context * share),
            least_freed=int(self.least_freed * share),
            keep_tokens=int(self.keep_tokens * share),
        )
