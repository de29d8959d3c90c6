"""What the proxy saves, per session: the client's own requests against the requests sent.

Both sides are counted by a simulation of the provider's documented rules, so that they differ only
in the requests. In shadow mode the second side is what would have been sent.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core.messages import dump, iso_time
from reverie.core.usage import Usage
from reverie.files.atomic import make_private

if TYPE_CHECKING:
    from reverie.core.usage import Prices
    from reverie.settings.projects import Project

FILE = "proxy.jsonl"


@dataclass(frozen=True, slots=True)
class Saving:
    """One request: the usage of the client's own version, and of the one sent."""

    session: str
    model: str
    client: Usage
    ours: Usage


@dataclass(slots=True)
class SessionSavings:
    """All requests of a session. Costs are None where a price is not known."""

    session: str
    shadow: bool
    requests: int = 0
    client: Usage = Usage()
    ours: Usage = Usage()
    client_cost: float | None = 0.0
    our_cost: float | None = 0.0

    @property
    def tokens(self) -> int:
        """The number of prompt tokens saved."""
        return self.client.prompt - self.ours.prompt

    @property
    def share(self) -> float | None:
        """The share of the client's bill that is saved; negative if ours is dearer."""
        if not self.client_cost or self.our_cost is None:
            return None
        return 1 - self.our_cost / self.client_cost

    def as_json(self) -> dict[str, Any]:
        return {
            "session": self.session,
            "shadow": self.shadow,
            "requests": self.requests,
            "client": asdict(self.client),
            "ours": asdict(self.ours),
            "client_cost": self.client_cost,
            "our_cost": self.our_cost,
        }


def append(
    project: Project, saving: Saving, prices: Prices | None, at: float, *, shadow: bool
) -> None:
    """Add one request to the project's file."""
    record = {
        "at": iso_time(at),
        "session": saving.session,
        "model": saving.model,
        "shadow": shadow,
        "client": asdict(saving.client),
        "ours": asdict(saving.ours),
        "client_cost": None if prices is None else prices.cost(saving.client),
        "our_cost": None if prices is None else prices.cost(saving.ours),
    }
    make_private(project.folder)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    file = os.open(project.folder / FILE, flags, 0o600)
    try:
        os.write(file, dump(record) + b"\n")
    finally:
        os.close(file)


def read(folder: Path) -> list[SessionSavings]:
    """The savings by session, newest last; lines that cannot be read are left out."""
    found: dict[str, SessionSavings] = {}
    for record in _records(folder / FILE):
        session = str(record["session"])
        total = found.pop(session, None) or SessionSavings(session, record.get("shadow") is True)
        total.requests += 1
        total.client += Usage(**record["client"])
        total.ours += Usage(**record["ours"])
        total.client_cost = _sum(total.client_cost, record.get("client_cost"))
        total.our_cost = _sum(total.our_cost, record.get("our_cost"))
        found[session] = total
    return list(found.values())


def _sum(total: float | None, more: float | None) -> float | None:
    return None if total is None or more is None else total + more


def _records(path: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        try:
            record = json.loads(line)
            Usage(**record["client"]), Usage(**record["ours"]), record["session"]
        except (ValueError, TypeError, LookupError):
            continue
        yield record
