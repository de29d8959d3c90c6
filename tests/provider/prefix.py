"""The prefix invariant: every request extends an earlier one, or the test said it would not.

Requests are compared part by part: settings that decide whether a cache can be read (the model
first), tools, system, then message blocks with their roles. Cache markers are no content, and
neighbouring messages of one role are one message, so moving a marker or splitting a message is
no break.

Extending *any* earlier request would not be enough: a history edited in the middle still begins
like the very first request. So a request that goes on from an earlier one which others have
already gone on from may add one assistant turn and what follows it: a fork. More than that means
that replies were carried over to a prefix they were not given for: a rewrite.

Only requests that were answered are checked. One that failed for a while (429, 5xx) still counts
as something a retry may repeat; one that was refused (other 4xx) does not count at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.provider.outline import Outline, Part, outline
from tests.provider.record import RecordedRequest, Registration

_EXCERPT = 24


@dataclass(frozen=True, slots=True)
class Difference:
    """The first place where a request leaves an earlier one; `depth` orders how late that is."""

    depth: tuple[int, int]
    text: str


def _excerpt(raw: bytes, at: int) -> str:
    start, end = max(0, at - _EXCERPT), at + _EXCERPT
    text = raw[start:end].decode(errors="replace")
    return f"{'…' if start else ''}{text}{'…' if end < len(raw) else ''}"


def _bytes_differ(name: str, before: bytes, after: bytes) -> str:
    at = next(
        (i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b),
        min(len(before), len(after)),
    )
    return (
        f"{name} differs from byte {at}: was {_excerpt(before, at)!r}, is {_excerpt(after, at)!r}"
    )


def _first_difference(
    section: int, before: tuple[Part, ...], after: tuple[Part, ...], *, may_grow: bool
) -> Difference | None:
    for index, (a, b) in enumerate(zip(before, after, strict=False)):
        if a.content != b.content:
            name = a.name if a.name == b.name else f"{a.name}, now {b.name},"
            return Difference((section, index), _bytes_differ(name, a.content, b.content))
    shorter = min(len(before), len(after))
    if len(before) > len(after):
        return Difference((section, shorter), f"{before[shorter].name} was removed")
    if len(after) > len(before) and not may_grow:
        return Difference((section, shorter), f"{after[shorter].name} was added")
    return None


def difference(before: Outline, after: Outline) -> Difference | None:
    """Where `after` stops being an extension of `before`, or None when it is one."""
    sections = (
        (before.settings, after.settings),
        (before.tools, after.tools),
        (before.system, after.system),
        (before.messages, after.messages),
    )
    for number, (old, new) in enumerate(sections):
        found = _first_difference(number, old, new, may_grow=number == 3)
        if found is not None:
            return found
    return None


@dataclass(slots=True)
class _Node:
    """An earlier request; `continued` once another has gone on from it."""

    index: int
    outline: Outline
    continued: bool = False


def _turns(parts: tuple[Part, ...]) -> int:
    """How many assistant turns the parts hold."""
    return sum(
        part.replied and not before
        for before, part in zip((False, *(part.replied for part in parts)), parts, strict=False)
    )


def _base(shape: Outline, nodes: list[_Node]) -> _Node | None:
    """The request this one goes on from, or None when it goes on from none."""
    found = [node for node in nodes if difference(node.outline, shape) is None]
    if not found:
        return None
    deepest = max(found, key=lambda node: (len(node.outline.messages), node.index))
    added = shape.messages[len(deepest.outline.messages) :]
    return deepest if not deepest.continued or _turns(added) <= 1 else None


def _complaint(index: int, shape: Outline, nodes: list[_Node]) -> str:
    gaps = [(node.index, difference(node.outline, shape)) for node in nodes]
    closest, gap = max(
        ((where, gap) for where, gap in gaps if gap is not None),
        key=lambda pair: (pair[1].depth, pair[0]),
    )
    return f"request {index} does not extend request {closest}: {gap.text}"


@dataclass(slots=True)
class _Promise:
    """A registration and how many requests it has left to come true."""

    said: Registration
    left: int


@dataclass(slots=True)
class PrefixInvariant:
    """Checks a record of requests against what the test registered, in order."""

    requests: Sequence[RecordedRequest]
    registered: Sequence[Registration] = ()
    _promises: list[_Promise] = field(default_factory=list)
    _nodes: dict[str, list[_Node]] = field(default_factory=dict)

    def failures(self) -> list[str]:
        """One sentence for every request that broke its prefix, and every promise not kept."""
        self._promises = [_Promise(one, one.within) for one in self.registered]
        self._nodes = {}
        found: list[str] = []
        for request in self.requests:
            shape = outline(request, self.requests[: request.index]) if _counts(request) else None
            problem = self._judge(request, shape) if shape is not None else None
            if problem is not None:
                found.append(problem)
        return found + [
            f"a {promise.said.kind} was registered ({promise.said.reason!r}), but none came"
            for promise in self._promises
        ]

    def _judge(self, request: RecordedRequest, shape: Outline) -> str | None:
        known = self._nodes.setdefault(str(request.api), [])
        base = _base(shape, known)
        answered = request.status == 200
        promise = next((p for p in self._promises if p.said.since <= request.index), None)
        # The very first request starts a conversation and can break nothing.
        rooted = base is None and not known
        problem = None
        if base is not None:
            base.continued = base.continued or base.outline.messages != shape.messages
        if base is not None or (rooted and promise and promise.said.kind == "break"):
            problem = self._unkept(request, promise) if promise and answered else None
        elif promise is not None:
            self._promises.remove(promise)
        elif known and not answered:
            # It failed and it fits nowhere: nothing may be built on it.
            return None
        elif known:
            problem = _complaint(request.index, shape, known)
        known.append(_Node(request.index, shape))
        return problem

    def _unkept(self, request: RecordedRequest, promise: _Promise) -> str | None:
        """An answered request breaks nothing although a break was announced."""
        promise.left -= 1
        if promise.left > 0:
            return None
        self._promises.remove(promise)
        return (
            f"request {request.index}: a {promise.said.kind} was registered "
            f"({promise.said.reason!r}), but this request breaks nothing"
        )


def _counts(request: RecordedRequest) -> bool:
    """Refused requests never reached a model."""
    return request.status is None or not (400 <= request.status < 500 and request.status != 429)
