"""Whole sessions as a person has them: the app, the official SDK, the provider on loopback."""

import json
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import ScriptItem, ToolCall

from reverie.events import Event, LayerFired
from reverie.session.build import open_session
from reverie.session.options import SessionOptions
from reverie.session.query import Session
from reverie.workspace import Workspace

MODEL = "anthropic:claude-sonnet-5-5"

SUMMARY = """<analysis>what was this about</analysis>
<summary>
## 1. Primary request and intent
To read files, one after the other.
## 3. Files and code
The parts, with 650 functions each.
## 8. Current work
Reading the next part.
</summary>"""


async def at_once(seconds: float) -> None:
    """No time passes while a provider is waited for."""


class Desk:
    """A person at a desk: a project, a provider, and sessions that may be left and resumed."""

    def __init__(self, place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> None:
        self.place = place
        self.provider = provider
        monkeypatch.setenv("ANTHROPIC_API_KEY", "test")

    def app(self, *overrides: str) -> Workspace:
        return Workspace.open(
            self.place.root,
            overrides=(
                f"models.main={MODEL}",
                f"providers.anthropic.base_url={self.provider.anthropic_url}",
                # Learning has flows of its own; here it would only add forks.
                "features.extract=false",
                *overrides,
            ),
            clock=self.place.clock,
            sleep=at_once,
        )

    async def set_window(self, tokens: int) -> None:
        """A smaller model: the provider says so when it is asked."""
        self.provider.window[MODEL.partition(":")[2]] = tokens
        assert await self.app().ask_window(MODEL) == tokens

    @asynccontextmanager
    async def session(
        self, *overrides: str, options: SessionOptions | None = None, resume: bool = False
    ) -> AsyncIterator[Session]:
        app = self.app(*overrides)
        options = options or SessionOptions(mode="bypass")
        if resume:
            options = replace(options, resume=app.journals()[0])
        async with open_session(app, options) as session:
            yield session

    async def hear(self, session: Session, prompt: str) -> list[Event]:
        """A turn in which every change of the prefix that a layer announces is allowed, no other."""
        with session.announce.subscribed(self._register):
            return await hear(session, prompt)

    def _register(self, event: Event) -> None:
        if isinstance(event, LayerFired) and event.layer != "tool results":
            self.provider.expect_break(event.layer)

    def write(self, name: str, text: str) -> Path:
        path = self.place.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


async def hear(session: Session, prompt: str) -> list[Event]:
    """A whole turn, its background work included."""
    events = [event async for event in session.run(prompt)]
    heard: list[Event] = []
    with session.announce.subscribed(heard.append):
        await session.background.drain(30)
    return events + heard


def kinds(events: Sequence[Event], *wanted: type) -> list[Event]:
    return [event for event in events if isinstance(event, wanted)]


def reader(request: RecordedRequest) -> ScriptItem:
    """A model that reads the file it is asked for, says so, and does what side tasks ask for."""
    last = request.json["messages"][-1]["content"]
    text = last if isinstance(last, str) else json.dumps(last)
    if "<side-task>" in text:
        return SUMMARY
    if "tool_result" in text:
        return "I have read it."
    named = re.findall(r"read (\S+\.\w+)", json.dumps(request.json["messages"][-2:]))
    return ToolCall("Read", {"path": named[-1]}) if named else "Very well."
