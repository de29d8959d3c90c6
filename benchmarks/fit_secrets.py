"""Fit what the signs of a secret count: `memory/secrets/weights.json`.

Learns from `spoken_secrets/fitted.txt`, with `--all` also from `held_back.txt`, and from the tuned half
of `secret_texts.py`. Where `REVERIE_DATA` names sessions and chats, the values in them that the weights
would wrongly take for secrets are learnt as harmless, in three turns.

    python benchmarks/fit_secrets.py [--all] [--write]

The table shows both halves as the fitted weights alone judge them, without the formats and named values.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from report import publish
from secret_texts import TUNED, harmless, opaque_keys
from spoken_secrets import Example, examples

from reverie.memory import secrets
from reverie.memory.secrets.cues import find_cues
from reverie.memory.secrets.named import lowered
from reverie.memory.secrets.plausibility import is_never_secret
from reverie.memory.secrets.sentences import find_candidates
from reverie.memory.secrets.signs import NOTHING, signs_of
from reverie.memory.secrets.word_classes import find_topics

TARGET = Path(secrets.__file__).with_name("weights.json")
TIMES = 3
PENALTY = 1.0
HARMLESS_WEIGHT = 0.7
# A sign counts if so many different lines have it.
FEWEST_LINES = 3
ALONE = f"{NOTHING} nowhere"
TURNS, HARDEST, FIRST = 3, 1_200, 1_500
# Most values of real texts have no word for a secret near: so many of them are learnt.
KEPT_ALONE = 0.06
CLOSE_ENOUGH = 0.02
PIECE, OF_SESSION, OF_CHATS = 20_000, 250_000, 3_000_000
SESSIONS = ("claude_sessions", "pi_sessions", "longmemeval", "locomo", "sweagent_traj")

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """One value that could be a secret: its text, place and signs; `secret` is None if it is a part of one."""

    example: Example
    start: int
    end: int
    signs: Sequence[str]
    secret: bool | None


def rows(texts: Sequence[Example]) -> Iterator[Row]:
    for example in texts:
        lower = lowered(example.text)
        topics = find_topics(lower, find_cues(lower))
        starts = [topic.start for topic in topics]
        for start, end in find_candidates(example.text, topics):
            if is_never_secret(example.text[start:end]):
                continue
            signs, topic = signs_of(example.text, start, end, topics, starts)
            if topic:
                yield Row(example, start, end, signs, is_secret(example, start, end))


def is_secret(example: Example, start: int, end: int) -> bool | None:
    """Whether a span is a secret; one that is cut, or with much beside it, teaches nothing."""
    for first, last in example.secrets:
        if start <= first and last <= end:
            return True if first - start <= 12 and end - last <= 2 else None
        if first < end and start < last:
            return None
    return False


def real() -> Iterator[Example]:
    """Pieces of sessions and chats, nearly all harmless."""
    root = Path(os.environ.get("REVERIE_DATA", "/nowhere"))
    for folder in SESSIONS:
        for path in sorted((root / folder).glob("*.gz")):
            with gzip.open(path, "rt", errors="replace") as file:
                text = file.read(OF_CHATS if folder == "longmemeval" else OF_SESSION)
            plain = re.sub(r"\\{1,2}n", "\n", text).replace('\\"', '"')
            # Every third piece stays as it stands in the file.
            for number, start in enumerate(range(0, len(plain), PIECE)):
                piece = text if number % 3 == 2 else plain
                yield Example(piece[start : start + PIECE], (), -1)


def strangers() -> Iterator[Row]:
    """The values of sessions and chats, of those without a word for a secret a part."""
    chance = random.Random(3)
    for row in rows(list(real())):
        if ALONE not in row.signs or chance.random() < KEPT_ALONE:
            yield replace(row, secret=False)


def tuned() -> Iterator[Example]:
    for number, leak in enumerate(opaque_keys(TUNED)):
        start = leak.text.index(leak.value)
        yield Example(leak.text, [(start, start + len(leak.value))], 20_000 + number // 6)
    for number, text in enumerate(harmless(TUNED)):
        yield Example(text, (), 30_000 + number // 2)


def vocabulary(table: Sequence[Row]) -> dict[str, int]:
    lines: dict[str, set[int]] = {}
    for row in table:
        for sign in row.signs:
            lines.setdefault(sign, set()).add(row.example.line)
    common = sorted(sign for sign, seen in lines.items() if len(seen) >= FEWEST_LINES)
    return {sign: place for place, sign in enumerate(common)}


def fitted(table: Sequence[Row], places: dict[str, int]) -> Weights:
    """Logistic regression with a penalty, by Newton's method; the last weight is the constant."""
    known = np.zeros((len(table), len(places) + 1), dtype=np.float32)
    for number, row in enumerate(table):
        known[number, [places[sign] for sign in row.signs if sign in places]] = 1
    known[:, -1] = 1
    target = np.array([float(bool(row.secret)) for row in table])
    each = np.array([1 / TIMES if row.example.secrets else HARMLESS_WEIGHT for row in table])
    penalty = np.full(known.shape[1], PENALTY)
    penalty[-1] = 0.01
    found = np.zeros(known.shape[1])
    for _ in range(25):
        likely = 1 / (1 + np.exp(-np.clip(known @ found, -30, 30)))
        slope = known.T @ (each * (likely - target)).astype(np.float32) + penalty * found
        bend = (each * likely * (1 - likely)).astype(np.float32)
        curve = ((known * bend[:, None]).T @ known).astype(np.float64) + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        found -= step
        if np.abs(step).max() < CLOSE_ENOUGH:
            break
    return found


