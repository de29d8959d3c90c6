"""What the demo shows of a run: lines, tables, drawings, files. The runs here are made up."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.place import Place

from reverie.cli import demo as screen
from reverie.cli.demo import LiveView, page
from reverie.cli.demo.page import Panel
from reverie.cli.demo.player import (
    WINDOW,
    Answer,
    Fired,
    Learnt,
    Run,
    Turn,
    Unlimited,
    away_from_home,
)
from reverie.cli.demo.script import DREAM, ELSEWHERE, OWN_WORDS, RECALLED, Actor, Scene
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
from reverie.learning.dreaming.dreamer import Surroundings, parse_account
from reverie.learning.dreaming.dreamer import directive as dream_directive
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


def made(name: str = "all layers", *turns: Turn, factor: float = 1.0) -> Run:
    """A run that lost nothing; `factor` makes another one dearer or cheaper."""
    turns = turns or (turn(1), turn(2))
    spent = [replace(one, spent=one.spent * factor) for one in turns]
    run = Run(name, turns=spent, found={"a fact": [OWN_WORDS]}, expected_breaks=2)
    run.cost_without_cache = 0.5
    return run


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
        assert [line[56:] for line in lines] == [f"{n}: 10.0k → 5,000" for n in (1, 2, 3, 4)]

    async def test_a_long_name_is_cut(self) -> None:
        console = shown(80)
        await LiveView(console).tell(turn(1, 9_000, Fired(5, f"saved: {'x' * 90}"), Fired(6, "y")))
        first, second = text_of(console).splitlines()
        assert re.search(r" 5: saved: x+…$", first)
        assert second.strip() == "6: y"

    async def test_colour_on_a_terminal(self) -> None:
        console = shown(100, terminal=True)
        await LiveView(console).tell(turn(1, FULL, Fired(4, "", 9, 8)))
        text = text_of(console)
        assert "\x1b[31m██████" in text
        assert "\x1b[1;35m4: \x1b[0m9 → 8" in text


class TestWhatWasLost:
    WHOLE = made()

    def test_nothing(self) -> None:
        assert screen.lost(self.WHOLE, self.WHOLE) == "nothing"

    def test_a_full_window(self) -> None:
        found = made("no layers", turn(1), turn(2, FULL), turn(3, FULL - 1))
        assert found.full_in_turn == 2
        assert screen.lost(found, self.WHOLE) == (
            "the window is full in turn 2: the last 2 turns never happen"
        )

    def test_summaries_one_waits_for(self) -> None:
        waiting = made("without 3", turn(1, 9_000, Fired(4, "", 9, 8)))
        assert screen.lost(waiting, self.WHOLE) == "you wait for 1 summary by the model"

    def test_facts_and_messages(self) -> None:
        forgot = replace(self.WHOLE, found={"a fact": ()}, missing=("hello",))
        assert screen.lost(forgot, self.WHOLE) == "1 message; a fact"


class TestChecks:
    def failing(self, run: Run) -> list[str]:
        return [check.name for check in screen.checks(run) if not check.passed]

    @pytest.mark.parametrize(
        ("change", "name"),
        [
            ({"missing": ("hello",)}, "every message of yours is still sent, word for word"),
            ({"found": {"a fact": []}}, "known at the end: a fact"),
            (
                {"answers": [Answer("x", "Is it?", "No.", "Yes.", (), "")]},
                "memory changes the answer: x",
            ),
            (
                {"answers": [Answer("x", "Is it?", "No.", "No.", ["a.md"], "")]},
                "memory changes the answer: x",
            ),
            ({"unexpected_breaks": 1}, "no cache break that no layer announced"),
            ({"turns": [turn(1, FULL)]}, "the window was never full"),
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
        screen.show(
            console, [replace(made(), unexpected_breaks=1), made("no layers", factor=2)], [], None
        )
        text = text_of(console)
        assert "✓ known at the end: a fact: in your own words" in text
        assert "✗ no cache break that no layer announced: 1" in text
        assert "50 % less cost" in text
        assert screen.LATER in text

    def test_what_is_cheaper_is_said(self) -> None:
        runs = [made(), made("without 3", factor=0.5), made("no layers", factor=2)]
        assert "Cheaper, for what they lose: without 3." in screen.savings(runs)
        assert "Cheaper" not in screen.savings(runs[::2])


class TestWhatWasLearnt:
    LEARNT = (
        Learnt(5, "extraction", 9, Usage(input=100), 0.01, ("a.md", "b.md"), (), ("x (a tool)",)),
        Learnt(6, "dream", 3, Usage(input=50), 0.02, ("c.md",), refused=("d.md <would> lose it",)),
    )
    RUNS = (replace(made(), learnt=LEARNT), made("no layers", factor=2))

    def test_on_the_screen(self) -> None:
        console = shown(120)
        screen.show(console, self.RUNS, ["/r.html"], None)
        text = text_of(console)
        assert re.search(r"5 extraction +9 +100 +0.0 % +\$0\.0100 +2 memories saved", text)
        assert "for you to decide: x (a tool)" in text
        assert re.search(r"6 dream +3 +50 .* 1 memory changed", text)
        assert "refused: d.md <would> lose it" in text
        assert "$0.0300 of it is for learning (layers 5 and 6)" in " ".join(text.split())
        assert "(no PNG: matplotlib is not installed)" in text

    def test_on_the_page(self) -> None:
        text = page.render(self.RUNS)
        assert "1 memory changed; refused: d.md &lt;would&gt; lose it" in text

    def test_as_json(self) -> None:
        [first, second] = screen.as_json(self.RUNS, [], None)["learnt"]
        assert (first["layer"], first["tokens_sent"], first["kept"]) == (5, 100, ("a.md", "b.md"))
        assert (first["hit_rate"], first["cost"]) == (0.0, 0.01)
        assert second["refused"] == ("d.md <would> lose it",)


class TestDrawings:
    @pytest.mark.parametrize(
        ("most", "top"), [(78_449, 80_000), (232_000, 240_000), (1.48, 1.6), (0.03, 0.032), (4, 4)]
    )
    def test_the_scale_is_round(self, most: float, top: float) -> None:
        assert Panel("", {"a": [most]}, str).top == pytest.approx(top)

    @given(st.lists(st.floats(0.001, 1e9), min_size=1, max_size=6))
    def test_no_line_leaves_the_drawing(self, ends: list[float]) -> None:
        panel = Panel("t", {str(i): [end, end] for i, end in enumerate(ends)}, str)
        assert max(ends) <= panel.top <= 2 * max(ends) + 1e-9
        heights = [float(y) for y in re.findall(r"[\d.]+,([\d.]+)", page.svg(panel))]
        assert all(0 <= y <= 330 for y in heights)

    @given(st.lists(st.integers(1, 100), min_size=2, max_size=6))
    def test_names_do_not_stand_over_each_other(self, ends: list[int]) -> None:
        panel = Panel("t", {str(i): [end] for i, end in enumerate(ends)}, str)
        found = re.findall(r'class="label run\d" x="[\d.]+" y="([\d.]+)"', page.svg(panel))
        places = sorted(map(float, found))
        assert len(places) == len(ends)
        assert all(b - a >= 14.9 for a, b in pairwise(places))

    def test_the_page_quotes_what_people_said(self) -> None:
        text = page.render([made(), made("no layers")])
        assert "question 1 &lt;b&gt; and more" in text
        assert "<b>" not in text

    def test_nothing_on_the_page_is_markup(self) -> None:
        """Whatever a model, a memory or a failure says."""
        bad = '"><script>alert(1)</script>$savings'
        run = replace(
            made(bad, turn(1, 9_000, Fired(3, bad, 2, 1))),
            found={bad: [bad]},
            troubles=[bad],
            learnt=(Learnt(5, bad, kept=(bad,), waiting=(bad,)), Learnt(6, bad, refused=(bad,))),
            answers=[Answer(bad, bad, bad, bad, [bad], bad)],
        )
        text = page.render([run, made("no layers")])
        assert "<script" not in text
        assert text.count("&lt;script&gt;alert(1)&lt;/script&gt;$savings") > 10

    def test_compactions_are_marked(self) -> None:
        run = made(
            "all layers", turn(1), turn(2, 9_000, Fired(3, "notes", 20_000, 9_000), Fired(3, "x"))
        )
        [mark] = page.panels([run])[0].marks
        assert (mark.turn, mark.name, mark.what) == (2, "3", "notes")
        assert "turn 2, layer 3: notes" in page.render([run, run])


class TestSaving:
    def test_a_number_where_there_is_one_already(self, tmp_path: Path) -> None:
        wanted = tmp_path / "x.html"
        assert page.free(wanted) == wanted
        wanted.write_text("mine")
        (tmp_path / "x-2.png").write_text("mine too")
        assert page.free(wanted) == tmp_path / "x-3.html"

    def test_into_a_folder(self, place: Place) -> None:
        assert page.free(place.root) == place.root / "reverie-demo.html"
        assert page.free(Path("a.HTM")) == place.root / "a.HTM"

    @pytest.mark.parametrize("name", ["x.pdf", "x", "no/x.html"])
    def test_what_cannot_be(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(InputError, match="--output"):
            page.free(tmp_path / name)

    def test_a_picture_where_matplotlib_is_installed(
        self, tmp_path: Path, matplotlib: Path
    ) -> None:
        runs = [made(), made("no layers")]
        assert page.save(runs, tmp_path / "r.html") == [tmp_path / "r.html", tmp_path / "r.png"]
        drawn = (tmp_path / "r.png").read_text()
        assert drawn.split().count("plot") == 6
        assert drawn.count("axhline") == 1

    @pytest.mark.skipif(bool(find_spec("matplotlib")), reason="matplotlib is installed here")
    def test_only_the_page_without_it(self, tmp_path: Path) -> None:
        assert page.save([made(), made()], tmp_path / "r.html") == [tmp_path / "r.html"]


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
    FACT: ClassVar = {
        "name": "colour",
        "words": "blue",
        "answer": "It is blue.",
        "otherwise": "It is grey.",
    }
    SCENE = Scene(
        "Which colour?",
        ({"says": "Looking.", "calls": [{"Bash": "ls {memory}"}]}, {"says": ""}),
        fact=FACT,
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
            (new_message("user", ToolResult("c", (Text("blue"),)), origin="tool"), ELSEWHERE),
        ],
    )
    def test_it_tells_what_is_still_there(self, message: object, place: str) -> None:
        actor = self.entered()
        self.spoken(actor, message)
        assert self.spoken(actor, message) == "It is blue."
        assert actor.found == {"colour": [place]}

    def test_it_does_not_tell_what_is_gone(self) -> None:
        actor = self.entered()
        message = new_message("user", Text("hm"))
        self.spoken(actor, message)
        assert self.spoken(actor, message) == "It is grey."
        assert (actor.found, actor.recalled) == ({"colour": []}, [])

    def test_it_names_the_memory_that_has_the_words(self) -> None:
        actor = self.entered()
        text = "Notes.\n\n## a.md (saved today)\nred\n\n## b.md (saved today)\nblue"
        recalled = new_message("user", Attachment("recall", text), origin="reverie")
        self.spoken(actor, recalled)
        self.spoken(actor, recalled)
        assert actor.recalled == ["b.md"]


class TestSideTasks:
    """What the scripted model writes when a fork asks it to learn or to dream."""

    FILE = "feedback_tests.md"
    FORK = "<side-task>\n"

    def asked(
        self, task: str, *answers: Message, lessons: dict[str, str] | None = None
    ) -> Sequence[Block]:
        actor = Actor("/m")
        actor.enter(Scene("Make it blue.", lessons=lessons or {}))
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
        [call] = self.asked(self.learning(), lessons={self.FILE: "user"})
        assert isinstance(call, ToolUse)
        assert call.input["path"] == f"/m/{self.FILE}"
        assert "source: [1]\n---\nDon't change tests" in call.input["content"]
        [call] = self.asked(self.learning(), lessons={self.FILE: "tool"})
        assert isinstance(call, ToolUse)
        assert "source: [2]\n" in call.input["content"]

    def test_where_there_is_none_nothing_is_written(self) -> None:
        assert self.asked(self.learning()) == (Text("Nothing to keep."),)

    def test_it_writes_once(self) -> None:
        said = self.asked(self.learning(), self.results(False), lessons={self.FILE: "user"})
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
        assert list(parse_account(account.text)) == [one["file"] for one in DREAM[:-1]]


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
