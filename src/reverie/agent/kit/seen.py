"""What both writers share: only what was read, and has not changed since, may be replaced."""

from __future__ import annotations

from dataclasses import dataclass

from reverie.agent.file_reads import FileRead
from reverie.agent.kit.text_files import TextFile
from reverie.errors import InputError


@dataclass(frozen=True, slots=True)
class Written:
    """What is told of a change, and the file as it is now."""

    report: str
    read: FileRead


def check_seen(name: str, last: FileRead | None, now: FileRead) -> None:
    """Refuse to write over what the agent has not seen."""
    if last is None:
        raise InputError(f"{name} has not been read yet; read it first, then change it")
    if not last.same_content(now):
        raise InputError(f"{name} changed since it was read; read it again, then change it")


def rendered(file: TextFile, text: str, name: str) -> bytes:
    """The text in the file's encoding."""
    try:
        return file.render(text)
    except UnicodeEncodeError as error:
        letter = error.object[error.start]
        raise InputError(
            f"{name} is {file.encoding.upper()} and cannot hold {letter!r}; nothing was written"
        ) from error
