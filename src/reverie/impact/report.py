"""Whether memory helped: the outcome of each session, a comparison of the holdout's arms, the last measurements.

Outcomes are counted by rules from the transcript. A correction is a prompt that begins by taking something
back ("no, …", "that's wrong", "I said …") or asks to undo what was just done. Unflattering results
are reported as well: intervals, null results, and a harm column.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reverie.context.facts.calls import action_of
from reverie.conversation import transcripts
from reverie.conversation.records import MemoriesShown, Record, Said, Used
from reverie.core.messages import Attachment, ToolUse
from reverie.errors import ReverieError
from reverie.files.atomic import read_json, write_json
from reverie.memory.format.attachment import LABEL as RECALL
from reverie.models import selection as choosing
from reverie.recall.holdout import Arm, arms
from reverie.recall.past_sessions import conversations
from reverie.text.likeness import compare
from reverie.text.words import terms

if TYPE_CHECKING:
    from reverie.settings import Settings
    from reverie.workspace import Workspace

# With fewer pairs, or sessions in an arm, the result is directional only.
FEWEST = 5
ROUNDS = 2_000
_SEED = 20_260

Verdict: TypeAlias = Literal[
    "nothing to compare", "directional", "no difference", "lower", "higher"
]


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of means (with memory − without) and its 95 % interval."""

    mean: float
    low: float
    high: float
    n: int

    @property
    def verdict(self) -> Verdict:
        if self.n == 0:
            return "nothing to compare"
        if self.n < FEWEST:
            return "directional"
        if self.low > 0:
            return "higher"
        return "lower" if self.high < 0 else "no difference"

    def as_json(self) -> dict[str, Any]:
        return asdict(self) | {"verdict": self.verdict}


def paired(differences: Sequence[float]) -> Difference:
    """The mean of paired differences."""
    return _bootstrapped(len(differences), lambda pick: fmean(pick(differences)))


def between(with_memory: Sequence[float], without: Sequence[float]) -> Difference:
    """The difference of the means of two arms; the smaller arm counts as the number."""
    n = min(len(with_memory), len(without))
    return _bootstrapped(n, lambda pick: fmean(pick(with_memory)) - fmean(pick(without)))


Pick: TypeAlias = Callable[[Sequence[float]], Sequence[float]]


def _bootstrapped(n: int, statistic: Callable[[Pick], float]) -> Difference:
    if n == 0:
        return Difference(0.0, 0.0, 0.0, 0)
    chance = random.Random(_SEED)

    def resampled(values: Sequence[float]) -> Sequence[float]:
        return chance.choices(values, k=len(values))

    found = sorted(statistic(resampled) for _ in range(ROUNDS))
    cut = round(ROUNDS * 0.025)
    return Difference(statistic(lambda values: values), found[cut], found[-1 - cut], n)


# --- outcomes of a session ---


