"""Sharing one database: promotions to a team, leases, and money.

Every function takes a transaction with a key's identity; the database refuses what that key may not
do.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from reverie.core.usage import Allowed, Decision, Refused
from reverie.errors import InputError
from reverie.memory.format import topic as topics
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.taxonomy import may_share
from reverie.memory.postgres.database import Claims, Connection, NotAllowed
from reverie.memory.postgres.rows import ProjectRow
from reverie.ports import Scrubber


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be spent a day, in dollars; empty: every key, every purpose."""

    key: str
    purpose: str
    day: float


# How long a reservation counts when its caller never settles it.
_LAPSES = "15 minutes"


def objection(file: str, data: bytes, scrubber: Scrubber) -> str | None:
    """Why a memory may not be in a team's space; the rules are those of team memory in files."""
    if file == INDEX_FILE:
        return None
    if not may_share(topics.parse(data, file).type):
        return f"{file} is about a person (type: user), and such memories are always private"
    kinds = scrubber.scrub(data.decode("utf-8", "replace")).kinds
    return f"{file} holds a secret ({', '.join(kinds)})" if kinds else None


# --- promotions ---

_PROMOTION = "id, project, file, state, asked_by, decided_by, reason, at"


def ask_promotion(
    connection: Connection, claims: Claims, team: ProjectRow, file: str, data: bytes
) -> dict[str, Any]:
    """Propose a private memory to a team, as it is now."""
    found = connection.execute(
        "INSERT INTO reverie.promotions (org, space, project, file, data, asked_by) "
        f"VALUES (%s, %s, %s, %s, %s, %s) RETURNING {_PROMOTION}".encode(),
        (team.org, team.space, team.project, file, data, claims.key),
    ).fetchone()
    return found or {}


def promotions(connection: Connection, state: str) -> list[dict[str, Any]]:
    return connection.execute(
        f"SELECT {_PROMOTION} FROM reverie.promotions WHERE state = %s ORDER BY at, id".encode(),
        (state,),
    ).fetchall()


def decide_promotion(
    connection: Connection,
    claims: Claims,
    id_: str,
    reason: str,
    approve: Callable[[ProjectRow, str, bytes], None] | None,
) -> dict[str, Any]:
    """Approve (`approve` writes it to the team's memory) or reject; the requester may not decide."""
    found = connection.execute(
        "SELECT org, space, project, file, data, asked_by FROM reverie.promotions "
        "WHERE id = %s AND state = 'waiting' FOR UPDATE",
        (id_,),
    ).fetchone()
    if found is None:
        raise InputError(f"no promotion {id_} waits for a decision that this key may make")
    if found["asked_by"] == claims.key:
        raise NotAllowed("a promotion is reviewed by another key than the one that asked")
    if approve is not None:
        place = ProjectRow(str(found["org"]), str(found["space"]), str(found["project"]))
        approve(place, found["file"], bytes(found["data"]))
    made = connection.execute(
        "UPDATE reverie.promotions SET state = %s, decided_by = %s, reason = %s WHERE id = %s "
        f"RETURNING {_PROMOTION}".encode(),
        ("rejected" if approve is None else "approved", claims.key, reason, id_),
    ).fetchone()
    return made or {}


# --- leases: one dream at a time, wherever it runs ---


def take_lease(
    connection: Connection, project: ProjectRow, name: str, holder: str, seconds: float
) -> bool:
    """Take or renew a lease; False while another holder has it."""
    found = connection.execute(
        "INSERT INTO reverie.leases (org, space, project, name, holder, until) "
        "VALUES (%s, %s, %s, %s, %s, clock_timestamp() + make_interval(secs => %s)) "
        "ON CONFLICT (project, name) DO UPDATE SET holder = EXCLUDED.holder, until = EXCLUDED.until "
        "WHERE reverie.leases.holder = EXCLUDED.holder OR reverie.leases.until < clock_timestamp() "
        "RETURNING holder",
        (project.org, project.space, project.project, name, holder, seconds),
    ).fetchone()
    return found is not None


def holds_lease(connection: Connection, project: ProjectRow, name: str, holder: str) -> bool:
    """Whether a holder still has a lease, which cannot change before this transaction ends."""
    found = connection.execute(
        "SELECT 1 FROM reverie.leases WHERE project = %s AND name = %s AND holder = %s "
        "AND until > clock_timestamp() FOR UPDATE",
        (project.project, name, holder),
    ).fetchone()
    return found is not None


