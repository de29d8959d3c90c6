"""Prompts that a person can pick in their client: save from this conversation, recall a topic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from reverie.clients.mcp.tools import BY_NAME, checked
from reverie.errors import InputError

if TYPE_CHECKING:
    from reverie.clients.mcp.caller import Caller
    from reverie.workspace import Workspace

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


def render(app: Workspace, name: str, arguments: Mapping[str, str], caller: Caller) -> str:
    """The text of a prompt."""
    match name:
        case "save":
            focus = arguments.get("focus", "").strip()
            return _SAVE.format(focus=f"\nAbove all: {focus}\n" if focus else "")
        case "recall":
            return _recall(app, arguments.get("topic", "").strip(), caller)
        case _:
            names = ", ".join(prompt["name"] for prompt in PROMPTS)
            raise InputError(f"there is no prompt {name!r}; there are: {names}")


def _recall(app: Workspace, topic: str, caller: Caller) -> str:
    if not topic:
        raise InputError("the prompt recall needs a topic: what is it about?")
    tool = BY_NAME["recall"]
    found = tool.work()(app, checked(tool, {"question": topic}), caller)
    return _RECALL.format(topic=topic, found=found.text)
