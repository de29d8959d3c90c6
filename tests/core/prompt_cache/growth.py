"""Conversations that grow call by call, as a cache sees them, and strategies for them."""

from __future__ import annotations

from itertools import cycle, islice

from hypothesis import strategies as st
from tests.core.build import a_head, chain_of, filler, user

from reverie.core.messages import Block, Image, Text, Thinking, ToolResult, ToolUse
from reverie.core.prompt_cache.tracker import Call
from reverie.core.window import CacheRules

EXPLICIT = CacheRules("explicit", minimum=100)
AUTOMATIC = CacheRules("automatic", minimum=100)
MINUTE = 60.0
HOUR = 3600.0


def block_of(kind: str, tokens: int) -> Block:
    text = filler(tokens)
    match kind:
        case "thinking":
            return Thinking(text, "sig")
        case "call":
            return ToolUse("id", "read", text)
        case "result":
            return ToolResult("id", (Text(text),))
        case "image":
            return Image("image/png", "AAAA")
    return Text(text if kind == "text" else "")


blocks = st.builds(
    block_of,
    st.sampled_from(["text", "text", "empty", "thinking", "call", "result", "image"]),
    st.integers(0, 400),
)

rules = st.builds(
    CacheRules,
    kind=st.just("explicit"),
    minimum=st.sampled_from([0, 1, 100, 1024]),
    max_breakpoints=st.integers(2, 4),
    look_back=st.sampled_from([1, 2, 5, 20]),
)


@st.composite
def growing_calls(draw: st.DrawFn, *, longest_gap: int) -> list[Call]:
    """Requests of one conversation: each adds any number of blocks, and waits a while before."""
    head = a_head(system=[filler(draw(st.integers(0, 200)))] * draw(st.integers(0, 2)), tools=["t"])
    said, at, calls = [], 0, []
    for _ in range(draw(st.integers(2, 6))):
        pattern = draw(st.lists(blocks, min_size=1, max_size=4))
        added = list(islice(cycle(pattern), draw(st.integers(1, 45))))
        width = draw(st.integers(1, 5))
        said += [user(*added[i : i + width]) for i in range(0, len(added), width)]
        at += draw(st.integers(0, longest_gap))
        calls.append(Call(chain_of(head, said), float(at), draw(st.integers(0, 50))))
    return calls
