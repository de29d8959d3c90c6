"""Models without a provider: one that answers by rules, and one that plays a script."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reverie.core.messages import Attachment, Block, GrowingMap, Message, Text, ToolResult, ToolUse
from reverie.core.prompt_cache import Chain, Mark, extend, root_digest
from reverie.core.prompt_cache.tracker import Call, Simulator
from reverie.core.request import (
    Reply,
    Request,
    StopReason,
    StreamItem,
    TextDelta,
    ToolUseStarted,
    canonical_bytes,
    head_segments,
    message_segments,
)
from reverie.core.usage import FREE, Prices, Usage
from reverie.core.window import CacheRules, Capabilities, block_tokens
from reverie.errors import ModelError
from reverie.ports import Clock
from reverie.text.words import query_words, terms

NAME = "offline"
FOUND = "From memory:"
FOUND_IN_SESSIONS = "No memory fits, but past sessions mention it:"

# The answer when nothing is found; the first miss gets the first text, later ones the next.
ANSWERS = (
    "Nothing in memory fits that closely, and this is Reverie's offline mode, not a language model. "
    "/remember saves a fact, /recall shows weaker matches, /search looks through past sessions; "
    "`reverie models` chooses a model.",
    "Nothing fits that either. With a model it could be answered: `reverie models` lists those you "
    "can use, `reverie keys set anthropic` stores a key, and "
    "`reverie chat --model anthropic:claude-sonnet-5-5` starts with one.",
    "Nothing is saved about that. `reverie demo` shows in a minute what memory does with a model.",
)
ANSWER = ANSWERS[0]

_OURS = (FOUND, FOUND_IN_SESSIONS, "Nothing in memory or past sessions")
_RECALL = "recall"
# The marks by which a model cites memories, which are not needed here.
_MARKS = re.compile(r"(?<=\)) \[m:\w+\]$", re.MULTILINE)
_SEARCH = "search_memory"
_MOST_HITS = 3
_LONGEST_QUOTE = 60


class OfflineModel:
    """Answers with recalled memories, else with hits of past sessions: free and deterministic."""

    name = NAME
    capabilities = Capabilities(window=200_000, max_output=8_192)
    prices: Prices | None = FREE

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        digest = hashlib.blake2b(canonical_bytes(request), digest_size=8).hexdigest()
        block = _answer(request, digest)
        if isinstance(block, ToolUse):
            yield ToolUseStarted(block.id, block.name)
            yield Reply(f"offline_{digest}", NAME, (block,), "tool_use")
        else:
            yield TextDelta(block.text)
            yield Reply(f"offline_{digest}", NAME, (block,), "end")

    async def aclose(self) -> None:
        return None


def _answer(request: Request, digest: str) -> Text | ToolUse:
    recent = _since_prompt(request.messages)
    if memories := [_unframed(each) for message in recent for each in _recalled(message)]:
        return Text("\n\n".join([FOUND, *memories]))
    prompt = recent[0].text.strip() if recent else ""
    results = [b for m in recent for b in m.blocks if isinstance(b, ToolResult)]
    can_search = any(tool.name == _SEARCH for tool in request.head.tools)
    if can_search and prompt and not results:
        wanted = {"query": prompt[:1000], "scope": "episodes", "limit": _MOST_HITS}
        return ToolUse(f"search_{digest}", _SEARCH, json.dumps(wanted, ensure_ascii=False))
    if hits := [line for result in results for line in _hits(result, prompt)]:
        return Text("\n".join([FOUND_IN_SESSIONS, *hits]))
    return Text(_nothing(request.messages, prompt))


def _since_prompt(messages: Sequence[Message]) -> Sequence[Message]:
    """The user's last message and what follows it."""
    for at in range(len(messages) - 1, -1, -1):
        if messages[at].origin == "user" and messages[at].text:
            return messages[at:]
    return messages


def _recalled(message: Message) -> Iterator[Attachment]:
    for block in message.blocks:
        if isinstance(block, Attachment) and block.label == _RECALL:
            yield block


def _unframed(attachment: Attachment) -> str:
    """The memories without the first paragraph, which explains them to a model."""
    return _MARKS.sub("", attachment.text.partition("\n\n")[2] or attachment.text)


