"""One meeting of our team memory with the team's: what each side needs from the other. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TypeAlias

from reverie.errors import InputError
from reverie.memory import index as indexes
from reverie.memory.index import Index, Pointer
from reverie.memory.manifest import INDEX_FILE
from reverie.memory.revisions import Change, Drop, Put, version
from reverie.stores.foreign_tree import ForeignTree, Refusal, folded
from reverie.stores.team_merge import (
    Files,
    Merge,
    Merged,
    is_same,
    merge_files,
    merge_pointers,
    pointers,
    with_pointers,
)

Changes: TypeAlias = Mapping[str, bytes | None]

# Removing this many memories at once, and leaving none, is an accident.
_EVERYTHING = 3


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes to the team, and what must not."""

    changes: Changes
    refused: tuple[Refusal, ...]


class Meeting:
    """`base` is what the team had when both last met, as far as it was accepted.

    `objection` says why a file may not be shared, `holds_secret` judges a line of the index.
    """

    def __init__(
        self,
        base: Files,
        ours: Files,
        theirs: ForeignTree,
        merge: Merge,
        objection: Callable[[str, bytes], str | None],
        holds_secret: Callable[[str], bool],
    ) -> None:
        self._base = base
        self._ours = ours
        self._theirs = theirs.files
        self.refused = theirs.refused
        self._merge = merge
        self._objection = objection
        self._holds_secret = holds_secret

    def check(self) -> None:
        """Refuse a branch that is no memory, and a loss that nobody can have meant."""
        if not self._base and INDEX_FILE not in self._theirs and self.refused:
            raise InputError(
                f"this branch is not a team memory: it has no {INDEX_FILE}, but "
                f"{self.refused[0].file!r} ({self.refused[0].reason}); give team memory a branch "
                "of its own, such as reverie-memory"
            )
        memories = self._base.keys() & self._theirs.keys() - {INDEX_FILE}
        if len(memories) >= _EVERYTHING and not self._ours.keys() - {INDEX_FILE}:
            raise InputError(
                f"the team folder is empty here, and the team has {len(memories)} memories; they "
                "were not removed for everybody: `reverie undo` brings back what was lost here"
            )

    @cached_property
    def merged(self) -> Merged:
        """What becomes of our files, the index included."""
        made = merge_files(self._base, self._ours, self._theirs, self._left_out, self._merge)
        index = indexes.render(self._pointed(self._index(self._ours), made))
        if index != self._ours.get(INDEX_FILE, b""):
            made.changes[INDEX_FILE] = index
        return made

    @property
    def incoming(self) -> tuple[Change, ...]:
        """The changes to make here, each based on what we saw."""
        changes: list[Change] = []
        for name, data in self.merged.changes.items():
            base = version(self._ours[name]) if name in self._ours else None
            if data is not None and name != INDEX_FILE:
                changes.append(Put(name, data, base))
            elif data is None and base is not None:
                changes.append(Drop(name, base))
        return tuple(changes)

    def index_here(self, index: Index) -> Index:
        """Our index, as it is by now, with the pointers both sides agree on."""
        return self._pointed(index, self.merged)

    @property
    def accepted(self) -> dict[str, bytes]:
        """What the team has now; of what is refused, what it was before: the next base."""
        before = {name: data for name, data in self._base.items() if name in self._left_out}
        return {**before, **self._theirs}

    def outgoing(self) -> Outgoing:
        """What the team's tree lacks to say what ours says: judged anew each time, file by file."""
        here = self._after(self._ours, self.merged.changes)
        gone = self._theirs.keys() - here.keys() - {INDEX_FILE}
        changes: dict[str, bytes | None] = dict.fromkeys(sorted(gone))
        refused: list[Refusal] = []
        for name, reason in self._unshared(here):
            if reason is None:
                changes[name] = here[name]
            else:
                refused.append(Refusal(name, f"not shared: {reason}"))
        refused += [
            Refusal(INDEX_FILE, f"its line for {name} is not passed on: it holds a secret")
            for name in sorted(self._held)
        ]
        return Outgoing(changes | self._shared_index(here, changes), tuple(refused))

    # --- files ---

    @property
    def _left_out(self) -> frozenset[str]:
        return frozenset(refusal.file for refusal in self.refused)

    @staticmethod
    def _after(files: Files, changes: Changes) -> dict[str, bytes]:
        after = {**files, **changes}
        return {name: data for name, data in after.items() if data is not None}

    def _unshared(self, here: Files) -> Iterator[tuple[str, str | None]]:
        """Files of ours that the team does not have like this, with what stands against sharing."""
        there = {folded(name): name for name in (*self._theirs, *self._left_out)}
        for name in sorted(here.keys() - self._left_out - {INDEX_FILE}):
            if not is_same(here[name], self._theirs.get(name)):
                yield name, self._in_the_way(name, there) or self._objection(name, here[name])

    def _in_the_way(self, name: str, there: Mapping[str, str]) -> str | None:
        for folder in PurePosixPath(name).parents:
            if str(folder) in self._left_out:
                return f"the team has something else under {str(folder)!r}"
        twin = there.get(folded(name), name)
        return None if twin == name else f"on some disks it is the same file as {twin!r}"

    # --- the index ---

    @staticmethod
    def _index(side: Files) -> Index:
        return indexes.parse(side.get(INDEX_FILE, b""))

    @cached_property
    def _their_index(self) -> Index:
        """A refused index counts as one that did not change."""
        return self._index(self._base if INDEX_FILE in self._left_out else self._theirs)

    @cached_property
    def _held(self) -> frozenset[str]:
        """Files about which one side says what must not travel: both keep their line."""
        here, there = pointers(self._index(self._ours)), pointers(self._their_index)
        differing = {*here.items()} ^ {*there.items()}
        return frozenset(name for name, line in differing if self._holds_secret(line.render()))

    def _decided(self, here: Files) -> frozenset[str]:
        """Files whose pointers were merged; lines about anything else stay as they are."""
        return frozenset({*self._base, *self._theirs, *here}) - self._left_out - self._held

    def _pointed(self, index: Index, made: Merged) -> Index:
        here = self._after(self._ours, made.changes)
        return with_pointers(index, self._wanted(made, here.keys()), self._decided(here))

    def _wanted(self, made: Merged, files: Set[str]) -> dict[str, Pointer]:
        sides = (self._index(self._ours), self._their_index, self._index(self._base))
        wanted = merge_pointers(*sides, files)
        known = [pointers(side) for side in sides]
        for conflict in made.conflicts:
            file = conflict.file
            # A file that one side removed and that stays needs the pointer somebody still has.
            kept = [side[file] for side in known if file in side]
            wanted |= {file: kept[0]} if kept else {}
            if conflict.beside is not None:
                title = f"{file} in another version"
                hook = f"differs from {file}: keep what is right, remove the other"
                wanted[conflict.beside] = Pointer(title, conflict.beside, hook)
        return wanted

    def _shared_index(self, here: Files, changes: Changes) -> dict[str, bytes | None]:
        if INDEX_FILE in self._left_out:
            return {}
        after = self._after(self._theirs, changes)
        wanted = {n: p for n, p in self._wanted(self.merged, here.keys()).items() if n in after}
        fresh = indexes.render(with_pointers(self._their_index, wanted, self._decided(here)))
        return {INDEX_FILE: fresh} if fresh != self._theirs.get(INDEX_FILE, b"") else {}
