"""Chooses the model for learning and dreams, with its spending limit, and opens agents on it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.agent.fork import FreshAgents
from reverie.agent.kit import standard_kit
from reverie.agent.permissions import FENCED, WRITING, Consent, nothing
from reverie.agent.toolbox import Toolbox
from reverie.agent.tools import Workplace
from reverie.core.messages import Text, ToolUse
from reverie.core.prompt_cache import placed
from reverie.core.request import Reply, Request, StreamItem
from reverie.core.usage import DREAM, Purpose
from reverie.events import Announce, no_listener
from reverie.memory.format.manifest import is_index
from reverie.models.selection import OFFLINE, find_row, price_of
from reverie.models.wrappers import ModelWrapper
from reverie.settings.sources import environment

if TYPE_CHECKING:
    from reverie.core.usage import Prices
    from reverie.ports import Model
    from reverie.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model for background work, or the rules alone, and why.

    `most` is what the caps leave today, in dollars; None without a cap or a known price.
    """

    model: str = ""
    most: float | None = None
    why: str = ""
    prices: Prices | None = None

    @property
    def description(self) -> str:
        """The choice in words, shown before the work begins."""
        if not self.model:
            return f"by rules alone ({self.why})"
        if self.most is not None:
            return f"with {self.model} ({self.why}), for at most ${self.most:.2f}"
        bound = "no cap is set" if self.prices else "its price is not known"
        return f"with {self.model} ({self.why}); {bound}"


def choose_model(app: Workspace, purpose: Purpose, *, use_model: bool = True) -> ModelChoice:
    """The side model of the settings, else the main model, else rules."""
    if not use_model:
        return ModelChoice(why="a model was not wanted")
    names = {f"models.{role}": app.settings.model(role) for role in ("side", "main")}
    setting = next((key for key, name in names.items() if name != OFFLINE), None)
    if setting is None:
        return ModelChoice(why="models.side and models.main are offline")
    name = names[setting]
    model = name.partition(":")[2] or name
    row = find_row(app.settings, name)
    prices = row.prices if row else price_of(app.settings, model, None)
    return ModelChoice(name, _most(app, purpose) if prices else None, setting, prices)


def _most(app: Workspace, purpose: Purpose) -> float | None:
    """The dollars that the tightest cap leaves."""
    caps, spent = app.caps(purpose), app.ledger.spent(purpose, "")
    limits = [caps.session]
    limits.append(None if caps.day is None else caps.day - spent.day)
    own = caps.purpose.get(purpose)
    limits.append(None if own is None else own - spent.purpose)
    if purpose == DREAM:
        limits.append(app.dream_cap)
    found = [limit for limit in limits if limit is not None]
    return max(0.0, min(found)) if found else None


@dataclass(slots=True)
class AnsweredModel(ModelWrapper):
    """Returns a batch's reply first, then continues with the model itself, at its full price.

    The model is not asked again just to say that it is done: after successful writes it is. They
    need not include the index, whose lines the keeper writes.
    """

    model: Model
    reply: Reply
    _requests: int = 0

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self._requests += 1
        if self._requests == 1:
            yield self.reply
        elif self._requests == 2 and self._wrote_all(request):
            yield Reply(self.reply.id, self.name, (Text("Done."),), "end")
        else:
            async for item in self.model.stream(request):
                yield item

    def _wrote_all(self, request: Request) -> bool:
        calls = [block for block in self.reply.blocks if isinstance(block, ToolUse)]
        results = request.messages[-1].tool_results
        failed = {result.tool_use_id for result in results if result.is_error}
        return all(
            call.name in WRITING and (call.id not in failed or is_index(_written(call)))
            for call in calls
        )


def _written(call: ToolUse) -> str:
    return str(call.input.get("path") or call.input.get("file_path"))


@asynccontextmanager
async def fresh_agents(
    app: Workspace,
    model: str,
    session: str,
    folder: Path,
    announce: Announce = no_listener,
    answer: Reply | None = None,
) -> AsyncIterator[FreshAgents]:
    """Open agents on this model, metered for the session; closes its connections afterwards.

    `answer` is its reply from a batch, if there is one.
    """
    bare = app.bare_model(model)

    def metered(purpose: Purpose) -> Model:
        made = app.metered(bare, session=session, purpose=purpose, announce=announce)
        return made if answer is None else AnsweredModel(made, answer)

    try:
        yield agents_on(app, metered, session, folder, announce)
    finally:
        await bare.aclose()


def agents_on(
    app: Workspace,
    model_for: Callable[[Purpose], Model],
    session: str,
    folder: Path,
    announce: Announce = no_listener,
) -> FreshAgents:
    """Agents without a conversation, with the tools that work on memory."""
    tools = (tool for tool in standard_kit() if tool.name in FENCED)
    workplace = Workplace(app.project.root, environment=environment())
    return FreshAgents(
        session,
        Toolbox(tools, workplace, Consent(nothing)),
        folder,
        model_for,
        app.clock,
        placed(app.settings.cache_ttl),
        announce,
        app.scrubber,
    )
