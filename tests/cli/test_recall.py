"""`recall` and `search`: a person asks, and sees why."""

from dataclasses import replace

import pytest
from tests.cli.memories import AUDIT, PERSON, TESTS, TRACKER, directory, remembered
from tests.cli.run import data, done, failed, run
from tests.place import Place

from reverie.conversation.conversation import Conversation
from reverie.conversation.journal import Journal
from reverie.core.messages import Text
from reverie.core.request import Head
from reverie.recall.hits import read_hits
from reverie.recall.service import recall


@pytest.fixture(autouse=True)
def saved(place: Place, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)
    return [remembered(text)["file"] for text in (AUDIT, TESTS, PERSON, TRACKER)]


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("when do deploys freeze?", 0),
        ("may I mock the database in tests", 1),
        ("how well do they know Rust", 2),
        ("where are complaints tracked", 3),
    ],
)
def test_the_right_one_comes_first(question: str, best: int, saved: list[str]):
    found = data("recall", *question.split(), "--json")
    assert found["hits"][0]["file"] == saved[best]


def test_it_says_why(saved: list[str]):
    shown = done("recall", "deploys", "freeze", "--explain")
    assert saved[0] in shown
    assert "lexical" in shown
    assert "searched by words" in shown


def test_a_query_can_be_narrowed(saved: list[str]):
    files = [hit["file"] for hit in data("recall", "type:user rust database", "--json")["hits"]]
    assert files == [saved[2]]


def test_as_of_answers_from_memory_as_it_was(place: Place, saved: list[str]):
    place.clock.advance(40 * 86_400)
    remembered("Deploys freeze on 2027-01-15 because of the merger", "--supersedes", saved[0])
    then = data("recall", "deploys freeze", "--as-of", "2025-06-20", "--json")["hits"][0]
    assert "2026-12-20" in then["snippet"]
    now = data("recall", "deploys freeze", "--json")["hits"][0]
    assert "2027-01-15" in now["snippet"]


def test_before_there_was_memory(saved: list[str]):
    found = data("recall", "deploys freeze", "--as-of", "2001-01-01", "--json")
    assert found["hits"] == []
    assert "no memory yet" in found["notes"][0]


def test_what_is_forgotten_everywhere_cannot_be_recalled(saved: list[str]):
    data("recall", "deploys freeze", "--json")
    done("forget", saved[0], "--everywhere", "--yes")
    hits = data("recall", "deploys freeze audit", "--json")["hits"]
    assert saved[0] not in [hit["file"] for hit in hits]


def test_past_conversations_are_found(place: Place):
    path = place.app().project.journal("s1")
    with Journal(path) as journal:
        talk = Conversation(journal, place.app().bare_model("offline"), place.clock)
        talk.open("s1", Head("offline"))
        talk.say(Text("The flaky login test fails on Tuesdays because of the clock skew"))
    hits = data("search", "clock", "skew", "login", "--only", "episodes", "--json")
    assert hits[0]["session"] == "s1"
    assert "clock skew" in hits[0]["snippet"]
    assert data("search", "clock", "skew", "--only", "memories", "--json") is not None


# --- how it reads ---


def test_a_text_is_printed_once(saved: list[str]):
    for typed in (["recall", "deploys", "freeze"], ["search", "deploys", "freeze"]):
        text = done(*typed)
        assert text.count(AUDIT) == 1
        assert text.splitlines()[1] == f"       {AUDIT}"
    remembered("We ship from Rotterdam. The crane is slow.", "--name", "Harbour")
    hit = data("recall", "where do we ship from", "--json")["hits"][0]
    assert hit["shown"]
    assert hit["snippet"] == "Harbour · We ship from Rotterdam. The crane is slow."