_CORRECTS = re.compile(
    r"""^\W*(?:
        no\b(?!\s+(?:problem|worries|rush|idea|need))|nope\b|nein\b|non\b(?!-)|wrong\b|stop\b|wait,?\s+no\b
      | that(?:['’]s|\s+is)\s+(?:not|wrong|incorrect)|this\s+is\s+(?:not|wrong)|not\s+(?:like\s+)?that\b
      | actually,?\s+(?:no|it|we|use|the)\b|i\s+(?:said|told\s+you|meant|asked\s+for|already)\b
      | (?:as|like)\s+i\s+(?:said|told)|again[,:]|don['’]t\s|you\s+(?:forgot|missed|were\s+supposed)
      | das\s+ist\s+(?:falsch|nicht)|ich\s+(?:sagte|habe\s+(?:doch\s+)?gesagt)|nicht\s+so\b
      | c['’]est\s+(?:faux|pas)|j['’]ai\s+dit|no,?\s+eso|te\s+dije
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_REVERTS = re.compile(
    r"\b(?:revert|undo|roll\s+back|put\s+(?:it|that)\s+back|mach\s+das\s+rückgängig)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"\?\s*$", re.MULTILINE)
# A longer prompt is a task with a history, not a correction in a few words.
_LONGEST_CORRECTION = 1_200
# A longer pause does not count as work on the task.
_LONGEST_PAUSE = 600.0
_FEWEST_SHARED_WORDS = 3
_SAME_SHARE = 0.7


@dataclass(frozen=True, slots=True)
class SessionOutcome:
    """The counts of one session."""

    session: str
    prompts: int = 0
    corrections: int = 0
    repeated_corrections: int = 0
    rereads: int = 0
    reasked: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    minutes: float = 0.0
    memories_shown: int = 0


# The measures that the arms are compared on; for each, less is better.
MEASURES = tuple(
    field.name
    for field in fields(SessionOutcome)
    if field.name not in ("session", "memories_shown")
)


@dataclass(frozen=True, slots=True)
class CountedSession:
    """A counted session, and the person's statements that another session may repeat."""

    outcome: SessionOutcome
    corrections: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def is_correction(text: str) -> bool:
    """Whether a prompt corrects what was just done or said."""
    short = len(text) <= _LONGEST_CORRECTION
    return short and bool(_CORRECTS.search(text) or _REVERTS.search(text.partition("\n")[0][:200]))


Price: TypeAlias = Callable[[Used], float]


def unpriced(used: Used) -> float:
    """For transcripts whose prices do not matter."""
    return 0.0


def pricer(settings: Settings) -> Price:
    """The price of a recorded call, 0 where the model's price is not known."""

    def price(used: Used) -> float:
        row = choosing.find_row(settings, used.model)
        known = choosing.price_of(settings, used.model.partition(":")[2] or used.model, row)
        return known.cost(used.usage) if known else 0.0

    return price


def count_session(name: str, records: Sequence[Record], price: Price = unpriced) -> CountedSession:
    """Count one session; what it repeats of others is counted by `with_repeats`."""
    prompts = _prompts(records)
    # The first prompt of a session has nothing to correct.
    corrections = tuple(text for text in prompts[1:] if is_correction(text))
    questions = tuple(text for text in prompts if _QUESTION.search(text) and len(text) < 500)
    messages = [record.message for record in records if isinstance(record, Said)]
    calls = [
        block for message in messages for block in message.blocks if isinstance(block, ToolUse)
    ]
    used = [record for record in records if isinstance(record, Used)]
    shown = sum(len(record.files) for record in records if isinstance(record, MemoriesShown))
    attached = sum(
        isinstance(block, Attachment) and block.label == RECALL
        for message in messages
        for block in message.blocks
    )
    last = {one.response: one for one in used}.values()
    return CountedSession(
        SessionOutcome(
            name,
            prompts=len(prompts),
            corrections=len(corrections),
            rereads=_rereads(calls),
            tool_calls=len(calls),
            tokens=sum(one.usage.context for one in last),
            cost=sum(map(price, last)),
            minutes=_minutes([message.at for message in messages if message.at]),
            memories_shown=shown or attached,
        ),
        corrections,
        questions,
    )


def _prompts(records: Iterable[Record]) -> list[str]:
    found = []
    for record in records:
        if isinstance(record, Said) and record.message.origin == "user":
            text = record.message.text.strip()
            if text and not text.startswith("<"):
                found.append(text)
    return found


def _rereads(calls: Sequence[ToolUse]) -> int:
    """How often a file was read again without having changed."""
    seen: Counter[str] = Counter()
    again = 0
    for call in calls:
        action = action_of(call)
        if action.kind == "read" and action.target:
            again += seen[action.target] > 0
            seen[action.target] += 1
        elif action.kind in ("edit", "write"):
            seen.pop(action.target, None)
    return again


def _minutes(times: Sequence[float]) -> float:
    """Working time: the pauses between messages, each up to ten minutes."""
    ordered = sorted(times)
    pauses = (min(b - a, _LONGEST_PAUSE) for a, b in itertools.pairwise(ordered))
    return sum(pauses) / 60


# --- what was said before, in another session ---


def with_repeats(sessions: Sequence[CountedSession]) -> list[SessionOutcome]:
    """The outcomes (oldest session first), with counts of repeated corrections and questions."""
    corrected: list[str] = []
    asked: list[str] = []
    found = []
    for one in sessions:
        again = sum(_said_before(text, corrected) for text in one.corrections)
        reasked = sum(_said_before(text, asked) for text in one.questions)
        found.append(replace(one.outcome, repeated_corrections=again, reasked=reasked))
        corrected += one.corrections
        asked += one.questions
    return found


def _said_before(text: str, earlier: Sequence[str]) -> bool:
    return any(_same(text, old) for old in earlier)


def _same(text: str, old: str) -> bool:
    """Whether the same was said again, by the memory judge or by most of the words."""
    ours, theirs = set(terms(_bare(text))), set(terms(_bare(old)))
    shared = len(ours & theirs)
    if shared < _FEWEST_SHARED_WORDS:
        return False
    if shared / min(len(ours), len(theirs)) >= _SAME_SHARE:
        return True
    return compare(_bare(text), _bare(old)).likeness in ("duplicate", "extends")


def _bare(text: str) -> str:
    """A correction without the words that only mark it as one."""
    return _CORRECTS.sub("", text, count=1)[:_LONGEST_CORRECTION]


# --- the report ---


FOLDER = "impact"


def outcome_report(app: Workspace) -> dict[str, Any]:
    """The comparison of the arms, the totals of all sessions, and the last measurements."""
    outcomes = session_outcomes(app)
    return {
        "holdout": {
            "share": app.settings.number("impact.holdout"),
            **compared(outcomes, arms(app)),
        },
        "sessions": _totals(outcomes),
        "replay": last_of(app, "replay"),
        "probes": last_of(app, "probes"),
    }


def session_outcomes(app: Workspace) -> list[SessionOutcome]:
    """The outcome of every session of this project, oldest first."""
    price = pricer(app.settings)
    found = []
    for name, path in _by_time(conversations(app.project, {}, user=app.user)):
        try:
            records = transcripts.load(path).records
        except ReverieError:
            continue
        found.append(count_session(name, records, price))
    return with_repeats(found)


def _by_time(paths: dict[str, Path]) -> list[tuple[str, Path]]:
    return sorted(paths.items(), key=lambda pair: (pair[1].stat().st_mtime, pair[0]))


def compared(outcomes: list[SessionOutcome], by_session: dict[str, Arm]) -> dict[str, Any]:
    """Each measure in both arms, its difference with an interval, and whether memory harms."""
    found: dict[Arm, list[SessionOutcome]] = {"with": [], "without": []}
    for outcome in outcomes:
        if outcome.session in by_session and outcome.prompts:
            found[by_session[outcome.session]].append(outcome)
    rows = [_measured(name, found) for name in MEASURES] if all(found.values()) else []
    return {
        "sessions": {arm: len(sessions) for arm, sessions in found.items()},
        "directional": min(map(len, found.values())) < FEWEST,
        "measures": rows,
    }


def _measured(name: str, found: dict[Arm, list[SessionOutcome]]) -> dict[str, Any]:
    values = {arm: [float(getattr(one, name)) for one in ones] for arm, ones in found.items()}
    difference = between(values["with"], values["without"])
    words = {"lower": "memory helps", "higher": "memory harms"}
    return {
        "measure": name,
        "with": fmean(values["with"]),
        "without": fmean(values["without"]),
        "difference": difference.as_json(),
        "verdict": words.get(difference.verdict, difference.verdict),
        "harm": difference.verdict == "higher",
    }


def _totals(outcomes: list[SessionOutcome]) -> dict[str, Any]:
    counted = {name: sum(getattr(one, name) for one in outcomes) for name in MEASURES}
    shown = sum(one.memories_shown > 0 for one in outcomes)
    return {"count": len(outcomes), "with_memories": shown, **counted}


# --- measurements that were made ---


def keep(app: Workspace, kind: str, result: dict[str, Any]) -> Path:
    """Store the last measurement of a kind, for the report and the page."""
    path = app.project.folder / FOLDER / f"{kind}.json"
    write_json(path, result)
    return path


def last_of(app: Workspace, kind: str) -> dict[str, Any] | None:
    data = read_json(app.project.folder / FOLDER / f"{kind}.json")
    return data if isinstance(data, dict) else None
