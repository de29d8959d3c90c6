"""The recall data sets as plain values: LoCoMo by turns, LongMemEval by sessions.

Weights are chosen by the figures of dev: LoCoMo conversations 1–4, every other LongMemEval question.
How clean the rest is: LoCoMo 5–10 was scored beside dev in most experiments, so its figures were
seen, though no choice was made by them and none of its questions was read. The LongMemEval halves
were split only after failed questions of both had been read: its "test" is no held-out set, and
with 28 questions one miss is 3.6 points. The 439 questions kept apart are the real test of it.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

LOCOMO_DEV = frozenset({0, 1, 2, 3})
CATEGORIES = {4: "single", 1: "multi", 2: "temporal", 3: "open", 5: "adversarial"}


@dataclass(frozen=True, slots=True)
class Turn:
    id: str
    session: str
    role: str
    speaker: str
    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and the turns (or sessions) that answer it; `audited` after known corrections."""

    text: str
    gold: frozenset[str]
    audited: frozenset[str]
    kind: str
    now: float


@dataclass(frozen=True, slots=True)
class Corpus:
    """What one set of questions is asked about."""

    name: str
    dev: bool
    turns: tuple[Turn, ...]
    questions: tuple[Asked, ...]


def locomo(folder: Path) -> list[Corpus]:
    with gzip.open(folder / "locomo" / "locomo10.json.gz") as file:
        conversations = json.load(file)
    audit = json.loads((folder / "locomo" / "audit_errors.json").read_text())
    corrected = {entry["question_id"]: entry.get("correct_evidence") or [] for entry in audit}
    return [_conversation(i, data, corrected) for i, data in enumerate(conversations)]


def _conversation(number: int, data: dict[str, Any], corrected: dict[str, list[str]]) -> Corpus:
    spoken = data["conversation"]
    sessions = sorted(int(k[8:]) for k in spoken if re.fullmatch(r"session_\d+", k))
    turns = []
    for session in sessions:
        said_at = spoken[f"session_{session}_date_time"]
        at = datetime.strptime(said_at, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC).timestamp()
        turns += [
            Turn(t["dia_id"], f"session_{session}", "user", t["speaker"], at + i, t["text"])
            for i, t in enumerate(spoken[f"session_{session}"])
        ]
    known = {turn.id for turn in turns}
    now = turns[-1].at + 86_400
    questions = []
    for i, item in enumerate(data["qa"]):
        gold = turn_ids(item["evidence"]) & known
        audited = turn_ids(corrected.get(f"locomo_{number}_qa{i}", [])) & known
        if gold:
            kind = CATEGORIES[item["category"]]
            questions.append(Asked(item["question"], gold, audited or gold, kind, now))
    return Corpus(f"locomo-{number + 1}", number in LOCOMO_DEV, tuple(turns), tuple(questions))


def turn_ids(cited: Sequence[str]) -> frozenset[str]:
    """Turn ids out of citations such as `D8:6; D9:17` or `D:11:26`."""
    found = re.findall(r"D:?(\d+):(\d+)", " ".join(cited))
    return frozenset(f"D{int(session)}:{int(turn)}" for session, turn in found)


def longmemeval(folder: Path) -> list[Corpus]:
    """One corpus for each answerable question; every other one is dev."""
    with gzip.open(folder / "longmemeval" / "dev.json.gz") as file:
        items = json.load(file)
    answerable = [item for item in items if not item["question_id"].endswith("_abs")]
    return [_haystack(item, dev=not i % 2) for i, item in enumerate(answerable)]


def unanswerable(folder: Path) -> list[Corpus]:
    with gzip.open(folder / "longmemeval" / "dev.json.gz") as file:
        items = json.load(file)
    return [_haystack(i, dev=True) for i in items if i["question_id"].endswith("_abs")]


def _haystack(item: dict[str, Any], *, dev: bool) -> Corpus:
    turns = []
    sessions = zip(
        item["haystack_session_ids"],
        item["haystack_sessions"],
        item["haystack_dates"],
        strict=True,
    )
    for name, messages, date in sessions:
        turns += [
            Turn(f"{name}/{i}", name, m["role"], "", _moment(date) + i, m["content"])
            for i, m in enumerate(messages)
        ]
    gold = frozenset(item["answer_session_ids"])
    now = _moment(item["question_date"])
    asked = Asked(item["question"], gold, gold, item["question_type"], now)
    return Corpus(item["question_id"], dev, tuple(turns), (asked,))


def _moment(text: str) -> float:
    """`2023/06/09 (Fri) 01:44` as seconds since the epoch."""
    return datetime.strptime(text[:10] + text[-5:], "%Y/%m/%d%H:%M").replace(tzinfo=UTC).timestamp()
