"""The handle a test holds: what the provider will answer, what it was asked, what was wrong."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.provider.batches import Desk
from tests.provider.blocks import Json
from tests.provider.cache import PromptCache
from tests.provider.clock import Clock
from tests.provider.embeddings import SIZES
from tests.provider.models import ANTHROPIC, OPENAI, Model, OpenAiModel
from tests.provider.prefix import PrefixInvariant
from tests.provider.prefix_cache import PrefixCache
from tests.provider.record import Ledger, RecordedRequest, Registration, Violation
from tests.provider.rejection import Rejection
from tests.provider.script import Answer, Held, Responder, ScriptItem, resolve
from tests.provider.seal import Seal

if TYPE_CHECKING:
    from tests.provider.diagnostics import Fingerprint
    from tests.provider.gate import Gate


@dataclass(slots=True)
class _Expected:
    rule: str
    times: int


class Provider:
    """One fresh provider: its own script, cache, clock and record.

    `window` and `cache_minimum` replace the model table's numbers by model id; an id that only
    stands in `window` becomes a known OpenAI-compatible model.
    """

    def __init__(
        self,
        *,
        window: Mapping[str, int] | None = None,
        cache_minimum: Mapping[str, int] | None = None,
    ) -> None:
        self.base_url = ""
        self.window = dict(window or {})
        self.cache_minimum = dict(cache_minimum or {})
        # Dimensions by embedding model; a test may change them.
        self.embedding_sizes = dict(SIZES)
        self.clock = Clock()
        self.cache = PromptCache(self.clock)
        self.prefix_cache = PrefixCache(self.clock)
        self.seal = Seal()
        self.batches = Desk()
        self.fingerprints: dict[str, Fingerprint] = {}
        self.responses: dict[str, list[Json]] = {}
        self.violations: list[Violation] = []
        self._ledger = Ledger()
        self._script: deque[ScriptItem] = deque()
        self._fallback: Responder | None = None
        self._registered: list[Registration] = []
        self._expected: list[_Expected] = []
        self._numbers: Counter[str] = Counter()
        self._gates: list[Gate] = []

    # --- for tests ---

    @property
    def anthropic_url(self) -> str:
        """`base_url` for the anthropic SDK."""
        return self.base_url

    @property
    def openai_url(self) -> str:
        """`base_url` for the openai SDK."""
        return f"{self.base_url}/v1"

    @property
    def requests(self) -> list[RecordedRequest]:
        return self._ledger.requests

    @property
    def unanswered(self) -> int:
        """Scripted answers nobody has asked for yet."""
        return len(self._script)

    def script(self, *items: ScriptItem) -> None:
        """Queue answers; each request that would reach the model takes the next one."""
        for item in items:
            if isinstance(item, Held):
                self._gates.append(item.gate)
            self._script.append(item)

    def respond(self, responder: Responder) -> None:
        """Answer with this function whenever the queue is empty, instead of the echo."""
        self._fallback = responder

    def end_batches(self, *, expired: tuple[int, ...] = ()) -> None:
        """Answer the requests of all batches; those at these places of a batch expire."""
        self.batches.end(self, expired=expired)

    def expect_break(self, reason: str, *, within: int = 1) -> None:
        """The next request changes its prefix, or one of the next `within`."""
        self._registered.append(Registration("break", reason, len(self.requests), within))

    def expect_conversation(self, reason: str, *, within: int = 1) -> None:
        """The next request starts a conversation of its own, or one of the next `within`."""
        self._registered.append(Registration("conversation", reason, len(self.requests), within))

    def expect_violation(self, rule: str, times: int = 1) -> None:
        """The test means to break this rule, so many times."""
        self._expected.append(_Expected(rule, times))

    def problems(self) -> list[str]:
        """Everything a test must answer for: violations, broken prefixes, broken promises."""
        left = Counter[str]()
        for expected in self._expected:
            left[expected.rule] += expected.times
        found: list[str] = []
        for violation in self.violations:
            left[violation.rule] -= 1
            if left[violation.rule] < 0:
                found.append(str(violation))
        found += [
            f"expected {count} more violation(s) of [{rule}], none came"
            for rule, count in left.items()
            if count > 0
        ]
        return found + PrefixInvariant(self.requests, self._registered).failures()

    def verify(self) -> None:
        """Raise AssertionError with every problem."""
        found = self.problems()
        if found:
            raise AssertionError("\n".join(found))

    def close(self) -> None:
        """Open every gate, so that no response of this provider waits any longer."""
        for gate in (*self._gates, *self.batches.gates.values()):
            gate.release()

    # --- for the server ---

    def number(self, kind: str) -> str:
        self._numbers[kind] += 1
        return f"{kind}_{self._numbers[kind]:04d}"

    def receive(self, request: RecordedRequest) -> RecordedRequest:
        """Record an arriving request."""
        return self._ledger.open(replace(request, index=len(self.requests)))

    def finish(
        self, request: RecordedRequest, status: int, usage: Json | None, reply: Json | None
    ) -> None:
        self._ledger.close(request.index, status, usage, reply)

    def refuse(self, request: RecordedRequest, rejection: Rejection) -> None:
        self.violations.append(Violation(rejection.rule, rejection.message, request.index))
        self._ledger.close(request.index, rejection.status)

    def next_answer(self, request: RecordedRequest, echo: ScriptItem) -> Answer:
        item: ScriptItem = self._fallback or echo
        if self._script:
            item = self._script.popleft()
        answer = resolve(item, request)
        if isinstance(answer, Held):
            self._gates.append(answer.gate)
        return answer

    def anthropic_model(self, name: str) -> Model:
        model = ANTHROPIC.get(name)
        if model is None:
            raise Rejection("model", f"model: {name}", status=404)
        return replace(
            model,
            window=self.window.get(name, model.window),
            cache_minimum=self.cache_minimum.get(name, model.cache_minimum),
        )

    def openai_model(self, name: str) -> OpenAiModel:
        if name in self.window and name not in ANTHROPIC:
            return OpenAiModel(name, self.window[name])
        if name not in OPENAI:
            raise Rejection(
                "model",
                f"The model `{name}` does not exist or you do not have access to it.",
                status=404,
                code="model_not_found",
            )
        return OPENAI[name]
