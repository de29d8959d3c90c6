"""What the demo shows of a run: lines, tables, drawings, files. The runs here are made up."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.place import Place

from reverie.cli.demo import charts, page, picture, report, saving
from reverie.cli.demo.actor import ELSEWHERE, OWN_WORDS, RECALLED, Actor
from reverie.cli.demo.charts import Line, Panel
from reverie.cli.demo.live import LiveView
from reverie.cli.demo.past import DREAM
from reverie.cli.demo.runs import VARIANTS, Fired, Learnt, Run, Turn, Variant
from reverie.cli.demo.script import Fact, Lesson, Scene, says
from reverie.cli.demo.script import run as command
from reverie.cli.demo.stage import WINDOW, Unlimited, away_from_home
from reverie.core.messages import (
    Attachment,
    Block,
    Message,
    Text,
    ToolResult,
    ToolUse,
    new_message,
)
from reverie.core.request import Head, Request
from reverie.core.usage import Usage
from reverie.core.window import Window
from reverie.errors import InputError
from reverie.learning.dreaming.prompts import Surroundings, parse_account
from reverie.learning.dreaming.prompts import directive as dream_directive
from reverie.learning.extraction.prompts import directive

FULL = WINDOW.blocking


def turn(number: int, largest: int = 9_000, *fired: Fired, away: float = 0.0) -> Turn:
    return Turn(
        number=number,
        asks=f"question {number} <b>\nand more",
        requests=2,
        usage=Usage(input=100, cache_read=largest, cache_write_5m=900, output=50),
        cost=0.01,
        spent=0.01 * number,
        context=largest,
        largest=largest,
        fired=fired,
        away=away,
    )


def made(variant: Variant = VARIANTS[0], *turns: Turn, factor: float = 1.0) -> Run:
    """A run that lost nothing; `factor` makes another one dearer or cheaper."""
    turns = turns or (turn(1), turn(2))
    spent = tuple(replace(one, spent=one.spent * factor) for one in turns)
    facts: dict[str, tuple[str, ...]] = {"a fact": (OWN_WORDS,)}
    return Run(variant, WINDOW, spent, facts, (), 2, 0, uncached_cost=0.5)


def shown(width: int, terminal: bool = False) -> Console:
    return Console(
        file=StringIO(), width=width, force_terminal=terminal, markup=False, highlight=False
    )


def text_of(console: Console) -> str:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


class TestTheLiveView:
    @pytest.mark.parametrize("width", [80, 120, 10_000])
    async def test_a_line_a_turn(self, width: int) -> None:
        console = shown(width)
        view = LiveView(console)
        view.open(2)
        await view.tell(turn(1, 16_000, Fired(1, "tool results", 5_000, 500)))
        await view.tell(
            turn(2, 9_000, Fired(0, "rounding"), Fired(3, "notes, by rules"), away=4_500)
        )
        text = text_of(console)
        assert "A session of 2 turns" in text
        assert re.search(
            r" 1 question 1 .* 17\.0k ████░░░░  50 %  94 % \$0\.0100 1: 5,000 → 500", text
        )
        assert re.search(r"resumed from its journal 75 minutes later", text)
        assert re.search(
            r" 2 question 2 .* 10\.0k ██░░░░░░  28 %  90 % \$0\.0200 M: rounding", text
        )
        assert "3: notes, by rules" in text
        assert "\x1b" not in text
        rows = [line for line in text.splitlines() if "█" in line]
        assert max(map(len, rows)) <= min(width, 132)

    async def test_many_layers_in_one_turn_are_not_torn(self) -> None:
        console = shown(80)
        fired = [Fired(number, "", 10_000, 5_000) for number in (1, 2, 3, 4)]
        await LiveView(console).tell(turn(1, 9_000, *fired))
        lines = text_of(console).splitlines()
        assert [line[-24:].strip() for line in lines] == [
            f"{n}: 10.0k → 5,000" for n in (1, 2, 3, 4)
        ]

    async def test_a_long_name_is_cut(self) -> None:
        console = shown(80)
        await LiveView(console).tell(turn(1, 9_000, Fired(5, f"saved: {'x' * 90}"), Fired(6, "y")))
        first, second = text_of(console).splitlines()
        assert re.search(r" 5: saved: x+…$", first)
        assert second.strip() == "6: y"

    @pytest.mark.parametrize("calls", [0, 3])
    def test_what_the_dream_came_to(self, calls: int) -> None:
        console = shown(100)
        dream = Learnt(6, "dream", calls, kept=("a.md",), refused=("b.md would lose '7'",))
        LiveView(console).close(replace(made(), learnt=(Learnt(5, "extraction", 4), dream)))
        told = "6: the dream: 1 memory changed; refused: b.md would lose '7'\n"
        assert text_of(console) == (told if calls else "")

    async def test_colour_on_a_terminal(self) -> None:
        console = shown(100, terminal=True)
        await LiveView(console).tell(turn(1, FULL, Fired(4, "", 9, 8)))
        text = text_of(console)
        assert "\x1b[31m██████" in text
        assert "\x1b[1;35m4: \x1b[0m9 → 8" in text


class TestWhatWasLost:
    WHOLE = made()

    def test_nothing(self) -> None:
        assert report.lost(self.WHOLE, self.WHOLE) == "nothing"

    def test_a_full_window(self) -> None:
        found = made(VARIANTS[-1], turn(1), turn(2, FULL), turn(3, FULL - 1))
        assert found.full_in == 2
        assert report.lost(found, self.WHOLE) == (
            "the window is full in turn 2: the last 2 turns never happen"
        )

    def test_summaries_one_waits_for(self) -> None:
        waiting = made(VARIANTS[3], turn(1, 9_000, Fired(4, "", 9, 8)))
        assert report.lost(waiting, self.WHOLE) == "you wait for 1 summary by the model"

    def test_facts_and_messages(self) -> None:
        forgot = replace(self.WHOLE, found={"a fact": ()}, missing=("hello",))
        assert report.lost(forgot, self.WHOLE) == "1 message; a fact"


class TestChecks:
    def failing(self, run: Run) -> list[str]:
        return [check.name for check in report.checks(run) if not check.passed]

    @pytest.mark.parametrize(
        ("change", "name"),
        [
            ({"missing": ("hello",)}, "every message of yours is still sent, word for word"),
            ({"found": {"a fact": ()}}, "known at the end: a fact"),
            ({"unexpected_breaks": 1}, "no cache break that no layer announced"),
            ({"turns": (turn(1, FULL),)}, "the window was never full"),
            ({"troubles": ("disk: full",)}, "nothing failed on the way"),
            (
                {"learnt": (Learnt(5, "extraction", kept=("a", "b"), foreign=("b",)),)},
                "nothing was saved that you did not say",
            ),
        ],
    )
    def test_each_can_fail(self, change: dict[str, object], name: str) -> None:
        assert self.failing(made()) == []
        assert self.failing(replace(made(), **change)) == [name]  # type: ignore[arg-type]

    def test_they_are_shown(self) -> None:
        console = shown(100)
        report.show(console, [replace(made(), unexpected_breaks=1), made(VARIANTS[-1], factor=2)])
        text = text_of(console)
        assert "✓ known at the end: a fact: in the person's own words" in text
        assert "✗ no cache break that no layer announced: 1" in text
        assert "50 % less cost" in text
        assert report.LATER in text

    def test_what_is_cheaper_is_said(self) -> None:
        runs = [made(), made(VARIANTS[3], factor=0.5), made(VARIANTS[-1], factor=2)]
        assert "Cheaper, for what they lose: without 3." in report.savings(runs)
        assert "Cheaper" not in report.savings(runs[::2])


class TestWhatWasLearnt:
    LEARNT = (
        Learnt(5, "extraction", 9, Usage(input=100), 0.01, ("a.md", "b.md"), (), ("x (a tool)",)),
        Learnt(6, "dream", 3, Usage(input=50), 0.02, ("c.md",), refused=("d.md <would> lose it",)),
    )
    RUNS = (replace(made(), learnt=LEARNT), made(VARIANTS[-1], factor=2))

    def test_on_the_screen(self) -> None:
        console = shown(120)
        report.show(console, self.RUNS)
        text = text_of(console)
        assert re.search(r"5 extraction +9 +100 +0.0 % +\$0\.0100 +2 memories saved", text)
        assert "for you to decide: x (a tool)" in text
        assert re.search(r"6 dream +3 +50 .* 1 memory changed", text)
        assert "refused: d.md <would> lose it" in text
        assert "come on top of its figures: $0.0300 more, $0.0500 in all" in " ".join(text.split())

    def test_on_the_page(self) -> None:
        text = page.render(self.RUNS)
        assert "1 memory changed; refused: d.md &lt;would&gt; lose it" in text
        assert "What was learnt" not in page.render([made(), made(VARIANTS[-1])])

    def test_as_json(self) -> None:
        [first, second] = report.as_json(self.RUNS, [], None)["learnt"]
        assert (first["layer"], first["tokens_sent"], first["kept"]) == (5, 100, ("a.md", "b.md"))
        assert second["refused"] == ("d.md <would> lose it",)


class TestDrawings:
    @pytest.mark.parametrize(
        ("most", "top"), [(78_449, 80_000), (232_000, 240_000), (1.48, 1.6), (0.03, 0.032), (4, 4)]
    )
    def test_the_scale_is_round(self, most: float, top: float) -> None:
        assert Panel("", (Line("a", (most,)),), str).top == pytest.approx(top)

    @given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=6))
    def test_no_line_leaves_the_drawing(self, ends: list[float]) -> None:
        panel = Panel("t", tuple(Line(str(i), (end, end)) for i, end in enumerate(ends)), str)
        assert max(ends) <= panel.top <= 2 * max(ends) + 1e-9
        heights = [float(y) for y in re.findall(r"[\d.]+,([\d.]+)", charts.svg(panel))]
        assert all(0 <= y <= 330 for y in heights)

    @given(st.lists(st.integers(1, 100), min_size=2, max_size=6))
    def test_names_do_not_stand_over_each_other(self, ends: list[int]) -> None:
        panel = Panel("t", tuple(Line(str(i), (end,)) for i, end in enumerate(ends)), str)
        found = re.findall(r'class="label run\d" x="[\d.]+" y="([\d.]+)"', charts.svg(panel))
        places = sorted(map(float, found))
        assert len(places) == len(ends)
        assert all(b - a >= 14.9 for a, b in pairwise(places))

    def test_the_page_quotes_what_people_said(self) -> None:
        text = page.render([made(), made(VARIANTS[-1])])
        assert "question 1 &lt;b&gt; and more" in text
        assert "<b>" not in text

    def test_compactions_are_marked(self) -> None:
        run = made(
            VARIANTS[0], turn(1), turn(2, 9_000, Fired(3, "notes", 20_000, 9_000), Fired(3, "x"))
        )
        [mark] = charts.panels([run])[0].marks
        assert (mark.turn, mark.name, mark.what) == (2, "3", "notes")
        assert "turn 2, layer 3: notes" in page.render([run, run])


class TestSaving:
    def test_a_number_where_there_is_one_already(self, tmp_path: Path) -> None:
        wanted = tmp_path / "x.html"
        assert saving.free(wanted) == wanted
        wanted.write_text("mine")
        (tmp_path / "x-2.png").write_text("mine too")
        assert saving.free(wanted) == tmp_path / "x-3.html"

    def test_into_a_folder(self, place: Place) -> None:
        assert saving.free(place.root) == place.root / "reverie-demo.html"
        assert saving.free(Path("a.HTM")) == place.root / "a.HTM"

    @pytest.mark.parametrize("name", ["x.pdf", "x", "no/x.html"])
    def test_what_cannot_be(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(InputError, match="--output"):
            saving.free(tmp_path / name)

    def test_a_picture_where_matplotlib_is_installed(
        self, tmp_path: Path, matplotlib: Path
    ) -> None:
        runs = [made(), made(VARIANTS[-1])]
        assert saving.save(runs, tmp_path / "r.html") == [tmp_path / "r.html", tmp_path / "r.png"]
        drawn = (tmp_path / "r.png").read_text()
        assert drawn.split().count("plot") == 6
        assert drawn.count("axhline") == 1

    @pytest.mark.skipif(picture.available(), reason="matplotlib is installed here")
    def test_only_the_page_without_it(self, tmp_path: Path) -> None:
        assert saving.save([made(), made()], tmp_path / "r.html") == [tmp_path / "r.html"]


@pytest.fixture
def matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of that name, found and then forgotten."""
    package = tmp_path / "site" / "matplotlib"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "figure.py").write_text(MATPLOTLIB)
    names = ("matplotlib", "matplotlib.figure")
    for name in names:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.syspath_prepend(str(package.parent))
    yield package
    for name in names:
        sys.modules.pop(name, None)


