"""The secret scanner with its memory: what a person declared harmless is not taken for a secret again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reverie.stores.json_files import read_json, write_json
from reverie.stores.secrets import find_secrets, fingerprint, redact


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

    def scrub(self, text: str) -> Scrubbed:
        done = redact(text, self.allowed())
        return Scrubbed(done.text, tuple(dict.fromkeys(secret.kind for secret in done.secrets)))

    def allow(self, text: str) -> tuple[str, ...]:
        """Declare everything in this text that looks like a secret harmless; returns the kinds."""
        found = find_secrets(text, self.allowed())
        marks = {fingerprint(text[secret.start : secret.end]) for secret in found}
        write_json(self._file, sorted(marks | self.allowed()))
        return tuple(dict.fromkeys(secret.kind for secret in found))

    def allowed(self) -> frozenset[str]:
        known = read_json(self._file)
        return frozenset(item for item in known or () if isinstance(item, str))
