"""The ledger of model calls and their cost, one line each in `ledger.jsonl`.

A call under a cap is *reserved* before it is made, at its maximum cost, and *settled* after it, at
its actual cost. Check and reservation happen under one lock, so several processes together cannot
exceed a cap. A reservation whose process died expires; that for a batch outlives its process.
"""

from __future__ import annotations

import json
import math
import os
import secrets
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

from reverie.core.messages import dump, iso_time, parse_time
from reverie.core.usage import Allowed, Caps, Decision, Entry, Purpose, Spent, Usage, decide
from reverie.errors import StorageError
from reverie.files.atomic import make_private
from reverie.files.locks import Holder, exclusive, gone, started, this_host
from reverie.ports import Clock

LEDGER = "ledger.jsonl"
LOCK = ".spend-lock"

# After this a reservation expires, unless its process is alive: a long reply may take longer, and
# its money must not be reserved twice.
LAPSES_AFTER = 900.0
# Providers answer a batch within a day; its money stays reserved for one more, until it is collected.
BATCH_LAPSES_AFTER = 2 * 86_400.0


@dataclass(slots=True)
class _Totals:
    """Totals of one ledger file up to `offset`; later reads add only new lines."""

    day: defaultdict[date, float] = field(default_factory=lambda: defaultdict(float))
    purpose: defaultdict[tuple[date, Purpose], float] = field(
        default_factory=lambda: defaultdict(float)
    )
    session: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    reserved: dict[str, dict[str, Any]] = field(default_factory=dict)
    offset: int = 0


class Ledger:
    """The ledger of one project; daily caps count all projects under the same home."""

    def __init__(self, project: Path, *, home: Path, clock: Clock) -> None:
        self.path = project / LEDGER
        self._home = home
        self._clock = clock
        self._totals: dict[Path, _Totals] = {}
        # Settled calls that a full disk refused; they are written before the next record.
        self._waiting: list[dict[str, Any]] = []

    def reserve(self, purpose: Purpose, session: str, ceiling: float, caps: Caps) -> Decision:
        if not caps.any:
            return Allowed()
        mine = {
            "ticket": secrets.token_hex(8),
            "pid": os.getpid(),
            "host": this_host(),
            "started": started(os.getpid()) or "",
        }
        return self._reserve(mine, purpose, session, ceiling, caps)

    def reserve_batch(
        self, ticket: str, purpose: Purpose, session: str, ceiling: float, caps: Caps
    ) -> Decision:
        """Reserve for a request in a batch, under a ticket that the caller has already stored."""
        return self._reserve({"ticket": ticket, "batch": True}, purpose, session, ceiling, caps)

    def _reserve(
        self, mark: dict[str, Any], purpose: Purpose, session: str, ceiling: float, caps: Caps
    ) -> Decision:
        with exclusive(self._home / LOCK):
            decision = decide(purpose, ceiling, self.spent(purpose, session), caps)
            if not isinstance(decision, Allowed):
                return decision
            at = iso_time(self._clock.now())
            whose = {"at": at, "purpose": purpose, "session": session, "cost": ceiling}
            self._append({"type": "reserved"} | whose | mark)
            return replace(decision, ticket=str(mark["ticket"]))

    def settle_batch(self, ticket: str, entry: Entry | None) -> None:
        """Settle a request of a batch; repeating it after a crash changes nothing."""
        records = _records(self.path, 0)[0]
        done = ("spent", "released")
        if not any(r["type"] in done and r.get("ticket") == ticket for r in records):
            self.settle(ticket, entry)

    def settle(self, ticket: str, entry: Entry | None) -> None:
        """Record the cost of a call, or that it was not made; a record that cannot be written waits, and counts."""
        if entry is None and not ticket:
            return
        record: dict[str, Any] = {"type": "released" if entry is None else "spent"}
        record |= {"ticket": ticket} if ticket else {}
        if entry is not None:
            record |= asdict(entry) | {"at": iso_time(entry.at)}
        try:
            self._append(record)
        except StorageError:
            self._waiting.append(record)
            raise

    def spent(self, purpose: Purpose, session: str) -> Spent:
        """Dollars spent, or reserved for calls in progress, that count against the caps now."""
        now = self._clock.now()
        today = _day(now)
        files = [self._read(path) for path in self._ledgers(today)]
        files.append(_totals(self._waiting))
        held = [r for totals in files for r in totals.reserved.values() if _holds(r, now)]
        return Spent(
            day=sum(totals.day[today] for totals in files) + sum(r["cost"] for r in held),
            session=sum(totals.session[session] for totals in files)
            + sum(r["cost"] for r in held if r["session"] == session),
            purpose=sum(totals.purpose[today, purpose] for totals in files)
            + sum(r["cost"] for r in held if r["purpose"] == purpose),
        )

    def entries(self) -> Iterator[Entry]:
        """Every settled call of this project, in order."""
        for record in _records(self.path, 0)[0]:
            if record["type"] == "spent":
                yield _entry(record)

    def _ledgers(self, today: date) -> list[Path]:
        """This project's file, and those of other projects that hold an entry of today or a reservation."""
        others = sorted((self._home / "projects").glob(f"*/{LEDGER}"))
        oldest = today - timedelta(seconds=BATCH_LAPSES_AFTER)
        fresh = [path for path in others if path.exists() and _day(path.stat().st_mtime) >= oldest]
        return [self.path, *(path for path in fresh if path != self.path)]

    def _read(self, path: Path) -> _Totals:
        totals = self._totals.setdefault(path, _Totals())
        if path.exists() and path.stat().st_size < totals.offset:
            totals = self._totals[path] = _Totals()
        records, totals.offset = _records(path, totals.offset)
        for record in records:
            _count(totals, record)
        return totals

    def _append(self, record: dict[str, Any]) -> None:
        try:
            make_private(self.path.parent)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            file = os.open(self.path, flags, 0o600)
            try:
                for line in (*self._waiting, record):
                    _write_line(file, dump(line))
                    self._waiting = self._waiting[1:]
            finally:
                os.close(file)
        except OSError as error:
            raise StorageError(f"cannot write the ledger {self.path}: {error.strerror}") from error


