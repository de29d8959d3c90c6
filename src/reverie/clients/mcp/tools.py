"""The seven tools: their descriptions and schemas, and the modules of their functions.

The functions are imported when a tool is first called, and neither the protocol's package nor a schema
compiler before that: a client waits for this list.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from reverie.clients.mcp.answers import (
    BOOLEAN,
    COUNT,
    LONGEST_QUESTION,
    LONGEST_TEXT,
    MAYBE_STRING,
    STRING,
    STRINGS,
    Schema,
    closed,
    many,
    number,
    one_of,
    result,
    text,
)
from reverie.errors import InputError
from reverie.memory.format.taxonomy import OWN_SCOPES

if TYPE_CHECKING:
    from reverie.clients.mcp.answers import Answer, Caller
    from reverie.workspace import Workspace

Arguments: TypeAlias = Mapping[str, Any]
Work: TypeAlias = "Callable[[Workspace, Arguments, Caller], Answer]"

# Annotations as the protocol writes them.
_READS = {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False}
_ADDS = {
    "readOnlyHint": False,
    "destructiveHint": False,
    "idempotentHint": False,
    "openWorldHint": False,
}
_REMOVES = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": True,
    "openWorldHint": False,
}


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool: its description, its schemas, and the module with the function of the same name."""

    name: str
    title: str
    description: str
    input_schema: Schema
    output_schema: Schema
    hints: Mapping[str, bool]
    module: str

    @property
    def reads(self) -> bool:
        return self.hints["readOnlyHint"]

    @property
    def listed(self) -> Schema:
        """The tool as `tools/list` gives it."""
        return {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": dict(self.hints),
        }

    def work(self) -> Work:
        module = importlib.import_module(f"reverie.clients.mcp.{self.module}")
        found: Work = getattr(module, self.name)
        return found


_FILE = text(
    "The file name, such as project_release_freeze.md, or the short id, as list_memories shows them."
)

_RECALLED = result(
    {"warnings": STRINGS, "origin": STRING},
    file=STRING,
    saved=STRING,
    match={"enum": ["good", "weak"]},
    text=STRING,
)
_ENTRY = result(
    id=STRING,
    file=STRING,
    scope=STRING,
    type=MAYBE_STRING,
    description=STRING,
    changed=STRING,
    pinned=BOOLEAN,
    # "expired 2026-11-01", "from 2027-01-01"; null while it is valid.
    standing=MAYBE_STRING,
)
_FOUND = result(session=STRING, when=STRING, who=STRING, text=STRING)
_SESSION = result(session=STRING, last_active=STRING)