def score(row: Row, found: Weights, places: dict[str, int]) -> float:
    return float(found[-1] + sum(found[places[sign]] for sign in row.signs if sign in places))


def learnt(texts: Sequence[Example]) -> tuple[Weights, dict[str, int]]:
    """The weights, after the harmless values that they took for secrets were learnt, too."""
    table = [row for row in rows(texts) if row.secret is not None]
    places = vocabulary(table)
    strange = list(strangers())
    hard = random.Random(1).sample(strange, min(FIRST, len(strange)))
    found = fitted([*table, *hard], places)
    for _ in range(TURNS if strange else 0):
        seen = {id(row) for row in hard}
        worst = sorted(strange, key=lambda row: -score(row, found, places))[:HARDEST]
        hard += [row for row in worst if id(row) not in seen]
        found = fitted([*table, *hard], places)
    return found, places


def share(texts: Sequence[Example], found: Weights, places: dict[str, int]) -> tuple[float, float]:
    """How many texts keep a secret in clear, and how many harmless ones are altered."""
    hit: dict[int, set[int]] = {}
    for row in rows(texts):
        if score(row, found, places) > 0:
            inside = hit.setdefault(id(row.example), set())
            inside |= {a for a, b in row.example.secrets if row.start <= a and b <= row.end}
    spoken = [one for one in texts if one.secrets]
    plain = [one for one in texts if not one.secrets]
    clear = sum(len(hit.get(id(one), ())) < len(one.secrets) for one in spoken)
    return clear / len(spoken), sum(id(one) in hit for one in plain) / len(plain)


def main() -> None:
    mine, held = examples("fitted", TIMES), examples("held_back", TIMES)
    also = [replace(one, line=one.line + 10_000) for one in held] if "--all" in sys.argv else []
    found, places = learnt([*mine, *also, *tuned()])
    table: list[Sequence[object]] = []
    for name, texts in (("fitted", mine), ("held back", held)):
        clear, altered = share(texts, found, places)
        table.append((name, f"{clear:.1%}", f"{altered:.1%}"))
    publish("fit_secrets", ("sentences", "in clear", "harmless, altered"), table)
    if "--write" in sys.argv:
        known = {sign: round(float(found[place]), 2) for sign, place in places.items()}
        known = {sign: weight for sign, weight in known.items() if weight}
        known[""] = round(float(found[-1]), 2)
        text = json.dumps(known, indent=0, ensure_ascii=False, sort_keys=True)
        TARGET.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main()
