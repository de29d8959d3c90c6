"""The fence around forks that tend memory: they may look, and write memories in their own folder."""

from __future__ import annotations

from pathlib import Path

from reverie.agent.permissions import ALLOWED, Call, Decision, Denied, Permission
from reverie.memory.paths import Refused, check_name

_LOOK = frozenset({"Read", "Grep", "Glob", "Bash"})
_WRITE = frozenset({"Edit", "Write"})
# The tools that can be of any use behind the fence.
FENCED = _LOOK | _WRITE


def fenced(folder: Path) -> Permission:
    """Looking is free, a shell only as far as it reads; Edit and Write for memories in `folder`."""
    root = folder.resolve()

    def decide(call: Call) -> Decision:
        name = call.tool.name
        if name in _LOOK and call.access == "read":
            return ALLOWED
        if name in _LOOK:
            return Denied(f"{call.headline}: only commands that certainly read may be run here")
        if name not in _WRITE:
            return Denied(f"{name} may not be used here; Read, Grep, Glob, Edit and Write may")
        if call.paths and all(_is_memory(path, root) for path in call.paths):
            return ALLOWED
        return Denied(
            f"{call.headline}: only memories (.md) in their directory may be written here"
        )

    return decide


def _is_memory(path: Path, root: Path) -> bool:
    """Is it a memory in this folder, after every link was followed?"""
    real = path.resolve()
    if real == root or not real.is_relative_to(root) or real.suffix != ".md":
        return False
    return not isinstance(check_name(real.relative_to(root).as_posix()), Refused)