def give_lease_back(connection: Connection, project: ProjectRow, name: str, holder: str) -> bool:
    done = connection.execute(
        "DELETE FROM reverie.leases WHERE project = %s AND name = %s AND holder = %s",
        (project.project, name, holder),
    )
    return done.rowcount > 0


# --- money ---


def reserve(
    connection: Connection,
    payer: tuple[str, str],
    purpose: str,
    session: str,
    ceiling: float,
    more: Sequence[Cap] = (),
) -> Decision:
    """Reserve money before a call of a payer: organisation and key. `more` are further caps to keep."""
    org, key = payer
    # One reservation of an organisation at a time, so that together they keep the cap.
    connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", (org,))
    for cap in (*caps_of(connection, key, purpose), *more):
        spent = _spent(connection, cap)
        if spent + ceiling > cap.day:
            whose = f" of key {cap.key}" if cap.key else ""
            what = f" for {cap.purpose}" if cap.purpose else ""
            reason = (
                f"the day's cap{whose}{what} is ${cap.day:.2f}: ${spent:.4f} is spent and this "
                f"call may cost up to ${ceiling:.4f}; an admin can raise it"
            )
            return Refused(reason, max(0.0, cap.day - spent))
    ticket = secrets.token_hex(8)
    connection.execute(
        "INSERT INTO reverie.ledger (org, ticket, key, purpose, session, cost) "
        "VALUES (%s, %s, %s, %s, %s, %s)",
        (org, ticket, key, purpose, session, ceiling),
    )
    return Allowed(ticket=ticket)


def caps_of(connection: Connection, key: str, purpose: str) -> list[Cap]:
    """The organisation's caps that hold for a key and a purpose."""
    rows = connection.execute(
        "SELECT key, purpose, day FROM reverie.caps WHERE key IN ('', %s) AND purpose IN ('', %s)",
        (key, purpose),
    )
    return [Cap(row["key"], row["purpose"], row["day"]) for row in rows]


def _spent(connection: Connection, cap: Cap) -> float:
    found = connection.execute(
        "SELECT coalesce(sum(cost), 0) AS cost FROM reverie.ledger "
        "WHERE at >= date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' "
        f"AND (settled OR at > now() - interval '{_LAPSES}') "
        "AND (%(key)s = '' OR key = %(key)s) AND (%(purpose)s = '' OR purpose = %(purpose)s)".encode(),
        {"key": cap.key, "purpose": cap.purpose},
    ).fetchone()
    return float(found["cost"]) if found else 0.0


def settle(
    connection: Connection, ticket: str, cost: float | None, entry: Mapping[str, Any] | None
) -> bool:
    """Replace a reservation by the actual cost; None: the call was never made."""
    if cost is None:
        done = connection.execute("DELETE FROM reverie.ledger WHERE ticket = %s", (ticket,))
    else:
        done = connection.execute(
            "UPDATE reverie.ledger SET cost = %s, settled = true, entry = %s WHERE ticket = %s",
            (cost, None if entry is None else Jsonb(entry), ticket),
        )
    return done.rowcount > 0


def note_spent(
    connection: Connection,
    payer: tuple[str, str],
    purpose: str,
    session: str,
    cost: float,
    entry: Mapping[str, Any],
) -> None:
    """Record a call made without a reservation; a call of unknown price costs nothing."""
    connection.execute(
        "INSERT INTO reverie.ledger (org, ticket, key, purpose, session, cost, settled, entry) "
        "VALUES (%s, %s, %s, %s, %s, %s, true, %s)",
        (payer[0], secrets.token_hex(8), payer[1], purpose, session, cost, Jsonb(entry)),
    )


def set_cap(
    connection: Connection, claims: Claims, key: str, purpose: str, day: float | None
) -> None:
    """Set or remove (None) a cap in dollars a day; for admin keys."""
    if not claims.admin:
        raise NotAllowed("only an admin key of the organisation may set caps")
    if day is None:
        connection.execute(
            "DELETE FROM reverie.caps WHERE org = %s AND key = %s AND purpose = %s",
            (claims.org, key, purpose),
        )
        return
    connection.execute(
        "INSERT INTO reverie.caps VALUES (%s, %s, %s, %s) "
        "ON CONFLICT (org, key, purpose) DO UPDATE SET day = EXCLUDED.day",
        (claims.org, key, purpose, day),
    )
