"""`reverie dream`, as it is typed."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.memories import remembered
from tests.cli.run import data, done, failed, run
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.script import HttpError

from reverie.cli.learning.dream import timer

PORT = "The port of the harbour service is 8080."


@pytest.fixture
def twice(place: Place) -> Place:
    """A memory that says one thing twice."""
    remembered(PORT)
    remembered(PORT, "--even-if-known")
    return place


def files(place: Place) -> int:
    return len(list(place.app().memory_location.directory.glob("*8080*.md")))


def test_it_is_not_time_yet(twice: Place) -> None:
    assert done("dream") == (
        "No dream now: 0 of 5 sessions since the last dream; "
        "`reverie dream --force` dreams anyway.\n"
    )
    assert data("dream") == {"state": "not due", "why": "0 of 5 sessions since the last dream"}


def test_a_trial_shows_what_would_be_done(twice: Place) -> None:
    text = done("dream", "--force", "--dry-run")
    assert "a dry run: nothing was changed" in text
    assert "c1 proposed: merge " in text
    assert "says the same" in text
    assert "-The port of the harbour service is 8080." in text
    assert files(twice) == 2


def test_a_dream_can_be_read_and_taken_back(twice: Place) -> None:
    text = done("dream", "--force")
    assert files(twice) == 1
    assert done("dream", "--last") == text
    [command] = re.findall(r"reverie (undo --dream \S+)", text)
    done(*command.split())
    assert files(twice) == 2


def test_a_proposal_is_approved_change_by_change(twice: Place) -> None:
    made = data("dream", "--force", "--review")
    assert files(twice) == 2
    merge, index = made["changes"]
    assert [merge["kind"], index["kind"]] == ["merge", "re-index"]
    rejected = data("dream", "--reject", made["id"], index["id"])
    assert rejected["changes"][1]["standing"] == "rejected"
    approved = data("dream", "--approve", made["id"], merge["id"])
    assert approved["changes"][0]["standing"] == "approved"
    assert files(twice) == 1
    assert "is open" in failed("dream", "--approve", made["id"], "c9")


def test_how_the_last_one_ended(twice: Place) -> None:
    assert done("dream", "--watch") == "There was no dream yet.\n"
    done("dream", "--force")
    assert data("dream", "--watch")["state"] == "completed"
    assert "tidied by rules" in done("dream", "--watch")
    assert failed("dream", "--kill") == "reverie: no dream is running here\n"


def test_without_a_dream_there_is_no_last_one(twice: Place) -> None:
    assert "there was no dream yet" in failed("dream", "--last")


def test_options_that_exclude_each_other(twice: Place) -> None:
    assert run("dream", "--last", "--kill").exit_code == 2
    assert run("dream", "c1").exit_code == 2


def test_the_timer_is_only_shown(place: Place) -> None:
    shown = data("dream", "--install-timer", "--dry-run")
    assert shown["installed"] is False
    command = f"dream --project {place.root} --home {place.home}"
    assert any(command in text for text in shown["files"].values())
    assert not (place.person / ".config").exists()


@pytest.mark.parametrize("systemd", [True, False])
def test_a_timer_for_every_system(*, systemd: bool) -> None:
    made = timer(Path("/srv/my project"), Path("/home/ada"), systemd=systemd)
    text = "".join(text for _, text in made.files)
    assert "'/srv/my project'" in text
    assert ("OnCalendar=*-*-* 03:17:00" in text) is systemd
    assert text.startswith("17 3 * * * ") is not systemd


class TestWithAModel:
    """The notice before a dream with a model, and the cost reported afterwards."""

    @pytest.fixture
    def options(
        self, twice: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> tuple[str, ...]:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
        settings = (
            "models.side=anthropic:claude-haiku-5-5",
            f"providers.anthropic.base_url={provider.anthropic_url}",
        )
        return ("dream", "--force", *(part for one in settings for part in ("--set", one)))

    def test_the_model_and_its_cap_are_known_messages(
        self, options: tuple[str, ...], provider: Provider
    ) -> None:
        provider.script("Nothing to do.")
        made = run(*options)
        assert made.stderr == (
            "Dreaming with anthropic:claude-haiku-5-5 (models.side), for at most $2.00.\n"
        )
        [last] = re.findall(r"^\d+ changes? made.*$", made.stdout, re.M)
        assert last.startswith(
            "1 change made, 0 for you to decide; anthropic:claude-haiku-5-5, $0.0"
        )

    def test_a_trial_asks_no_model(
        self, options: tuple[str, ...], provider: Provider, twice: Place
    ) -> None:
        made = run(*options, "--dry-run")
        assert made.stderr.startswith("A dream would run with anthropic:claude-haiku-5-5")
        assert "c1 proposed: merge " in made.stdout
        assert (provider.requests, files(twice)) == ([], 2)

    def test_without_a_model(self, options: tuple[str, ...], provider: Provider) -> None:
        made = run(*options, "--no-model")
        assert made.stderr == "Dreaming by rules alone (a model was not wanted).\n"
        assert "by rules, without a model" in made.stdout
        assert provider.requests == []

    def test_a_failure_is_told(self, options: tuple[str, ...], provider: Provider) -> None:
        provider.script(HttpError(400, "no such luck"))
        made = json.loads(run(*options, "--json").stdout)
        assert made["with"]["model"] == "anthropic:claude-haiku-5-5"
        assert (made["model"], made["state"]) == ("", "completed")
        assert "no such luck" in made["notes"][0]
