"""What the commands of the documentation speak of: memories, sessions, proposals, a dream, files, programs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from tests.place import NOON, Place, git
from tests.web.store import with_dream

from reverie.conversation.records import AgentHired, HeadFrozen, Opened, Said
from reverie.core.messages import Text, new_message
from reverie.core.request import Head
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.proposals import Item, Proposal, cited
from reverie.memory.format.revisions import Author
from reverie.workspace.changes import open_inbox

if TYPE_CHECKING:
    from reverie.workspace import Workspace

MEMORIES = (
    ("audit", "project", "The audit of the shop begins on 2026-12-20."),
    ("freeze", "project", "Nothing is deployed in the last week of a year."),
    ("port 8080", "project", "The old gateway listened on port 8080."),
    ("port 8443", "project", "The service listens on 8442."),
    ("real database", "feedback", "Run integration tests against a real database."),
    ("short answers", "feedback", "Answers should be short in this repository."),
    ("staging server", "project", "The old staging server is called mercury."),
)
SESSIONS = ("20261115-093000-5f0a1c", "20261101-101500-77d2be")
# Programs of the reader that some examples use.
PROGRAMS = {
    "claude": ":",
    "codex": ":",
    "nano": ":",
    "pass": "echo a-key",
    "jq": "cat",
    "xdg-open": ":",
    "systemctl": ":",
}


def build_world(place: Place) -> dict[str, str]:
    """Fill the place; returns what stands for an id or an address of the pages."""
    _files(place)
    place.settings('models.main = "offline"\n')
    app = place.app()
    for name, type_, text in MEMORIES:
        place.clock.advance(60)
        app.remember(NewMemory(text, type_, name=name), Author("user"))
    _sessions(place)
    dream = with_dream(place)
    proposals = _proposals(app)
    memory = f"{place.person}/memory.git"
    git(place.base, "init", "-q", "--bare", memory)
    return {
        "20261115-030000-1a2b c1 c4": f"{dream} c1",
        "9fae": proposals[0],
        "c85d": proposals[1],
        "ollama:qwen3": "anthropic:claude-haiku-4-5",
        "--port 8765": "--port 0",
        "3f9a": proposals[0],
        "81c2": proposals[1],
        "git@example.com:me/memory.git": memory,
        "git@example.com:team/memory.git": memory,
    }


def _files(place: Place) -> None:
    root, person = place.root, place.person
    git(root, "init", "-q", "-b", "main")
    (root / "app.py").write_text("port = 8080\n")
    git(root, "add", "app.py")
    git(root, "commit", "-q", "-m", "first")
    (root / "app.py").write_text("port = 8443\n")
    (root / "note.md").write_text("Integration tests run against a real PostgreSQL.\n")
    (root / "mem0-export.json").write_text('[{"memory": "The cache is Redis 7"}]')
    (root / "agent.af").write_text(json.dumps({"blocks": [{"label": "human", "value": "Ada"}]}))
    (person / "notes").mkdir()
    (person / "notes" / "office.md").write_text("# Office\n\nThe office is closed on Fridays.\n")
    claude = person / ".claude" / "projects" / "-shop"
    claude.mkdir(parents=True)
    said = {"type": "user", "sessionId": "s1", "uuid": "u1", "timestamp": "2026-11-01T10:00:00Z"}
    said |= {"message": {"role": "user", "content": "Remember that the queue is RabbitMQ."}}  # type: ignore[dict-item]
    (claude / "s1.jsonl").write_text(json.dumps(said | {"cwd": str(root)}) + "\n")
    programs = person / "programs"
    programs.mkdir()
    made = {name: f"#!/bin/sh\n{body}\n" for name, body in PROGRAMS.items()}
    made["reverie"] = f'#!/bin/sh\nexec "{sys.executable}" -m reverie "$@"\n'
    for name, text in made.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (person / ".config" / "fish" / "completions").mkdir(parents=True)


def _sessions(place: Place) -> None:
    first = "Remember that the nightly build runs at 02:30. Is the login test flaky?"
    log = "\n".join(f"line {n} of a log: the login test waits for a mail" for n in range(400))
    for session in SESSIONS:
        talk = [new_message("user", Text(first), at=NOON)]
        for n in range(12):
            at = NOON + 60 * n
            talk.append(new_message("assistant", Text(log), at=at + 5, response=f"r{n}"))
            talk.append(new_message("user", Text(f"And run {n}?"), at=at + 30))
        head = HeadFrozen(Head("offline", (Text("You are an assistant."),)))
        opened = Opened(session, NOON, str(place.root))
        place.journal(session, opened, head, *(Said(one) for one in talk))
    lead = "20261114-080000-c0ffee"
    transcript = place.app().project.sessions / lead / "agents" / "rita.jsonl"
    hired = AgentHired("rita", "general", "teammate", "review", "lead", str(transcript), NOON)
    place.journal(lead, Opened(lead, NOON, str(place.root)), hired)


def _proposals(app: Workspace) -> list[str]:
    inbox = open_inbox(app, app.memory())
    ids = []
    for text, session in (
        ("The staging server listens on port 8443", "4f1c0000-aaaa"),
        ("The nightly backup runs at 02:30", "4f1c0000-aaaa"),
        ("The linter is ruff 0.15", "77aa0000-bbbb"),
    ):
        item = inbox.put(
            Proposal(text, "project", "tool", "a tool said it", sources=cited(session, ["m4"]))
        )
        assert isinstance(item, Item)
        ids.append(item.id)
    return ids


def learn_something(place: Place) -> None:
    """A change that was made by the session the pages call 0442a060."""
    learnt = NewMemory("Ada owns the billing service.", "project", name="billing owner")
    place.app().remember(learnt, Author("extract", session="0442a060-aaaa"))
