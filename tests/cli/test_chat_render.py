"""Chat output: events, tools, questions and the status as lines of text."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.text import Text as Line

from reverie.agent.permissions import Asked, Call
from reverie.agent.tools import Arguments, Tool, Workplace
from reverie.cli.talk import render, terminal
from reverie.cli.talk.chat import question
from reverie.cli.talk.chat_session import EventPrinter
from reverie.cli.talk.full_terminal import Canvas
from reverie.cli.talk.terminal import Question, Status, Tally
from reverie.core.messages import Image, Message, Text, ToolResult, new_message
from reverie.core.prompt_cache import Change
from reverie.core.prompt_cache.tracker import Broken, ExpectedBreak
from reverie.core.request import Cleared, Reply, TextDelta, ThinkingDelta, ToolSpec, ToolUseStarted
from reverie.core.usage import Usage
from reverie.events import (
    CacheBroke,
    CapReached,
    ContextCleared,
    Event,
    ForkEnded,
    LayerFired,
    MemoriesLate,
    MemoriesSaved,
    MemoriesSurfaced,
    NotesUpdated,
    Replied,
    ToolFinished,
    ToolStarted,
    TroubleNoted,
    TurnEnded,
)


def shown(*what: RenderableType, width: int = 60) -> list[str]:
    """The lines as they stand on a screen of this width."""
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as drawn:
        console.print(Group(*what))
    return [line.rstrip() for line in drawn.get().splitlines()]


BROKEN = Broken(4_000, (Change("tool", "Read: its description changed"),))
REMARKS: list[tuple[Event, str]] = [
    (
        LayerFired("microcompaction", 48_000, 21_000, "it pays"),
        "▸ microcompaction: 48.0k → 21.0k tokens, it pays",
    ),
    (LayerFired("snip", 900, 100, ""), "▸ snip: 900 → 100 tokens"),
    (MemoriesSurfaced(("a.md",), "chosen by score"), "▸ 1 memory: a.md"),
    (MemoriesSurfaced(("a.md", "b.md"), ""), "▸ 2 memories: a.md, b.md"),
    (
        MemoriesLate(1.5),
        "▸ recall took longer than 1.5 s (recall.deadline); answering without it",
    ),
    (MemoriesSaved(("a.md",)), "▸ saved to memory: a.md"),
    (MemoriesSaved((), 2), "▸ 2 waiting for your decision (reverie inbox)"),
    (NotesUpdated("m1", "model"), "▸ notes updated"),
    (NotesUpdated("m1", "rules"), "▸ notes updated, by rules alone"),
    (
        CacheBroke("s", "main", ExpectedBreak("compaction", 12_000)),
        "▸ cache: 12.0k tokens are sent again, as expected: compaction",
    ),
    (
        CacheBroke("s", "main", BROKEN),
        "▸ cache broke: 4,000 tokens lost (tool: Read: its description changed)",
    ),
    (
        ContextCleared("s", Cleared("tool_uses", 3, 20_000)),
        "▸ the provider cleared 3 tool uses, 20.0k tokens",
    ),
    (CapReached("main", "the day cap", stopped=True), "▸ spend cap: stopped: the day cap"),
    (CapReached("main", "the day cap", stopped=False), "▸ spend cap: the day cap"),
    (TroubleNoted("recall", "no disk"), "▸ recall: no disk"),
    (ForkEnded("notes", Usage(), 0, "overloaded"), "▸ notes: overloaded"),
    (TurnEnded("max_tokens"), "▸ the answer was cut off by the output limit"),
    (TurnEnded("limit of requests"), "▸ stopped: limit of requests"),
]


@pytest.mark.parametrize(("event", "line"), REMARKS, ids=lambda value: type(value).__name__)
def test_an_event_in_one_line(event: Event, line: str) -> None:
    remark = render.remark(event)
    assert remark is not None
    assert shown(remark, width=200) == [line]


SILENT = [
    TurnEnded("end"),
    ForkEnded("notes", Usage(), 1),
    MemoriesSaved(()),
    TextDelta("x"),
    Replied(Reply("r", "m", (), "end")),
]


@pytest.mark.parametrize("event", SILENT, ids=lambda value: type(value).__name__)
def test_what_goes_without_saying(event: Event) -> None:
    assert render.remark(event) is None


def result(text: str, *, error: bool = False) -> ToolResult:
    return ToolResult("t", (Text(text),), error)


DIFF = "Edited a.py (1 place)\n@@ line 1 @@\n a\n-b\n+c\n--- d\n+++ e\n "
RESULTS = [
    (result("x\n" * 42), ["  ✓ 42 lines"]),
    (result("all is well\n"), ["  ✓ all is well"]),
    (result(""), ["  ✓ done"]),
    (ToolResult("t", (Image("image/png", "abc"),)), ["  ✓ image"]),
    (result("\n\nno such file\nmore", error=True), ["  ✗ no such file"]),
    (result("", error=True), ["  ✗ failed"]),
    (result("[x] one\n[>] two\n[ ] three"), ["  [x] one", "  [>] two", "  [ ] three"]),
    (
        result(DIFF),
        ["  ✓ Edited a.py (1 place)", *(f"    {row}" for row in DIFF.splitlines()[1:-1])],
    ),
    (
        result("Edited\n@@ line 1 @@\n" + "+x\n" * 20),
        ["  ✓ Edited", "    @@ line 1 @@", *["    +x"] * 11, "    … 9 more lines"],
    ),
    (result("w" * 90), ["  ✓ " + "w" * 55 + "…"]),
    (result("a\x1b[2Jb"), ["  ✓ a\\x1b[2Jb"]),
]


@pytest.mark.parametrize(("given", "lines"), RESULTS, ids=lambda value: repr(value)[:30])
def test_a_result_in_few_lines(given: ToolResult, lines: list[str]) -> None:
    assert shown(*render.result_lines(given)) == lines


CALLS = [
    ("Read", "Read app.py", "● Read app.py"),
    ("Bash", "$ ls", "● Bash $ ls"),
    ("Todo", "Todo 1/3: look", "● Todo 1/3: look"),
    ("Read", "Read", "● Read"),
    ("snip", "leave out: the search", "● snip leave out: the search"),
]


@pytest.mark.parametrize(("name", "headline", "line"), CALLS)
def test_a_call_in_one_line(name: str, headline: str, line: str) -> None:
    assert shown(render.call_line(name, headline)) == [line]


def test_an_answer_is_rendered_without_a_margin_of_empty_lines() -> None:
    text = "# Title\n\n- **one**\n- two"
    assert shown(render.prose(text)) == ["Title", "", " • one", " • two"]
    assert shown(render.prose("```py\nx = 1\n```")) == [" x = 1"]
    assert shown(render.prose("a\x1b[2Jb\x07")) == ["a\\x1b[2Jb\\x07"]
    assert shown(render.prose(text, markdown=False)) == text.splitlines()
    assert shown(render.prose("")) == []


@given(st.text(max_size=200), st.integers(1, 40))
def test_nothing_a_stranger_writes_breaks_the_screen(text: str, width: int) -> None:
    pieces = [
        *render.result_lines(result(text)),
        render.call_line("Read", text),
        render.thought(text),
        render.spoken(text),
        render.failure(text),
    ]
    for row in shown(*pieces, render.prose(text), width=width):
        assert "\x1b" not in row
        assert cell_len(row) <= max(width, 2)


def exchange(*texts: str) -> list[Message]:
    messages: list[Message] = []
    for at, text in enumerate(texts):
        role = "assistant" if at % 2 else "user"
        messages.append(new_message(role, Text(text), after=messages[-1] if messages else None))
    return messages


def test_the_last_exchanges_of_a_resumed_conversation() -> None:
    messages = exchange("one", "1", "two", "2", "three", "a\n\nb\nc\nd\ne")
    lines = ["❯ two", "  2", "❯ three", "  a", "  b", "  c", "  … 2 more lines"]
    assert shown(render.recap(messages)) == lines
    assert shown(render.recap(messages[:1])) == ["❯ one"]
    working = [*exchange("one"), *(new_message("assistant", Text(t)) for t in ("I look", "Done"))]
    assert shown(render.recap(working)) == ["❯ one", "  Done"]


FULL = Status(
    "claude-opus-5-5", 340_000, 1_000_000, "warning", 0.925, 1.5, 0, "plan", ("notes", "extract")
)
STATUSES = [
    (
        100,
        " claude-opus-5-5  ███░░░░░░░  34% of 1.0M  cache 92%  $1.50  plan only  notes, extract…",
    ),
    (80, " claude-opus-5-5  ███░░░░░░░  34% of 1.0M  cache 92%  $1.50  plan only"),
    (60, " claude-opus-5-5  34% of 1.0M  cache 92%  $1.50  plan only"),
    (50, " claude-opus-5-5  34% of 1.0M  cache 92%  $1.50"),
    (40, " claude-opus-5-5  34% of 1.0M  $1.50"),
    (30, " claude-opus-5-5  34% of 1.0M"),
    (20, " 34% of 1.0M"),
    (6, " 34% …"),
]


@pytest.mark.parametrize(("width", "line"), STATUSES)
def test_the_status_line_tells_as_much_as_fits(width: int, line: str) -> None:
    assert terminal.status_line(FULL, width).plain == line


def test_the_status_of_a_beginning() -> None:
    assert terminal.status_line(None, 80).plain == " opening…"
    fresh = terminal.status_line(Status("offline", 1, 200_000), 80).plain
    assert fresh == " offline  █░░░░░░░░░  0% of 200.0k  $0.00"
    unpriced = Status("mine", 0, 0, unpriced=1)
    assert terminal.status_line(unpriced, 80).plain == " mine  ░░░░░░░░░░  0% of 0  $0.00 + ?"
    assert terminal.bar(2.0, "red").plain == "█" * 10


async def nothing(arguments: Arguments, workplace: Workplace) -> str:
    return ""


def asked(name: str, arguments: dict[str, object], *paths: Path) -> list[str]:
    """The question a user sees before allowing a call."""
    spec = ToolSpec.of(name, "", {})
    tool = Tool(spec, nothing, lambda a, w: "edit", lambda a: f"{name} …", paths=lambda a, w: paths)
    call = Call(tool, arguments, "edit", paths)
    return shown(*question(call, Asked("", "this")).shown, width=40)


def test_a_command_is_shown_whole_before_it_is_allowed() -> None:
    hidden = "echo \u202egnp.exe\u200b " + "x" * 60
    lines = asked("Bash", {"command": f"cd /tmp\n{hidden}\n\x1b[8mrm"})
    assert lines[:2] == ["● Bash …", "    cd /tmp"]
    assert "echo \\u202egnp.exe\\u200b" in lines[2]
    assert "".join(lines).count("x") == 60 + len("e\\x1b") - 3
    assert lines[-1] == "    \\x1b[8mrm"
    many = asked("Bash", {"command": "true\n" * 100})
    assert many[-1] == "    … 61 more lines"


def test_a_change_is_shown_where_it_is_made(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("one\ntwo\nthree\nfour\n")
    edit = list(filter(None, asked("Edit", {"old_text": "three", "new_text": "3"}, file)))
    assert edit[-6:] == [
        "    @@ line 1 @@",
        "     one",
        "     two",
        "    -three",
        "    +3",
        "     four",
    ]
    elsewhere = asked("Edit", {"old_text": "gone", "new_text": "here"}, file)
    assert elsewhere[-2:] == ["    -gone", "    +here"]
    written = asked("Write", {"content": "one\ntwo\n"}, file)
    assert {"    -three", "    -four"} <= set(written)
    created = asked("Write", {"content": "a\nb\n"}, tmp_path / "new.py")
    assert created[-2:] == ["    +a", "    +b"]
    assert asked("Other", {"x": 1}) == ["● Other …"]


@pytest.mark.parametrize(
    ("scope", "words"),
    [
        ("edits in this project", "edits in this project"),
        ('Bash: {"command": "ls"}', "this same Bash call"),
    ],
)
def test_what_always_covers_is_said_in_words(scope: str, words: str) -> None:
    tool = Tool(ToolSpec.of("Bash", "", {}), nothing, lambda a, w: "edit", lambda a: "ls")
    call = Call(tool, {"command": "ls"}, "edit", ())
    assert question(call, Asked("Allow ls?", scope)).scope == words


def test_a_question_stays_on_the_screen_if_it_fits() -> None:
    canvas = Canvas(40, 24)
    small = Question((Line("small"),), "this")
    large = Question(tuple(Line(f"row {n}") for n in range(30)), "this")
    assert canvas.fits(small)
    assert "small" in canvas.asked(small)
    assert not canvas.fits(large)
    assert "row" not in canvas.asked(large)
    assert "y yes · a always (this) · n no" in canvas.asked(large)


def test_a_draft_shows_its_end() -> None:
    canvas = Canvas(10, 12)
    assert canvas.draft(" \n") == []
    drawn = shown(*canvas.draft("one\n" * 50 + "the very end"), width=10)
    assert drawn == ["", "the very", "end"]


class Paper:
    """A screen that keeps everything."""

    markdown = True
    width = 60

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.doing: list[tuple[str, str]] = []

    def show(self, *renderables: RenderableType) -> None:
        self.lines += shown(*renderables)

    def under_way(self, what: Line | None, draft: str = "") -> None:
        self.doing.append(("" if what is None else what.plain, draft))


TURN: list[Event] = [
    ThinkingDelta("Hm, "),
    ThinkingDelta("let me\nsee."),
    TextDelta("I look.\n\nThe"),
    TextDelta("n I say."),
    ToolUseStarted("t1", "Read"),
    Replied(Reply("r1", "m", (), "tool_use")),
    ToolStarted("t1", "Read", "Read a.py"),
    ToolStarted("t2", "Grep", "Grep 'x'"),
    ToolFinished("t2", "Grep", "Grep 'x'", result("1\n2")),
    ToolFinished("t1", "Read", "Read a.py", result("1\n2\n3")),
    LayerFired("tool results", 9_000, 100, "too long"),
    TextDelta("Done."),
    Replied(Reply("r2", "m", (), "end")),
    TurnEnded("end"),
]


def test_a_turn_as_it_is_told() -> None:
    paper = Paper()
    printer = EventPrinter(paper)
    printer.began()
    for event in TURN:
        printer.on_event(event)
    printer.ended()
    assert paper.lines == [
        *("", "∴ Hm, let me see."),
        *("", "I look."),
        *("", "Then I say."),
        *("", "● Grep 'x'", "  ✓ 2 lines", "● Read a.py", "  ✓ 3 lines"),
        *("", "▸ tool results: 9,000 → 100 tokens, too long"),
        *("", "Done."),
    ]
    assert ("answering", "The") in paper.doing
    assert ("thinking", "Hm, let me\nsee.") in paper.doing
    assert ("preparing Read", "") in paper.doing
    assert ("● Read a.py, ● Grep 'x'", "") in paper.doing
    assert paper.doing[-1] == ("", "")


def test_a_turn_told_in_quiet() -> None:
    paper = Paper()
    printer = EventPrinter(paper, quiet=True)
    for event in TURN:
        printer.on_event(event)
    assert not [line for line in paper.lines if line.startswith(("▸", "∴"))]
    assert "● Read a.py" in paper.lines


def test_what_came_before_an_interrupt_is_told() -> None:
    paper = Paper()
    printer = EventPrinter(paper)
    printer.on_event(TextDelta("Half a sent"))
    printer.ended()
    assert paper.lines == ["", "Half a sent"]


def test_counting() -> None:
    tally = Tally()
    for event in (*TURN, MemoriesSurfaced(("a.md", "b.md"), ""), MemoriesSurfaced(("a.md",), "")):
        tally.on_event(event)
    assert tally.requests == 2
    assert dict(tally.layers) == {"tool results": 1}
    assert tally.memories == ["a.md", "b.md"]
    assert (tally.cost, tally.unpriced) == (0.0, 0)
