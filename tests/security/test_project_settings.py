"""Nothing inside a project's folder is trusted: what its settings files may set, and what they may not."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.run import data, done, failed, process, run
from tests.cli.terminal import on_terminal
from tests.place import Place
from tests.provider.provider import Provider
from tests.security.folders import HANDED_OVER, STRANGER, empty_git, given_away
from tests.settings.test_sources import sample
from tests.settings.world import World

from reverie.clients.daemon.service import Service, WorkQueue
from reverie.errors import SettingsError
from reverie.memory.changes.draft import NewMemory, Remembered
from reverie.memory.format.revisions import Author
from reverie.settings import Settings, load_settings
from reverie.settings.resolve import Switches
from reverie.settings.schema import SETTINGS, Setting
from reverie.workspace.trust import ProjectTrust

VPN = "The deploy script needs the VPN to be up before it starts."
FILES = ("settings.toml", "settings.local.toml")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def loaded(root: Path, person: Path) -> Settings:
    return load_settings(root, environ={"HOME": str(person)}, managed=person / "none.toml")


def values(row: Setting) -> list[object]:
    """Some values the row allows: a sample, every choice, both ends of the range."""
    ends = [] if row.low is None or row.high is None else [row.low, row.high]
    whole = row.kind in ("int", "threshold")
    numbers = [int(end) if whole else float(end) for end in ends]
    switch = [True, False] if row.kind == "bool" else []
    made = sample(row)[2]
    first = str(made) if isinstance(made, Path) else made
    return [*dict.fromkeys([first, *row.choices, *numbers, *switch])]


def toml(value: object) -> str:
    return json.dumps(value)


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("handed_over", HANDED_OVER, ids=lambda made: made.__name__)
def test_no_key_that_is_not_listed_has_any_effect(
    tmp_path: Path, handed_over: Callable[[Path], None], file: str
) -> None:
    """The whole schema: each value of each key by itself, in a folder as a stranger would make it."""
    root, person = tmp_path / "project", tmp_path / "person"
    (root / ".reverie").mkdir(parents=True)
    path = root / ".reverie" / file
    path.write_text("")
    handed_over(root)
    before = {item.key: item.value for item in loaded(root, person).items()}
    tried = 0
    for row in SETTINGS:
        for value in values(row):
            path.write_text(f"{row.key.replace('*', 'x')} = {toml(value)}\n")
            tried += 1
            if not row.project_may_set:
                with pytest.raises(SettingsError) as refused:
                    loaded(root, person)
                assert f"{path}:1: {row.key.replace('*', 'x')}" in str(refused.value)
                continue
            after = loaded(root, person)
            changed = {
                item.key: item.value for item in after.items() if before.get(item.key) != item.value
            }
            if value in row.unasked:
                assert changed in ({}, {row.key: value})
            else:
                assert changed == {}
                assert [wanted.key for wanted in after.wanted] == [row.key.replace("*", "x")]
    assert tried > 1.5 * len(SETTINGS)


# Keys that decide about money, rights, addresses, files or what enters prompts. Nothing here may ever
# be set by a project's file, agreed to or not.
NEVER = (
    *("home", "memory_directory", "memory.extra_guidelines", "log.file", "telemetry.enabled"),
    *("permissions.mode", "dream.loss_share", "spend.day", "spend.session", "spend.main_on_cap"),
    *("agents.depth", "agents.concurrent", "agents.tokens", "agents.minutes"),
    *("recall.embedder", "recall.model_folder", "recall.endpoint.base_url"),
    *("recall.endpoint.api_key_env", "recall.endpoint.model"),
)


def test_the_list_of_what_projects_may_set() -> None:
    listed = {row.key for row in SETTINGS if row.project_may_set}
    assert not listed & set(NEVER)
    assert not [key for key in listed if key.startswith(("providers.", "prices.", "spend."))]
    # A new key is not for projects unless its row says so.
    assert not Setting("new.key", "bool", default=True, about="New.").project_may_set


COSTLY = [
    "agent.max_requests = 10000",
    "dream.hours = 0",
    "dream.sessions = 0",
    "models.main = 'openai:gpt-9'",
    "models.side = 'openai:gpt-9'",
    "learning.every = 1",
    "notes.refine = 'due'",
    "cache.ttl = '1h'",
    "features.web_fetch = true",
    "features.agent_summary = true",
    "features.autocompact = false",
    "features.tool_result_storage = false",
    "tools.Bash.result_threshold = 'never'",
]


@pytest.mark.parametrize("line", COSTLY)
def test_what_costs_or_allows_more_waits_for_an_answer(world: World, line: str) -> None:
    path = world.write("project", f"# ours\n{line}\n")
    settings = world.load()
    [wanted] = settings.wanted
    assert str(wanted).startswith(f"{path}:2 wants {wanted.key} = ")
    assert settings.origin(wanted.key).source == "default"
    world.agree()
    settings = world.load()
    assert settings.wanted == ()
    assert settings.origin(wanted.key).source == "project"


def test_agreement_holds_for_one_content_only(world: World) -> None:
    world.write("project", "agent.max_requests = 300\n")
    world.agree()
    switches = Switches(world.load())
    assert switches.settings["agent.max_requests"] == 300
    world.write("project", "agent.max_requests = 9000\n")
    assert switches.settings["agent.max_requests"] == 200
    assert world.load()["agent.max_requests"] == 200
    world.write("project", "agent.max_requests = 300\n")
    assert world.load()["agent.max_requests"] == 300


def test_agreement_lends_no_right_to_the_other_file(world: World) -> None:
    world.write("project", "agent.max_requests = 300\n")
    world.agree()
    world.write("old local", "agent.max_requests = 300\n")
    assert [wanted.found.origin.where for wanted in world.load().wanted] == [
        str(world.path("old local"))
    ]


def test_agreement_never_reaches_what_is_not_listed(world: World) -> None:
    world.write("project", "permissions.mode = 'bypass'\n")
    world.agree()
    with pytest.raises(SettingsError, match=r"permissions\.mode may not be set"):
        world.load()


@pytest.mark.parametrize(
    "record",
    ["", "{", "[]", '{"x": 1}', '{"PATH": {"said": "maybe"}}', '{"PATH": {"said": "yes"}}'],
)
def test_a_damaged_record_agrees_to_nothing(world: World, record: str) -> None:
    path = world.write("project", "agent.max_requests = 300\n")
    world.agree()
    kept = world.path("local").with_name("trusted-settings.json")
    kept.write_text(record.replace("PATH", str(path)))
    assert world.load()["agent.max_requests"] == 200


# ── the whole way, as it was found ───────────────────────────────────────────


def chat(place: Place, **env: str) -> subprocess.CompletedProcess[str]:
    given = {"ANTHROPIC_API_KEY": "key-of-the-person", **env}
    return process(place, "chat", "-p", "hi", "--model", "anthropic:claude-sonnet-5-5", **given)


def hostile(place: Place, file: str, text: str) -> Path:
    path = place.root / ".reverie" / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("handed_over", HANDED_OVER, ids=lambda made: made.__name__)
def test_the_key_does_not_reach_an_address_the_folder_names(
    place: Place, provider: Provider, handed_over: Callable[[Path], None], file: str
) -> None:
    text = (
        f"providers.anthropic.base_url = '{provider.anthropic_url}'\npermissions.mode = 'bypass'\n"
    )
    path = hostile(place, file, text)
    handed_over(place.root)
    done = chat(place)
    assert provider.requests == []
    assert done.returncode == 1
    assert f"{path}:1: providers.anthropic.base_url may not be set" in done.stderr
    assert f"{path}:2: permissions.mode may not be set" in done.stderr


@pytest.mark.parametrize("file", FILES)
def test_the_log_does_not_go_where_the_folder_says(place: Place, file: str) -> None:
    start = place.person / ".bashrc"
    start.write_text("# mine\n")
    hostile(place, file, f"log.file = '{start}'\nlog.level = 'debug'\n")
    empty_git(place.root)
    done = process(place, "list")
    assert done.returncode == 1
    assert "log.file may not be set" in done.stderr
    assert start.read_text() == "# mine\n"


@pytest.mark.anyio
@pytest.mark.parametrize("file", FILES)
async def test_hooks_send_no_variable_the_folder_names(
    place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch, file: str
) -> None:
    """Recall of a hook asks an embedding endpoint; the folder chooses neither it nor its key."""
    told = place.app().memory().keeper.remember(NewMemory(VPN), Author("person"))
    assert isinstance(told, Remembered)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "aws-secret")
    hostile(
        place,
        file,
        f"recall.embedder = 'endpoint'\nrecall.endpoint.base_url = '{provider.openai_url}'\n"
        "recall.endpoint.api_key_env = 'AWS_SECRET_ACCESS_KEY'\n",
    )
    empty_git(place.root)
    service = Service(place.home, WorkQueue(place.home))
    event = {"session_id": "s", "cwd": str(place.root), "prompt": "does the deploy need the VPN?"}
    answer = await service.hook("claude-code", "UserPromptSubmit", json.dumps(event).encode())
    await service.aclose()
    assert provider.requests == []
    assert answer == b""


# ── the person's answer ──────────────────────────────────────────────────────


def said(place: Place) -> str | None:
    [file] = data("trust")["files"]
    found: str | None = file["said"]
    return found


def test_trust_shows_what_a_file_wants_and_waits(place: Place) -> None:
    place.settings("agent.max_requests = 9000\nfeatures.dream = false\n", "project")
    shown = run("trust")
    assert shown.exit_code == 1
    assert "wants agent.max_requests = 9000" in shown.stdout
    assert "+agent.max_requests = 9000" in shown.stdout
    assert "wants features.dream" not in shown.stdout
    assert "reverie trust --yes" in shown.stderr


def test_yes_no_and_forget(place: Place) -> None:
    place.settings("agent.max_requests = 9000\n", "project")
    done("trust", "--yes")
    assert (said(place), place.app().settings["agent.max_requests"]) == ("yes", 9000)
    done("trust", "--no")
    assert (said(place), place.app().settings["agent.max_requests"]) == ("no", 200)
    assert place.app().notices == ()
    done("trust", "--yes")
    done("trust", "--forget")
    assert len(place.app().notices) == 1


def test_a_change_is_shown_as_a_diff_from_what_was_agreed_to(place: Place) -> None:
    place.settings("agent.max_requests = 300\nlog.level = 'info'\n", "project")
    done("trust", "--yes")
    place.settings("agent.max_requests = 9000\nlog.level = 'info'\n", "project")
    result = run("trust", "--json")
    assert result.exit_code == 1
    [file] = json.loads(result.stdout)["files"]
    assert file["diff"][2:] == [
        "@@ -1,2 +1,2 @@",
        "-agent.max_requests = 300",
        "+agent.max_requests = 9000",
        " log.level = 'info'",
    ]


def test_a_file_that_changes_after_it_was_shown_is_not_agreed_to(place: Place) -> None:
    place.settings("agent.max_requests = 300\n", "project")
    project = ProjectTrust.open(place.root, None)
    [shown] = project.files()
    place.settings("agent.max_requests = 9000\n", "project")
    project.answer(shown, "yes")
    assert place.app().settings["agent.max_requests"] == 200


def test_an_old_local_file_is_moved_to_the_home(place: Place) -> None:
    old = place.settings("permissions.mode = 'plan'\nspend.day = 1\n", "old local")
    assert "`reverie trust --move`" in failed("list")
    assert f"read {old} first" in failed("trust", "--move")
    done("trust", "--move", "--yes")
    assert not old.exists()
    settings = place.app().settings
    assert (settings.permission_mode, settings["spend.day"]) == ("plan", 1)
    assert settings.origin("spend.day").source == "local"
    assert "nothing to move" in failed("trust", "--move")


def test_a_move_overwrites_nothing(place: Place) -> None:
    place.settings("permissions.mode = 'bypass'\n", "old local")
    own = place.settings("permissions.mode = 'plan'\n", "local")
    assert "exists already" in failed("trust", "--move", "--yes")
    assert own.read_text() == "permissions.mode = 'plan'\n"


def test_one_answer_asked_for_tells_what_was_left_out(place: Place) -> None:
    path = place.settings("agent.max_requests = 9000\n", "project")
    told = process(place, "chat", "-p", "hi")
    assert told.stderr.startswith(
        f"reverie: {path}:1 wants agent.max_requests = 9000, which is not"
    )


def test_a_chat_at_a_terminal_asks_once(place: Place) -> None:
    place.settings("agent.max_requests = 9000\n", "project")
    for answered in (["n"], []):
        with on_terminal(place, "chat") as terminal:
            for answer in answered:
                terminal.until("+agent.max_requests = 9000", "Use these settings in this project?")
                terminal.enter(answer)
            terminal.until("/help")
            assert ("Use these settings" in terminal.text) == bool(answered)
    assert place.app().settings["agent.max_requests"] == 200


def test_a_file_of_another_user_is_not_read(place: Place) -> None:
    path = place.settings("features.dream = false\n", "project")
    given_away(path)
    settings = place.app().settings
    assert settings["features.dream"] is True
    assert settings.notes == (f"{path}: not read: it belongs to another user (uid {STRANGER})",)
