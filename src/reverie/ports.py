"""The seams: what the middle of Reverie needs from the outside, as small protocols."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

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
    """Time, owned by whoever composes the system: tests own theirs."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...


class Model(Protocol):
    """A language model, reached in one way: stream a request."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    @property
    def prices(self) -> Prices | None:
        """None when nobody told us: such calls cannot be held to a cap."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamItem]:
        """Deltas as they come, then exactly one Reply. Failures are `ModelError`s."""
        ...

    async def aclose(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class ExactCounter(Protocol):
    """A model whose provider can be asked for sizes. Never on the hot path."""

    async def count_tokens(self, request: Request) -> int: ...

    async def look_up_window(self) -> int | None: ...


class Exchange(Protocol):
    """A conversation with one model: what is said in it, and a way to go on."""

    @property
    def messages(self) -> Sequence[Message]:
        """The conversation as it is sent."""
        ...

    def say(self, *blocks: Block, origin: Origin = "user") -> Message:
        """Add a message from the user side."""
        ...

    def send(self) -> AsyncIterator[Event]:
        """One request and its reply, as events; the last of them is `Replied`."""
        ...


class SpendLedger(Protocol):
    """Where money is written down, and asked for before it is spent."""

    def reserve(self, purpose: Purpose, session: str, ceiling: float, caps: Caps) -> Decision:
        """Ask for up to `ceiling` dollars; when allowed, they count as spent until settled."""
        ...

    def settle(self, ticket: str, entry: Entry | None) -> None:
        """The call is over: what it really cost replaces its reservation; None if it never began."""
        ...


class Stored(Protocol):
    """A topic as it is kept, and the version a write must be based on."""

    @property
    def topic(self) -> Topic: ...

    @property
    def version(self) -> str: ...


class TopicReader(Protocol):
    """Memories to look through. Reading takes no lock."""

    def entries(self) -> tuple[ManifestEntry, ...]:
        """Every memory, newest first."""
        ...

    def listing(self) -> Mapping[str, tuple[int, int, int]]:
        """Every memory with its signature: when it was modified, its size, when it changed."""
        ...

    @property
    def large(self) -> bool:
        """Whether there are so many that a call should ask for some of them, not for all."""
        ...

    def alike(self, text: str) -> Sequence[ManifestEntry]:
        """Memories that share the rarest words of a text, 20 at most: its like is among them."""
        ...

    def has(self, file: str) -> bool:
        """Whether there is a memory of this name, in whatever case."""
        ...

    def some(self, files: Sequence[str], newest: int = 0) -> Sequence[ManifestEntry]:
        """The entries of these files, then those of the newest ones, each once."""
        ...

    def changes(self, since: str, most: int) -> Changes | None:
        """What changed since an earlier answer; None: only `listing` tells."""
        ...

    def read(self, file: str) -> Stored | None: ...


class TopicStore(TopicReader, Protocol):
    """Where memories are kept; every write is one transaction."""

    def index(self) -> Index: ...

    def apply(
        self,
        changes: Sequence[Change],
        author: Author,
        summary: str,
        edit_index: Callable[[Index], Index] = ...,
    ) -> Revision | None:
        """Make all changes and the matching change to the index, or none of them."""
        ...

    def restore(
        self, plan: Callable[[], Mapping[str, bytes | None]], author: Author, summary: str
    ) -> Revision | None:
        """Make files hold what the plan says; it is made while nobody else can write."""
        ...

    def current(self, file: str) -> bytes | None:
        """A file's bytes as they are now."""
        ...


class History(Protocol):
    """What memory was: every change, who made it and why."""

    def log(self, file: str | None = None) -> Iterator[Revision]: ...

    def revision(self, wanted: str) -> Revision: ...

    def parent(self, revision: Revision) -> str | None: ...

    def read(self, file: str, revision: str | None = None) -> bytes | None: ...

    def merge(self, base: bytes, ours: bytes, theirs: bytes) -> bytes | None: ...


class BlobStore(Protocol):
    """Where long texts are kept outside the conversation."""

    def put(self, name: str, text: str) -> str:
        """Keep a text under a name; gives the path to read it by. Raises StorageError."""
        ...


class Scrubbed(Protocol):
    """A text without its secrets, and what kinds of secret were in it."""

    @property
    def text(self) -> str: ...

    @property
    def kinds(self) -> tuple[str, ...]: ...


class Scrubber(Protocol):
    """Takes secrets out of what is about to be written."""

    def scrub(self, text: str) -> Scrubbed: ...


class Embedder(Protocol):
    """Texts as rows of unit length, whose angle says how alike they are; blank texts are zeros."""

    @property
    def name(self) -> str:
        """Another one whenever the same text would give another row."""
        ...

    @property
    def context(self) -> tuple[float, ...]:
        """How much the messages one, two, … places away add to a message's own row."""
        ...

    @property
    def together(self) -> float:
        """How much a message read together with the one before it adds to its own row."""
        ...

    @property
    def portion(self) -> int:
        """How many texts make a piece of work that somebody may wait for."""
        ...

    def encode(
        self, texts: Sequence[str], kind: Literal["passage", "question"]
    ) -> NDArray[np.float32]:
        """One row a text. Failures are `ReverieError`s."""
        ...


async def complete(model: Model, request: Request) -> Reply:
    """The whole reply, for callers who do not care about the pieces."""
    reply: Reply | None = None
    async for item in model.stream(request):
        if isinstance(item, Reply):
            reply = item
    if reply is None:
        raise ReplyBroken(f"{model.name} ended its stream without a reply; try again")
    return reply
