"""The secret scanner with its memory: what was scanned is not scanned again, what a person declared
harmless is not taken for a secret again."""

from __future__ import annotations

import hashlib
import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from reverie.files.json_files import read_json, write_json
from reverie.memory.secrets import find_secrets, fingerprint, redact

ALLOWED = "allowed-secrets.json"

# Journals, notes and previews hold the same texts: each is looked through once.
_MOST_KNOWN = 4_096
_LONGEST_KNOWN = 100_000


# What is remembered of a secret while the process runs: enough to know it by when it is quoted cut.
_PIECE = 12
_MOST_PIECES = 1_024
_IN_VALUE = r"[^\s\"'`<>(){}\[\],;|«»]"
_CUT = "(secret removed - part of a secret)"


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A text without its secrets, and the kinds that were in it."""

    text: str
    kinds: tuple[str, ...] = ()


class SecretScrubber:
    """Takes secrets out of what is about to be written.

    The escape hatch is explicit and recorded: `allow` keeps fingerprints, never the values.
    """

    def __init__(self, allowed: Path) -> None:
        self._file = allowed
        self._stamp: tuple[int, int] | None = None
        self._allowed: frozenset[str] = frozenset()
        # By digest: what the text became, or None where it is clean.
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
        """Without the beginnings of secrets that were seen whole: prompts and notes quote them cut."""
        text = scrubbed.text
        for piece in [piece for piece in self._pieces if piece in text]:
            text = re.sub(rf"{_IN_VALUE}{{0,256}}?{re.escape(piece)}{_IN_VALUE}*", _CUT, text)
        kinds = scrubbed.kinds if text == scrubbed.text else (*scrubbed.kinds, "part of a secret")
        return Scrubbed(text, kinds)

    def allow(self, text: str) -> tuple[str, ...]:
        """Declare everything in this text that looks like a secret harmless; returns the kinds."""
        found = find_secrets(text, self.allowed())
        marks = {fingerprint(text[secret.start : secret.end]) for secret in found}
        write_json(self._file, sorted(marks | self.allowed()))
        self._stamp = None
        return tuple(dict.fromkeys(secret.kind for secret in found))

    def allowed(self) -> frozenset[str]:
        """What was declared harmless; another process may have done so since."""
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
    """The first part of a value that is in no other: letters and digits in turn."""
    for start in range(min(len(value), 64) - _PIECE + 1):
        found = value[start : start + _PIECE]
        mixed = sum(char.isdigit() for char in found) > 1 and any(char.isalpha() for char in found)
        if mixed and "/" not in found and ":" not in found:
            return found
    return None
