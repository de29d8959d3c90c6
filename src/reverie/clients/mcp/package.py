"""The package the server stands on is an extra: is it there, and how to get it."""

from __future__ import annotations

from importlib.util import find_spec

ADVICE = "pip install 'reverie[mcp]'"

# Version 1 of the package has no mcp_types.
_NEEDED = ("mcp", "mcp_types", "anyio")


def installed() -> bool:
    """Nothing is imported to find out."""
    return all(find_spec(name) is not None for name in _NEEDED)
