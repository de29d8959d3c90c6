"""The client of a request: what it says about itself, its model, and what the proxy may do for it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.context.microcompaction import COMPACTABLE
from reverie.core.request import Request, StreamItem
from reverie.core.usage import Prices
from reverie.core.window import CacheRules, Capabilities, split_suffix
from reverie.errors import Unreachable
from reverie.models import catalog
from reverie.models.selection import find_row, price_of
from reverie.proxy.upstream import Headers, header

if TYPE_CHECKING:
    from reverie.proxy.body import Body
    from reverie.proxy.dialects import Dialect, HeadFields
    from reverie.settings import Settings
    from reverie.workspace import Workspace

_SESSION_HEADERS = (
    *(b"x-claude-code-session-id", b"session-id", b"session_id", b"x-session-id"),
    *(b"x-session-affinity", b"x-opencode-session", b"x-reverie-session"),
)
# How clients state their working folder in a prompt.
_CWD = re.compile(
    r"(?:Primary working directory|Working directory|cwd|<cwd>|\*\*Workspace Directories:\*\*\s*-)"
    r"[:>]?\s*(/[^\n<>\"'`]{1,500})"
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
    slim_tools: bool = True
    shadow: bool = False
    # Whether clearing may never cost more than was saved before.
    safe: bool = True

    @classmethod
    def of(cls, settings: Settings) -> ProxySwitches:
        names = (
            "memory",
            "layers",
            "marks",
            "compaction",
            "learning",
            "record",
            "slim_tools",
            "shadow",
        )
        flags = {name: settings.flag(f"proxy.{name}") for name in names}
        return cls(**flags, safe=settings["proxy.clearing"] == "safe")

    @property
    def any(self) -> bool:
        changes = self.memory or self.layers or self.marks or self.compaction or self.slim_tools
        return changes or self.record


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
    """The program that sent a request. `agent` is a known coding agent; `side` a small request beside a chat."""

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
    """The folder that the client says it works in, if it exists."""
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


@dataclass(frozen=True, slots=True)
class ClientModel:
    """The model that the client asks for; known by name, and called only by the client."""

    name: str
    capabilities: Capabilities
    prices: Prices | None

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        raise Unreachable(f"{self.name} is called by the client alone")

    async def aclose(self) -> None:
        pass


def client_model(app: Workspace, dialect: Dialect, name: str) -> ClientModel:
    """The model by its catalogue row; an unknown one has its family's usual cache."""
    row = find_row(app.settings, name)
    if row is not None:
        return ClientModel(name, row.capabilities, row.prices)
    usual = CacheRules("explicit" if dialect.family == "anthropic" else "automatic")
    prices = price_of(app.settings, split_suffix(name)[0], catalog.find(name))
    return ClientModel(name, Capabilities(cache=usual), prices)
