"""Reads a request: its body, its client, its turns, and the project the client works in."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.context.head import slim_tools
from reverie.errors import InputError
from reverie.proxy import dialects
from reverie.proxy.body import Bodies, Body
from reverie.proxy.clients import Client, client_of, working_folder
from reverie.proxy.dialects import Dialect, HeadFields
from reverie.proxy.replies import decoded
from reverie.proxy.turns import Turn, turns_of
from reverie.proxy.upstream import header

if TYPE_CHECKING:
    from reverie.proxy.app import Call

_MOST_DECODED = 64 * 1024 * 1024
_MOST_FOLDERS = 1_000
_MOST_HEADS = 32


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed request. `reworded` if its tools were shortened."""

    dialect: Dialect
    body: Body
    head: HeadFields
    client: Client
    turns: list[Turn]
    folder: Path | None
    reworded: bool = False

    def text(self) -> str:
        """The request without additions."""
        return self.body.text([element.raw for element in self.body.elements])


@dataclass(slots=True)
class Questions:
    """Reads requests, and caches what later ones of the same conversation share with them."""

    slim: bool = False
    _bodies: Bodies = field(default_factory=Bodies)
    _folders: dict[str, Path | None] = field(default_factory=dict)
    # By the text before and after a conversation: a body with shortened tools.
    _heads: dict[tuple[str, str], Body | None] = field(default_factory=dict)

    def read(self, call: Call) -> Question | None:
        """Parse a request; None if it should only be forwarded. Raises Unreadable or InputError."""
        encoding = header(call.headers, b"content-encoding").strip().lower()
        raw = decoded(call.body, encoding, _MOST_DECODED)
        if raw is None:
            return None
        came = self._bodies.read(raw.decode("utf-8"), call.dialect.list_key)
        if any(came.fields.get(key) is not None for key in call.dialect.held_by):
            return None
        body = self._slim(came) if self.slim else came
        values = [element.value for element in body.elements[:8]]
        head = call.dialect.head(body.fields, values, dialects.model_in(call.route.target))
        client = client_of(call.headers, body, head)
        turns = turns_of(call.dialect, came, by_person=client.by_person)
        if turns and turns[0].message.role == "assistant":
            raise InputError("the conversation does not begin with the user")
        folder = self._folder(client, head, body)
        return Question(call.dialect, body, head, client, turns, folder, body is not came)

    def _slim(self, body: Body) -> Body:
        """The body with its tools in their shortest equivalent form; the same tools, the same bytes."""
        tools = body.fields.get("tools")
        if not isinstance(tools, list):
            return body
        key = (body.before, body.after)
        if key not in self._heads:
            if len(self._heads) >= _MOST_HEADS:
                self._heads.clear()
            short = slim_tools(tools)
            self._heads[key] = None if short == tools else body.with_field("tools", short)
        found = self._heads[key]
        if found is None:
            return body
        return replace(body, before=found.before, after=found.after, fields=found.fields)

    def _folder(self, client: Client, head: HeadFields, body: Body) -> Path | None:
        """The client's working folder, determined once per session.

        A small request beside the conversation may come first, and does not say.
        """
        if client.side:
            return self._folders.get(client.session)
        if not client.session:
            return working_folder(head, body) if client.agent else None
        if client.session not in self._folders:
            if len(self._folders) > _MOST_FOLDERS:
                self._folders.clear()
            self._folders[client.session] = working_folder(head, body)
        return self._folders[client.session]