# As much of matplotlib as is used: what is drawn is written down.
MATPLOTLIB = """
class Recorder:
    def __init__(self, log):
        self.log = log

    def __getattr__(self, name):
        self.log.append(name)
        return Recorder(self.log)

    def __call__(self, *args, **kwargs):
        return self

    def __getitem__(self, key):
        return self


class Figure:
    def __init__(self, **options):
        self.log = []

    def subplots(self, count, squeeze):
        axes = [Recorder(self.log) for _ in range(count)]
        return type("Axes", (), {"flat": axes})()

    def savefig(self, path, dpi):
        path.write_text(" ".join(self.log))
"""


class TestTheActor:
    FACT = Fact("colour", ("blue",), "It is blue.")
    SCENE = Scene(
        "Which colour?", (says("Looking.", command("ls {memory}")), says("")), "", (FACT,)
    )

    def entered(self) -> Actor:
        actor = Actor("/m")
        actor.enter(self.SCENE)
        return actor

    def spoken(self, actor: Actor, *messages: object) -> str:
        request = Request(Head("m"), messages)  # type: ignore[arg-type]
        return "".join(block.text for block in actor.speak(request) if isinstance(block, Text))

    def test_it_plays_the_script(self) -> None:
        first = self.entered().speak(Request(Head("m"), (new_message("user", Text("hi")),)))
        assert first == (Text("Looking."), ToolUse("call_1", "Bash", '{"command": "ls /m"}'))

    @pytest.mark.parametrize(
        ("message", "place"),
        [
            (new_message("user", Text("make it blue")), OWN_WORDS),
            (
                new_message("user", Attachment("user-messages", "> blue"), origin="reverie"),
                OWN_WORDS,
            ),
            (new_message("user", Attachment("recall", "blue"), origin="reverie"), RECALLED),
            (new_message("user", Text("so far: blue"), origin="reverie"), ELSEWHERE),
            (new_message("assistant", Text("blue")), ELSEWHERE),
        ],
    )
    def test_it_tells_what_is_still_there(self, message: object, place: str) -> None:
        actor = self.entered()
        self.spoken(actor, message)
        assert self.spoken(actor, message) == "It is blue."
        assert actor.found == {"colour": (place,)}

    def test_it_does_not_tell_what_is_gone(self) -> None:
        actor = self.entered()
        message = new_message("user", Text("hm"))
        self.spoken(actor, message)
        assert "not in my context" in self.spoken(actor, message)
        assert actor.found == {"colour": ()}