def test_what_fits_badly_is_shown_on_request_only(saved: list[str]):
    question = ["what", "is", "the", "favourite", "tests", "colour"]
    found = data("recall", *question)["hits"]
    assert found
    assert not any(hit["shown"] for hit in found)
    for command in ("recall", "search"):
        text = done(command, *question)
        assert text.startswith("Nothing found.\n")
        assert f"not shown: reverie {command} --all" in text
        assert TESTS not in text
        everything = done(command, *question, "--all")
        assert TESTS in everything
        assert "(a weak match)" in everything
    assert TESTS in done("recall", *question, "--explain")
    assert done("recall", "zzzz", "qqqq").startswith("Nothing found.\n")


def scores(text: str) -> list[float]:
    """The scores in front of the hits."""
    return [float(line[:5]) for line in text.splitlines() if line[:5].strip().count(".") == 1]


def test_the_surest_answer_comes_first(place: Place, saved: list[str]):
    app, asked = place.app("recall.embedder=none"), "when do deploys freeze and do they know Rust?"
    found = recall(app, asked, limit=4)
    in_turn = replace(found, hits=found.hits[::-1])
    shown = [one.hit.score for one in read_hits(app, in_turn, asked)]
    assert len({*shown}) > 1
    assert shown == sorted(shown, reverse=True)


def test_what_is_only_looked_up_has_no_score(saved: list[str]):
    text = done("recall", "type:user")
    assert saved[2] in text
    assert scores(text) == []
    narrowed = done("search", "type:user what is the favourite colour")
    assert "(a weak match)" in narrowed
    assert all(score >= 0.3 for score in scores(done("search", "rust")))


def test_a_word_with_a_hyphen_is_one_word(saved: list[str]):
    rota = remembered("The on-call rota is kept by Imke")["file"]
    wifi = remembered("The wifi is on at night; call Jonas when it is slow")["file"]
    text = done("search", "on-call", "--only", "memories")
    assert rota in text
    assert wifi not in text
    assert wifi in done("search", "wifi", "--only", "memories")


def test_who_narrows_a_question_down_sees_all_of_it(saved: list[str]):
    assert PERSON in done("recall", "type:user")
    assert TESTS in done("search", '"a mock hid"')


def test_what_is_over_is_marked(place: Place, saved: list[str]):
    new = remembered("Deploys freeze on 2027-01-15 because of the merger", "--supersedes", saved[0])
    (directory(place) / "trial.md").write_text(
        "---\nname: The trial licence of the linter\nvalid_until: 2025-01-31\n---\nIt is free.\n"
    )
    text = done("recall", "when", "do", "deploys", "freeze", "--all")
    assert f"(replaced by {new['file']})" in text
    assert text.index(new["file"]) < text.index(f"  {saved[0]}")
    assert "(expired 2025-01-31)" in done("recall", "trial licence of the linter")
    hits = {hit["file"]: hit for hit in data("recall", "deploys freeze")["hits"]}
    assert hits[saved[0]]["replaced_by"] == new["file"]
    assert hits[new["file"]]["replaced_by"] is None
    then = data("recall", "deploys freeze", "--as-of", "2025-06-15T11:00:00+00:00")["hits"]
    assert then


CONTROL = "\x1b[31m\x07\x9b\u202e\u2066\u061c"


@pytest.mark.parametrize("options", [[], ["--json"], ["--explain"]])
def test_a_memory_cannot_steer_the_terminal(place: Place, options: list[str]):
    (directory(place) / "evil.md").write_text(
        f"---\nname: Okapi {CONTROL}\ndescription: zebra {CONTROL}\n---\nplanted {CONTROL} words\n"
    )
    for typed in (["recall", "okapi", "zebra", "planted", *options], ["show", "evil.md"], ["list"]):
        text = done(*typed)
        assert "planted" in text or typed == ["list"]
        assert not set(CONTROL) & set(text) - set("[31m")
    text = done("search", "okapi", "zebra", "planted", "--all")
    assert not set(CONTROL) & set(text) - set("[31m")


def test_wrong_usage(saved: list[str]):
    assert run("recall").exit_code == 2
    assert run("search").exit_code == 2
    assert run("recall", "x y", "--as-of", "someday").exit_code in (1, 2)


def test_memory_that_is_off_says_so(saved: list[str]):
    assert "memory is off" in failed("recall", "x y", "--set", "memory.enabled=false")
