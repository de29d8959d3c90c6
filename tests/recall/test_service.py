"""Which embedding model recall uses, as the settings have it; what cannot be had gives way to words."""

import json
from contextlib import AbstractContextManager

import pytest
from tests.place import Place
from tests.provider import script as say
from tests.provider.provider import Provider

from reverie.core.messages import Text, new_message
from reverie.errors import SettingsError
from reverie.events import MoneySpent, TroubleNoted
from reverie.memory.format import topic
from reverie.memory.format.revisions import Author, Put
from reverie.memory.uses import UseCounts
from reverie.models.embeddings import hub
from reverie.models.embeddings.local import STATIC, Missing
from reverie.models.offline import ScriptedModel
from reverie.recall import service as app_recall
from reverie.recall.ranker import IndexRanker
from reverie.recall.service import choose_embedder, open_ranker, recall_for
from reverie.workspace import Workspace

ASK = new_message("user", Text("when can I ship the release?"))


@pytest.fixture(autouse=True)
def saved(place: Place) -> None:
    texts = {
        "freeze": "No release can ship after 2026-12-20",
        "tests": "Integration tests hit a real database",
        "bird": "A heron stands in the reeds",
    }
    memories = [
        topic.new(name, text, "project", f"{text}.", file=f"{name}.md")
        for name, text in texts.items()
    ]
    puts = [Put(memory.file, topic.render(memory)) for memory in memories]
    place.app().memory().store.apply(puts, Author(), "remember")


@pytest.fixture
def heard() -> list[object]:
    return []


def endpoint(place: Place, provider: Provider, *more: str) -> Workspace:
    return place.app(
        "recall.embedder=endpoint",
        f"recall.endpoint.base_url={provider.openai_url}",
        "recall.endpoint.model=local-embed",
        *more,
    )


def opened(app: Workspace, heard: list[object]) -> AbstractContextManager[IndexRanker]:
    meaning = choose_embedder(app, "s1", heard.append)
    return open_ranker(app.memory(), app.clock, meaning, heard.append)


def test_the_default_needs_no_setting(place: Place):
    pytest.importorskip("tokenizers", reason="the default model is not installed")
    found = choose_embedder(place.app())
    assert found.embedder is not None
    assert (found.embedder.name, found.notes) == (STATIC, ())


def test_none_is_words_alone(place: Place, heard: list[object]):
    with opened(place.app("recall.embedder=none"), heard) as ranker:
        found = ranker.search("ship the release", limit=5)
    assert found.hits[0].key == "freeze.md"
    assert (found.used_semantic, found.notes) == (False, ())


