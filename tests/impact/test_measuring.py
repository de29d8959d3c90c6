"""Replay and probes through real HTTP, with a model that only reads: do they tell help from harm?"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from benchmarks.reading_model import reading_model
from tests.place import NOON, Place

from reverie.conversation.records import Opened, Said
from reverie.core.messages import Attachment, Text, new_message
from reverie.impact.probes import run_probes
from reverie.impact.replay import recorded_turns, replay
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.workspace import Workspace

SERVICES = ("billing", "search", "ledger", "mailer", "gateway", "catalog", "scheduler", "archive")


def port_of(n: int) -> int:
    return 7_100 + n


def right(n: int) -> str:
    return f"The {SERVICES[n]} service listens on port {port_of(n)} of host node-{n}x."


NOTES = {
    "helps": right,
    "useless": lambda n: f"Holiday rota number {n}: Kim covers the weekend.",
    "harms": lambda n: (
        f"The {SERVICES[n]} service listens on port {port_of(n) + 900} of host old-{n}y."
    ),
}


def record(place: Place, kind: str, turns: int = len(SERVICES)) -> None:
    """Sessions of one prompt, which was shown a memory of the kind and was answered rightly."""
    for n in range(turns):
        prompt = Text(f"On which port and host does the {SERVICES[n]} service listen?")
        shown = Attachment("recall", NOTES[kind](n))
        place.journal(
            f"s{n}",
            Opened(f"s{n}", NOON),
            Said(new_message("user", prompt, shown, at=NOON)),
            Said(new_message("assistant", Text(right(n)), at=NOON + 9, response="r")),
        )


@contextmanager
def asked(place: Place, kind: str) -> Iterator[Workspace]:
    knows = (
        {} if kind == "helps" else {f"{name} service": right(n) for n, name in enumerate(SERVICES)}
    )
    with reading_model(knows) as settings:
        yield place.app("recall.embedder=none", *settings)


class TestReplay:
    @pytest.mark.parametrize(
        ("kind", "verdict"), [("helps", "higher"), ("useless", "no difference"), ("harms", "lower")]
    )
    def test_tells_the_three_apart(self, place: Place, kind: str, verdict: str) -> None:
        record(place, kind)
        with asked(place, kind) as app:
            found = asyncio.run(replay(app, "reader:reader"))
        assert found["difference"]["verdict"] == verdict
        assert found["difference"]["n"] == len(SERVICES)
        assert (found["worse"] > 0) == (kind == "harms")
        assert (found["better"] > 0) == (kind == "helps")

    def test_few_pairs_are_directional(self, place: Place) -> None:
        record(place, "helps", turns=3)
        with asked(place, "helps") as app:
            found = asyncio.run(replay(app, "reader:reader"))
        assert found["difference"]["verdict"] == "directional"
        assert "directional" in found["verdict"]

    def test_nothing_recorded_is_told(self, place: Place) -> None:
        with asked(place, "helps") as app:
            found = asyncio.run(replay(app, "reader:reader"))
        assert found["rows"] == []
        assert "Nothing to compare" in found["verdict"]

    def test_a_turn_that_was_corrected_is_no_measure(self, place: Place) -> None:
        record(place, "helps", turns=2)
        before = len(recorded_turns(place.app()))
        place.journal("s1", Said(new_message("user", Text("No, that is wrong."), at=NOON + 500)))
        assert len(recorded_turns(place.app())) == before - 1

    def test_a_model_judges_when_asked_for(self, place: Place) -> None:
        record(place, "helps")
        with asked(place, "helps") as app:
            found = asyncio.run(replay(app, "reader:reader", judge="reader:reader"))
        assert [row[0] for row in found["rows"]] == ["rules", "reader:reader"]

    def test_memories_and_their_counts_stay_as_they_were(self, place: Place) -> None:
        record(place, "useless")
        app = place.app("recall.embedder=none")
        app.remember(NewMemory(right(0), "project"), Author("user"))
        folder = app.memory().place
        before = {path: path.read_bytes() for path in folder.directory.rglob("*.md")}
        with asked(place, "useless") as opened:
            asyncio.run(replay(opened, "reader:reader"))
        assert {path: path.read_bytes() for path in folder.directory.rglob("*.md")} == before
        assert not (folder.state / "uses.jsonl").exists()


class TestProbes:
    def test_memory_answers_what_nothing_else_knows(self, place: Place) -> None:
        app = place.app("recall.embedder=none")
        for n in range(6):
            app.remember(NewMemory(right(n), "project"), Author("user"))
        with reading_model() as settings:
            opened = place.app("recall.embedder=none", *settings)
            found = asyncio.run(run_probes(opened, "reader:reader"))
        rows = {row[0]: row for row in found["rows"]}
        assert rows["with memory"][2] == 6
        assert rows["without"][4] == 6
        assert found["difference"]["verdict"] == "higher"

    def test_the_cap_stops_it(self, place: Place) -> None:
        app = place.app("recall.embedder=none")
        for n in range(3):
            app.remember(NewMemory(right(n), "project"), Author("user"))
        with reading_model() as settings:
            prices = ("prices.reader.input=100", "prices.reader.output=100")
            opened = place.app("recall.embedder=none", *settings, *prices)
            found = asyncio.run(run_probes(opened, "reader:reader", cap=0.0001))
        assert found["rows"] == []
        assert "stopped" in found["note"]
