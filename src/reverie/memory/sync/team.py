"""Synchronise team memory (`memory/team/`) with a branch of a git remote.

There are two histories. Ours is fine-grained and stays on this machine: its commits may contain
private text, such as a secret that was removed later. The team's has one commit for each time a
member shared something, under that member's name.

A sync fetches the branch, merges it file by file into ours (a normal change, which then gets the
team's commit as its second parent), commits what the team lacks on top of the branch, and pushes.
Other files in the branch are left untouched. The reference SYNCED records the team's state at the
last sync. If a sync is killed at any point, the next one continues.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pygit2

from reverie.errors import InputError, ReverieError, StorageError, WriteConflict
from reverie.files.atomic import read_json, write_json
from reverie.files.locks import exclusive
from reverie.memory.directory import Directory
from reverie.memory.format import topic as topics
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.revisions import Author, render_message
from reverie.memory.format.taxonomy import may_share
from reverie.memory.format.topic import LARGEST_FILE
from reverie.memory.git_trees import (
    commit_of,
    contents_of,
    explained,
    open_repository,
    tree_of,
)
from reverie.memory.history import MAIN, GitHistory
from reverie.memory.store import FileStore
from reverie.memory.sync.accepting import Changes, ForeignTree, Refusal, TeamMerge, read_tree
from reverie.memory.sync.merge import Conflict, is_same, marked, shown
from reverie.memory.sync.remote import Remote
from reverie.ports import Clock, Scrubber

ATTEMPTS = 5

# A commit on top of the team's, whose tree is what we accepted of it.
SYNCED = "refs/reverie/team/synced"
# The same for a push in progress: it becomes SYNCED when the branch contains it.
PUBLISHING = "refs/reverie/team/publishing"
_FETCHED = "refs/reverie/team/fetched/"

_THE_TEAM = Author("team")


@dataclass(frozen=True, slots=True)
class SyncReport:
    """The result of a sync. `started`: the branch was created."""

    pulled: tuple[str, ...] = ()
    pushed: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    refused: tuple[Refusal, ...] = ()
    started: bool = False


class TeamSync:
    """Synchronises a team store with its remote."""

    def __init__(self, store: FileStore, remote: Remote, scrubber: Scrubber, clock: Clock) -> None:
        self._store = store
        self._remote = remote
        self._scrubber = scrubber
        self._clock = clock
        self._git_dir = store.history.git_dir
        self._directory = Directory(store.root)

    def sync(self, author: Author) -> SyncReport:
        """Pull, merge and push; start again if another push came first."""
        report = SyncReport()
        with exclusive(self._git_dir.with_suffix(".lock")), explained(self._git_dir):
            for _ in range(ATTEMPTS):
                self._begin()
                theirs = self._fetch()
                self._settle(theirs)
                team_merge = self._pull(theirs)
                report = _with_pulled(report, team_merge)
                outgoing = team_merge.outgoing()
                if self._publish(theirs, outgoing.changes, author):
                    return replace(
                        report,
                        pushed=_names(outgoing.changes),
                        refused=(*team_merge.refused, *outgoing.refused),
                        started=theirs is None and bool(outgoing.changes),
                    )
        raise self._too_busy()

    # --- coming in ---

    def _begin(self) -> None:
        """Commit our current state, including hand edits; at least one commit exists after it."""
        with self._store.exclusively():
            if self._store.history.is_empty:
                self._store.history.record({}, _THE_TEAM, "join the team's memory")
        self._repo = open_repository(self._git_dir)
        # Only a sync locks these, and one runs at a time: an existing lock is stale.
        for reference in (SYNCED, PUBLISHING):
            (self._git_dir / f"{reference}.lock").unlink(missing_ok=True)

    def _fetch(self) -> str | None:
        """Fetch the team's newest commit to a new reference, which no dead process can have locked."""
        references = self._repo.references
        for name in [name for name in references if name.startswith(_FETCHED)]:
            references.delete(name)
        into = f"{_FETCHED}{secrets.token_hex(8)}"
        return self._at(into) if self._remote.fetch(self._git_dir, into) else None

    def _settle(self, theirs: str | None) -> None:
        """Resolve a push that may have been interrupted: it succeeded if the branch contains it."""
        mine = self._at(PUBLISHING)
        if mine is None:
            return
        if self._contains(theirs, mine):
            self._repo.references.create(SYNCED, mine, force=True)
        self._repo.references.delete(PUBLISHING)

    def _pull(self, theirs: str | None) -> TeamMerge:
        """Merge into ours; repeat if another process wrote to it meanwhile."""
        for _ in range(ATTEMPTS):
            team_merge = self._merge_with(theirs)
            if theirs is None or self._take(team_merge, theirs):
                break
            self._store.notice_hand_edits()
        else:
            raise self._too_busy()
        if theirs is not None:
            tree = tree_of(self._repo, None, team_merge.accepted)
            self._repo.references.create(SYNCED, self._note(tree, theirs), force=True)
        return team_merge

    def _merge_with(self, theirs: str | None) -> TeamMerge:
        ours = self._files(MAIN)
        found = ForeignTree()
        if theirs is not None:
            tree = commit_of(self._repo, theirs).tree
            found = read_tree(self._repo, tree, ours, self._objection_to_taking)
        synced = self._at(SYNCED)
        # If the branch was rewritten, merge without a base, so that nothing counts as removed.
        base = self._files(SYNCED) if synced and self._contains(theirs, synced) else {}
        merge = self._store.history.merge
        team_merge = TeamMerge(base, ours, found, merge, self._objection, self._holds_secret)
        team_merge.check()
        return team_merge

    def _take(self, team_merge: TeamMerge, theirs: str) -> bool:
        """Apply the merge; False if another process wrote meanwhile and it must be redone."""
        changes = team_merge.merged.changes
        summary = f"from the team: {shown(_names(changes))}"
        try:
            made = self._store.apply(team_merge.incoming, _THE_TEAM, summary, team_merge.index_here)
        except WriteConflict:
            return False
        if made is not None:
            self._link(made.id, theirs)
        return True

    def _link(self, made: str, theirs: str) -> None:
        """Make the team's commit a second parent of our newest one, so that blame finds authors.

        If the process dies before this, the next merge adds the link.
        """
        with self._store.exclusively():
            newest = commit_of(self._repo, self._at(MAIN) or made)
            parents = [*map(str, newest.parent_ids), theirs]
            message = newest.message
            if str(newest.id) != made:
                message = render_message("with the team's history", _THE_TEAM)
                parents = [str(newest.id), theirs]
            who = self._signature(_THE_TEAM.writer, "reverie@localhost")
            linked = self._repo.create_commit(None, who, who, message, newest.tree.id, parents)
            self._repo.references.create(MAIN, linked, force=True)

    # --- going out ---

    def _publish(self, theirs: str | None, changes: Changes, author: Author) -> bool:
        """Push one commit on top of the team's; False if that is no longer the newest."""
        if not changes:
            return True
        repo = self._repo
        parents = [] if theirs is None else [theirs]
        tree = None if theirs is None else commit_of(repo, theirs).tree
        # Session, messages and model stay private; the team sees who changed what.
        message = render_message(f"share {shown(_names(changes))}", Author(author.writer))
        person = self._remote.identity(self._git_dir) or (author.writer, "reverie@localhost")
        who = self._signature(*person)
        commit = repo.create_commit(None, who, who, message, tree_of(repo, tree, changes), parents)
        synced = None if theirs is None else self._at(SYNCED)
        base = None if synced is None else commit_of(repo, synced).tree
        note = self._note(tree_of(repo, base, changes), str(commit))
        repo.references.create(PUBLISHING, note, force=True)
        if not self._remote.push(self._git_dir, str(commit)):
            return False
        self._settle(str(commit))
        return True

    # --- what may be shared ---

    def _objection_to_taking(self, file: str, data: bytes) -> str | None:
        try:
            # Fails early if we have a link or a folder where their file should be.
            present = self._directory.read(file, LARGEST_FILE + 1) or b""
        except ReverieError as error:
            return str(error)
        if len(present) > LARGEST_FILE:
            return f"the file here is larger than {LARGEST_FILE:,} bytes: make it smaller first"
        return self._objection(file, marked(data))

    def _objection(self, file: str, data: bytes) -> str | None:
        """Why a file may be neither pulled nor pushed."""
        if len(data) > LARGEST_FILE:
            return f"it has {len(data):,} bytes; a memory holds at most {LARGEST_FILE:,}"
        if b"\0" in data:
            return "it is not text: it holds a NUL byte"
        if file == INDEX_FILE:
            return None
        if not may_share(topics.parse(data, file).type):
            return "it is about a person (type: user), and such memories are always private"
        kinds = self._scrubber.scrub(data.decode("utf-8", "replace")).kinds
        return f"it holds a secret ({', '.join(kinds)})" if kinds else None

    def _holds_secret(self, line: str) -> bool:
        return bool(self._scrubber.scrub(line).kinds)

    # --- the repository ---

    def _at(self, reference: str) -> str | None:
        found = self._repo.references.get(reference)
        return None if found is None else str(found.peel(pygit2.Commit).id)

    def _files(self, reference: str) -> dict[str, bytes]:
        return contents_of(self._repo, self._repo.references[reference].peel(pygit2.Commit).id)

    def _note(self, tree: pygit2.Oid, of: str) -> str:
        """A local commit that records what we accepted of a team's commit."""
        who = self._signature(_THE_TEAM.writer, "reverie@localhost")
        return str(self._repo.create_commit(None, who, who, f"the team at {of}\n", tree, [of]))

    def _contains(self, theirs: str | None, note: str) -> bool:
        """Whether the team's branch still contains the commit of a note."""
        known = str(commit_of(self._repo, note).parent_ids[0])
        return theirs is not None and (theirs == known or self._repo.descendant_of(theirs, known))

    def _signature(self, name: str, email: str) -> pygit2.Signature:
        return pygit2.Signature(name, email, int(self._clock.now()), 0)

    def _too_busy(self) -> StorageError:
        return StorageError(
            f"other processes wrote {ATTEMPTS} times while merging with {self._remote.name}; "
            "nothing was lost: sync again in a moment"
        )


