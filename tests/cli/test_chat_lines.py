"""Typed lines: parsing, completion, and cutting streamed text into blocks."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from reverie.cli.talk.actions import ACTIONS
from reverie.cli.talk.chat_session import pictures_in
from reverie.cli.talk.output import Paragraphs
from reverie.cli.talk.slash import (
    COMMANDS,
    NAMES,
    Called,
    ChatCompleter,
    Mistyped,
    Pastes,
    Prompt,
    Shell,
    read_line,
    states_fact,
)

LINES = [
    ("", None),
    (" \n ", None),
    ("hello", Prompt("hello")),
    ("  hello\nthere ", Prompt("hello\nthere")),
    ("/help", Called(NAMES["help"])),
    ("/HELP", Called(NAMES["help"])),
    ("/?", Called(NAMES["help"])),
    ("/quit", Called(NAMES["exit"])),
    ("/compact", Called(NAMES["compact"])),
    ("/compact  the port, please ", Called(NAMES["compact"], "the port, please")),
    ("/remember one\ntwo", Called(NAMES["remember"], "one\ntwo")),
    ("/remember", Mistyped("/remember needs more: /remember TEXT")),
    ("/compct", Mistyped("there is no /compct; did you mean /compact?")),
    ("/zzz", Mistyped("there is no /zzz; /help lists them")),
    ("/etc/hosts is wrong", Prompt("/etc/hosts is wrong")),
    ("/ is the root", Prompt("/ is the root")),
    ("//", Prompt("//")),
    ("remember that I like tea", Prompt("remember that I like tea")),
    ("exit", Called(NAMES["exit"])),
    ("Quit", Called(NAMES["exit"])),
    ("exit code 3?", Prompt("exit code 3?")),
    ("!ls -l", Shell("ls -l")),
    ("!", Prompt("!")),
    ("# I like tea", Called(NAMES["remember"], "I like tea")),
    ("#tea", Called(NAMES["remember"], "tea")),
    ("## Title", Prompt("## Title")),
    ("# Title\n\ntext", Prompt("# Title\n\ntext")),
]


@pytest.mark.parametrize(("typed", "meant"), LINES, ids=lambda value: repr(value)[:30])
def test_what_a_line_means(typed: str, meant: object) -> None:
    assert read_line(typed) == meant


PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


@pytest.mark.parametrize(
    "typed",
    [
        "what is in shot.png?",
        "look at @shot.png, please",
        "'my shot.png' is wrong",
        "my\\ shot.png",
        "file://{}/my%20shot.png",
        "{}/shot.png and shot.png",
    ],
)
def test_a_picture_comes_by_its_path(tmp_path: Path, typed: str) -> None:
    for name in ("shot.png", "my shot.png"):
        (tmp_path / name).write_bytes(PIXEL)
    (found,) = pictures_in(typed.replace("{}", str(tmp_path)), tmp_path)
    assert getattr(found, "media_type", None) == "image/png"


@pytest.mark.parametrize("typed", ["shot.png", "~nouser/shot.png", "text.png is text", "none"])
def test_what_is_no_picture_stays_text(tmp_path: Path, typed: str) -> None:
    (tmp_path / "text.png").write_text("not a picture")
    assert pictures_in(typed, tmp_path) == []


def test_a_long_paste_is_one_mark_until_it_is_sent() -> None:
    pastes = Pastes()
    assert pastes.folded("one\r\ntwo") == "one\ntwo"
    long = "\n".join(f"row {n}" for n in range(40))
    mark = pastes.folded(long)
    assert mark == "[pasted text 1: 40 lines]"
    wide = pastes.folded("x" * 2_000)
    assert wide == "[pasted text 2: 2,000 characters]"
    assert pastes.unfolded(f"see {mark} and {wide}") == f"see {long} and {'x' * 2_000}"


OFFLINE = [
    ("remember that I like tea", "I like tea"),
    ("Please remember: I like tea", "I like tea"),
    ("remember this, I like tea", "I like tea"),
    ("Remember I like tea", "I like tea"),
    ("remember thatched roofs burn", "thatched roofs burn"),
    ("remember when we met?", None),
    ("I remember that", None),
    ("remember", None),
]


@pytest.mark.parametrize(("typed", "saved"), OFFLINE)
def test_remembering_in_plain_words_where_no_model_would(typed: str, saved: str | None) -> None:
    meant = Prompt(typed) if saved is None else Called(NAMES["remember"], saved)
    assert read_line(typed, offline=True) == meant


@pytest.mark.parametrize(
    ("typed", "states"),
    [
        ("Our staging server listens on port 8443", True),
        ("we deploy on Fridays", True),
        ("the key is with Mira", True),
        ("which port does staging use", False),
        ("who owns billing?", False),
        ("tell me about ports", False),
        ("hello there", False),
        ("Ada owns billing.\nAnd more", False),
    ],
)
def test_a_line_that_states_a_fact(typed: str, states: bool) -> None:
    assert states_fact(typed) is states


def test_every_command_does_something_and_says_what() -> None:
    assert set(ACTIONS) == {command.name for command in COMMANDS}
    assert all(command.about.endswith(".") for command in COMMANDS)


def test_the_manual_has_every_command_and_every_option() -> None:
    manual = (Path(__file__).parents[2] / "docs" / "chat.md").read_text("utf-8")
    listed = re.findall(r"^\| `(/.*?)` \|", manual, re.MULTILINE)
    assert listed == [command.usage for command in COMMANDS]
    from reverie.cli.talk import command

    own = [p for p in command.params if p.name in ("resume", "newest", "model", "once", "show")]
    assert len(own) == 5
    for option in own:
        assert all(name in manual for name in option.opts)


def completions(root: Path, typed: str) -> list[str]:
    found = ChatCompleter(root).get_completions(Document(typed), CompleteEvent())
    return [f"{typed[: len(typed) + one.start_position]}{one.text}" for one in found]


def test_completion(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "app.py").touch()
    for name in ("Setup.cfg", ".hidden", "straße.md"):
        (tmp_path / name).touch()
    assert completions(tmp_path, "/re") == ["/remember", "/recall", "/redo", "/resume"]
    assert completions(tmp_path, "/re x") == []
    assert completions(tmp_path, "say /re") == []
    assert completions(tmp_path, "/RE") == []
    assert completions(tmp_path, "see @s") == ["see @Setup.cfg", "see @src/", "see @straße.md"]
    assert completions(tmp_path, "see @src/") == ["see @src/app.py"]
    assert completions(tmp_path, "@.h") == ["@.hidden"]
    assert completions(tmp_path, "mail@s") == []
    assert completions(tmp_path, "@nowhere/x") == []
    assert completions(tmp_path, "@~nobody-at-all/x") == []
    assert completions(tmp_path, "@\0/") == []


def cut(text: str, size: int) -> list[str]:
    paragraphs = Paragraphs()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    return [block for piece in pieces for block in paragraphs.add(piece)] + paragraphs.end()


BLOCKS = [
    ("one\n\ntwo", ["one", "two"]),
    ("one\ntwo\n\n\n\nthree\n", ["one\ntwo", "three"]),
    ("```\na\n\nb\n```\n\nend", ["```\na\n\nb\n```", "end"]),
    ("~~~~py\n```\n\n~~~~\n\nend", ["~~~~py\n```\n\n~~~~", "end"]),
    ("```\nnever closed\n\nreally", ["```\nnever closed\n\nreally"]),
    ("1. a\n\n   more of a\n\n2. b", ["1. a\n\n   more of a", "2. b"]),
    ("- a\n\n  ```\n  x\n\n  y\n  ```\n- b", ["- a\n\n  ```\n  x\n\n  y\n  ```\n- b"]),
    ("```inline``` code\n\nend", ["```inline``` code", "end"]),
    ("", []),
    ("\n\n \n", []),
]


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(("text", "blocks"), BLOCKS, ids=lambda value: repr(value)[:24])
def test_a_stream_is_cut_between_blocks(text: str, blocks: list[str], size: int) -> None:
    assert cut(text, size) == blocks


MARKDOWN = st.text(alphabet="ab `~\n-1.", max_size=60)


@given(MARKDOWN, st.integers(1, 7))
def test_however_it_arrives_the_blocks_are_the_same_and_nothing_is_lost(
    text: str, size: int
) -> None:
    blocks = cut(text, size)
    assert blocks == cut(text, len(text) or 1)
    assert "".join("".join(blocks).split()) == "".join(text.split())


def test_what_has_come_of_a_block_can_be_seen() -> None:
    paragraphs = Paragraphs()
    assert paragraphs.add("one\n\ntw") == ["one"]
    assert paragraphs.draft == "tw"
    assert paragraphs.add("o") == []
    assert paragraphs.draft == "two"
    assert paragraphs.end() == ["two"]
    assert paragraphs.draft == ""
