"""Secrets in text: found by a maintained scanner and a small table of ours, replaced by a marker.

Every file we write passes through here: memory, inbox, notes, transcripts, stored results, the index
of past conversations, exports and logs.
"""

from __future__ import annotations

from reverie.stores.secrets.library import unavailable
from reverie.stores.secrets.redaction import Redacted, find_secrets, redact
from reverie.stores.secrets.secret import Secret, fingerprint

__all__ = ["Redacted", "Secret", "find_secrets", "fingerprint", "redact", "unavailable"]
