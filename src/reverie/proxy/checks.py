"""What `reverie doctor` says about the proxy: whether it runs, and what went wrong in it."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from reverie.proxy.app import STATUS_PATH

_SECONDS = 2.0


def ask_status(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a running proxy tells about itself; None if it does not answer."""
    address = urlsplit(str(state["url"]))
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=_SECONDS)
    try:
        connection.request("GET", STATUS_PATH)
        answer = connection.getresponse()
        told = json.loads(answer.read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    if answer.status == 401:
        return {"counts": {}, "troubles": {}, "latest": [], "locked": True}
    return told if isinstance(told, dict) and "counts" in told else None
