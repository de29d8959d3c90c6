"""Builders of messages, conversations, heads and chains, and hypothesis strategies for them.

The builders are short words for stories; the strategies draw what a user might really have: any
Unicode (torn surrogates too), parallel calls, responses recorded in pieces, interrupted calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from hypothesis import strategies as st

from reverie.core.messages import (
    Attachment,
    Block,
    Document,
    Image,
    Message,
    Opaque,
    Origin,
    Role,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    new_message,
)
from reverie.core.prompt_cache import Chain, common_length, extend, head_chain, root_digest
from reverie.core.request import Head, Options, ToolSpec, message_segments

# ── builders for examples ────────────────────────────────────────────────────


def filler(tokens: int) -> str:
    """Text that is estimated at exactly this many tokens."""
    return "word" * tokens


def user(*parts: str | Block) -> Message:
    return new_message("user", *_blocks(parts))


def model(*parts: str | Block, response: str | None = None) -> Message:
    return new_message("assistant", *_blocks(parts), response=response)


def call(id_: str) -> ToolUse:
    return ToolUse(id_, "read", f'{{"path":"{id_}"}}')


def result(id_: str, text: str = "ok") -> ToolResult:
    return ToolResult(id_, (Text(text),))


def results(*ids: str) -> Message:
    return new_message("user", *(result(id_) for id_ in ids), origin="tool")


def _blocks(parts: Sequence[str | Block]) -> list[Block]:
    return [Text(part) if isinstance(part, str) else part for part in parts]


def a_head(*, model: str = "m", system: Sequence[str] = (), tools: Sequence[str] = ()) -> Head:
    """A head of plain system texts, and tools whose description is given after their name."""
    specs = tuple(ToolSpec(t.split(":")[0], t, '{"type":"object"}') for t in tools)
    return Head(model, tuple(Text(text) for text in system), specs)


def chain_of(head: Head, messages: Sequence[Message]) -> Chain:
    """The chain of a whole request."""
    links = head_chain(head)
    for index, message in enumerate(messages):
        last = links[-1] if links else None
        links += extend(last, root_digest(head), message_segments(message, index))
    return Chain(head, tuple(links))


def extends(old: Chain, new: Chain) -> bool:
    """The prefix invariant: everything that was sent before is sent again, unchanged."""
    same_head = root_digest(old.head) == root_digest(new.head)
    return same_head and common_length(old, new) == len(old.links)


def chain_of_blocks(*blocks: Block, head: Head | None = None) -> Chain:
    """A chain with one user message per block."""
    return chain_of(head or a_head(), [user(block) for block in blocks])


# ── anything at all ──────────────────────────────────────────────────────────

# Letters that often cause bugs: NUL, emoji, right-to-left, line separators, lone surrogates.
_HURTFUL = '\x00\n\r"\\\u2028\ufeff\U0001f9e0שλ\ud83d\ude00\udc80'

texts = st.text(max_size=12) | st.text("ab" + _HURTFUL, max_size=8)
names = st.text("abcdefgh_", min_size=1, max_size=6)
maybe_texts = st.none() | texts

media = st.one_of(
    st.builds(Image, names, texts, texts),
    st.builds(Document, names, texts, texts),
)
blocks = st.one_of(
    st.builds(Text, texts),
    st.builds(Thinking, texts, maybe_texts, st.booleans()),
    st.builds(ToolUse, names, names, texts),
    st.builds(
        ToolResult,
        names,
        st.lists(st.builds(Text, texts) | media, max_size=3).map(tuple),
        st.booleans(),
    ),
    media,
    st.builds(Attachment, names, texts),
    st.builds(Opaque, names, texts),
)

# Journals hold milliseconds; times from 1970 to 2100.
times = st.integers(0, 4_102_444_800_000).map(lambda ms: ms / 1000)

messages = st.builds(
    Message,
    id=texts,
    role=st.sampled_from(get_args(Role)),
    blocks=st.lists(blocks, max_size=4).map(tuple),
    parent=maybe_texts,
    at=times,
    origin=st.sampled_from(get_args(Origin)),
    response=maybe_texts,
    bound_to=maybe_texts,
)

heads = st.builds(
    Head,
    names,
    st.lists(st.builds(Text, texts), max_size=2).map(tuple),
    st.lists(st.builds(ToolSpec, names, texts, texts), max_size=2).map(tuple),
    st.builds(
        Options,
        thinking=st.none() | names,
        effort=st.none() | names,
        tool_choice=st.none() | names,
        output_schema=st.none() | names,
    ),
)


# ── conversations ────────────────────────────────────────────────────────────

# How a response and its results may be recorded; calls a, b, c of one response, results A, B, C:
#   whole        abc ABC          one message, one answer (maybe with the user's next words in it)
#   pieces       a b c  A B C     one message a block
#   alternating  a A b B c C      each result as soon as its tool is done
#   overlapping  a b A c B C      tools that run while the response still streams
RECORDED = ("whole", "pieces", "alternating", "overlapping")


@st.composite
def conversations(
    draw: st.DrawFn, styles: Sequence[str] = RECORDED, *, interrupted: bool = False
) -> list[Message]:
    """A conversation in which every call is answered; the last ones may have been interrupted."""
    said: list[Message] = []
    for turn in range(draw(st.integers(1, 4))):
        said.append(user(f"question {turn}", *draw(st.sampled_from([(), (Attachment("d", "x"),)]))))
        for step in range(draw(st.integers(0, 3))):
            said += draw(_response(f"r{turn}.{step}", styles))
    if interrupted:
        whole = draw(_response("last", ("pieces",), least=1))
        calls = [m for m in whole if m.role == "assistant"]
        done = [m for m in whole if m.role == "user"]
        said += calls + done[: draw(st.integers(0, len(done) - 1))]
    return said


@st.composite
def _response(
    draw: st.DrawFn, name: str, styles: Sequence[str], *, least: int = 0
) -> list[Message]:
    ids = [f"{name}/{n}" for n in range(draw(st.integers(least, 3)))]
    lead: list[Block] = draw(st.sampled_from([[], [Thinking("hm", "sig")], [Text("I will look")]]))
    size = draw(st.integers(0, 60))
    answers = {id_: user(result(id_, filler(size))) for id_ in ids}
    if not ids:
        return [model(*lead, "done", response=name)]
    style = draw(st.sampled_from(styles))
    if style == "whole":
        return draw(_whole(name, lead, ids, size))
    first, *rest = [model(call(id_), response=name) for id_ in ids]
    first = model(*lead, *first.blocks, response=name)
    order = draw(st.permutations(ids))
    if style == "pieces":
        return [first, *rest, *(answers[id_] for id_ in order)]
    if style == "alternating":
        return [m for c, id_ in zip([first, *rest], ids, strict=True) for m in (c, answers[id_])]
    return [first, *rest[:1], answers[ids[0]], *rest[1:], *(answers[id_] for id_ in ids[1:])]


@st.composite
def _whole(
    draw: st.DrawFn, name: str, lead: Sequence[Block], ids: Sequence[str], size: int
) -> list[Message]:
    order = draw(st.permutations(ids))
    spoken = draw(st.sampled_from([(), ("and hurry",)]))
    answer = user(*(result(id_, filler(size)) for id_ in order), *spoken)
    response = draw(st.sampled_from([name, None]))
    return [model(*lead, *map(call, ids), response=response), answer]
