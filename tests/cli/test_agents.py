"""`agents`: the agents of a session, their state, their story, and the agent types."""

import re
from pathlib import Path

import pytest
from tests.cli.run import data, done, failed, run
from tests.place import NOON, Place

from reverie.conversation.journal import Journal
from reverie.conversation.records import AgentHired, AgentLeft, Opened, Record, Said, Used
from reverie.core.messages import Attachment, Block, Text, ToolResult, ToolUse, new_message
from reverie.core.usage import Usage
from reverie.files.locks import sole
from reverie.settings.schema import SETTINGS
from reverie.subagents.crew import LOST
from reverie.subagents.letters import KINDS, Letter, render_letters
from reverie.subagents.members import WAYS
from reverie.subagents.types import TOOLS

FIRST, SECOND = "20250614-100000-aaaaaa", "20250615-100000-bbbbbb"


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)


def folder(place: Place, session: str = SECOND) -> Path:
    return place.app().project.sessions / session


def hired(
    place: Place, name: str, how: str = "background", by: str = "lead", session: str = SECOND
) -> AgentHired:
    transcript = folder(place, session) / "agents" / f"{name}.jsonl"
    return AgentHired(name, "general", how, f"what {name} does", by, str(transcript), NOON)


def said(*blocks: Block, role: str = "user", after: float = 0.0) -> Said:
    return Said(new_message(role, *blocks, at=NOON + after))  # type: ignore[arg-type]


def transcript(path: Path, *records: Record) -> None:
    with Journal(path) as journal:
        journal.append(*records)


def used(output: int) -> Used:
    return Used("r", "main", "m", Usage(output=output), NOON)


def told(*letters: Letter) -> Attachment:
    return Attachment("letters", render_letters(letters))


def mail(
    sender: str, to: str, text: str, summary: str, kind: str = "message", **more: object
) -> Letter:
    return Letter(sender, to, text, summary, kind, NOON, f"{sender}-{len(text)}", **more)  # type: ignore[arg-type]


@pytest.fixture
def team(place: Place) -> Place:
    """Two sessions: one long over, one with every kind of agent the list can show."""
    place.journal(
        FIRST,
        Opened(FIRST, NOON),
        hired(place, "anna", session=FIRST),
        AgentLeft("anna", "done", 900, NOON + 5),
    )
    place.journal(
        SECOND,
        Opened(SECOND, NOON),
        hired(place, "dora"),
        hired(place, "eric", how="wait"),
        hired(place, "rita", how="teammate"),
        AgentLeft("dora", "done", 12_345, NOON + 60),
        AgentLeft("eric", "it was stopped\nby \x1b[2J force", 10, NOON + 61),
    )
    place.journal("20250616-100000-cccccc", Opened("20250616-100000-cccccc", NOON))
    return place


# --- the list ---


def test_no_agent_was_hired(place: Place) -> None:
    assert done("agents") == "No session of this project has hired an agent yet.\n"
    assert data("agents") == []
    place.journal(FIRST, Opened(FIRST, NOON))
    assert done("agents", "--session", FIRST) == "This session has not hired an agent.\n"
    assert (
        failed("agents", "show", "rita")
        == "reverie: there is no agent 'rita'; no agent was hired\n"
    )


def test_the_newest_session_that_hired_an_agent(team: Place) -> None:
    session, head, dora, eric, rita, count = done("agents").splitlines()
    assert session == f"session {SECOND}"
    assert head.split() == ["name", "type", "how", "hired", "by", "state", "since", "tokens", "for"]
    assert re.split(r"\s{2,}", dora)[:5] == ["dora", "general", "background", "lead", "done"]
    assert dora.endswith("12.3k  what dora does")
    assert "ended early: it was stopped by \\x1b[2J force" in eric
    assert "lost with its session" in rita
    assert count == "3 agents, 0 running; for details: reverie agents show NAME"


def test_all_sessions_and_one(team: Place) -> None:
    names = [(row["session"], row["name"]) for row in data("agents", "--all")]
    assert names == [(SECOND, "dora"), (SECOND, "eric"), (SECOND, "rita"), (FIRST, "anna")]
    assert [row["name"] for row in data("agents", "--session", "20250614")] == ["anna"]
    assert done("agents", "--all").count("session 2025") == 2


def test_who_runs_is_judged_by_whether_the_session_is_open(team: Place) -> None:
    def rita() -> str:
        return str(data("agents")[-1]["state"])

    assert rita() == "lost"
    assert not (folder(team) / "lock").exists()
    with sole(folder(team) / "lock", "it is open"):
        assert rita() == "running"
        assert done("agents").splitlines()[-1].startswith("3 agents, 1 running")
    assert rita() == "lost"


