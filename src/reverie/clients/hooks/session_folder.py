"""What is kept of another client's session: what it was shown, how far it was read, notes, long results."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.clients.hooks.events import TRIAL
from reverie.context import NotDue
from reverie.context.tool_results import Budget, Due, Plan, plan, run
from reverie.conversation.files import FolderBlobs, TextFile, safe_name
from reverie.conversation.journal import Journal
from reverie.conversation.records import Opened, Said
from reverie.core.messages import Message, Text, ToolResult
from reverie.files.json_files import read_json, write_json

if TYPE_CHECKING:
    from reverie.clients.hooks.events import HookEvent, ToolFinished
    from reverie.events import Announce
    from reverie.ports import BlobStore, Scrubber
    from reverie.settings.projects import Project


FOLDER = "hooks"
KEPT_SESSIONS = 200
KEPT_SECONDS = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Shown:
    """What a session was given: the digest of its opening, memories and their size, and its turns."""

    opening: str = ""
    files: tuple[str, ...] = ()
    bytes: int = 0
    turns: int = 0

    def forgotten(self) -> Shown:
        """After a compaction the model has none of it any more."""
        return Shown(turns=self.turns)


class SessionFolder:
    """One client's session, in a folder of the project's own."""

    def __init__(self, project: Project, occasion: HookEvent, scrubber: Scrubber) -> None:
        self.path = project.folder / FOLDER / safe_name(f"{occasion.client}-{occasion.session}")
        self._session = occasion.session
        self._told = occasion.transcript
        self.scrubber = scrubber

    @property
    def name(self) -> str:
        """What the conversation is cited by."""
        return self._told.stem if self._told else self.path.name

    @property
    def trial(self) -> bool:
        """Is it nobody's conversation, so that nothing is to come of it?"""
        return self._session.startswith(TRIAL)

    @property
    def transcript(self) -> Path:
        """The client's own, or what its hooks told us."""
        return self._told or self.path / "said.jsonl"

    @property
    def notes(self) -> TextFile:
        return TextFile(self.path / "notes.md", self.scrubber)

    @property
    def results(self) -> FolderBlobs:
        return FolderBlobs(self.path / "tool-results", self.scrubber)

    def shown(self) -> Shown:
        return _shown(read_json(self.path / "shown.json"))

    def keep(self, shown: Shown) -> None:
        write_json(self.path / "shown.json", asdict(shown))

    def learnt_up_to(self) -> str | None:
        """The last message that was looked through for memories."""
        data = read_json(self.path / "learnt.json")
        found = data.get("up_to") if isinstance(data, dict) else None
        return found if isinstance(found, str) else None

    def keep_learnt(self, up_to: str) -> None:
        write_json(self.path / "learnt.json", {"up_to": up_to})

    @property
    def hears(self) -> bool:
        """Is what is said written down here, and not by the client itself?"""
        return self._told is None

    def hear(self, message: Message) -> None:
        """Write down what was said, where the client's own transcript is nothing we can read."""
        if not self.hears:
            return
        path = self.transcript
        opening = () if path.exists() else (Opened(self._session, message.at),)
        with Journal(path, self.scrubber) as journal:
            journal.append(*opening, Said(message))


def _shown(data: object) -> Shown:
    """What the file says; fields that make no sense count as not there."""
    if not isinstance(data, dict):
        return Shown()
    files = data.get("files")
    found = Shown(opening=str(data.get("opening") or ""))
    if isinstance(files, list):
        found = replace(found, files=tuple(file for file in files if isinstance(file, str)))
    with suppress(TypeError, ValueError):
        found = replace(found, bytes=int(data["bytes"]), turns=int(data["turns"]))
    return found


def sweep(project: Project, now: float) -> None:
    """Remove what nobody will come back for: sessions of a month ago, beyond the newest ones."""
    aged = sorted(_aged(project.folder / FOLDER), reverse=True)
    for changed, path in aged[KEPT_SESSIONS:]:
        if now - changed > KEPT_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _aged(folder: Path) -> Iterator[tuple[float, Path]]:
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):
                yield path.stat().st_mtime, path


# Clients cut or store by themselves from about 30,000 characters on.
LIMIT = 20_000


def replaced(
    tool: ToolFinished,
    budget: Budget,
    blobs: BlobStore,
    announce: Announce,
    scrubber: Scrubber | None = None,
) -> Any:
    """The response with previews for what is too long in it; None when it stays as it is."""
    texts = {field: text for field in tool.outputs if isinstance(text := _output(tool, field), str)}
    found: dict[str, str] = {}
    for field, text in texts.items():
        planned = _planned(_named(tool, field, text), tool.name, text, budget)
        if not isinstance(planned, NotDue):
            # Without a file there is nothing to read on in: then the output stays whole.
            done = run(planned, blobs, announce, scrubber)
            text = next((one.text for one in done if one.path), None)
            found |= {} if text is None else {field: text}
    if not found:
        return None
    if tool.outputs == ("",):
        return found[""]
    return {**tool.response, **found}


def _output(tool: ToolFinished, field: str) -> object:
    return tool.response.get(field) if field else tool.response


def _named(tool: ToolFinished, field: str, text: str) -> str:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return "-".join(part for part in (tool.id or digest, field) if part)


def _planned(name: str, tool: str, text: str, budget: Budget) -> Plan | NotDue:
    limit = budget.threshold(tool)
    if limit is None or len(text) <= limit:
        return NotDue("it is not too long")
    return plan(Due(((ToolResult(name, (Text(text),)), tool),)), budget)
