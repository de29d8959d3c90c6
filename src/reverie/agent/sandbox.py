"""The fence around forks that learn: they may look, and write nowhere but into their own folder."""

from __future__ import annotations

from pathlib import Path

from reverie.agent.permissions import ALLOWED, Call, Decision, Denied, Permission

_LOOK = frozenset({"Read", "Grep", "Glob", "Bash"})
_WRITE = frozenset({"Edit", "Write"})


def fenced(folder: Path) -> Permission:
    """Looking is free, a shell only as far as it reads; Edit and Write inside `folder`."""
    root = folder.resolve()

    def decide(call: Call) -> Decision:
        name = call.tool.name
        if name in _LOOK and call.access == "read":
            return ALLOWED
        if name in _LOOK:
            return Denied(f"{call.headline}: only commands that certainly read may be run here")
        if name not in _WRITE:
            return Denied(f"{name} may not be used here; Read, Grep, Glob, Edit and Write may")
        if call.paths and all(path.resolve().is_relative_to(root) for path in call.paths):
            return ALLOWED
        return Denied(f"{call.headline}: only files in the memory directory may be written here")

    return decide
