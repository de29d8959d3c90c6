"""The endpoints beside memories: spaces, projects, keys, promotions, leases and money."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeGuard

from psycopg.errors import UniqueViolation

from reverie.core.usage import Refused
from reverie.memory.format import topic as topics
from reverie.memory.format.index import pointed
from reverie.memory.format.revisions import Author, Put, version
from reverie.memory.postgres import sharing
from reverie.memory.postgres.rows import ProjectRow
from reverie.memory.postgres.tenants import Tenancy
from reverie.server.calls import Answer, Call, Problem


def who_am_i(call: Call) -> Answer:
    """What this key may do, and where."""
    rows = call.connection.execute(
        "SELECT space, name, kind FROM reverie.spaces ORDER BY name"
    ).fetchall()
    spaces = [
        {**row, "scope": "write" if str(row["space"]) in call.claims.write else "read"}
        for row in rows
    ]
    return Answer.of({"key": call.claims.key, "admin": call.claims.admin, "spaces": spaces})


def list_spaces(call: Call) -> Answer:
    """The spaces this key may read."""
    return who_am_i(call)


def create_space(call: Call) -> Answer:
    """A new private or team space; for admin keys."""
    data = call.body()
    _require_admin(call)
    kind = call.text(data, "kind")
    if kind not in ("private", "team"):
        raise Problem(422, "kind must be private or team")
    try:
        with call.connection.transaction():
            made = call.connection.execute(
                "INSERT INTO reverie.spaces (org, name, kind) VALUES (%s, %s, %s) "
                "RETURNING space, name, kind",
                (call.claims.org, call.text(data, "name"), kind),
            ).fetchone()
    except UniqueViolation:
        raise Problem(409, "there is a space of this name already") from None
    return Answer.of(made, 201)


def _require_admin(call: Call) -> None:
    if not call.claims.admin:
        raise Problem(403, "only an admin key of the organisation may do that")


def list_projects(call: Call) -> Answer:
    """The projects this key may read."""
    rows = call.connection.execute(
        "SELECT p.project, p.name, s.name AS space, s.kind, p.seq FROM reverie.projects p "
        "JOIN reverie.spaces s USING (org, space) WHERE (%(space)s = '' OR s.name = %(space)s) "
        "AND p.project::text > %(cursor)s ORDER BY p.project::text LIMIT %(limit)s",
        {
            "space": call.query.get("space", ""),
            "cursor": call.query.get("cursor", ""),
            "limit": call.number("limit", 100, 500),
        },
    ).fetchall()
    full = len(rows) == call.number("limit", 100, 500)
    return Answer.of({"projects": rows, "cursor": rows[-1]["project"] if full and rows else None})


def open_project(call: Call) -> Answer:
    """A project by its name in a space, created if it is new and this key may write there."""
    space = call.connection.execute(
        "SELECT space FROM reverie.spaces WHERE name = %s", (call.path["space"],)
    ).fetchone()
    if space is None:
        raise Problem(404, "no such space", f"this key sees no space {call.path['space']!r}")
    id_, name = str(space["space"]), call.path["name"]
    if id_ in call.claims.write:
        call.connection.execute(
            "INSERT INTO reverie.projects (org, space, name) VALUES (%s, %s, %s) "
            "ON CONFLICT DO NOTHING",
            (call.claims.org, id_, name),
        )
    found = call.connection.execute(
        "SELECT project, name, seq FROM reverie.projects WHERE space = %s AND name = %s",
        (id_, name),
    ).fetchone()
    if found is None:
        raise Problem(404, "no such project", f"there is no project {name!r} in this space")
    return Answer.of(found)


# --- keys ---


def list_keys(call: Call) -> Answer:
    """Every key of the organisation, without its secret; for admin keys."""
    _require_admin(call)
    rows = call.connection.execute(
        "SELECT key, label, admin, created, expires, revoked FROM reverie.keys ORDER BY created"
    ).fetchall()
    return Answer.of({"keys": rows})


# In days.
_LONGEST_LIFE = 36_500


def create_key(call: Call) -> Answer:
    """A new key: {label, spaces: {name: read|write}, admin, days}; its token is returned once."""
    data = call.body()
    days, spaces = data.get("days"), data.get("spaces", {})
    if not isinstance(spaces, dict) or not all(v in ("read", "write") for v in spaces.values()):
        raise Problem(422, "spaces must be {name: read|write}")
    if days is not None and not (_is_number(days) and 0 < days <= _LONGEST_LIFE):
        raise Problem(422, f"days must be more than 0, at most {_LONGEST_LIFE}")
    tenancy = _tenancy(call)
    token = tenancy.create_key(
        call.text(data, "label"),
        spaces,
        admin=data.get("admin") is True,
        lives=None if days is None else timedelta(days=days),
    )
    return Answer.of({"token": token}, 201)


def rotate_key(call: Call) -> Answer:
    """A new token for a key; the old one stops working."""
    return Answer.of({"token": _tenancy(call).rotate_key(call.path["key"])})


def revoke_key(call: Call) -> Answer:
    """Revoke a key for good."""
    _tenancy(call).revoke_key(call.path["key"])
    return Answer(204)


def _tenancy(call: Call) -> Tenancy:
    _require_admin(call)
    return Tenancy(call.parts.database, call.token)


# --- promotion to a team ---


def ask_promotion(call: Call) -> Answer:
    """Propose a memory of this project to a team's project: {file, space}."""
    data = call.body()
    source = call.store()
    file = call.text(data, "file")
    content = source.current(file)
    if content is None:
        raise Problem(404, "no such memory")
    if reason := sharing.objection(file, content, call.parts.scrubber):
        raise Problem(422, "a team's memory cannot hold this", reason)
    found = call.connection.execute(
        "SELECT p.org, p.space, p.project, p.name FROM reverie.projects p JOIN reverie.spaces s "
        "USING (org, space) WHERE s.name = %s AND s.kind = 'team' AND p.name = %s",
        (call.text(data, "space"), source.project.name),
    ).fetchone()
    if found is None:
        raise Problem(404, "the team has no such project", "a member who may write there opens it")
    org, place, project = (str(found[name]) for name in ("org", "space", "project"))
    team = ProjectRow(org, place, project, found["name"])
    made = sharing.ask_promotion(call.connection, call.claims, team, file, content)
    return Answer.of(made, 201)