TOOLS: tuple[Tool, ...] = (
    Tool(
        "recall",
        "Recall memories",
        "What is remembered about this person and this project that fits a question: preferences, "
        "decisions, deadlines, where things are. Call it before you rely on a guess about any of "
        "these. Each memory comes with its age; check what is old before you state it as fact.",
        closed(
            {
                "question": text(
                    'In plain words; may be narrowed: type:feedback, after:2026-01, "a phrase", -word.',
                    LONGEST_QUESTION,
                ),
                "limit": number("How many memories at most.", 20, 5),
                "as_of": text("A day (2026-03-01) or time: answer from memory as it was then."),
            },
            "question",
        ),
        result(about=STRING, memories=many(_RECALLED)),
        _READS,
        "reading",
    ),
    Tool(
        "remember",
        "Remember something",
        "Save one lasting fact in a sentence or two: who the person is, how they want things done "
        "and why, a decision, a deadline, where something is kept. Not for code, file lists, "
        "history or the state of the task at hand. Dates such as “next Thursday” become absolute, "
        "secrets are taken out. What a memory already says is not saved again, and you are told where "
        "it is; memories near to it are named and stay as they are unless you say that it replaces one.",
        closed(
            {
                "text": text("What to remember, complete in itself.", LONGEST_TEXT),
                "type": one_of(
                    "user: the person. feedback: how to work. project: decisions and dates. "
                    "reference: where things are. Worked out when left out."
                ),
                "name": text("A short title; worked out when left out."),
                "description": text("The one line it is found by; worked out when left out."),
                "supersedes": text(
                    "The file name or id of a memory that this one replaces; both are kept."
                ),
                "replace": {
                    "type": "boolean",
                    "default": False,
                    "description": "It is a newer value of a memory, which is retired; both are kept.",
                },
                "scope": {
                    "type": "string",
                    "enum": list(OWN_SCOPES),
                    "description": "person: it holds for them in every project. project: it belongs "
                    "to this one. Worked out when left out.",
                },
                "even_if_known": {
                    "type": "boolean",
                    "default": False,
                    "description": "Save it although a memory says the same; look at that one first.",
                },
            },
            "text",
        ),
        result(
            {
                "file": STRING,
                "scope": STRING,
                "undo": STRING,
                "changes": STRINGS,
                "related": {"type": "array", "items": {"type": "object"}},
                "reason": STRING,
                "existing": STRING,
                "next": STRING,
            },
            saved=BOOLEAN,
        ),
        _ADDS,
        "writing",
    ),
    Tool(
        "read_memory",
        "Read a memory",
        "One memory in full, by its file name, short id, or words of its title.",
        closed({"file": _FILE}, "file"),
        result(
            {"warnings": STRINGS, "origin": STRING},
            about=STRING,
            file=STRING,
            name=STRING,
            type=MAYBE_STRING,
            saved=STRING,
            text=STRING,
        ),
        _READS,
        "reading",
    ),
    Tool(
        "list_memories",
        "List memories",
        "The memories that are in use, newest first, one line each.",
        closed(
            {
                "type": one_of("Only this type."),
                "limit": number("How many at most.", 200, 50),
            }
        ),
        result(memories=many(_ENTRY), more=COUNT),
        _READS,
        "reading",
    ),
    Tool(
        "forget",
        "Forget a memory",
        "Remove one memory. Only when the person asked for it, or agreed; if a fact changed, use "
        "remember with supersedes instead. History keeps it, and the answer says how to undo it.",
        closed({"file": _FILE}, "file"),
        result(forgotten=STRING, name=STRING, undo=STRING),
        _REMOVES,
        "writing",
    ),
    Tool(
        "search_past",
        "Search past conversations",
        "What was said in earlier conversations of this project, by words and meaning. Use it when "
        "the person refers to something from before that recall does not know.",
        closed(
            {
                "words": text(
                    'What to look for; may be narrowed: role:user, after:2026-01, "a phrase", -word.',
                    LONGEST_QUESTION,
                ),
                "limit": number("How many messages at most.", 30, 8),
            },
            "words",
        ),
        result(about=STRING, found=many(_FOUND)),
        _READS,
        "reading",
    ),
    Tool(
        "session_notes",
        "Notes of a session",
        "What an earlier session of this project was about: task, state, files, commands, what went "
        "wrong. Without a session: the newest one before this. Good for picking up where work stopped.",
        closed(
            {
                "session": text(
                    "A session id or the start of one; `current` for the one that is calling."
                )
            }
        ),
        result(
            about=STRING,
            session=STRING,
            last_active=STRING,
            notes=STRING,
            others=many(_SESSION),
        ),
        _READS,
        "reading",
    ),
)

BY_NAME = {tool.name: tool for tool in TOOLS}
# Read like a tool, by the daemon or without the protocol's package.
RESOURCES = "resources"


@cache
def _check_of(name: str) -> Callable[[object], object]:
    import fastjsonschema

    check: Callable[[object], object] = fastjsonschema.compile(BY_NAME[name].input_schema)
    return check


def checked(tool: Tool, arguments: Mapping[str, Any] | None) -> Arguments:
    """The arguments with defaults filled in; raises InputError with one sentence about what is wrong."""
    from fastjsonschema import JsonSchemaValueException

    given = dict(arguments or {})
    try:
        _check_of(tool.name)(given)
    except JsonSchemaValueException as error:
        raise InputError(_explained(tool, str(error.message))) from error
    return given


def _explained(tool: Tool, message: str) -> str:
    problem = message.removeprefix("data.").replace("data ", "the arguments ", 1)
    takes = ", ".join(tool.input_schema["properties"])
    return f"{problem}; {tool.name} takes: {takes} (required: {', '.join(tool.input_schema['required']) or 'none'})"
