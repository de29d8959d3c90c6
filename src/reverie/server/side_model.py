"""The model that workers learn with: `server.model` names it, and each organisation's caps limit it.

Its agents read posted text, which may try to mislead them. So they get a copy of one project's
memory and no other access to the machine: no shell, and no file outside the copy.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agent.fork import FreshAgents, Task
from reverie.agent.kit import standard_kit
from reverie.agent.kit.files import located
from reverie.agent.permissions import ALLOWED, Call, Consent, Decision, Denied, Permission, nothing
from reverie.agent.toolbox import Toolbox
from reverie.agent.tools import Workplace
from reverie.core.prompt_cache import placed
from reverie.core.usage import DREAM, Caps
from reverie.errors import InputError
from reverie.events import Announce, no_listener
from reverie.memory.postgres import sharing
from reverie.memory.postgres.database import patiently
from reverie.memory.postgres.sharing import Cap
from reverie.models.metered import MeteredModel
from reverie.models.selection import OFFLINE

if TYPE_CHECKING:
    from reverie.agent.fork import Finished
    from reverie.core import usage
    from reverie.core.usage import Entry, Purpose
    from reverie.ports import Model
    from reverie.server.worker import JobRun
    from reverie.workspace import Workspace

# The folder that an agent's copy of a memory stands for.
MEMORY = Path("/memory")
_LOOK = frozenset({"Read", "Grep"})
_TOOLS = _LOOK | {"Edit", "Write"}


@dataclass(frozen=True, slots=True)
class DatabaseLedger:
    """The ledger of a job's organisation (the port `SpendLedger`).

    `caps` are the operator's own limits for any organisation; the organisation's are in the database.
    """

    job: JobRun
    caps: Sequence[Cap] = ()

    @property
    def payer(self) -> tuple[str, str]:
        return self.job.detail["org"], self.job.detail.get("key", "worker")

    def limited(self, purpose: Purpose) -> bool:
        """Whether any cap holds for this purpose."""
        with self.job.entered() as connection:
            return bool(self.caps or sharing.caps_of(connection, self.payer[1], purpose))

    def reserve(self, purpose: Purpose, session: str, ceiling: float, caps: Caps) -> usage.Decision:
        with self.job.entered() as connection:
            return sharing.reserve(connection, self.payer, purpose, session, ceiling, self.caps)

    def settle(self, ticket: str, entry: Entry | None) -> None:
        def work() -> None:
            with self.job.entered() as connection:
                if entry is not None and not ticket:
                    told = asdict(entry)
                    purpose, session = entry.purpose, entry.session
                    sharing.note_spent(connection, self.payer, purpose, session, 0.0, told)
                elif ticket:
                    cost = None if entry is None else entry.cost or 0.0
                    known = None if entry is None else asdict(entry)
                    sharing.settle(connection, ticket, cost, known)

        patiently(work)


@dataclass(frozen=True, slots=True)
class SideModel:
    """Opens agents on the model of the service's settings."""

    app: Workspace
    name: str

    @classmethod
    def of(cls, app: Workspace) -> SideModel | None:
        """None if the settings name none: then only the rules are used."""
        name = str(app.settings["server.model"] or OFFLINE)
        # Report an unknown model name now, not in every job.
        return None if app.provider_of(name) is None else cls(app, name)

    @asynccontextmanager
    async def agents(
        self,
        job: JobRun,
        session: str,
        folder: Path,
        readable: Path | None = None,
    ) -> AsyncIterator[ConfinedAgents]:
        """Agents for one job; their conversations are written into `folder`."""
        bare = self.app.bare_model(self.name)

        def metered(purpose: Purpose) -> Model:
            return self._metered(bare, job, session, purpose)

        tools = (tool for tool in standard_kit() if tool.name in _TOOLS)
        toolbox = Toolbox(tools, Workplace(MEMORY), Consent(nothing))
        policy = placed(self.app.settings.cache_ttl)
        clock, scrubber = self.app.clock, self.app.scrubber
        made = FreshAgents(session, toolbox, folder, metered, clock, policy, no_listener, scrubber)
        try:
            yield ConfinedAgents(made, readable)
        finally:
            await bare.aclose()

    def _metered(self, bare: Model, job: JobRun, session: str, purpose: Purpose) -> MeteredModel:
        caps = self.app.caps(purpose)
        own = [("", caps.day), (purpose, caps.purpose.get(purpose))]
        limits = [Cap("", name, day) for name, day in own if day is not None]
        ledger = DatabaseLedger(job, limits)
        # A model without a known price may run only if there is no cap.
        known = Caps(day=0.0) if ledger.limited(purpose) else Caps()
        most = self.app.dream_cap if purpose == DREAM else caps.session
        return MeteredModel(bare, ledger, known, self.app.clock, session, purpose, most=most)


@dataclass(frozen=True, slots=True)
class ConfinedAgents:
    """Side agents that see the folder of their task's copy and no other file."""

    agents: FreshAgents
    # Another folder that they may read.
    readable: Path | None = None

    async def run(self, task: Task, hear: Announce = no_listener) -> Finished:
        return await self.agents.run(replace(task, permission=confined(task, self.readable)), hear)


def confined(task: Task, readable: Path | None = None) -> Permission:
    """The task's permission, with reading limited to its copy and one other folder."""
    workshop = task.workshop
    if workshop is None:
        return nothing
    roots = [folder.resolve() for folder in (workshop.copy, readable) if folder is not None]
    place = Workplace(workshop.folder, workshop=workshop)

    def decide(call: Call) -> Decision:
        name = call.tool.name
        if name not in _LOOK:
            return task.permission(call) if name in _TOOLS else nothing(call)
        try:
            inside = located(str(call.arguments.get("path", ".")), place).resolve()
        except (InputError, RuntimeError, OSError):
            return Denied(f"{call.headline}: this is not a path")
        if any(inside.is_relative_to(root) for root in roots):
            return ALLOWED
        return Denied(f"{call.headline}: only {workshop.folder} may be read here")

    return decide
