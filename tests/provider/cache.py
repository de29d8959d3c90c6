"""The prompt cache: what a request reads, what it writes, and what each part is billed as.

An entry stands for "everything up to and including this block". It is written only at a
breakpoint, and found only by looking back from a breakpoint over at most 20 blocks, the
breakpoint's own block included. Two steps keep the documented order of events: `plan` looks up
when the request arrives, `commit` writes when its response begins, so that two requests sent at
once both miss.
"""

from dataclasses import dataclass, field

from tests.provider.blocks import LEVELS, THINKING, Prompt, digest
from tests.provider.clock import Clock

LOOK_BACK = 20
SECONDS = {"5m": 300.0, "1h": 3600.0}


@dataclass(frozen=True, slots=True)
class Breakpoint:
    position: int
    ttl: str


@dataclass(frozen=True, slots=True)
class Plan:
    """How the tokens of one prompt divide, and the entries its response will write."""

    total: int
    read: int
    written: dict[str, int]
    entries: tuple[tuple[str, str], ...]

    @property
    def created(self) -> int:
        return sum(self.written.values())

    @property
    def fresh(self) -> int:
        """Tokens neither read from nor written to the cache."""
        return self.total - self.read - self.created


@dataclass(slots=True)
class _Entry:
    ttl: str
    expires: float


def keys(prompt: Prompt) -> list[str]:
    """For each block, the key of the prefix that ends with it."""
    state = digest(prompt.model)
    found: list[str] = []
    for level in LEVELS:
        state = digest(state, level, prompt.settings[level])
        for block in prompt.blocks:
            if block.level == level:
                state = digest(state, block.role, block.content)
                found.append(state)
    return found


def breakpoints(prompt: Prompt) -> list[Breakpoint]:
    """Every breakpoint in prompt order; the automatic one marks the last block that can carry it."""
    blocks = prompt.blocks
    found = {i: block.ttl for i, block in enumerate(blocks) if block.ttl is not None}
    if prompt.automatic is not None:
        cacheable = [i for i, block in enumerate(blocks) if block.type not in THINKING]
        if cacheable:
            found.setdefault(cacheable[-1], prompt.automatic)
    return [Breakpoint(position, ttl) for position, ttl in sorted(found.items())]


@dataclass(slots=True)
class PromptCache:
    clock: Clock
    _entries: dict[str, _Entry] = field(default_factory=dict)

    def _live(self, key: str) -> bool:
        entry = self._entries.get(key)
        return entry is not None and entry.expires > self.clock.now

    def _hit(self, prefix: list[str], marks: list[Breakpoint]) -> int:
        """Number of blocks that can be read: the longest live prefix any breakpoint can see."""
        best = 0
        for mark in marks:
            for position in range(mark.position, max(-1, mark.position - LOOK_BACK), -1):
                if position + 1 <= best:
                    break
                if self._live(prefix[position]):
                    best = position + 1
                    break
        return best

    def _refresh(self, used: list[str]) -> None:
        for key in used:
            if self._live(key):
                entry = self._entries[key]
                entry.expires = self.clock.now + SECONDS[entry.ttl]

    def plan(self, prompt: Prompt, minimum: int) -> Plan:
        prefix = keys(prompt)
        marks = breakpoints(prompt)
        ends: list[int] = []
        for block in prompt.blocks:
            ends.append((ends[-1] if ends else 0) + block.tokens)
        hit = self._hit(prefix, marks)
        read = ends[hit - 1] if hit else 0
        self._refresh(prefix[:hit])
        written = dict.fromkeys(SECONDS, 0)
        entries: list[tuple[str, str]] = []
        covered = read
        for mark in marks:
            end = ends[mark.position]
            # A prefix below the minimum is read in full and nothing is said about it.
            if mark.position >= hit and end >= minimum:
                written[mark.ttl] += end - covered
                covered = end
                entries.append((prefix[mark.position], mark.ttl))
        return Plan(ends[-1] if ends else 0, read, written, tuple(entries))

    def commit(self, plan: Plan) -> None:
        """Make the planned entries readable: the response has begun."""
        for key, ttl in plan.entries:
            self._entries[key] = _Entry(ttl, self.clock.now + SECONDS[ttl])
