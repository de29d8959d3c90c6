"""Layer 1: long tool results are stored in files and sent as a preview with the file's path.

A record freezes the bytes of the replacement text, so old sessions must stay readable.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from reverie.context import NotDue
from reverie.context.previews import Kind, counted, json_document, preview
from reverie.context.previews.failures import at_line_end, split
from reverie.core.messages import Message, Text, ToolResult
from reverie.core.window import text_tokens
from reverie.errors import StorageError
from reverie.events import Announce, LayerFired, TroubleNoted, no_listener
from reverie.ports import BlobStore, Scrubber

_TAG = "persisted-output"
_OPENING = re.compile(rf"\A<{_TAG}>\nThe whole output is in (?P<path>.+) \([\d,]+ characters, ")


def persisted(text: str, path: str, preview: str) -> str:
    """Return the replacement for `text`, stored at `path`: its place, its length and a preview."""
    # Tool output must not be able to close the tag.
    inside = preview.replace(f"</{_TAG}", f"<\\/{_TAG}")
    return (
        f"<{_TAG}>\n"
        f"The whole output is in {path} ({len(text):,} characters, {counted(len(split(text)))}).\n"
        "To see more of it, Read that file with an offset and a limit, or search it with Grep.\n"
        "A preview:\n\n"
        f"{inside}\n"
        f"</{_TAG}>"
    )


def path_of(stand_in: str) -> str:
    """Return the path of the stored text; empty when this is no replacement text."""
    found = _OPENING.match(stand_in)
    return found["path"] if found else ""


NAME = "tool results"

# The results of these tools are in a file already; storing them would make the agent read in
# circles.
NEVER_STORED = frozenset({"Read"})

# The name for the threshold of commands that print files.
PRINTING = "printing files"

# A replacement with its preview has about this many characters; storing a result of this size saves
# nothing.
STAND_IN = 3_000
LEAST_STORED = 4_000
# Fewer characters of a result than this are not worth sending.
_LEAST_CUT = 1_000


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits in characters. `thresholds` holds limits by tool; None means never stored."""

    per_result: int = 50_000
    per_message: int = 200_000
    preview: Kind = "useful"
    thresholds: Mapping[str, int | None] = field(default_factory=dict)

    def threshold(self, tool: str) -> int | None:
        return self.thresholds.get(tool, None if tool in NEVER_STORED else self.per_result)


