"""The folder Reverie keeps for another client's session: memories shown, progress, notes, long results."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.clients.hooks.events import TRIAL
from reverie.context import NotDue
from reverie.context.tool_results import Budget, Due, Plan, plan, run
from reverie.conversation.journal import FolderBlobs, Journal, TextFile, safe_name
from reverie.conversation.records import Opened, Said
from reverie.core.messages import Message, Text, ToolResult
from reverie.files.atomic import read_json, write_json

if TYPE_CHECKING:
    from reverie.clients.hooks.events import HookEvent, ToolFinished
    from reverie.events import Announce
    from reverie.ports import BlobStore, Scrubber
    from reverie.settings.projects import Project

FOLDER = "hooks"
KEPT_SESSIONS = 200
KEPT_SECONDS = 30 * 86_400.0
EVENTS = "events.jsonl"
LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class Shown:
    """What a session was shown (the opening's digest, memories and their size), and its turn count.

    `used` are memories that its answers used; `told` is what the person was last shown about it.
    """

    opening: str = ""
    files: tuple[str, ...] = ()
    bytes: int = 0
    turns: int = 0
    used: tuple[str, ...] = ()
    told: str = ""

    def forgotten(self) -> Shown:
        """The same session after a compaction, which drops everything it was shown."""
        return Shown(turns=self.turns, used=self.used, told=self.told)


class SessionFolder:
    """The folder for one client's session, inside the project's folder in Reverie's home."""

    def __init__(self, project: Project, event: HookEvent, scrubber: Scrubber) -> None:
        self.path = project.folder / FOLDER / safe_name(f"{event.client}-{event.session}")
        self._session = event.session
        self._client_transcript = event.transcript
        self.scrubber = scrubber

    @property
    def name(self) -> str:
        """The name by which memories cite this conversation."""
        return self._client_transcript.stem if self._client_transcript else self.path.name

    @property
    def trial(self) -> bool:
        """Is this a trial by `reverie doctor`, from which nothing is learnt?"""
        return self._session.startswith(TRIAL)

    @property
    def transcript(self) -> Path:
        """The client's own transcript, or the one recorded here from its hooks."""
        return self._client_transcript or self.path / "said.jsonl"

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
        """The id of the last message that was searched for memories."""
        data = read_json(self.path / "learnt.json")
        found = data.get("up_to") if isinstance(data, dict) else None
        return found if isinstance(found, str) else None

    def keep_learnt(self, up_to: str) -> None:
        write_json(self.path / "learnt.json", {"up_to": up_to, "saved": list(self.saved())})

    def saved(self) -> tuple[str, ...]:
        """The memories that were learnt from this session."""
        data = read_json(self.path / "learnt.json")
        return _texts(data.get("saved")) if isinstance(data, dict) else ()

    def keep_saved(self, files: Sequence[str]) -> None:
        known = dict.fromkeys((*self.saved(), *files))
        write_json(self.path / "learnt.json", {"up_to": self.learnt_up_to(), "saved": list(known)})

    @property
    def events(self) -> Path:
        """What memory did in this session, one line per event, for `reverie watch`; no text is included."""
        return self.path / EVENTS

    def log(self, what: str, **more: object) -> None:
        """Add a line to the events; a full disk must not fail a hook."""
        line = json.dumps({"at": time.time(), "what": what, **more}, ensure_ascii=False)  # noqa: TID251
        with suppress(OSError):
            self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
            with open(self.events, "a", encoding="utf-8", opener=_private) as file:
                file.write(f"{line}\n")

    @property
    def hears(self) -> bool:
        """Is the conversation recorded here, because the client's transcript cannot be read?"""
        return self._client_transcript is None

    def hear(self, message: Message) -> None:
        """Record a message, unless the client's own transcript can be read."""
        if not self.hears:
            return
        path = self.transcript
        opening = () if path.exists() else (Opened(self._session, message.at),)
        with Journal(path, self.scrubber) as journal:
            journal.append(*opening, Said(message))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def summary_line(shown: Shown, saved: Sequence[str]) -> str:
    """What memory did in a session, for the person: "3 memories used, 1 learnt: …"; empty if nothing."""
    parts = [f"{len(shown.used)} of {len(shown.files)} shown memories used"] if shown.used else []
    parts += [f"{len(saved)} learnt"] if saved else []
    if not parts:
        return ""
    names = ", ".join(Path(file).stem for file in dict.fromkeys((*saved, *shown.used)))
    line = f"Reverie: {', '.join(parts)}: {names}"
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def summary_of(folder: Path) -> str:
    """The line about the session that is kept in a folder."""
    learnt = read_json(folder / "learnt.json")
    saved = _texts(learnt.get("saved")) if isinstance(learnt, dict) else ()
    return summary_line(_shown(read_json(folder / "shown.json")), saved)


def _shown(data: object) -> Shown:
    """Parse shown.json; invalid fields get their defaults."""
    if not isinstance(data, dict):
        return Shown()
    found = Shown(opening=str(data.get("opening") or ""), told=str(data.get("told") or ""))
    found = replace(found, files=_texts(data.get("files")), used=_texts(data.get("used")))
    with suppress(TypeError, ValueError):
        found = replace(found, bytes=int(data["bytes"]), turns=int(data["turns"]))
    return found


def sweep(project: Project, now: float) -> None:
    """Remove folders of sessions older than a month, but keep the newest KEPT_SESSIONS."""
    aged = sorted(_aged(project.folder / FOLDER), reverse=True)
    for changed, path in aged[KEPT_SESSIONS:]:
        if now - changed > KEPT_SECONDS:
            shutil.rmtree(path, ignore_errors=True)


def _aged(folder: Path) -> Iterator[tuple[float, Path]]:
    with suppress(OSError):
        for path in folder.iterdir():
            with suppress(OSError):
                yield path.stat().st_mtime, path


# In characters. Clients themselves cut or store outputs from about 30,000.
LIMIT = 20_000


def replaced(
    tool: ToolFinished,
    budget: Budget,
    blobs: BlobStore,
    announce: Announce,
    scrubber: Scrubber | None = None,
) -> Any:
    """The response with previews in place of its long outputs; None if none is too long."""
    texts = {field: text for field in tool.outputs if isinstance(text := _output(tool, field), str)}
    found: dict[str, str] = {}
    for field, text in texts.items():
        planned = _planned(_blob_name(tool, field, text), tool.name, text, budget)
        if not isinstance(planned, NotDue):
            # If the file could not be written, the output stays whole.
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


def _blob_name(tool: ToolFinished, field: str, text: str) -> str:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()
    return "-".join(part for part in (tool.id or digest, field) if part)


def _planned(name: str, tool: str, text: str, budget: Budget) -> Plan | NotDue:
    limit = budget.threshold(tool)
    if limit is None or len(text) <= limit:
        return NotDue("it is not too long")
    return plan(Due(((ToolResult(name, (Text(text),)), tool),)), budget)
