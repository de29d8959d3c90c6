"""Fit what the signs of two texts count: `text/forms/odds.json`.

The synonyms and rewrites were collected while looking at sets a to f, so these sets overstate what
the words of strangers have in common: for them, a part of both is left out. The freely worded sets
count more. A pair that reads the same both ways is learnt both ways, and with dates as memory writes
them. `minimal.jsonl` holds pairs that differ in a word or two, so that freely worded sets do not
unlearn them. Each new text is also learnt beside notes of other authors, about something else:
those that share its words, and any. So are the memories of the projects in `recall_notes/`, each beside
those of its project that share most with it: all of them are true at once.

    python benchmarks/fit_odds.py [--write] [--add FILE …]

Each author's sets are judged with the weights fitted on the other authors' sets: the first table
shows what the judge tells then, the second what other thresholds would tell. `--write` fits on all.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cache
from itertools import cycle, permutations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from judgement import DATA, pairs
from numpy.typing import NDArray
from report import publish

from reverie.memory.format.manifest import Candidates
from reverie.text import likeness, odds, reader, weighing, word_classes
from reverie.text import statements as reading
from reverie.text.dates import absolute_dates
from reverie.text.days import ALL_NAMES
from reverie.text.odds import Network, Weights
from reverie.text.signs import share_anything
from reverie.text.word_classes import FOLDER, Forms

READINGS = ("same", "value", "more", "other")
READING_OF = {"duplicate": 0, "update": 1, "update_cue": 1, "extends": 2}
# Sets that were looked at while the lists of words grew, and the share of the lists that is kept.
TUNED = "abcdef"
KEPT = 0.4
# a and b are halves of one set; e is by the author of d.
AUTHOR = {"b": "a", "e": "d"}
TUNED_WEIGHT = 0.7
FREE_WEIGHT = 3.0
FREE_FROM = "f"
# How many notes of other authors a new text lies among, and how many of them are learnt as another
# thing, by kind: words of change are easily taken to speak of any of them.
STRANGERS = 400
STRANGE = {"update": 1, "update_cue": 3, "duplicate": 1, "sibling": 1}
STRANGE_WEIGHT = 0.5
MOST_BY_CHANCE = 1
# Things that have a day or a figure in common are seldom the same: a text is learnt beside so many
# notes that were lent its values.
MOST_LENT = 4
FIGURE = re.compile(r"\d+(?:[.,:]\d+)*")
DAY_NAME = re.compile(
    rf"\b(?:{'|'.join(one for names in ALL_NAMES for one in (*names.weekdays, *names.months))})s?\b",
    re.I,
)
# Memories of projects, each learnt beside so many others of its project.
PROJECTS = Path(__file__).with_name("recall_notes") / "memories.jsonl"
MOST_BESIDE = 3
# What people say first, in few words; no two of them say the same.
SHORT = Path(__file__).with_name("judgement") / "short_facts.txt"
BESIDE_WEIGHT = 1.0
SHORT_WEIGHT = 1.0
HIDDEN = 8
NETWORKS = 4
PENALTY = 30.0
ROUNDS = 300
PACE = 0.01
THRESHOLDS = (0.12, 0.18, 0.25, 0.35, 0.5)
# The day on which all pairs are said.
DAY = date(2026, 11, 16)
BOTH_WAYS = ("duplicate", "sibling", "unrelated", "update")
# Pairs that differ in a word or two, by the author of the judge: always learnt, never a measure.
MINIMAL = DATA / "minimal.jsonl"
KINDS = ("duplicate", "update", "update_cue", "sibling", "sibling_cue", "overlap", "extends")
TOLD = {"duplicate": ("duplicate", "restates"), "update": ("update",), "update_cue": ("update",)}

Rows = NDArray[Any]


@contextmanager
def fewer_words() -> Iterator[None]:
    """Leave out a part of the synonyms and rewrites, the same part each time."""
    whole, groups = word_classes.forms, word_classes._groups()
    chance = random.Random(20261116)
    thinned = {
        name: [
            group for group in found if name == "shared" or chance.random() < KEPT or _unit(group)
        ]
        for name, found in groups.items()
    }

    @cache
    def thin(language: str) -> Forms:
        rules = whole(language)
        kept = tuple(one for one in rules.rewrites if chance.random() < KEPT)
        return replace(rules, rewrites=kept, vague={})

    with (
        patch.object(reading, "forms", thin),
        patch.object(word_classes, "_groups", lambda: thinned),
    ):
        _forget()
        yield
    _forget()


def _unit(group: list[str]) -> bool:
    """Days, months and units are known to everyone."""
    return group[0].endswith(("day", "ber", "uary")) or group[0] in (
        *("march", "april", "june", "july", "august", "second", "minute", "hour"),
        *("day", "week", "month", "year"),
    )


def _forget() -> None:
    word_classes.synonyms.cache_clear()
    reading.statements.cache_clear()
    reading.change_in.cache_clear()


def words_for(name: str) -> AbstractContextManager[None]:
    return fewer_words() if name in TUNED else nullcontext()


@dataclass(frozen=True)
class Learnt:
    """The signs of a set's pairs, the reading and the weight of each."""

    author: str
    names: list[str]
    values: Rows
    readings: Rows
    weights: Rows


