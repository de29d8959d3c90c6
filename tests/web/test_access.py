"""Who may use the page."""

from __future__ import annotations

import httpx
from tests.web.conftest import RunningPage, start


class TestOpening:
    def test_the_address_works_once(self, served: RunningPage) -> None:
        with httpx.Client(timeout=30) as other:
            assert other.get(served.opening).status_code == 403
            assert other.get(f"{served.base}/memory").status_code == 403

    def test_the_cookie_is_for_this_page_alone(self, served: RunningPage) -> None:
        for _, opening in start(served.app):
            answer = httpx.get(opening, timeout=30)
            cookie = answer.headers["set-cookie"].lower()
            assert "httponly" in cookie
            assert "samesite=strict" in cookie

    def test_a_wrong_token_is_refused(self, served: RunningPage) -> None:
        assert httpx.get(f"{served.base}/open?token=guess", timeout=30).status_code == 403


class TestRequests:
    def test_another_host_name_is_refused(self, served: RunningPage) -> None:
        for host in ("evil.example", "127.0.0.1:1", "localhost"):
            assert served.client.get("/memory", headers={"host": host}).status_code == 421

    def test_a_change_from_elsewhere_is_refused(self, served: RunningPage) -> None:
        for headers in ({"origin": "http://evil.example"}, {"origin": "null"}, {}):
            answer = served.client.post("/inbox", data={"csrf": served.csrf()}, headers=headers)
            assert answer.status_code == 403

    def test_a_change_needs_the_token_of_its_page(self, served: RunningPage) -> None:
        for token in ("", "0" * 64):
            answer = served.client.post(
                "/inbox", data={"csrf": token}, headers={"origin": served.base}
            )
            assert answer.status_code == 403

    def test_a_form_that_is_too_large_is_refused(self, served: RunningPage) -> None:
        assert served.post("/inbox", text="x" * 2_000_000).status_code == 413

    def test_every_answer_forbids_scripts_from_elsewhere(self, served: RunningPage) -> None:
        for path in ("/memory", "/static/style.css", "/nothing"):
            policy = served.client.get(path).headers["content-security-policy"]
            assert policy.startswith("default-src 'self'")
            assert "unsafe" not in policy

    def test_no_page_holds_an_inline_script_or_style(self, served: RunningPage) -> None:
        for path in ("/memory", "/sessions", "/inbox", "/spend", "/health", "/keys"):
            text = served.client.get(path).text
            assert "style=" not in text
            assert " onclick" not in text
            assert text.count("<script") == text.count('<script src="/static/')

    def test_static_files_stay_in_their_folder(self, served: RunningPage) -> None:
        assert served.client.get("/static/%2e%2e/server.py").status_code == 404
