"""Mailboxes: order, reading once, several readers, limits."""

from __future__ import annotations

import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.place import NOON, FixedClock
from tests.subagents.mailing import BOX, drained, fill, folder, letter, opened

from reverie.errors import InputError, StorageError
from reverie.subagents.letters import LARGEST_LETTER
from reverie.subagents.mailbox import MOST_UNREAD, Mailbox, Post, Refused, Sent, new_reader


def test_a_letter_arrives_as_it_was_sent(tmp_path: Path) -> None:
    post = Post(tmp_path, FixedClock())
    box = post.open(BOX)
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


def test_order_is_that_of_sending_whatever_the_clocks_say(tmp_path: Path) -> None:
    box = opened(tmp_path)
    for number, off in enumerate((0, 500, -500, 1e9, -1e9), start=1):
        box.send(letter(number, at=NOON + off))
    assert drained(box) == [f"worker-{number}" for number in range(1, 6)]


def test_order_holds_over_more_letters_than_one_digit_counts(tmp_path: Path) -> None:
    box = opened(tmp_path)
    fill(box, 120)
    assert drained(box) == [f"worker-{number}" for number in range(1, 121)]


def test_unread_and_unacknowledged_letters_survive_a_restart(tmp_path: Path) -> None:
    box = opened(tmp_path)
    fill(box, 3)
    reader = new_reader(FixedClock())
    box.take(reader)
    again = opened(tmp_path)
    assert again.unread() == 2
    assert again.release(reader) == 1
    assert drained(again) == ["worker-1", "worker-2", "worker-3"]


def test_each_letter_goes_to_one_of_several_readers(tmp_path: Path) -> None:
    box = opened(tmp_path)
    fill(box, 2, "ada")
    fill(box, 2, "ben")
    one, two = new_reader(FixedClock()), new_reader(FixedClock())
    first, second = box.take(one), box.take(two)
    assert first == letter(1, "ada")
    # Ada's second waits for her first, which somebody else holds.
    assert second == letter(1, "ben")
    assert box.take(two) == letter(2, "ben")
    assert box.take(two) is None
    assert box.take(one) == letter(2, "ada")
    assert not box.acknowledge(first, two)
    assert box.acknowledge(first, one)


def test_a_senders_next_letter_is_free_once_the_last_is_acknowledged(tmp_path: Path) -> None:
    box = opened(tmp_path)
    fill(box, 2)
    one, two = new_reader(FixedClock()), new_reader(FixedClock())
    held = box.take(one)
    assert held is not None
    assert box.take(two) is None
    box.acknowledge(held, one)
    assert box.take(two) == letter(2)


def test_what_a_reader_gives_back_comes_first_again(tmp_path: Path) -> None:
    box = opened(tmp_path)
    fill(box, 3)
    reader = new_reader(FixedClock())
    box.take(reader)
    box.take(reader)
    assert box.release(reader) == 2
    assert box.release(reader) == 0
    box.send(letter(4))
    assert drained(box) == ["worker-1", "worker-2", "worker-3", "worker-4"]


def test_what_is_sent_while_all_is_held_comes_after_it(tmp_path: Path) -> None:
    box = opened(tmp_path)
    fill(box, 2)
    reader = new_reader(FixedClock())
    box.take(reader)
    box.take(reader)
    box.send(letter(3))
    box.release(reader)
    assert drained(box) == ["worker-1", "worker-2", "worker-3"]


def test_a_reader_takes_its_time_but_one_on_another_host_an_hour(tmp_path: Path) -> None:
    clock = FixedClock()
    box = Post(tmp_path, clock).open(BOX)
    fill(box, 2)
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
def test_the_dead_hold_nothing(tmp_path: Path, change: dict[str, Any]) -> None:
    box = opened(tmp_path)
    fill(box, 2)
    # No such process; or one of this number that began at another time.
    dead = replace(new_reader(FixedClock()), **change)
    assert box.take(dead) == letter(1)
    assert box.unread() == 2
    assert drained(box) == ["worker-1", "worker-2"]


def test_a_letter_is_not_put_in_twice(tmp_path: Path) -> None:
    box = opened(tmp_path)
    reader = new_reader(FixedClock())
    fill(box, 1)
    fill(box, 1)
    assert box.unread() == 1
    held = box.take(reader)
    fill(box, 1)
    assert held is not None
    assert box.unread() == 0
    # The same id from somebody else is another letter.
    other = replace(letter(1), sender="other")
    assert box.send(other) == Sent(other)
    assert box.unread() == 1


def test_a_full_box_refuses_until_something_is_taken(tmp_path: Path) -> None:
    box = opened(tmp_path)
    for number in range(1, MOST_UNREAD + 1):
        path = folder(tmp_path, "unread") / f"{number:012d}.worker.worker-{number}.json"
        path.touch(0o600)
    said = box.send(letter(5_000))
    assert isinstance(said, Refused)
    assert "full (1,000 unread letters)" in said.reason
    assert list(folder(tmp_path, "drafts").iterdir()) == []
    (folder(tmp_path, "unread") / "000000000001.worker.worker-1.json").unlink()
    assert isinstance(box.send(letter(5_000)), Sent)


def test_a_letter_that_is_too_large_is_refused(tmp_path: Path) -> None:
    box = opened(tmp_path)
    said = box.send(letter(1, text="x" * LARGEST_LETTER))
    assert isinstance(said, Refused)
    assert "at most 262,144 can be sent" in said.reason


def test_unknown_and_impossible_recipients(tmp_path: Path) -> None:
    post = Post(tmp_path / "team", FixedClock())
    assert post.send(letter(1)) == Refused("nobody here is called 'lead'; in this team: nobody")
    post.open("ada")
    post.open("ben")
    (tmp_path / "team" / "notes").mkdir()
    (tmp_path / "team" / "link").symlink_to("ada")
    assert post.members() == ("ada", "ben")
    assert post.send(letter(1)) == Refused("nobody here is called 'lead'; in this team: ada, ben")
    assert isinstance(post.send(replace(letter(1), to="link")), Refused)
    assert isinstance(post.send(replace(letter(1), to="../team/ada")), Refused)
    with pytest.raises(InputError, match="not allowed"):
        post.open("../ada")
    said = Mailbox(tmp_path / "team" / "ada", FixedClock()).send(letter(1))
    assert said == Refused("this is the mailbox of 'ada', not of 'lead'")
    gone = Mailbox(tmp_path / "team" / BOX, FixedClock())
    assert gone.send(letter(1)) == Refused("'lead' has no mailbox any more")
    with pytest.raises(StorageError, match="make it first"):
        gone.unread()


def test_everything_is_for_the_owner_alone(tmp_path: Path) -> None:
    box = opened(tmp_path / "team")
    fill(box, 2)
    box.take(new_reader(FixedClock()))
    for path in (tmp_path / "team").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


def test_numbers_run_out_only_until_the_box_is_read(tmp_path: Path) -> None:
    box = opened(tmp_path)
    fill(box, 1)
    first = folder(tmp_path, "unread") / "000000000001.worker.worker-1.json"
    first.rename(first.with_name("999999999999.worker.worker-1.json"))
    said = box.send(letter(2))
    assert isinstance(said, Refused)
    assert "no number left" in said.reason
    assert drained(box) == ["worker-1"]
    fill(box, 2)
    assert drained(box) == ["worker-1", "worker-2"]
