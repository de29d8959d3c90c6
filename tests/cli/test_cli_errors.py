"""Bad input: one message on stderr that says what, where and how; exit code 1; nothing lost."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import data, done, failed, run
from tests.conversation import claude_lines as claude
from tests.conversation.build import RECORDS, talk, write_lines
from tests.place import Place

from reverie.conversation.journal import load

READERS = ["show", "context", "cache"]
each_reader = pytest.mark.parametrize("name", READERS)


@each_reader
@pytest.mark.parametrize("session", ["nope", "x" * 5000, ".", "/", "\0"])
def test_a_session_that_is_not_there(place: Place, name: str, session: str) -> None:
    message = failed(name, session)
    assert re.search(r"no session '.*' here; `reverie sessions` lists them", message)


@each_reader
def test_an_ambiguous_session(place: Place, name: str) -> None:
    place.journal("abc-1", *RECORDS)
    place.journal("abc-2", *RECORDS)
    assert "'abc' fits 2 sessions: abc-2, abc-1; give more of the id" in failed(name, "abc")


def test_no_session_yet(place: Place) -> None:
    assert "no sessions yet in this project; give the path" in failed("context")


WHAT_IF = {
    "missing": (None, "there is no transcript at"),
    "a folder": ("folder", "there is no transcript at"),
    "empty": (b"", "holds no conversation"),
    "binary": (bytes(range(256)) * 50, "holds no conversation"),
    "html": (b"<html>\n</html>\n", "holds no conversation (t.jsonl, line 1: not JSON; skipped)"),
    "nested": (b"[" * 100_000, "holds no conversation"),
    "no figures": ([claude.prompt("hi")], "holds no model call with usage figures"),
    "unknown model": (
        [claude.prompt(), claude.reply(claude.text("x"), model="claude-opus-9")],
        "no model 'claude-opus-9' in the catalog; did you mean claude-opus-5",
    ),
}


@pytest.mark.parametrize("name", WHAT_IF)
def test_transcripts_that_cannot_be_replayed(place: Place, name: str) -> None:
    content, expected = WHAT_IF[name]
    path = place.base / "t.jsonl"
    if content == "folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        write_lines(path, content)
    message = failed("cache", "--what-if", path)
    assert expected in message
    assert message.count("\n") == 1


def test_a_packed_transcript_that_is_damaged(place: Place) -> None:
    path = place.base / "t.jsonl.gz"
    path.write_bytes(b"not gzip")
    assert "cannot read the transcript" in failed("cache", "--what-if", path)


def test_a_torn_transcript_is_read_as_far_as_it_goes(place: Place) -> None:
    path = place.journal("s1", *talk(2, prompt=2_000))
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    result = run("show", "s1", "--json")
    assert result.exit_code == 0
    assert result.stderr == "note: s1.jsonl, line 8: torn by a crash; skipped\n"
    assert len(data("show", "s1")) == 4
    assert data("sessions")[0]["notes"] == ["s1.jsonl, line 8: torn by a crash; skipped"]
    assert [row["calls"] for row in data("cache")] == [1]
    assert data("context")["session"] == "s1"
    assert path.read_bytes() == whole[:-20]


HOSTILE: list[Any] = [b"\x00\xff", {"type": []}, {"type": "message"}, {"type": "message", "blocks": [{"type": "text", "text": 5}]}, [], b"{" * 5000]  # fmt: skip


def test_a_hostile_transcript_costs_its_bad_lines(place: Place) -> None:
    path = place.journal("s1", *talk(2, prompt=2_000))
    good = path.read_bytes()
    write_lines(path, [line for bad in HOSTILE for line in (bad, *good.splitlines()[2:4])])
    for name in READERS:
        assert run(name, "s1").exit_code == 0
    notes = load(path).notes
    assert [int(re.search(r"line (\d+)", note)[1]) for note in notes] == [1, 7, 10, 13, 16]  # type: ignore[index]
    assert run("doctor").exit_code == 0
    assert run("sessions").exit_code == 0


def test_one_bad_session_does_not_hide_the_others(place: Place) -> None:
    place.journal("good", *talk(2, prompt=2_000))
    empty = place.journal("empty", *RECORDS[:1])
    result = run("cache", "--json")
    assert result.exit_code == 0
    assert '"session": "good"' in result.stdout
    assert f"note: {empty} holds no conversation" in result.stderr


STRANGE = "\ud800 \x1b[31mred\x1b[0m \x07 \x1b]52;c;aGk=\x07 [/b] [bold]x[/] :smile:"


def test_what_a_transcript_says_cannot_steer_the_terminal(place: Place) -> None:
    line = claude.prompt(STRANGE)
    path = write_lines(place.base / "c.jsonl", [line, claude.other("\x1b[2Jkind")])
    result = run("show", path)
    assert result.exit_code == 0
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", result.output)
    assert r"\x1b[31mred\x1b[0m \x07" in result.stdout
    assert "[/b] [bold]x[/] :smile:" in result.stdout
    place.journal("s1", *talk(1))
    assert "\x1b" not in done("sessions")


SETTINGS: list[tuple[str, str, str]] = [
    ("user", "spend.dya = 1", r"settings\.toml:1: .*spend\.dya.*spend\.day"),
    ("user", "spend.day = 'much'", r"settings\.toml:1: spend\.day"),
    ("user", "not toml", r"settings\.toml:1: this is not TOML"),
    ("project", "memory_directory = '/etc'", r"settings\.toml:1: .*memory_directory"),
    ("project", "log.file = '/tmp/x'", r"settings\.toml:1: .*log\.file"),
    (
        "project",
        "[providers.anthropic]\nbase_url = 'https://evil.invalid'",
        r"settings\.toml:2: .*providers\.anthropic\.base_url",
    ),
    ("project", "permissions.mode = 'bypass'", r"settings\.toml:1: .*permissions\.mode"),
    ("local", "features.recal = false", r"settings\.toml:1: .*features\.recall"),
]


@pytest.mark.parametrize(("source", "text", "expected"), SETTINGS)
def test_settings_files(place: Place, source: str, text: str, expected: str) -> None:
    path = place.settings(text, source)
    message = failed("settings")
    assert re.search(expected, message), message
    assert str(path) in message


def test_a_project_is_told_where_a_setting_belongs(place: Place) -> None:
    own = place.app().project.folder / "settings.toml"
    place.settings("providers.openai.base_url = 'https://evil.invalid'", "project")
    assert str(own) in failed("doctor")


@pytest.mark.parametrize("command", ["settings", "spend", "cache", "context", "sessions", "doctor"])
def test_every_command_stops_at_a_wrong_setting(place: Place, command: str) -> None:
    assert "spend.day" in failed(command, "--set", "spend.dya=1")


def test_wrong_variables(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_SPEND_DYA", "1")
    assert "REVERIE_SPEND_DYA" in failed("settings")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("spend.day", "write --set key=value"),
        ("nope=1", "nope"),
        ("spend.day=x", "spend.day"),
        ("=", "--set"),
    ],
)
def test_wrong_options(place: Place, option: str, expected: str) -> None:
    assert expected in failed("settings", "--set", option)


def test_an_unknown_setting(place: Place) -> None:
    assert "models.main" in failed("settings", "models.mian")


@pytest.mark.parametrize(
    ("model", "expected"),
    [("claude-opus5", "did you mean claude-opus-5"), ("antropic:claude-opus9", "did you mean")],
)
def test_a_model_without_a_provider(place: Place, model: str, expected: str) -> None:
    path = write_lines(place.base / "c.jsonl", [claude.prompt(), claude.reply(claude.text("x"))])
    assert expected in failed("cache", "--what-if", path, "--model", model)


def test_a_project_that_is_no_folder(place: Place) -> None:
    assert "is not a folder" in failed("sessions", "--project", place.base / "nope")


def test_a_log_file_that_cannot_be_written(place: Place) -> None:
    (place.base / "file").write_text("in the way")
    message = failed("settings", "--set", f"log.file={place.base / 'file' / 'log'}")
    assert "log.file: cannot write" in message


def test_a_ledger_that_cannot_be_read(place: Place) -> None:
    Path(place.app().project.folder / "ledger.jsonl").mkdir(parents=True)
    assert "cannot read the ledger" in failed("spend")


@pytest.mark.parametrize("command", [["list"], ["remember", "Tea is at four"], ["ui"]])
def test_a_file_as_home_is_one_line(place: Place, command: list[str]) -> None:
    file = place.base / "file"
    file.write_text("")
    message = failed("--home", file, *command)
    assert message == (
        f"reverie: the home {file} is a file, not a folder; "
        "choose another one with --home or REVERIE_HOME\n"
    )
