"""Every view over real HTTP, without JavaScript: what it shows, and what its forms do."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from tests.web.hostile import TEXTS
from tests.web.store import SESSION, with_dream

from reverie.learning.runs import Run, note_run
from reverie.learning.service import instructions_for
from reverie.memory import catalog, watcher
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.web import open_project
from reverie.workspace.changes import waiting

if TYPE_CHECKING:
    import pytest
    from tests.place import Place
    from tests.web.conftest import RunningPage

STAGING = "project_the_staging_database_listens_on_port_6543.md"
PNPM = "feedback_use_pnpm_never_npm_in_this_repository.md"

VIEWS = ["/", "/memory", f"/memory/{STAGING}", f"/memory/{STAGING}?edit=1", f"/memory/{STAGING}?forget=1",
         "/history", "/inbox", "/dreams", "/sessions", f"/sessions/{SESSION}", "/spend", "/spend?by=project",
         "/impact", "/health", "/keys"]  # fmt: skip
MISSING = ["/memory/nothing.md", "/history/0000000", "/dreams/x", "/sessions/x", "/inbox/0123456789abcdef",
           "/memory?as_of=yesterday", "/receipt/x"]  # fmt: skip


def version_on(page: str) -> str:
    found = re.search(r'name="version" value="([^"]*)"', page)
    assert found
    return found[1]


class TestEveryView:
    def test_is_there(self, served: RunningPage) -> None:
        for path in VIEWS:
            answer = served.client.get(path)
            assert answer.status_code == 200, path
            assert "<main" in answer.text

    def test_the_first_view_is_small(self, served: RunningPage) -> None:
        page = served.client.get("/memory").text
        files = re.findall(r'(?:src|href)="(/static/[^"]+)"', page)
        sizes = [len(served.client.get(file).content) for file in files]
        assert len(page.encode()) + sum(sizes) < 150_000

    def test_what_is_not_there_says_so(self, served: RunningPage) -> None:
        for path in MISSING:
            answer = served.client.get(path)
            assert answer.status_code == 404, path
            assert "That is not possible" in answer.text


class TestMemory:
    def test_filters(self, served: RunningPage) -> None:
        page = served.client.get("/memory?type=feedback").text
        assert "Use pnpm" in page
        assert "staging database" not in page
        assert "1 memory" in page
        assert "backend engineer" in served.client.get("/memory?scope=person").text
        assert "0 memories" in served.client.get("/memory?state=archived").text
        assert "5 memories" in served.client.get("/memory?origin=user").text

    def test_search_marks_the_words_and_says_why(self, served: RunningPage) -> None:
        page = served.client.get("/memory", params={"q": "database port"}).text
        assert "<mark>database</mark>" in page
        assert "shares words" in page
        assert "<dt>lexical</dt>" in page

    def test_shows_the_whole_of_a_memory(self, served: RunningPage) -> None:
        text = "\n".join(f"- step {n} of the long runbook" for n in range(300))
        served.app.remember(
            NewMemory(f"The runbook:\n\n{text}", "project", name="Runbook"), Author("user")
        )
        page = served.client.get("/memory?q=runbook").text
        label = unescape(re.search(r'href="/memory/([^"]*runbook[^"]*)"', page)[1])
        assert "step 299 of the long runbook" in served.client.get(f"/memory/{label}").text

    def test_provenance_opens_the_very_message(self, served: RunningPage) -> None:
        page = served.client.get(f"/memory/{STAGING}").text
        source = unescape(re.search(r'hx-get="(/source[^"]+)"', page)[1])
        assert "Which port does the staging database use?" in served.client.get(source).text

    def test_links_both_ways(self, served: RunningPage) -> None:
        new = NewMemory(
            f"Details: see [[{STAGING.removesuffix('.md')}]].", "project", name="Details"
        )
        _, made = served.app.remember(new, Author("user"))
        assert made.topic.file in served.client.get(f"/memory/{STAGING}").text
        assert f'href="/memory/{STAGING}"' in served.client.get(f"/memory/{made.topic.file}").text

    def test_pin_and_unpin(self, served: RunningPage) -> None:
        version = version_on(served.client.get(f"/memory/{STAGING}").text)
        served.post(f"/memory/{STAGING}", do="pin", version=version)
        assert served.app.memory().store.read(STAGING).topic.pinned
        version = version_on(served.client.get(f"/memory/{STAGING}").text)
        served.post(f"/memory/{STAGING}", do="unpin", version=version)
        assert not served.app.memory().store.read(STAGING).topic.pinned

    def test_replace_and_restore(self, served: RunningPage) -> None:
        version = version_on(served.client.get(f"/memory/{STAGING}").text)
        page = served.post(f"/memory/{STAGING}", do="replace", by=PNPM, version=version).text
        assert "Replaced by" in page
        served.post(f"/memory/{STAGING}", do="restore", version=version_on(page))
        assert served.app.memory().store.read(STAGING).topic.superseded_by is None

    def test_forget_and_bring_back(self, served: RunningPage) -> None:
        version = version_on(served.client.get(f"/memory/{STAGING}?forget=1").text)
        answer = served.post(f"/memory/{STAGING}", do="forget", version=version)
        assert served.app.memory().store.read(STAGING) is None
        served.post(answer.url.path)
        assert served.app.memory().store.read(STAGING) is not None

    def test_forget_everywhere_gives_a_receipt(self, served: RunningPage) -> None:
        version = version_on(served.client.get(f"/memory/{PNPM}?forget=1").text)
        page = served.post(
            f"/memory/{PNPM}", do="forget everywhere", version=version, also="/etc/passwd"
        )
        assert "is forgotten everywhere" in page.text
        assert page.url.path.startswith("/receipt/")
        assert "pnpm" not in served.client.get("/history").text

    def test_several_at_once(self, served: RunningPage) -> None:
        page = served.client.get("/memory?scope=project").text
        items = [unescape(one) for one in re.findall(r'name="items" value="([^"]+)"', page)]
        stale = f"{items[0].rpartition('@')[0]}@1.0"
        answer = served.post("/memory", do="forget", items=[stale, *items[1:3]])
        assert "Forgot 2 memories; 1 changed since" in unescape(answer.text)
        assert len(served.app.memory().store.entries()) == 2

    def test_as_of_a_day_before(self, served: RunningPage) -> None:
        served.place.clock.advance(3 * 86_400)
        served.app.remember(
            NewMemory("The load balancer is haproxy 2.8.", "project"), Author("user")
        )
        assert "haproxy" in served.client.get("/memory").text
        then = served.client.get("/memory?as_of=2025-06-16").text
        assert "haproxy" not in then
        assert "staging database" in then
        past = served.client.get(f"/memory/{STAGING}?as_of=2025-06-16").text
        assert "As it was" in past
        assert 'name="version"' not in past


class TestManyMemories:
    def test_are_read_once_and_followed_then(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in (catalog, watcher):
            monkeypatch.setattr(module, "LARGE", 4)
        # Fewer changes at a time than there are memories.
        monkeypatch.setattr(open_project, "_MOST_CHANGES", 3)
        app = place.app()
        directory = app.memory_location.directory
        directory.mkdir(parents=True)
        for n in range(8):
            text = f"---\nname: Port {n}\ndescription: port {n}\ntype: project\n---\nport {n}\n"
            (directory / f"project_port_{n}.md").write_text(text)
        opened = open_project.OpenProject(app, lambda *_: [])
        first = opened.entries()
        assert len(first) == 8
        assert opened.entries() is first
        app.remember(NewMemory("The gateway listens on port 9", "project"), Author("user"))
        assert len(opened.entries()) == 9
        opened.close()


class TestEditing:
    def test_saves_based_on_the_version_shown(self, served: RunningPage) -> None:
        page = served.client.get(f"/memory/{STAGING}?edit=1").text
        text = served.app.memory().store.current(STAGING).decode()
        changed = text.replace("6543.", "6599.")
        answer = served.post(
            f"/memory/{STAGING}", do="edit", version=version_on(page), text=changed
        )
        assert "Saved as" in answer.text
        assert b"6599" in served.app.memory().store.current(STAGING)

    def test_two_editors_never_overwrite_each_other(self, served: RunningPage) -> None:
        version = version_on(served.client.get(f"/memory/{STAGING}?edit=1").text)
        text = served.app.memory().store.current(STAGING).decode()
        served.post(
            f"/memory/{STAGING}", do="edit", version=version, text=text.replace("6543.", "1111.")
        )
        mine = text.replace("6543.", "2222.")
        answer = served.post(f"/memory/{STAGING}", do="edit", version=version, text=mine)
        assert answer.status_code == 409
        assert "1111" in answer.text
        assert "2222" in answer.text
        assert b"1111" in served.app.memory().store.current(STAGING)
        again = served.post(
            f"/memory/{STAGING}", do="edit", version=version_on(answer.text), text=mine
        )
        assert again.status_code == 200
        assert b"2222" in served.app.memory().store.current(STAGING)

    def test_an_action_on_what_changed_meanwhile_is_not_done(self, served: RunningPage) -> None:
        version = version_on(served.client.get(f"/memory/{STAGING}").text)
        path = served.app.memory().place.directory / STAGING
        path.write_text(path.read_text() + "\nChanged on the command line.\n")
        answer = served.post(f"/memory/{STAGING}", do="forget", version=version)
        assert answer.status_code == 409
        assert "Changed on the command line." in answer.text
        assert path.exists()

    def test_a_broken_text_is_kept_and_explained(self, served: RunningPage) -> None:
        version = version_on(served.client.get(f"/memory/{STAGING}?edit=1").text)
        answer = served.post(
            f"/memory/{STAGING}", do="edit", version=version, text="---\nname: [\n"
        )
        assert answer.status_code == 400
        assert "name: [" in answer.text
        assert 'role="alert"' in answer.text


class TestHistory:
    def test_diff_undo_and_undo_of_the_undo(self, served: RunningPage) -> None:
        page = served.client.get("/history").text
        revision = re.search(r'href="/history/(\w+)">remember The staging', page)[1]
        assert (
            "+The staging database listens on port 6543."
            in served.client.get(f"/history/{revision}").text
        )
        undone = served.post(f"/history/{revision}")
        assert served.app.memory().store.read(STAGING) is None
        assert "This change was undone" in served.client.get(f"/history/{revision}").text
        served.post(undone.url.path)
        assert served.app.memory().store.read(STAGING) is not None


class TestInbox:
    def ids(self, served: RunningPage) -> dict[str, str]:
        return {item.proposal.text.split()[0]: item.id for item in waiting(served.app)}

    def test_accept(self, served: RunningPage) -> None:
        answer = served.post(f"/inbox/{self.ids(served)['Always']}", do="accept", text="")
        assert "Accepted" in answer.text
        assert "--maxfail=1" in answer.text
        assert len(waiting(served.app)) == 2

    def test_edit_and_accept(self, served: RunningPage) -> None:
        text = "Run tests with --maxfail=3 before a commit."
        answer = served.post(f"/inbox/{self.ids(served)['Always']}", do="accept", text=text)
        assert "--maxfail=3" in answer.text
        assert len(waiting(served.app)) == 2

    def test_reject_several(self, served: RunningPage) -> None:
        served.post("/inbox", do="reject", items=list(self.ids(served).values()))
        assert waiting(served.app) == ()

    def test_a_suspicious_one_is_not_accepted_in_bulk(self, served: RunningPage) -> None:
        answer = served.post("/inbox", do="accept", items=list(self.ids(served).values()))
        assert answer.status_code == 400
        assert len(waiting(served.app)) == 3

    def test_never_again_keeps_the_phrase_out(self, served: RunningPage) -> None:
        served.post(f"/inbox/{self.ids(served)['The']}", do="never", phrase="nightly backup")
        instructions = instructions_for(served.app.settings, served.app.memory())
        assert instructions.keeps_out("The nightly backup moved.")
        assert len(waiting(served.app)) == 2

    def test_never_again_needs_plain_words(self, served: RunningPage) -> None:
        answer = served.post(f"/inbox/{self.ids(served)['The']}", do="never", phrase=".*")
        assert answer.status_code == 400
        assert len(waiting(served.app)) == 3


class TestDreams:
    def test_accept_one_change_and_reject_another_in_one_commit(self, served: RunningPage) -> None:
        dream = with_dream(served.place)
        page = served.client.get(f"/dreams/{dream}").text
        assert "The linter of this project is ruff" in page
        before = len(re.findall(r"data-row", served.client.get("/history").text))
        served.post(f"/dreams/{dream}", **{"change-c1": "accept", "change-c2": "reject"})
        assert not (served.app.memory().place.directory / "project_lint_two.md").exists()
        after = len(re.findall(r"data-row", served.client.get("/history").text))
        assert after == before + 1
        assert "approved" in served.client.get(f"/dreams/{dream}").text

    def test_nothing_chosen_is_told(self, served: RunningPage) -> None:
        dream = with_dream(served.place)
        assert served.post(f"/dreams/{dream}").status_code == 400


class TestSessions:
    def test_shows_what_was_sent_instead_of_what(self, served: RunningPage) -> None:
        page = served.client.get(f"/sessions/{SESSION}").text
        assert "sent instead" in page
        assert '<pre class="sent">[cleared]</pre>' in page
        assert "line 399 of a long file" in page

    def test_the_table_has_what_the_plots_have(self, served: RunningPage) -> None:
        data = served.client.get(f"/sessions/{SESSION}/series").json()
        assert data["calls"] == [1, 2, 3]
        assert data["read"] == [0, 4_000, 6_000]
        assert set(data["fill"]["parts"]) >= {"system", "messages", "tool results"}
        assert "microcompaction" in served.client.get(f"/sessions/{SESSION}").text


class TestHealth:
    def test_an_alarm_is_on_every_page(self, served: RunningPage) -> None:
        assert 'role="alert"' not in served.client.get("/memory").text
        for n in range(5):
            at = served.place.clock.now() + n + 1
            note_run(served.app, Run(at, f"s{n}", trouble="the key was refused"))
        assert (
            "learning has not worked for 5 sessions: the key was refused"
            in served.client.get("/memory").text
        )
        assert "reverie extract --dry-run" in served.client.get("/health").text

    def test_findings_carry_the_command_that_mends_them(self, served: RunningPage) -> None:
        path = served.app.memory().place.directory / "broken.md"
        path.write_text("---\nname: x\n")
        page = served.client.get("/health").text
        assert "reverie edit broken.md" in page


class TestHostileTexts:
    def test_there_are_sixty(self) -> None:
        assert len(TEXTS) == len(set(TEXTS)) == 60

    def test_stay_text_in_every_view(self, served: RunningPage) -> None:
        folder = served.app.memory().place.directory
        for n, text in enumerate(TEXTS):
            body = f"---\nname: |-\n  {text.splitlines()[0]!s}\ndescription: hostile {n}\ntype: project\n---\n\n{text}\n"
            (folder / f"hostile_{n:02}.md").write_text(body, "utf-8", errors="surrogateescape")
        pages = [served.client.get(f"/memory/hostile_{n:02}.md").text for n in range(len(TEXTS))]
        pages += [
            served.client.get(path).text
            for path in ("/memory", "/memory?page=2", "/memory?q=owned", "/history")
        ]
        latest = re.search(r'href="/history/(\w+)"', pages[-1])[1]
        pages.append(served.client.get(f"/history/{latest}").text)
        for page in pages:
            assert not set("\x1b\u202e\u2066\u200b\x00\U000e0041") & set(page)
            for tag, attributes in elements(page):
                assert tag in OUR_TAGS, tag
                assert not any(name.startswith(("on", "style")) for name in attributes)
                for name in ("href", "src", "action", "hx-get"):
                    assert (attributes.get(name) or "/").startswith(("/", "#"))


OUR_TAGS = frozenset(
    [
        "html",
        "head",
        "meta",
        "title",
        "link",
        "script",
        "body",
        "a",
        "header",
        "p",
        "b",
        "span",
        "nav",
        "main",
        "h1",
        "h2",
        "h3",
        "form",
        "label",
        "input",
        "select",
        "option",
        "div",
        "button",
        "ul",
        "ol",
        "li",
        "details",
        "summary",
        "dl",
        "dt",
        "dd",
        "article",
        "section",
        "aside",
        "pre",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "mark",
        "em",
        "strong",
        "br",
        "hr",
        "blockquote",
        "textarea",
        "caption",
        "fieldset",
        "legend",
    ]
)


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def elements(page: str) -> list[tuple[str, dict[str, str | None]]]:
    """What a browser makes of a page; our own scripts are at the start of it."""
    parser = _Elements()
    parser.feed(page)
    scripts = [attributes for tag, attributes in parser.found if tag == "script"]
    assert all((one["src"] or "").startswith("/static/") for one in scripts)
    return parser.found
