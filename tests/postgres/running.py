"""One PostgreSQL for the tests of a process, and a fresh database for each test."""

from __future__ import annotations

import atexit
import os
import tempfile
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

import psycopg
from tests.place import FixedClock

from reverie.memory.postgres.database import (
    APP,
    WORKER,
    Database,
    EmbeddedPostgres,
    migrate,
    with_role,
)
from reverie.memory.postgres.rows import index_nothing
from reverie.memory.postgres.store import PostgresStore
from reverie.memory.postgres.tenants import Tenancy, create_organisation

_TEMPLATE = "template_reverie"
_numbers = count(1)


@cache
def server() -> EmbeddedPostgres:
    # Not in pytest's folder: it is closed to the user that PostgreSQL runs as for root.
    made = EmbeddedPostgres(Path(tempfile.mkdtemp(prefix="reverie-pg-")), safe=False)
    atexit.register(made.delete)
    made.start()
    with psycopg.connect(made.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {_TEMPLATE}")
    migrate(made.url(database=_TEMPLATE))
    return made


def fresh_database() -> str:
    """The owner's address of a new database with the schema."""
    return server().url(database=empty_database(_TEMPLATE))


def empty_database(template: str = "template1") -> str:
    """The name of a new database, like another one."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server().url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    return name


@dataclass
class Tenant:
    """An organisation with a private and a team space."""

    database: Database
    admin: str
    clock: FixedClock

    @property
    def tenancy(self) -> Tenancy:
        return Tenancy(self.database, self.admin)

    def store(self, project: str = "shop", space: str = "ada", indexing=index_nothing):
        row = self.tenancy.project(space, project)
        return PostgresStore(self.database, self.admin, row, self.clock, indexing)


class Fleet:
    """A database with tenants."""

    def __init__(self) -> None:
        self.owner_url = fresh_database()
        self.app_url = with_role(self.owner_url, APP)
        self.worker_url = with_role(self.owner_url, WORKER)
        self.database = Database(self.app_url).open()

    def tenant(self, name: str) -> Tenant:
        made = Tenant(self.database, create_organisation(self.owner_url, name), FixedClock())
        made.tenancy.create_space("ada", "private")
        made.tenancy.create_space("everyone", "team")
        return made

    def close(self) -> None:
        self.database.close()
