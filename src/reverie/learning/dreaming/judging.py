"""Judges the changes of a dream: each on its own by the checks, then all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reverie.learning.dreaming.changes import Change, Files, applied, topics_of
from reverie.learning.dreaming.checks import QUESTIONS, REFUSALS, CheckContext, Objection
from reverie.learning.dreaming.facts import parsed


@dataclass(frozen=True, slots=True)
class Budget:
    """How much of a memory a dream may delete or archive without a person."""

    share: float = 0.10

    def room(self, memories: int) -> int:
        return int(self.share * memories)


@dataclass(frozen=True, slots=True)
class Judged:
    """The accepted changes, and the objections to the others."""

    accepted: tuple[Change, ...]
    objections: tuple[Objection, ...] = ()


def judge(changes: Iterable[Change], context: CheckContext, budget: Budget) -> Judged:
    """Check each change on its own, then all of them together."""
    accepted: list[Change] = []
    objections: list[Objection] = []
    for change in changes:
        objection = _objection(change, context)
        if objection is None:
            accepted.append(change)
        else:
            objections.append(objection)
    within, over = _within(accepted, context.before, budget)
    return consistent(Judged(tuple(within), (*objections, *over)), context)


def consistent(judged: Judged, context: CheckContext) -> Judged:
    """Leave out changes that depend on others that were left out."""
    kept, dangling = _linked(judged.accepted, context)
    return Judged(tuple(kept), (*judged.objections, *dangling))


def _objection(change: Change, context: CheckContext) -> Objection | None:
    if change.kind == "re-index":
        return None
    for check in REFUSALS:
        if (reason := check(change, context)) is not None:
            return Objection(change, reason)
    for check in QUESTIONS:
        if (reason := check(change, context)) is not None:
            return Objection(change, reason, "for a person")
    return None


def _within(
    changes: Sequence[Change], before: Files, budget: Budget
) -> tuple[list[Change], list[Objection]]:
    """Accept deletions and archivings in order, up to the budget."""
    room = budget.room(sum(1 for _ in topics_of(before)))
    kept: list[Change] = []
    over: list[Objection] = []
    for change in changes:
        cost = len(change.steps) if change.kind in {"delete", "archive"} else 0
        if cost > room:
            reason = f"more than {budget.share:.0%} would be deleted or archived"
            over.append(Objection(change, reason, "for a person"))
        else:
            room -= cost
            kept.append(change)
    return kept, over


def _linked(
    changes: Sequence[Change], context: CheckContext
) -> tuple[list[Change], list[Objection]]:
    """Leave out changes that would break links; each one left out may require another."""
    kept = list(changes)
    objections: list[Objection] = []
    while (found := _dangling(kept, context)) is not None:
        kept.remove(found.change)
        objections.append(found)
    return kept, objections


def _dangling(changes: Sequence[Change], context: CheckContext) -> Objection | None:
    gone = {step.file: change for change in changes for step in change.steps if step.after is None}
    present = applied(context.before, (c for c in changes if c.kind != "re-index"))
    by_file = {step.file: change for change in changes for step in change.steps}
    if (broken := _broken_heir(changes, present)) is not None:
        return broken
    for topic in topics_of(present):
        for target in topic.linked:
            file = f"{target.removesuffix('.md')}.md"
            if file in gone:
                return Objection(gone[file], f"{topic.file} still points to {file}")
            was = context.before.get(topic.file)
            fresh = was is None or target not in parsed(was, topic.file).linked
            if fresh and topic.file in by_file and not _resolves(file, target, present):
                return Objection(by_file[topic.file], f"{topic.file} would point to nothing")
    return None


def _broken_heir(changes: Sequence[Change], present: Files) -> Objection | None:
    for change in changes:
        for heir, data in change.relies_on:
            if present.get(heir) != data:
                return Objection(change, f"it relies on a change to {heir} that is not made")
    return None


def _resolves(file: str, target: str, present: Files) -> bool:
    return file in present or any(topic.name == target for topic in topics_of(present))
