"""`reverie extract`: memories from past conversations of Reverie or Claude Code."""

import json
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.conversation.build import user
from tests.place import NOON, Place
from tests.provider.provider import Provider

from reverie.conversation.records import Opened, Said

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
    output = json.loads(run("extract", "s1", "--json").output)
    assert (output["plan"]["sessions"], output["plan"]["model"], output["cost"]) == (1, "", 0.0)
    [row] = output["sessions"]
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


class TestWithAModel:
    """The plan and its price come first; nothing is spent without a yes."""

    @pytest.fixture
    def options(
        self, place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> tuple[str, ...]:
        talked(place)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
        settings = (
            "models.side=anthropic:claude-haiku-5-5",
            "spend.purpose.extract=0.25",
            f"providers.anthropic.base_url={provider.anthropic_url}",
        )
        return ("extract", *(part for one in settings for part in ("--set", one)))

    def test_without_a_yes_nothing_is_asked(
        self, options: tuple[str, ...], provider: Provider
    ) -> None:
        done = run(*options)
        assert done.exit_code == 1
        assert "1 session with 1 new message, with anthropic:claude-haiku-5-5" in done.stderr
        assert "confirm with --yes, or use the rules with --no-model" in done.stderr
        assert provider.requests == []

    def test_a_trial_stops_at_the_plan(
        self, options: tuple[str, ...], provider: Provider, place: Place
    ) -> None:
        done = run(*options, "--dry-run")
        assert "Would read 1 session with 1 new message" in done.stdout
        assert "for at most $0.25; about $0.0" in done.stdout
        assert f"would save: {WISH}" in done.stdout
        assert (provider.requests, place.app().memory().store.entries()) == ([], ())

    def test_it_tells_what_was_saved_and_what_it_cost(
        self, options: tuple[str, ...], provider: Provider
    ) -> None:
        provider.script("Nothing more.")
        done = run(*options, "--yes")
        assert done.exit_code == 0
        assert "1 of 1  s1: 1 saved, 0 for the inbox" in done.stderr
        last = done.stdout.splitlines()[-1]
        assert last.startswith("1 saved, 0 waiting in the inbox; anthropic:claude-haiku-5-5, $0.0")
        assert len(provider.requests) == 1
        assert "Nothing is new since the last time" in run(*options).stderr
        assert run(*options, "--dry-run").stdout.startswith("Nothing is new since the last time")

    def test_the_rules_need_no_yes(self, options: tuple[str, ...], provider: Provider) -> None:
        done = run(*options, "--no-model")
        assert done.stdout.endswith("1 saved, 0 waiting in the inbox; by rules, without a model\n")
        assert provider.requests == []
