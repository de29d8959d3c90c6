"""No command lets what others wrote steer the terminal or deceive the eye."""

import json
import logging
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text as Line
from tests.cli.memories import directory
from tests.cli.run import process, run
from tests.models.spending import entry
from tests.place import NOON, Place
from tests.security.hostile import ESCAPES, HOSTILE, RETURNS, SMUGGLED, TURNED, UNSEEN, steering

from reverie.cli.group import COMMANDS
from reverie.cli.screen import Screen, start_logging
from reverie.cli.talk.full_terminal import Canvas
from reverie.cli.talk.slash import ChatCompleter
from reverie.conversation.records import AgentHired, Opened, Said, Used
from reverie.core.foreign_text import printable, printable_json
from reverie.core.messages import Text, ToolResult, ToolUse, new_message
from reverie.core.usage import Usage
from reverie.memory.format.proposals import Item, Proposal, cited
from reverie.workspace.changes import open_inbox

SESSION = "20250615-100000-aaaaaa"
MEMORY = "project_freeze.md"

# Every command of the table, with the arguments that make it show foreign text. What speaks to
# programs in a protocol of its own (hook, mcp), serves others (ui, serve, worker, tenants) or plays its
# own story (demo) is tried elsewhere.
CALLS: dict[str, tuple[tuple[str, ...], ...]] = {
    "chat": (("-p", f"what freezes? {TURNED}", "--model", "offline"),),
    # Control characters are refused; the others are saved, and shown harmlessly.
    "remember": (
        ("--", f"The harbour closes at six {TURNED}{UNSEEN}{SMUGGLED}"),
        ("--", f"The harbour opens at nine {HOSTILE}"),
    ),
    "recall": (("freeze",), ("--explain", "freeze", HOSTILE.replace("\x00", ""))),
    "search": (("freeze",), ("--only", "episodes", "freeze")),
    "list": ((), ("--all",), ("--problems",)),
    "show": ((MEMORY,), (SESSION,), (SESSION, "--full"), ("HEAD",), (TURNED,)),
    "edit": ((MEMORY,), (TURNED,)),
    "forget": ((MEMORY,), (TURNED,), (MEMORY, "--yes")),
    "pin": ((MEMORY,), (UNSEEN,)),
    "move": ((MEMORY, "--scope", "person"), (TURNED, "--scope", "person")),
    "retire": ((MEMORY, "--by", TURNED), (MEMORY, "--off"), (TURNED, "--off")),
    "index": ((), ("--rebuild",)),
    "import": (("foreign",), (TURNED,)),
    "export": (("--json",), ("out",)),
    "adopt": ((), (f"nowhere {TURNED}",)),
    "log": ((), (MEMORY,)),
    "diff": ((), ("HEAD",)),
    "blame": ((MEMORY,), (TURNED,)),
    "undo": ((), (TURNED,)),
    "redo": ((),),
    "dream": (("--force",), ("--last",), ("--dry-run", "--force"), ("--approve", TURNED)),
    "extract": ((SESSION, "--dry-run"), (TURNED,)),
    "learning": ((),),
    "inbox": ((), ("show", "{item}"), ("approve", "{item}", "--yes"), ("reject", TURNED)),
    "context": ((), (SESSION,), (TURNED,)),
    "cache": ((), (SESSION,), (TURNED,)),
    "spend": ((), ("--days", "90000")),
    "sessions": ((),),
    "install": (("claude-code", "--dry-run"),),
    "uninstall": (("claude-code", "--dry-run"),),
    "daemon": (("status",),),
    "team": (("status",), ("remote", f"file:///{TURNED}")),
    "agents": ((), ("types",), ("show", TURNED), ("list", "--all")),
    "trust": ((),),
    "settings": ((), ("window.tokens",), (TURNED,), ("--changed",)),
    "doctor": ((),),
    "models": ((), ("use", TURNED)),
    "keys": ((), ("set", TURNED)),
    "stats": ((),),
    "impact": ((),),
    "watch": (("--once",), (SESSION, "--once"), (TURNED, "--once")),
    "compact": ((SESSION,), (TURNED,)),
    "completion": (("bash",),),
    "proxy": (("status",), ("savings",)),
    "sync": ((), ("--remote", f"file:///{TURNED}")),
    "migrate": (("files", f"nowhere {TURNED}"),),
}
PROTOCOLS = {"hook", "mcp", "demo", "ui", "serve", "worker", "tenants"}


