"""The report of a dream: each change with its reason, its diff and its outcome."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from reverie.errors import InputError
from reverie.learning.dreaming.changes import KINDS, Change, FileStep
from reverie.learning.dreaming.checks import Objection
from reverie.learning.dreaming.tidy import Flag
from reverie.ports import Scrubber

State = Literal["running", "completed", "failed", "killed"]
End = Literal["completed", "failed", "killed"]
Standing = Literal["made", "waiting", "proposed", "for a person", "refused", "approved", "rejected"]
STANDINGS: tuple[Standing, ...] = get_args(Standing)
# A person can still approve or reject these.
OPEN: frozenset[Standing] = frozenset({"proposed", "for a person"})


@dataclass(frozen=True, slots=True)
class Entry:
    """One change and its outcome; `why` says why it was not made."""

    change: Change
    standing: Standing
    why: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """The report of one dream."""

    id: str
    began: float
    ended: float
    state: State
    why: str = ""
    entries: tuple[Entry, ...] = ()
    ignored: tuple[tuple[str, str], ...] = ()
    flags: tuple[Flag, ...] = ()
    revision: str = ""
    dry: bool = False
    # Other notes for a person: a model that failed, a text that was cut.
    notes: tuple[str, ...] = ()
    # The model (empty: rules alone) and its cost in dollars (None: price unknown).
    model: str = ""
    cost: float | None = 0.0

    def with_standing(self, standing: Standing) -> tuple[Change, ...]:
        return tuple(entry.change for entry in self.entries if entry.standing == standing)

    @property
    def open(self) -> tuple[Entry, ...]:
        """The changes that wait for a person."""
        return tuple(entry for entry in self.entries if entry.standing in OPEN)

    def decided(self, ids: Iterable[str], standing: Standing) -> Report:
        chosen = set(ids)
        entries = (
            replace(entry, standing=standing) if entry.change.id in chosen else entry
            for entry in self.entries
        )
        return replace(self, entries=tuple(entries))


def entries_of(
    made: Iterable[Change], made_as: Standing, waiting: Iterable[Change], no: Iterable[Objection]
) -> tuple[Entry, ...]:
    """Every change of a dream with its outcome, ordered by id."""
    found = [Entry(change, made_as) for change in made]
    found += [Entry(c, "waiting", "it changed while the dream ran") for c in waiting]
    found += [Entry(one.change, one.fate, one.reason) for one in no]
    return tuple(sorted(found, key=lambda entry: int(entry.change.id[1:])))


def without_secrets(report: Report, scrubber: Scrubber) -> Report:
    """The report with secrets removed, also from changes that were refused because of them."""
    entries = (replace(entry, change=_scrubbed(entry.change, scrubber)) for entry in report.entries)
    return replace(report, entries=tuple(entries))


def _scrubbed(change: Change, scrubber: Scrubber) -> Change:
    steps = []
    for step in change.steps:
        before, after = (_without(data, scrubber) for data in (step.before, step.after))
        steps.append(replace(step, before=before, after=after))
    return replace(change, steps=tuple(steps))


def _without(data: bytes | None, scrubber: Scrubber) -> bytes | None:
    """Scrub a version of a file; the old version may hold a secret from a manual edit."""
    found = scrubber.scrub(_text(data) or "")
    return _bytes(found.text) if found.kinds else data


def chosen(report: Report, ids: Iterable[str]) -> tuple[Change, ...]:
    """The open changes that a person named, or all open ones when none is named."""
    waiting = {entry.change.id: entry.change for entry in report.open}
    wanted = tuple(ids) or tuple(waiting)
    if unknown := next((one for one in wanted if one not in waiting), None):
        known = ", ".join(waiting) or "none"
        raise InputError(f"no change {unknown!r} of dream {report.id} is open; open: {known}")
    return tuple(waiting[one] for one in wanted)


def patch(change: Change) -> str:
    """A change as a diff of its files."""
    return "".join(_file_patch(step) for step in change.steps)


def _file_patch(step: FileStep) -> str:
    old, new = (_lines(data) for data in (step.before, step.after))
    names = (
        "/dev/null" if step.before is None else f"a/{step.file}",
        "/dev/null" if step.after is None else f"b/{step.file}",
    )
    found = difflib.unified_diff(old, new, *names, lineterm="")
    return "".join(f"{line}\n" for line in found)


def _lines(data: bytes | None) -> list[str]:
    return [] if data is None else data.decode("utf-8", "replace").splitlines()


# --- as JSON ---


def report_json(report: Report) -> dict[str, Any]:
    return {
        "id": report.id,
        "began": report.began,
        "ended": report.ended,
        "state": report.state,
        "why": report.why,
        "revision": report.revision,
        "dry": report.dry,
        "model": report.model,
        "cost": report.cost,
        "notes": list(report.notes),
        "changes": [_entry_json(entry) for entry in report.entries],
        "ignored": [list(one) for one in report.ignored],
        "flags": [
            {"kind": flag.kind, "files": list(flag.files), "about": flag.about}
            for flag in report.flags
        ],
    }


def _entry_json(entry: Entry) -> dict[str, Any]:
    change = entry.change
    return {
        "id": change.id,
        "kind": change.kind,
        "standing": entry.standing,
        "why": entry.why,
        "reason": change.reason,
        "sources": list(change.sources),
        "files": [
            {"file": step.file, "before": _text(step.before), "after": _text(step.after)}
            for step in change.steps
        ],
        "relies_on": {file: _text(data) for file, data in change.relies_on},
    }


def parse_report(data: Mapping[str, Any]) -> Report:
    """Parse a stored report; raises InputError for anything else."""
    try:
        return Report(
            id=str(data["id"]),
            began=float(data["began"]),
            ended=float(data["ended"]),
            state=data["state"],
            why=str(data["why"]),
            entries=tuple(_parse_entry(one) for one in data["changes"]),
            ignored=tuple((str(a), str(b)) for a, b in data["ignored"]),
            flags=tuple(Flag(f["kind"], tuple(f["files"]), f["about"]) for f in data["flags"]),
            revision=str(data["revision"]),
            dry=bool(data["dry"]),
            notes=tuple(map(str, data.get("notes", ()))),
            model=str(data.get("model", "")),
            cost=None if (cost := data.get("cost", 0.0)) is None else float(cost),
        )
    except (KeyError, TypeError, ValueError, StopIteration) as error:
        raise InputError(f"the report of this dream cannot be read: {error!r}") from error


def _parse_entry(data: Mapping[str, Any]) -> Entry:
    steps = tuple(
        FileStep(one["file"], _bytes(one["before"]), _bytes(one["after"])) for one in data["files"]
    )
    relies = ((file, _bytes(text) or b"") for file, text in data["relies_on"].items())
    kind = next(kind for kind in KINDS if kind == data["kind"])
    standing = next(known for known in STANDINGS if known == data["standing"])
    change = Change(data["id"], kind, steps, data["reason"], tuple(data["sources"]), tuple(relies))
    return Entry(change, standing, data["why"])


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "surrogateescape")


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8", "surrogateescape")


# --- while it runs ---

TURNS_KEPT = 30


@dataclass(frozen=True, slots=True)
class Turn:
    """One step of a running dream: its text, the number of tool calls and the changed files."""

    text: str
    tools: int = 0
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """The progress of a dream: `starting` until its first write, then `updating`."""

    id: str
    pid: int
    began: float
    phase: Literal["starting", "updating"] = "starting"
    state: State = "running"
    why: str = ""
    turns: tuple[Turn, ...] = field(default=())

    def with_turn(self, turn: Turn) -> Status:
        phase = "updating" if turn.files else self.phase
        return replace(self, phase=phase, turns=(*self.turns, turn)[-TURNS_KEPT:])


def status_json(status: Status) -> dict[str, Any]:
    turns = [{"text": t.text, "tools": t.tools, "files": list(t.files)} for t in status.turns]
    return {
        "id": status.id,
        "pid": status.pid,
        "began": status.began,
        "phase": status.phase,
        "state": status.state,
        "why": status.why,
        "turns": turns,
    }


def parse_status(data: Any) -> Status | None:
    """Parse a stored status; None for anything else."""
    try:
        turns = tuple(Turn(t["text"], int(t["tools"]), tuple(t["files"])) for t in data["turns"])
        return Status(
            str(data["id"]),
            int(data["pid"]),
            float(data["began"]),
            data["phase"],
            data["state"],
            str(data["why"]),
            turns,
        )
    except (KeyError, TypeError, ValueError):
        return None
