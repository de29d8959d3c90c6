"""Side agents of one conversation: each on its exact prefix, with a transcript of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from reverie.agent.fork import Task, fork
from reverie.agent.toolbox import Toolbox
from reverie.agent.turns import Finished
from reverie.core.messages import Message, Text, new_message
from reverie.core.reply import Reply
from reverie.core.request import Request
from reverie.core.spend import Purpose
from reverie.errors import InvariantBroken
from reverie.events import Announce, unheard
from reverie.ports import Model, Scrubber, complete
from reverie.session.conversation import Conversation
from reverie.session.journal import Journal


@dataclass(slots=True)
class Forks:
    """Makes and runs them. `model_for` is the conversation's model, metered for a purpose."""

    conversation: Conversation
    toolbox: Toolbox
    folder: Path
    model_for: Callable[[Purpose], Model]
    announce: Announce
    scrubber: Scrubber | None = None

    async def run(self, task: Task, hear: Announce = unheard) -> Finished:
        """Give a fork its task and wait for it; raises what its model raises."""
        with Journal(self._free_path(task.purpose), self.scrubber) as journal:
            side = self.conversation.branch(task.purpose, self.model_for(task.purpose), journal)
            return await fork(side, self.toolbox, task, self.announce, hear)

    async def apart(self, purpose: Purpose, messages: tuple[Message, ...], directive: str) -> Reply:
        """The same model on messages of its own, for what is too long to be sent as it is."""
        head = self.conversation.state.head
        if head is None:
            raise InvariantBroken("a conversation must be opened before it has a side")
        task = new_message("user", Text(directive), after=messages[-1], origin="reverie")
        return await complete(self.model_for(purpose), Request(head, (*messages, task)))

    def _free_path(self, purpose: Purpose) -> Path:
        name = purpose.replace(":", "-").replace("/", "-")
        paths = (self.folder / f"{name}-{number}.jsonl" for number in count(1))
        return next(path for path in paths if not path.exists())