def _hits(result: ToolResult, prompt: str) -> Iterator[str]:
    """Hits that share a word with the prompt, without the prompt itself and our own answers."""
    asked = {term for word in query_words(prompt) for term in word.terms}
    for line in () if result.is_error else result.text.splitlines():
        snippet = line.partition(": ")[2]
        ours = any(text.startswith(snippet[:_LONGEST_QUOTE]) for text in ANSWERS)
        is_new = prompt not in line and not ours and not snippet.startswith(_OURS)
        if line.startswith("- session ") and is_new and asked & set(terms(snippet)):
            yield line


def _nothing(messages: Sequence[Message], prompt: str) -> str:
    """A text that this conversation has not had yet."""
    said = {block.text for message in messages for block in _texts(message)}
    fresh = next((text for text in ANSWERS if text not in said), None)
    if fresh is not None:
        return fresh
    quoted = prompt if len(prompt) <= _LONGEST_QUOTE else prompt[:_LONGEST_QUOTE].rstrip() + "…"
    return f"Nothing in memory or past sessions fits “{quoted}”."


def _texts(message: Message) -> Iterator[Text]:
    blocks: Sequence[Block] = message.blocks if message.role == "assistant" else ()
    return (block for block in blocks if isinstance(block, Text))


# A turn is the model's reply, an error to raise, or a function of the request.
Turn: TypeAlias = str | Sequence[Block] | ModelError | Callable[[Request], "Turn"]


@dataclass(frozen=True, slots=True)
class Bill:
    """The usage of a request, and the digest of its content."""

    usage: Usage
    digest: str


class PromptCache:
    """A simulated provider's cache; models that share an instance share their cached prompts."""

    def __init__(self, rules: CacheRules, clock: Clock) -> None:
        self._simulator = Simulator(rules)
        self._clock = clock
        self._segments = GrowingMap(message_segments)

    def bill(self, request: Request, output: int) -> Bill:
        """The usage of a request, which is in the cache afterwards."""
        chain = self._chain(request)
        call = Call(chain, self._clock.now(), output)
        return Bill(self._simulator.run(call, _marks(request, chain)), chain.digest)

    def _chain(self, request: Request) -> Chain:
        segments = list(head_segments(request.head))
        for message in self._segments(request.messages):
            segments += message
        return Chain(request.head, tuple(extend(None, root_digest(request.head), segments)))


class ScriptedModel:
    """Replies with its turns one by one, then repeats `otherwise`."""

    def __init__(
        self,
        turns: Iterable[Turn] = (),
        *,
        otherwise: Turn = "Done.",
        name: str = "scripted",
        capabilities: Capabilities | None = None,
        prices: Prices | None = FREE,
        cache: PromptCache | None = None,
    ) -> None:
        self.name = name
        self.capabilities = capabilities or Capabilities(window=200_000)
        self.prices = prices
        self.requests: list[Request] = []
        self._cache = cache
        self._turns = iter(turns)
        self._otherwise = otherwise

    async def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        self.requests.append(request)
        blocks = self._play(next(self._turns, self._otherwise), request)
        for block in blocks:
            match block:
                case Text(text):
                    yield TextDelta(text)
                case ToolUse(id_, name, _):
                    yield ToolUseStarted(id_, name)
        yield self._reply(request, blocks)

    async def aclose(self) -> None:
        return None

    def _play(self, turn: Turn, request: Request) -> tuple[Block, ...]:
        if isinstance(turn, ModelError):
            raise turn
        if callable(turn):
            return self._play(turn(request), request)
        return (Text(turn),) if isinstance(turn, str) else tuple(turn)

    def _reply(self, request: Request, blocks: tuple[Block, ...]) -> Reply:
        calls = any(isinstance(block, ToolUse) for block in blocks)
        stop: StopReason = "tool_use" if calls else "end"
        bill = self._bill(request, sum(map(block_tokens, blocks)))
        id_ = f"scripted_{len(self.requests)}_{bill.digest}"
        return Reply(id_, self.name, blocks, stop, bill.usage)

    def _bill(self, request: Request, output: int) -> Bill:
        if self._cache is not None:
            return self._cache.bill(request, output)
        sent = canonical_bytes(request)
        digest = hashlib.blake2b(sent, digest_size=8).hexdigest()
        return Bill(Usage(input=len(sent) // 4, output=output), digest)


def _marks(request: Request, chain: Chain) -> tuple[Mark, ...]:
    """The breakpoints of a request as marks on its chain, in order."""
    segments = (link.segment for link in chain.links)
    positions = {(s.section, s.index, s.block): i for i, s in enumerate(segments)}
    marks = (Mark(positions[b.section, b.index, b.block], b.ttl) for b in request.breakpoints)
    return tuple(sorted(marks, key=lambda mark: mark.index))
