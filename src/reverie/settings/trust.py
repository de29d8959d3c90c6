"""The user's answers about a project's settings files, kept in the home, not in the project.

An answer is valid for one content of one file; after any change the user is asked again.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Said = Literal["yes", "no"]


class Answer(NamedTuple):
    """The answer, and the text it was given for, so that the next question can show a diff."""

    said: Said
    digest: str
    text: str

    def is_about(self, content: bytes) -> bool:
        return self.digest == digest_of(content)


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def answers(record: Path) -> dict[str, Answer]:
    """All answers for one project by file path; empty if the record is damaged."""
    try:
        data = json.loads(record.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    entries = data.items() if isinstance(data, dict) else ()
    return {path: answer for path, entry in entries if (answer := _answer(entry))}


def said_about(record: Path, path: Path, content: bytes) -> Said | None:
    """The answer for the file's current content; None: not asked yet, or the file changed."""
    answer = answers(record).get(str(path))
    return answer.said if answer is not None and answer.is_about(content) else None


def rendered(known: Mapping[str, Answer]) -> dict[str, dict[str, str]]:
    """The record as JSON."""
    return {path: answer._asdict() for path, answer in known.items()}


def _answer(entry: object) -> Answer | None:
    if not isinstance(entry, dict) or entry.get("said") not in ("yes", "no"):
        return None
    said = cast("Said", entry["said"])
    return Answer(said, str(entry.get("digest")), str(entry.get("text") or ""))