def list_promotions(call: Call) -> Answer:
    """Waiting promotions, or decided ones (?state=approved)."""
    state = call.query.get("state", "waiting")
    return Answer.of({"promotions": sharing.promotions(call.connection, state)})


def decide_promotion(call: Call) -> Answer:
    """Approve or reject a promotion; not with the key that asked: {decision, reason}."""
    data = call.body()
    decision = call.text(data, "decision")
    if decision not in ("approve", "reject"):
        raise Problem(422, "decision must be approve or reject")

    def approve(team: ProjectRow, file: str, content: bytes) -> None:
        store = call.store(team)
        marked = topics.parse(content, file).with_(origin="team")
        current = store.current(file)
        base = None if current is None else version(current)
        put = Put(file, topics.render(marked), base)
        author = Author("team", session=f"key:{call.claims.key}")
        store.apply([put], author, f"promote {file}", lambda index: pointed(index, marked))

    made = sharing.decide_promotion(
        call.connection,
        call.claims,
        call.path["id"],
        call.text(data, "reason", ""),
        approve if decision == "approve" else None,
    )
    return Answer.of(made)


# --- leases and money ---


def take_lease(call: Call) -> Answer:
    """Take or renew a lease: {holder, seconds}; 409 while another has it."""
    data = call.body()
    seconds = data.get("seconds", 60)
    if not _is_number(seconds) or not 0 < seconds <= 3600:
        raise Problem(422, "seconds must be more than 0, at most 3600")
    holder, name = call.text(data, "holder"), call.path["name"]
    if not sharing.take_lease(call.connection, call.project(), name, holder, seconds):
        raise Problem(409, "another holder has this lease")
    return Answer.of({"holder": holder})


def give_lease_back(call: Call) -> Answer:
    """Release a lease: ?holder=."""
    holder = call.query.get("holder", "")
    if not sharing.give_lease_back(call.connection, call.project(), call.path["name"], holder):
        raise Problem(404, "this holder has no such lease")
    return Answer(204)


def reserve_money(call: Call) -> Answer:
    """Reserve money before a model call: {purpose, session, ceiling}; 402 if a cap forbids it.

    A call that was made without a reservation, such as while the service was away: {entry, cost}.
    """
    data = call.body()
    payer = (call.claims.org, call.claims.key)
    if "ceiling" not in data and isinstance(data.get("entry"), dict):
        cost, entry = _amount(data, "cost"), data["entry"]
        purpose, session = call.text(entry, "purpose"), call.text(entry, "session", "")
        sharing.note_spent(call.connection, payer, purpose, session, cost, entry)
        return Answer.of({"ticket": ""}, 201)
    decision = sharing.reserve(
        call.connection,
        payer,
        call.text(data, "purpose"),
        call.text(data, "session", ""),
        _amount(data, "ceiling"),
    )
    if isinstance(decision, Refused):
        raise Problem(402, "a cap forbids this call", decision.reason, left=decision.left)
    return Answer.of({"ticket": decision.ticket}, 201)


def settle_money(call: Call) -> Answer:
    """The actual cost of a reserved call: {cost}, or {cost: null} if it was never made."""
    data = call.body()
    cost = None if data.get("cost") is None else _amount(data, "cost")
    if not sharing.settle(call.connection, call.path["ticket"], cost, data.get("entry")):
        raise Problem(404, "no such reservation")
    return Answer(204)


def list_spending(call: Call) -> Answer:
    """Spent and reserved money by day (UTC), key and purpose; an admin key sees all keys."""
    rows = call.connection.execute(
        "SELECT (at AT TIME ZONE 'UTC')::date::text AS day, key, purpose, count(*) AS calls, "
        "sum(cost) FILTER (WHERE settled) AS spent, sum(cost) FILTER (WHERE NOT settled) AS reserved "
        "FROM reverie.ledger WHERE (%s OR key = %s) AND at > now() - make_interval(days => %s) "
        "GROUP BY 1, 2, 3 ORDER BY 1 DESC, 2, 3",
        (call.claims.admin, call.claims.key, call.number("days", 7, 366)),
    ).fetchall()
    return Answer.of({"spending": rows})


def set_cap(call: Call) -> Answer:
    """Set a cap in dollars a day, for all or for one key and purpose: {key, purpose, day}; for admin keys."""
    data = call.body()
    day = None if data.get("day") is None else _amount(data, "day")
    key, purpose = call.text(data, "key", ""), call.text(data, "purpose", "")
    sharing.set_cap(call.connection, call.claims, key, purpose, day)
    return Answer(204)


def _amount(data: dict[str, Any], name: str) -> float:
    value = data.get(name)
    if not _is_number(value) or not 0 <= value < 1e9:
        raise Problem(422, f"{name} must be an amount in dollars")
    return float(value)


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
