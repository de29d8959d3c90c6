"""The endpoints of conversations: post them, read them, search them; and dreams.

A posted conversation is stored without secrets. The job that learns from it is enqueued in the same
transaction, and so is the project's next dream once there are enough conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from psycopg.types.json import Jsonb

from reverie.api.history import read_history
from reverie.conversation.redaction import clean_message
from reverie.core.messages import Message, message_from_json, message_to_json, new_message
from reverie.errors import ReverieError
from reverie.memory.postgres.database import Connection
from reverie.memory.postgres.rows import ProjectRow
from reverie.server.calls import Answer, Call, Problem
from reverie.server.episodes import index_messages

EXTRACT = "extract"
DREAM = "dream"
_MOST_MESSAGES = 2_000
_LONGEST_SESSION = 200


def post_conversation(call: Call) -> Answer:
    """Post messages of a conversation, in your SDK's format; a worker learns from the new ones."""
    given = call.body().get("messages")
    if not isinstance(given, list) or not 1 <= len(given) <= _MOST_MESSAGES:
        raise Problem(422, f"messages must be a list of 1 to {_MOST_MESSAGES:,}")
    session = call.path["session"]
    if len(session) > _LONGEST_SESSION:
        raise Problem(422, f"the name of a conversation has at most {_LONGEST_SESSION} characters")
    project = call.project()
    if project.shared:
        raise Problem(422, "conversations are private", "post it to a project of a private space")
    now = call.parts.clock.now()
    read = _read(given)
    messages = [clean_message(replace(m, at=m.at or now), call.parts.scrubber) for m in read]
    added = add_messages(call.connection, project, session, messages)
    if added:
        # The key that posted it pays for the model that reads it.
        detail = {"space": project.space, "session": session, "key": call.claims.key}
        call.connection.execute(
            "SELECT reverie.enqueue(%s, %s, %s)",
            (EXTRACT, project.project, Jsonb(detail)),
        )
        schedule_dream(call.connection, project)
    return Answer.of({"session": session, "added": added}, 202 if added else 200)


def _read(given: list[Any]) -> tuple[Message, ...]:
    try:
        if all(isinstance(one, dict) and "blocks" in one for one in given):
            return tuple(message_from_json(one) for one in given)
        return _with_ids(read_history(given).messages)
    except (ReverieError, ValueError) as error:
        raise Problem(422, "these are not messages", str(error)) from error


