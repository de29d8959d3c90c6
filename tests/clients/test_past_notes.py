"""Notes of past sessions: finding a session, and reading or drafting its notes."""

import os

import pytest
from tests.conversation import claude_lines as claude
from tests.conversation.build import Said, user, write_lines
from tests.place import NOON, Place

from reverie.clients.past_notes import named_session, notes_of, past_sessions
from reverie.conversation.journal import Journal
from reverie.conversation.records import Opened
from reverie.errors import InputError

OWN_TEMPLATE = "# Session Title\n_What it was._\n\n# Mood\n_How it went._\n"


def test_newest_first_and_named_by_the_start_of_their_id(place: Place) -> None:
    for name in ("ab-1", "ab-2", "cd"):
        place.journal(name, Said(user(f"work on {name}")))
    sessions = past_sessions(place.app())
    assert [session.id for session in sessions] == ["cd", "ab-2", "ab-1"]
    assert named_session(sessions, "c").id == "cd"
    assert named_session(sessions, "ab-1").id == "ab-1"
    with pytest.raises(InputError, match="fits 2 sessions: ab-2, ab-1; give more of the id"):
        named_session(sessions, "ab")
    with pytest.raises(InputError, match="no session 'x' in this project; the newest are cd, "):
        named_session(sessions, "x")
    with pytest.raises(InputError, match="this project has none yet"):
        named_session([], "x")


def test_notes_in_a_template_of_ones_own(place: Place) -> None:
    path = place.journal("ab", Said(user("fix the login page")))
    os.utime(path, (NOON, NOON))
    template = place.home / "session-notes" / "template.md"
    template.parent.mkdir(parents=True)
    template.write_text(OWN_TEMPLATE)
    app = place.app()
    [session] = past_sessions(app)
    drafted = notes_of(app, session)
    assert (drafted.made, drafted.text) == ("drafted", "# Session Title\nfix the login page")

    kept = app.project.sessions / "ab" / "notes.md"
    kept.parent.mkdir()
    kept.write_text(OWN_TEMPLATE + "\nCalm.\n")
    assert (notes_of(app, session).made, notes_of(app, session).text) == ("kept", "# Mood\nCalm.")
    template.write_text("no sections")
    kept.unlink()
    assert "fix the login page" in notes_of(app, session).text


def test_notes_that_hooks_kept(place: Place) -> None:
    """With a transcript of Claude Code, with a recorded transcript, and with neither."""
    key = "".join(char if char.isalnum() else "-" for char in str(place.root))
    transcript = place.person / ".claude" / "projects" / key / "abc.jsonl"
    transcript.parent.mkdir(parents=True)
    write_lines(transcript, [claude.prompt("fix it") | {"cwd": str(place.root)}])
    hooks = place.app().project.folder / "hooks"
    with Journal(hooks / "cursor-7" / "said.jsonl") as journal:
        journal.append(Opened("7", NOON), Said(user("paint it")))
    for name in ("claude-code-abc", "cursor-7", "codex-9"):
        (hooks / name).mkdir(exist_ok=True)
        (hooks / name / "notes.md").write_text(f"# Session Title\n\nWork of {name}\n")
    app = place.app()
    found = {session.id: notes_of(app, session) for session in past_sessions(app)}
    assert {id_: (notes.made, notes.text) for id_, notes in found.items()} == {
        "abc": ("kept", "# Session Title\nWork of claude-code-abc"),
        "cursor-7": ("kept", "# Session Title\nWork of cursor-7"),
        "codex-9": ("kept", "# Session Title\nWork of codex-9"),
    }
    (hooks / "codex-9" / "notes.md").write_text("")
    [empty] = [one for one in past_sessions(app) if one.id == "codex-9"]
    assert notes_of(app, empty).text == ""
