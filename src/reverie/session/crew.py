"""The crew of a session: its limits, its records, its mail, and progress lines about its members."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.conversation.conversation import Conversation
from reverie.conversation.records import AgentLeft
from reverie.core.messages import Message, Text, new_message
from reverie.core.request import Head, Options, Request
from reverie.core.usage import Purpose
from reverie.events import Announce
from reverie.models.selection import OFFLINE
from reverie.ports import Model, complete
from reverie.session.options import SessionOptions
from reverie.session.subagents import OpenSession, SubagentHost
from reverie.subagents.crew import LOST, Crew, Place
from reverie.subagents.identity import AgentIdentity, Approval
from reverie.subagents.letters import LEAD, Letter, outside_problem
from reverie.subagents.listing import Watch
from reverie.subagents.mail import SessionWire, TeamMail, open_post, team_name
from reverie.subagents.members import Limits
from reverie.subagents.progress_lines import digest, directive
from reverie.subagents.type_files import agent_types

if TYPE_CHECKING:
    from reverie.workspace import Workspace


def new_crew(
    app: Workspace,
    options: SessionOptions,
    folder: Path,
    announce: Announce,
    open_session: OpenSession,
) -> Place:
    """A new crew, and the place in it of the agent that leads this process."""
    subagent = options.subagent
    account = folder.name if subagent is None else subagent.account
    post = open_post(app, team_name(app, account) if subagent is None else subagent.team, announce)
    if (old := app.project.folder / "teams" / account).is_dir():
        post.adopt(old)
    host = SubagentHost(app, options, open_session, folder / "agents", post, account)
    crew = host.crew = Crew(
        {kind.name: kind for kind in agent_types(app).types},
        host,
        announce,
        app.clock,
        SessionWire(post),
        _limits(app, options),
        prefix="" if subagent is None else f"{subagent.brief.name}-",
        scrubber=app.scrubber,
    )
    identity = _own_identity(app, options)
    identity.mail = mail = TeamMail(post, identity.name, app.clock, announce)
    if post.members():
        mail.open_box()
    crew.identities[identity.name] = identity
    return Place(crew, identity)


def _own_identity(app: Workspace, options: SessionOptions) -> AgentIdentity:
    mode, folder = options.mode or app.settings.permission_mode, str(app.working_folder)
    if options.subagent is None:
        return AgentIdentity(LEAD, 0, LEAD, mode, folder, model=options.model)
    brief = options.subagent.brief
    identity = AgentIdentity(
        brief.name, brief.depth, brief.by, mode, folder, brief.agent_type, brief.model, asks=False
    )
    identity.approval = Approval(brief.by) if brief.plans_first else None
    return identity


def _limits(app: Workspace, options: SessionOptions) -> Limits:
    if options.subagent is not None and options.subagent.limits is not None:
        return options.subagent.limits
    numbers = app.settings.number
    return Limits(
        depth=int(numbers("agents.depth")),
        concurrent=int(numbers("agents.concurrent")),
        tokens=int(numbers("agents.tokens")),
        seconds=60 * numbers("agents.minutes"),
    )


def record_crew(crew: Crew, conversation: Conversation) -> None:
    """Journal new agents; mark agents that ended with an earlier process as lost."""
    state = conversation.state
    crew.record = conversation.record
    crew.taken = frozenset(state.hired)
    for name in state.hired.keys() - state.left.keys():
        conversation.record(AgentLeft(name, LOST, 0, conversation.now))


@asynccontextmanager
async def watched(
    app: Workspace, crew: Crew, metered: Callable[[Purpose, Model | None], Model]
) -> AsyncIterator[None]:
    """Describe what sub-agents do with the cheapest model while the session is open, if enabled."""
    name = app.settings.model("summary")
    name = app.settings.model("side") if name == OFFLINE else name
    if name == OFFLINE:
        yield
        return

    def make() -> Model:
        return metered("summary", app.bare_model(name))

    watch = Watch(crew, partial(describe, make), partial(app.switches.on, "agent_summary"))
    keeping = asyncio.create_task(watch.keep())
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})


@contextmanager
def accept_letters(place: Place, session: str) -> Iterator[None]:
    """Accept letters from other sessions of this person, addressed by session id."""

    def refusal(letter: Letter) -> str | None:
        ours = letter.sender in place.crew.members
        return "the sender is not the id of a session" if ours else outside_problem(letter)

    if isinstance(place.identity.mail, TeamMail):
        with place.identity.mail.accepting(session, refusal):
            yield


async def close_crew(place: Place) -> None:
    """Stop all sub-agents at the end of a session, and save unread letters in the transcript."""
    await place.crew.aclose()
    for unread in iter(place.identity.new_letters, None):
        if place.identity.conversation is not None:
            place.identity.conversation.say(unread, origin="reverie")
    place.identity.acknowledge()
    if isinstance(place.identity.mail, TeamMail):
        place.identity.mail.close()
    if isinstance(place.crew.host, SubagentHost):
        place.crew.host.post.close()


async def describe(make: Callable[[], Model], messages: Sequence[Message], previous: str) -> str:
    """Ask the cheapest model for a progress line. It gets a digest, as it shares no prompt cache."""
    model = make()
    text = f"{digest(messages)}\n\n{directive(previous or None)}"
    asked = new_message("user", Text(text), origin="reverie")
    head = Head(model.name, (), (), Options(max_tokens=60))
    try:
        return (await complete(model, Request(head, (asked,)))).text
    finally:
        await model.aclose()
