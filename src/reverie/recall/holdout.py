"""The holdout: a share of sessions gets no recalled memories, so that their effect can be measured.

Which sessions is decided by a hash of their name, once, when they start. The decision is recorded:
a session keeps its arm when the setting changes, and both arms are known for the comparison.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, TypeAlias

from reverie.core.messages import dump
from reverie.files.atomic import make_private

if TYPE_CHECKING:
    from reverie.workspace import Workspace

FILE = "holdout.jsonl"
Arm: TypeAlias = Literal["with", "without"]


def arm_for(session: str, share: float) -> Arm:
    """The arm of a session, by its name alone."""
    digest = hashlib.sha256(f"holdout {session}".encode("utf-8", "surrogatepass")).digest()
    return "without" if int.from_bytes(digest[:8], "big") / 2**64 < share else "with"


def withheld(app: Workspace, session: str) -> bool:
    """Whether a session gets no recalled memories; its first call decides."""
    share = app.settings.number("impact.holdout")
    known = arms(app) if share or (app.project.folder / FILE).exists() else {}
    if session in known:
        return known[session] == "without"
    if not share:
        return False
    arm = arm_for(session, share)
    _record(app, session, arm, share)
    return arm == "without"


def arms(app: Workspace) -> dict[str, Arm]:
    """The arm of every session that took part."""
    try:
        lines = (app.project.folder / FILE).read_bytes().splitlines()
    except OSError:
        return {}
    found: dict[str, Arm] = {}
    for line in lines:
        with suppress(ValueError, KeyError, TypeError, RecursionError):
            data = json.loads(line)
            if data["arm"] in ("with", "without"):
                found.setdefault(str(data["session"]), data["arm"])
    return found


def _record(app: Workspace, session: str, arm: Arm, share: float) -> None:
    path = app.project.folder / FILE
    line = dump({"session": session, "arm": arm, "at": app.clock.now(), "share": share}) + b"\n"
    # An arm that cannot be recorded is not compared; the session continues.
    with suppress(OSError):
        make_private(path.parent)
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, line)
        finally:
            os.close(file)
