"""A lease that a service grants: one holder at a time, on whichever machine."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Literal

from reverie.errors import ReverieError
from reverie.files.locks import this_host
from reverie.memory.service.connection import ServiceRefused
from reverie.memory.store import DreamLock

if TYPE_CHECKING:
    from reverie.memory.service.store import ServiceStore

DREAM = "dream"
# As long as a lock in files is respected.
_SECONDS = 3_600


class LeasedLock:
    """The lease for dreams of a service's memory, beside the lock of this machine.

    What a dream writes names the lease: the service refuses it if another has it by then.
    """

    def __init__(self, store: ServiceStore, held: DreamLock) -> None:
        self._store = store
        self._held = held
        self.holder = f"{this_host()}/{os.getpid()}/{secrets.token_hex(4)}"

    def take(self) -> bool:
        """Take or renew it; False while another holder has it."""
        body = {"holder": self.holder, "seconds": _SECONDS}
        try:
            self._store.service.send("PUT", f"{self._store.path}/leases/{DREAM}", body)
        except ServiceRefused as error:
            if error.status == 409:
                return False
            raise
        self._store.lease = {"name": DREAM, "holder": self.holder}
        return True

    @property
    def is_ours(self) -> bool:
        return self._held.is_ours and self.take()

    def release(self, end: Literal["completed", "failed", "killed"]) -> object:
        """Release both; a service that is away lets its lease lapse."""
        self._give_back()
        return self._held.release(end)

    def _give_back(self) -> None:
        if self._store.lease is None:
            return
        self._store.lease = None
        path = f"{self._store.path}/leases/{DREAM}?holder={self.holder}"
        try:
            self._store.service.send("DELETE", path, {})
        except ReverieError:
            return