class TestSideTasks:
    """What the scripted model writes when a fork asks it to learn or to dream."""

    LESSON = Lesson("project_x.md", "It is blue", "project", "It is blue.")
    FORK = "<side-task>\n"

    def asked(
        self, task: str, *answers: Message, lessons: tuple[Lesson, ...] = ()
    ) -> Sequence[Block]:
        actor = Actor("/m")
        actor.enter(Scene("Make it blue.", (), "", lessons=lessons))
        told = new_message("user", Text(self.FORK + task), origin="reverie")
        return actor.speak(Request(Head("m"), (told, *answers)))

    def results(self, *errors: bool) -> Message:
        blocks = (ToolResult(f"c{i}", (Text(""),), is_error) for i, is_error in enumerate(errors))
        return new_message("user", *blocks, origin="tool")

    def learning(self) -> str:
        said = new_message("user", Text("Make it blue."))
        tool = self.results(False)
        return directive((said, tool), "/m", "")

    def test_a_lesson_cites_who_said_it(self) -> None:
        [call] = self.asked(self.learning(), lessons=(self.LESSON,))
        assert isinstance(call, ToolUse)
        assert call.input["path"] == "/m/project_x.md"
        assert "source: [1]\n---\nIt is blue.\n" in call.input["content"]
        [call] = self.asked(self.learning(), lessons=(replace(self.LESSON, voice="tool"),))
        assert isinstance(call, ToolUse)
        assert "source: [2]\n" in call.input["content"]

    def test_where_there_is_none_nothing_is_written(self) -> None:
        assert self.asked(self.learning()) == (Text("Nothing to keep."),)

    def test_it_writes_once(self) -> None:
        said = self.asked(self.learning(), self.results(False), lessons=(self.LESSON,))
        assert said == (Text("Written."),)

    def test_a_dream_reads_then_edits_what_is_there_then_accounts(self) -> None:
        task = dream_directive(Path("/m"), Surroundings(Path("/t")))
        reads = self.asked(task)
        assert [one.name for one in reads if isinstance(one, ToolUse)] == ["Read"] * len(DREAM)
        found = self.results(*([False] * (len(DREAM) - 1)), True)
        edits = self.asked(task, found)
        assert [one.name for one in edits if isinstance(one, ToolUse)] == ["Edit"] * len(edits)
        assert len(edits) == len(DREAM) - 1
        [account] = self.asked(task, found, self.results(*[False] * len(edits)))
        assert isinstance(account, Text)
        assert list(parse_account(account.text)) == [one.file for one in DREAM[:-1]]


def test_an_unlimited_window_keeps_its_thresholds() -> None:
    window = Unlimited(32_000, "x")
    plain = Window(32_000, "x")
    assert (window.compaction, window.warning) == (plain.compaction, plain.warning)
    assert (window.state(10**6), plain.state(10**6)) == ("compact", "blocked")


def test_away_from_home_and_back(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REVERIE_HOME", "/somewhere")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", "/else")
    other = place.base / "other"
    with away_from_home(other):
        assert Path.home() == other
        assert place.app().settings.home == other / ".reverie"
    assert Path.home() == place.person
    assert str(place.app().settings.home) == "/somewhere"
