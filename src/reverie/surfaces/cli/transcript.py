"""A session's transcript as a person reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.core.codec import message_to_json
from reverie.core.messages import Block, Message, Text, Thinking, ToolResult, ToolUse
from reverie.surfaces.cli.figures import printable, when
from reverie.surfaces.cli.frame import Frame

if TYPE_CHECKING:
    from rich.console import Console

_LONG = 2_000


def show_transcript(frame: Frame, path: Path, *, before_compaction: bool, full: bool) -> None:
    from reverie.session import transcripts
    from reverie.session.records import Said
    from reverie.session.state import SessionState

    loaded = transcripts.load(path)
    if before_compaction:
        messages = [r.message for r in loaded.records if isinstance(r, Said)]
    else:
        messages = SessionState.replay(loaded.records).messages
    for note in loaded.notes:
        click.echo(f"note: {printable(note)}", err=True)
    data = [message_to_json(message) for message in messages]
    frame.show(data, lambda console: _print(console, messages, full=full))


def _print(console: Console, messages: list[Message], *, full: bool) -> None:
    from rich.text import Text as Line

    for message in messages:
        console.print(Line(f"{message.role} · {message.origin} · {when(message.at)}", style="bold"))
        for block in message.blocks:
            console.print(Line(_shortened(printable(_readable(block)), full=full)))
        console.print()


def _readable(block: Block) -> str:
    match block:
        case Text(text):
            return text
        case Thinking(text, _, _):
            return f"[thinking] {text}"
        case ToolUse(_, name, arguments):
            return f"[{name}] {arguments}"
        case ToolResult():
            return f"[{'error' if block.is_error else 'result'}] {block.text}"
        case _:
            found: Any = getattr(block, "text", "")
            return f"[{block.kind}] {found}"


def _shortened(text: str, *, full: bool) -> str:
    if full or len(text) <= _LONG:
        return text
    return f"{text[:_LONG]}\n… {len(text) - _LONG:,} more characters (--full shows them)"
