"""What a project spent, on what, and what the caps still allow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from reverie.core.usage import Entry, Usage
from reverie.memory.locations import read_identity
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
    """What was asked of a model since then; the offline one is none."""
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
