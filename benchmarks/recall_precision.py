"""Beliefs asked about as people do: by other names, with typos, two at once, in another project.

Two invented teams, each with its beliefs (some of which replaced older ones), beliefs of the person
and of a neighbouring project, kept through the library and asked through the recall of a session
without a model. A case passes when everything wanted is shown and nothing that must not be: above
all no superseded value, unless the question is about what was. "held out" was not looked at while
recall was changed.

    python benchmarks/recall_precision.py [--only WORD] [--half dev] [--errors]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from report import publish

import reverie
from reverie.core.messages import Text, new_message
from reverie.models.embeddings.local import Missing, default_embedder, onnx_embedder
from reverie.recall.service import EmbedderChoice, open_ranker, recall_for
from reverie.workspace import Workspace

FOLDER = Path(__file__).parent / "recall_precision"
HALVES = ("dev", "held out", "stranger", "newcomer", "outsider", "traveller", "rower")


@dataclass(frozen=True, slots=True)
class Belief:
    """A fact, where it belongs, and the id of what replaced it."""

    id: str
    text: str
    place: str
    replaced_by: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the beliefs it must be shown and those it must not."""

    kind: str
    question: str
    wanted: frozenset[str]
    unwanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was shown for a case."""

    case: Case
    shown: frozenset[str]

    @property
    def passed(self) -> bool:
        if not self.case.wanted:
            return not self.shown
        return self.case.wanted <= self.shown and not self.shown & self.case.unwanted

    @property
    def stale(self) -> bool:
        """A superseded belief is shown, and not because the question is about the past."""
        return any(id_.endswith("-old") for id_ in self.shown & self.case.unwanted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="run methods whose name contains this")
    parser.add_argument("--half", choices=HALVES, help="run this half alone")
    parser.add_argument("--errors", action="store_true", help="print the cases that fail")
    given = parser.parse_args()
    rows: list[list[str | int | float]] = []
    for name, meaning in methods():
        if given.only and given.only not in name:
            continue
        for half in [given.half] if given.half else HALVES:
            verdicts = asyncio.run(judged(half, meaning))
            rows += [[name, half, *row] for row in figures(verdicts)]
            if given.errors:
                report(verdicts)
    publish("recall_precision", ("method", "half", "kind", "cases", "passed", "stale"), rows)


def methods() -> Iterator[tuple[str, EmbedderChoice]]:
    yield "words alone", EmbedderChoice()
    for name, found in (("default", default_embedder()), ("extra", onnx_embedder())):
        if isinstance(found, Missing):
            print(f"not run: {name} (missing: {found.reason})")
        else:
            yield name, EmbedderChoice(found)


def read(half: str) -> tuple[list[Belief], list[Case]]:
    text = (FOLDER / f"{half.replace(' ', '_')}.txt").read_text()
    before, _, after = text.partition("[cases]\n")
    lines = before.partition("[beliefs]\n")[2].splitlines()
    return [_belief(line) for line in lines], [_case(line) for line in after.splitlines()]


def _belief(line: str) -> Belief:
    place = "own"
    if line.startswith("@"):
        place, _, line = line[1:].partition(" ")
    id_, _, text = line.partition(" ")
    if text.startswith("< "):
        newer, _, text = text[2:].partition(" ")
        return Belief(id_, text, place, newer)
    return Belief(id_, text, place)


def _case(line: str) -> Case:
    kind, question, wanted, unwanted = (part.strip() for part in line.split("|"))
    return Case(kind, question, frozenset(wanted.split()), frozenset(unwanted.split()))


async def judged(half: str, meaning: EmbedderChoice) -> list[Verdict]:
    """Each case in a session of its own."""
    beliefs, cases = read(half)
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder) / "home", Path(folder) / "own"
        known = keep(beliefs, home, project)
        app = Workspace.open(project, home=home)
        memory = app.memory()
        with open_ranker(memory, app.clock, meaning) as ranker:
            for number, case in enumerate(cases):
                recall = recall_for(app, memory, ranker, None, f"case-{number}")
                found = await recall.recollect(new_message("user", Text(case.question)))
                shown = frozenset(known[file] for file in found.files)
                verdicts.append(Verdict(case, shown))
    return verdicts


def keep(beliefs: Sequence[Belief], home: Path, project: Path) -> dict[str, str]:
    """Save the beliefs, older ones first; returns the id of each file that the project recalls."""
    files: dict[str, str] = {}
    saved: dict[str, str] = {}
    for place in ("own", "person", "other"):
        folder = project if place != "other" else project.with_name("other")
        folder.mkdir(exist_ok=True)
        with reverie.Memory.open(folder, home=home) as memory:
            mine = [belief for belief in beliefs if belief.place == place]
            for belief in sorted(mine, key=lambda one: not one.replaced_by):
                older = next((one.id for one in mine if one.replaced_by == belief.id), None)
                outcome = memory.remember(
                    belief.text,
                    supersedes=saved[older] if older else None,
                    even_if_known=True,
                    strict=True,
                    scope="person" if place == "person" else "project",
                )
                assert isinstance(outcome, reverie.Remembered)
                saved[belief.id] = outcome.topic.file
                label = f"person/{outcome.topic.file}" if place == "person" else outcome.topic.file
                if place != "other":
                    files[label] = files[outcome.topic.file] = belief.id
    return files


def figures(verdicts: Sequence[Verdict]) -> Iterator[list[str | int | float]]:
    kinds = dict.fromkeys(verdict.case.kind for verdict in verdicts)
    for kind in (*kinds, "all"):
        these = [v for v in verdicts if kind in (v.case.kind, "all")]
        yield [kind, len(these), fmean(v.passed for v in these), sum(v.stale for v in these)]


def report(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        if not verdict.passed:
            case = verdict.case
            print(f"{case.kind}: {case.question} shown {sorted(verdict.shown)}", end="; ")
            print(f"wanted {sorted(case.wanted)}, not {sorted(case.unwanted)}")


if __name__ == "__main__":
    main()