def name_of(file: Path) -> str:
    return file.stem.removeprefix("pairs_")


def author_of(file: Path) -> str:
    return AUTHOR.get(name_of(file), name_of(file))


def readings_of(pair: dict[str, Any]) -> list[tuple[str, str]]:
    """A pair as it is, with its dates as memory writes them, and both the other way round."""
    told = (pair["new"], pair["old"])
    dated = (absolute_dates(told[0], DAY)[0], absolute_dates(told[1], DAY)[0])
    found = list(dict.fromkeys((told, dated)))
    turned = [(old, new) for new, old in found] if pair["kind"] in BOTH_WAYS else []
    return [*found, *turned]


def learnt(file: Path) -> Learnt:
    name = name_of(file)
    found: list[dict[str, float]] = []
    kinds: list[str] = []
    with words_for(name):
        for pair in pairs(file):
            for new, old in readings_of(pair):
                found.append(likeness.signs_between(new, old))
                kinds.append(pair["kind"])
    names = list(found[0])
    values = np.array([[one[name] for name in names] for one in found])
    readings = np.eye(len(READINGS))[[READING_OF.get(kind, 3) for kind in kinds]]
    weight = FREE_WEIGHT if name >= FREE_FROM else TUNED_WEIGHT
    return Learnt(author_of(file), names, values, readings, np.full(len(kinds), weight))


def with_values_of(text: str, notes: list[tuple[str, str]]) -> Iterator[str]:
    """Notes in which the figures, weekdays, months and names of a text stand for their own."""
    names = cycle(_names(text) or [None])
    for _, note in notes:
        changed = note
        for pattern in (FIGURE, DAY_NAME):
            if lent := pattern.findall(text):
                source = cycle(lent)
                parts = pattern.split(changed)
                changed = "".join(part + next(source) for part in parts[:-1]) + parts[-1]
        for name in _names(note):
            changed = changed.replace(name, next(names) or name)
        if changed != note:
            yield changed


def _names(text: str) -> list[str]:
    """The names in a text, as they are written."""
    known = {
        token.word
        for one in reading.statements(text, "english")
        for token in one.tokens
        if token.kind == "name"
    }
    return [word for word in re.findall(r"[A-ZÀ-Þ]\w+", text) if word.lower() in known]


def strangers(file: Path, files: list[Path]) -> Learnt:
    """The new texts of a set beside notes of other authors: those that share words, any, any with its values."""
    with words_for(name_of(file)):
        found = [likeness.signs_between(*pair) for pair in strange_pairs(file, files)]
    return _different(author_of(file), found, STRANGE_WEIGHT)