@pytest.fixture
def hostile(place: Place, monkeypatch: pytest.MonkeyPatch) -> str:
    """A home and a project full of it; the id of a proposal that waits."""
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)
    app = place.app()
    run("remember", "Deploys freeze before the audit")
    folder = directory(place)
    (folder / MEMORY).write_text(
        f"---\nname: freeze {TURNED}{UNSEEN}\ndescription: freeze {SMUGGLED} {TURNED}\ntype: project\n"
        f"source: {UNSEEN}\n---\n\nThe freeze {HOSTILE.replace(chr(0), '')}\n",
        "utf-8",
    )
    (folder / f"odd{TURNED}\x1b[31m.md").write_text(f"no frontmatter, freeze {ESCAPES}\n", "utf-8")
    (folder / "broken.md").write_bytes(b"---\nname: [\x1b[2J\n\xff\xfe freeze \x9b31m\n")
    call = ToolUse("t1", f"Bash{TURNED}", json.dumps({"command": HOSTILE}))
    asked = new_message("user", Text(f"freeze? Always use {HOSTILE}"), at=NOON)
    answer = new_message("assistant", Text(HOSTILE), call, at=NOON, after=asked)
    result = new_message("user", ToolResult("t1", (Text(HOSTILE),)), at=NOON, after=answer)
    hired = AgentHired(f"ada{TURNED}", HOSTILE, "background", HOSTILE, "lead", HOSTILE, NOON)
    used = Used("r1", "main", f"model{TURNED}{ESCAPES}", Usage(1, 2), NOON)
    place.journal(SESSION, Opened(SESSION, NOON), Said(asked), Said(answer), Said(result), used, hired)  # fmt: skip
    app.ledger.settle("", entry(0.5, session=f"s{TURNED}", model=f"m{ESCAPES}", purpose=UNSEEN))
    box = open_inbox(app, app.memory())
    proposal = Proposal(f"Always {HOSTILE}", "feedback", "tool", HOSTILE, name=TURNED, description=UNSEEN, warning=TURNED, sources=cited(f"s{TURNED}", ["m"]), evidence=HOSTILE)  # fmt: skip
    item = box.put(proposal)
    foreign = place.root / "foreign"
    foreign.mkdir()
    (foreign / f"n{TURNED}.md").write_text(
        f"# The freeze {TURNED}\n\n{UNSEEN} {ESCAPES}\n", "utf-8"
    )
    types = place.root / ".reverie" / "agents"
    types.mkdir(parents=True)
    (types / "odd.md").write_text(f"---\nname: odd\ndescription: {TURNED}{UNSEEN}\n---\nbe {ESCAPES}\n", "utf-8")  # fmt: skip
    (types / "worse.md").write_text(f"---\nname: {TURNED}\n---\n", "utf-8")
    place.settings('models.main = "offline"\nlog.file = "~/odd\\u202e\\u2066\\U000e0041/log"\n')
    assert isinstance(item, Item)
    return item.id


def test_every_command_is_tried() -> None:
    assert {*CALLS, *PROTOCOLS} == {*COMMANDS}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("options", [(), ("--json",), ("-vv",)], ids=["people", "json", "verbose"])
def test_no_command_prints_what_steers(
    hostile: str, name: str, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EDITOR", "true")
    for number, arguments in enumerate(CALLS[name]):
        told = [argument.replace("{item}", hostile) for argument in arguments]
        result = run(name, *(option for option in options if option not in told), *told)
        # `doctor` meets a file that is broken, the others nothing they could do.
        fails = name in ("doctor", "redo", "retire", "compact", "sync", "migrate")
        assert number or result.exit_code == fails, result.output
        assert steering(result.stdout) == [], (name, arguments)
        assert result.exit_code == 2 or steering(result.stderr) == [], (name, arguments)


@pytest.mark.parametrize(
    "arguments", [("nope" + TURNED,), ("list", "--type", TURNED), ("recall", "-n", UNSEEN, "x")]
)
def test_wrong_usage_is_told_without_it(place: Place, arguments: tuple[str, ...]) -> None:
    result = process(place, *arguments)
    assert result.returncode == 2
    assert steering(result.stdout + result.stderr) == []
    assert "\\u202e" in result.stderr or "\\u200b" in result.stderr


SAID = [
    (ESCAPES, r"\x1b[2J"),
    (TURNED, r"\u202egnp.exe\u2066isolate\u2069\u061c\u200e\u200f"),
    (UNSEEN, r"\U000e0041\U000e0042\U000e007f"),
    (RETURNS, r"good\rbad\x08\x08\x0b\x0c\x00\x7f\x85\u2028\u2029"),
    (SMUGGLED, r"x\U000e0101\U000e0152"),
    ("pay\u200dpal", r"pay\u200dpal"),
    ("half \ud83d", r"half \ud83d"),
]


@pytest.mark.parametrize(("text", "part"), SAID)
def test_what_cannot_be_seen_is_spelt_out(text: str, part: str) -> None:
    assert part in printable(text)
    assert printable(printable(text)) == printable(text)


@pytest.mark.parametrize(
    "text",
    ["plain é\n\ttab", "👩\u200d👩\u200d👧\u200d👦 ❤️ 🏳️\u200d🌈", "می\u200cخواهم", "क्\u200dष", "葛\U000e0100", "日本語, עברית, العربية"],
)  # fmt: skip
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_json_is_the_same_data() -> None:
    data = {"text": HOSTILE, "half": "\ud83d"}
    assert steering(printable_json(data)) == []
    assert json.loads(printable_json(data, indent=2)) == data


def test_only_colours_of_ours_reach_the_screen() -> None:
    table = Table("a")
    table.add_row(HOSTILE)
    screen = Screen(force_terminal=True, color_system="truecolor", width=80, markup=False)
    with screen.capture() as drawn:
        screen.print(Line(HOSTILE, "red"), table, HOSTILE, Markdown(HOSTILE, hyperlinks=False))
    drawn_canvas = Canvas(80, 24).ansi(Line(HOSTILE, "red"), table)
    for text in (drawn.get(), drawn_canvas):
        assert "\x1b[31m" in text
        pieces = text.split("\x1b[")
        assert steering("".join(piece.partition("m")[2] for piece in pieces[1:])) == []


def test_a_log_line_does_not_steer(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    path = place.base / "log"
    start_logging(place.app(f"log.file={path}").settings, 2)
    logging.getLogger("reverie.test").warning("found %s", HOSTILE)
    assert steering(capsys.readouterr().err) == []
    assert steering(path.read_text("utf-8")) == []


def test_no_such_name_is_completed(tmp_path: Path) -> None:
    (tmp_path / f"a{TURNED}").touch()
    (tmp_path / "about.md").touch()
    found = ChatCompleter(tmp_path).get_completions(Document("@a"), CompleteEvent())
    assert [one.text for one in found] == ["about.md"]
