"""Secrets in text: found by a maintained scanner and a small table of ours, replaced by a marker.

Every write to memory, session notes, inbox, exports and ledger passes through here.
"""

from __future__ import annotations

from reverie.stores.secrets.library import unavailable
from reverie.stores.secrets.redaction import Redacted, find_secrets, redact
from reverie.stores.secrets.secret import Secret, fingerprint

__all__ = ["Redacted", "Secret", "find_secrets", "fingerprint", "redact", "unavailable"]
