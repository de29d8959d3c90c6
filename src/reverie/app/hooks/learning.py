"""Layer 5 for another client: what is new in its transcript since the last look is looked through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reverie.app.learning import Learnt, learn, spoken
from reverie.errors import TranscriptError
from reverie.layers import NotDue, extraction
from reverie.layers.extraction import Conditions

if TYPE_CHECKING:
    from reverie.app import App
    from reverie.app.hooks.session_folder import SessionFolder


def learn_new(app: App, folder: SessionFolder) -> Learnt | NotDue:
    """Save and propose what was said since the last look; the next look begins behind it."""
    try:
        messages = spoken(folder.transcript)
    except TranscriptError as error:
        return NotDue(str(error))
    new = extraction.new_messages(messages, folder.learnt_up_to())
    verdict = extraction.due(
        Conditions(
            memory_on=app.settings.memory_enabled,
            extract_on=app.switches.on("extract"),
            main_agent=True,
            final_reply=True,
            running=False,
            new_messages=len(new),
        )
    )
    if isinstance(verdict, NotDue):
        return verdict
    folders = (str(part.place.directory) for part in app.memory().parts)
    if extraction.agent_wrote(new, *folders):
        learnt: Learnt | NotDue = NotDue("the agent saved by itself")
    else:
        learnt = learn(app, folder.name, new, messages[: len(messages) - len(new)])
    folder.keep_learnt(new[-1].id)
    return learnt
