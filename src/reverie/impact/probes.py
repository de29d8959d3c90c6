"""Probes: facts the person stated, asked in a fresh session in four ways.

With memory (what recall finds), with nothing, with the whole history of conversations, and with the
results of a word search in the transcripts. An answer is right, wrong, or abstains.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from reverie.conversation import transcripts
from reverie.conversation.records import Said
from reverie.errors import ReverieError, SpendCapReached
from reverie.impact import replay
from reverie.impact.report import paired
from reverie.memory.format.attachment import expired
from reverie.recall.past_sessions import conversations
from reverie.text.words import terms

if TYPE_CHECKING:
    from reverie.ports import Model
    from reverie.workspace import Workspace

Way: TypeAlias = Literal["with memory", "without", "whole history", "grep"]
WAYS: tuple[Way, ...] = ("with memory", "without", "whole history", "grep")
MOST_PROBES = 20
# The whole history is cut to its newest part, in characters: about 50,000 tokens.
MOST_HISTORY = 200_000
_MOST_LINES = 20
_LONGEST_LINE = 400
# A reply is right if it names this share of the fact's values.
_RIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Probe:
    """A question about one memory, and the values that the answer must name."""

    file: str
    question: str
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one probe in one of the four ways."""

    probe: Probe
    way: Way
    verdict: Literal["right", "wrong", "abstained"]
    tokens: int


def probes_of(app: Workspace) -> list[Probe]:
    """A probe for each current memory that the person stated and that has a checkable value."""
    memory = app.memory()
    now = datetime.fromtimestamp(app.clock.now(), UTC)
    found = []
    for entry in memory.topics.entries():
        if not entry.listed or expired(entry.valid_until, now):
            continue
        stored = memory.topics.read(entry.file)
        if stored is not None and stored.topic.origin in (None, "user", "import"):
            probe = probe_for(
                entry.file, stored.topic.description or stored.topic.body, stored.topic.body
            )
            found += [probe] if probe else []
    return found


def probe_for(file: str, description: str, body: str) -> Probe | None:
    """A question from the words of a memory without its values; None if no words are left."""
    wanted = replay.items(body)
    subject = [
        word for word in re.findall(r"[\w'/.@-]+", description) if not _is_answer_word(word, wanted)
    ]
    if not wanted or len(terms(" ".join(subject))) < 2:
        return None
    question = f"What do we know about this: {' '.join(subject[:16])} …? Give the missing value."
    return Probe(file, question, wanted)


def _is_answer_word(word: str, wanted: frozenset[str]) -> bool:
    plain = word.strip(".,;:!?'\"").casefold()
    return any(plain and (plain in one or one in plain) for one in wanted)


def judge(answer: replay.Answer, probe: Probe) -> Literal["right", "wrong", "abstained"]:
    """Judge by rules: the answer names the values, does not know, or says something else."""
    if replay.share_of(answer.text, probe.wanted) >= _RIGHT:
        return "right"
    return "abstained" if answer.abstains else "wrong"


async def run_probes(
    app: Workspace,
    model: str,
    *,
    most: int = MOST_PROBES,
    cap: float | None = None,
    progress: replay.Progress | None = None,
) -> dict[str, Any]:
    """Ask every probe in all four ways; stops at the cap and reports the results so far."""
    probes = probes_of(app)[:most]
    said = _said(app)
    results: list[Result] = []
    stopped = ""
    with replay.recall_on_copy(app) as recall:
        async with replay.open_model(app, model, cap) as asking:
            for n, probe in enumerate(probes):
                beside: dict[Way, Callable[[], str]] = {
                    "without": str,
                    "whole history": lambda: "\n".join(said)[-MOST_HISTORY:],
                    "grep": lambda probe=probe: _grep(said, probe.question),  # type: ignore[misc]
                }
                memories = await replay.memories_for(recall, probe.question, app.clock.now())
                beside["with memory"] = lambda found=memories: found  # type: ignore[misc]
                # The order alternates, so that no way always comes first.
                order = WAYS if n % 2 == 0 else WAYS[::-1]
                try:
                    results += [await _asked(asking, probe, way, beside[way]()) for way in order]
                except SpendCapReached as error:
                    stopped = str(error)
                    break
                if progress is not None:
                    progress(n + 1, len(probes))
    return summary(results, model, app.clock.now(), stopped)


async def _asked(model: Model, probe: Probe, way: Way, beside: str) -> Result:
    text = f"Notes:\n\n{beside}\n\n---\n\n{probe.question}" if beside else probe.question
    answer = await replay.ask(model, text)
    return Result(probe, way, judge(answer, probe), answer.usage.context)


def _said(app: Workspace) -> list[str]:
    """All messages of all conversations, oldest first, one per line."""
    paths = conversations(app.project, {}, user=app.user).values()
    lines: list[str] = []
    for path in sorted(paths, key=lambda one: one.stat().st_mtime):
        try:
            records = transcripts.load(path).records
        except ReverieError:
            continue
        for record in records:
            if isinstance(record, Said) and record.message.origin in ("user", "assistant"):
                lines += [line for line in record.message.text.splitlines() if line.strip()]
    return lines


def _grep(said: Sequence[str], question: str) -> str:
    """The lines that share the most words with a question."""
    wanted = set(terms(question))
    scored = [(len(wanted & set(terms(line[:_LONGEST_LINE]))), n) for n, line in enumerate(said)]
    best = sorted((score, n) for score, n in scored if score)[-_MOST_LINES:]
    return "\n".join(said[n][:_LONGEST_LINE] for _, n in sorted(best, key=lambda pair: pair[1]))


def summary(results: Sequence[Result], model: str, at: float, stopped: str = "") -> dict[str, Any]:
    """Counts of right, wrong and abstained, and tokens, for each way, and whether memory made a difference."""
    by_way = {way: [one for one in results if one.way == way] for way in WAYS}
    verdicts = ("right", "wrong", "abstained")
    rows: list[list[Any]] = [
        [way, len(ones), *(sum(one.verdict == verdict for one in ones) for verdict in verdicts),
         f"{fmean([one.tokens for one in ones]):,.0f}"]
        for way, ones in by_way.items() if ones
    ]  # fmt: skip
    scores = {
        way: {one.probe.file: float(one.verdict == "right") for one in ones}
        for way, ones in by_way.items()
    }
    common = scores["with memory"].keys() & scores["without"].keys()
    difference = paired([scores["with memory"][f] - scores["without"][f] for f in sorted(common)])
    wrong = {one.probe.file for one in by_way["with memory"] if one.verdict == "wrong"}
    harm = len(
        [one for one in by_way["without"] if one.verdict != "wrong" and one.probe.file in wrong]
    )
    return {
        "at": at,
        "model": model,
        "note": f"wrong only with memory (harm): {harm}"
        + (f"; stopped: {stopped}" if stopped else ""),
        "columns": ["way", "asked", "right", "wrong", "abstained", "tokens each"],
        "rows": rows,
        "difference": difference.as_json(),
        "harm": harm,
        "verdict": f"With memory against without: {replay.in_words(difference.verdict)}",
        "probes": [
            {"file": one.probe.file, "way": one.way, "verdict": one.verdict} for one in results
        ],
    }
