"""No model at all, over the same port: it says plainly what it is."""

from __future__ import annotations

import pytest
from tests.models.test_metered import REQUEST

from reverie.core.reply import Reply, TextDelta
from reverie.core.usage import FREE
from reverie.models.offline import ANSWER, OfflineModel
from reverie.models.scripted import ScriptedModel
from reverie.ports import ExactCounter, Model, complete


async def test_the_offline_model_says_what_it_is() -> None:
    model = OfflineModel()
    items = [item async for item in model.stream(REQUEST)]
    first, reply = items
    assert first == TextDelta(ANSWER)
    assert isinstance(reply, Reply)
    assert reply == await complete(model, REQUEST)
    assert (reply.text, reply.stop, reply.usage.context) == (ANSWER, "end", 0)
    assert "not a language model" in reply.text
    assert "models.main" in reply.text


@pytest.mark.parametrize("model", [ScriptedModel(), OfflineModel()])
async def test_both_are_free_and_need_nobody(model: Model) -> None:
    assert model.prices == FREE
    assert model.capabilities.window == 200_000
    assert not isinstance(model, ExactCounter)
    await model.aclose()
