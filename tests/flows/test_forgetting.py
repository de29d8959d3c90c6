"""A memory is forgotten everywhere: no file of ours holds its words, and the conversation goes on."""

import json
import re
import shutil
import subprocess
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from tests.cli.memories import asked, contents, directory, remembered
from tests.cli.run import data, done, failed
from tests.conversation import claude_lines as claude
from tests.conversation.build import write_lines
from tests.flows.sessions import Desk, kinds
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.script import Text, Thinking, ToolCall

from reverie.api.forgetting import Forgetting
from reverie.clients.hooks.events import HookEvent, SessionEnded
from reverie.clients.hooks.session_folder import SessionFolder
from reverie.conversation import journal
from reverie.conversation.cache_report import report_on
from reverie.conversation.journal import TextFile
from reverie.conversation.records import Redacted, Said
from reverie.conversation.state import SessionState
from reverie.core.messages import Text as Words
from reverie.core.messages import new_message
from reverie.core.prompt_cache.tracker import Broken
from reverie.events import CacheBroke
from reverie.memory.changes.daily_log import DailyLog
from reverie.memory.changes.draft import NewMemory, Remembered
from reverie.memory.format.proposals import Proposal
from reverie.memory.format.revisions import Author
from reverie.memory.format.traces import MARK
from reverie.recall.service import index_past_sessions, recall
from reverie.subagents.letters import Letter, Sent
from reverie.subagents.mail_store import Post, new_reader
from reverie.workspace import Workspace
from reverie.workspace.changes import open_inbox

SECRET = 'Okapi Partners buy us on 2027-02-01, "the heron" is what they call it, für uns geheim'
SAID = 'Okapi Partners buy us next month, "the heron" is what they call it, für uns geheim'
OTHER = "Integration tests use a real database because a mock hid a broken migration"


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Desk:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)
    return Desk(place, provider, monkeypatch)


def claude_transcript(place: Place, text: str) -> Path:
    """A session of Claude Code in this project."""
    name = re.sub("[^A-Za-z0-9]", "-", str(place.root))
    path = place.person / ".claude" / "projects" / name / "c1.jsonl"
    path.parent.mkdir(parents=True)
    return write_lines(path, [claude.prompt(text, cwd=str(place.root))])


async def talked(desk: Desk) -> tuple[str, str]:
    """A real session in which it was said, thought, read from a long file and written down."""
    filler = "".join(f"line {n} of a long report about nothing much\n" for n in range(4_000))
    desk.write("report.txt", f"first\n{SECRET}\n{filler}")
    desk.provider.script(
        [
            Thinking(f"They say: {SECRET}"),
            Text("Let me look."),
            ToolCall("Bash", {"command": "cat report.txt"}),
        ],
        f"I have read it. {SECRET}.",
        [ToolCall("Write", {"path": "note.txt", "content": SECRET})],
        "Written.",
    )
    async with desk.session() as session:
        await desk.hear(session, f"Hello. {SAID}. Please read report.txt")
        await desk.hear(session, f"Write it down: {SECRET}")
        state = session.conversation.state
        return state.session, state.messages[0].id


