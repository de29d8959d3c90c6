"""`reverie extract`: past conversations, ours or Claude Code's, looked through for what should last."""

import json
from pathlib import Path

from tests.place import NOON, Place
from tests.session.build import user
from tests.surfaces.run import run

from reverie.session.records import Opened, Said

WISH = "From now on always use pnpm instead of npm in this repository."


def talked(place: Place, text: str = WISH) -> Path:
    return place.journal("s1", Opened("s1", NOON), Said(user(text, at=NOON)))


def test_a_wish_is_saved_once(place: Place) -> None:
    talked(place)
    first = run("extract", "s1")
    assert first.exit_code == 0
    assert "saved: feedback_" in first.output
    assert "nothing to remember" in run("extract", "s1").output
    [entry] = place.app().memory().store.entries()
    stored = place.app().memory().store.read(entry.file)
    assert stored is not None
    assert stored.topic.source[0].startswith("s1#")


def test_a_dry_run_saves_nothing(place: Place) -> None:
    talked(place)
    assert f"would save: {WISH}" in run("extract", "s1", "--dry-run").output
    assert place.app().memory().store.entries() == ()


def test_small_talk_gives_nothing(place: Place) -> None:
    talked(place, "Could you look at the parser, please?")
    assert "s1: nothing to remember" in run("extract", "s1").output


def test_for_programs(place: Place) -> None:
    talked(place)
    told = json.loads(run("extract", "s1", "--json").output)
    assert (told["plan"]["sessions"], told["plan"]["model"], told["cost"]) == (1, "", 0.0)
    [row] = told["sessions"]
    assert row["session"] == "s1"
    assert len(row["saved"]) == 1
    assert row["waiting"] == []


def test_a_transcript_of_claude_code(place: Place, tmp_path: Path) -> None:
    line = {
        "type": "user",
        "uuid": "u1",
        "sessionId": "c1",
        "timestamp": "2025-06-01T10:00:00.000Z",
        "message": {"role": "user", "content": WISH},
    }
    path = tmp_path / "c1.jsonl"
    path.write_text(json.dumps(line) + "\n")
    assert "c1: saved: feedback_" in run("extract", str(path)).output


def test_an_unknown_session(place: Place) -> None:
    done = run("extract", "nope")
    assert done.exit_code == 1
    assert "no session 'nope' here" in done.output
