"""`search_memory`: the agent looks through memories and past conversations by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TypeAlias, cast

from reverie.agent.tools import Access, Arguments, Tool, Workplace
from reverie.core.request import ToolSpec
from reverie.recall.documents import Hit, Results, Scope

NAME = "search_memory"
MOST = 20
USUAL = 8

# The index, asked for a question: where, and how many at most.
Search: TypeAlias = Callable[[str, Scope, int], Results]

SPEC = ToolSpec.of(
    NAME,
    "Search what is remembered: saved notes (memories) and what was said in past conversations "
    "(episodes), by words and by meaning. Use it when the person refers to something from before, or "
    "when an earlier decision may matter. The query may be narrowed: type:feedback, after:2026-01, "
    'before:2026-03, session:ID, role:user, is:archived (hidden otherwise), "an exact phrase", -word. '
    "Each result names its file or session and its date; what is old may no longer hold.",
    {
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "What to look for."},
            "scope": {
                "type": "string",
                "enum": ["memories", "episodes", "both"],
                "description": "Where to look; both when left out.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST,
                "description": f"How many results at most; {USUAL} when left out.",
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    },
)


def search_memory(search: Search) -> Tool:
    """The tool over an index; it only reads."""

    async def run(arguments: Arguments, workplace: Workplace) -> str:
        query = str(arguments["query"])
        scope = cast("Scope", arguments.get("scope") or "both")
        limit = int(arguments.get("limit") or USUAL)
        return told(await asyncio.to_thread(search, query, scope, limit))

    return Tool(SPEC, run, _reads, _headline, clearable=True)


def told(found: Results) -> str:
    """Results as the model reads them: one line a hit, best first."""
    lines = [_line(hit) for hit in found.hits] or ["Nothing was found."]
    if found.approximate:
        lines.append("(Only a part could be looked at; narrow the query to see more.)")
    return "\n".join([*lines, *(f"({note})" for note in found.notes)])


def _line(hit: Hit) -> str:
    day = f"{datetime.fromtimestamp(hit.at, UTC):%Y-%m-%d}" if hit.at else "no date"
    if hit.collection == "memories":
        label = f", {hit.label}" if hit.label else ""
        return f"- memory {hit.key} ({day}{label}): {hit.snippet}"
    return f"- session {hit.session} ({day}, {hit.role}): {hit.snippet}"


def _reads(arguments: Arguments, workplace: Workplace) -> Access:
    return "read"


def _headline(arguments: Arguments) -> str:
    return f"{NAME} {arguments.get('query', '')}"