def _with_ids(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Ids by content and position: a conversation sent again with more messages keeps its ids."""
    made: list[Message] = []
    for one in messages:
        before = made[-1] if made else None
        made.append(new_message(one.role, *one.blocks, after=before, origin=one.origin))
    return tuple(made)


def add_messages(
    connection: Connection, project: ProjectRow, session: str, messages: list[Message]
) -> int:
    """Append the messages that are not stored yet, and return how many."""
    place = (project.org, project.space, project.project)
    at = [message.at for message in messages]
    # Locks the conversation: posts of one take turns.
    connection.execute(
        "INSERT INTO reverie.conversations (org, space, project, session, started, updated) "
        "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (project, session) DO UPDATE "
        "SET updated = greatest(reverie.conversations.updated, EXCLUDED.updated)",
        (*place, session, min(at), max(at)),
    )
    known = {
        row["id"]
        for row in connection.execute(
            "SELECT id FROM reverie.messages WHERE project = %s AND session = %s",
            (place[2], session),
        )
    }
    fresh = list({m.id: m for m in messages if m.id not in known}.values())
    if not fresh:
        return 0
    rows = [
        (*place, session, len(known) + n, message.id, message.at, Jsonb(_json(message)))
        for n, message in enumerate(fresh)
    ]
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO reverie.messages VALUES (%s, %s, %s, %s, %s, %s, %s, %s)", rows
        )
    connection.execute(
        "UPDATE reverie.conversations SET messages = messages + %s "
        "WHERE project = %s AND session = %s",
        (len(fresh), place[2], session),
    )
    index_messages(connection, project, session, fresh)
    return len(fresh)


def _json(message: Message) -> dict[str, Any]:
    """PostgreSQL keeps neither NUL nor half of a surrogate pair."""

    def plain(value: Any) -> Any:
        match value:
            case str():
                return value.encode("utf-8", "replace").decode().replace("\0", " ")
            case dict():
                return {plain(key): plain(one) for key, one in value.items()}
            case list() | tuple():
                return [plain(one) for one in value]
            case _:
                return value

    made: dict[str, Any] = plain(message_to_json(message))
    return made


def messages_of(connection: Connection, project: str, session: str) -> list[Message]:
    """Every message of a conversation, in order."""
    rows = connection.execute(
        "SELECT record FROM reverie.messages WHERE project = %s AND session = %s ORDER BY position",
        (project, session),
    )
    return [message_from_json(row["record"]) for row in rows]


def schedule_dream(connection: Connection, project: ProjectRow) -> None:
    """Enqueue the project's next dream for the time when the gates of its space open."""
    gate = connection.execute(
        "SELECT greatest(now(), last.at + make_interval(secs => s.dream_hours * 3600)) AS moment "
        "FROM reverie.spaces s, (SELECT max(at) AS at FROM reverie.dreams WHERE project = %s "
        "AND state = 'completed') last WHERE s.space = %s AND s.dream_sessions <= (SELECT count(*) "
        "FROM reverie.conversations c WHERE c.project = %s AND "
        "(last.at IS NULL OR to_timestamp(c.updated) > last.at))",
        (project.project, project.space, project.project),
    ).fetchone()
    if gate is not None:
        enqueue_dream(connection, project, gate["moment"])


def enqueue_dream(connection: Connection, project: ProjectRow, moment: object = None) -> bool:
    """Enqueue a dream, unless one is waiting or running."""
    made = connection.execute(
        "SELECT reverie.enqueue_once(%s, %s, %s, '', coalesce(%s::timestamptz, now())) AS job",
        (DREAM, project.project, Jsonb({"space": project.space}), moment),
    ).fetchone()
    return made is not None and made["job"] is not None


def list_conversations(call: Call) -> Answer:
    """Conversations, newest first, a page at a time."""
    limit = call.number("limit", 100, 500)
    skipped = call.position("cursor")
    rows = call.connection.execute(
        "SELECT session, started, updated, messages, learnt FROM reverie.conversations "
        "WHERE project = %s ORDER BY updated DESC, session OFFSET %s LIMIT %s",
        (call.project().project, skipped, limit + 1),
    ).fetchall()
    cursor = str(skipped + limit) if len(rows) > limit else None
    return Answer.of({"conversations": rows[:limit], "cursor": cursor})


def read_conversation(call: Call) -> Answer:
    """Every message of a conversation, and how many were learnt from."""
    project, session = call.project().project, call.path["session"]
    found = call.connection.execute(
        "SELECT session, started, updated, messages AS count, learnt FROM reverie.conversations "
        "WHERE project = %s AND session = %s",
        (project, session),
    ).fetchone()
    if found is None:
        raise Problem(404, "no such conversation")
    told = [message_to_json(one) for one in messages_of(call.connection, project, session)]
    return Answer.of({**found, "messages": told})


def delete_conversation(call: Call) -> Answer:
    """Remove a conversation; memories learnt from it stay."""
    done = call.connection.execute(
        "DELETE FROM reverie.conversations WHERE project = %s AND session = %s",
        (call.project().project, call.path["session"]),
    )
    if not done.rowcount:
        raise Problem(404, "no such conversation")
    return Answer(204)


def search(call: Call) -> Answer:
    """Memories and past conversations for a question: {question, scope, limit}."""
    data = call.body()
    limit, scope = data.get("limit", 8), data.get("scope", "both")
    if type(limit) is not int or not 1 <= limit <= 50:
        raise Problem(422, "limit must be 1 to 50")
    if scope not in ("memories", "episodes", "both"):
        raise Problem(422, "scope must be memories, episodes or both")
    project, question = call.project(), call.text(data, "question")
    told: dict[str, Any] = {}
    if scope != "episodes":
        told["memories"] = call.parts.recall(call.connection, project, question, limit)["hits"]
    if scope != "memories":
        told["episodes"] = call.parts.search(call.connection, project, question, limit)
    return Answer.of(told)


# --- dreams ---


def ask_dream(call: Call) -> Answer:
    """Let a worker dream now, unless a dream of this project is waiting or running."""
    project = call.project()
    return Answer.of({"enqueued": enqueue_dream(call.connection, project)}, 202)


def list_dreams(call: Call) -> Answer:
    """The reports of this project's dreams, newest first."""
    rows = call.connection.execute(
        "SELECT id, at, state, report FROM reverie.dreams WHERE project = %s "
        "ORDER BY at DESC, id LIMIT %s",
        (call.project().project, call.number("limit", 20, 200)),
    ).fetchall()
    return Answer.of({"dreams": rows})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e6


_SPACE_FIELDS: dict[str, Callable[[object], bool]] = {
    "dream_hours": _is_number,
    "dream_sessions": lambda v: v is None or (isinstance(v, int) and _is_number(v) and v > 0),
    "learning": lambda v: isinstance(v, str) and "\0" not in v,
}


def change_space(call: Call) -> Answer:
    """Set when a space dreams and what it keeps out: {dream_hours, dream_sessions, learning}."""
    data, name = call.body(), call.path["space"]
    if not call.claims.admin:
        raise Problem(403, "only an admin key of the organisation may do that")
    for field, fits in _SPACE_FIELDS.items():
        if field in data and not fits(data[field]):
            raise Problem(422, f"{field} cannot be {data[field]!r}")
    found = call.connection.execute(
        "SELECT dream_hours, dream_sessions, learning FROM reverie.spaces WHERE name = %s", (name,)
    ).fetchone()
    if found is None:
        raise Problem(404, "no such space")
    wanted = {**found, **{field: data[field] for field in _SPACE_FIELDS if field in data}}
    call.connection.execute(
        "UPDATE reverie.spaces SET dream_hours = %(dream_hours)s, dream_sessions = "
        "%(dream_sessions)s, learning = %(learning)s WHERE name = %(name)s",
        {**wanted, "name": name},
    )
    return Answer.of(wanted)
