"""`reverie demo` as a person runs it, once for all tests here: it is a long session, seven times over.

docs/demo.md and README.md show what it prints. After a change that is meant: `make docs`, then read
the diff.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.cli.run import done, failed, run
from tests.place import Place

from reverie.cli.demo import script
from reverie.cli.demo.player import Player, Run
from reverie.cli.demo.script import QUESTIONS, SCENES, VARIANTS
from reverie.conversation import journal
from reverie.conversation.records import Said
from reverie.core.messages import ToolResult, ToolUse

SECRET = "The parrot is called Ottokar"
ROOT = Path(__file__).parents[2]

# Runs the command line, and keeps the data of `--json` beside what is printed.
RUN = """
import json, pathlib
from reverie import cli
from reverie.cli import demo as screen

def keep(*args, made=screen.as_json):
    data = made(*args)
    pathlib.Path("data.json").write_text(json.dumps(data), "utf-8")
    return data

screen.as_json = keep
cli.main()
"""


@dataclass(frozen=True)
class Played:
    """What was printed, where it played, and the home of the person before and after."""

    data: Any
    printed: str
    errors: str
    folder: Path
    page: Path
    before: dict[str, tuple[int, bytes]]
    after: dict[str, tuple[int, bytes]]

    def run(self, name: str) -> Any:
        [found] = [one for one in self.data["runs"] if one["name"] == name]
        return found

    def said(self) -> Iterator[Said]:
        [path] = (self.folder / "1" / "home").glob("projects/*/sessions/demo.jsonl")
        return (record for record in journal.load(path).records if isinstance(record, Said))


def files_in(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def lived_in(base: Path) -> Path:
    """The home of somebody who uses Reverie and Claude Code, with settings that would show."""
    person = base / "person"
    for name, text in {
        ".reverie/settings.toml": "features.tool_result_storage = false\n",
        ".reverie/projects/x/memory/note.md": f"---\nname: n\n---\n{SECRET}\n",
        ".claude/CLAUDE.md": f"{SECRET}\n",
        "memory/own.md": f"---\nname: own\n---\n{SECRET}\n",
    }.items():
        path = person / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return person


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    base = tmp_path_factory.mktemp("demo")
    person = lived_in(base)
    here = base / "here"
    here.mkdir()
    # A short path: the demo fills it up to a length that is the same everywhere.
    with TemporaryDirectory(prefix="demo", dir="/tmp") as scratch:
        yield play(person, here, scratch)


def play(person: Path, here: Path, scratch: str) -> Played:
    (here / "reverie-demo.html").write_text("an older report")
    kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH", "LANG") if key in os.environ}
    environment = {
        **kept,
        "HOME": str(person),
        "TMPDIR": scratch,
        "REVERIE_MEMORY_DIR": str(person / "memory"),
        "REVERIE_FEATURES_AUTOCOMPACT": "false",
        "COLUMNS": "100",
    }
    before = files_in(person)
    finished = subprocess.run(
        [sys.executable, "-c", RUN, "demo", "--keep"],
        cwd=here,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=400,
    )
    assert finished.returncode == 0, finished.stderr
    data = json.loads((here / "data.json").read_text("utf-8"))
    page = Path(data["files"][0])
    assert page.parent == here
    folder = Path(data["kept"])
    return Played(data, finished.stdout, finished.stderr, folder, page, before, files_in(person))


class TestNothingOfTheirs:
    def test_the_home_of_the_person_is_as_it_was(self, played: Played) -> None:
        assert played.after == played.before
        assert played.errors == ""

    def test_nothing_of_it_was_read_into_the_session(self, played: Played) -> None:
        assert all(SECRET.encode() not in data for _, data in files_in(played.folder).values())

    def test_their_settings_did_not_hold(self, played: Played) -> None:
        whole = played.run("all layers")["layers_fired"]
        assert whole["1"]
        assert whole["3"] + whole["4"]

    def test_an_older_report_is_not_overwritten(self, played: Played) -> None:
        assert played.page.name == "reverie-demo-2.html"
        assert played.page.with_name("reverie-demo.html").read_text() == "an older report"


class TestTheSession:
    def test_it_is_long(self, played: Played) -> None:
        turns = played.data["turns"]
        assert [turn["number"] for turn in turns] == list(range(1, len(turns) + 1))
        assert len(turns) >= 40
        assert sum(turn["requests"] for turn in turns) >= 90

    def test_every_layer_that_there_is_fires(self, played: Played) -> None:
        whole = played.run("all layers")
        assert whole["layers_fired"]["1"] >= 5
        assert whole["layers_fired"]["2"] >= 3
        assert whole["layers_fired"]["3"] >= 2
        assert whole["layers_fired"]["4"] >= 1
        assert whole["layers_fired"]["5"] >= 4
        assert whole["layers_fired"]["6"] == 1
        assert whole["memories_recalled"] >= 3

    def test_notes_become_the_summary_once_and_the_model_writes_one(self, played: Played) -> None:
        compacted = [f for f in self.fired(played) if f["layer"] in (3, 4) and f["before"]]
        assert {fired["layer"] for fired in compacted} == {3, 4}
        assert all(fired["after"] < fired["before"] for fired in compacted)

    def test_what_fired_made_it_smaller(self, played: Played) -> None:
        sized = [fired for fired in self.fired(played) if fired["before"] is not None]
        assert sized
        assert all(fired["after"] < fired["before"] for fired in sized)

    def fired(self, played: Played) -> list[Any]:
        return [fired for turn in played.data["turns"] for fired in turn["fired"]]

    def test_it_is_resumed_in_the_middle_with_a_lapsed_cache(self, played: Played) -> None:
        [resumed] = [turn for turn in played.data["turns"] if turn["away"]]
        assert resumed["away"] == 75 * 60
        assert 5 < resumed["number"] < len(played.data["turns"]) - 5
        # Learning reads what the turn itself had to write again.
        assert resumed["hit_rate"] == min(turn["hit_rate"] for turn in played.data["turns"]) < 0.5

    def test_the_cache_is_read_otherwise(self, played: Played) -> None:
        assert played.run("all layers")["hit_rate"] > 0.85
        assert all(turn["hit_rate"] > 0.5 for turn in played.data["turns"] if not turn["away"])

    def test_every_tool_does_what_the_script_says(self, played: Played) -> None:
        """Commands may fail, as tests do; no other tool may, or the script is wrong."""
        tools: dict[str, str] = {}
        wrong = []
        for record in played.said():
            for block in record.message.blocks:
                if isinstance(block, ToolUse):
                    tools[block.id] = block.name
                if isinstance(block, ToolResult) and block.is_error:
                    wrong.append((tools[block.tool_use_id], block.text))
        assert [text for tool, text in wrong if tool != "Bash"] == []
        assert any("failed" in text for tool, text in wrong)

    def test_the_project_is_really_mended(self, played: Played) -> None:
        checked = subprocess.run(
            ["./check"],
            cwd=played.folder / "1" / "ferry",
            capture_output=True,
            text=True,
            check=True,
        )
        assert checked.stdout.endswith("34 passed, 0 failed\n")

    def test_what_the_agent_says_of_its_tests_is_what_they_say(self, played: Played) -> None:
        """“22 of 22” in an answer follows a result that says so."""
        last = ""
        for record in played.said():
            for result in record.message.tool_results:
                last = result.text if " passed, " in result.text else last
            claim = re.search(r"(\d+) of (\d+)(?: tests)? pass", record.message.text)
            if record.message.role == "assistant" and claim:
                assert f"{claim[1]} passed, 0 failed" in last, record.message.text


class TestWhatIsLearnt:
    """Layers 5 and 6, beside the session."""

    def layer(self, played: Played, number: int) -> Any:
        [found] = [one for one in played.data["learnt"] if one["layer"] == number]
        return found

    def memories(self, played: Played) -> dict[str, str]:
        """The project's, and (under `person/`) those about the person."""
        folder = played.folder / "1"
        places = {"": folder / "memory", "person/": folder / "home" / "person" / "memory"}
        return {
            f"{whose}{path.name}": path.read_text(encoding="utf-8")
            for whose, place in places.items()
            for path in place.glob("*.md")
        }

    def lessons(self, voice: str) -> list[str]:
        files = (file for scene in SCENES for file, by in scene.lessons.items() if by == voice)
        return [script.read("memories", "learnt", file).split("---\n")[2].strip() for file in files]

    def test_what_the_person_said_is_saved_by_rules_and_by_a_model(self, played: Played) -> None:
        kept, memories = self.layer(played, 5)["kept"], self.memories(played)
        saved = "".join(memories[file] for file in kept)
        assert "Henrik leaves the port on 2027-03-31." in saved
        assert "I prefer British spelling" in saved
        assert all(text in saved for text in self.lessons("user"))
        assert all("origin: user" in memories[file] for file in kept)

    def test_what_only_a_tool_said_waits(self, played: Played) -> None:
        [lesson] = self.lessons("tool")
        [waiting] = self.layer(played, 5)["waiting"]
        assert waiting.startswith(lesson)
        assert "only in what tools" in waiting
        assert all(lesson not in text for text in self.memories(played).values())

    def test_the_dream_comes_last_and_changes_what_it_may(self, played: Played) -> None:
        dreamt = [turn["number"] for turn in played.data["turns"] for fired in turn["fired"] if fired["layer"] == 6]  # fmt: skip
        assert dreamt == [len(played.data["turns"])]
        memories = self.memories(played)
        kept = self.layer(played, 6)["kept"]
        by_model = {
            "reference_corrections.md",
            "reference_corrections_now.md",
            "project_corrected_table.md",
        }
        assert by_model < set(kept)
        assert len(kept) == len(set(kept)) == 5
        # By rules it gives memories words by which they may be asked for, and changes no other line.
        for file in set(kept) - by_model:
            asleep = played.folder / "6" / "memory" / file
            assert re.search(r"^cues: \[.+\]$", memories[file], re.M)
            if asleep.exists():  # not one that this session saved
                lines = [one for one in memories[file].splitlines() if not one.startswith("cues:")]
                assert lines == asleep.read_text("utf-8").splitlines()
        assert "sent on 2026-11-09." in memories["project_corrected_table.md"]
        assert "superseded_by:" in memories["reference_corrections.md"]
        assert "(reference_corrections.md)" not in memories["MEMORY.md"]

    def test_what_would_lose_a_date_is_refused(self, played: Played) -> None:
        [refused] = self.layer(played, 6)["refused"]
        assert refused == "project_storholm_change.md would lose '2027-04-15'"
        assert "From 2027-04-15" in self.memories(played)["project_storholm_change.md"]

    def test_it_is_in_the_totals_and_reads_the_cache(self, played: Played) -> None:
        turns, whole = played.data["turns"], played.run("all layers")
        learning = sum(one["cost"] for one in played.data["learnt"])
        assert 0 < learning < 0.05 * whole["cost"]
        assert all(one["cost"] > 0 for one in played.data["learnt"])
        # The side model reads the new messages alone, and only where something was stated.
        assert self.layer(played, 5)["hit_rate"] > 0.5
        assert self.layer(played, 5)["calls"] < len(turns)
        assert self.layer(played, 6)["hit_rate"] > 0.85
        assert self.layer(played, 6)["calls"] == 3
        without = played.run("without 5 and 6")
        both = [*zip(whole["per_turn"], without["per_turn"], strict=True)]
        more = [a["tokens"] - b["tokens"] for a, b in both]
        dearer = [a["cost"] - b["cost"] for a, b in both]
        # Until a compaction both runs send the same, but for what learning sends.
        renewed = [any(fired["layer"] in (3, 4) and fired["before"] for fired in turn["fired"]) for turn in turns]  # fmt: skip
        until = renewed.index(True)
        assert all(tokens >= 0 for tokens in more[:until])
        assert 0.5 < sum(more[:until]) / self.layer(played, 5)["tokens_sent"] < 1
        assert 0.5 < sum(dearer[:until]) / self.layer(played, 5)["cost"] < 1.2
        # The dream comes with the last turn.
        dream = self.layer(played, 6)
        assert more[-1] == pytest.approx(dream["tokens_sent"], rel=0.2)
        assert dearer[-1] == pytest.approx(dream["cost"], rel=0.2)

    def test_the_page_tells_it(self, played: Played) -> None:
        text = played.page.read_text(encoding="utf-8")
        for told in ("7 memories saved", "5 memories changed", "would lose", "in these totals"):
            assert told in text

    def test_without_these_layers_nothing_is_learnt(self, played: Played) -> None:
        learnt = [list((played.folder / str(n) / "memory").glob("*henrik*")) for n in range(1, len(VARIANTS) + 1)]  # fmt: skip
        assert [bool(found) for found in learnt] == [True] * 5 + [False] * 2
        assert played.run("without 5 and 6")["lost"] == (
            "not done: 7 memories saved, 5 memories changed"
        )


