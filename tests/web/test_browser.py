"""The page in a real Chromium: clicks, keys, both colour schemes, a phone's width, axe-core."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.web.hostile import TEXTS
from tests.web.store import SESSION, with_dream

from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.workspace.changes import waiting

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page
    from tests.place import Place
    from tests.web.conftest import RunningPage

pytestmark = pytest.mark.web

STAGING = "project_the_staging_database_listens_on_port_6543.md"
AXE = Path(__file__).parents[2] / ".clients" / "node_modules" / "axe-core" / "axe.min.js"
VIEWS = ("memory", "history", "inbox", "dreams", "sessions", "spend", "impact", "health", "keys")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield found
        found.close()


class Window:
    """A browser window on the page, which fails the test on any error in the console."""

    def __init__(self, browser: Browser, served: RunningPage, **look: object) -> None:
        self.served = served
        self.context: BrowserContext = browser.new_context(base_url=served.base, **look)
        host = {"domain": "127.0.0.1", "path": "/"}
        name = served.access.cookie
        self.context.add_cookies([{"name": name, "value": served.client.cookies[name], **host}])
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)

    def close(self) -> None:
        self.context.close()
        # A refused form is an answer with an error status, which the console names, too.
        assert [one for one in self.errors if "409" not in one] == []


@pytest.fixture
def window(browser: Browser, served: RunningPage) -> Iterator[Window]:
    made = Window(browser, served)
    yield made
    made.close()


def test_the_opening_address_leads_to_memory(browser: Browser, place: Place) -> None:
    from tests.web.conftest import start
    from tests.web.store import fill

    for _, opening in start(fill(place)):
        page = browser.new_page()
        page.goto(opening)
        page.wait_for_url("**/memory")
        assert "token" not in page.url
        page.close()


def test_search_as_you_type_changes_the_address(window: Window) -> None:
    page = window.page
    page.goto("/memory")
    page.keyboard.press("/")
    page.keyboard.type("database port")
    page.wait_for_selector("mark")
    assert "staging database" in page.inner_text("#results")
    page.wait_for_url("**q=database+port**")
    page.reload()
    assert "staging database" in page.inner_text("#results")
    page.click("#results .title >> nth=0")
    page.wait_for_selector("article.memory")
    page.go_back()
    page.wait_for_selector("mark")
    assert page.input_value("[type=search]") == "database port"


def test_filters_and_the_slider(window: Window) -> None:
    window.served.place.clock.advance(5 * 86_400)
    window.served.app.remember(NewMemory("The proxy is haproxy 2.8.", "project"), Author("user"))
    page = window.page
    page.goto("/memory")
    page.select_option("select[name=type]", "feedback")
    page.wait_for_url("**type=feedback**")
    page.wait_for_selector("#results :text-is('1 memory')")
    page.goto("/memory?as_of=2025-06-16")
    assert "haproxy" not in page.inner_text("#results")
    assert page.is_visible("[type=range]")


def test_a_source_opens_in_place(window: Window) -> None:
    page = window.page
    page.goto(f"/memory/{STAGING}")
    page.click("details.source summary")
    page.wait_for_selector(".said blockquote")
    assert "Which port does the staging database use?" in page.inner_text(".said")


def test_two_editors_at_once(browser: Browser, served: RunningPage) -> None:
    first, second = Window(browser, served), Window(browser, served)
    for one in (first, second):
        one.page.goto(f"/memory/{STAGING}?edit=1")
    for one, value in ((first, "1111"), (second, "2222")):
        text = one.page.input_value("textarea").replace("6543.", f"{value}.")
        one.page.fill("textarea", text)
        one.page.click("button.main")
        one.page.wait_for_load_state()
    assert "changed meanwhile" in second.page.inner_text("h1")
    assert "1111" in second.page.inner_text(".beside pre")
    assert "2222" in second.page.input_value("textarea")
    second.page.click("button.main")
    second.page.wait_for_selector("article.memory")
    assert b"2222" in served.app.memory().store.current(STAGING)
    first.close()
    second.close()


def test_accept_a_proposal_and_undo_it_by_keyboard(window: Window) -> None:
    page, clock = window.page, window.served.place.clock
    # Changes of one second have no order between scopes.
    clock.advance(60)
    page.goto("/inbox")
    page.keyboard.press("j")
    page.keyboard.press("a")
    page.wait_for_selector("html.js .note")
    assert "Accepted" in page.inner_text(".note")
    assert len(waiting(window.served.app)) == 2
    clock.advance(60)
    page.keyboard.press("g")
    page.keyboard.press("h")
    page.wait_for_url("**/history")
    page.wait_for_selector("html.js .rows")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_selector("html.js .diff")
    page.keyboard.press("u")
    page.wait_for_selector("html.js .note")
    assert len(waiting(window.served.app)) == 3
    page.keyboard.press("u")
    page.wait_for_selector(".note:has-text('Redid')")
    assert len(waiting(window.served.app)) == 2


def test_a_dream_is_decided_by_keyboard(window: Window) -> None:
    dream = with_dream(window.served.place)
    page = window.page
    page.goto(f"/dreams/{dream}")
    page.keyboard.press("j")
    page.keyboard.press("a")
    page.keyboard.press("r")
    page.keyboard.press("s")
    page.wait_for_selector("html.js .note")
    assert "1 change made, 1 rejected" in page.inner_text(".note")


def test_the_keys_are_listed(window: Window) -> None:
    page = window.page
    page.goto("/memory")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert "search" in page.inner_text("dialog")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")


def test_plots_are_drawn_and_a_running_session_is_followed(window: Window) -> None:
    from reverie.conversation.journal import Journal
    from reverie.conversation.records import Said
    from reverie.core.messages import Text, new_message

    served, page = window.served, window.page
    path = served.app.project.journal(SESSION)
    page.goto(f"/sessions/{SESSION}")
    page.wait_for_selector('[data-plot="fill"] canvas')
    page.wait_for_selector('[data-plot="cost"] canvas')
    # The clock of the test stands still: what is written now is younger than ten minutes.
    served.place.clock.at = path.stat().st_mtime + 1
    page.reload()
    page.wait_for_selector("[data-live]")
    with Journal(path) as journal:
        journal.append(Said(new_message("user", Text("Said while it is open."), at=1)))
    page.wait_for_selector("text=Said while it is open.")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious(
    browser: Browser, served: RunningPage, scheme: str, width: int
) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed; `make test-web` installs it")
    dream = with_dream(served.place)
    size = {"width": width, "height": 800}
    # axe-core is evaluated by the test, which the page's own policy would forbid.
    window = Window(browser, served, color_scheme=scheme, viewport=size, bypass_csp=True)
    page = window.page
    item = waiting(served.app)[0].id
    more = [f"/memory/{STAGING}", f"/memory/{STAGING}?edit=1", f"/memory/{STAGING}?forget=1",
            "/memory?q=database", f"/dreams/{dream}", f"/sessions/{SESSION}", f"/inbox/{item}"]  # fmt: skip
    for path in (*(f"/{view}" for view in VIEWS), *more):
        page.goto(path)
        page.wait_for_load_state("networkidle")
        overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(overflow) <= 0, path
        page.add_script_tag(path=AXE)
        found = page.evaluate("axe.run().then((found) => found.violations)")
        serious = [
            (one["id"], [node["target"] for node in one["nodes"]][:3])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert serious == [], path
    window.close()


FOCUS = """(() => {
    const it = document.activeElement;
    return [it.tagName + (it.name || ""), getComputedStyle(it).outlineStyle];
})()"""


def test_every_control_is_reached_by_tab_and_shows_it(window: Window) -> None:
    page = window.page
    page.goto("/memory")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    seen = set()
    for _ in range(24):
        page.keyboard.press("Tab")
        tag, style = page.evaluate(FOCUS)
        seen.add(tag)
        assert tag == "BODY" or style != "none", tag
    assert {"INPUTq", "SELECTtype", "INPUTas_of", "A"} <= seen


def test_reads_without_javascript(browser: Browser, served: RunningPage) -> None:
    window = Window(browser, served, java_script_enabled=False)
    page = window.page
    for view in VIEWS:
        page.goto(f"/{view}")
        assert page.inner_text("h1")
    page.goto("/memory")
    page.fill("[type=search]", "database")
    page.click("button.nojs")
    assert "staging database" in page.inner_text("#results")
    page.goto(f"/sessions/{SESSION}")
    assert "microcompaction" in page.inner_text("table")
    window.close()


def test_hostile_texts_do_nothing(window: Window) -> None:
    folder = window.served.app.memory().place.directory
    for n, text in enumerate(TEXTS):
        body = f"---\nname: hostile {n}\ndescription: {n}\ntype: project\n---\n\n{text}\n"
        (folder / f"hostile_{n:02}.md").write_text(body, "utf-8", errors="surrogateescape")
    page = window.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for n in range(len(TEXTS)):
        page.goto(f"/memory/hostile_{n:02}.md")
        assert page.evaluate("window.owned") is None
        assert (
            page.evaluate(
                "document.querySelectorAll('.body a, .body img, .body svg, .body script').length"
            )
            == 0
        )
    page.goto("/memory?state=all&q=hostile")
    assert page.evaluate("window.owned") is None
    assert all(url.startswith(window.served.base) for url in asked)
