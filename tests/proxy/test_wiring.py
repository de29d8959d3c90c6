"""The commands around the proxy: install and uninstall, doctor, savings, a token beyond loopback."""

from __future__ import annotations

import json

import httpx2
import pytest
from tests.cli.run import done, failed, run

from reverie.clients.install.base_urls import base_url_files
from reverie.errors import InputError
from reverie.proxy.access import Access
from reverie.proxy.running import client_command, client_environment, listen
from reverie.proxy.upstream import route

CLAUDE = '{"model": "opus",\n\t"env": {"A": "1"}}'
CODEX = 'model = "gpt-5.5"\r\n\r\n[tui]\r\nx = 1'
OPENCODE = '{\n  // mine\n  "theme": "dark",\n}\n'
GEMINI = "A=1"


@pytest.fixture
def files(place):
    """The clients' files as a person has them."""
    found = {
        "claude-code": (place.person / ".claude" / "settings.json", CLAUDE),
        "codex": (place.person / ".codex" / "config.toml", CODEX),
        "opencode": (place.person / ".config" / "opencode" / "opencode.jsonc", OPENCODE),
        "gemini": (place.person / ".gemini" / ".env", GEMINI),
    }
    for path, text in found.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return found


class TestInstall:
    def test_uninstall_restores_bytes(self, place, files):
        done("install", *files, "--proxy", "--yes")
        for name, (path, text) in files.items():
            assert path.read_bytes() != text.encode(), name
            assert "127.0.0.1:8790" in path.read_text(), name
        assert (
            json.loads(files["claude-code"][0].read_text())["env"]["ENABLE_TOOL_SEARCH"] == "true"
        )
        done("install", *files, "--proxy", "--yes")
        done("uninstall", *files, "--yes")
        for name, (path, text) in files.items():
            assert path.read_bytes() == text.encode(), name
        assert not (place.home / "proxied.json").exists()

    def test_of_an_edited_file_only_ours_is_removed(self, place, files):
        path, _ = files["claude-code"]
        done("install", "claude-code", "--proxy", "--yes")
        edited = path.read_text().replace('"opus"', '"sonnet"')
        path.write_text(edited)
        done("uninstall", "claude-code", "--proxy", "--yes")
        assert json.loads(path.read_text()) == {"model": "sonnet", "env": {"A": "1"}}

    def test_another_base_url_is_never_replaced(self, place, files):
        path, _ = files["claude-code"]
        path.write_text('{"env": {"ANTHROPIC_BASE_URL": "https://gateway.example"}}')
        message = failed("install", "claude-code", "--proxy", "--yes")
        assert "https://gateway.example" in message
        assert "proxy.upstream" in message
        assert "gateway.example" in path.read_text()

    def test_a_file_that_is_not_json_is_left_alone(self, place, files):
        path, _ = files["claude-code"]
        path.write_text("{oh")
        assert "line 1" in failed("install", "claude-code", "--proxy", "--yes")
        assert path.read_text() == "{oh"

    def test_doctor_says_when_no_proxy_answers(self, place, files):
        done("install", "claude-code", "--proxy", "--yes")
        told = run("doctor").stdout
        assert "claude-code is set to http://127.0.0.1:8790, where no proxy answers" in told

    def test_cursor_has_no_file_for_it(self, place):
        assert "/v1 in its own" in failed("install", "cursor", "--proxy")

    def test_codex_with_a_provider_of_its_own(self, place, files):
        path, _ = files["codex"]
        path.write_text('model_provider = "mine"\n')
        assert "'mine' already" in failed("install", "codex", "--proxy", "--yes")


class TestAccess:
    def test_beyond_loopback_a_token_is_made(self):
        listener = listen("0.0.0.0", 0, None)
        listener.socket.close()
        assert len(listener.token) >= 32
        headers = [(b"host", b"box.example"), (b"x-reverie-token", listener.token.encode())]
        assert listener.access.problem(headers) is None
        assert listener.access.problem(headers[:1]).status == 401

    def test_a_short_token_is_refused(self):
        with pytest.raises(InputError, match="at least 16"):
            listen("0.0.0.0", 0, "short")

    @pytest.mark.parametrize("host", ["127.0.0.1:8790", "localhost", "[::1]:8790", "127.0.0.2"])
    def test_loopback_names_are_ours(self, host):
        assert Access().problem([(b"host", host.encode())]) is None

    def test_an_editor_may_ask(self):
        headers = [(b"host", b"localhost"), (b"origin", b"vscode-webview://abc")]
        assert Access().problem(headers) is None


@pytest.mark.parametrize(
    ("target", "headers", "family"),
    [
        (b"/v1/messages?beta=true", [], "anthropic"),
        (b"/v1/models", [(b"anthropic-version", b"x")], "anthropic"),
        (b"/", [(b"user-agent", b"claude-cli/2.1")], "anthropic"),
        (b"/v1/models", [], "openai"),
        (b"/v1beta/models/x:generateContent", [], "gemini"),
        (b"/gemini/v1beta/models", [], "gemini"),
        (b"/anthropic/v1/anything", [], "anthropic"),
    ],
)
def test_where_a_request_goes(target, headers, family):
    assert route(target, headers).family == family


def test_a_client_is_started_with_the_address():
    assert client_environment("http://x")["ANTHROPIC_BASE_URL"] == "http://x"
    assert client_command(["claude", "-p", "hi"], "http://x") == ["claude", "-p", "hi"]
    codex = client_command(["/bin/codex", "exec", "hi"], "http://x")
    assert codex[-2:] == ["exec", "hi"]
    assert 'model_providers.reverie.base_url="http://x/v1"' in codex


def test_the_status_and_the_savings(place, start, provider):
    proxy = start()
    told = httpx2.get(f"{proxy.url}/_reverie/status").json()
    assert told["counts"] == {}
    assert "Nothing was proxied" in run("proxy", "savings").stdout
    assert json.loads(run("proxy", "status", "--json").stdout) == {"running": False}


def test_files_of_an_unknown_client(place):
    with pytest.raises(InputError, match="claude-code"):
        base_url_files("vim", None, "http://x", project=False)
