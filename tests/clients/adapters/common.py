"""Shared by the tests of all adapters: a memory to recall, a long result, a listener, a small window."""

from collections.abc import Callable
from typing import Any

from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import Content, ScriptItem

from reverie import Memory
from reverie.events import Event, ForkStarted, LayerFired
from reverie.workspace import Workspace

FACT = "The staging database runs on port 6543"
QUESTION = "On which port does the staging database run?"
LONG = "".join(f"{hour:05}: clouds, wind from the west\n" for hour in range(4_000))
ASKED = "How is the weather in city number {}?"

OFF = {
    "features.microcompact_server": False,
    "features.microcompact_batch": False,
    "features.session_notes": False,
    "features.compact_by_price": False,
}

SUMMARY = "<summary>\n" + "\n".join(
    f"## {i}. {title}\nAbout the weather of many cities."
    for i, title in ((1, "Primary request and intent"), (3, "Files and code"), (8, "Current work"))
)


class Listener:
    """Collects events; expected cache breaks are registered with the provider."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self.received: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.received.append(event)
        if isinstance(event, ForkStarted):
            # Reverie renders the same conversation differently: another prefix on the wire.
            self.provider.expect_conversation(event.purpose)
        if isinstance(event, LayerFired) and event.layer != "tool results":
            self.provider.expect_break(event.layer)

    def events(self, kind: type) -> list[Any]:
        return [event for event in self.received if isinstance(event, kind)]


def settings(provider: Provider, **more: Any) -> dict[str, Any]:
    return {
        "providers.anthropic.base_url": provider.anthropic_url,
        "providers.openai.base_url": provider.openai_url,
        **more,
    }


def memory(place: Place, provider: Provider, *facts: str, **more: Any) -> Memory:
    opened = Memory.open(place.root, settings=settings(provider, **more), clock=place.clock)
    for fact in facts:
        opened.remember(fact, type="project")
    return opened


def stored(place: Place) -> list[str]:
    """The texts of all long results that were put into files."""
    sessions = Workspace.open(place.root).project.sessions
    return [path.read_text() for path in sessions.glob("*/tool-results/*")]


def meteorologist(*call: Content) -> Callable[[RecordedRequest], ScriptItem]:
    """Calls the tool for every question, and writes a summary when it is asked for one."""

    def answer(request: RecordedRequest) -> ScriptItem:
        body = request.json
        last = (body.get("messages") or body.get("input"))[-1]
        if "<side-task>" in str(last):
            return SUMMARY
        asked = "city number" in str(last) and "west" not in str(last)
        return list(call) if asked else "Clouds."

    return answer


def bodies(provider: Provider) -> list[Any]:
    return [request.json for request in provider.requests]
