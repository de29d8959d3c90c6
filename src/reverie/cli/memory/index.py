"""`reverie index`: show or rebuild the index that is in every prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import counted, printable
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, opened, scope_option, undo_hint
from reverie.memory.format.index import MOST_BYTES, MOST_LINES, capped, rebuilt, render
from reverie.memory.format.taxonomy import MemoryScope

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.memory.format.revisions import Revision
    from reverie.memory.opening import OpenMemory


_TITLES = {"person": "About you, in every project", "team": "Shared by the team"}


@reverie_command(name="index")
@click.option("--rebuild", is_flag=True, help="Rebuild it from the memories; other lines stay.")
@scope_option
def command(frame: Invocation, rebuild: bool, scope: MemoryScope | None) -> None:
    """Show MEMORY.md as it goes into every prompt.

    The indexes about you and of the team go into every prompt, too, and are shown below.

    \b
    reverie index --rebuild
    """
    memory = opened(frame.app(), scope)
    revision = _rebuild(memory) if rebuild else None
    data = _as_json(memory) | {"rebuilt": rebuild, "revision": revision.id if revision else None}
    others = [(other.scope, capped(other.store.index()).text) for other in memory.others]
    data["others"] = {scope: text for scope, text in others if text}
    frame.answer(data, lambda console: _print(console, data, revision, team=memory.team))


def _rebuild(memory: OpenMemory) -> Revision | None:
    entries = memory.store.entries()
    return memory.store.apply((), PERSON, "rebuild the index", lambda old: rebuilt(old, entries))


def _as_json(memory: OpenMemory) -> dict[str, Any]:
    index = memory.store.index()
    part = capped(index)
    listed = {pointer.file for pointer in index.pointers}
    files = {entry.file: entry.listed for entry in memory.store.entries()}
    return {
        "text": part.text,
        "lines": len(index.lines),
        "bytes": len(render(index)),
        "pointers": len(index.pointers),
        "hidden": part.hidden,
        "limit": part.limit,
        "more": index.more,
        "dangling": sorted(listed - files.keys()),
        "unlisted": sorted(f for f, wanted in files.items() if wanted and f not in listed),
    }


def _print(
    console: Console, data: dict[str, Any], revision: Revision | None, *, team: bool
) -> None:
    text = data["text"].rstrip("\n")
    console.print(printable(text) if text else "The index is empty.", soft_wrap=True)
    for line in _summary(data):
        console.print(printable(line), style="dim", soft_wrap=True)
    for scope, other in data["others"].items():
        console.print(f"\n{_TITLES[scope]} ({scope}/MEMORY.md):", style="bold")
        console.print(printable(other.rstrip("\n")), soft_wrap=True)
    if revision is not None:
        console.print(undo_hint(revision, team=team))
    elif data["rebuilt"]:
        console.print("It was up to date already.")


def _summary(data: dict[str, Any]) -> list[str]:
    sizes = f"{data['lines']} of {MOST_LINES} lines, {data['bytes']:,} of {MOST_BYTES:,} bytes"
    pointers = counted(data["hidden"], "pointer is", "pointers are")
    hidden = f"{pointers} hidden by the limit of {data['limit']}"
    lines = [f"{sizes}; {hidden if data['limit'] else 'nothing is hidden'}"]
    if data["dangling"]:
        lines.append(f"lead nowhere: {', '.join(data['dangling'])} (reverie index --rebuild)")
    if len(data["unlisted"]) > data["more"]:
        count = counted(len(data["unlisted"]), "memory", "memories")
        lines.append(f"not in it: {count} (reverie index --rebuild)")
    return lines