def test_one_row_for_programs(team: Place) -> None:
    assert data("agents")[0] == {
        "session": SECOND,
        "name": "dora",
        "type": "general",
        "how": "background",
        "by": "lead",
        "state": "done",
        "why": "done",
        "since": "2025-06-15T11:00:00Z",
        "until": "2025-06-15T11:01:00Z",
        "tokens": 12_345,
        "summary": "what dora does",
        "transcript": str(folder(team) / "agents" / "dora.jsonl"),
    }


def test_what_was_lost_with_an_earlier_process_is_not_called_ended(place: Place) -> None:
    place.journal(SECOND, hired(place, "rita"), AgentLeft("rita", LOST, 0, NOON + 9_000))
    transcript(folder(place) / "agents" / "rita.jsonl", used(70), used(30))
    [row] = data("agents")
    assert (row["state"], row["until"], row["tokens"]) == ("lost", None, 100)


def test_agents_hired_by_a_teammate_in_its_own_process(place: Place) -> None:
    paul = hired(place, "paul", how="teammate")
    place.journal(SECOND, paul, hired(place, "general-1"))
    transcript(
        Path(paul.transcript),
        hired(place, "general-1", by="paul"),
        hired(place, "general-2", by="paul"),
        AgentLeft("general-1", "done", 7, NOON),
    )

    def rows() -> list[tuple[str, str, str]]:
        return [(row["name"], row["by"], row["state"]) for row in data("agents")]

    names = [("paul/general-1", "paul", "done"), ("paul/general-2", "paul", "lost")]
    assert rows() == [("paul", "lead", "lost"), *names, ("general-1", "lead", "lost")]
    # Only its own process knows whether the agents it hired are running.
    with sole(folder(place) / "agents" / "paul" / "lock", "it is open"):
        assert rows()[2] == ("paul/general-2", "paul", "running")
    assert data("agents", "show", "paul/general-2")["by"] == "paul"


# --- one agent ---


def test_a_story(team: Place) -> None:
    ask = mail("lead", "rita", "Look at a.py, too.", "also a.py")
    report = mail("rita", "lead", "a.py is fine.", "report")
    bye = mail("rita", "lead", "Bye.", "bye", "shutdown_response", reply_to="x", agreed=True)
    write = ToolUse("t1", "send_message", '{"to": "dora", "message": "Hi", "summary": "hello"}')
    again = ToolUse("t2", "send_message", '{"to": "lead", "message": "Bye.", "summary": "bye", "kind": "shutdown_response", "reply_to": "x", "agreed": true}')  # fmt: skip
    lost = ToolUse("t3", "send_message", '{"to": "nobody", "message": "Hi", "summary": "lost"}')
    results = (
        ToolResult("t1", (Text("Sent."),)),
        ToolResult("t2", (Text("Sent."),)),
        ToolResult("t3", (Text("nobody"),), is_error=True),
    )
    transcript(
        folder(team) / "agents" / "rita.jsonl",
        said(Text("Review everything.")),
        said(Text("First, a letter."), write, again, lost, role="assistant", after=1),
        said(*results, told(ask), after=2),
        said(Text("a.py is fine.\nsession ended"), role="assistant", after=3),
        used(50),
    )
    transcript(folder(team).with_suffix(".jsonl"), said(told(report, bye), after=4))
    lines = done("agents", "show", "rita").splitlines()
    assert lines[0] == "rita · general · teammate"
    assert lines[1:4] == [
        "state: lost with its session",
        f"hired by: lead, in session {SECOND}",
        "for: what rita does",
    ]
    assert lines[5] == "tokens: 50"
    assert lines[6].startswith("transcript: ~/.reverie/projects/")
    assert lines[7:15] == [
        "",
        "task:",
        "  Review everything.",
        "",
        "last answer:",
        "  a.py is fine.",
        "  session ended",
        "",
    ]
    assert [line[20:] for line in lines[16:]] == [
        "rita to dora: hello",
        "lead to rita: also a.py",
        "rita to lead: report",
        "rita to lead (shutdown_response, agreed): bye",
    ]
    letters = data("agents", "show", "rita")["letters"]
    assert [one["text"] for one in letters] == ["Hi", "Look at a.py, too.", "a.py is fine.", "Bye."]


def test_a_story_without_a_transcript(team: Place) -> None:
    text = done("agents", "show", "dora")
    assert "dora.jsonl (not there)" in text
    assert "last answer" not in text


def test_the_newest_of_a_name_is_meant_unless_a_session_is_named(team: Place) -> None:
    assert data("agents", "show", "anna")["session"] == FIRST
    assert failed("agents", "show", "anna", "--session", SECOND).endswith(
        "there is no agent 'anna'; there are: dora, eric, rita\n"
    )