def strange_pairs(file: Path, files: list[Path]) -> Iterator[tuple[str, str]]:
    author = author_of(file)
    notes = [
        (f"{name_of(other)} {number}", pair["old"])
        for other in files
        if author_of(other) != author
        for number, pair in enumerate(pairs(other))
    ]
    chance = random.Random(name_of(file))
    sample = chance.sample(notes, STRANGERS)
    near = Candidates(sample)
    for pair in pairs(file):
        if pair["kind"] in STRANGE:
            beside = near.find(pair["new"], STRANGE[pair["kind"]])
            for _, old in [*beside, *chance.sample(sample, MOST_BY_CHANCE)]:
                yield pair["new"], old
    for pair in pairs(file):
        for old in with_values_of(pair["new"], chance.sample(sample, MOST_LENT)):
            yield pair["new"], old


def projects() -> Learnt:
    """Memories of one project that share words and are true at once."""
    signs = [likeness.signs_between(*pair) for pair in project_pairs()]
    return _different("", [one for one in signs if share_anything(one)], BESIDE_WEIGHT)


def project_pairs() -> Iterator[tuple[str, str]]:
    told: dict[str, list[str]] = {}
    for memory in pairs(PROJECTS):
        text, known = memory["text"], told.setdefault(memory["project"], [])
        near = Candidates((str(number), old) for number, old in enumerate(known))
        for _, old in near.find(text, MOST_BESIDE):
            yield text, old
        known.append(text)


def short_facts() -> Learnt:
    """Short facts that share a word or a turn of phrase, and say different things."""
    signs = [likeness.signs_between(*pair) for pair in short_pairs()]
    return _different("", [one for one in signs if share_anything(one)], SHORT_WEIGHT)


def short_pairs() -> Iterator[tuple[str, str]]:
    return permutations(SHORT.read_text("utf-8").splitlines(), 2)


def _different(author: str, found: list[dict[str, float]], weight: float) -> Learnt:
    """Pairs of texts that say different things."""
    values = np.array([list(one.values()) for one in found])
    readings = np.tile(np.eye(len(READINGS))[READINGS.index("other")], (len(found), 1))
    return Learnt(author, list(found[0]), values, readings, np.full(len(found), weight))


def fitted(sets: list[Learnt]) -> Weights:
    values = np.vstack([one.values for one in sets])
    readings = np.vstack([one.readings for one in sets])
    weights = np.concatenate([one.weights for one in sets])
    means, spreads = values.mean(0), values.std(0) + 1e-6
    given = np.clip((values - means) / spreads, -4, 4)
    networks = _networks(given, readings, weights / weights.mean())
    return Weights(sets[0].names, _rounded(means), _rounded(spreads), networks)


def _networks(given: Rows, readings: Rows, weights: Rows) -> list[Network]:
    """Networks of one hidden layer each, fitted together by Adam with a penalty on their weights."""
    chance = np.random.default_rng(0)
    signs, kinds = given.shape[1], len(READINGS)
    into = chance.normal(0, (2 / signs) ** 0.5, (signs, NETWORKS * HIDDEN))
    out = chance.normal(0, (2 / HIDDEN) ** 0.5, (NETWORKS, HIDDEN, kinds))
    state = [into, out, np.zeros(NETWORKS * HIDDEN), np.zeros((NETWORKS, 1, kinds))]
    state = [one.astype(np.float32) for one in state]
    given, readings, weights = (one.astype(np.float32) for one in (given, readings, weights))
    moments = [(np.zeros_like(one), np.zeros_like(one)) for one in state]
    for step in range(1, ROUNDS + 1):
        changes = _changes(state, given, readings, weights)
        for one, change, (first, second) in zip(state, changes, moments, strict=True):
            first += 0.1 * (change - first)
            second += 0.001 * (change**2 - second)
            hat = second / (1 - 0.999**step)
            one -= PACE * (first / (1 - 0.9**step)) / (np.sqrt(hat) + 1e-8)
    into, out, hidden, offsets = state
    rows = np.vstack([hidden, into]).T.reshape(NETWORKS, HIDDEN, -1)
    ends = np.concatenate([offsets, out], axis=1).transpose(0, 2, 1)
    return [
        Network([_rounded(row) for row in inner], [_rounded(row) for row in outer])
        for inner, outer in zip(rows, ends, strict=True)
    ]


