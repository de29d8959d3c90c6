"""Find secrets in text, with a scanner library and our own rules, and replace them by a marker.

Every text that is written passes through here: memory, inbox, notes, transcripts, stored results,
the index of past conversations, exports and logs.

Redaction is idempotent: during the scan, each marker and each found secret is replaced by one opaque
character, so that the redacted text is scanned exactly like the original in its last round.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reverie.memory.secrets.cues import find_cues
from reverie.memory.secrets.formats import find_formats
from reverie.memory.secrets.layout import find_in_layout
from reverie.memory.secrets.library import Secret, find_known, fingerprint, unavailable
from reverie.memory.secrets.named import find_named, lowered
from reverie.memory.secrets.sentences import find_in_sentences

__all__ = ["Redacted", "Secret", "find_secrets", "fingerprint", "redact", "unavailable"]

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator


# Round brackets, letters, dots and a spaced hyphen have no meaning in YAML scalars and flow lists, JSON
# strings and markdown.
_MARKER = re.compile(r"\(secret removed - [a-z0-9 .-]{1,48}\)")
_OPAQUE = "\ufffc"
# A second round finds what the first one uncovered; more are needed only for hostile texts.
_MOST_ROUNDS = 12


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and their positions in the original text."""

    text: str
    secrets: tuple[Secret, ...]


def redact(text: str, allowed: Collection[str] = ()) -> Redacted:
    """The text with a visible marker for each secret."""
    secrets = find_secrets(text, allowed)
    parts: list[str] = []
    end = 0
    for secret in secrets:
        parts += [text[end : secret.start], _marker(secret.kind)]
        end = secret.end
    return Redacted("".join([*parts, text[end:]]), secrets)


def find_secrets(text: str, allowed: Collection[str] = ()) -> tuple[Secret, ...]:
    """All secrets in order, without overlaps; `allowed` are fingerprints of false positives."""
    markers = [found.span() for found in _MARKER.finditer(text)]
    secrets: list[Secret] = []
    refused: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        view = _View.of(text, sorted([*markers, *((s.start, s.end) for s in secrets)]))
        found = _search(view, text, allowed, refused)
        if not found:
            break
        secrets += found
    return tuple(sorted(secrets, key=lambda secret: secret.start))


def _search(view: _View, text: str, allowed: Collection[str], refused: set[int]) -> list[Secret]:
    """Search with our rules first: in a URL they find only the password, the library all of it.

    The library then scans the rest; a text is clean only if the library finds nothing, either.
    """
    for search in (lambda text: _find_ours(text, refused), find_known):
        found = [
            secret
            for secret in view.original(_merge(search(view.text), view.text))
            if not allowed or fingerprint(text[secret.start : secret.end]) not in allowed
        ]
        if found:
            return found
    return []


def _find_ours(text: str, refused: set[int]) -> list[Secret]:
    lower = lowered(text)
    cues = find_cues(lower)
    return [
        *find_formats(text),
        *find_named(text, lower),
        *find_in_layout(text, cues),
        *find_in_sentences(text, lower, cues, refused),
    ]


def _marker(kind: str) -> str:
    return f"(secret removed - {kind})"


def _merge(candidates: list[Secret], text: str) -> Iterator[Secret]:
    """Merge overlapping candidates; the first in the list gives the kind.

    Candidates that contain a marker are skipped.
    """
    merged: Secret | None = None
    surest = 0
    for rank, secret in sorted(enumerate(candidates), key=lambda item: (item[1].start, item[0])):
        if _OPAQUE in text[secret.start : secret.end]:
            continue
        if merged is None or secret.start >= merged.end:
            if merged is not None:
                yield merged
            merged, surest = secret, rank
            continue
        kind = secret.kind if rank < surest else merged.kind
        merged, surest = Secret(kind, merged.start, max(merged.end, secret.end)), min(rank, surest)
    if merged is not None:
        yield merged


@dataclass(frozen=True, slots=True)
class _View:
    """A text with each opaque span as one character, and the mapping to original offsets."""

    text: str
    starts: list[int]
    origins: list[int]

    @classmethod
    def of(cls, text: str, opaque: Iterable[tuple[int, int]]) -> _View:
        parts: list[str] = []
        starts, origins, length, at = [0], [0], 0, 0
        for start, end in opaque:
            # The text itself must not contain the opaque character.
            parts += [text[at:start].replace(_OPAQUE, "\ufffd"), _OPAQUE]
            length += start - at + 1
            starts.append(length)
            origins.append(end)
            at = end
        parts.append(text[at:].replace(_OPAQUE, "\ufffd"))
        return cls("".join(parts), starts, origins)

    def original(self, secrets: Iterable[Secret]) -> Iterator[Secret]:
        """The same secrets with offsets in the original text."""
        for secret in secrets:
            piece = bisect_right(self.starts, secret.start) - 1
            shift = self.origins[piece] - self.starts[piece]
            yield Secret(secret.kind, secret.start + shift, secret.end + shift)
