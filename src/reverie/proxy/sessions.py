"""Finds the conversation a request belongs to, by client, project, session and branch.

A client's own session id comes first. Within it, or without one, a conversation is recognised by
its first message and then by the digests of all messages. A request that extends a known
conversation continues it; one that departs from it earlier is a branch with its own name.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.adapters.bridge import plain_name
from reverie.proxy.clients import Client, ProxySwitches
from reverie.proxy.conversation import Conversation
from reverie.proxy.turns import Turn, shared_turns
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from reverie.proxy.dialects import Dialect

# Open conversations keep an index and a journal open; beyond this number, the oldest are closed.
MOST_OPEN = 128
# Closed ones keep their last request, so that it can be repeated at once.
_MOST_KNOWN = 2 * MOST_OPEN
_MOST_BRANCHES = 99


@dataclass(slots=True)
class Sessions:
    """The conversations of this proxy. Used by the layers' thread only."""

    home: Path | None
    overrides: tuple[str, ...]
    default: Workspace
    switches: ProxySwitches
    _apps: dict[Path, Workspace] = field(default_factory=dict)
    _open: OrderedDict[tuple[Path, str], Conversation] = field(default_factory=OrderedDict)
    # The names of conversations with the same beginning.
    _names: dict[tuple[Path, str], list[str]] = field(default_factory=dict)

    def app_of(self, folder: Path | None) -> Workspace:
        """The project that the client works in, else the proxy's own."""
        if folder is None:
            return self.default
        if folder not in self._apps:
            self._apps[folder] = Workspace.open(
                folder, home=self.home, overrides=self.overrides, clock=self.default.clock
            )
        return self._apps[folder]

    def find(
        self, app: Workspace, dialect: Dialect, client: Client, turns: Sequence[Turn]
    ) -> Conversation:
        """The conversation that these turns continue, a branch of one, or a new one."""
        base = base_name(client, turns[0], shadow=self.switches.shadow)
        candidates = [
            self._conversation(app, dialect, client, name) for name in self._names_of(app, base)
        ]
        usable = [one for one in candidates if not one.diverged and one.known()]
        best = max(usable, key=lambda one: shared_turns(one.known(), turns), default=None)
        if best is not None and best.continues(turns):
            return self._used(best)
        name = self._new_name(app, base)
        if best is not None:
            branch = best.branch(name)
            branch.client = client
            return self._used(branch)
        return self._used(Conversation(app, name, dialect, client, self.switches))

    def surplus(self) -> list[Conversation]:
        """Conversations to close, least recently used first, except busy ones.

        They stay known, so that a request for one that is being closed waits for that.
        """
        opened = [one for one in self._open.values() if one.is_open]
        idle = (one for one in opened if not one.lock.locked() and not one.waiting)
        found = list(islice(idle, max(0, len(opened) - MOST_OPEN)))
        for key, one in list(self._open.items())[: max(0, len(self._open) - _MOST_KNOWN)]:
            if not one.is_open and not one.lock.locked() and not one.waiting:
                del self._open[key]
        return found

    def all(self) -> Iterable[Conversation]:
        return list(self._open.values())

    def _used(self, conversation: Conversation) -> Conversation:
        key = (conversation.app.project.folder, conversation.name)
        self._open[key] = conversation
        self._open.move_to_end(key)
        return conversation

    def _conversation(
        self, app: Workspace, dialect: Dialect, client: Client, name: str
    ) -> Conversation:
        known = self._open.get((app.project.folder, name))
        return known or Conversation(app, name, dialect, client, self.switches)

    def _names_of(self, app: Workspace, base: str) -> list[str]:
        key = (app.project.folder, base)
        if key not in self._names:
            # After a restart: the journals that earlier processes wrote.
            found = app.project.sessions.glob(f"{base}*.jsonl")
            numbered = re.compile(rf"{re.escape(base)}(-\d+)?")
            self._names[key] = sorted(p.stem for p in found if numbered.fullmatch(p.stem))
        return self._names[key]

    def _new_name(self, app: Workspace, base: str) -> str:
        names = self._names_of(app, base)
        name = base if base not in names else f"{base}-{len(names) + 1}"
        names.append(name)
        if len(names) > _MOST_BRANCHES:
            del names[1]
        return name


def base_name(client: Client, first: Turn, *, shadow: bool) -> str:
    """The name of a conversation's session, from its client, the client's id, and its first message."""
    digest = hashlib.blake2b(first.mark.encode(), digest_size=4).hexdigest()
    session = plain_name(client.session)[:36] if client.session else ""
    parts = [client.name, session, digest, "shadow" if shadow else ""]
    return "-".join(part for part in parts if part)
