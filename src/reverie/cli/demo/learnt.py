"""Layers 5 and 6 in the demo: the days before the session, and what came of learning and dreaming."""

from __future__ import annotations

import os
from collections.abc import Sequence

from reverie.cli.demo.hearing import DREAMS, EXTRACTION, Hearing
from reverie.cli.demo.past import CONVERSATIONS, conversation
from reverie.cli.demo.runs import Learnt
from reverie.cli.demo.script import HOUR
from reverie.conversation.journal import Journal
from reverie.conversation.records import Opened, Said
from reverie.core.messages import Text, new_message
from reverie.core.usage import Entry, Usage
from reverie.learning.dreaming.review import Standing
from reverie.learning.dreaming.service import dreams, lock_of, report_of
from reverie.memory.opening import OpenMemory
from reverie.workspace import Workspace
from reverie.workspace.inbox import open_inbox


def lay_out_past(app: Workspace, last_dream: float) -> None:
    """A dream at that time, and conversations that came after it."""
    lock = lock_of(app.memory().place, app.clock).path
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    os.utime(lock, (last_dream, last_dream))
    for number, (asked, answered) in enumerate(CONVERSATIONS, 1):
        _converse(app, conversation(number), last_dream + number * HOUR, asked, answered)


def _converse(app: Workspace, session: str, at: float, asked: str, answered: str) -> None:
    path = app.project.journal(session)
    path.parent.mkdir(parents=True, exist_ok=True)
    question = new_message("user", Text(asked), at=at)
    answer = new_message("assistant", Text(answered), after=question, at=at)
    with Journal(path, app.scrubber) as journal:
        journal.append(Opened(session, at, str(app.project.root)), Said(question), Said(answer))
    os.utime(path, (at, at))


def learnt(app: Workspace, hearing: Hearing) -> tuple[Learnt, ...]:
    """What both layers did in the session that was heard."""
    memory = app.memory()
    return _extracted(app, memory, hearing), _dreamt(memory, hearing)


def _extracted(app: Workspace, memory: OpenMemory, hearing: Hearing) -> Learnt:
    calls, usage, cost = _sums(hearing.aside("extract"))
    items = open_inbox(app, memory).items()
    return Learnt(
        EXTRACTION,
        "extraction",
        calls,
        usage,
        cost,
        kept=tuple(hearing.saved),
        foreign=tuple(file for file in hearing.saved if not _said(memory, file)),
        waiting=tuple(f"{item.proposal.text} ({item.proposal.reason})" for item in items),
    )


def _said(memory: OpenMemory, file: str) -> bool:
    """Was it the person who said what stands there?"""
    stored = memory.topics.read(file)
    return stored is not None and stored.topic.origin == "user"


def _dreamt(memory: OpenMemory, hearing: Hearing) -> Learnt:
    calls, usage, cost = _sums(hearing.aside("dream"))
    if not dreams(memory):
        return Learnt(DREAMS, "dream", calls, usage, cost)
    report = report_of(memory)

    def told(standing: Standing) -> tuple[str, ...]:
        return tuple(entry.why for entry in report.entries if entry.standing == standing)

    return Learnt(
        DREAMS,
        "dream",
        calls,
        usage,
        cost,
        kept=tuple(file for change in report.with_standing("made") for file in change.files),
        waiting=told("for a person"),
        refused=told("refused"),
    )


def _sums(entries: Sequence[Entry]) -> tuple[int, Usage, float]:
    usage = sum((entry.usage for entry in entries), Usage())
    return len(entries), usage, sum(entry.cost or 0.0 for entry in entries)