@dataclass(frozen=True, slots=True)
class Store:
    """Store this text in a file."""

    tool_use_id: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Replace an empty result by a note: empty results confuse some models."""

    tool_use_id: str
    text: str


Decision: TypeAlias = Store | Mark


@dataclass(frozen=True, slots=True)
class Plan:
    """What changes in a message; `kept` counts the characters of its unchanged results."""

    decisions: tuple[Decision, ...]
    kept: int
    budget: Budget

    @property
    def stores(self) -> list[Store]:
        return [one for one in self.decisions if isinstance(one, Store)]


@dataclass(frozen=True, slots=True)
class Replacement:
    """From now on the result is sent as `text`; `path` is empty when it is in no file."""

    tool_use_id: str
    text: str
    path: str
    before_chars: int
    after_chars: int


@dataclass(frozen=True, slots=True)
class Due:
    """The results of a message that are not decided yet, each with the name of its tool."""

    results: tuple[tuple[ToolResult, str], ...]


def due(message: Message, names: Mapping[str, str], decided: Container[str]) -> Due | NotDue:
    """Check for results that were never sent."""
    fresh = tuple(
        (result, names.get(result.tool_use_id, ""))
        for result in message.tool_results
        if result.tool_use_id not in decided
    )
    return Due(fresh) if fresh else NotDue("there are no new tool results")


def plan(due: Due, budget: Budget) -> Plan | NotDue:
    """Store results over the result limit, then the largest until the message is within its limit."""
    sizes = [_Sized(result, tool, len(result.text)) for result, tool in due.results]
    stored = {item.id: "over the limit of a result" for item in sizes if item.over(budget)}
    total = sum(STAND_IN if item.id in stored else item.chars for item in sizes)
    for item in sorted(sizes, key=lambda item: -item.chars):
        if total <= budget.per_message:
            break
        if item.id not in stored and item.may_be_stored(budget):
            stored[item.id] = "over the limit of a message"
            total -= item.chars - STAND_IN
    decisions = tuple(_decisions(sizes, stored))
    if not decisions:
        return NotDue("every result is within its limit")
    kept = sum(item.chars for item in sizes if item.id not in stored)
    return Plan(decisions, kept, budget)


def run(
    plan: Plan, blobs: BlobStore, announce: Announce = no_listener, scrubber: Scrubber | None = None
) -> tuple[Replacement, ...]:
    """Write the files and return the replacement texts, which the session records.

    Secrets are removed from file and preview, because the file outlives the session.
    """
    marked = [_marked(one) for one in plan.decisions if isinstance(one, Mark)]
    stored: list[Replacement] = []
    failed: list[Store] = []
    trouble: StorageError | None = None
    for store in plan.stores:
        try:
            clean = store if scrubber is None else _clean(store, scrubber)
            stored.append(_stored(clean, blobs, plan.budget.preview))
        except StorageError as error:
            trouble = trouble or error
            failed.append(store)
    taken = plan.kept + sum(one.after_chars for one in (*marked, *stored))
    done = (*marked, *stored, *_cut(failed, plan.budget.per_message - taken))
    if trouble is not None:
        what = f"{trouble}; {len(failed)} results stay in the context"
        announce(TroubleNoted(f"layers.{NAME}", what))
    if any(one.before_chars for one in done):
        announce(_fired(plan, done))
    return done


# ── planning ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Sized:
    result: ToolResult
    tool: str
    chars: int

    @property
    def id(self) -> str:
        return self.result.tool_use_id

    @property
    def empty(self) -> bool:
        parts = self.result.content
        return all(isinstance(part, Text) and not part.text.strip() for part in parts)

    def over(self, budget: Budget) -> bool:
        limit = budget.threshold(self.tool)
        return limit is not None and self.chars > limit and not self.empty

    def may_be_stored(self, budget: Budget) -> bool:
        return (
            self.chars > LEAST_STORED and budget.threshold(self.tool) is not None and not self.empty
        )


def _decisions(sizes: Sequence[_Sized], stored: Mapping[str, str]) -> list[Decision]:
    """In the order of the message."""
    found: list[Decision] = []
    for item in sizes:
        if item.id in stored:
            found.append(Store(item.id, item.result.text, stored[item.id]))
        elif item.empty:
            found.append(Mark(item.id, f"[{item.tool or 'The tool'} gave no output]"))
    return found


# ── running ──────────────────────────────────────────────────────────────────


def _marked(mark: Mark) -> Replacement:
    return Replacement(mark.tool_use_id, mark.text, "", 0, len(mark.text))


def _clean(store: Store, scrubber: Scrubber) -> Store:
    return replace(store, text=scrubber.scrub(store.text).text)


def _stored(store: Store, blobs: BlobStore, kind: Kind) -> Replacement:
    ending = "json" if json_document(store.text) is not None else "txt"
    path = blobs.put(f"{store.tool_use_id}.{ending}", store.text)
    text = persisted(store.text, path, preview(store.text, kind))
    return Replacement(store.tool_use_id, text, path, len(store.text), len(text))


def _cut(failed: Sequence[Store], room: int) -> list[Replacement]:
    """Cut results that could not be stored, longest first, until the message is within its limit."""
    limit = _fair_limit([len(store.text) for store in failed], max(room, 0))
    return [
        Replacement(store.tool_use_id, text, "", len(store.text), len(text))
        for store in failed
        if len(store.text) > limit
        for text in [_shortened(store.text, limit)]
    ]


def _fair_limit(sizes: Sequence[int], room: int) -> int:
    """Return the largest size per result at which all of them fit into the room."""
    waiting = sorted(sizes)
    while waiting and waiting[0] * len(waiting) <= room:
        room -= waiting.pop(0)
    return max(room // len(waiting), _LEAST_CUT) if waiting else max(sizes, default=0)


def _shortened(text: str, limit: int) -> str:
    note = (
        f"[This output was cut: its beginning follows. It has {len(text):,} characters, and it "
        "could not be saved to a file. Run the tool again, more narrowly, to see the rest.]\n"
    )
    return note + at_line_end(text[: limit - len(note)])


def _fired(plan: Plan, done: Sequence[Replacement]) -> LayerFired:
    after = {one.tool_use_id: one.text for one in done}
    stores = [one for one in plan.stores if one.tool_use_id in after]
    why = f"{len(stores)} long results: " + ", ".join(dict.fromkeys(one.why for one in stores))
    return LayerFired(
        NAME,
        sum(text_tokens(store.text) for store in stores),
        sum(text_tokens(after[store.tool_use_id]) for store in stores),
        why,
    )
