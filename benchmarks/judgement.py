"""Does memory keep every true fact? Pairs of facts, and stories, through `remember` and through learning.

`judgement/` holds pairs that people wrote without looking at the judge: siblings and overlaps must
both stand, duplicates must not be saved twice, another value of the same thing must be noticed. Each
pair gets a memory of its own: the old text is remembered (or learnt from a message), then the new.

    python benchmarks/judgement.py [--errors] [FILE …]

A sibling is lost when it is refused or when it retires the other. An update is noticed when the old
memory is retired by the words, or is named as holding another value (in learning: is asked about in
the inbox). A duplicate is noticed when it is not saved, because the old memory says so, or when it is
saved and the old memory is named as seeming to say the same (in learning: is asked about in the
inbox); `refused` counts those that were not saved. For the kinds that must stand, `noticed` counts
what was told for nothing. `told` counts both readings: told to be the same or another value, whichever
it is. `named` counts those where the old memory is mentioned at all.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report import publish

from reverie import Memory, Remembered
from reverie.core.messages import Text, new_message
from reverie.learning.service import learn
from reverie.workspace import Workspace
from reverie.workspace.changes import waiting

DATA = Path(__file__).with_name("judgement")
STAND = ("sibling", "sibling_cue", "overlap", "extends", "unrelated")
# What a person is told about the old memory, by what the pair is.
TOLD = {"update": "update", "update_cue": "update", "duplicate": "restates"}
SETTINGS = {"recall.embedder": "none"}


@dataclass(frozen=True, slots=True)
class Result:
    """What became of the second text."""

    saved: bool
    retired: bool = False
    # What the old memory was told to be: "duplicate", "restates", "update".
    told: str = ""
    named: bool = False
    # The first text was not taken for a memory at all.
    unheard: bool = False


def by_remember(folder: Path, old: str, new: str) -> Result:
    """Both told by `remember`, as a program or a person on the command line would."""
    with Memory.open(folder, home=folder / "home", settings=SETTINGS) as memory:
        first = memory.remember(old)
        if not isinstance(first, Remembered):
            return Result(saved=False, unheard=True)
        second = memory.remember(new)
        file = first.topic.file
        if not isinstance(second, Remembered):
            named = second.existing == file
            return Result(saved=False, told="duplicate" if named else "", named=named)
        retired = second.superseded == file
        near = {one.file: one.likeness for one in second.related}
        told = "update" if retired else near.get(file, "")
        return Result(saved=True, retired=retired, told=told, named=file in near or retired)


def by_learning(folder: Path, old: str, new: str) -> Result:
    """Both said in messages, learnt by rules when a turn ends."""
    app = Workspace.open(folder, home=folder / "home", overrides=("recall.embedder=none",))
    if not _learnt(app, old):
        return Result(saved=False, unheard=True)
    # Two sentences may be two memories.
    files = {entry.file for entry in app.memory().topics.entries()}
    saved = _learnt(app, new)
    now = [app.memory().topics.read(file) for file in files]
    retired = any(one is None or one.topic.superseded_by is not None for one in now)
    asked = [item.proposal for item in waiting(app) if item.proposal.file in files]
    told = "update" if retired else _told_by(asked[0].reason) if asked else ""
    if not saved and not waiting(app):
        told = "duplicate"
    return Result(saved, retired, told, bool(told))


def _told_by(reason: str) -> str:
    return "restates" if "say the same" in reason else "update"


def _learnt(app: Workspace, text: str) -> bool:
    message = new_message("user", Text(f"Please remember: {text}"), at=app.clock.now())
    return bool(learn(app, "s1", [message]).saved)


Way = Callable[[Path, str, str], Result]
WAYS: dict[str, Way] = {"remember": by_remember, "learning": by_learning}


def pairs(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def judged(file: Path, way: Way) -> Iterator[tuple[dict[str, Any], Result]]:
    with tempfile.TemporaryDirectory() as folder:
        for number, pair in enumerate(pairs(file)):
            place = Path(folder) / str(number)
            place.mkdir()
            yield pair, way(place, pair["old"], pair["new"])


def lost(kind: str, result: Result) -> bool:
    """Whether a true fact went away, or what should be noticed was not."""
    if kind in STAND:
        return not result.saved or result.retired
    return not noticed(kind, result)


def noticed(kind: str, result: Result) -> bool:
    """Whether the person is told what the pair is; for kinds that must stand, told for nothing."""
    if kind in STAND:
        return result.told in ("duplicate", "restates", "update")
    return result.told == TOLD[kind] or (kind == "duplicate" and result.told == "duplicate")


def rows_of(file: Path, name: str, way: Way, errors: bool) -> Iterator[list[Any]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for pair, result in judged(file, way):
        count = found[pair["kind"]]
        if result.unheard:
            count["unheard"] += 1
            continue
        count["pairs"] += 1
        count["wrong"] += lost(pair["kind"], result)
        count["refused"] += not result.saved
        count["retired"] += result.retired
        count["noticed"] += noticed(pair["kind"], result)
        count["told"] += result.told in ("duplicate", "restates", "update")
        count["named"] += result.named
        if errors and lost(pair["kind"], result):
            print(f"[{name} {pair['lang']} {pair['kind']}] {pair['old']!r} / {pair['new']!r}")
    for kind, count in sorted(found.items()):
        share = 1 - count["wrong"] / max(1, count["pairs"])
        columns = ("pairs", "refused", "retired", "noticed", "told", "named", "unheard")
        yield [file.stem, name, kind, *(count[column] for column in columns), f"{share:.1%}"]


def story_row(file: Path) -> list[Any]:
    """Facts told one after the other into one memory: what is current at the end."""
    told = kept = over = retired = 0
    with tempfile.TemporaryDirectory() as folder:
        for number, story in enumerate(pairs(file)):
            place = Path(folder) / str(number)
            place.mkdir()
            with Memory.open(place, home=place / "home", settings=SETTINGS) as memory:
                files = _told(memory, story)
                listed = {entry.file for entry in memory if entry.listed}
            told += len(story["kept"])
            kept += sum(files.get(turn) in listed for turn in story["kept"])
            over += len(story["retired"])
            retired += sum(files.get(old) not in listed for old, _ in story["retired"])
    return [
        file.stem,
        "remember",
        "stories",
        told,
        told - kept,
        retired,
        over,
        "",
        "",
        "",
        f"{kept / told:.1%}",
    ]


def _told(memory: Memory, story: dict[str, Any]) -> dict[int, str]:
    wanted = {*story["kept"], *(turn for pair in story["retired"] for turn in pair)}
    files: dict[int, str] = {}
    for turn in sorted(wanted):
        outcome = memory.remember(story["turns"][turn])
        if isinstance(outcome, Remembered):
            files[turn] = outcome.topic.file
        elif outcome.existing:
            files[turn] = outcome.existing
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="pairs as JSON lines (default: all)")
    parser.add_argument("--errors", action="store_true", help="print every pair that went wrong")
    given = parser.parse_args()
    files = given.files or sorted(DATA.glob("pairs_*.jsonl"))
    rows = [
        row
        for file in files
        for name, way in WAYS.items()
        for row in rows_of(file, name, way, given.errors)
    ]
    if not given.files:
        rows.append(story_row(DATA / "conversations.jsonl"))
    columns = [
        "set",
        "way",
        "kind",
        "pairs",
        "refused",
        "retired",
        "noticed",
        "told",
        "named",
        "unheard",
        "right",
    ]
    publish("judgement", columns, rows)


if __name__ == "__main__":
    main()
