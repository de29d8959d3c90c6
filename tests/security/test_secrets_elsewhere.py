"""Secrets in what lies beside memory: letters, editor drafts, agents' own memory, logs of teammates."""

import asyncio

import pytest
from tests.cli.memories import AUDIT, editor, remembered
from tests.cli.run import failed
from tests.place import Place
from tests.workspace.test_secrets_under_home import TOLD, VALUE, in_clear

from reverie.events import no_listener
from reverie.session.build import open_session
from reverie.session.crew import new_crew
from reverie.session.options import SessionOptions
from reverie.session.subagents import log_errors
from reverie.subagents.letters import LONGEST_SUMMARY, problem
from reverie.subagents.type_files import open_agent_memory

NOTE = f"---\nname: Wiki\ndescription: {TOLD}\ntype: project\n---\n{TOLD}\n"


@pytest.mark.anyio
async def test_a_letter_carries_none_to_another_process(place: Place) -> None:
    desk = new_crew(place.app(), SessionOptions(), place.base / "s1", no_listener, open_session)
    letter = desk.crew.letter("lead", "rita", f"Please log in: {TOLD}", f"{TOLD} " * 6)
    assert VALUE not in letter.text + letter.summary
    assert letter.text.startswith("Please log in:")
    assert len(letter.summary) <= LONGEST_SUMMARY
    assert problem(letter) is None
    box = desk.crew.host.post.open("rita")  # type: ignore[attr-defined]
    assert box is not None
    assert desk.identity.mail.send(letter) is None
    assert in_clear(place.home) == []


def test_a_draft_that_cannot_be_saved_keeps_none(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = remembered(AUDIT)["file"]
    script = f"printf -- '---\\nname: x\\n{TOLD}\\nmine\\n' > \"$1\""
    monkeypatch.setenv("VISUAL", editor(place, script))
    assert "never closed" in failed("edit", file)
    (draft,) = (place.app().memory_location.state / "drafts").glob("[!.]*")
    assert "mine" in draft.read_text()
    assert in_clear(place.home) == []


@pytest.mark.parametrize("file", ["wiki.md", "MEMORY.md"])
def test_an_agents_own_memory_and_its_history_keep_none(place: Place, file: str) -> None:
    app = place.app()
    memory = open_agent_memory("tester", "user", place.root, place.home, place.clock)
    text = NOTE if file == "wiki.md" else f"- [Wiki](wiki.md) — {TOLD}\n"
    (memory.directory / file).write_text(text)
    (memory.directory / "plain.md").write_bytes(b"---\nname: p\n---\nno \xff UTF-8\n")
    memory.record(app.scrubber)
    assert in_clear(place.home) == []
    kept = memory.store.history.read(file)
    assert kept == (memory.directory / file).read_bytes()
    assert b"wiki" in kept.lower()
    assert b"\xff" in (memory.directory / "plain.md").read_bytes()


@pytest.mark.anyio
@pytest.mark.parametrize("cut", [1, 7, 64 * 1024])
async def test_what_a_teammate_says_on_standard_error_is_logged_without(
    place: Place, cut: int
) -> None:
    said = f"starting\nTraceback: {TOLD}\nno newline at the end".encode()
    stream = asyncio.StreamReader()
    path = place.base / "rita.log"
    logging = asyncio.create_task(log_errors(stream, path, place.app().scrubber))
    for start in range(0, len(said), cut):
        stream.feed_data(said[start : start + cut])
        await asyncio.sleep(0)
    stream.feed_eof()
    await logging
    logged = await asyncio.to_thread(path.read_text)
    assert VALUE not in logged
    assert logged.startswith("starting\nTraceback: ")
    assert logged.endswith("\nno newline at the end")
