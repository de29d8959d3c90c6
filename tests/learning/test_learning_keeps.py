"""Learning keeps every valid fact: siblings stay, and only explicit words retire a memory."""

from tests.place import Place

from reverie.core.messages import Text, new_message
from reverie.learning.service import learn
from reverie.workspace import Workspace
from reverie.workspace.changes import waiting


def learn_from(app: Workspace, *texts: str) -> None:
    """Learn from each text as a turn of its own."""
    for number, text in enumerate(texts):
        learn(app, "s1", [new_message("user", Text(text), at=app.clock.now() + number)])


def listed(app: Workspace) -> list[str]:
    return sorted(entry.description for entry in app.memory().store.entries() if entry.listed)


def test_forty_facts_of_one_kind_all_stand(place: Place) -> None:
    app = Workspace.open(place.root, home=place.home, overrides=("recall.embedder=none",))
    learn_from(
        app, *(f"Please remember that harbour {n} closes at {n % 12 + 8}:00." for n in range(1, 41))
    )
    assert len(listed(app)) == 40
    assert waiting(app) == ()


def test_the_next_version_does_not_retire_the_first(place: Place) -> None:
    app = Workspace.open(place.root, home=place.home, overrides=("recall.embedder=none",))
    learn_from(
        app,
        "Please remember that API v1 is sunset on 2026-12-31.",
        "Please remember that API v2 is sunset on 2027-06-30.",
    )
    assert listed(app) == ["API v1 is sunset on 2026-12-31.", "API v2 is sunset on 2027-06-30."]


def test_another_value_stands_beside_the_first_until_a_person_decides(place: Place) -> None:
    app = Workspace.open(place.root, home=place.home, overrides=("recall.embedder=none",))
    learn_from(app, "Please remember that the API listens on port 8080.")
    learn_from(app, "Please remember that the API listens on port 9090.")
    assert len(listed(app)) == 2
    (question,) = waiting(app)
    assert question.proposal.operation == "supersede"
    assert "8080" in question.proposal.file
    learn_from(
        app, "Please remember: from now on the standup is at 10.", "Remember that tea is at 4."
    )
    assert len(listed(app)) == 4


def test_words_that_say_so_retire_what_they_speak_of(place: Place) -> None:
    app = Workspace.open(place.root, home=place.home, overrides=("recall.embedder=none",))
    learn_from(
        app, "Please remember that we deploy on Fridays.", "Please remember that Ada owns billing."
    )
    learn_from(app, "Please remember that we no longer deploy on Fridays.")
    assert listed(app) == ["Ada owns billing.", "We no longer deploy on Fridays."]