def _changes(state: list[Rows], given: Rows, readings: Rows, weights: Rows) -> list[Rows]:
    into, out, hidden, offsets = state
    inner = np.maximum(given @ into + hidden, 0)
    units = inner.reshape(len(given), NETWORKS, HIDDEN).transpose(1, 0, 2)
    sums = units @ out + offsets
    share = np.exp(sums - sums.max(2, keepdims=True))
    share /= share.sum(2, keepdims=True)
    error = (share - readings) * (weights[:, None] / len(given))
    back = (error @ out.transpose(0, 2, 1)).transpose(1, 0, 2).reshape(inner.shape) * (inner > 0)
    decay = PENALTY / len(given)
    ends = units.transpose(0, 2, 1) @ error + decay * out
    return [given.T @ back + decay * into, ends, back.sum(0), error.sum(1, keepdims=True)]


def _rounded(row: Any) -> list[float]:
    return [round(float(one), 4) for one in row]


def told(file: Path, weights: Weights, threshold: float) -> dict[str, tuple[int, int]]:
    """Of each kind, how many pairs are told as what they are (others: told at all), and all."""
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    with (
        words_for(name_of(file)),
        patch.object(odds, "_weights", lambda: weights),
        patch.object(weighing, "TOLD", threshold),
        patch.object(reader, "known", lambda: False),
    ):
        for pair in pairs(file):
            kind, seen = pair["kind"], likeness.compare(pair["new"], pair["old"]).likeness
            total[kind] += 1
            found[kind] += seen in TOLD.get(kind, ("duplicate", "restates", "update"))
    return {kind: (found[kind], total[kind]) for kind in total}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the weights into the package")
    parser.add_argument("--add", nargs="*", type=Path, default=[], help="further sets of pairs")
    options = parser.parse_args()
    files = [*sorted(DATA.glob("pairs_*.jsonl")), *options.add]
    sets = {file: learnt(file) for file in files}
    beside = [learnt(MINIMAL), projects(), short_facts()]
    beside += [strangers(file, files) for file in files]
    known = [*sets.values(), *beside]
    others = {
        author: fitted([one for one in known if one.author != author])
        for author in {one.author for one in sets.values()}
    }
    rows = []
    curve: dict[float, Counter[str]] = {threshold: Counter() for threshold in THRESHOLDS}
    for file, one in sets.items():
        found = told(file, others[one.author], weighing.TOLD)
        rows.append([name_of(file), *(_share(found.get(kind)) for kind in KINDS)])
        for threshold, count in curve.items() if name_of(file) >= FREE_FROM else ():
            for kind, (part, whole) in told(file, others[one.author], threshold).items():
                count.update({kind: part, f"all {kind}": whole})
    publish("fit_odds", ["set", *KINDS], rows)
    publish(
        "fit_odds_thresholds",
        ["threshold", *KINDS],
        [
            [threshold, *(_percent(count[kind], count[f"all {kind}"]) for kind in KINDS)]
            for threshold, count in curve.items()
        ],
    )
    if options.write:
        _write(fitted(known))


def _write(weights: Weights) -> None:
    data = {
        "signs": weights.names,
        "means": weights.means,
        "spreads": weights.spreads,
        "networks": [asdict(one) for one in weights.networks],
    }
    text = json.dumps(data, separators=(",", ":")).replace("],[", "],\n[").replace('],"', '],\n"')
    (FOLDER / "odds.json").write_text(f"{text}\n", encoding="utf-8")


def _share(found: tuple[int, int] | None) -> str:
    return f"{found[0]} of {found[1]}" if found else "-"


def _percent(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "-"


if __name__ == "__main__":
    main()
