"""How much is kept and restored, for full windows; smaller windows get the same shares."""

from __future__ import annotations

from reverie.core.window import Window

# Recent messages that stay word for word beside a summary.
RECENT = 10_000

# Recent messages that stay beside the notes, which know less of the last steps.
BESIDE_NOTES = 10_000
MOST_BESIDE_NOTES = 40_000
TEXTS_BESIDE_NOTES = 5

FILES = 5
FILE = 5_000
ALL_FILES = 50_000
EXTRA = 5_000
ALL_EXTRAS = 25_000

_FULL_FROM = 100_000


def scaled(tokens: int, window: Window) -> int:
    """A size that suits large windows, as a share of a small one."""
    return tokens if window.tokens >= _FULL_FROM else tokens * window.tokens // _FULL_FROM
