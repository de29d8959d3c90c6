"""Which of the shown memories a reply made use of."""

import pytest

from reverie.recall.usage import used

MEMORIES = {
    "freeze.md": "No deploys after 2026-12-20 because of the audit. Ask `release_captain` first.",
    "tests.md": "Integration tests hit a real database, never a mock. See src/db/pool.py.",
    "who.md": "Ada prefers short answers and dislikes emojis.",
}


@pytest.mark.parametrize(
    ("reply", "files"),
    [
        ("As freeze.md says, wait.", ["freeze.md"]),
        ("See [the note](who.md).", ["who.md"]),
        ("unfreeze.md is another file, and who.md.bak-2 too", []),
        ("You can ship until 2026-12-20.", ["freeze.md"]),
        ("Talk to RELEASE_CAPTAIN about it.", ["freeze.md"]),
        ("The pool is made in src/db/pool.py.", ["tests.md"]),
        ("Our integration tests hit a real database here.", ["tests.md"]),
        ("Ada prefers short answers, so: yes. Not after 2026-12-20.", ["freeze.md", "who.md"]),
        ("The tests never hit it because of the database.", []),
        ("It is done in 2026, and/or later.", []),
        ("", []),
    ],
)
def test_a_reply_tells_what_it_used(reply: str, files: list[str]):
    assert list(used(reply, MEMORIES)) == files


def test_repeating_what_was_said_before_proves_nothing():
    said = "May I deploy on 2026-12-20? Integration tests hit a real database already."
    reply = "On 2026-12-20 your integration tests hit a real database."
    assert used(reply, MEMORIES, said) == ()
    assert used(reply + " Ask release_captain.", MEMORIES, said) == ("freeze.md",)


@pytest.mark.parametrize(
    ("text", "reply", "is_used"),
    [
        ("部署在周五之后冻结", "记住:部署在周五之后冻结。", True),
        ("部署在周五之后冻结", "今天可以部署。", False),
        ("Die Bauarbeiten beginnen im März mit dem Keller", "Bauarbeiten beginnen im März", True),
        ("Die Bauarbeiten beginnen im März", "Die Arbeit ist im Keller und in der Küche", False),
    ],
)
def test_in_other_languages(text: str, reply: str, is_used: bool):
    assert bool(used(reply, {"a.md": text})) is is_used


def test_a_year_and_a_small_word_are_nothing_special():
    assert used("In 2026 it was so.", {"a.md": "Written in 2026, it was so in the past."}) == ()


def test_very_long_texts_are_read_in_little_time():
    text = "word " * 200_000
    assert used(text, {"a.md": text + " snake_case"}, "nothing") == ()
