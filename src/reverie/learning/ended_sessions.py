"""Background work for batches: the daemon, a chat and a dream collect what has ended, and submit ended sessions.

New sessions are submitted only with `learning.batch = "when-idle"`; a batch that is under way is always collected.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core.usage import EXTRACT
from reverie.events import Announce, MemoriesSaved, TroubleNoted
from reverie.files.locks import is_held
from reverie.learning.pending import Pending
from reverie.recall.past_sessions import conversations

if TYPE_CHECKING:
    from reverie.agent.processes import Background
    from reverie.learning.batches import Collected
    from reverie.learning.past_sessions import ReadingPlan
    from reverie.workspace import Workspace

NAME = "batches"
WHEN_IDLE = "when-idle"
# How often batches are polled, and ended sessions are looked for.
_POLL_SECONDS = 300.0
_LOOK_SECONDS = 3_600.0
# A session has ended after this long without a new message; those older than a week are left to the
# person.
_IDLE_SECONDS = 1_800.0
_OLDEST_SECONDS = 7 * 86_400.0


def due(app: Workspace) -> bool:
    """Whether there is work: a batch to poll, or ended sessions to look for."""
    pending, now = Pending.of(app), app.clock.now()
    if pending.load():
        late = now - pending.time("polled") >= _POLL_SECONDS
    else:
        late = wanted(app) and now - pending.time("looked") >= _LOOK_SECONDS
    return late and not is_held(pending.lock)


def wanted(app: Workspace) -> bool:
    """Whether the settings let batches read ended sessions."""
    on = app.settings.memory_enabled and app.switches.on("extract") and app.user is None
    return on and app.settings["learning.batch"] == WHEN_IDLE


async def look_after(app: Workspace) -> Collected:
    """Collect finished batches, then submit ended sessions if the settings say so."""
    from reverie.learning.batches import collect, submit, why_not
    from reverie.learning.extraction.prompts import occasion
    from reverie.learning.side_models import choose_model

    done = await collect(app)
    pending, now = Pending.of(app), app.clock.now()
    if pending.load() or not wanted(app):
        return done
    pending.note_time(looked=now)
    if why_not(app, choose_model(app, EXTRACT).model):
        return done
    plan = await asyncio.to_thread(_ended, app, pending.time("until"))
    notes: tuple[str, ...] = ()
    if plan.open:
        notes = (await submit(app, plan, lambda piece: occasion(piece) is not None)).notes
    if not notes:
        pending.note_time(until=now - _IDLE_SECONDS)
    return replace(done, notes=(*done.notes, *notes))


def _ended(app: Workspace, since: float) -> ReadingPlan:
    """A plan for the sessions that have ended since a time."""
    from reverie.learning.past_sessions import plan_reading

    now = app.clock.now()
    oldest, newest = max(since, now - _OLDEST_SECONDS), now - _IDLE_SECONDS
    found: dict[str, Path] = {}
    for name, path in conversations(app.project, {}).items():
        with suppress(OSError):
            ended = oldest < path.stat().st_mtime <= newest
            if ended and not is_held(app.project.sessions / name / "lock"):
                found[name] = path
    return plan_reading(app, found)


def begin(app: Workspace, background: Background, announce: Announce) -> None:
    """Look after batches while a session runs, if there is work."""

    async def run() -> None:
        done = await look_after(app)
        for note in done.notes:
            announce(TroubleNoted(NAME, note))
        for one in done.read:
            if one.learnt.saved or one.learnt.waiting:
                announce(MemoriesSaved(one.learnt.saved, len(one.learnt.waiting)))

    if due(app):
        background.start(NAME, run())
