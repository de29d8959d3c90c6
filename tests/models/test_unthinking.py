"""A model whose requests contain no thinking."""

from reverie.core.messages import Text, Thinking, new_message
from reverie.core.request import Head, Request
from reverie.models.offline import ScriptedModel
from reverie.models.wrappers import UnthinkingModel
from reverie.ports import complete


async def test_thinking_is_left_out_and_nothing_else() -> None:
    inner = ScriptedModel(["Yes."])
    model = UnthinkingModel(inner)
    first = new_message("user", Text("Is it?"))
    both = new_message("assistant", Thinking("hm", "sig"), Text("It is."), after=first)
    alone = new_message("assistant", Thinking("hm", "sig"), after=both)
    last = new_message("user", Text("Sure?"), after=alone)
    reply = await complete(model, Request(Head("scripted"), (first, both, alone, last)))
    assert reply.text == "Yes."
    [asked] = inner.requests
    assert [message.blocks for message in asked.messages] == [
        (Text("Is it?"),),
        (Text("It is."),),
        (Text("Sure?"),),
    ]
    assert (model.name, model.capabilities, model.prices) == (
        inner.name,
        inner.capabilities,
        inner.prices,
    )
    await model.aclose()
