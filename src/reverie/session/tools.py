"""The tools of a session: the kit, memory and agent tools, permission, and how long results may be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from reverie.agent.kit import standard_kit
from reverie.agent.kit.web_fetch import web_fetch_tool
from reverie.agent.permissions import Consent, Permission, also_within, by_mode
from reverie.agent.toolbox import Toolbox, beyond, searching
from reverie.agent.tools import Todo, Tool, Workplace
from reverie.context.collapse import expand_tool
from reverie.context.profiles import PROFILES, Profile
from reverie.context.snip import Folding, snip_tool
from reverie.context.tool_results import PRINTING, Budget
from reverie.conversation.state import SessionState
from reverie.events import Announce
from reverie.recall.service import memory_tool
from reverie.session.options import SessionOptions
from reverie.settings.schema import NEVER
from reverie.settings.sources import environment
from reverie.subagents.crew import Place
from reverie.subagents.tools import agent_tool, send_message_tool

if TYPE_CHECKING:
    from reverie.agent.tools import Status
    from reverie.context.previews import Kind
    from reverie.recall.ranker import IndexRanker
    from reverie.settings.resolve import Threshold
    from reverie.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Tools:
    """Builds a session's toolbox. The list is fixed when a session opens: it is part of the head."""

    app: Workspace
    options: SessionOptions
    folding: Folding
    ranker: IndexRanker | None
    place: Place | None
    # Appends to the daily log, where there is one.
    log: Tool | None = None

    def toolbox(self, state: SessionState, announce: Announce) -> Toolbox:
        workplace = Workplace(
            self.app.working_folder,
            todos=tuple(Todo(text, cast("Status", status)) for text, status in state.todos),
            environment=environment(),
        )
        consent = Consent(self._permission(workplace), self.options.ask)
        ours = () if self.options.external_loop else (*standard_kit(), *self._more())
        own = [tool for tool in ours if self._may_have(tool)]
        added = [tool for tool in self.options.tools if self._may_have(tool)]
        room = int(self.app.settings.number("tools.head_tokens"))
        deferred = () if self.options.external_loop else beyond(added, room)
        shown = (*own, *(searching(deferred) if deferred else added))
        return Toolbox(shown, workplace, consent, announce, deferred)

    def _more(self) -> Iterator[Tool]:
        if self.place is not None:
            yield agent_tool(self.place)
            yield send_message_tool(self.place)
        if self.ranker is not None:
            yield memory_tool(self.ranker)
        if self.log is not None:
            yield self.log
        on = self.app.switches.on
        if on("snip"):
            yield snip_tool(self.folding.mark)
        if on("collapse"):
            yield expand_tool(self.folding.expand)
        if on("web_fetch"):
            yield web_fetch_tool()

    def _may_have(self, tool: Tool) -> bool:
        subagent = self.options.subagent
        return subagent is None or subagent.brief.agent_type.allows(tool.name)

    def _permission(self, workplace: Workplace) -> Permission:
        mode = self.options.mode or self.app.settings.permission_mode
        permission, subagent = by_mode(mode, workplace), self.options.subagent
        if subagent is not None and subagent.memory_folder is not None and mode != "plan":
            permission = also_within(subagent.memory_folder, permission)
        if self.place is None:
            return permission
        identity = self.place.identity
        if identity.approval is not None:
            permission = identity.approval.first(by_mode("plan", workplace), permission)
        identity.permission = permission
        return permission


def profile_of(app: Workspace) -> Profile:
    return PROFILES[str(app.settings["context.profile"])]


def budget_of(app: Workspace, toolbox: Toolbox) -> Budget:
    """How large the result of each tool may be: by setting, else by profile and the tool itself."""
    profile = profile_of(app)
    limits = {
        name: _limit(
            app.switches.result_threshold(name), profile.threshold(name, tool.result_threshold)
        )
        for name, tool in toolbox.tools.items()
    }
    limits[PRINTING] = profile.longest_print
    return Budget(preview=cast("Kind", app.settings["tools.preview"]), thresholds=limits)


def _limit(configured: Threshold | None, declared: int | None) -> int | None:
    if configured is None:
        return declared
    return None if configured == NEVER else int(configured)
