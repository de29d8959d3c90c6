"""Short project memories asked about in other words: is the right one found, and is it shown?

1,797 memories of forty-nine invented projects and more than 2,800 questions. Weights are learnt from all
sets (`calibrate_recall.py`, which also tells what each shows when it is left out), so that these figures
say little about strangers: `docs/benchmarks.md` has what each set showed when it was first put to
recall. The sets from "stranger" on are by other authors. Every project is asked as a store of its own; "together" puts those of a set into one store; "all" puts all
memories into one and counts what is among the 200 that a selector model is shown. Unrelated prompts
are put to every store. "told" are tasks and remarks, which ask nothing.
"docs" are headings and summaries of the documentation of installed packages (`docs_pairs.py`), put to the
paragraphs below them; those of the next package are the unrelated ones.

    python benchmarks/recall_notes.py [--only WORD] [--half dev] [--show KIND]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import docs_pairs
from recall_methods import Cached
from report import RESULTS, publish
from tradeoff_plot import Curve, plot_tradeoff

from reverie.memory.changes.draft import draft
from reverie.models.embeddings.local import Missing, default_embedder, onnx_embedder
from reverie.ports import Embedder
from reverie.recall import queries
from reverie.recall.documents import MemoryDoc
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex
from reverie.recall.pipeline import SHORTLIST

FOLDER = Path(__file__).parent / "recall_notes"
HALVES = {
    "dev": ("ferry", "plant", "pipeline", "home", "rust"),
    "held out": ("pay", "boat", "lab", "game", "solo"),
    "fresh": ("bakery",),
    "first sight": ("crumb", "fish"),
    "check": ("clinic", "shop", "law"),
    "final": ("lib", "farm", "press"),
    "last": ("museum", "robot"),
    "stranger": ("kettles", "tidepool", "wetland", "family"),
    "newcomer": ("hosp", "cli", "arcade", "bnb"),
    "visitor": ("civic", "payfin", "firmware", "choir"),
    "guest": ("tide", "moss", "labo", "quil"),
    "outsider": ("parc", "bike", "film", "peat"),
    "traveller": ("fery", "chor", "reno", "bryo"),
    "neighbour": ("velmo", "grid", "kiln", "teas"),
}
# Sets kept back: nothing is learnt from them.
UNLEARNT = {
    "settler": ("kel", "mil", "cho", "lin"),
    "lodger": ("kes", "lum", "koor", "vet"),
    "tenant": ("tovi", "brel", "quam", "nusp"),
}
PROJECTS = HALVES | UNLEARNT
SHOWN = 5
NOW = 1_790_000_000.0
KINDS = ("shared words", "other words", "told", "other language", "long prompt", "follow-up")
UNRELATED = "unrelated"
DOCS = "docs"
DRAWN = (
    "final",
    "last",
    "stranger",
    "newcomer",
    "visitor",
    "guest",
    "outsider",
    "traveller",
    "neighbour",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, what was said before it, and the memories that answer it."""

    kind: str
    text: str
    project: str = ""
    before: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a store said to a question: memories with their chances, best first."""

    asked: Asked
    hits: tuple[tuple[str, float], ...]

    def found(self, count: int) -> bool:
        return any(key in self.asked.answers for key, _ in self.hits[:count])

    def right(self, threshold: float) -> bool:
        return any(
            key in self.asked.answers and chance >= threshold for key, chance in self.hits[:SHOWN]
        )

    def shown(self, threshold: float) -> int:
        return sum(chance >= threshold for _, chance in self.hits[:SHOWN])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run methods whose name contains this")
    parser.add_argument(
        "--half", choices=[*PROJECTS, DOCS], action="append", help="run on this half"
    )
    parser.add_argument("--show", help="print the questions of this kind that showed nothing right")
    given = parser.parse_args()
    rows: list[list[str | int | float]] = []
    curves: list[Curve] = []
    for name, embedder in methods():
        if given.only and given.only not in name:
            continue
        drawn: list[Answer] = []
        for half in given.half or (*HALVES, DOCS):
            found, plotted = measured(half, embedder, given.show)
            rows += [[name, half, *row] for row in found]
            drawn += plotted
        if drawn:
            curves.append(curve(name, drawn))
        if isinstance(embedder, Cached):
            embedder.save()
    columns = ("method", "half", "store", "kind", "asked", "found@1", "found@5", "right", "any")
    publish("recall_notes", (*columns, "number shown"), rows)
    if curves:
        plot_tradeoff(RESULTS / "recall_notes.svg", curves)


def measured(
    half: str, embedder: Embedder | None, show: str | None
) -> tuple[list[list[str | int | float]], list[Answer]]:
    """The rows of a half, and the answers that are drawn."""
    if half == DOCS:
        return [["each", *row] for row in figures(list(asked_of_docs(embedder)))], []
    rows: list[list[str | int | float]] = []
    drawn: list[Answer] = []
    for store in ("each", "together") if len(PROJECTS[half]) > 1 else ("each",):
        answers = list(answered(half, embedder, together=store == "together"))
        rows += [[store, *row] for row in figures(answers)]
        if half in DRAWN and store == "each":
            drawn += answers
        if show and store == "each":
            report_misses(answers, show)
    return [*rows, ["all", *reached(half, embedder)]], drawn


def methods() -> Iterator[tuple[str, Embedder | None]]:
    yield "words alone", None
    for name, found in (("default", default_embedder()), ("extra", onnx_embedder())):
        if isinstance(found, Missing):
            print(f"not run: {name} (missing: {found.reason})")
        else:
            yield name, Cached(found)


def memories() -> dict[str, list[MemoryDoc]]:
    """Each project's memories, as `reverie remember` would write them."""
    found: dict[str, list[MemoryDoc]] = {}
    files = (FOLDER / "memories.jsonl", FOLDER / "unlearnt" / "memories.jsonl")
    for line in (line for file in files for line in file.read_text().splitlines()):
        row = json.loads(line)
        made = draft(row["text"])
        doc = MemoryDoc(
            file=row["id"],
            signature=(1, 1, 1),
            name=made.name,
            description=made.description,
            body=made.body,
            type=made.type,
            created=NOW - 30 * 86_400,
        )
        found.setdefault(row["project"], []).append(doc)
    return found