MISTAKES = [
    (["agents", "show", "ritta"], 1, "there is no agent 'ritta'; did you mean rita?"),
    (["agents", "show", "x" * 9], 1, "there are: dora, eric, rita, anna"),
    (["agents", "--session", "nope"], 1, "no session 'nope' here; `reverie sessions` lists them"),
    (["agents", "types", "exlpore"], 1, "no agent type 'exlpore'; did you mean explore?"),
    (["agents", "types", "zzz"], 1, "there is no agent type 'zzz'; there are: explore, general"),
    (["agents", "list", "rita"], 2, "reverie agents show NAME"),
    (["agents", "show"], 2, "say which: reverie agents show NAME"),
    (["agents", "types", "--session", FIRST], 2, "--session goes with list or show"),
    (["agents", "--all", "--session", FIRST], 2, "--all goes with list"),
    (["agents", "typs"], 2, "'typs' is not one of"),
]


@pytest.mark.parametrize(("typed", "code", "says"), MISTAKES, ids=lambda value: str(value)[:40])
def test_a_mistake(team: Place, typed: list[str], code: int, says: str) -> None:
    result = run(*typed)
    assert (result.exit_code, result.stdout) == (code, "")
    assert says in " ".join(result.stderr.split())


# --- types ---

REVIEWER = """\
---
name: reviewer
description: Reads a change.
tools: Read, mcp__db__query
memory: project
max_turns: 40
---
You review changes.
"""


def test_types_with_their_files_and_those_that_make_none(place: Place) -> None:
    own, claude = place.root / ".reverie" / "agents", place.root / ".claude" / "agents"
    own.mkdir(parents=True)
    claude.mkdir(parents=True)
    own.joinpath("reviewer.md").write_text(REVIEWER)
    claude.joinpath("reviewer.md").write_text(REVIEWER.replace("Read,", "Bash,"))
    claude.joinpath("broken.md").write_text("nothing\n")
    text = done("agents", "types")
    assert text.splitlines()[-5:] == [
        "reviewer: Reads a change.",
        "  .reverie/agents/reviewer.md · tools: Read · model: that of the agent that hires it"
        " · memory: project · at most 40 requests",
        "  note: mcp__db__query is left out: tools of MCP servers cannot be granted by an agent file",
        "hidden by a nearer reviewer: .claude/agents/reviewer.md",
        "not usable: .claude/agents/broken.md: there is no frontmatter: the first line is not '---'",
    ]
    assert "built-in · tools: every tool · model" in text
    found = data("agents", "types")
    assert [kind["name"] for kind in found["types"]] == ["explore", "general", "reviewer"]
    assert [kind["tools"] for kind in found["hidden"]] == [["Bash"]]
    assert [Path(one["source"]).name for one in found["unusable"]] == ["broken.md"]
    assert "makes no agent type: there is no front" in failed("agents", "types", "broken")


def test_one_type_with_its_prompt(place: Place) -> None:
    lines = done("agents", "types", "explore").splitlines()
    assert lines[:4] == [
        "explore",
        "built-in",
        "tools: Read, Grep, Glob",
        "model: that of the agent that hires it",
    ]
    assert any(line.startswith("  You look things up") for line in lines)
    assert data("agents", "types", "explore")["tools"] == ["Read", "Grep", "Glob"]


def test_types_say_when_no_agent_can_be_hired(place: Place) -> None:
    text = done("agents", "types", "--set", "features.agents=false")
    assert text.splitlines()[-1] == "Agents are off: no session can hire one (features.agents)."


# --- the manual ---

MANUAL = (Path(__file__).parents[2] / "docs" / "agents.md").read_text("utf-8")
MIGRATOR = """\
---
description: Writes and checks database migrations.
tools: Read, Edit, Bash(psql *), mcp__db__query
model: sonnet
---
You write migrations that can be taken back.
"""


def test_the_types_in_the_manual_are_what_is_printed(place: Place) -> None:
    own, claude = place.root / ".reverie" / "agents", place.root / ".claude" / "agents"
    own.mkdir(parents=True)
    claude.mkdir(parents=True)
    [reviewer] = re.findall(r"```markdown\n(.*?)```", MANUAL, re.DOTALL)
    own.joinpath("reviewer.md").write_text(reviewer)
    claude.joinpath("migrator.md").write_text(MIGRATOR)
    claude.joinpath("notes.md").write_text("Nothing.\n")
    [printed] = re.findall(r"\$ reverie agents types\n(.*?)```", MANUAL, re.DOTALL)
    assert done("agents", "types") == printed


def test_the_manual_names_every_tool_limit_and_way() -> None:
    limits = [row for row in SETTINGS if row.key.startswith("agents.")]
    for row in limits:
        assert f"| `{row.key}` | {row.default:,.0f} |" in MANUAL
    assert len(limits) == 4
    for name in (*TOOLS, *WAYS, *KINDS[1:]):
        assert f"`{name}`" in MANUAL
