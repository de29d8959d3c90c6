"""Indexes past conversations, Reverie's and other agents', in bounded steps.

It can stop anywhere without loss: a transcript counts as read only when all of it is indexed, and
no message is indexed twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from reverie.conversation import transcripts
from reverie.conversation.journal import read_lines
from reverie.conversation.records import Record, Said
from reverie.errors import TranscriptError
from reverie.files.atomic import read_json, write_json
from reverie.recall.documents import Episode, Refreshed, Signature
from reverie.recall.topics import signature_text
from reverie.settings.projects import canonical_root, claude_config

if TYPE_CHECKING:
    from reverie.ports import Scrubber
    from reverie.recall.index import RecallIndex
    from reverie.settings.projects import Project

# Every transcript of a project by its session; the indexed ones are given.
Listing = Callable[[Mapping[str, str]], Mapping[str, Path]]

# Where sessions of claude-agent-sdk are mirrored, by project and session.
SDK = "claude-agent-sdk"
# Ids of messages with forgotten content, stored beside the index.
FORGOTTEN = "forgotten-messages.json"
# Messages indexed in one step: a few hundredths of a second.
MESSAGES_A_STEP = 200
# Claude Code says where a session runs within its first lines.
_FIRST_LINES = 20
_KEY = re.compile(r"[^A-Za-z0-9]")
_SPOKEN = ("user", "assistant")


@dataclass(frozen=True, slots=True)
class Progress:
    """How many of the transcripts that changed were read."""

    done: int
    total: int


def conversations(
    project: Project, known: Mapping[str, str], *, user: str | None = None
) -> dict[str, Path]:
    """A project's transcripts, other agents' and ours; ours wins if two have one name.

    A user of a multi-user program gets only those in their own folder.
    """
    theirs = () if user is not None else _claude_code(project.root, known)
    found = {path.stem: path for path in theirs}
    found |= {unquote(path.stem): path for path in below(project.folder / SDK, "*/*.jsonl")}
    found |= {path.parent.name: path for path in below(project.hooks, "*/said.jsonl")}
    return found | {path.stem: path for path in _transcripts(project.sessions)}


def _claude_code(root: Path, known: Mapping[str, str]) -> Iterator[Path]:
    """Sessions in the project or a folder in it: Claude Code names a folder after each path.

    Different paths may have one name, so that a session must say that it belongs here.
    """
    name = _KEY.sub("-", str(root))
    places = claude_config() / "projects"
    for folder in (places / name, *sorted(places.glob(f"{name}-*"))):
        for path in _transcripts(folder):
            # Sub-agents have their own files; their findings are in the conversation.
            if not path.stem.startswith("agent-") and (path.stem in known or _is_in(path, root)):
                yield path


def _transcripts(folder: Path) -> list[Path]:
    return below(folder, "*.jsonl")


def below(folder: Path, pattern: str) -> list[Path]:
    """The files in a folder that match a pattern, by name; none if it cannot be read."""
    try:
        return sorted(folder.glob(pattern))
    except OSError:
        return []


def _is_in(path: Path, root: Path) -> bool:
    with suppress(TranscriptError, OSError, ValueError):
        for _, line in islice(read_lines(path, []), _FIRST_LINES):
            place = line.get("cwd") if isinstance(line, dict) else None
            if isinstance(place, str) and place:
                return canonical_root(Path(place)) == root
    return False


class EpisodeIndexer:
    """Keeps an index up to date with the transcripts, one bounded `step` at a time."""

    def __init__(
        self, index: RecallIndex, listing: Listing, scrubber: Scrubber, current: str = ""
    ) -> None:
        """`current` is the running session, which the model knows already."""
        self._scrubber = scrubber
        self._index = index
        self._listing = listing
        self._current = current
        self._pass: Iterator[Progress] | None = None
        self.problem: str | None = None

    def step(self) -> Progress | None:
        """Do a bounded amount of work; None when everything is indexed. The next step checks again."""
        if self._pass is None:
            self.problem = None
            self._pass = self._work()
        found = next(self._pass, None)
        if found is None:
            self._pass = None
        return found

    def _work(self) -> Iterator[Progress]:
        known = self._index.sessions()
        paths = self._listing(known)
        gone = [session for session in known if session not in paths]
        if gone and not self._went_well(self._index.forget_sessions(*gone)):
            return
        changed = [
            (session, path, signature)
            for session, path in paths.items()
            if session != self._current
            and (signature := _signature(path)) is not None
            and known.get(session) != signature_text(signature)
        ]
        yield Progress(0, len(changed))
        for done, (session, path, signature) in enumerate(changed):
            for well in self._bring_in(session, path, signature):
                if not well:
                    return
                yield Progress(done, len(changed))
            yield Progress(done + 1, len(changed))
        yield from self._give_vectors(len(changed))

    def _bring_in(self, session: str, path: Path, signature: Signature) -> Iterator[bool]:
        left_out = forgotten_messages(self._index.folder).get(session, frozenset())
        messages = [one for one in _messages(path, self._scrubber) if one.id not in left_out]
        if self._index.departs(session, messages):
            yield self._went_well(self._index.forget_sessions(session))
        for start in range(0, len(messages), MESSAGES_A_STEP):
            part = messages[start : start + MESSAGES_A_STEP]
            yield self._went_well(self._index.add_episodes(session, part))
        # An empty or broken transcript is read again when it changes.
        yield self._went_well(self._index.add_episodes(session, (), signature))

    def _give_vectors(self, total: int) -> Iterator[Progress]:
        while (found := self._index.embed()).made and found.left:
            yield Progress(total, total)
        self.problem = found.problem

    def _went_well(self, done: Refreshed) -> bool:
        self.problem = done.problem
        return done.problem is None


def forgotten_messages(folder: Path) -> dict[str, frozenset[str]]:
    """Messages with forgotten content in transcripts that we may not change."""
    known = read_json(folder / FORGOTTEN)
    if not isinstance(known, dict):
        return {}
    return {session: frozenset(map(str, ids)) for session, ids in known.items() if ids}


def leave_out(folder: Path, session: str, messages: Iterable[str]) -> None:
    """Keep these messages out of the index from now on; only their ids are stored."""
    known = forgotten_messages(folder)
    known[session] = known.get(session, frozenset()) | frozenset(messages)
    write_json(folder / FORGOTTEN, {name: sorted(ids) for name, ids in known.items()})


def _messages(path: Path, scrubber: Scrubber) -> list[Episode]:
    """The messages written by people and models, without those of hooks, tools and Reverie.

    Other agents' transcripts may contain secrets, which the index must not.
    """
    with suppress(TranscriptError):
        return list(_episodes(transcripts.load(path).records, scrubber))
    return []


def _episodes(records: Iterable[Record], scrubber: Scrubber) -> Iterator[Episode]:
    for record in records:
        if isinstance(record, Said) and record.message.origin in _SPOKEN and record.message.text:
            message = record.message
            text = scrubber.scrub(message.text).text
            yield Episode(message.id, message.role, message.at, text)


def _signature(path: Path) -> Signature | None:
    with suppress(OSError):
        seen = path.stat()
        return (seen.st_mtime_ns, seen.st_size, seen.st_ino)
    return None