class TestAnswersThatMemoryMadeRight:
    def test_each_question_has_two_answers_and_names_a_memory(self, played: Played) -> None:
        answers = played.data["answers"]
        assert [one["origin"] for one in answers] == [
            "saved in the session",
            "layer 5, extraction",
            "layer 6, dream",
        ]
        for one, question in zip(answers, script.QUESTIONS, strict=True):
            assert one["with_memory"] == question.fact["answer"]
            assert one["without_memory"] == question.fact["otherwise"]
            [file] = one["memories"]
            memory = played.folder / "1" / "memory" / file
            assert question.fact["words"] in memory.read_text("utf-8")
            for shown in (one["question"], one["without_memory"], one["with_memory"], file):
                assert escape(shown) in played.page.read_text("utf-8")

    def test_no_file_of_the_project_has_the_answer(self, played: Played) -> None:
        """Otherwise a model that reads more would not need the memory."""
        project = b"".join(data for _, data in files_in(played.folder / "1" / "ferry").values())
        for fact in ("2027-04-15", "2027-03-31", "go to Kaja"):
            assert fact.encode() not in project

    @pytest.mark.parametrize("number", [0, 1, 2])
    async def test_without_that_one_memory_the_answer_is_wrong(
        self, played: Played, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        """The same memory but for the one that was named and its index line; and again with it."""
        monkeypatch.setenv("HOME", str(tmp_path))
        answer, question = played.data["answers"][number], script.QUESTIONS[number]
        player = Player(tmp_path / "again", Run("again"))
        player.at += 7 * 24 * 3600
        shutil.copytree(
            played.folder / "1" / "ferry", tmp_path / "again" / "ferry", dirs_exist_ok=True
        )
        for name in ("less", "all"):
            shutil.copytree(played.folder / "1" / "memory", tmp_path / "again" / name)
        [file] = answer["memories"]
        (tmp_path / "again" / "less" / file).unlink()
        index = tmp_path / "again" / "less" / "MEMORY.md"
        lines = index.read_text("utf-8").splitlines(keepends=True)
        index.write_text("".join(line for line in lines if file not in line), "utf-8")
        said, used = await player.answer(question, "less", "less")
        assert (said, used) == (answer["without_memory"], [])
        said, used = await player.answer(question, "all", "all")
        assert (said, used) == (answer["with_memory"], [file])


class TestTheReport:
    def test_every_layer_was_left_out_once(self, played: Played) -> None:
        runs = played.data["runs"]
        assert [one["name"] for one in runs] == [
            "all layers",
            "without 1",
            "without 2",
            "without 3",
            "without 3 and 4",
            "without 5 and 6",
            "no layers",
        ]
        turns = len(played.data["turns"])
        for one in runs:
            assert len(one["per_turn"]) == turns
            assert sum(turn["tokens"] for turn in one["per_turn"]) == one["tokens_sent"]
            assert sum(turn["cost"] for turn in one["per_turn"]) == pytest.approx(one["cost"])
            assert one["cost"] < one["cost_without_cache"]

    @pytest.mark.parametrize(
        ("name", "silent"),
        [("without 1", "1"), ("without 2", "2"), ("without 3", "3"), ("without 3 and 4", "34"), ("without 5 and 6", "56"), ("no layers", "123456")],
    )  # fmt: skip
    def test_a_layer_that_is_off_does_nothing(self, played: Played, name: str, silent: str) -> None:
        assert [played.run(name)["layers_fired"][layer] for layer in silent] == [0] * len(silent)

    def test_with_all_layers_it_is_cheaper_than_with_none(self, played: Played) -> None:
        whole, none = played.run("all layers"), played.run("no layers")
        assert whole["cost"] < 0.75 * none["cost"]
        assert whole["tokens_sent"] < 0.5 * none["tokens_sent"]

    @pytest.mark.parametrize("name", ["without 1", "without 2"])
    def test_results_out_of_the_way_save_money(self, played: Played, name: str) -> None:
        assert played.run("all layers")["cost"] < played.run(name)["cost"]

    @pytest.mark.parametrize("name", ["without 3 and 4", "no layers"])
    def test_without_compaction_the_window_is_full(self, played: Played, name: str) -> None:
        found = played.run(name)
        assert 1 < found["full_in_turn"] <= len(played.data["turns"])
        assert f"the window is full in turn {found['full_in_turn']}" in found["lost"]
        assert played.run("all layers")["full_in_turn"] is None
        assert played.run("all layers")["lost"] == "nothing"

    def test_without_notes_the_person_waits(self, played: Played) -> None:
        assert "wait" in played.run("without 3")["lost"]

    def test_the_checks_hold(self, played: Played) -> None:
        checks = played.data["checks"]
        assert all(check["passed"] for check in checks)
        names = " ".join(check["name"] for check in checks)
        for wanted in (
            "every message",
            "how money is rounded",
            "Storholm",
            "ground rules",
            "cache",
            "you did not say",
            "memory changes the answer",
        ):
            assert wanted in names
        known = [check["found"] for check in checks if check["name"].startswith("known")]
        assert all("own words" in found and "recalled memory" in found for found in known)

    def test_what_is_not_shown_is_said(self, played: Played) -> None:
        assert "Layer 7" in played.data["not_shown"]

    def test_the_page_stands_alone(self, played: Played) -> None:
        text = played.page.read_text(encoding="utf-8")
        page = Page()
        page.feed(text)
        assert page.open == []
        assert page.counts["svg"] == 3
        assert page.counts["polyline"] == 3 * len(played.data["runs"])
        assert not page.counts.keys() & {"script", "link", "img", "iframe", "object"}
        assert "http" not in text.replace("http://www.w3.org", "")
        assert "prefers-color-scheme: dark" in text
        assert played.data["not_shown"] in text


class Page(HTMLParser):
    """Counts elements, and knows which were never closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.counts: dict[str, int] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class TestWhatIsRefused:
    """Before anything is played."""

    def test_an_option_nobody_knows(self, place: Place) -> None:
        result = run("demo", "--slow")
        assert result.exit_code == 2
        assert "No such option" in result.stderr

    def test_a_report_that_is_no_page(self, place: Place) -> None:
        assert "end with .html" in failed("demo", "--output", "report.pdf")

    def test_a_folder_that_is_not_there(self, place: Place) -> None:
        assert "cannot write into" in failed("demo", "--output", "nowhere/report.html")
        assert list(place.root.iterdir()) == []


class TestOnTheScreen:
    """The same with three scenes: what is printed, and that nothing is left behind."""

    @pytest.fixture
    def short(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setattr("reverie.cli.demo.SCENES", SCENES[:3])
        monkeypatch.setattr("reverie.cli.demo.QUESTIONS", QUESTIONS[2:])
        scratch = place.base / "scratch"
        scratch.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(scratch))
        return scratch

    def test_lines_a_table_checks_and_the_path(self, place: Place, short: Path) -> None:
        text = done("demo")
        assert [int(n) for n in re.findall(r"^ *(\d+) .* [█░]{8} ", text, re.M)] == [1, 2, 3]
        for variant in VARIANTS[1:]:
            assert f"Playing it again: {variant['name']} …" in text
        assert text.count("✓") == 6
        assert "5: for your inbox: 1" in text
        assert set(re.findall(r"\d+ memories changed", text)) == {"4 memories changed"}
        assert "for learning (layers 5 and 6)" in " ".join(text.split())
        assert text.splitlines()[-2] == f"Report: {place.root / 'reverie-demo.html'}"
        assert "\x1b" not in text
        assert list(short.iterdir()) == []
        assert list(place.person.iterdir()) == []

    def test_quietly(self, place: Place, short: Path) -> None:
        result = run("demo", "-q", "--output", place.base)
        assert (result.exit_code, result.output) == (0, "")
        assert (place.base / "reverie-demo.html").exists()

    def test_as_json(self, place: Place, short: Path) -> None:
        data = json.loads(done("demo", "--json"))
        assert len(data["turns"]) == 3
        assert [run["name"] for run in data["runs"]] == [variant["name"] for variant in VARIANTS]
        assert data["kept"] is None


class TestTheDocumentation:
    """What the pages show is what a run prints, word for word and figure for figure."""

    CUTS = (
        ("live", "A session of", "Playing it again: without 1"),
        ("answers", "A week later:", "The same session without each layer"),
        ("layers", "The same session without each layer", "✓ every message"),
        ("checks", "✓ every message", "Report: "),
    )
    BLOCK = re.compile(
        r"(?<=<!-- demo: )(\w+) -->\n```text\n.*?(?=^```$)", re.MULTILINE | re.DOTALL
    )

    def parts(self, played: Played) -> dict[str, str]:
        """The printed text by part, without trailing spaces; `answer` is the first one alone."""
        text = re.sub(r" +$", "", played.printed, flags=re.MULTILINE)
        parts = {
            name: text[text.index(begin) : text.index(end)].strip()
            for name, begin, end in self.CUTS
        }
        return parts | {"answer": parts["answers"].partition("\n\n")[0]}

    @pytest.mark.parametrize("name", ["docs/demo.md", "README.md"])
    def test_the_documented_text_is_what_was_printed(self, played: Played, name: str) -> None:
        page, parts = ROOT / name, self.parts(played)
        shown = page.read_text("utf-8")
        assert self.BLOCK.search(shown)
        printed = self.BLOCK.sub(lambda m: f"{m[1]} -->\n```text\n{parts[m[1]]}\n", shown)
        if os.environ.get("WRITE_DEMO"):
            page.write_text(printed, "utf-8")
        else:
            assert shown.splitlines() == printed.splitlines()

    def test_figures_in_sentences_are_those_of_the_run(self, played: Played) -> None:
        """Amounts and shares outside the blocks; today there are none."""
        prose = self.BLOCK.sub("", (ROOT / "docs" / "demo.md").read_text("utf-8"))
        printed = " ".join(played.printed.split())
        figures = re.findall(r"\$\d+\.\d+|\d+(?:\.\d+)? %", prose)
        assert [figure for figure in figures if figure not in printed] == []
        assert "forty-six turns" in prose
        assert len(played.data["turns"]) == 46

    def test_the_charts_are_those_of_the_run(self, played: Played) -> None:
        page = played.page.read_text("utf-8")
        style = page[page.index("<style>") : page.index("</style>")] + "</style>"
        drawn = re.findall(r"<svg (.*?)>(.*?)</svg>", page, re.DOTALL)
        for name, (attributes, shapes) in zip(("size", "sent", "cost"), drawn, strict=True):
            wanted = f'<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{style}{shapes}</svg>\n'
            path = ROOT / "docs" / "images" / f"demo-{name}.svg"
            if os.environ.get("WRITE_DEMO"):
                path.write_text(wanted, "utf-8")
            assert path.read_text("utf-8") == wanted
