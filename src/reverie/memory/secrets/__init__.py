"""Secrets in text: found by a maintained scanner and a small table of ours, replaced by a marker.

Every file we write passes through here: memory, inbox, notes, transcripts, stored results, the index
of past conversations, exports and logs.
"""

from __future__ import annotations

from reverie.memory.secrets.library import Secret, fingerprint, unavailable
from reverie.memory.secrets.redaction import Redacted, find_secrets, redact

__all__ = ["Redacted", "Secret", "find_secrets", "fingerprint", "redact", "unavailable"]
