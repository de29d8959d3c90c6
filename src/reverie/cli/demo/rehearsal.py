"""Models that play a part and are billed like real ones: for demonstrations without a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from reverie.core.window import Capabilities
from reverie.errors import InputError
from reverie.learning.side_models import agents_on
from reverie.models import catalog
from reverie.models.offline import PromptCache, ScriptedModel
from reverie.session.prefetch import SessionRecall

if TYPE_CHECKING:
    from reverie.core.messages import Block
    from reverie.core.request import Request
    from reverie.core.usage import Purpose
    from reverie.ports import Clock, Model
    from reverie.session.query import Session
    from reverie.workspace import Workspace

# What a model says to a request.
Part: TypeAlias = Callable[["Request"], "Sequence[Block]"]


def rehearsed(part: Part, *, like: str, window: int, clock: Clock) -> Model:
    """Plays `part` with the prices and the cache rules of the model it is `like`."""
    row = catalog.find(like)
    if row is None:
        raise InputError(f"no model {like!r} in the catalog to be billed like")
    cache = row.capabilities.cache
    return ScriptedModel(
        otherwise=part,
        name=f"scripted-{like}",
        capabilities=Capabilities(window=window, max_output=window // 8, cache=cache),
        prices=row.prices,
        cache=PromptCache(cache, clock),
    )


def let_select(model: Model, session: Session, app: Workspace) -> None:
    """Have this model select the memories of a session, its meter running."""
    if isinstance(session.recall, SessionRecall):
        id_ = session.conversation.state.session
        session.recall.recall.selector = app.metered(
            model, session=id_, purpose="recall", announce=session.announce
        )


def let_learn(model: Model, session: Session, app: Workspace) -> None:
    """Have this model read what is new after a turn, where that is cheaper than a fork."""
    learning = session.learning
    if learning is None:
        return
    id_ = session.conversation.state.session

    def metered(purpose: Purpose) -> Model:
        return app.metered(model, session=id_, purpose=purpose, announce=session.announce)

    folder = app.project.sessions / id_ / "forks"
    learning.apart = agents_on(app, metered, id_, folder, session.announce)
    learning.apart_prices = model.prices
