"""A scratch workplace, and calls of the standard tools as the loop makes them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from reverie.agent.kit import standard_kit
from reverie.agent.permissions import Consent, by_mode
from reverie.agent.toolbox import Toolbox
from reverie.agent.tools import Tool, Workplace
from reverie.core.messages import ToolResult, ToolUse


def workplace(root: Path, **environment: str) -> Workplace:
    """A folder to work in, with the PATH of the test process and nothing else."""
    return Workplace(root, environment={"PATH": os.environ["PATH"], **environment})


async def call(
    place: Workplace, name: str, /, tools: Iterable[Tool] = (), **arguments: Any
) -> ToolResult:
    """One call with checked arguments, without asking for permission."""
    box = Toolbox(tools or standard_kit(), place, Consent(by_mode("bypass", place)))
    (result,) = await box.run([ToolUse("use-1", name, json.dumps(arguments))])
    return result


def tool(name: str) -> Tool:
    return next(tool for tool in standard_kit() if tool.name == name)
