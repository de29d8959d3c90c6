"""Letters in the table: order, reading once, several readers, limits, files of earlier versions."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.place import NOON, FixedClock
from tests.subagents.mailing import BOX, TEAM, drained, fill, letter, post_in, reason, rows

from reverie.errors import InputError
from reverie.subagents.letters import LARGEST_LETTER, Refused, Sent, render
from reverie.subagents.mail_store import MOST_UNREAD, Mailbox, Post, new_reader


@pytest.fixture
def post(tmp_path: Path) -> Post:
    return post_in(tmp_path)


@pytest.fixture
def box(post: Post) -> Mailbox:
    return post.open(BOX)


def test_a_letter_arrives_as_it_was_sent(post: Post, box: Mailbox) -> None:
    sent = replace(
        letter(1, text="Grüße\0 🎈"), kind="shutdown_response", reply_to="q-1", agreed=False
    )
    assert post.send(sent) == Sent(sent)
    reader = new_reader(FixedClock())
    assert box.unread() == 1
    assert box.take(reader) == sent
    assert box.unread() == 0
    assert box.take(reader) is None
    assert box.acknowledge(sent, reader)
    assert not box.acknowledge(sent, reader)
    assert drained(box) == []


def test_order_is_that_of_sending_whatever_the_clocks_say(post: Post, box: Mailbox) -> None:
    for number, off in enumerate((0, 500, -500, 1e9, -1e9), start=1):
        post.send(letter(number, at=NOON + off))
    assert drained(box) == [f"worker-{number}" for number in range(1, 6)]


def test_order_holds_over_more_letters_than_one_digit_counts(post: Post, box: Mailbox) -> None:
    fill(post, 120)
    assert drained(box) == [f"worker-{number}" for number in range(1, 121)]


def test_unread_and_unacknowledged_letters_survive_a_restart(
    tmp_path: Path, post: Post, box: Mailbox
) -> None:
    fill(post, 3)
    reader = new_reader(FixedClock())
    box.take(reader)
    post.close()
    again = post_in(tmp_path).open(BOX)
    assert again.unread() == 2
    assert again.release(reader) == 1
    assert drained(again) == ["worker-1", "worker-2", "worker-3"]


def test_each_letter_goes_to_one_of_several_readers(post: Post, box: Mailbox) -> None:
    fill(post, 2, "ada")
    fill(post, 2, "ben")
    one, two = new_reader(FixedClock()), new_reader(FixedClock())
    first, second = box.take(one), box.take(two)
    assert first == letter(1, "ada")
    # Ada's second waits for her first, which another reader holds.
    assert second == letter(1, "ben")
    assert box.take(two) == letter(2, "ben")
    assert box.take(two) is None
    assert box.take(one) == letter(2, "ada")
    assert not box.acknowledge(first, two)
    assert box.acknowledge(first, one)


def test_a_senders_next_letter_is_free_once_the_last_is_acknowledged(
    post: Post, box: Mailbox
) -> None:
    fill(post, 2)
    one, two = new_reader(FixedClock()), new_reader(FixedClock())
    held = box.take(one)
    assert held is not None
    assert box.take(two) is None
    box.acknowledge(held, one)
    assert box.take(two) == letter(2)


def test_what_a_reader_gives_back_comes_first_again(post: Post, box: Mailbox) -> None:
    fill(post, 3)
    reader = new_reader(FixedClock())
    box.take(reader)
    box.take(reader)
    assert box.release(reader) == 2
    assert box.release(reader) == 0
    post.send(letter(4))
    assert drained(box) == ["worker-1", "worker-2", "worker-3", "worker-4"]


def test_what_is_sent_while_all_is_held_comes_after_it(post: Post, box: Mailbox) -> None:
    fill(post, 2)
    reader = new_reader(FixedClock())
    box.take(reader)
    box.take(reader)
    post.send(letter(3))
    box.release(reader)
    assert drained(box) == ["worker-1", "worker-2", "worker-3"]


def test_several_are_acknowledged_at_once(post: Post, box: Mailbox) -> None:
    fill(post, 3)
    reader = new_reader(FixedClock())
    box.take(reader)
    box.take(reader)
    assert box.acknowledge_all([letter(1), letter(2), letter(3)], reader) == 2
    assert drained(box) == ["worker-3"]


def test_a_reader_takes_its_time_but_one_on_another_host_an_hour(tmp_path: Path) -> None:
    clock = FixedClock()
    post = Post(tmp_path, TEAM, clock)
    box = post.open(BOX)
    fill(post, 2)
    here = new_reader(clock)
    held = box.take(here)
    assert held is not None
    clock.advance(1_000_000)
    assert box.recover() == 0
    assert box.acknowledge(held, here)

    elsewhere = replace(new_reader(clock), host="elsewhere")
    lent = box.take(elsewhere)
    assert lent is not None
    clock.advance(3_500)
    assert box.recover() == 0
    clock.advance(200)
    assert box.recover() == 1
    assert not box.acknowledge(lent, elsewhere)
    assert drained(box) == ["worker-2"]


@pytest.mark.parametrize("change", [{"pid": 2**22}, {"started": "b:1"}])
def test_the_dead_hold_nothing(post: Post, box: Mailbox, change: dict[str, Any]) -> None:
    fill(post, 2)
    # No such process; or one of this number that began at another time.
    dead = replace(new_reader(FixedClock()), **change)
    assert box.take(dead) == letter(1)
    assert box.unread() == 2
    assert drained(box) == ["worker-1", "worker-2"]
    assert not box.acknowledge(letter(1), dead)


def test_a_letter_is_not_put_in_twice(post: Post, box: Mailbox) -> None:
    reader = new_reader(FixedClock())
    fill(post, 1)
    fill(post, 1)
    assert box.unread() == 1
    held = box.take(reader)
    fill(post, 1)
    assert held is not None
    assert box.unread() == 0
    # The same id from another sender is another letter.
    other = replace(letter(1), sender="other")
    assert post.send(other) == Sent(other)
    assert box.unread() == 1


def test_a_full_box_refuses_until_something_is_taken(
    tmp_path: Path, post: Post, box: Mailbox
) -> None:
    fill(post, 1)
    copies = (
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        "INSERT INTO letters (team, recipient, sender, id, body) "
        "SELECT team, recipient, sender, 'worker-' || i, body FROM letters, n"
    )
    rows(tmp_path, copies, MOST_UNREAD)
    assert box.unread() == MOST_UNREAD
    assert "full (1,000 unread letters)" in reason(post.send(letter(5_000)))
    # What is there already is not refused.
    assert isinstance(post.send(letter(7)), Sent)
    assert box.take(new_reader(FixedClock())) == letter(1)
    assert isinstance(post.send(letter(5_000)), Sent)


def test_a_letter_that_is_too_large_is_refused(post: Post, box: Mailbox) -> None:
    said = post.send(letter(1, text="x" * LARGEST_LETTER))
    assert "at most 262,144 can be sent" in reason(said)
    assert box.unread() == 0


def test_unknown_and_impossible_recipients(tmp_path: Path, post: Post) -> None:
    assert post.send(letter(1)) == Refused("there is no agent 'lead' here; in this team: none")
    assert list(tmp_path.iterdir()) == []
    post.open("ada")
    post.open("ben")
    post_in(tmp_path, "project/other").open(BOX)
    assert post.members() == ("ada", "ben")
    assert post.send(letter(1)) == Refused("there is no agent 'lead' here; in this team: ada, ben")
    assert isinstance(post.send(replace(letter(1), to="../team/ada")), Refused)
    with pytest.raises(InputError, match="not allowed"):
        post.open("../ada")


def test_teams_do_not_read_each_others_letters(tmp_path: Path, post: Post, box: Mailbox) -> None:
    other = post_in(tmp_path, "project/other")
    theirs = other.open(BOX)
    fill(other, 2)
    fill(post, 1)
    assert drained(box) == ["worker-1"]
    assert drained(theirs) == ["worker-1", "worker-2"]


def test_everything_is_for_the_owner_alone(tmp_path: Path) -> None:
    post = post_in(tmp_path / "home")
    box = post.open(BOX)
    fill(post, 2)
    box.take(new_reader(FixedClock()))
    assert len(list((tmp_path / "home").iterdir())) >= 3
    for path in (tmp_path / "home", *(tmp_path / "home").iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_what_was_acknowledged_is_gone_from_the_disk(
    tmp_path: Path, post: Post, box: Mailbox
) -> None:
    post.send(letter(1, text="unmistakable " * 2_000))
    assert drained(box) == ["worker-1"]
    post.close()
    assert [path.name for path in tmp_path.glob("mail*")] == ["mail.sqlite"]
    assert b"unmistakable" not in (tmp_path / "mail.sqlite").read_bytes()


class TestFilesOfEarlierVersions:
    def write(self, team: Path, name: str, data: bytes, part: str = "unread") -> Path:
        path = team / BOX / "inbox" / part / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o600)
        return path

    def test_letters_that_wait_in_them_are_taken_over_once(
        self, tmp_path: Path, post: Post
    ) -> None:
        team = tmp_path / "teams" / "session"
        for number in (2, 3):
            self.write(team, f"{number:012d}.worker.worker-{number}.json", render(letter(number)))
        held = "000000000001.worker.worker-1.json"
        self.write(team, held, render(letter(1)), "claimed/0123456789abcdef")
        self.write(team, "reader", b"1\n", "claimed/0123456789abcdef")
        assert post.adopt(team) == 3
        assert not team.exists()
        assert post.members() == (BOX,)
        assert drained(post.open(BOX)) == ["worker-1", "worker-2", "worker-3"]

    def test_what_is_no_letter_stays_where_it_is(self, tmp_path: Path, post: Post) -> None:
        team = tmp_path / "teams" / "session"
        torn = self.write(team, "000000000001.worker.worker-1.json", b"{")
        good = self.write(team, "000000000002.worker.worker-2.json", render(letter(2)))
        assert post.adopt(team) == 1
        assert torn.exists()
        assert not good.exists()
        assert drained(post.open(BOX)) == ["worker-2"]
        assert post.adopt(team) == 0
