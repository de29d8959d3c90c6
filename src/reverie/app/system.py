"""The system prompt of a session as it stands now: place, instruction files, memory."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from reverie.core.messages import Text
from reverie.memory import instructions
from reverie.memory.prompt import Shelf, memory_prompt
from reverie.session.system_prompt import CONDUCT, Surroundings, system_prompt
from reverie.settings.neighbours import claude_config
from reverie.settings.sources import MANAGED
from reverie.stores.instruction_files import Places, read_instruction_files

if TYPE_CHECKING:
    from reverie.app import App
    from reverie.app.memory import OpenMemory
    from reverie.app.wish import Wish


def system_of(app: App, wish: Wish, memory: OpenMemory | None) -> tuple[Text, ...]:
    """Read from disk once; whoever asks freezes it."""
    in_git, hired = (app.project.root / ".git").exists(), wish.hired
    own = "" if hired is None else hired.remembers
    return system_prompt(
        Surroundings(str(app.place), platform.system(), in_git=in_git),
        conduct=CONDUCT if hired is None else hired.role,
        instructions=_instructions(app),
        memory=own if memory is None else _memory_section(app, memory),
        extra=wish.system,
    )


def _instructions(app: App) -> str:
    places = Places(
        working=app.place,
        project=app.project.root,
        managed=MANAGED.parent,
        claude=claude_config(),
        home=app.settings.home,
        person=app.settings.person_home,
    )
    return instructions.render(read_instruction_files(places))


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