def spread(place: Place, app: Workspace, session: str, message: str) -> str:
    """Copies of it in every place that may hold one; its file name."""
    memory = app.memory()
    author = Author("main", session, (message,))
    made = memory.keeper.remember(NewMemory(SECRET, source=(f"{session}#{message}",)), author)
    assert isinstance(made, Remembered)
    file = made.topic.file
    path = directory(place) / "linked.md"
    path.write_text(
        f"---\nname: Linked\nlinks: [{file}, other.md]\nsupersedes: [{file}]\n---\n"
        f"See [[{file.removesuffix('.md')}]], [the deal]({file}) and [[other]].\n"
    )
    (directory(place) / "older.md").write_text(
        f"---\nname: Older\nsuperseded_by: {file}\n---\nold\n"
    )
    memory.store.notice_hand_edits()
    inbox = open_inbox(app, memory)
    inbox.put(Proposal(SECRET, "project", "tool", "a tool said it"))
    item = inbox.put(Proposal(f"Also: {SECRET}", "project", "tool", "a tool said it"))
    inbox.settle(item.id)  # type: ignore[union-attr]
    inbox.put(Proposal("Something else entirely", "project", "tool", "said"))
    DailyLog(memory.store, app.clock, memory.scrubber).append(f"Heard: {SECRET}", author)
    memory.uses.record([file, "linked.md"], "used", session)
    folder = app.project.folder
    TextFile(folder / "sessions" / session / "notes.md").write(f"# Title\n{SECRET[:60]}\nkept\n")
    (folder / "chat-history").write_text(f"\n# 2027\n+{SAID}\n")
    (folder / "drafts").mkdir(exist_ok=True)
    (folder / "drafts" / "linked.md").write_text(f"a draft that quotes {SECRET}")
    ended = HookEvent("gemini", "g1", str(place.root), SessionEnded())
    hooks = SessionFolder(app.project, ended, app.scrubber)
    hooks.hear(new_message("user", Words(f"As I said, {SAID}."), at=1.0))
    hooks.hear(new_message("assistant", Words(json.dumps({"a": json.dumps(SECRET)})), at=2.0))
    hooks.notes.write(f"# Task\nfind out\n- {SECRET}\n")
    hooks.results.put("t1.txt", f"first\n{SECRET}\nlast\n")
    (place.home / "daemon.log").write_text(json.dumps({"message": SECRET}) + "\n")
    done("export", place.home / "exported.zip")
    done("export", place.base / "outside.zip")
    index_past_sessions(app)
    assert recall(app, SECRET, limit=3).hits
    subprocess.run(
        ["git", "--git-dir", memory.place.history, "gc", "-q", "--prune=now"], check=True
    )
    remembered(OTHER)
    assert list(memory.place.history.glob("objects/pack/*.pack"))
    return file


def holding(home: Path) -> list[str]:
    """Every file of a home in which it can be found: escaped, zipped, in git's objects."""
    words = [SECRET, SAID, json.dumps(SECRET)[1:-1], json.dumps(SECRET, ensure_ascii=False)[1:-1]]
    # Parts that no escape and no date changes.
    words += ["is what they call it", "Okapi Partners buy us"]
    found = []
    for name, held in contents(home).items():
        if name.endswith(".zip"):
            with ZipFile(BytesIO(held)) as archive:
                held = b"".join(one.encode() + archive.read(one) for one in archive.namelist())
        if any(word.encode() in held for word in words):
            found.append(name)
    for git in home.rglob("history.git"):
        command = ["git", "--git-dir", git, "cat-file", "--batch-all-objects", "--batch"]
        objects = subprocess.run(command, capture_output=True, check=True).stdout
        found += [f"git: {word}" for word in words if word.encode() in objects]
    return found