def _with_pulled(report: SyncReport, team_merge: TeamMerge) -> SyncReport:
    """Add one round's changes and conflicts to the report."""
    pulled = {*report.pulled, *_names(team_merge.merged.changes)}
    conflicts = dict.fromkeys((*report.conflicts, *team_merge.merged.conflicts))
    return replace(report, pulled=tuple(sorted(pulled)), conflicts=tuple(conflicts))


def _names(changes: Changes) -> tuple[str, ...]:
    """The changed memories; the index only if nothing else changed."""
    return tuple(sorted(changes.keys() - {INDEX_FILE})) or tuple(changes)


_FILE = "remote.json"


@dataclass(frozen=True, slots=True)
class TeamAddress:
    """A git remote and the branch on it."""

    url: str
    branch: str = "main"

    def remote(self, environment: Mapping[str, str]) -> Remote:
        return Remote(self.url, environment, self.branch)


def read_address(state: Path) -> TeamAddress | None:
    data = read_json(state / _FILE)
    if not isinstance(data, dict) or not data.keys() >= {"url", "branch"}:
        return None
    return TeamAddress(str(data["url"]), str(data["branch"]))


def write_address(state: Path, address: TeamAddress) -> None:
    """Save the address with mode 0600: it may contain a password."""
    address.remote({})
    write_json(state / _FILE, asdict(address))


def unsent(history: GitHistory) -> tuple[str, ...]:
    """Memories that differ from the team's at the last sync, ignoring the mark."""
    ours = history.files()
    try:
        theirs = history.files(SYNCED)
    except InputError:
        return tuple(sorted(ours.keys() - {INDEX_FILE}))
    touched = {name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)}
    changed = [
        name
        for name in touched - {INDEX_FILE}
        if not is_same(history.read(name), history.read(name, SYNCED))
    ]
    return tuple(sorted(changed))
