"""`reverie models`, `keys` and `settings set`: from no model to one that is used."""

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from tests.cli.run import data, done, environment, failed, process, run
from tests.cli.terminal import on_terminal
from tests.place import Place

KEY = "sk-ant-" + "x1Y2" * 6


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, place: Place) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    for name, value in environment(place).items():
        monkeypatch.setenv(name, value)
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def local_server() -> Iterator[str]:
    """A server that lists one model, as Ollama and llama.cpp do."""

    class Listing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/v1/models"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(b'{"data": [{"id": "qwen3:8b"}]}' if found else b"")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listing)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


class TestModels:
    def test_nothing_is_usable_and_each_provider_says_what_it_needs(self, place: Place):
        text = done("models")
        assert "Reverie works offline" in text
        assert "reverie keys set anthropic" in text
        assert "no server answers at http://127.0.0.1:9/v1" in text

    def test_a_key_makes_a_provider_usable(self, place: Place, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        found = data("models")
        first = found["models"][0]
        assert first["name"] == "anthropic:claude-sonnet-5-5"
        assert (first["input"], first["window"]) == (2, 1_000_000)
        assert first["reason"] == "ANTHROPIC_API_KEY (environment)"
        assert KEY not in str(found)

    def test_a_local_server_is_found(
        self, place: Place, local_server: str, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("REVERIE_PROVIDERS_OLLAMA_BASE_URL", local_server)
        (only,) = data("models")["models"]
        assert (only["name"], only["input"]) == ("ollama:qwen3:8b", None)

    def test_a_server_elsewhere_is_not_asked(self, place: Place):
        found = data("models", "--set", "providers.ollama.base_url=http://192.0.2.1/v1")
        assert "ollama" not in str(found)

    def test_use(self, place: Place, monkeypatch: pytest.MonkeyPatch):
        assert "reverie keys set" in failed("models", "use", "claude-sonnet-5-5")
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        done("models", "use", "claude-sonnet-5-5")
        assert data("models")["main"] == "claude-sonnet-5-5"
        assert data("settings", "models.main")[0]["origin"].startswith("user (")

    def test_a_single_answer_offline_says_which_key_is_there(self, place: Place):
        answered = process(place, "chat", "-p", "hello", ANTHROPIC_API_KEY=KEY)
        assert "reverie models use anthropic:claude-sonnet-5-5" in answered.stderr
        assert KEY not in answered.stderr


class TestFirstStart:
    def test_the_choice_is_offered_once(self, place: Place):
        with on_terminal(place, "chat", ANTHROPIC_API_KEY=KEY) as terminal:
            terminal.until("Model [1]")
            terminal.type("0\r")
            terminal.until("❯")
            terminal.type("\x04")
        assert data("settings", "models.main")[0]["value"] == "offline"
        with on_terminal(place, "chat", ANTHROPIC_API_KEY=KEY) as terminal:
            terminal.until("❯")
            assert "Which model" not in terminal.text


class TestKeys:
    def test_set_list_remove(self, place: Place):
        stored = process(place, "keys", "set", "anthropic", typed=f"{KEY}\n")
        assert stored.stdout == "Stored ANTHROPIC_API_KEY in ~/.reverie/keys.json.\n"
        assert {"name": "ANTHROPIC_API_KEY", "for": "anthropic", "where": "file"} in data("keys")
        assert KEY not in done("keys")
        assert "Removed" in done("keys", "remove", "anthropic")
        assert "no ANTHROPIC_API_KEY is stored" in failed("keys", "remove", "anthropic")

    @pytest.mark.parametrize("name", [KEY, "ollama"])
    def test_a_key_as_argument_is_refused_and_not_repeated(self, place: Place, name: str):
        assert KEY not in failed("keys", "set", name)

    def test_nothing_on_standard_input(self, place: Place):
        assert "is empty" in failed("keys", "set", "openai")


class TestSettings:
    def test_set_and_unset(self, place: Place):
        assert "cache.ttl = 1h" in done("settings", "set", "cache.ttl", "1h")
        assert "is auto again" in done("settings", "unset", "cache.ttl")
        assert "is not set" in failed("settings", "unset", "cache.ttl")

    def test_here_is_for_this_project(self, place: Place):
        done("settings", "set", "--here", "cache.ttl", "1h")
        assert data("settings", "cache.ttl")[0]["origin"].startswith("local (")

    def test_a_source_above_is_told(self, place: Place, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("REVERIE_CACHE_TTL", "5m")
        assert "overrides it" in run("settings", "set", "cache.ttl", "1h").stderr

    @pytest.mark.parametrize("words", [("set", "a"), ("unset",), ("a", "b")])
    def test_wrong_usage(self, place: Place, words: tuple[str, ...]):
        assert run("settings", *words).exit_code == 2

    def test_edit_checks_the_file(self, place: Place, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("EDITOR", "sh -c 'echo cache.ttl = 3 > \"$0\"'")
        assert "reverie settings edit" in failed("settings", "edit")
        monkeypatch.setenv("EDITOR", "sh -c 'echo > \"$0\"'")
        assert "valid" in done("settings", "edit")
