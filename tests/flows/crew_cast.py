"""A model that plays every agent of a crew, and a desk at which a crew is led."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

from tests.flows.sessions import Desk
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import Held, Reply, ScriptItem, Text, ToolCall

from reverie.conversation import journal
from reverie.conversation.records import AgentHired, Record
from reverie.events import AgentStarted, Event
from reverie.session.options import SessionOptions
from reverie.session.query import Session
from reverie.subagents.crew import Crew
from reverie.subagents.identity import answer

Step: TypeAlias = "ScriptItem | Callable[[RecordedRequest], ScriptItem]"

LEAD = "lead"


class Cast:
    """A model that plays every part: each agent's replies, in order."""

    def __init__(self, provider: Provider, parts: Mapping[str, Sequence[Step]]) -> None:
        self.parts = parts
        self.asked: dict[str, list[RecordedRequest]] = {}
        provider.respond(self.play)

    def play(self, request: RecordedRequest) -> ScriptItem:
        who = self._who(request)
        self.asked.setdefault(who, []).append(request)
        said = sum(message["role"] == "assistant" for message in request.json["messages"])
        steps = self.parts.get(who, ())
        step = steps[said] if said < len(steps) else f"{who} has nothing to add."
        return step(request) if callable(step) else step

    def _who(self, request: RecordedRequest) -> str:
        if "<side-task>" in json.dumps(request.json["messages"][-3:]):
            return "fork"
        found = re.search(
            r"You are (\S+), an agent that \S+ has given", json.dumps(request.json["system"])
        )
        return found.group(1) if found else LEAD

    def last(self, who: str) -> str:
        """The newest messages an agent was shown."""
        return json.dumps(self.asked[who][-1].json["messages"][-2:])


def agent(summary: str, **arguments: object) -> ToolCall:
    task = arguments.pop("task", f"Please {summary}.")
    return ToolCall("Agent", {"summary": summary, "task": task, **arguments})


def letter(to: str, message: str, **more: object) -> ToolCall:
    return ToolCall("send_message", {"to": to, "message": message, "summary": message[:60], **more})


def held(gate: Gate, text: str = "never") -> Held:
    """A reply that comes when the test opens the gate."""
    return Held(Reply((Text(text),)), gate)


def letter_id(request: RecordedRequest, kind: str) -> str:
    """The id of a letter of a kind, as its reader sees it."""
    shown = re.findall(r"<letter [^>]*>", json.dumps(request.json["messages"]).replace('\\"', '"'))
    found = [tag for tag in shown if f'kind="{kind}"' in tag]
    return re.findall(r'id="([^"]+)"', found[-1])[0]


class Team(Desk):
    """A desk whose provider is told of every new conversation before it begins."""

    @asynccontextmanager
    async def session(
        self, *overrides: str, options: SessionOptions | None = None, resume: bool = False
    ) -> AsyncIterator[Session]:
        async with super().session(*overrides, options=options, resume=resume) as session:
            with session.announce.subscribed(self._tell):
                yield session

    def _tell(self, event: Event) -> None:
        if isinstance(event, AgentStarted) and event.how != "fork":
            self.provider.expect_conversation(f"{event.name} has its own", within=50)

    def records(self) -> list[Record]:
        return journal.load(self.app().journals()[0]).records


def team_of(session: Session) -> Crew:
    assert session.place is not None
    return session.place.crew


def names(hired: Sequence[Event]) -> list[str]:
    return [event.name for event in hired if isinstance(event, AgentStarted)]


async def until(session: Session, done: Callable[[], bool]) -> None:
    """Attend to what other agents have to say, until something is the case."""
    assert session.place is not None
    # Nothing depends on its length; it keeps a letter that never comes from hanging a suite.
    async with asyncio.timeout(30):
        while not done():
            await session.place.identity.mail_arrives()
            await answer(session.run_mail())


def names_hired(desk: Team) -> list[str]:
    return [record.name for record in desk.records() if isinstance(record, AgentHired)]


def children() -> list[int]:
    """Processes this one has started and not ended."""
    listed = Path(f"/proc/{os.getpid()}/task")
    found = " ".join(task.joinpath("children").read_text() for task in listed.iterdir())
    return [int(pid) for pid in found.split() if b"teammate" in _command(int(pid))]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def repository(desk: Desk) -> None:
    desk.write("readme.md", "Hello.\n")
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "begin"]):
        subprocess.run([*git, *command], cwd=desk.place.root, check=True)
