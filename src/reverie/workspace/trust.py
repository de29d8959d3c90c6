"""The settings files inside a project, the hooks files, and the person's answers to them.

Works without loading the settings, so that an invalid file can still be shown and moved.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reverie.errors import InputError, StorageError
from reverie.files import atomic
from reverie.files.atomic import make_private, write_json
from reverie.settings import sources
from reverie.settings.projects import find_project
from reverie.settings.resolve import home_of, local_file, project_files, record_file

HOOKS = "hooks.json"
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PreCompact",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "SessionEnd",
)
# Events of Claude Code that do not occur here, but a file written for it may name them.
PASSED_OVER = (
    "Notification",
    "PermissionRequest",
    "PostCompact",
    "PostToolBatch",
    "Setup",
)
SECONDS = 60.0
MOST_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Command:
    """One hook; `matcher` is a pattern for names of tools or types of agents, empty for all.

    `own`: it is from the person's own file, and so may allow a call without a question.
    """

    event: str
    command: str
    matcher: str = ""
    timeout: float = SECONDS
    own: bool = False

    def matches(self, tool: str) -> bool:
        if not self.matcher or self.matcher == "*":
            return True
        try:
            return re.fullmatch(self.matcher, tool) is not None
        except re.error:
            return self.matcher == tool


@dataclass(frozen=True, slots=True)
class ProjectHooks:
    """The hooks file inside a project, and the record of the person's answers about it."""

    path: Path
    record: Path

    def read(self) -> bytes:
        """Its bytes; empty if there is none. ValueError or OSError if it cannot be used."""
        if not self.path.exists():
            return b""
        return sources.read_content(
            sources.SettingsFile("project", self.path, self.path, self.record)
        )


def hooks_file(home: Path, root: Path) -> ProjectHooks:
    return ProjectHooks(root.absolute() / ".reverie" / HOOKS, record_file(home, root))


def problem_in(content: bytes) -> str:
    """Why a hooks file cannot be used as it is; empty if it can."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        return f"this is not JSON ({error})"
    events = data.get("hooks") if isinstance(data, dict) else None
    if not isinstance(events, dict):
        return 'it should hold {"hooks": {EVENT: [...]}}'
    unknown = sorted(events.keys() - {*EVENTS, *PASSED_OVER})
    return f"{unknown[0]!r} is not an event; known: {', '.join(EVENTS)}" if unknown else ""


def commands_in(content: bytes) -> Iterator[Command]:
    """The commands of a hooks file; anything unknown is skipped."""
    try:
        data = json.loads(content)
    except (ValueError, RecursionError):
        return
    events = data.get("hooks") if isinstance(data, dict) else None
    for event, groups in events.items() if isinstance(events, dict) else ():
        if event not in EVENTS or not isinstance(groups, list):
            continue
        for group in groups:
            yield from _group(event, group)


def _group(event: str, group: Any) -> Iterator[Command]:
    hooks = group.get("hooks") if isinstance(group, dict) else None
    matcher = str(group.get("matcher") or "") if isinstance(group, dict) else ""
    for hook in hooks if isinstance(hooks, list) else ():
        if isinstance(hook, dict) and isinstance(command := hook.get("command"), str) and command:
            given = hook.get("timeout")
            seconds = float(given) if isinstance(given, int | float) and given > 0 else SECONDS
            yield Command(event, command, matcher, min(seconds, MOST_SECONDS))


@dataclass(frozen=True, slots=True)
class AskedFile:
    """A settings file inside a project, with the content that was shown.

    `agreed` is the text that the person accepted before, if any.
    """

    file: sources.SettingsFile
    content: bytes
    layer: sources.Layer
    said: sources.Said | None
    agreed: str = ""

    @property
    def path(self) -> Path:
        return self.file.path

    @property
    def wanted(self) -> tuple[sources.Wanted, ...]:
        return self.layer.wanted

    @property
    def problems(self) -> tuple[str, ...]:
        return (*self.layer.problems, *self.layer.notes)

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")

    def diff(self) -> Iterator[str]:
        """The diff from the text accepted before, or from nothing, to the current text."""
        before = self.agreed.splitlines()
        after = self.text.splitlines()
        return difflib.unified_diff(before, after, "agreed", str(self.path), lineterm="")


class ProjectTrust:
    """The settings files inside one project, and the answers recorded under the home."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.local = local_file(home, root)
        self._files = project_files(home, root)
        self._record = record_file(home, root)
        self._hooks_file = hooks_file(home, root)
        self._person = sources.person_home(sources.environment())

    @classmethod
    def open(cls, start: Path | None, home: Path | None) -> ProjectTrust:
        folder = (start or Path.cwd()).absolute()
        if not folder.is_dir():
            raise InputError(f"--project {str(start)!r} is not a folder")
        ours = home_of(home)
        return cls(find_project(folder, ours).root, ours)

    def files(self) -> tuple[AskedFile, ...]:
        """Every settings file of the project with its current content."""
        found = []
        for file in self._files:
            content = b""
            # The layer reports unreadable files as a problem.
            with suppress(OSError, ValueError):
                content = sources.read_content(file)
            layer = sources.read_file(file, self._person)
            if layer.stamp is not None:
                found.append(self._asked(file, content, layer))
        return (*found, *self._hooks())

    def _hooks(self) -> Iterator[AskedFile]:
        """The hooks file of the project: each of its commands needs the person's answer."""
        with suppress(OSError, ValueError):
            if content := self._hooks_file.read():
                path = self._hooks_file.path
                file = sources.SettingsFile("project", path, self.local, self._record)
                origin = sources.Origin("project", str(path))
                wanted = tuple(
                    sources.Wanted(
                        f"hooks.{one.event}", sources.Found(one.command, origin), declined=False
                    )
                    for one in commands_in(content)
                )
                yield self._asked(file, content, sources.Layer(file=file, wanted=wanted))

    def answer(self, asked: AskedFile, said: sources.Said) -> None:
        """Record an answer to exactly the content that was shown."""
        text = asked.text if said == "yes" else asked.agreed
        answer = sources.Answer(said, sources.digest_of(asked.content), text)
        known = {**sources.answers(self._record), str(asked.path): answer}
        write_json(self._record, sources.rendered(known))

    def forget(self) -> tuple[Path, ...]:
        """Take back every answer; returns the files that had one."""
        known = sources.answers(self._record)
        if known:
            write_json(self._record, {})
        return tuple(Path(path) for path in known)

    def move(self, asked: AskedFile) -> Path:
        """Move an old local file, as it was shown, into the person's home."""
        if asked.path.name != sources.OLD_LOCAL:
            raise InputError(
                f"{asked.path} belongs to the project; only {sources.OLD_LOCAL} can be moved"
            )
        if self.local.exists():
            raise InputError(
                f"{self.local} exists already; put the lines of {asked.path} there yourself, "
                "then delete that file"
            )
        try:
            make_private(self.local.parent)
            atomic.replace(self.local, asked.content)
            asked.path.unlink()
        except OSError as error:
            raise StorageError(f"{asked.path} was not moved: {error}") from error
        return self.local

    def _asked(self, file: sources.SettingsFile, content: bytes, layer: sources.Layer) -> AskedFile:
        known = sources.answers(self._record).get(str(file.path))
        if known is None:
            return AskedFile(file, content, layer, None)
        said = known.said if known.is_about(content) else None
        return AskedFile(file, content, layer, said, known.text)
