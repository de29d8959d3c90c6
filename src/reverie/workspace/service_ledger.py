"""The ledger of a project whose memory a service keeps: its organisation's caps hold, too.

Each call is reserved here by the person's own caps, then at the service by the caps of the
organisation, the key and the purpose. While the service is away, only the main conversation goes on;
what it costs waits in a file and is reported later, each call once.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core.usage import MAIN, Caps, Decision, Entry, Purpose, Refused
from reverie.errors import InputError
from reverie.files.folders import make_private
from reverie.files.json_files import read_json, write_json
from reverie.files.locks import exclusive
from reverie.memory.service.connection import ServiceAway, ServiceRefused
from reverie.models.ledger import Ledger

if TYPE_CHECKING:
    from reverie.memory.service.opening import Service
    from reverie.ports import Clock

WAITING = "ledger-waiting.json"
_CAP = 402
# A service that was away is not asked again so soon.
_AWAY_SECONDS = 30.0
_away_until: dict[str, float] = {}


class ServiceLedger(Ledger):
    """The project's own ledger, which also reserves and records at the service."""

    def __init__(self, project: Path, *, home: Path, clock: Clock, service: Service) -> None:
        super().__init__(project, home=home, clock=clock)
        self._service = service
        self._unsent = service.folder / WAITING

    def reserve(self, purpose: Purpose, session: str, ceiling: float, caps: Caps) -> Decision:
        decision = super().reserve(purpose, session, ceiling, caps)
        if isinstance(decision, Refused):
            return decision
        asked = {"purpose": purpose, "session": session, "ceiling": ceiling}
        try:
            self._tell_waiting()
            ticket = self._send("POST", "/v1/ledger", asked)["ticket"]
        except ServiceAway as error:
            if purpose == MAIN:
                warning = f"{error}: the caps of its organisation could not be asked"
                return replace(decision, warning=decision.warning or warning)
            super().settle(decision.ticket, None)
            return Refused(f"{error}: whether a cap allows this {purpose} call cannot be asked")
        except ServiceRefused as error:
            super().settle(decision.ticket, None)
            if error.status != _CAP:
                raise
            return Refused(str(error), error.left)
        return replace(decision, ticket=f"{decision.ticket}/{ticket}")

    def settle(self, ticket: str, entry: Entry | None) -> None:
        own, _, reserved = ticket.partition("/")
        try:
            super().settle(own, entry)
        finally:
            if reserved or entry is not None:
                self._tell(reserved, entry)

    def _tell(self, ticket: str, entry: Entry | None) -> None:
        cost = 0.0 if entry is None else entry.cost or 0.0
        report = {
            "id": secrets.token_hex(16),
            "ticket": ticket,
            "cost": None if entry is None else cost,
            "entry": None if entry is None else asdict(entry),
        }
        try:
            self._tell_waiting()
            self._report(report)
        except ServiceAway:
            self._keep(report)

    def _report(self, report: Mapping[str, Any]) -> None:
        """Tell one call; what the service no longer knows, or does not take, is dropped."""
        body = {"cost": report["cost"], "entry": report["entry"]}
        with suppress(InputError):
            if report["ticket"]:
                self._send("PUT", f"/v1/ledger/{report['ticket']}", body, once=report["id"])
            else:
                self._send("POST", "/v1/ledger", body, once=report["id"])

    def _send(self, method: str, path: str, body: object, *, once: str = "") -> Any:
        connection = self._service.connection
        if time.monotonic() < _away_until.get(connection.url, 0.0):
            raise ServiceAway(f"{connection.url} does not answer")
        try:
            return connection.send(method, path, body, tries=2, once=once).data
        except ServiceAway:
            _away_until[connection.url] = time.monotonic() + _AWAY_SECONDS
            raise

    # --- what waits for the service ---

    def _keep(self, report: Mapping[str, Any]) -> None:
        make_private(self._unsent.parent)
        with exclusive(self._unsent.with_suffix(".lock")):
            write_json(self._unsent, [*self._read_waiting(), report])

    def _tell_waiting(self) -> None:
        if not self._unsent.exists():
            return
        with exclusive(self._unsent.with_suffix(".lock")):
            left = self._read_waiting()
            try:
                while left:
                    self._report(left[0])
                    left = left[1:]
            finally:
                write_json(self._unsent, left)
            self._unsent.unlink(missing_ok=True)

    def _read_waiting(self) -> list[dict[str, Any]]:
        found = read_json(self._unsent)
        known = found if isinstance(found, list) else []
        return [one for one in known if isinstance(one, dict) and {"id", "ticket"} <= one.keys()]
