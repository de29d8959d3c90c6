"""Whatever happens to the file, or is written into it: told, set aside, and mail goes on."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.place import FixedClock
from tests.subagents.mailing import BOX, TEAM, drained, fill, letter, post_in, reason, rows

from reverie.errors import InputError, StorageError
from reverie.subagents import mail_database
from reverie.subagents.letters import LARGEST_LETTER, Sent, render
from reverie.subagents.mail_database import MailDatabase
from reverie.subagents.mail_store import MOST_REFUSED, Mailbox, Post, new_reader

REPOSITORY = Path(__file__).parents[2]
GOOD = render(letter(1, "evil"))


@pytest.fixture
def notes() -> list[str]:
    return []


@pytest.fixture
def post(tmp_path: Path, notes: list[str]) -> Post:
    return Post(tmp_path, TEAM, FixedClock(), notes.append)


@pytest.fixture
def box(post: Post) -> Mailbox:
    return post.open(BOX)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mail.sqlite"


def put(home: Path, body: object, id_: str = "evil-1") -> None:
    """A row that no Reverie wrote, before all others."""
    sql = (
        "INSERT INTO letters (number, team, recipient, sender, id, body) VALUES (?, ?, ?, ?, ?, ?)"
    )
    [lowest] = rows(home, "SELECT coalesce(min(number), 1) FROM letters")[0]
    rows(home, sql, lowest - 1, TEAM, BOX, "evil", id_, body)


# --- rows that are no letters ---


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "not JSON"),
        (GOOD[: len(GOOD) // 2], "not JSON"),
        (b"\xff" + GOOD, "not UTF-8"),
        (b"[" * 200_000, "not JSON"),
        (b" " * (LARGEST_LETTER + 1), "too large"),
        ("text", "not text, or too large"),
        (7, "not text, or too large"),
        (render(letter(2, "evil")), "not what its row says"),
        (render(letter(1, "worker")), "not what its row says"),
        (render(replace(letter(1, "evil"), to="ben")), "not what its row says"),
    ],
)
def test_what_is_no_letter_is_refused_and_told_of(
    tmp_path: Path, post: Post, box: Mailbox, notes: list[str], body: object, said: str
) -> None:
    fill(post, 2)
    put(tmp_path, body)
    assert drained(box) == ["worker-1", "worker-2"]
    [note] = notes
    assert said in note
    [(kept, why)] = rows(tmp_path, "SELECT id, refused FROM letters")
    assert kept == "evil-1"
    assert why in note
    assert box.unread() == 0


def test_a_refused_row_does_not_keep_a_letter_of_its_id_out(
    tmp_path: Path, post: Post, box: Mailbox
) -> None:
    put(tmp_path, b"{")
    assert drained(box) == []
    assert isinstance(post.send(letter(1, "evil")), Sent)
    assert drained(box) == ["evil-1"]


def test_what_is_refused_does_not_grow_for_ever(
    tmp_path: Path, post: Post, box: Mailbox, notes: list[str]
) -> None:
    fill(post, 1)
    for number in range(MOST_REFUSED + 3):
        put(tmp_path, b"", f"x{number}")
    assert drained(box) == ["worker-1"]
    assert len(notes) == MOST_REFUSED + 3
    assert rows(tmp_path, "SELECT count(*) FROM letters") == [(MOST_REFUSED,)]


# --- the file ---


def overwritten(file: Path) -> None:
    file.write_bytes(b"not a database " * 1_000)


def emptied(file: Path) -> None:
    file.write_bytes(b"")


def cut_off(file: Path) -> None:
    os.truncate(file, 4_096)


def of_another_program(file: Path) -> None:
    file.unlink()
    rows(file.parent, "CREATE TABLE letters (a, b)")
    file.chmod(0o600)


def without_a_table(file: Path) -> None:
    rows(file.parent, "DROP TABLE boxes")


@pytest.mark.parametrize(
    "damage", [overwritten, emptied, cut_off, of_another_program, without_a_table]
)
def test_a_damaged_file_is_told_of_and_stays_behind(
    tmp_path: Path,
    post: Post,
    box: Mailbox,
    notes: list[str],
    damage: Callable[[Path], None],
) -> None:
    fill(post, 1)
    other = post_in(tmp_path)
    assert other.members() == (BOX,)
    other.close()
    post.close()
    damage(tmp_path / "mail.sqlite")
    # The box of this process is there in the new file.
    assert BOX in post.members()
    assert isinstance(post.send(letter(2)), Sent)
    assert "worker-2" in drained(box)
    [note] = notes
    assert "mail.sqlite is damaged" in note
    assert "mail-2.sqlite takes over" in note
    database = MailDatabase(tmp_path)
    assert database.damaged() == (tmp_path / "mail.sqlite",)
    assert database.files[0] == tmp_path / "mail-2.sqlite"
    # The next process goes on there, and has nothing to tell.
    other.open(BOX)
    fill(other, 1, "ada")
    assert drained(box) == ["ada-1"]
    assert len(notes) == 1


def damage_pages(file: Path, first: int) -> None:
    with file.open("r+b") as data:
        size = file.stat().st_size
        data.seek(first * 4_096)
        data.write(b"\xa5" * (size - first * 4_096))


def test_what_can_still_be_read_is_taken_over(
    tmp_path: Path, post: Post, box: Mailbox, notes: list[str], file: Path
) -> None:
    fill(post, 1, "ada")
    for number in range(1, 41):
        post.send(letter(number, text="x" * 3_000))
    reader = new_reader(FixedClock())
    assert box.take(reader) == letter(1, "ada")
    post.close()
    damage_pages(file, file.stat().st_size // 4_096 * 3 // 4)
    found = drained(box)
    assert 10 < len(found) < 40
    assert found == [f"worker-{number}" for number in range(1, len(found) + 1)]
    assert f"with the {len(found) + 1} letters" in notes[0]
    # The lease moved with its letter.
    assert box.acknowledge(letter(1, "ada"), reader)


def test_a_file_that_disappears_is_made_again(
    tmp_path: Path, post: Post, box: Mailbox, notes: list[str], file: Path
) -> None:
    fill(post, 1)
    file.unlink()
    fill(post, 2, "ada")
    assert drained(box) == ["ada-1", "ada-2"]
    assert notes == []


def test_a_letter_sent_while_the_file_was_replaced_is_in_the_new_one(
    tmp_path: Path, post: Post, box: Mailbox
) -> None:
    other = MailDatabase(tmp_path)

    def put_meanwhile(connection: object) -> str:
        # Another process found the file damaged after we had opened it.
        if not (tmp_path / "mail-2.sqlite").exists():
            other._make(tmp_path / "mail-2.sqlite")
            return "old"
        return "new"

    assert post.database.write(put_meanwhile) == "new"


def test_a_file_of_a_newer_version_is_left_alone(
    tmp_path: Path, post: Post, box: Mailbox, file: Path
) -> None:
    post.close()
    rows(tmp_path, "PRAGMA user_version = 99")
    before = file.read_bytes()
    with pytest.raises(StorageError, match="newer version"):
        box.unread()
    assert file.read_bytes() == before


# --- not ours alone ---


def readable_by_all(file: Path) -> None:
    file.chmod(0o644)


def link(file: Path) -> None:
    real = file.with_name("real")
    file.rename(real)
    file.symlink_to(real)


def folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def of_another_user(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(file, 12_345, 12_345)


@pytest.mark.parametrize("change", [readable_by_all, link, folder, of_another_user])
def test_a_file_that_is_not_ours_alone_is_refused(
    post: Post, box: Mailbox, file: Path, change: Callable[[Path], None]
) -> None:
    post.close()
    change(file)
    with pytest.raises(InputError, match="not a file of yours alone"):
        box.unread()
    with pytest.raises(InputError, match="not a file of yours alone"):
        post.open("ada")


# --- limits of the system ---


def test_a_full_disk_refuses_and_loses_nothing(post: Post, box: Mailbox) -> None:
    fill(post, 2)
    connection = post.database._connection()
    [pages] = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match="the disk is full; free some space"):
        post.send(letter(3, text="x" * 100_000))
    connection.execute("PRAGMA max_page_count = 1000000")
    assert isinstance(post.send(letter(4)), Sent)
    assert drained(box) == ["worker-1", "worker-2", "worker-4"]


_FULL = """\
import resource, sys
from pathlib import Path
from tests.subagents.mailing import letter, post_in
from reverie.errors import StorageError

