"""A lease that a service grants: one holder at a time, on whichever machine."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from typing import Literal
from urllib.parse import quote

from reverie.errors import ReverieError
from reverie.files.locks import this_host
from reverie.memory.service.connection import ServiceConnection, ServiceRefused
from reverie.memory.store import DreamLock

DREAM = "dream"
# As long as a lock in files is respected.
_SECONDS = 3_600


class LeasedLock:
    """The lease for dreams of a service's memory, beside the lock of this machine.

    What a dream writes names the lease (`told`): the service refuses it if another has it by then.
    """

    def __init__(self, service: ServiceConnection, project: str, held: DreamLock) -> None:
        self._service = service
        self._path = f"{project}/leases/{DREAM}"
        self._held = held
        self._holder = f"{this_host()}/{os.getpid()}/{secrets.token_hex(4)}"
        self.told: dict[str, str] | None = None

    def take(self) -> bool:
        """Take or renew it; False while another holder has it."""
        try:
            self._service.send("PUT", self._path, {"holder": self._holder, "seconds": _SECONDS})
        except ServiceRefused as error:
            if error.status == 409:
                return False
            raise
        self.told = {"name": DREAM, "holder": self._holder}
        return True

    @property
    def is_ours(self) -> bool:
        return self._held.is_ours and self.take()

    def release(self, end: Literal["completed", "failed", "killed"]) -> object:
        """Release both; a service that is away lets its lease lapse."""
        if self.told is not None:
            self.told = None
            with suppress(ReverieError):
                self._service.send("DELETE", f"{self._path}?holder={quote(self._holder)}", {})
        return self._held.release(end)
