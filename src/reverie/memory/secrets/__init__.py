"""Find secrets in text, with a scanner library and our own rules, and replace them by a marker.

Every text that is written passes through here: memory, inbox, notes, transcripts, stored results,
the index of past conversations, exports and logs.
"""

from __future__ import annotations

from reverie.memory.secrets.library import Secret, fingerprint, unavailable
from reverie.memory.secrets.redaction import Redacted, find_secrets, redact

__all__ = ["Redacted", "Secret", "find_secrets", "fingerprint", "redact", "unavailable"]
