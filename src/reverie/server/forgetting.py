"""The endpoint that removes every trace of a memory: its files, its history, and copies of its words.

Everything happens in one transaction under the project's lock. A memory about the person is learnt
and recalled in every project, so all projects of its space are cleaned. A team's history is
rewritten only with an admin key.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from psycopg.types.json import Jsonb

from reverie.core.messages import message_from_json
from reverie.memory.cleaning import Cleaned
from reverie.memory.forgetting import LOGS, MemoryForgetter, versions_of
from reverie.memory.format.revisions import Author
from reverie.memory.format.topic import Topic
from reverie.memory.format.traces import Traces, traces_of
from reverie.memory.postgres.rows import ProjectRow
from reverie.memory.postgres.store import PostgresStore
from reverie.memory.service.opening import PERSON
from reverie.server.calls import Answer, Call, Problem
from reverie.server.conversations import messages_of
from reverie.server.episodes import index_messages

_SHARED_HISTORY = Cleaned(
    "history", "not changed", remains="an admin key of the organisation can remove it from there"
)
_MOST_SENTENCES = 200


def forget_everywhere(call: Call) -> Answer:
    """Remove every trace of a memory, also from the history and conversations: {file, sentences}."""
    data = call.body()
    file, given = call.text(data, "file"), data.get("sentences", [])
    if not isinstance(given, list) or not all(isinstance(one, str) for one in given):
        raise Problem(422, "sentences must be a list of texts")
    store = call.store()
    if store.project.space not in call.claims.write:
        raise Problem(403, "not allowed", "this key may read this memory, but not write to it")
    with store.exclusively():
        versions = versions_of(file, store)
        if not versions:
            raise Problem(404, "no such memory", f"there is and was no {file} in this project")
        found = traces_of(file, versions).with_sentences(given[:_MOST_SENTENCES])
        places = _Forgetting(call, store, versions, found).run()
    return Answer.of({"places": [asdict(one) for one in places]})


@dataclass(frozen=True, slots=True)
class _Forgetting:
    """One memory, and the words by which it is known."""

    call: Call
    store: PostgresStore
    versions: list[Topic]
    traces: Traces

    def run(self) -> list[Cleaned]:
        said = replace(self, traces=self.traces.with_sentences(self._original_sentences()))
        beside = said.beside()
        return [*beside, *said.itself()]

    def _original_sentences(self) -> Iterator[str]:
        """The sentences in the messages it was learnt from, which may have another wording."""
        cited = {one.partition("#") for version in self.versions for one in version.source}
        for session, _, message in cited:
            rows = self.call.connection.execute(
                "SELECT record FROM reverie.messages WHERE session = %s AND id = %s",
                (session, message),
            )
            for row in rows:
                yield from self.traces.same_words(message_from_json(row["record"]).text)

    def itself(self) -> list[Cleaned]:
        store = self.store
        now = datetime.fromtimestamp(self.call.parts.clock.now(), UTC).isoformat(timespec="seconds")
        titles = frozenset(version.name for version in self.versions)
        author = Author("user", session=f"key:{self.call.claims.key}")
        logs = tuple(name for name in store.listing() if name.startswith(f"{LOGS}/"))
        forgetter = MemoryForgetter(store, self.traces, titles, author, now, logs)
        first, *others = forgetter.from_directory()
        # The answer is stored for repeated requests, so it must not name the removed memory.
        places = [replace(first, place="memory"), *others]
        if store.project.shared and not self.call.claims.admin:
            return [*places, _SHARED_HISTORY]
        return [*places, replace(forgetter.from_history(), place="history")]

    # --- copies of its words ---

    def beside(self) -> list[Cleaned]:
        projects = self._projects()
        ids = [project.project for project in projects]
        return [
            self._proposals(ids),
            self._conversations(projects),
            self._dreams(ids),
            self._promotions(),
            self._answers(),
        ]

    def _projects(self) -> list[ProjectRow]:
        own = self.store.project
        if own.name != PERSON:
            return [own]
        rows = self.call.connection.execute(
            "SELECT project, name FROM reverie.projects WHERE space = %s", (own.space,)
        )
        return [replace(own, project=str(row["project"]), name=row["name"]) for row in rows]

    def _proposals(self, projects: list[str]) -> Cleaned:
        rows = self._rows(
            "SELECT project, id, item FROM reverie.proposals WHERE project = ANY (%s)", projects
        )
        held = [row for row in rows if self.traces.held_in_json(row["item"])]
        for row in held:
            self._do(
                "DELETE FROM reverie.proposals WHERE project = %s AND id = %s",
                *(row["project"], row["id"]),
            )
        done = f"{len(held)} of {len(rows)} proposals held it and were removed"
        return Cleaned("inbox", done, len(held))

    def _conversations(self, projects: list[ProjectRow]) -> Cleaned:
        count = total = 0
        for project in projects:
            sessions = self._rows(
                "SELECT session FROM reverie.conversations WHERE project = %s", project.project
            )
            total += len(sessions)
            count += sum(self._redact(project, row["session"]) for row in sessions)
        return Cleaned("conversations", f"{count} of {total} held it and were cleaned", count)

    def _redact(self, project: ProjectRow, session: str) -> bool:
        place = (project.project, session)
        rows = self._rows(
            "SELECT position, record FROM reverie.messages WHERE project = %s AND session = %s",
            *place,
        )
        changed = False
        for row in rows:
            clean, found = self.traces.redacted_json(row["record"])
            if found:
                changed = True
                self._do(
                    "UPDATE reverie.messages SET record = %s WHERE project = %s AND session = %s "
                    "AND position = %s",
                    *(Jsonb(clean), *place, row["position"]),
                )
        if changed:
            self._do("DELETE FROM reverie.episodes WHERE project = %s AND session = %s", *place)
            messages = messages_of(self.call.connection, *place)
            index_messages(self.call.connection, project, session, messages)
        return changed

    def _dreams(self, projects: list[str]) -> Cleaned:
        rows = self._rows(
            "SELECT project, id, report FROM reverie.dreams WHERE project = ANY (%s)", projects
        )
        count = 0
        for row in rows:
            clean, found = self.traces.redacted_json(row["report"])
            if found:
                count += 1
                self._do(
                    "UPDATE reverie.dreams SET report = %s WHERE project = %s AND id = %s",
                    *(Jsonb(clean), row["project"], row["id"]),
                )
        return Cleaned(
            "reports of dreams", f"{count} of {len(rows)} held it and were cleaned", count
        )

    def _promotions(self) -> Cleaned:
        rows = self._rows("SELECT id, data FROM reverie.promotions")
        held = [row for row in rows if self.traces.holds(_text(row["data"]))]
        count = sum(
            self._do("DELETE FROM reverie.promotions WHERE id = %s", row["id"]) for row in held
        )
        remains = "" if count == len(held) else "others asked for some; a member of the team can"
        done = f"{count} of {len(rows)} held it and were removed"
        return Cleaned("promotions", done, count, remains)

    def _answers(self) -> Cleaned:
        """Remove stored answers for repeated requests."""
        me = (self.call.claims.org, self.call.claims.key)
        rows = self._rows(
            "SELECT idempotency, body FROM reverie.answers WHERE org = %s AND key = %s "
            "AND body IS NOT NULL",
            *me,
        )
        held = [row for row in rows if self.traces.holds(_text(row["body"]))]
        for row in held:
            self._do(
                "DELETE FROM reverie.answers WHERE org = %s AND key = %s AND idempotency = %s",
                *(*me, row["idempotency"]),
            )
        done = f"{len(held)} of {len(rows)} held it and were removed"
        return Cleaned("answers kept for repeated requests", done, len(held))

    def _rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        return self.call.connection.execute(query.encode(), values).fetchall()

    def _do(self, query: str, *values: object) -> int:
        return self.call.connection.execute(query.encode(), values).rowcount


def _text(data: bytes) -> str:
    return bytes(data).decode("utf-8", "replace")
