"""What the selector is told, and the shape of its answer."""

from __future__ import annotations

import json
from collections.abc import Sequence

from reverie.core.messages import Text, new_message
from reverie.core.request import Head, Options, Request
from reverie.memory import manifest
from reverie.memory.manifest import ManifestEntry
from reverie.ports import Model

MOST_OUTPUT = 256

SYSTEM = """\
You pick notes for an assistant that is about to answer a message. You see the message and a list \
of saved notes, one a line: its kind, file name, when it was last changed, and what it says in a \
sentence. You do not answer the message.

Pick a note only if the assistant would answer worse without it. A note on the same subject that \
changes nothing is left out. Most messages need none; an empty list is a good answer. Never more \
than five.

Some tools are in use right now. The assistant already knows how they work, so leave out notes that \
only describe them. Keep notes that warn of trouble with them: now is when a warning counts.

Answer with JSON and nothing else: {"selected_memories": ["file.md", …]}, with file names exactly as \
they stand in the list.
"""

SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"selected_memories": {"type": "array", "items": {"type": "string"}}},
        "required": ["selected_memories"],
        "additionalProperties": False,
    }
)


def selection_request(
    model: Model, question: str, shortlist: Sequence[ManifestEntry], tools: Sequence[str]
) -> Request:
    """One small request of its own: nothing of the conversation but the message goes with it."""
    used = f"\n\nTools in use: {', '.join(tools)}" if tools else ""
    text = f"Message:\n{question}{used}\n\nNotes:\n{manifest.render(shortlist)}"
    can = model.capabilities
    schema = SCHEMA if can.json_schema else None
    effort = "low" if can.effort else None
    options = Options(max_tokens=MOST_OUTPUT, output_schema=schema, effort=effort)
    head = Head(model.name, (Text(SYSTEM),), (), options)
    return Request(head, (new_message("user", Text(text)),))


def parse_selection(reply: str, shortlist: Sequence[ManifestEntry], most: int) -> tuple[str, ...]:
    """The chosen names that exist, each once, in the order given; ValueError for no such answer."""
    data = json.loads(reply)
    chosen = data.get("selected_memories") if isinstance(data, dict) else None
    if not isinstance(chosen, list):
        raise ValueError("the answer has no list of selected_memories")
    known = {entry.file for entry in shortlist}
    real = [name for name in chosen if isinstance(name, str) and name in known]
    return tuple(dict.fromkeys(real))[:most]
