"""The money of a project: its spending and its caps, including those of its organisation at a service.

Each call is reserved here by the person's own caps, then at the service by the caps of the
organisation, the key and the purpose. While the service is away, only the main conversation
continues; its costs wait in a file and are reported later, each call once.
"""

from __future__ import annotations

import secrets
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core.usage import MAIN, Caps, Decision, Entry, Purpose, Refused, Usage
from reverie.errors import InputError
from reverie.files.atomic import make_private, read_json, write_json
from reverie.files.locks import exclusive
from reverie.memory.locations import read_identity
from reverie.memory.service.connection import ServiceAway, ServiceRefused
from reverie.models.ledger import LEDGER, Ledger
from reverie.models.selection import OFFLINE

if TYPE_CHECKING:
    from reverie.workspace import Workspace

KINDS = ("purpose", "model", "session", "day", "project")
# The longest series of days that is drawn.
MOST_DAYS = 30


def spending(app: Workspace, by: str, days: int) -> dict[str, Any]:
    """The spending of the last days, a row for each purpose, model, session or day; and the caps."""
    now = app.clock.now()
    entries = _calls(app.ledger, now - days * 86_400)
    today = day_of(now)
    per_day: defaultdict[date, float] = defaultdict(float)
    for entry in entries:
        per_day[day_of(entry.at)] += entry.cost or 0.0
    shown = [today - timedelta(days=back) for back in range(min(days, MOST_DAYS) - 1, -1, -1)]
    return {
        "by": by,
        "days": days,
        "rows": _by_project(app, days) if by == "project" else _rows(entries, by),
        "per_day": [per_day[day] for day in shown],
        "caps": _caps(app),
    }


def _calls(ledger: Ledger, since: float) -> list[Entry]:
    """The model calls since then; the offline model does not count."""
    return [one for one in ledger.entries() if one.at >= since and one.model != OFFLINE]


def _rows(entries: Sequence[Entry], by: str) -> list[dict[str, Any]]:
    groups: defaultdict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[str(day_of(entry.at)) if by == "day" else getattr(entry, by)].append(entry)
    rows = [_row(name, group) for name, group in groups.items()]
    return sorted(rows, key=lambda row: row["cost"], reverse=True)


def _by_project(app: Workspace, days: int) -> list[dict[str, Any]]:
    """Every project of this home; the caps of a day count all of them."""
    now = app.clock.now()
    rows = []
    for path in sorted((app.settings.home / "projects").glob(f"*/{LEDGER}")):
        ledger = Ledger(path.parent, home=app.settings.home, clock=app.clock)
        entries = _calls(ledger, now - days * 86_400)
        identity = read_identity(path.parent)
        if entries:
            rows.append(_row(str(identity.root) if identity else path.parent.name, entries))
    return sorted(rows, key=lambda row: row["cost"], reverse=True)


def _row(name: str, entries: list[Entry]) -> dict[str, Any]:
    usage = sum((entry.usage for entry in entries), Usage())
    return {
        "name": name,
        "calls": len(entries),
        "input": usage.input,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write,
        "output": usage.output,
        "hit_rate": usage.hit_rate,
        "cost": sum(entry.cost or 0.0 for entry in entries),
        "unpriced": sum(entry.cost is None for entry in entries),
    }


def _caps(app: Workspace) -> list[dict[str, Any]]:
    """Today's caps and the spending that counts against them, with reservations of running calls."""
    caps = app.caps("main")
    spent = app.ledger.spent("main", "")
    found = [{"cap": "day", "limit": caps.day, "spent": spent.day}]
    for item in app.settings.items():
        purpose = item.key.removeprefix("spend.purpose.")
        if purpose != item.key and isinstance(item.value, int | float):
            used = app.ledger.spent(purpose, "").purpose
            found.append({"cap": purpose, "limit": float(item.value), "spent": used})
    return [row for row in found if row["limit"] is not None]


def day_of(at: float) -> date:
    return datetime.fromtimestamp(at, UTC).astimezone().date()


if TYPE_CHECKING:
    from reverie.memory.service.opening import Service
    from reverie.ports import Clock

WAITING = "ledger-waiting.json"
_CAP = 402
# Seconds before an unavailable service is asked again.
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
        """Report one call; calls that the service no longer knows, or refuses, are dropped."""
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
