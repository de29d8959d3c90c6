"""Organisations, spaces, projects and keys, and what each key may do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

import psycopg
from psycopg.types.json import Jsonb

from reverie.errors import InputError
from reverie.memory.postgres.database import Connection, Database, NotAllowed, patiently
from reverie.memory.postgres.rows import ProjectRow

SpaceKind = Literal["private", "team"]
Scope = Literal["read", "write"]

_LONGEST_NAME = 200


def create_organisation(owner_url: str, name: str) -> str:
    """Create an organisation as the owner of the database; returns its first admin key."""
    _require_name(name)
    try:
        with psycopg.connect(owner_url, autocommit=True) as connection:
            made = connection.execute("SELECT reverie.create_organisation(%s)", (name,)).fetchone()
    except psycopg.errors.UniqueViolation as error:
        raise InputError(f"there is an organisation {name!r} already") from error
    return str(made[0]) if made else ""


@dataclass(frozen=True, slots=True)
class Tenancy:
    """The part of its organisation that a key can see."""

    database: Database
    token: str

    def spaces(self) -> list[dict[str, Any]]:
        """The spaces this key may read."""
        return self._rows("SELECT space, name, kind FROM reverie.spaces ORDER BY name")

    def create_space(self, name: str, kind: SpaceKind) -> dict[str, Any]:
        """A new space of the organisation; for admin keys."""
        _require_name(name)
        if kind not in ("private", "team"):
            raise InputError(f"a space is private or team, not {kind!r}")
        with self.database.entered(self.token) as (connection, claims):
            _require_admin(admin=claims.admin)
            try:
                found = connection.execute(
                    "INSERT INTO reverie.spaces (org, name, kind) VALUES (%s, %s, %s) "
                    "RETURNING space, name, kind",
                    (claims.org, name, kind),
                ).fetchone()
            except psycopg.errors.UniqueViolation as error:
                raise InputError(f"there is a space {name!r} already") from error
            return found or {}

    def projects(self, space: str | None = None) -> list[dict[str, Any]]:
        """The projects this key may read."""
        only = "" if space is None else "WHERE s.name = %s"
        return self._rows(
            "SELECT p.project, p.name, s.name AS space, s.kind, p.seq, p.head FROM reverie.projects p "
            f"JOIN reverie.spaces s USING (org, space) {only} ORDER BY s.name, p.name",
            *(() if space is None else (space,)),
        )

    def project(self, space: str, name: str, *, create: bool = True) -> ProjectRow:
        """A project by its name, created if it is new and this key may write to the space."""
        _require_name(name)

        def work() -> ProjectRow:
            with self.database.entered(self.token) as (connection, claims):
                place = connection.execute(
                    "SELECT space FROM reverie.spaces WHERE org = %s AND name = %s",
                    (claims.org, space),
                ).fetchone()
                if place is None:
                    raise InputError(f"this key sees no space {space!r}")
                id_ = str(place["space"])
                found = _found(connection, id_, name)
                if found is None and create and id_ in claims.write:
                    connection.execute(
                        "INSERT INTO reverie.projects (org, space, name) VALUES (%s, %s, %s) "
                        "ON CONFLICT DO NOTHING",
                        (claims.org, id_, name),
                    )
                    found = _found(connection, id_, name)
                if found is None:
                    raise InputError(f"there is no project {name!r} in the space {space!r}")
                return found

        return patiently(work)

    def row(self, project: str) -> ProjectRow:
        """A project by its id."""
        found = self._rows(
            "SELECT org, space, project, name FROM reverie.projects WHERE project = %s", project
        )
        if not found:
            raise InputError(f"this key sees no project {project}")
        return _row(found[0])

    # --- keys ---

    def keys(self) -> list[dict[str, Any]]:
        """Every key of the organisation, without secrets; for admin keys."""
        with self.database.entered(self.token) as (connection, claims):
            _require_admin(admin=claims.admin)
            return connection.execute(
                "SELECT k.key, k.label, k.admin, k.created, k.expires, k.revoked, "
                "coalesce(jsonb_object_agg(s.name, g.scope) FILTER (WHERE s.name IS NOT NULL), '{}') "
                "AS spaces FROM reverie.keys k LEFT JOIN reverie.grants g USING (org, key) "
                "LEFT JOIN reverie.spaces s USING (org, space) "
                "GROUP BY k.key, k.label, k.admin, k.created, k.expires, k.revoked ORDER BY k.created"
            ).fetchall()

    def create_key(
        self,
        label: str,
        spaces: dict[str, Scope],
        *,
        admin: bool = False,
        lives: timedelta | None = None,
    ) -> str:
        """Create a key; its token is shown once."""
        _require_name(label)
        if not admin and not spaces:
            raise InputError("a key needs a space it may read or write, or admin rights")
        if wrong := {s for s in spaces.values() if s not in ("read", "write")}:
            raise InputError(f"a key may read or write in a space, not {', '.join(wrong)}")
        return str(
            self._called(
                "SELECT reverie.create_key(%s, %s, %s, %s) AS made",
                label,
                admin,
                Jsonb(spaces),
                lives,
            )
        )

    def rotate_key(self, key: str) -> str:
        """Replace a key's token; the old one stops working."""
        made = self._called("SELECT reverie.rotate_key(%s) AS made", key)
        if made is None:
            raise _no_key(key)
        return str(made)

    def revoke_key(self, key: str) -> None:
        """Revoke a key for good."""
        if not self._called("SELECT reverie.revoke_key(%s) AS made", key):
            raise _no_key(key)

    def _called(self, query: str, *values: object) -> object:
        with self.database.entered(self.token) as (connection, _):
            found = connection.execute(query.encode(), values).fetchone()
            return found["made"] if found else None

    def _rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        def work() -> list[dict[str, Any]]:
            with self.database.entered(self.token) as (connection, _):
                return connection.execute(query.encode(), values).fetchall()

        return patiently(work)


def _found(connection: Connection, space: str, name: str) -> ProjectRow | None:
    row = connection.execute(
        "SELECT org, space, project, name FROM reverie.projects WHERE space = %s AND name = %s",
        (space, name),
    ).fetchone()
    return None if row is None else _row(row)


def _row(found: dict[str, Any]) -> ProjectRow:
    return ProjectRow(str(found["org"]), str(found["space"]), str(found["project"]), found["name"])


def _require_admin(*, admin: bool) -> None:
    if not admin:
        raise NotAllowed("only an admin key of the organisation may do that")


def _no_key(key: str) -> InputError:
    return InputError(f"there is no key {key!r} in this organisation, or it was revoked")


def _require_name(name: str) -> None:
    if not name.strip() or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"{name[:40]!r} is not a valid name: give 1 to {_LONGEST_NAME} printable characters"
        )
