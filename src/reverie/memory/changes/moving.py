"""Move a memory to another scope."""

from __future__ import annotations

from dataclasses import dataclass

from reverie.errors import InputError
from reverie.memory.changes import judging
from reverie.memory.changes.keeper import Keeper
from reverie.memory.format import topic as topics
from reverie.memory.format.paths import file_name
from reverie.memory.format.revisions import Author
from reverie.memory.format.taxonomy import MemoryScope, labelled


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The source or target of a move: a keeper and its scope."""

    keeper: Keeper
    scope: MemoryScope


def move(file: str, source: Endpoint, target: Endpoint, author: Author) -> str:
    """Move a memory to another scope, with all its keys; return its new label.

    It is written before it is removed, so that a crash in between leaves two copies, not none.
    """
    stored = source.keeper.require(file)
    old = stored.topic
    if target.scope == "team" and old.type is not None:
        refusal = judging.not_for_team(old.type, ())
        if refusal is not None:
            raise InputError(refusal.reason)
    taken = [entry.file for entry in target.keeper.store.entries()]
    name = old.file
    if name.casefold() in map(str.casefold, taken):
        name = file_name(name.removesuffix(".md"), taken)
    text = topics.render(old).decode("utf-8", "surrogateescape")
    there, here = labelled(name, target.scope), labelled(old.file, source.scope)
    target.keeper.create(name, text, author, f"move {here} to {there}")
    for before in old.supersedes:
        replaced = source.keeper.store.read(before)
        if replaced is not None and replaced.topic.superseded_by == old.file:
            fresh = replaced.topic.with_(superseded_by=there)
            source.keeper.change(replaced, fresh, author, f"move {here} to {there}")
    source.keeper.forget_all((old.file,), author, f"move {here} to {there}")
    return there
