"""The results of recall and search as lines, with marks for outdated memories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from reverie.cli.formatting import counted, printable, when
from reverie.errors import InputError

if TYPE_CHECKING:
    from rich.text import Text

    from reverie.memory.format.topic import Topic
    from reverie.memory.opening import OpenMemory
    from reverie.recall.documents import Hit, Results
    from reverie.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Shown:
    """A hit with its marks; without --all only `good` ones are shown."""

    hit: Hit
    good: bool
    id: str = ""
    replaced_by: str = ""
    archived: bool = False
    # `expired 2026-11-01`, or `from 2027-01-01`.
    term: str = ""

    @property
    def mark(self) -> str:
        if self.replaced_by:
            return f"(replaced by {self.replaced_by})"
        if self.archived:
            return "(archived)"
        standing = self.term or self.hit.label
        return f"({standing})" if standing else ""

    def as_json(self) -> dict[str, Any]:
        return {
            "shown": self.good,
            "replaced_by": self.replaced_by or None,
            "archived": self.archived,
            "term": self.term or None,
        }


# So few words are looked up, not asked.
_FEW_WORDS = 2


def read_hits(
    app: Workspace, found: Results, question: str, as_of: datetime | None = None
) -> list[Shown]:
    """Every hit with its marks, from memory as it is now or was at `as_of`."""
    from reverie.workspace.handles import ids_of

    good = _judge(question)
    ids = ids_of(app)
    memory = app.memory()
    now = as_of or datetime.fromtimestamp(app.clock.now(), UTC)
    return [
        Shown(hit, good(hit), ids.get(hit.key, ""), **_marks(memory, hit, as_of, now))
        for hit in found.hits
    ]


def _judge(question: str) -> Callable[[Hit], bool]:
    """A test for good matches; with filters or phrases every hit is good, and for a few keywords
    every hit that has one."""
    from reverie.recall.fuse import GOOD_MATCH
    from reverie.recall.lexical import parse

    query = parse(question)
    narrowed = query.filtered or bool(query.phrases)
    keywords = "?" not in question and len(question.split()) <= _FEW_WORDS

    def good(hit: Hit) -> bool:
        named = keywords and hit.signals.get("lexical", 0.0) > 0
        return narrowed or named or hit.score >= GOOD_MATCH

    return good


def _marks(memory: OpenMemory, hit: Hit, as_of: datetime | None, now: datetime) -> dict[str, Any]:
    """The marks of a memory: its replacement's label, whether it is archived, and its term."""
    from reverie.memory.format.age import term

    found = memory.part(hit.key) if hit.collection == "memories" else None
    topic = None if found is None else _topic(*found, as_of)
    if found is None or topic is None:
        return {}
    newer = topic.superseded_by
    return {
        "replaced_by": found[0].label(newer) if newer else "",
        "archived": topic.archived is not None,
        "term": term(topic.valid_from, topic.valid_until, now),
    }


def _topic(memory: OpenMemory, file: str, as_of: datetime | None) -> Topic | None:
    """A memory as it is now, or as it was at `as_of`."""
    from reverie.memory.format import topic

    if as_of is None:
        with suppress(InputError):
            stored = memory.store.read(file)
            return None if stored is None else stored.topic
        return None
    revision = memory.history.as_of(as_of)
    data = None if revision is None else memory.history.read(file, revision.id)
    return None if data is None else topic.parse(data, file)


def hit_lines(one: Shown, *, explain: bool = False) -> list[Text]:
    """A hit as lines: its score, place and marks, then the snippet."""
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
    """The good hits, best first, and how many weak ones `command --all` would add."""
    from rich.text import Text

    wanted = [one for one in shown if one.good or everything]
    lines = [line for one in wanted for line in hit_lines(one, explain=explain)]
    lines = lines or [Text("Nothing found.")]
    if weak := len(shown) - len(wanted):
        matches = counted(weak, "weak match is", "weak matches are")
        lines.append(Text(f"{matches} not shown: {command} --all", "dim"))
    return lines