post = post_in(Path(sys.argv[1]))
post.members()
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    post.send(letter(9, text="x" * 200_000))
except StorageError as error:
    print(error)
"""


@pytest.mark.parametrize("size", [0, 5_000, 60_000])
def test_a_write_that_is_cut_short_leaves_no_half_a_letter(
    tmp_path: Path, post: Post, box: Mailbox, size: int
) -> None:
    fill(post, 2)
    post.close()
    command = [sys.executable, "-c", _FULL, str(tmp_path), str(size)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert "cannot use" in done.stdout
    assert drained(box) == ["worker-1", "worker-2"]
    assert rows(tmp_path, "PRAGMA integrity_check") == [("ok",)]


def test_without_descriptors_no_letter_is_refused_and_no_reader_buried(
    tmp_path: Path, post: Post, box: Mailbox, notes: list[str]
) -> None:
    fill(post, 2, "ada")
    fill(post, 1, "ben")
    living, other = new_reader(FixedClock()), new_reader(FixedClock())
    assert box.take(living) == letter(1, "ada")
    free = os.dup(0)
    os.close(free)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    outcomes = set()
    # A process with many files open has taken some of these numbers: the last has room for sure.
    for limit in (*range(free, free + 12), soft):
        post.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        try:
            outcomes.add(box.take(other))
        except StorageError:
            outcomes.add(None)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        box.release(other)
    assert outcomes == {None, letter(1, "ben")}
    assert notes == []
    assert rows(tmp_path, "SELECT count(*) FROM letters WHERE refused IS NOT NULL") == [(0,)]
    assert box.acknowledge(letter(1, "ada"), living)


def test_a_file_that_another_process_holds_is_busy_not_damaged(
    tmp_path: Path, post: Post, box: Mailbox, notes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail_database, "BUSY_SECONDS", 0.01)
    post.close()
    other = MailDatabase(tmp_path)
    holding = other._connection()
    holding.execute("BEGIN IMMEDIATE")
    with pytest.raises(StorageError, match="another process is using it"):
        post.send(letter(1))
    holding.execute("ROLLBACK")
    assert isinstance(post.send(letter(1)), Sent)
    assert notes == []
    assert reason(post.send(replace(letter(1), text=""))) == "the message is empty"
