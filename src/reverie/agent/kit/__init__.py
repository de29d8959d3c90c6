"""The tools that come with the agent."""

from __future__ import annotations

from reverie.agent.kit.bash import bash_tool
from reverie.agent.kit.edit import edit_tool
from reverie.agent.kit.glob import glob_tool
from reverie.agent.kit.grep import grep_tool
from reverie.agent.kit.read import read_tool
from reverie.agent.kit.todo import todo_tool
from reverie.agent.kit.write import write_tool
from reverie.agent.tools import Tool

__all__ = ["standard_kit"]


def standard_kit() -> tuple[Tool, ...]:
    """The tools of every agent. `web_fetch_tool` is not one of them."""
    return (
        read_tool(),
        grep_tool(),
        glob_tool(),
        bash_tool(),
        edit_tool(),
        write_tool(),
        todo_tool(),
    )
