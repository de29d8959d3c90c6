"""Every source: its values, their origin, and its error messages."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from reverie.errors import SettingsError
from reverie.settings.schema import OTHER_VARIABLES, SETTINGS, Setting
from reverie.settings.sources import (
    DEFAULT,
    Answer,
    Found,
    Layer,
    Origin,
    SettingsFile,
    Wanted,
    answers,
    digest_of,
    environment,
    named_keys,
    person_home,
    read_file,
    read_options,
    rendered,
    said_about,
    stamp_of,
)

if TYPE_CHECKING:
    from tests.settings.world import World


SAMPLES: dict[str, tuple[str, str, Any]] = {
    # kind: TOML, text, value
    "bool": ("false", "off", False),
    "int": ("9_000", "9000", 9_000),
    "float": ("0.5", "0.5", 0.5),
    "str": ('"some words"', "some words", "some words"),
    "path": ('"/srv/x"', "/srv/x", Path("/srv/x")),
    "money": ("2.5", "2.5", 2.5),
    "url": ('"http://x:1/v1"', "http://x:1/v1", "http://x:1/v1"),
    "variable": ('"MY_KEY"', "MY_KEY", "MY_KEY"),
    "threshold": ('"never"', "never", "never"),
}
IDS = [row.key for row in SETTINGS]
in_files = [row for row in SETTINGS if row.files]


def sample(row: Setting) -> tuple[str, str, object]:
    last = row.choices[-1] if row.choices else ""
    if row.kind == "int" and row.high is not None and row.high < SAMPLES["int"][2]:
        return f"{row.high:.0f}", f"{row.high:.0f}", int(row.high)
    return SAMPLES.get(row.kind, (f'"{last}"', last, last))


def complaint(world: World, *overrides: str, **environ: str) -> str:
    with pytest.raises(SettingsError) as caught:
        world.load(*overrides, **environ)
    return str(caught.value)


@pytest.mark.parametrize("row", SETTINGS, ids=IDS)
def test_every_setting_has_a_variable(world: World, row: Setting):
    key, variable = row.key.replace("*", "x"), row.variable.replace("*", "X")
    _, text, value = sample(row)
    settings = world.load(**{variable: text})
    assert settings[key] == value
    assert settings.origin(key) == Origin("environment", variable)


@pytest.mark.parametrize("row", SETTINGS, ids=IDS)
def test_every_setting_has_an_option(world: World, row: Setting):
    key = row.key.replace("*", "x")
    _, text, value = sample(row)
    settings = world.load(f"{key}={text}")
    assert settings[key] == value
    assert settings.origin(key) == Origin("command line", f"--set {key}")


@pytest.mark.parametrize("source", ["managed", "user", "local"])
@pytest.mark.parametrize("row", in_files, ids=[row.key for row in in_files])
def test_every_setting_but_home_can_stand_in_a_trusted_file(
    world: World, row: Setting, source: str
):
    key = row.key.replace("*", "x")
    toml, _, value = sample(row)
    path = world.write(source, f"# a comment\n{key} = {toml}\n")
    settings = world.load()
    assert settings[key] == value
    assert settings.origin(key) == (source, str(path), 2)
    assert str(settings.origin(key)) == f"{source} ({path}:2)"


@pytest.mark.parametrize("row", in_files, ids=[row.key for row in in_files])
def test_a_project_file_is_restricted(world: World, row: Setting):
    key = row.key.replace("*", "x")
    toml, _, value = sample(row)
    path = world.write("project", f"{key} = {toml}\n")
    if row.project_may_set:
        settings = world.load()
        applied = settings.origin(key).source == "project"
        assert applied == (value in row.unasked)
        assert [(wanted.key, wanted.found.value) for wanted in settings.wanted] == (
            [] if applied else [(key, value)]
        )
        return
    could = f" (a repository could {row.risk})" if row.risk else ""
    assert complaint(world) == (
        f"{path}:1: {key} may not be set by a file inside a project{could}; "
        f"put it in {world.path('local')}"
    )


@pytest.mark.parametrize("source", ["managed", "user", "project", "old local", "local"])
def test_home_is_set_in_no_file(world: World, source: str):
    world.write(source, 'home = "/srv"')
    assert "home cannot be set in a file" in complaint(world)
    assert "REVERIE_HOME" in complaint(world)


MISTAKES = [
    (
        "[features]\nrecal = true",
        ":2: unknown setting features.recal; did you mean features.recall?",
    ),
    ("extract = true", ":1: unknown setting extract; did you mean features.extract?"),
    ("featurs.recall = true", "did you mean features.recall?"),
    ("features = true", ":1: features is a table, not a value; set what is in it, such as"),
    ("features.recall.x = 1", "did you mean features.recall?"),
    ("[featurs]", ":1: unknown setting featurs; did you mean features?"),
    ("tools.Read.result_treshold = 1", "did you mean tools.Read.result_threshold?"),
    ("qwertz = 1", ":1: unknown setting qwertz"),
    ("q" * 101 + " = 1", ":1: unknown setting " + "q" * 60 + "…"),
    ("providers.x.api_key = 'hunter2'", "keys never go in settings"),
    ("providers.x.api_key_env = 'sk-ant-api03-abcdefgh12345678'", "keys never go in settings"),
    ("models.main = 'sk-ant-api03-abcdefgh12345678'", "models.main holds what looks like a secret"),
    ("features.recall = 'yes'", ':1: features.recall must be true or false, not "yes"'),
    ("window.tokens = 12", "window.tokens must be a whole number from 4,000 to 10,000,000, not 12"),
    (
        "tools.Read.result_threshold = 1\ntools.read.result_threshold = 2",
        ":2: tools.read.result_th",
    ),
    ("features.recall = \n", ":1: this is not TOML: Invalid value"),
    ("a = " + "[" * 100_000, ": this is not TOML: nested too deeply"),
]


@pytest.mark.parametrize(("text", "expected"), MISTAKES, ids=[text[:30] for text, _ in MISTAKES])
def test_mistakes_in_a_file(world: World, text: str, expected: str):
    path = world.write("user", text)
    message = complaint(world)
    assert message.startswith(str(path))
    assert expected in message
    assert "hunter2" not in message
    assert "abcdefgh" not in message


def test_every_mistake_of_every_source_is_told_at_once(world: World):
    world.write("managed", "x y")
    world.write("user", "recal = 1\nwindow.tokens = 'a'")
    world.write("project", "log.file = '/x'")
    world.write("local", "features.dream = 0")
    message = complaint(
        world, "nonsense", "foo=1", REVERIE_FEATURE_RECALL="1", REVERIE_LOG_LEVEL="x"
    )
    places = [line.split(":")[0] for line in message.splitlines()]
    files = [str(world.path(source)) for source in ("managed", "user", "user", "project", "local")]
    assert places == [
        *files,
        "REVERIE_LOG_LEVEL",
        "REVERIE_FEATURE_RECALL",
        "--set nonsense",
        "--set foo",
    ]


def test_a_table_that_is_known_may_be_empty(world: World):
    world.write("user", "[features]\n[providers.x]\n")
    assert world.load()["features.recall"] is True


def test_a_file_from_windows(world: World):
    world.write("user", b"\xef\xbb\xbf# hello\r\n[features]\r\nrecall = false\r\n")
    assert world.load().origin("features.recall").line == 3


def test_a_file_that_is_not_utf8_says_which_line(world: World):
    path = world.write("user", b"# one\n# two \xff\n")
    assert complaint(world) == f"{path}: line 2 is not UTF-8; save the file as UTF-8"


def test_a_file_without_end(world: World):
    world.write("user", "#" * 300_000)
    assert "larger than 262,144 bytes" in complaint(world)


@pytest.mark.parametrize(("size", "read"), [(262_144, True), (262_145, False)])
def test_how_large_a_file_may_be(world: World, size: int, read: bool):
    line = "features.recall = false\n"
    path = world.write("user", line + "#" * (size - len(line)))
    if read:
        assert world.load()["features.recall"] is False
    else:
        assert complaint(world) == (f"{path}: the file is larger than 262,144 bytes; shorten it")


@pytest.mark.parametrize(
    ("origin", "text", "personal"),
    [
        (Origin("default"), "default", False),
        (Origin("user", "/x"), "user (/x)", False),
        (Origin("user", "/x", 3), "user (/x:3)", False),
        (Origin("project", "/x", 0), "project (/x:0)", False),
        (Origin("environment", "REVERIE_X"), "environment (REVERIE_X)", True),
        (Origin("command line", "--set x"), "command line (--set x)", True),
    ],
)
def test_where_a_value_came_from(origin: Origin, text: str, personal: bool):
    assert str(origin) == text
    assert origin.is_personal is personal


@pytest.mark.parametrize(
    ("declined", "why"),
    [(True, "you said no to it"), (False, "you were not asked yet")],
)
def test_a_value_that_waits_says_why(declined: bool, why: str):
    wanted = Wanted("spend.day", Found(9, Origin("project", "/x", 3)), declined)
    assert str(wanted) == (
        f"/x:3 wants spend.day = 9, which is not used: {why} (`reverie trust` shows it)"
    )


@pytest.mark.parametrize(
    ("record", "known"),
    [
        ('{"/a": {"said": "yes", "digest": "d", "text": "t"}}', {"/a": Answer("yes", "d", "t")}),
        ('{"/a": {"said": "no", "digest": "d"}}', {"/a": Answer("no", "d", "")}),
        ('{"/a": {"said": "no", "digest": "d", "text": null}}', {"/a": Answer("no", "d", "")}),
        ('{"/a": {"said": "maybe", "digest": "d"}, "/b": 1, "/c": {}}', {}),
        ('[{"said": "yes"}]', {}),
        ("{", {}),
        ("[" * 100_000, {}),
        (None, {}),
    ],
)
def test_answers_are_read_and_what_is_damaged_is_none(
    tmp_path: Path, record: str | None, known: dict[str, Answer]
):
    path = tmp_path / "record.json"
    if record is not None:
        path.write_text(record)
    assert answers(path) == known
    assert answers(path) == {key: Answer(**one) for key, one in rendered(known).items()}


@pytest.mark.parametrize(
    ("said", "content", "answer"),
    [("yes", b"a", "yes"), ("no", b"a", "no"), ("yes", b"b", None), (None, b"a", None)],
)
def test_an_answer_is_for_one_content(
    tmp_path: Path, said: str | None, content: bytes, answer: str | None
):
    record, file = tmp_path / "record.json", tmp_path / "settings.toml"
    known = {} if said is None else {str(file): Answer(said, digest_of(b"a"), "a")}
    record.write_text(json.dumps(rendered(known)))
    assert said_about(record, file, content) == answer
    assert said_about(record, tmp_path / "other.toml", content) is None


def test_a_stamp_changes_with_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "settings.toml"
    assert stamp_of(path) is None
    assert stamp_of(path / "below") is None
    path.write_text("a")
    assert stamp_of(path / "below") is None
    os.utime(path, ns=(5, 5))
    seen = path.stat()
    assert stamp_of(path) == (5, 1, seen.st_ino)

    def refuse(self: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    assert stamp_of(path) == (-1, -1, 13)


@pytest.mark.parametrize(
    ("environ", "folder"),
    [({"HOME": "/home/ada"}, Path("/home/ada")), ({"HOME": ""}, None), ({}, None)],
)
def test_the_home_of_a_person(environ: dict[str, str], folder: Path | None):
    assert person_home(environ) == (folder or Path.home())


@pytest.mark.parametrize(
    ("environ", "enabled"),
    [
        ({}, True),
        ({"REVERIE_DISABLE_MEMORY": "1"}, False),
        ({"REVERIE_DISABLE_MEMORY": "0"}, True),
        ({"REVERIE_DISABLE_MEMORY": ""}, True),
        ({"REVERIE_REMOTE": "1"}, False),
        ({"REVERIE_REMOTE": "0"}, True),
        ({"REVERIE_REMOTE": "1", "REVERIE_MEMORY_DIR": "/srv/memory"}, True),
        ({"REVERIE_REMOTE": "1", "REVERIE_MEMORY_DIR": ""}, False),
        (
            {"REVERIE_DISABLE_MEMORY": "1", "REVERIE_MEMORY_DIR": "/srv/memory"},
            False,
        ),
        ({"REVERIE_MEMORY_ENABLED": "true", "REVERIE_DISABLE_MEMORY": "1"}, False),
    ],
)
def test_two_variables_turn_memory_off_and_never_on(
    world: World, environ: dict[str, str], enabled: bool
):
    assert world.load(**environ)["memory.enabled"] is enabled


def test_a_switch_that_is_neither_yes_nor_no_is_a_problem(world: World):
    assert complaint(world, REVERIE_DISABLE_MEMORY="perhaps").startswith("REVERIE_DISABLE_MEMORY: ")


def test_only_variables_of_keys_may_have_any_name(world: World):
    layer = Layer(
        {
            "providers.x.api_key_env": Found("REVERIE_X", DEFAULT),
            "providers.x.base_url": Found("REVERIE_Y", DEFAULT),
            "models.api_key_env": Found("REVERIE_Z", DEFAULT),
        }
    )
    assert named_keys(layer) == {"REVERIE_X"}


@pytest.mark.parametrize(
    ("option", "value", "problem"),
    [
        ("features.recall=false", False, None),
        (" features.recall =false", False, None),
        ("features.recall", None, "--set features.recall: write --set key=value"),
        ("featurs.recall=1", None, "--set featurs.recall: unknown setting"),
        ("features.recall=7", None, "--set features.recall: "),
    ],
)
def test_what_an_option_sets(tmp_path: Path, option: str, value: object, problem: str | None):
    layer = read_options([option], tmp_path)
    if problem is None:
        assert layer.values == {
            "features.recall": Found(value, Origin("command line", "--set features.recall"))
        }
        assert layer.problems == ()
    else:
        assert layer.values == {}
        assert [one.startswith(problem) for one in layer.problems] == [True]


def test_a_link_to_a_device_is_not_read(world: World):
    path = world.write("project", "")
    path.unlink()
    path.symlink_to("/dev/zero")
    assert complaint(world) == f"{path}: this is not a regular file; remove it"


def test_a_link_that_goes_round(world: World):
    path = world.write("project", "")
    path.unlink()
    path.symlink_to(path)
    assert complaint(world).startswith(f"{path}: Too many levels of symbolic links")


def test_a_file_that_may_not_be_read(world: World, monkeypatch: pytest.MonkeyPatch):
    path = world.write("user", "")

    def refuse(*args: object) -> None:
        raise PermissionError(13, "Permission denied")

    # Tests may run as root, which ignores file modes.
    monkeypatch.setattr(Path, "open", refuse)
    assert complaint(world) == f"{path}: Permission denied"


def test_a_file_where_a_folder_should_be(world: World):
    (world.root / "person").mkdir()
    world.home.write_text("")
    assert world.load()["features.recall"] is True


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.binary(max_size=80) | st.text(alphabet='fs.[]{}"=\n 1\0é', max_size=80).map(str.encode))
@example(b"a.b = 1\na = 2")
@example(b"'' = 1")
@example(b"tools.'\\n'.result_threshold = 1979-05-27")
@example(b"models.main = 0x" + b"f" * 9_000)
@example(b"\x00")
@example(b"[[features]]\n[[features]]")
def test_hostile_bytes_give_problems_and_nothing_worse(tmp_path: Path, content: bytes):
    path = tmp_path / "settings.toml"
    path.write_bytes(content)
    layer = read_file(SettingsFile("project", path, path), tmp_path)
    assert all(problem.startswith(str(path)) for problem in layer.problems)
    assert not any("\n" in problem for problem in layer.problems)


@pytest.mark.parametrize(
    ("variable", "expected"),
    [
        ("REVERIE_FEATURES_RECAL", "did you mean REVERIE_FEATURES_RECALL?"),
        ("REVERIE_MEMORY_DIRECTORY", "did you mean REVERIE_MEMORY_DIR?"),
        ("REVERIE_DISABLE_MEMRY", "did you mean REVERIE_DISABLE_MEMORY?"),
        ("REVERIE_", "unset it"),
    ],
)
def test_a_variable_that_does_not_exist(world: World, variable: str, expected: str):
    message = complaint(world, **{variable: "hunter2"})
    assert message.startswith(f"{variable}: no such variable; ")
    assert expected in message
    assert "hunter2" not in message


def test_variables_of_others_and_empty_ones_are_left_alone(world: World):
    others = dict.fromkeys(OTHER_VARIABLES, "0")
    settings = world.load(**others, PATH="/bin", REVERIE_LOG_LEVEL="", REVERIE_XYZ="")
    assert all(item.origin.source == "default" for item in settings.items())


@pytest.mark.parametrize("source", ["user", "environment", "command line"])
def test_a_variable_that_holds_a_key_may_have_any_name(world: World, source: str):
    options, environ = [], {}
    if source == "user":
        world.write("user", "providers.x.api_key_env = 'REVERIE_MY_KEY'")
    elif source == "environment":
        environ = {"REVERIE_PROVIDERS_X_API_KEY_ENV": "REVERIE_MY_KEY"}
    else:
        options = ["providers.x.api_key_env=REVERIE_MY_KEY"]
    settings = world.load(*options, REVERIE_MY_KEY="hunter2", **environ)
    assert settings.provider("x").api_key_env == "REVERIE_MY_KEY"
    assert "hunter2" not in repr(settings) + repr(settings.items())


def test_the_last_of_two_options_wins(world: World):
    assert (
        world.load("log.level=debug", " log.level = info".replace(" = ", "="))["log.level"]
        == "info"
    )


def test_the_environment_is_that_of_the_process():
    assert environment() is os.environ
