"""What a fork that tends memory may do: read anything, write memories, and nothing else."""

from __future__ import annotations

from pathlib import Path

from reverie.agent.permissions import ALLOWED, Call, Decision, Denied, Permission
from reverie.memory.paths import Refused, check_name

_READING = frozenset({"Read", "Grep", "Glob", "Bash"})
_WRITING = frozenset({"Edit", "Write"})


def memory_only(*folders: Path) -> Permission:
    """Reading tools, commands that only read, and edits of memories inside these folders."""
    roots = tuple(folder.resolve() for folder in folders)

    def decide(call: Call) -> Decision:
        name = call.tool.name
        if name in _READING:
            if call.access == "read":
                return ALLOWED
            return Denied(f"{call.headline}: only commands that read may be run here")
        if name not in _WRITING:
            return Denied(f"{name} may not be used here; read, and write memories only")
        outside = next((path for path in call.paths if (_unfit(path, roots))), None)
        if call.paths and outside is None:
            return ALLOWED
        return Denied(f"{call.headline}: only memories (.md) in {roots[0]} may be written here")

    return decide


def _unfit(path: Path, roots: tuple[Path, ...]) -> bool:
    """Whether a path is no memory of these folders, after every link was followed."""
    real = path.resolve()
    root = next((root for root in roots if real != root and real.is_relative_to(root)), None)
    if root is None or real.suffix != ".md":
        return True
    return isinstance(check_name(real.relative_to(root).as_posix()), Refused)