def questions(half: str) -> list[Asked]:
    folder = FOLDER / "unlearnt" if half in UNLEARNT else FOLDER
    text = (folder / f"questions_{half.replace(' ', '_')}.jsonl").read_text()
    return [
        Asked(
            row["kind"],
            row["text"],
            row.get("project", ""),
            row.get("before", ""),
            tuple(row["answers"]),
        )
        for row in map(json.loads, text.splitlines())
    ]


def answered(half: str, embedder: Embedder | None, *, together: bool) -> Iterator[Answer]:
    """Every question put to its store, and the unrelated prompts to all of them."""
    known = memories()
    projects = PROJECTS[half]
    stores = [projects] if together else [(project,) for project in projects]
    for store in stores:
        with tempfile.TemporaryDirectory() as folder:
            index = RecallIndex.open(Path(folder) / "recall.db", embedder)
            index.put_many([doc for project in store for doc in known[project]])
            for asked in questions(half):
                if asked.kind == UNRELATED or asked.project in store:
                    yield Answer(asked, ask(index, asked))
            index.close()


def asked_of_docs(embedder: Embedder | None) -> Iterator[Answer]:
    """Headings put to the paragraphs of their package, and those of the next package."""
    known = docs_pairs.pairs()
    packages = list(known)
    for package, other in zip(packages, (*packages[1:], *packages[:1]), strict=True):
        with tempfile.TemporaryDirectory() as folder:
            index = RecallIndex.open(Path(folder) / "recall.db", embedder)
            docs = [
                MemoryDoc(file=str(n), signature=(1, 1, 1), name="", description="", body=answer)
                for n, (_, answer) in enumerate(known[package])
            ]
            index.put_many(docs)
            for n, (question, _) in enumerate(known[package]):
                asked = Asked(DOCS, question, answers=(str(n),))
                yield Answer(asked, ask(index, asked))
            for question, _ in known[other]:
                asked = Asked(UNRELATED, question)
                yield Answer(asked, ask(index, asked))
            index.close()


def reached(half: str, embedder: Embedder | None) -> list[str | int | float]:
    """How many questions have their memory among those a selector model chooses from."""
    with tempfile.TemporaryDirectory() as folder:
        index = RecallIndex.open(Path(folder) / "recall.db", embedder)
        index.put_many([doc for docs in memories().values() for doc in docs])
        while index.embed().left:
            pass
        asked = [asked for asked in questions(half) if asked.kind == "other words"]
        found = [any(key in one.answers for key, _ in ask(index, one, SHORTLIST)) for one in asked]
        index.close()
    return [f"in the best {SHORTLIST}", len(asked), fmean(found), fmean(found), 0.0, 0.0, 0.0]


def ask(index: RecallIndex, asked: Asked, limit: int = SHOWN) -> tuple[tuple[str, float], ...]:
    follows = bool(asked.before) and queries.follow_up(asked.text)
    text = f"{asked.before} {asked.text}" if follows else asked.text
    found = index.search(queries.plain(text), now=NOW, limit=limit)
    return tuple((hit.key, hit.score) for hit in found.hits)


def figures(answers: Sequence[Answer]) -> Iterator[list[str | int | float]]:
    for kind in (*KINDS, DOCS, UNRELATED):
        these = [answer for answer in answers if answer.asked.kind == kind]
        if not these:
            continue
        yield [
            kind,
            len(these),
            *(fmean(answer.found(count) for answer in these) for count in (1, SHOWN)),
            fmean(answer.right(GOOD_MATCH) for answer in these),
            fmean(answer.shown(GOOD_MATCH) > 0 for answer in these),
            fmean(answer.shown(GOOD_MATCH) for answer in these),
        ]


def curve(name: str, answers: Sequence[Answer]) -> Curve:
    """Right ones shown (other words) against unrelated prompts that are shown something."""
    wanted = [answer for answer in answers if answer.asked.kind == "other words"]
    strange = [answer for answer in answers if answer.asked.kind == UNRELATED]

    def point(threshold: float) -> tuple[float, float]:
        wrong = fmean(answer.shown(threshold) > 0 for answer in strange)
        return wrong, fmean(answer.right(threshold) for answer in wanted)

    return Curve(name, tuple(point(step / 100) for step in range(101)), point(GOOD_MATCH))


def report_misses(answers: Sequence[Answer], kind: str) -> None:
    for answer in answers:
        shown = answer.shown(GOOD_MATCH)
        wrong = shown if kind == UNRELATED else not answer.right(GOOD_MATCH)
        if answer.asked.kind == kind and wrong:
            print(f"{answer.asked.text}  {answer.asked.answers} {answer.hits[:3]}")


if __name__ == "__main__":
    main()
