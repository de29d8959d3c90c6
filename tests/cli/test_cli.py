"""What every command promises: help, shared options, exit codes."""

import json
from importlib import import_module

import click
import pytest
from tests.cli.run import data, done, run
from tests.conversation.build import talk
from tests.place import Place

from reverie import __version__
from reverie.cli import main
from reverie.cli.group import COMMANDS, GROUPS, cli

SHARED = ["--project", "--home", "--memory-dir", "--set", "--json", "--quiet", "--verbose"]
each_command = pytest.mark.parametrize("name", COMMANDS)

# Commands that only look, and what they look at.
LOOKING = {
    "context": [],
    "cache": [],
    "spend": [],
    "sessions": [],
    "show": ["s1"],
    "settings": [],
    "doctor": [],
}
each_looking = pytest.mark.parametrize("name", LOOKING)


def command(name: str) -> click.Command:
    module, _, function = COMMANDS[name].module.partition(":")
    found: click.Command = getattr(import_module(f"reverie.cli.{module}"), function or "command")
    return found


def arguments(name: str) -> list[str]:
    return [name, *LOOKING[name]]


@pytest.fixture
def talked(place: Place) -> Place:
    place.journal("s1", *talk(3, prompt=2_000))
    return place


@each_command
def test_every_command_has_help(name: str) -> None:
    text = done(name, "--help")
    assert text == done(name, "-h")
    assert text.startswith(f"Usage: reverie {name} ")
    for option in SHARED:
        assert option in text


@each_command
def test_the_line_in_the_list_is_the_commands_own(name: str) -> None:
    help_ = command(name).help
    assert help_ is not None
    assert help_.splitlines()[0] == COMMANDS[name].line
    assert command(name).name == name


def test_the_list_has_every_command_in_its_group() -> None:
    text = done("--help")
    assert {entry.group for entry in COMMANDS.values()} == set(GROUPS)
    for name, entry in COMMANDS.items():
        assert f"  {name} " in text
        assert entry.line.split()[0] in text
    context = click.Context(cli)
    assert cli.list_commands(context) == list(COMMANDS)
    assert cli.get_command(context, "nope") is None


@each_looking
def test_json_for_programs(talked: Place, name: str) -> None:
    assert data(*arguments(name)) not in (None, "")


@each_looking
def test_words_for_people(talked: Place, name: str) -> None:
    text = done(*arguments(name))
    assert text.strip()
    assert "\x1b" not in text


@each_looking
def test_quiet_prints_the_result_and_no_notes(talked: Place, name: str) -> None:
    result = run(*arguments(name), "-q")
    assert (result.exit_code, result.stdout) == (0, run(*arguments(name)).stdout)
    assert result.stderr == ""


@each_looking
def test_verbose_says_more_beside_the_result(talked: Place, name: str) -> None:
    result = run(*arguments(name), "-vv")
    assert result.stdout == done(*arguments(name))
    assert f"home {talked.home}" in result.stderr


@each_looking
def test_shared_options_stand_before_or_after(talked: Place, name: str) -> None:
    other = talked.base / "elsewhere"
    options = ["--project", talked.root, "--home", talked.home, "--memory-dir", other, "--json"]
    before = done(*options, *arguments(name))
    after = done(*arguments(name), *options)
    assert before == after
    json.loads(before)


def test_the_inner_option_wins(talked: Place) -> None:
    inner = ["--set", "models.main=inner"]
    [item] = data("--set", "models.main=outer", "settings", "models.main", *inner)
    assert item["value"] == "inner"
    [item] = data("--home", talked.base / "a", "settings", "home", "--home", talked.base / "b")
    assert item["value"] == str(talked.base / "b")


def test_a_memory_directory_is_taken_as_seen_from_here(talked: Place) -> None:
    [item] = data("settings", "memory_directory", "--memory-dir", "notes")
    assert item["value"] == str(talked.root / "notes")
    assert item["origin"].startswith("command line")


def test_another_project(place: Place) -> None:
    other = place.base / "other"
    other.mkdir()
    place.journal("s1", *talk(1))
    assert len(data("sessions")) == 1
    assert data("sessions", "--project", other) == []


def test_the_version() -> None:
    assert done("--version") == f"reverie {__version__}\n"


USAGE = [
    (["spnd"], "No such command 'spnd'. Did you mean 'spend'?"),
    (["zzz"], "No such command 'zzz'."),
    (["spend", "--nope"], "No such option"),
    (["spend", "--by", "mood"], "Invalid value for '--by'"),
    (["sessions", "-n", "0"], "Invalid value for '-n'"),
    (["show"], "Missing argument"),
    (["show"], "Missing argument"),
    (["--nope"], "No such option"),
]


@pytest.mark.parametrize(("typed", "expected"), USAGE, ids=lambda value: str(value)[:20])
def test_wrong_usage_is_2(place: Place, typed: list[str], expected: str) -> None:
    result = run(*typed)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert expected in result.stderr


def test_no_command_shows_help() -> None:
    result = run()
    assert result.exit_code == 2
    assert "Usage: reverie" in result.output


@pytest.mark.parametrize(
    ("typed", "code"), [(["--version"], 0), (["nope"], 2), (["show", "nope"], 1), (["settings"], 0)]
)
def test_main_exits_with_the_code(
    place: Place,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    typed: list[str],
    code: int,
) -> None:
    monkeypatch.setattr("sys.argv", ["reverie", *typed])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert (stopped.value.code or 0) == code
    assert bool(capsys.readouterr().err) == (code != 0)