def _write_line(file: int, line: bytes) -> None:
    """Append a line in one write, after a newline if a crash left an incomplete line."""
    size = os.fstat(file).st_size
    torn = size > 0 and os.pread(file, 1, size - 1) != b"\n"
    data = b"\n" + line + b"\n" if torn else line + b"\n"
    if os.write(file, data) < len(data):
        raise OSError(0, "the disk is full")


def _holds(reservation: dict[str, Any], now: float) -> bool:
    since = parse_time(reservation["at"])
    if now - since < (BATCH_LAPSES_AFTER if reservation.get("batch") else LAPSES_AFTER):
        return True
    pid, host = reservation.get("pid"), reservation.get("host")
    if not isinstance(pid, int) or host != this_host():
        return False
    return not gone(Holder(pid, host, str(reservation.get("started", "")), since, ""), now)


def _day(at: float) -> date:
    """The local date: caps reset at the user's midnight."""
    return datetime.fromtimestamp(at).astimezone().date()


def _totals(records: list[dict[str, Any]]) -> _Totals:
    totals = _Totals()
    for record in records:
        _count(totals, record)
    return totals


def _count(totals: _Totals, record: dict[str, Any]) -> None:
    if record["type"] == "reserved":
        totals.reserved[record["ticket"]] = record
        return
    totals.reserved.pop(record.get("ticket", ""), None)
    if record["type"] == "spent":
        day, cost = _day(parse_time(record["at"])), record.get("cost") or 0.0
        totals.day[day] += cost
        totals.purpose[day, record["purpose"]] += cost
        totals.session[record["session"]] += cost


def _records(path: Path, offset: int) -> tuple[list[dict[str, Any]], int]:
    """Records of the complete lines from `offset` on, and where they end; skips invalid lines."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read()
    except FileNotFoundError:
        return [], offset
    except OSError as error:
        raise StorageError(f"cannot read the ledger {path}: {error.strerror}") from error
    whole = data[: data.rfind(b"\n") + 1]
    records = [record for line in whole.splitlines() if (record := _parse(line)) is not None]
    return records, offset + len(whole)


_NEEDED: dict[str, dict[str, Any]] = {
    "reserved": {"ticket": str, "at": str, "purpose": str, "session": str, "cost": (int, float)},
    "released": {"ticket": str},
    "spent": {"at": str, "purpose": str, "session": str, "model": str, "usage": dict},
}


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
        needed = _NEEDED[record["type"]]
        fits = all(isinstance(record[key], kind) for key, kind in needed.items())
        return record if fits and _sound(record) else None
    except (ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
        return None


def _sound(record: dict[str, Any]) -> bool:
    """Whether the record can be counted: a cost that is not a number would disable every cap."""
    if "at" in record:
        _day(parse_time(record["at"]))
    if record["type"] == "spent":
        _entry(record)
    cost = record.get("cost")
    return isinstance(record.get("ticket", ""), str) and (
        cost is None or (math.isfinite(cost) and cost >= 0)
    )


def _entry(record: dict[str, Any]) -> Entry:
    counts = {key: int(value) for key, value in record["usage"].items() if key in _USAGE}
    return Entry(
        at=parse_time(record["at"]),
        purpose=record["purpose"],
        session=record["session"],
        model=record["model"],
        usage=Usage(**counts),
        cost=record.get("cost"),
        estimated=record.get("estimated") is True,
    )


_USAGE = frozenset(asdict(Usage()))
