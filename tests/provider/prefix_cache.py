"""Automatic prefix caching as OpenAI documents it: from 1,024 tokens on, in steps of 128."""

from dataclasses import dataclass, field

from tests.provider.clock import Clock

MINIMUM = 1024
STEP = 128
LIFETIME = 1800.0


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a prompt: its bytes and its tokens."""

    content: bytes
    tokens: int


@dataclass(slots=True)
class _Seen:
    model: str
    pieces: tuple[Piece, ...]
    expires: float


def shared(before: tuple[Piece, ...], now: tuple[Piece, ...]) -> int:
    """Tokens of the longest common prefix; the first differing piece counts in proportion."""
    total = 0
    for a, b in zip(before, now, strict=False):
        if a.content == b.content:
            total += b.tokens
            continue
        same = next(
            (i for i, (x, y) in enumerate(zip(a.content, b.content, strict=False)) if x != y),
            min(len(a.content), len(b.content)),
        )
        return total + b.tokens * same // max(1, len(b.content))
    return total


@dataclass(slots=True)
class PrefixCache:
    clock: Clock
    _seen: list[_Seen] = field(default_factory=list)

    def read(self, model: str, pieces: tuple[Piece, ...]) -> int:
        """Cached tokens of this prompt."""
        best = 0
        for seen in self._seen:
            if seen.model == model and seen.expires > self.clock.now:
                count = shared(seen.pieces, pieces) // STEP * STEP
                if count >= MINIMUM:
                    best = max(best, count)
                    seen.expires = self.clock.now + LIFETIME
        return best

    def write(self, model: str, pieces: tuple[Piece, ...]) -> None:
        if sum(piece.tokens for piece in pieces) >= MINIMUM:
            self._seen.append(_Seen(model, pieces, self.clock.now + LIFETIME))
