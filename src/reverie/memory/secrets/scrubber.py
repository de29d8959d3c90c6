"""The secret scanner with a cache and the list of values that the user declared harmless."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from reverie.files.atomic import read_json, write_json
from reverie.memory.secrets import find_secrets, fingerprint, redact

ALLOWED = "allowed-secrets.json"

# Journals, notes and previews contain the same texts: scan each once.
_MOST_KNOWN = 4_096
_LONGEST_KNOWN = 100_000


# Length and number of the secrets' pieces kept in memory, to recognise truncated quotes.
_PIECE = 12
_MOST_PIECES = 1_024
_IN_VALUE = r"[^\s\"'`<>(){}\[\],;|«»]"
_CUT = "(secret removed - part of a secret)"


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A text without its secrets, and the kinds of secrets removed."""

    text: str
    kinds: tuple[str, ...] = ()


class SecretScrubber:
    """Removes secrets from texts that are about to be written.

    `allow` records exceptions as fingerprints, never as values.
    """

    def __init__(self, allowed: Path) -> None:
        self._file = allowed
        self._stamp: tuple[int, int] | None = None
        self._allowed: frozenset[str] = frozenset()
        # Results by digest of the text; None if it is clean.
        self._known: dict[bytes, Scrubbed | None] = {}
        self._pieces: set[str] = set()

    def scrub(self, text: str) -> Scrubbed:
        allowed = self.allowed()
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if digest in self._known:
            return self._known[digest] or Scrubbed(text)
        done = redact(text, allowed)
        kinds = tuple(dict.fromkeys(secret.kind for secret in done.secrets))
        scrubbed = self._without_pieces(Scrubbed(done.text, kinds))
        self._pieces |= {p for s in done.secrets if (p := _piece(text[s.start : s.end]))}
        if len(self._pieces) > _MOST_PIECES:
            self._pieces = set()
        kinds = scrubbed.kinds
        if len(self._known) >= _MOST_KNOWN:
            self._known = {}
        if not kinds or len(text) <= _LONGEST_KNOWN:
            self._known[digest] = scrubbed if kinds else None
        return scrubbed

    def _without_pieces(self, scrubbed: Scrubbed) -> Scrubbed:
        """Remove truncated quotes of secrets that were seen before."""
        text = scrubbed.text
        for piece in [piece for piece in self._pieces if piece in text]:
            text = re.sub(rf"{_IN_VALUE}{{0,256}}?{re.escape(piece)}{_IN_VALUE}*", _CUT, text)
        kinds = scrubbed.kinds if text == scrubbed.text else (*scrubbed.kinds, "part of a secret")
        return Scrubbed(text, kinds)

    def allow(self, text: str) -> tuple[str, ...]:
        """Declare all secrets found in this text harmless; return their kinds."""
        found = find_secrets(text, self.allowed())
        marks = {fingerprint(text[secret.start : secret.end]) for secret in found}
        write_json(self._file, sorted(marks | self.allowed()))
        self._stamp = None
        return tuple(dict.fromkeys(secret.kind for secret in found))

    def allowed(self) -> frozenset[str]:
        """The fingerprints of allowed values; reread if another process changed the file."""
        stamp = None
        with suppress(OSError):
            seen = self._file.stat()
            stamp = (seen.st_mtime_ns, seen.st_size)
        if stamp is None or stamp != self._stamp:
            known = read_json(self._file) if stamp else None
            allowed = frozenset(item for item in known or () if isinstance(item, str))
            if allowed != self._allowed:
                self._known = {}
            self._stamp, self._allowed = stamp, allowed
        return self._allowed


def _piece(value: str) -> str | None:
    """The first part of a value that is distinctive: letters and digits mixed."""
    for start in range(min(len(value), 64) - _PIECE + 1):
        found = value[start : start + _PIECE]
        mixed = sum(char.isdigit() for char in found) > 1 and any(char.isalpha() for char in found)
        if mixed and "/" not in found and ":" not in found:
            return found
    return None
