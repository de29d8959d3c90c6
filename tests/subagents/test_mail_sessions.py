"""Letters to other sessions: found by id or the start of one, told apart from the dead, never lost."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from tests.place import NOON, FixedClock
from tests.subagents.mailing import BOX, drained, letter, post_in, reason, rows

from reverie.errors import InputError
from reverie.files.locks import this_host
from reverie.subagents.letters import LARGEST_LETTER, Sent, render
from reverie.subagents.mail_store import MOST_UNREAD, Post, new_reader

ID = "20250615-120000-abcdef"
OTHER = "20250615-120000-fedcba"
_FORK = multiprocessing.get_context("fork")


@pytest.fixture
def post(tmp_path: Path) -> Post:
    return post_in(tmp_path)


def enter(home: Path, id_: str, pid: int, host: str = "", started: str = "") -> None:
    """As another process would have."""
    post_in(home).open("any")
    row = ("sessions", id_, "token", pid, host or this_host(), started, NOON)
    rows(home, "INSERT INTO boxes VALUES (?, ?, ?, ?, ?, ?, ?)", *row)


def listed(home: Path) -> list[str]:
    found = rows(home, "SELECT name FROM boxes WHERE team = 'sessions' ORDER BY name")
    return [name for (name,) in found]


def gone_pid() -> int:
    """The number of a process that has ended."""
    process = _FORK.Process(target=int)
    process.start()
    process.join()
    assert process.pid is not None
    return process.pid


# --- letters ---


def test_letters_arrive_whole_and_in_order(tmp_path: Path, post: Post) -> None:
    sender = post_in(tmp_path, "project/other")
    sent = [letter(number, text="é" * number) for number in range(1, 21)]
    reader = new_reader(FixedClock())
    with post.listening(ID) as box:
        for each in sent:
            assert sender.send_outside(ID, each) == Sent(each)
        assert [box.take(reader) for _ in sent] == sent
        assert box.acknowledge_all(sent, reader) == 20


def test_the_largest_letter_fits(post: Post) -> None:
    room = LARGEST_LETTER - len(render(letter(1, text="")))
    largest = letter(1, text="x" * room)
    with post.listening(ID) as box:
        assert post.send_outside(ID, largest) == Sent(largest)
        too_large = letter(2, text="x" * (room + 1))
        assert "write the content to a file" in reason(post.send_outside(ID, too_large))
        assert box.take(new_reader(FixedClock())) == largest


def test_a_letter_that_cannot_be_sent_is_not(post: Post) -> None:
    with post.listening(ID) as box:
        said = post.send_outside(ID, replace(letter(1), text=""))
        assert "the message is empty" in reason(said)
        assert box.unread() == 0


@pytest.mark.parametrize(
    ("sender", "to", "said"),
    [
        ("lead", "lead", "the sender is not the id of a session"),
        ("worker", "paul", "there is no agent 'paul' here"),
    ],
)
def test_a_session_writes_as_itself_and_to_the_lead(
    post: Post, sender: str, to: str, said: str
) -> None:
    with post.listening(ID) as box:
        assert reason(post.send_outside(ID, replace(letter(1), sender=sender, to=to))) == said
        assert box.unread() == 0


def test_a_full_box_is_told(tmp_path: Path, post: Post) -> None:
    with post.listening(ID):
        post.send_outside(ID, letter(1))
        copies = (
            "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
            "INSERT INTO letters (team, recipient, sender, id, body) "
            "SELECT team, recipient, sender, 'worker-' || i, body FROM letters, n"
        )
        rows(tmp_path, copies, MOST_UNREAD)
        assert "full (1,000 unread letters)" in reason(post.send_outside(ID, letter(5_000)))


def test_the_letters_of_a_session_are_not_its_teams(post: Post) -> None:
    team = post.open(BOX)
    with post.listening(ID) as box:
        post.send_outside(ID, letter(1))
        post.send(letter(2))
        assert drained(team) == ["worker-2"]
        assert drained(box) == ["worker-1"]
    assert post.members() == (BOX,)


# --- who listens ---


def test_an_entry_goes_with_us_and_what_arrived_can_still_be_read(
    tmp_path: Path, post: Post
) -> None:
    with post.listening(ID) as box:
        assert rows(tmp_path, "SELECT name, pid, host, since FROM boxes") == [
            (ID, os.getpid(), this_host(), NOON)
        ]
        post.send_outside(ID, letter(1))
    assert listed(tmp_path) == []
    assert "no session" in reason(post.send_outside(ID, letter(2)))
    assert drained(box) == ["worker-1"]


def test_it_goes_also_when_things_go_wrong(tmp_path: Path, post: Post) -> None:
    with pytest.raises(KeyboardInterrupt), post.listening(ID):
        raise KeyboardInterrupt
    assert listed(tmp_path) == []


def test_the_start_of_an_id_is_enough_if_it_is_the_only_one(post: Post) -> None:
    with post.listening(ID) as one, post.listening(OTHER) as other:
        post.send_outside("20250615-120000-a", letter(1))
        post.send_outside(OTHER, letter(2))
        assert drained(one) == ["worker-1"]
        assert drained(other) == ["worker-2"]
        said = reason(post.send_outside("2025", letter(3)))
        assert ID in said
        assert OTHER in said
        assert "give more of the id" in said
        with post.listening("2025") as exact:
            post.send_outside("2025", letter(4))
            assert drained(exact) == ["worker-4"]


def test_no_session_of_that_id(tmp_path: Path, post: Post) -> None:
    assert "listening are: none" in reason(post.send_outside(ID, letter(1)))
    assert list(tmp_path.iterdir()) == []
    with post.listening(OTHER):
        assert f"listening are: {OTHER}" in reason(post.send_outside(ID, letter(1)))


def test_one_id_is_one_process(tmp_path: Path) -> None:
    clock = FixedClock()
    post = Post(tmp_path, "project/session", clock)
    with post.listening(ID) as box:
        # However long it runs.
        clock.advance(100_000)
        with pytest.raises(InputError, match=f"{os.getpid()} listens as '{ID}' already"):
            post_in(tmp_path).listening(ID).__enter__()
        post.send_outside(ID, letter(1))
        assert drained(box) == ["worker-1"]


def _listener(home: Path, pipe: Connection) -> None:
    post = post_in(home)
    with post.listening(ID) as box:
        post.send_outside(ID, letter(1))
        box.take(new_reader(FixedClock()))
        pipe.send("ready")
        pipe.recv()


def test_the_killed_are_told_of_once_and_their_letters_wait(tmp_path: Path, post: Post) -> None:
    here, there = _FORK.Pipe()
    process = _FORK.Process(target=_listener, args=(tmp_path, there), daemon=True)
    process.start()
    here.recv()
    assert isinstance(post.send_outside("2025", letter(2)), Sent)
    process.kill()
    process.join()
    said = reason(post.send_outside("2025", letter(3)))
    assert f"'{ID}' has ended: its process {process.pid} is gone" in said
    assert listed(tmp_path) == []
    assert "listening are: none" in reason(post.send_outside("2025", letter(3)))
    # The session goes on in another process: it reads what the first had not finished with.
    with post.listening(ID) as box:
        assert drained(box) == ["worker-1", "worker-2"]


def test_a_dead_one_gives_way(tmp_path: Path, post: Post) -> None:
    enter(tmp_path, ID, gone_pid())
    with post.listening(ID) as box:
        post.send_outside(ID, letter(1))
        assert drained(box) == ["worker-1"]


def test_an_exact_id_that_has_ended_is_not_another_session(tmp_path: Path, post: Post) -> None:
    enter(tmp_path, "2025", gone_pid())
    with post.listening(ID):
        assert "'2025' has ended" in reason(post.send_outside("2025", letter(1)))


def test_another_process_under_its_number_is_not_it(tmp_path: Path, post: Post) -> None:
    enter(tmp_path, ID, os.getpid(), started="long ago")
    assert "has ended" in reason(post.send_outside(ID, letter(1)))


def test_another_computer_is_out_of_reach(tmp_path: Path, post: Post) -> None:
    enter(tmp_path, ID, gone_pid(), host="elsewhere")
    said = reason(post.send_outside(ID, letter(1)))
    assert "runs on another computer (elsewhere)" in said
    assert listed(tmp_path) == [ID]
    with post.listening(ID) as box:
        post.send_outside(ID, letter(1))
        assert drained(box) == ["worker-1"]


def test_an_entry_that_became_another_processs_stays(tmp_path: Path, post: Post) -> None:
    with post.listening(ID):
        rows(tmp_path, "UPDATE boxes SET token = 'theirs'")
    assert listed(tmp_path) == [ID]


@pytest.mark.parametrize("id_", ["", "..", "a/b", "../a", ".a", "a.b", "a\0", "a" * 65, "é", "-a"])
def test_ids_are_names(post: Post, id_: str) -> None:
    assert "is not a valid id" in reason(post.send_outside(id_, letter(1)))
    with pytest.raises(InputError, match="is not a valid id"):
        post.listening(id_).__enter__()
