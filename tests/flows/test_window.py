"""A provider is asked once how large a window is; the answer is kept."""

from tests.place import Place
from tests.provider.provider import Provider

from reverie.models.selection import FILE, read_window
from reverie.workspace import Workspace


def at(place: Place, provider: Provider) -> Workspace:
    return place.app(
        "providers.mine.kind=openai",
        f"providers.mine.base_url={provider.openai_url}",
    )


async def test_the_answer_is_kept(place: Place, provider: Provider):
    provider.window["local-model"] = 32_768
    app = at(place, provider)
    assert app.window("mine:local-model").source == "default"
    assert await app.ask_window("mine:local-model") == 32_768
    window = at(place, provider).window("mine:local-model")
    assert (window.tokens, window.source) == (32_768, "the provider's models endpoint")
    assert len(provider.requests) == 1


async def test_nobody_to_ask(place: Place):
    assert await place.app().ask_window("offline") is None


def test_a_damaged_file_is_no_answer(place: Place):
    home = place.app().settings.home
    home.mkdir(parents=True, exist_ok=True)
    for text in ("", "[]", '{"m": "many"}', '{"m": -1}'):
        (home / FILE).write_text(text)
        assert read_window(home, "m") is None
