"""What the reader learns from (`fit_reader.py`): pairs, groups, and notes about something else.

`judgement/groups/` holds one fact in four wordings, another value of it in three, what says that it
changed, what says more, and what is true beside both. Of each group some pairs of every kind are drawn.
Only pairs that the odds leave open are read, so most of the rest is left out.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from fit_odds import (
    MINIMAL,
    READING_OF,
    name_of,
    project_pairs,
    readings_of,
    short_pairs,
    strange_pairs,
    words_for,
)
from judgement import DATA, pairs

from reverie.memory.format.manifest import Candidates
from reverie.text.likeness import signs_between
from reverie.text.odds import odds, standardised
from reverie.text.reader import LEAST

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = DATA / "groups"
# The author whose groups are not learnt.
LEFT_OUT = "groups_5"
SETS = [*sorted(DATA.glob("pairs_*.jsonl")), *sorted((DATA / "reworded").glob("*.jsonl"))]
# Pairs that the odds call different are rarely learnt, and a pair's other readings seldom.
CLEAR, KEPT_CLEAR, KEPT_TURNED, KEPT_STRANGE = 0.95, 0.1, 0.15, 0.4
WEIGHTS = {"group": 1.0, "pair": 1.6, "strange": 1.2, "minimal": 3.0}
SEED = 1


@dataclass(frozen=True, slots=True)
class Example:
    new: str
    old: str
    reading: int
    source: str
    signs: Sequence[float]
    before: Sequence[float]


def example(new: str, old: str, kind: str, source: str) -> Example:
    signs = signs_between(new, old)
    before = np.log(np.array(astuple(odds(signs))) + LEAST)
    return Example(new, old, READING_OF.get(kind, 3), source, standardised(signs), before.tolist())


def pairs_of(group: dict[str, Any], chance: random.Random) -> Iterator[tuple[str, str, str]]:
    """Some pairs of each kind: (kind, new, old)."""

    def some(found: Sequence[Any], most: int) -> Sequence[Any]:
        return chance.sample(found, min(most, len(found)))

    one, other, apart = group["a"], group["b"], group["apart"]
    for old, new in some([(a, b) for a in one for b in other], 6):
        yield ("update", new, old) if chance.random() < 0.7 else ("update", old, new)
    for pair in some([*combinations(one, 2), *combinations(other, 2)], 6):
        yield ("duplicate", *chance.sample(pair, 2))
    for old, new in some([(a, cue) for a in one for cue in group["cue"]], 4):
        yield "update_cue", new, old
    for more in group["more"]:
        for old in some(one, 2):
            yield "extends", more, old
        yield "duplicate", chance.choice(one), more
    for pair in some([(text, told) for text in apart for told in (*one, *other)], 10):
        yield ("sibling", *chance.sample(pair, 2))
    for old, new in some([(text, cue) for text in apart for cue in group["cue"]], 3):
        yield "sibling_cue", new, old
    for pair in some(list(combinations(apart, 2)), 2):
        yield ("overlap", *pair)


def groups_of(file: Path) -> Iterator[Example]:
    chance = random.Random(file.stem)
    groups = list(pairs(file))
    told = [
        (str(at), text)
        for at, one in enumerate(groups)
        for text in (*one["a"][:2], *one["apart"][:2])
    ]
    near = Candidates(told)
    for at, group in enumerate(groups):
        for kind, new, old in pairs_of(group, chance):
            yield example(new, old, kind, "group")
        for texts in (group["a"], group["b"], group["cue"], group["cue"]):
            new = chance.choice(texts)
            for other, old in near.find(new, 4):
                if int(other) != at:
                    yield example(new, old, "unrelated", "strange")


def learnt() -> list[Example]:
    """All that is learnt, with what the odds leave open kept and most of the rest left out."""
    chance = random.Random(SEED)
    found: list[Example] = []
    for file in SETS:
        with words_for(name_of(file)):
            for pair in pairs(file):
                first, *others = readings_of(pair)
                found.append(example(*first, pair["kind"], "pair"))
                found += [
                    example(*one, pair["kind"], "pair")
                    for one in others
                    if chance.random() < KEPT_TURNED
                ]
            found += _strange(strange_pairs(file, SETS), chance)
    for file in sorted(GROUPS.glob("*.jsonl")):
        found += groups_of(file) if file.stem != LEFT_OUT else ()
    for listed in (project_pairs(), short_pairs()):
        found += _strange(listed, chance)
    found = [one for one in found if np.exp(one.before[3]) < CLEAR or chance.random() < KEPT_CLEAR]
    for pair in pairs(MINIMAL):
        found += [example(*one, pair["kind"], "minimal") for one in readings_of(pair)]
    return found


def _strange(listed: Iterator[tuple[str, str]], chance: random.Random) -> Iterator[Example]:
    for new, old in listed:
        if chance.random() < KEPT_STRANGE:
            yield example(new, old, "unrelated", "strange")
