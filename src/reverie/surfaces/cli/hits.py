"""What recall and search found, as a person reads it: each text once, marked when it is over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from reverie.errors import InputError
from reverie.surfaces.cli.figures import counted, printable, when

if TYPE_CHECKING:
    from rich.text import Text

    from reverie.app import App
    from reverie.memory.topic import Topic
    from reverie.recall.documents import Hit, Results


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit with what a reader must know about it; `good` ones are shown unasked."""

    hit: Hit
    good: bool
    id: str = ""
    replaced_by: str = ""
    ended: str = ""
    archived: bool = False

    @property
    def mark(self) -> str:
        if self.replaced_by:
            return f"(replaced by {self.replaced_by})"
        if self.archived:
            return "(archived)"
        return f"(expired {self.ended[:10]})" if self.ended else ""

    def as_json(self) -> dict[str, Any]:
        return {
            "shown": self.good,
            "replaced_by": self.replaced_by or None,
            "expired": self.ended or None,
            "archived": self.archived,
        }


def read_hits(
    app: App, found: Results, question: str, as_of: datetime | None = None
) -> list[Shown]:
    """Every hit with its marks, as memory is or was."""
    from reverie.app.handles import ids_of

    good = _judge(question)
    ids = ids_of(app)
    now = as_of or datetime.fromtimestamp(app.clock.now(), UTC)
    shown = []
    for hit in found.hits:
        topic = _topic(app, hit, as_of)
        marks = {} if topic is None else _marks(topic, now)
        shown.append(Shown(hit, good(hit), ids.get(hit.key, ""), **marks))
    return shown


def _judge(question: str) -> Callable[[Hit], bool]:
    """Whether a hit is worth showing; who narrows a question down decides that themselves."""
    from reverie.recall.fuse import GOOD_MATCH
    from reverie.recall.queries import parse

    query = parse(question)
    narrowed = query.filtered or bool(query.phrases)
    return lambda hit: narrowed or hit.score >= GOOD_MATCH


def _topic(app: App, hit: Hit, as_of: datetime | None) -> Topic | None:
    from reverie.memory import topic

    if hit.collection != "memories":
        return None
    try:
        memory, file = app.memory_of(hit.key)
        if as_of is None:
            stored = memory.store.read(file)
            return None if stored is None else stored.topic
    except InputError:
        return None
    revision = memory.history.as_of(as_of)
    data = None if revision is None else memory.history.read(file, revision.id)
    return None if data is None else topic.parse(data, file)


def _marks(memory: Topic, now: datetime) -> dict[str, Any]:
    from reverie.memory.age import has_ended

    ended = memory.valid_until if has_ended(memory.valid_until, now) else ""
    return {
        "replaced_by": memory.superseded_by or "",
        "ended": ended or "",
        "archived": memory.archived is not None,
    }


def hit_lines(one: Shown, *, explain: bool = False) -> list[Text]:
    """Where it was found and what it says."""
    from rich.text import Text

    hit = one.hit
    episode = hit.collection == "episodes"
    place = f"session {hit.session} · {hit.role}" if episode else hit.key
    head = Text(f"{hit.score:5.2f}  ", "dim") + Text(printable(place), "bold")
    about = [one.id, when(hit.at or 0) if episode else "", one.mark]
    about += [] if one.good else ["(a weak match)"]
    head += Text(printable("".join(f"  {word}" for word in about if word)), "dim")
    lines = [head, Text(f"       {printable(hit.snippet)}")]
    if explain:
        signals = ", ".join(f"{name} {value:+.2f}" for name, value in hit.signals.items())
        lines.append(Text(printable(f"       {hit.why} ({signals})"), "dim"))
    return lines


def listing(
    shown: Sequence[Shown], command: str, *, everything: bool, explain: bool = False
) -> list[Text]:
    """The good ones, best first; how many others there are is said, and which command shows them."""
    from rich.text import Text

    wanted = [one for one in shown if one.good or everything]
    lines = [line for one in wanted for line in hit_lines(one, explain=explain)]
    lines = lines or [Text("Nothing found.")]
    if weak := len(shown) - len(wanted):
        matches = counted(weak, "weak match is", "weak matches are")
        lines.append(Text(f"{matches} not shown: {command} --all", "dim"))
    return lines