def test_a_default_that_is_not_installed_is_no_trouble(
    place: Place, heard: list[object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(app_recall, "default_embedder", lambda: Missing("numpy"))
    with opened(place.app(), heard) as ranker:
        assert ranker.search("ship the release", limit=5).notes == ()


def test_an_extra_that_is_not_installed_is_said(
    place: Place, heard: list[object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hub, "extra_embedder", lambda source: Missing("onnxruntime"))
    app = place.app("recall.embedder=extra")
    with opened(app, heard) as ranker:
        found = ranker.search("ship the release", limit=5)
        assert found.hits[0].key == "freeze.md"
        assert found.notes == ("by words alone; recall.embedder misses onnxruntime",)
        ranker.rank("ship the release", app.memory().store.entries())
    assert [event.where for event in heard if isinstance(event, TroubleNoted)] == ["recall.index"]


def test_an_address_is_asked(place: Place, provider: Provider, heard: list[object]):
    with opened(endpoint(place, provider), heard) as ranker:
        found = ranker.search("ship the release", limit=5)
    assert found.used_semantic
    assert found.hits[0].key == "freeze.md"
    passages, question = (request.json for request in provider.requests)
    assert len(passages["input"]) == 3
    assert question["input"] == ["ship the release"]
    (first, *_) = (event.entry for event in heard if isinstance(event, MoneySpent))
    assert (first.purpose, first.session, first.cost) == ("recall", "s1", None)


def test_vectors_are_kept_and_made_again_when_their_size_changes(
    place: Place, provider: Provider, heard: list[object]
):
    def asked(size: int) -> tuple[bool, list[int]]:
        """Whether meaning counted, and how many texts each request held."""
        provider.embedding_sizes["local-embed"] = size
        before = len(provider.requests)
        with opened(endpoint(place, provider), heard) as ranker:
            found = ranker.search("ship the release", limit=5)
            ranker.refresh()
        assert found.hits[0].key == "freeze.md"
        return found.used_semantic, [len(r.json["input"]) for r in provider.requests[before:]]

    assert asked(12) == (True, [3, 1])
    assert asked(12) == (True, [1])
    # The question is the first to show the new size: words alone, then all is made again.
    assert asked(20) == (False, [1, 3])
    assert asked(20) == (True, [1])
    assert not [event for event in heard if isinstance(event, TroubleNoted)]


@pytest.mark.parametrize("answer", [say.server_error(), say.Garbage(), say.wrong_shape()])
def test_an_address_that_fails_leaves_words_and_a_note(
    place: Place, provider: Provider, heard: list[object], answer: object
):
    provider.script(answer)
    app = endpoint(place, provider)
    with opened(app, heard) as ranker:
        ranked = ranker.rank("ship the release", app.memory().store.entries())
    assert ranked[0].file == "freeze.md"
    (trouble,) = (event for event in heard if isinstance(event, TroubleNoted))
    assert "words alone" in trouble.what
    assert len(provider.requests) == 1


def test_a_cap_holds_for_embeddings(place: Place, provider: Provider, heard: list[object]):
    with opened(endpoint(place, provider, "spend.day=1"), heard) as ranker:
        found = ranker.search("ship the release", limit=5)
    assert "price of local-embed is not known" in found.notes[0]
    assert provider.requests == []
    free = endpoint(place, provider, "spend.day=1", 'prices."local-embed".input=0')
    with opened(free, heard) as ranker:
        assert ranker.search("ship the release", limit=5).used_semantic


def test_the_key_of_one_address_is_not_shown_to_another(
    place: Place, provider: Provider, heard: list[object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "the-openai-key")
    monkeypatch.setenv("MY_KEY", "my-key")
    sent: list[str] = []
    made = app_recall.secret
    monkeypatch.setattr(app_recall, "secret", lambda name: sent.append(name) or made(name))
    for more in ((), ("recall.endpoint.api_key_env=MY_KEY",)):
        with opened(endpoint(place, provider, *more), heard) as ranker:
            ranker.search("ship", limit=1)
    choose_embedder(place.app("recall.embedder=endpoint")).close()
    assert sent == [None, "MY_KEY", "OPENAI_API_KEY"]


@pytest.mark.parametrize(
    "line",
    [
        'recall.embedder = "endpoint"',
        'recall.endpoint.base_url = "http://evil.example/v1"',
        'recall.endpoint.api_key_env = "AWS_SECRET_ACCESS_KEY"',
        'recall.model_folder = "/tmp/evil"',
    ],
)
def test_a_repository_cannot_send_memories_elsewhere(place: Place, line: str):
    place.settings(line, "project")
    with pytest.raises(SettingsError, match="project"):
        place.app()


async def test_a_session_counts_what_it_shows_and_what_helps(place: Place, heard: list[object]):
    app = place.app("recall.embedder=none", "recall.timeout=2.5")
    memory = app.memory()
    with opened(app, heard) as ranker:
        selector = ScriptedModel(otherwise=json.dumps({"selected_memories": ["freeze.md"]}))
        recall = recall_for(app, memory, ranker, selector, "s1")
        assert recall.timeout == 2.5
        assert (await recall.recollect(ASK)).files == ("freeze.md",)
        recall.replied("Not after 2026-12-20.")
        assert ranker.uses() == {"freeze.md": 1}
    uses = UseCounts(memory.place.state, app.clock)
    assert uses.counts("recalled") == uses.counts("used") == {"freeze.md": 1}


def test_what_a_person_says_to_a_model_is_no_query(place: Place, heard: list[object]):
    app = place.app("recall.embedder=none")
    said = 'they said "ship it" -release type:user: may the release ship?'
    with opened(app, heard) as ranker:
        assert ranker.search(said, limit=5).hits == ()
        assert ranker.rank(said, app.memory().store.entries())[0].file == "freeze.md"


def test_what_proved_useful_is_ranked_higher(place: Place, heard: list[object]):
    app = place.app("recall.embedder=none")
    twin = topic.new(
        "frost", "No release can ship after 2026-12-20", "project", "x", file="frost.md"
    )
    memory = app.memory()
    memory.store.apply((Put(twin.file, topic.render(twin)),), Author(), "remember")
    with opened(app, heard) as ranker:
        for useful in ("frost.md", "freeze.md", "freeze.md", "freeze.md"):
            UseCounts(memory.place.state, app.clock).record([useful] * 5, "used")
        assert ranker.search("can the release ship", limit=2).hits[0].key == "freeze.md"
