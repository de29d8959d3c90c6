"""The MCP server; here: whether the optional `mcp` package is installed, and how to install it."""

from __future__ import annotations

from importlib.util import find_spec

INSTALL_PACKAGE = "pip install 'reverie[mcp]'"

# Version 1 of the package has no mcp_types.
_NEEDED = ("mcp", "mcp_types", "anyio")


def package_installed() -> bool:
    """Check without importing anything."""
    return all(find_spec(name) is not None for name in _NEEDED)
