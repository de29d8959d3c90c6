"""Questions put to stores of notes, as figures: what `calibrate_recall.py` learns from.

Stores are the projects of each set of `recall_notes.py`: by themselves, together, and among projects of
other sets up to some hundreds of memories. The kind of a
prompt and the map of its vector are those learnt without the prompt's own set, or they would be trusted
too much.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np
import prompt_kinds
import recall_notes
from prompt_kinds import Labelled

from reverie.ports import Embedder
from reverie.recall import queries
from reverie.recall.documents import MemoryDoc
from reverie.recall.prompt_kind import PromptKind, kind_of, limited
from reverie.recall.question_map import QuestionMap
from reverie.recall.relevance import Figures, Wanted, marks
from reverie.recall.vectors import encoded
from reverie.text.words import said_once

if TYPE_CHECKING:
    from numpy.typing import NDArray

NAMES = tuple(field.name for field in fields(Figures))
STORES = ("each", "together", "among others")
# How many memories a store has at least where projects of other sets are put beside those of one.
LARGE = 400


@dataclass(frozen=True, slots=True)
class Example:
    """A part of a prompt put to a store: the figures of its memories, and which of them are right."""

    set: str
    # The projects of the store, and how it came about: one of `STORES`.
    projects: tuple[str, ...]
    store: str
    kind: str
    prompt: str
    figures: NDArray[np.float64]
    right: NDArray[np.float64]


_KNOWN: dict[tuple[object, ...], NDArray[np.float64]] = {}


class Store:
    """Memories compared with questions, as the index compares them."""

    def __init__(
        self, docs: Sequence[MemoryDoc], embedder: Embedder | None, aims: QuestionMap | None
    ) -> None:
        self._aims = aims
        self.files = [doc.file for doc in docs]
        texts = [said_once((doc.name, doc.description, doc.body)) for doc in docs]
        self._marks = [marks(doc.name, doc.description, doc.body) for doc in docs]
        self._rows = Counter(
            term for kept in self._marks for term in {*kept.terms.split(), *kept.groups.split()}
        )
        self._embedder = embedder
        self._vectors = None if embedder is None else encoded(embedder, texts, "passage")

    def compared(self, text: str, kind: PromptKind | None, topic: float) -> NDArray[np.float64]:
        cosines = np.zeros(len(self._marks))
        margins = cosines
        if self._embedder is not None and self._vectors is not None:
            vector = encoded(self._embedder, [text], "question")[0]
            cosines = self._vectors @ vector
            # Margins are for models without a map.
            margins = (cosines - cosines.mean()) / max(float(cosines.std()), 0.02)
            if self._aims is not None:
                aim = self._aims.aimed(vector)
                cosines = self._vectors @ np.asarray(aim.vector) - aim.common
        figures = self._by_words(text, kind, topic).copy()
        figures[:, NAMES.index("cosine")] = cosines
        figures[:, NAMES.index("margin")] = margins
        figures[:, NAMES.index("topic")] *= abs(topic)
        return figures

    def _by_words(self, text: str, kind: PromptKind | None, topic: float) -> NDArray[np.float64]:
        """What does not depend on the model; kept, because it takes longest."""
        sign = math.copysign(1.0, topic)
        key = (tuple(self.files), text, kind, sign)
        if key not in _KNOWN:
            wanted = Wanted(text, len(self._marks), self._rows.__getitem__, kind, sign)
            compared = [astuple(wanted.compared(kept)) for kept in self._marks]
            _KNOWN[key] = np.array(compared)
        return _KNOWN[key]


class Kinds:
    """The kind of each prompt, as it is known from the sets that it is not of."""

    def __init__(
        self,
        crossed: Mapping[str, float],
        prompts: Sequence[Labelled],
        embedder: Embedder | None,
    ) -> None:
        self._crossed = crossed
        self._embedder = embedder
        self.direction: tuple[float, ...] = ()
        self._topics: Mapping[str, float] = {}
        if embedder is not None:
            self._topics = prompt_kinds.without_own_set(prompts, self._learnt)
            found = prompt_kinds.direction_learnt(prompts, embedder, crossed)
            self.direction = tuple(round(float(value), 2) for value in found)

    def of(self, text: str) -> tuple[PromptKind, float]:
        kind = kind_of(text)
        # The kind of a few words without a verb is not asked for.
        if text in self._crossed and kind.own_work:
            kind = PromptKind(kind.asks, limited(self._crossed[text]))
        topic = self._topics[text] if text in self._topics else self._along(self.direction, text)
        return kind, limited(topic)

    def _learnt(self, prompts: Sequence[Labelled]) -> Callable[[str], float]:
        assert self._embedder is not None
        found = prompt_kinds.direction_learnt(prompts, self._embedder, self._crossed)
        return lambda text: self._along(found, text)

    def _along(self, direction: Sequence[float] | NDArray[np.float64], text: str) -> float:
        if self._embedder is None:
            return 0.0
        return float(encoded(self._embedder, [text], "question")[0] @ np.asarray(direction))


def from_notes(
    embedder: Embedder | None, kinds: Kinds, maps: Mapping[str, QuestionMap]
) -> Iterator[Example]:
    """`maps` holds, for each set, the map that was learnt without it."""
    known = recall_notes.memories()
    for half in recall_notes.HALVES:
        for name, projects in _stores(half, known):
            docs = [doc for project in projects for doc in known[project]]
            shelf = Store(docs, embedder, maps.get(half))
            for one in recall_notes.questions(half):
                if one.kind == recall_notes.UNRELATED or one.project in projects:
                    for text, figures, right in _compared(one, shelf, kinds):
                        yield Example(half, projects, name, one.kind, text, figures, right)


def _stores(
    half: str, known: Mapping[str, Sequence[MemoryDoc]]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    own = recall_notes.HALVES[half]
    yield from (("each", (project,)) for project in own)
    if len(own) > 1:
        yield "together", own
    others = [
        project for of in recall_notes.HALVES.values() for project in of if project not in own
    ]
    # The same others every time.
    random.Random(half).shuffle(others)
    store = list(own)
    while sum(len(known[project]) for project in store) < LARGE:
        store.append(others.pop(0))
    yield "among others", tuple(store)


def _compared(
    asked: recall_notes.Asked, shelf: Store, kinds: Kinds
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    right = np.array([file in asked.answers for file in shelf.files], float)
    follows = bool(asked.before) and queries.follow_up(asked.text)
    text = f"{asked.before} {asked.text}" if follows else asked.text
    parts, named = queries.parts(text), queries.names(text)
    kind, topic = kinds.of(text)
    for part in parts:
        figures = shelf.compared(part, None if part in named and len(parts) > 1 else kind, topic)
        yield text, figures, right