async def test_nothing_of_ours_holds_it_and_the_session_goes_on(desk: Desk) -> None:
    place, app = desk.place, desk.app()
    session, message = await talked(desk)
    file = spread(place, app, session, message)
    theirs = claude_transcript(place, SECRET)
    held = holding(place.home)
    assert len(held) >= 16
    [kept] = [row["file"] for row in data("list") if row["name"].startswith("Integration")]
    before = journal.load(app.project.journal(session)).records
    foreign = theirs.read_bytes()

    assert f"--also {theirs}" in failed("forget", file, "--everywhere")
    [told] = data("forget", file, "--everywhere", "--yes")

    assert holding(place.home) == []
    assert {one["path"]: one["whose"] for one in told["elsewhere"]} == {
        str(theirs): "Claude Code's transcript",
        str(place.base / "outside.zip"): "an export",
    }
    assert theirs.read_bytes() == foreign
    rows = {row["place"]: row for row in told["receipt"]}
    removed = {name: row["removed"] for name, row in rows.items()}
    assert removed | {"history.git": 0} == {
        "inbox": 2,
        "unsaved edits": 1,
        "reports of dreams": 0,
        "branches of dreams": 0,
        "session notes": 2,
        "stored tool results": 2,
        "other files": 3,
        "transcripts": 2,
        f"memory/{file}": 1,
        "other memories": 2,
        "daily logs": 1,
        "history.git": 0,
        "search indexes": 0,
        "use counts": 1,
    }
    assert removed["history.git"] > 3
    # What stays is as it was.
    linked = (directory(place) / "linked.md").read_text()
    assert linked == (
        f"---\nname: Linked\nlinks: [other.md]\n---\nSee {MARK}, {MARK} and [[other]].\n"
    )
    older = app.memory().keeper.require("older.md").topic
    assert (older.superseded_by, older.listed) == (None, False)
    assert (
        TextFile(app.project.folder / "sessions" / session / "notes.md").read() == "# Title\nkept\n"
    )
    assert [row["text"] for row in data("inbox")["waiting"]] == ["Something else entirely"]
    assert recall(app, OTHER, limit=1).hits[0].key == kept

    # The transcript has the same messages, and says what happened to it.
    after = journal.load(app.project.journal(session))
    assert after.notes == ()
    gone = [one for one in after.records if isinstance(one, Redacted)]
    records = after.records[: -len(gone)]
    assert [type(one) for one in records] == [type(one) for one in before]
    ids = [one.message.id for one in records if isinstance(one, Said)]
    assert ids == [one.message.id for one in before if isinstance(one, Said)]
    assert message in [one.message for one in gone]
    said = next(one for one in records if isinstance(one, Said)).message.text
    assert said.startswith(f"Hello. {MARK}. Please read report.txt")
    assert SessionState.replay(after.records).rewritten == gone[0].cause

    # It goes on: the provider gets none of it, and the break has a cause.
    desk.provider.expect_break("a memory was forgotten")
    desk.provider.script("Good morning.", "Yes.")
    async with desk.session(resume=True) as resumed:
        events = await desk.hear(resumed, "Good morning")
        events += await desk.hear(resumed, "Still there?")
    sent = json.dumps(desk.provider.requests[-1].json, ensure_ascii=False)
    assert MARK in sent
    assert not any(word in sent for word in ("the heron", "Okapi"))
    assert not [e for e in kinds(events, CacheBroke) if isinstance(e.verdict, Broken)]  # type: ignore[attr-defined]
    [row] = [
        one
        for one in report_on(app.settings, app.project.journal(session))
        if one.purpose == "main"
    ]
    assert all(one.expected for one in row.breaks)
    assert any("a memory was forgotten" in one.why for one in row.breaks)
    assert holding(place.home) == []


async def test_twice_is_once_and_others_are_cleaned_on_request(desk: Desk) -> None:
    place, app = desk.place, desk.app()
    session, message = await talked(desk)
    file = spread(place, app, session, message)
    theirs = claude_transcript(place, f"Hear: {SECRET}")
    forgetting = Forgetting(app, app.memory(), file)
    receipt = forgetting.run(Author("user"), [theirs, place.base / "outside.zip"])
    assert [(one.path, one.redacted > 0) for one in receipt.elsewhere] == [
        (theirs, True),
        (place.base / "outside.zip", True),
    ]
    assert f"Hear: {MARK}" in theirs.read_text()
    for ours in ("note.txt", "report.txt"):
        (place.root / ours).unlink()
    assert holding(place.base) == []
    again = forgetting.run(Author("user"))
    assert sum(one.removed for one in again.places) == 0
    assert again.elsewhere == ()
    assert "no memory" in failed("forget", file, "--everywhere", "--yes")


