"""Which conversation a request belongs to: its client, its project, its session and its branch.

A client's own session id comes first. Within it, and without one, a conversation is known by its
first message and then by the digests of all messages: a request that extends a known conversation
continues it, and one that leaves it at an earlier point is a branch with a name of its own.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.adapters.bridge import plain_name
from reverie.context.microcompaction import COMPACTABLE
from reverie.proxy.conversation import Conversation
from reverie.proxy.turns import Turn, shared_turns
from reverie.proxy.upstream import Headers, header
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from reverie.proxy.body import Body
    from reverie.proxy.dialects import Dialect, HeadFields
    from reverie.settings import Settings

# Open conversations keep an index and a journal open; more are closed, the oldest first.
MOST_OPEN = 32
_MOST_BRANCHES = 99

_SESSION_HEADERS = (
    *(b"x-claude-code-session-id", b"session-id", b"session_id", b"x-session-id"),
    *(b"x-session-affinity", b"x-opencode-session", b"x-reverie-session"),
)
# How clients say in a prompt where they work.
_CWD = re.compile(
    r"(?:Primary working directory|Working directory|cwd|<cwd>)[:>]?\s*(/[^\n<>\"'`]{1,500})"
)
_SUBAGENT = "cc_is_subagent=true"


@dataclass(frozen=True, slots=True)
class ProxySwitches:
    """What the proxy may do; with all off, every byte passes unchanged and nothing is recorded."""

    memory: bool = True
    layers: bool = True
    marks: bool = True
    compaction: bool = True
    learning: bool = True
    record: bool = True
    shadow: bool = False

    @classmethod
    def of(cls, settings: Settings) -> ProxySwitches:
        names = ("memory", "layers", "marks", "compaction", "learning", "record", "shadow")
        return cls(**{name: settings.flag(f"proxy.{name}") for name in names})

    @property
    def any(self) -> bool:
        return self.memory or self.layers or self.marks or self.compaction or self.record


# Name, words in the user agent, whether it compacts by itself.
_CLIENTS = (
    ("claude-code", ("claude-cli", "claude-code"), True),
    ("codex", ("codex",), True),
    ("opencode", ("opencode",), True),
    ("gemini", ("geminicli", "gemini-cli"), True),
    ("cursor", ("cursor",), True),
)


@dataclass(frozen=True, slots=True)
class Client:
    """The program that asks. `agent` is a known coding agent; `side` a small request beside a chat."""

    name: str
    session: str = ""
    compacts: bool = False
    agent: bool = False
    subagent: bool = False
    side: bool = False
    reads_files: bool = False

    @property
    def by_person(self) -> bool:
        """Whether a person wrote the user's messages."""
        return not self.subagent


def client_of(headers: Headers, body: Body, head: HeadFields) -> Client:
    agent = header(headers, b"user-agent").lower()
    name, compacts, known = agent.partition("/")[0].strip() or "client", False, False
    for candidate, words, does in _CLIENTS:
        if any(word in agent for word in words):
            name, compacts, known = candidate, does, True
            break
    tools = {tool.name for tool in head.tools}
    start = head.system[0].text if head.system else ""
    return Client(
        re.sub(r"[^a-z0-9]+", "-", name).strip("-")[:24] or "client",
        _session_id(headers, body.fields),
        compacts,
        known,
        subagent=_SUBAGENT in start[:400],
        side=known and not tools,
        reads_files=bool(tools & COMPACTABLE),
    )


def _session_id(headers: Headers, fields: dict[str, Any]) -> str:
    """The client's own id for the session; empty if it has none."""
    for name in _SESSION_HEADERS:
        if value := header(headers, name):
            return value[:200]
    metadata = fields.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    if isinstance(user, str) and "session" in user:
        try:
            found = json.loads(user)
        except (ValueError, RecursionError):
            return user.rpartition("session_")[2][:200]
        if isinstance(found, dict) and isinstance(found.get("session_id"), str):
            return str(found["session_id"])[:200]
    key = fields.get("prompt_cache_key")
    return key[:200] if isinstance(key, str) else ""


def working_folder(head: HeadFields, body: Body) -> Path | None:
    """The folder that the client says it works in, if it is there."""
    texts = [text.text for text in head.system]
    texts += [json.dumps(element.value, ensure_ascii=False) for element in body.elements[:4]]
    for text in texts:
        for found in _CWD.finditer(text.replace("\\n", "\n")):
            folder = Path(found.group(1).strip())
            try:
                if folder.is_dir():
                    return folder
            except OSError:
                continue
    return None


@dataclass(slots=True)
class Sessions:
    """The conversations of this proxy. Used by one thread, that of the layers."""

    home: Path | None
    overrides: tuple[str, ...]
    default: Workspace
    switches: ProxySwitches
    _apps: dict[Path, Workspace] = field(default_factory=dict)
    _open: OrderedDict[tuple[Path, str], Conversation] = field(default_factory=OrderedDict)
    # The names of conversations that begin alike.
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
        """Conversations to close, the least recently used first; those at work are left alone."""
        found: list[Conversation] = []
        for key, one in list(self._open.items()):
            if len(self._open) <= MOST_OPEN:
                break
            if not one.lock.locked():
                found.append(self._open.pop(key))
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
    """How a conversation's session is called: its client, the client's id, and its first message."""
    digest = hashlib.blake2b(first.mark.encode(), digest_size=4).hexdigest()
    session = plain_name(client.session)[:36] if client.session else ""
    parts = [client.name, session, digest, "shadow" if shadow else ""]
    return "-".join(part for part in parts if part)
