"""What happened: memories, how often they were delivered, seen and used, layers, cache, learning.

Delivered, seen and used are counted separately. Delivered: recall attached the memory to a message.
Seen: a model answered in that session afterwards. Used: its words or facts occur in a reply or a
tool call.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeAlias

from reverie.conversation import transcripts
from reverie.conversation.cache_report import report_records
from reverie.conversation.records import (
    Compacted,
    CompactionFailed,
    Folded,
    NotesTaken,
    Record,
    Replaced,
    Said,
    ToolResultsCleared,
)
from reverie.conversation.state import SessionState
from reverie.core.messages import parse_time
from reverie.core.usage import Usage
from reverie.errors import ReverieError
from reverie.learning.runs import alarm_of, runs_of
from reverie.memory.format.taxonomy import split
from reverie.memory.opening import changes
from reverie.memory.uses import FILE as USES
from reverie.recall.past_sessions import conversations
from reverie.workspace.changes import open_inbox

if TYPE_CHECKING:
    from reverie.memory.opening import OpenMemory
    from reverie.workspace import Workspace

DAYS = 30
_AGES = {"a day": 1, "a week": 7, "a month": 30, "a year": 365}
_LAYERS: Mapping[type, str] = {
    Replaced: "1 tool results",
    ToolResultsCleared: "2 microcompaction",
    NotesTaken: "3 session notes",
    Compacted: "4 compaction",
    Folded: "snip and collapse",
}
# Compaction stops trying after this many failures in a row.
_BREAKER = 3


@dataclass(frozen=True, slots=True)
class UseLine:
    """One line of the log of uses."""

    at: float
    kind: str
    label: str
    session: str


def stats_of(app: Workspace, memory: OpenMemory | None = None, days: int = DAYS) -> dict[str, Any]:
    """All figures of the last days; those about memories are current."""
    memory = memory or app.memory()
    since = app.clock.now() - days * 86_400
    uses = list(read_uses(memory))
    sessions = _recent(app, since)
    return {
        "days": days,
        "memories": _memories(app, memory),
        "use": _use(app, memory, uses, sessions, since),
        "layers": _layers(sessions),
        "cache": _cache(app, sessions, since),
        "learning": _learning(app, memory, since),
        "breakers": _breakers(app, sessions),
        "per_day": _per_day(app, uses, days),
    }


def read_uses(memory: OpenMemory) -> Iterator[UseLine]:
    """Every logged use, of all scopes; lines that cannot be read are skipped."""
    for part in memory.parts:
        try:
            lines = (part.place.state / USES).read_bytes().splitlines()
        except OSError:
            continue
        for line in lines:
            with suppress(ValueError, KeyError, TypeError, OverflowError, RecursionError):
                data = json.loads(line)
                label = part.label(str(data["file"]))
                at = parse_time(data["at"])
                yield UseLine(at, str(data["kind"]), label, str(data.get("session") or ""))


Sessions: TypeAlias = Mapping[str, Sequence[Record]]


def _recent(app: Workspace, since: float) -> Sessions:
    """The records of the last sessions, each transcript read once."""
    found: dict[str, Sequence[Record]] = {}
    for name, path in conversations(app.project, {}, user=app.user).items():
        if transcripts.changed_at(path) >= since:
            with suppress(ReverieError):
                found[name] = transcripts.load(path).records
    return found


# --- memories and their use ---


def _memories(app: Workspace, memory: OpenMemory) -> dict[str, Any]:
    entries = memory.topics.entries()
    now = datetime.fromtimestamp(app.clock.now(), UTC)
    ages: Counter[str] = Counter()
    for entry in entries:
        days = (now - entry.mtime).total_seconds() / 86_400
        ages[next((name for name, most in _AGES.items() if days <= most), "older")] += 1
    origins: Counter[str] = Counter()
    if not memory.store.large:
        for entry in entries:
            stored = memory.topics.read(entry.file)
            origins[(stored.topic.origin if stored else None) or "not said"] += 1
    return {
        "count": len(entries),
        "type": dict(Counter(entry.type or "none" for entry in entries)),
        "scope": dict(Counter(split(entry.file)[0] for entry in entries)),
        "origin": dict(origins),
        "age": {name: ages[name] for name in (*_AGES, "older") if ages[name]},
        "replaced": sum(entry.superseded for entry in entries),
        "archived": sum(entry.archived for entry in entries),
    }


def _use(
    app: Workspace,
    memory: OpenMemory,
    uses: list[UseLine],
    sessions: Sessions,
    since: float,
) -> dict[str, Any]:
    ever = {line.label for line in uses if line.kind == "recalled"}
    recent = [line for line in uses if line.at >= since]
    delivered = [line for line in recent if line.kind == "recalled"]
    answered = {name: _last_answer(records) for name, records in sessions.items()}
    entries = memory.topics.entries()
    revisions = [made for made in changes(memory.parts) if made.at >= since]
    return {
        "delivered": len(delivered),
        "seen": sum(line.at <= answered.get(line.session, 0.0) for line in delivered),
        "used": sum(line.kind == "used" for line in recent),
        "contradicted": sum(" supersedes " in made.summary for made in revisions),
        "undone": sum(bool(made.author.undoes) for made in revisions),
        "never_recalled": sum(entry.listed and entry.file not in ever for entry in entries),
    }


def _last_answer(records: Iterable[Record]) -> float:
    times = (r.message.at for r in records if isinstance(r, Said) and r.message.role == "assistant")
    return max(times, default=0.0)


# --- layers and cache ---


def _layers(sessions: Sessions) -> dict[str, dict[str, int]]:
    """How often each layer fired, and the tokens it kept out of later requests (estimated)."""
    found: defaultdict[str, dict[str, int]] = defaultdict(lambda: {"fired": 0, "saved": 0})
    for records in sessions.values():
        for layer, saved in _fired(records):
            found[layer]["fired"] += 1
            found[layer]["saved"] += saved
    return {layer: found[layer] for layer in _LAYERS.values() if layer in found}


def _fired(records: Iterable[Record]) -> Iterator[tuple[str, int]]:
    state = SessionState()
    for record in records:
        layer = _LAYERS.get(type(record))
        before = state.tokens if layer else 0
        state.apply(record)
        if layer:
            yield layer, max(0, before - state.tokens)


def _cache(app: Workspace, sessions: Sessions, since: float) -> dict[str, Any]:
    usage = sum((e.usage for e in app.ledger.entries() if e.at >= since), Usage())
    reasons: Counter[str] = Counter()
    unexpected = 0
    for name, records in sessions.items():
        for row in report_records(app.settings, name, records):
            reasons.update(one.why for one in row.breaks if one.expected)
            unexpected += sum(not one.expected for one in row.breaks)
    return {
        "hit_rate": usage.hit_rate,
        "read": usage.cache_read,
        "written": usage.cache_write,
        "breaks_expected": sum(reasons.values()),
        "reasons": dict(reasons.most_common(5)),
        "breaks_unexpected": unexpected,
    }


# --- learning, and what stopped ---


def _learning(app: Workspace, memory: OpenMemory, since: float) -> dict[str, Any]:
    runs = [run for run in runs_of(app) if run.at >= since]
    return {
        "runs": len(runs),
        "failed": sum(not run.worked for run in runs),
        "found": sum(run.found for run in runs),
        "saved": sum(run.saved for run in runs),
        "refused": sum(run.refused for run in runs),
        "to_inbox": sum(run.waiting for run in runs),
        "inbox": open_inbox(app, memory).count(),
    }


def _breakers(app: Workspace, sessions: Sessions) -> list[str]:
    """What has stopped trying: compaction after three failures in a row, learning by its alarm."""
    found = []
    for name, records in sessions.items():
        failed = any(isinstance(record, CompactionFailed) for record in records)
        if failed and SessionState.replay(records).compaction_failures >= _BREAKER:
            found.append(f"compaction of session {name}: open after {_BREAKER} failures")
    alarm = alarm_of(app)
    return [*found, *([alarm.what] if alarm else [])]


def _per_day(app: Workspace, uses: Iterable[UseLine], days: int) -> dict[str, list[float]]:
    today = datetime.fromtimestamp(app.clock.now(), UTC).astimezone().date()
    order = [today - timedelta(days=back) for back in range(min(days, DAYS) - 1, -1, -1)]
    series: dict[str, Counter[Any]] = {
        name: Counter() for name in ("delivered", "used", "learnt", "dollars")
    }

    def add(name: str, at: float, amount: float = 1) -> None:
        series[name][datetime.fromtimestamp(at, UTC).astimezone().date()] += amount  # type: ignore[assignment]

    for line in uses:
        add("delivered" if line.kind == "recalled" else "used", line.at)
    for run in runs_of(app):
        add("learnt", run.at, run.saved + run.waiting)
    for entry in app.ledger.entries():
        add("dollars", entry.at, entry.cost or 0.0)
    return {name: [float(counts[day]) for day in order] for name, counts in series.items()}
