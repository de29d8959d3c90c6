"""Calls of tools and of prompts, from raw arguments to a result as the protocol writes it."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reverie.clients.mcp.answers import Answer, Caller, sendable
from reverie.clients.mcp.tools import BY_NAME, RESOURCES, Tool, checked
from reverie.errors import InputError, ReverieError

if TYPE_CHECKING:
    from reverie.workspace import Workspace

log = logging.getLogger(__name__)


def read_only_tool(app: Workspace, name: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a read-only tool, or the list of resources; `asked` has the arguments and the caller."""
    if name == RESOURCES:
        from reverie.clients.mcp import writing

        return writing.listed(app)
    tool = BY_NAME.get(name)
    if tool is None or not tool.reads:
        raise InputError(f"{name!r} is not a read-only tool")
    caller = Caller.of(asked.get("client"), asked.get("meta"), str(asked.get("session") or ""))
    return result_of(app, tool, asked.get("arguments"), caller)


def result_of(
    app: Workspace, tool: Tool, arguments: Mapping[str, Any] | None, caller: Caller
) -> dict[str, Any]:
    """The tool's result; a failure is a result too, never a traceback."""
    try:
        answer: Answer = tool.work()(app, checked(tool, arguments), caller)
    except ReverieError as error:
        return failure(str(error))
    except Exception:  # the client must get an answer, whatever went wrong
        log.exception("the tool %s failed", tool.name)
        return failure(f"{tool.name} failed inside Reverie; `reverie doctor` may say more")
    return {"content": [text(answer.text)], "structuredContent": sendable(dict(answer.data))}


def failure(message: str) -> dict[str, Any]:
    return {"content": [text(message)], "isError": True}


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": sendable(content)}


# As `prompts/list` gives them.
PROMPTS: tuple[dict[str, Any], ...] = (
    {
        "name": "save",
        "title": "Save what should be remembered",
        "description": "Go through this conversation and remember what will matter in later ones.",
        "arguments": [
            {"name": "focus", "description": "What to look at above all.", "required": False}
        ],
    },
    {
        "name": "recall",
        "title": "Recall a topic",
        "description": "What is remembered about a topic, put before the model at once.",
        "arguments": [{"name": "topic", "description": "What it is about.", "required": True}],
    },
)

_SAVE = """\
Go back over our conversation and find what a colleague who starts tomorrow should know, and could \
not find out from the code, from git or from the project's own instructions:

- who I am and what I know well (user),
- how I want work done: what I corrected, and what I was glad of, each with its reason (feedback),
- what was decided, by whom, why and until when (project),
- where things are kept outside the repository (reference).
{focus}
Ask recall about each before you save it. What is new goes to remember, one fact a call, complete in \
itself, with real dates. What changed goes to remember with supersedes. Leave out code, lists of \
files, what was tried on the way, and where the task stands. Three good memories are better than ten; \
none is a fine answer.

Then tell me in one line each what you saved and what you left alone."""

_RECALL = """\
I want to go on with: {topic}

This is what memory holds about it.

{found}

Say in a few lines what of this bears on it, what may be out of date, and how you would check that. \
If something is missing, look with search_past."""


def prompt_text(app: Workspace, name: str, arguments: Mapping[str, str], caller: Caller) -> str:
    """The text of a prompt."""
    match name:
        case "save":
            focus = arguments.get("focus", "").strip()
            return _SAVE.format(focus=f"\nAbove all: {focus}\n" if focus else "")
        case "recall":
            return _recall_prompt(app, arguments.get("topic", "").strip(), caller)
        case _:
            names = ", ".join(prompt["name"] for prompt in PROMPTS)
            raise InputError(f"there is no prompt {name!r}; there are: {names}")


def _recall_prompt(app: Workspace, topic: str, caller: Caller) -> str:
    if not topic:
        raise InputError("the prompt recall needs a topic: what is it about?")
    tool = BY_NAME["recall"]
    found = tool.work()(app, checked(tool, {"question": topic}), caller)
    return _RECALL.format(topic=topic, found=found.text)
