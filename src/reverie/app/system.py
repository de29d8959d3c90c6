"""The system prompt of a session as it stands now: place, instruction files, memory."""

from __future__ import annotations

import hashlib
import platform
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from reverie.core.messages import Text
from reverie.memory import instructions
from reverie.memory.prompt import Shelf, memory_prompt
from reverie.session.system_prompt import CONDUCT, Surroundings, system_prompt
from reverie.settings.neighbours import claude_config
from reverie.settings.sources import MANAGED
from reverie.stores import private_files
from reverie.stores.instruction_files import Places, read_instruction_files

if TYPE_CHECKING:
    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.app.wish import Wish


def reminder_key(app: App) -> str:
    """The key of our reminders in sessions that begin now.

    It is no secret of one session: sessions of a project that follow each other share their cached
    prefix. What was written before today, or without seeing the prompt, cannot hold it.
    """
    day = datetime.fromtimestamp(app.clock.now(), UTC).date().isoformat()
    secret = private_files.secret(app.settings.home, "reminders.key")
    told = f"{app.project.root}\n{day}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(told, key=secret, digest_size=4).hexdigest()


def system_of(
    app: App, wish: Wish, memory: OpenMemory | None, reminder_key: str
) -> tuple[Text, ...]:
    """Read from disk once; whoever asks freezes it."""
    in_git, hired = (app.project.root / ".git").exists(), wish.hired
    own = "" if hired is None else hired.remembers
    return system_prompt(
        Surroundings(str(app.place), platform.system(), in_git=in_git),
        conduct=CONDUCT if hired is None else hired.role,
        instructions=_instructions(app),
        memory=own if memory is None else _memory_section(app, memory),
        extra=wish.system,
        reminder_key=reminder_key,
    )


def refused_instructions(app: App) -> tuple[str, ...]:
    """The instruction files that were left out because of where they lie or whose they are."""
    refused: list[str] = []
    read_instruction_files(_places(app), refused=refused.append)
    return tuple(refused)


def _instructions(app: App) -> str:
    return instructions.render(read_instruction_files(_places(app)))


def _places(app: App) -> Places:
    return Places(
        working=app.place,
        project=app.project.root,
        managed=MANAGED.parent,
        claude=claude_config(),
        home=app.settings.home,
        person=app.settings.person_home,
    )


def _memory_section(app: App, memory: OpenMemory) -> str:
    on, listed = app.switches.on, app.settings.flag("memory.index_in_prompt")
    others = {part.scope: _shelf(part, listed=listed) for part in memory.others}
    return memory_prompt(
        _shelf(memory, listed=listed),
        others.get("team"),
        others.get("person"),
        daily_log=on("daily_log"),
        transcripts=str(app.project.sessions) if on("search_past_context") else None,
        guidelines=str(app.settings["memory.extra_guidelines"] or ""),
    )


def _shelf(memory: OpenMemory, *, listed: bool) -> Shelf:
    return Shelf(str(memory.place.directory), memory.store.index() if listed else None)
