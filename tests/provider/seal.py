"""Signed notes the server hands out and reads back, so that it need not remember them."""

import base64
import binascii
import hashlib
import hmac
import json

from tests.provider.blocks import Json, compact


class Seal:
    """Signs small JSON payloads with a key of this provider instance."""

    def __init__(self, key: bytes = b"a provider of one test") -> None:
        self._key = key

    def _mac(self, payload: bytes) -> bytes:
        return hmac.new(self._key, payload, hashlib.sha256).digest()[:16]

    def write(self, payload: Json) -> str:
        raw = compact(payload)
        return base64.b64encode(self._mac(raw) + raw).decode()

    def read(self, text: str) -> Json | None:
        """The payload, or None when this server did not write the note."""
        try:
            raw = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            return None
        mac, payload = raw[:16], raw[16:]
        if not hmac.compare_digest(mac, self._mac(payload)):
            return None
        parsed: Json = json.loads(payload)
        return parsed