async def test_a_crash_in_between_is_made_good_by_the_same_call(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, app = desk.place, desk.app()
    file = spread(place, app, *await talked(desk))

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    for name in ("from_notes", "drop_shadows"):
        with monkeypatch.context() as broken:
            broken.setattr(f"reverie.memory.cleaning.{name}", crash)
            with pytest.raises(KeyboardInterrupt):
                Forgetting(app, app.memory(), file).run(Author("user"))
    shutil.rmtree(place.base / "outside.zip", ignore_errors=True)
    Forgetting(app, app.memory(), file).run(Author("user"))
    assert holding(place.home) == []


async def test_an_open_session_that_holds_it_must_be_closed_first(desk: Desk) -> None:
    desk.provider.script("Very well.")
    async with desk.session() as session:
        await desk.hear(session, SECRET)
        file = remembered(SECRET)["file"]
        message = failed("forget", file, "--everywhere", "--yes")
        assert f"session {session.conversation.state.session} is open" in message
        assert [row["file"] for row in data("list")] == [file]
    done("forget", file, "--everywhere", "--yes")
    assert holding(desk.place.home) == []


def test_another_memory_that_says_the_same_is_named(desk: Desk) -> None:
    file = remembered(SECRET)["file"]
    twin = remembered(SECRET, "--even-if-known")["file"]
    [told] = data("forget", file, "--everywhere", "--yes")
    [row] = [row for row in told["receipt"] if row["place"] == "other memories"]
    assert row["remains"] == f"the same words are in {twin}: forget that, too"
    assert data("show", twin)["name"]
    data("forget", twin, "--everywhere", "--yes")
    assert holding(desk.place.home) == []


def test_on_a_terminal_it_asks_about_what_is_not_ours(desk: Desk) -> None:
    file = remembered(SECRET)["file"]
    outside = desk.place.base / "outside.zip"
    done("export", outside)
    code, heard = asked(desk.place, "y", "forget", file, "--everywhere", "--also", str(outside))
    assert code == 0
    assert "cleaned too: " in heard
    assert holding(desk.place.base) == []


async def test_what_is_about_the_person_goes_from_every_project(desk: Desk) -> None:
    """It is recalled everywhere, so that each project may hold its words."""
    place = desk.place
    there = place.base / "there"
    there.mkdir()
    desk.provider.script(f"I see. {SECRET}.")
    remembered(OTHER)
    async with desk.session() as session:
        await desk.hear(session, f"Hello. {SAID}.")
        state = session.conversation.state
    source = f"{state.session}#{state.messages[0].id}"
    memory = NewMemory(SECRET, source=(source,), scope="person")
    made = desk.app().remember(memory, Author("user"))[1]
    assert isinstance(made, Remembered)
    file = made.topic.file
    theirs = claude_transcript(place, SECRET)
    folder = desk.app().project.folder
    (folder / "drafts").mkdir()
    same_name = folder / "drafts" / file.removeprefix("person/")
    same_name.write_text("of another memory")
    index_past_sessions(desk.app())
    assert data("recall", SECRET)["hits"]
    done("export", place.base / "outside.zip")
    assert holding(place.home) != []
    [told] = data("forget", file, "--everywhere", "--yes", "--project", there)
    assert holding(place.home) == []
    assert same_name.exists()
    named = {row["path"]: row["whose"] for row in told["elsewhere"]}
    assert named == {
        str(theirs): "Claude Code's transcript",
        str(place.base / "outside.zip"): "an export",
    }
    index_past_sessions(desk.app())
    found = data("search", "Okapi Partners heron")
    assert [hit["snippet"] for hit in found if "Okapi" in hit["snippet"]] == []


def test_a_project_that_says_the_same_as_the_person_is_named(desk: Desk) -> None:
    own = remembered(SECRET, "--scope", "project")["file"]
    file = remembered(SECRET, "--scope", "person", "--even-if-known")["file"]
    [told] = data("forget", file, "--everywhere", "--yes")
    [left] = [row for row in told["elsewhere"] if not row["path"].endswith("MEMORY.md")]
    assert left["path"] == str(directory(desk.place) / own)
    assert left["whose"] == "this project's memory"
    data("forget", own, "--everywhere", "--yes")
    assert holding(desk.place.home) == []


async def test_of_the_team_only_its_history_stays(desk: Desk) -> None:
    desk.place.settings("features.team = true")
    desk.provider.script("Very well.")
    file = remembered(SECRET, "--team")["file"]
    async with desk.session() as session:
        await desk.hear(session, SECRET)
    [told] = data("forget", file, "--everywhere", "--yes")
    [row] = [row for row in told["receipt"] if row["place"] == "history.git"]
    assert row["done"] == "not changed"
    assert "team sync" in row["remains"]
    assert told["elsewhere"] == []
    assert [name for name in holding(desk.place.home) if not name.startswith("git: ")] == []


async def test_letters_that_wait_are_cleaned_and_still_arrive(desk: Desk) -> None:
    app = desk.app()
    file = remembered(SECRET)["file"]
    post = Post(desk.place.home, "any/team", app.clock)
    box = post.open("lead")
    for number, text in enumerate((SECRET, OTHER)):
        sent = Letter("paul", "lead", f"Look: {text}.", "news", "message", 1.0, f"paul-{number}")
        assert isinstance(post.send(sent), Sent)
    post.close()

    [told] = data("forget", file, "--everywhere", "--yes")

    rows = {row["place"]: row["removed"] for row in told["receipt"]}
    assert rows["letters"] == 1
    assert not any(b"Okapi" in path.read_bytes() for path in desk.place.home.glob("mail*"))
    reader = new_reader(app.clock)
    first, second = box.take(reader), box.take(reader)
    assert first is not None
    assert MARK in first.text
    assert second is not None
    assert OTHER in second.text
