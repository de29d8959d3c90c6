"""Ports: small protocols for what Reverie needs from the outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

from reverie.core.messages import Block, Message, Origin
from reverie.core.request import Reply, Request, StreamItem
from reverie.core.usage import Caps, Decision, Entry, Prices, Purpose
from reverie.core.window import Capabilities
from reverie.errors import ReplyBroken
from reverie.events import Event
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import Changes, ManifestEntry
from reverie.memory.format.revisions import Author, Change, Revision
from reverie.memory.format.topic import Topic

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Clock(Protocol):
    """The current time, which tests replace."""

    def now(self) -> float:
        """Seconds since the epoch."""


class Model(Protocol):
    """A language model that streams the reply to a request."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def prices(self) -> Prices | None:
        """None when unknown; such calls cannot be held to a cap."""

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Deltas as they come, then exactly one Reply. Failures are `ModelError`s."""

    async def aclose(self) -> None:
        """Close connections."""


@runtime_checkable
class ExactCounter(Protocol):
    """A model whose provider can count tokens and report its window. Never on the hot path."""

    async def count_tokens(self, request: Request) -> int: ...

    async def look_up_window(self) -> int | None: ...


class Exchange(Protocol):
    """A conversation with one model."""

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation as it is sent."""

    def say(self, *blocks: Block, origin: Origin = "user") -> Message:
        """Add a message from the user side."""

    def send(self) -> AsyncIterator[Event]:
        """One request and its reply, as events; the last of them is `Replied`."""


class SpendLedger(Protocol):
    """Records spending, and reserves money before it is spent."""

    def reserve(self, purpose: Purpose, session: str, ceiling: float, caps: Caps) -> Decision:
        """Reserve up to `ceiling` dollars; if allowed, they count as spent until settled."""

    def settle(self, ticket: str, entry: Entry | None) -> None:
        """Replace a reservation by the actual cost; None if the call never began."""


class Stored(Protocol):
    """A stored topic, and the version that a write must be based on."""

    @property
    def topic(self) -> Topic: ...

    @property
    def version(self) -> str: ...


class TopicReader(Protocol):
    """Reads memories, without a lock."""

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first."""

    def listing(self) -> Mapping[str, tuple[int, int, int]]:
        """Every memory with its signature: when it was modified, its size, when it changed."""

    @property
    def large(self) -> bool:
        """Whether there are too many memories to read all of them in one call."""

    def alike(self, text: str) -> Sequence[ManifestEntry]:
        """At most 20 memories that share the rarest words of a text, including any duplicate of it."""

    def has(self, file: str) -> bool:
        """Whether there is a memory of this name, ignoring case."""

    def some(self, files: Sequence[str], newest: int = 0) -> Sequence[ManifestEntry]:
        """The entries of these files, then those of the newest ones, without duplicates."""

    def changes(self, since: str, most: int) -> Changes | None:
        """What changed since an earlier call; None when only `listing` can tell."""

    def read(self, file: str) -> Stored | None: ...


class TopicStore(TopicReader, Protocol):
    """Stores memories; every write is one transaction."""

    def index(self) -> Index: ...

    def apply(
        self,
        changes: Sequence[Change],
        author: Author,
        summary: str,
        edit_index: Callable[[Index], Index] = ...,
    ) -> Revision | None:
        """Make all changes and the matching change to the index, or none of them."""

    def restore(
        self, plan: Callable[[], Mapping[str, bytes | None]], author: Author, summary: str
    ) -> Revision | None:
        """Write the files of the plan, which is computed under the write lock."""

    def current(self, file: str) -> bytes | None:
        """A file's current bytes."""


class History(Protocol):
    """The history of a memory: every change, its author and its reason."""

    def log(self, file: str | None = None) -> Iterator[Revision]: ...

    def revision(self, wanted: str) -> Revision: ...

    def parent(self, revision: Revision) -> str | None: ...

    def read(self, file: str, revision: str | None = None) -> bytes | None: ...

    def content(self, wanted: str) -> bytes | None: ...

    def merge(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None: ...


class BlobStore(Protocol):
    """Stores long texts outside the conversation."""

    def put(self, name: str, text: str) -> str:
        """Store a text under a name and return its path. Raises StorageError."""


class Scrubbed(Protocol):
    """A text without its secrets, and the kinds of secrets that were removed."""

    @property
    def text(self) -> str: ...

    @property
    def kinds(self) -> tuple[str, ...]: ...


class Scrubber(Protocol):
    """Removes secrets from text before it is written."""

    def scrub(self, text: str) -> Scrubbed: ...


# A memory and a question to memories; a message of a conversation and a question to messages.
TextKind: TypeAlias = Literal["passage", "question", "message", "question to messages"]
QUESTIONS: frozenset[TextKind] = frozenset({"question", "question to messages"})
OF_MESSAGES: frozenset[TextKind] = frozenset({"message", "question to messages"})


class Embedder(Protocol):
    """Embeds texts as unit vectors; blank texts become zeros."""

    @property
    def name(self) -> str:
        """A name that changes whenever the same text would give another vector."""

    @property
    def context(self) -> tuple[float, ...]:
        """The weights of the messages one, two, … places away in a message's vector."""

    @property
    def together(self) -> float:
        """The weight of a message joined with the one before it in a message's vector."""

    @property
    def portion(self) -> int:
        """How many texts to encode at a time without a noticeable delay."""

    @property
    def apart(self) -> bool:
        """Whether messages of conversations get other vectors than memories."""

    def encode(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        """One vector per text. Failures are `ReverieError`s."""


class WordVectors(Embedder, Protocol):
    """An embedder that also has a vector for each word, whatever stands beside it."""

    def word_vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], list[int]]:
        """A unit vector for each piece of a word, text after text, and how many pieces each has."""


async def complete(model: Model, request: Request) -> Reply:
    """Stream a request and return the whole reply."""
    reply: Reply | None = None
    async for item in model.stream(request):
        if isinstance(item, Reply):
            reply = item
    if reply is None:
        raise ReplyBroken(f"{model.name} ended its stream without a reply; try again")
    return reply
