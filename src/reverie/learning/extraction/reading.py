"""When extraction runs, which messages it reads, and where: in a thread, or for many messages in a separate process.

A long history takes seconds to read. In a thread these seconds would delay everything else; a
process of low priority delays nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import posixpath
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from typing import TypeAlias

from reverie.agent.shell_commands import reads_only
from reverie.context import NotDue
from reverie.context.facts.calls import action_of
from reverie.context.user_messages import LABEL, said
from reverie.core.messages import Attachment, Document, Message, ToolResult, ToolUse
from reverie.learning.extraction.candidates import Candidate, Voice
from reverie.learning.extraction.rules import find
from reverie.learning.extraction.speech import own_words
from reverie.memory.format.prompt import LOG_TOOL

_PATHS = ("file_path", "path", "notebook_path")
_COMMANDS = ("command", "cmd")


@dataclass(frozen=True, slots=True)
class Conditions:
    """The state of the session when a turn ends."""

    memory_on: bool
    extract_on: bool
    running: bool
    new_messages: int
    turns: int = 1
    every: int = 1


@dataclass(frozen=True, slots=True)
class Due:
    reason: str


def due(conditions: Conditions) -> Due | NotDue:
    """Whether to extract now; `turns` counts the turns since the last run."""
    c = conditions
    gates = (
        (c.memory_on, "memory is off"),
        (c.extract_on, "extraction is off"),
        (c.new_messages > 0, "nothing was said since the last look"),
        (c.turns >= c.every, f"turn {c.turns} of {c.every}"),
        (not c.running, "an extraction is running; this turn waits for it"),
    )
    closed = next((reason for is_open, reason in gates if not is_open), None)
    if closed is not None:
        return NotDue(closed)
    return Due(f"{c.new_messages} new messages")


def new_messages(messages: Sequence[Message], cursor_id: str | None) -> tuple[Message, ...]:
    """The messages after the cursor; all visible ones when the cursor's message is gone."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].id == cursor_id:
            return tuple(messages[place + 1 :])
    return tuple(messages)


def agent_wrote(messages: Iterable[Message], *memory_dirs: str) -> bool:
    """Whether the agent itself wrote into a memory directory; failed calls do not count."""
    roots = [posixpath.normpath(folder) for folder in memory_dirs]
    writes: set[str] = set()
    failed: set[str] = set()
    for message in messages:
        writes |= {
            use.id for use in message.tool_uses if any(_writes_into(use, root) for root in roots)
        }
        failed |= {result.tool_use_id for result in message.tool_results if result.is_error}
    return bool(writes - failed)


def _writes_into(use: ToolUse, root: str) -> bool:
    if use.name == LOG_TOOL:
        return True
    match action_of(use).kind:
        case "edit" | "write":
            return any(_within(path, root) for path in _texts(use, _PATHS))
        case "run":
            return any(
                _names(line, root) and not reads_only(line) for line in _texts(use, _COMMANDS)
            )
        case _:
            return False


def _texts(use: ToolUse, keys: Sequence[str]) -> list[str]:
    arguments = use.input
    return [value for key in keys if isinstance(value := arguments.get(key), str)]


def _within(path: str, root: str) -> bool:
    if path.startswith("~/"):
        inner = posixpath.normpath(path[2:])
        return any(_below(inner, tail) for tail in _tails(root))
    return _below(posixpath.normpath(path), root)


def _below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def _tails(root: str) -> list[str]:
    """Path suffixes that may follow the home folder, which is unknown here: at least two names."""
    parts = root.split("/")
    return ["/".join(parts[at:]) for at in range(1, len(parts) - 1)]


def _names(line: str, root: str) -> bool:
    """Whether a command line names the directory, in full or relative to a home folder."""
    if root in line:
        return True
    return any(
        f"{home}/{tail}" in line for home in ("~", "$HOME", "${HOME}") for tail in _tails(root)
    )


@dataclass(frozen=True, slots=True)
class Utterance:
    """Text of one voice in one message. Text that a person pasted has the voice "tool"."""

    id: str
    voice: Voice
    text: str
    day: date | None = None


def utterances(messages: Iterable[Message]) -> tuple[Utterance, ...]:
    """All utterances of the messages, in order."""
    return tuple(one for message in messages for one in _parts(message) if one.text.strip())


def _parts(message: Message) -> Iterator[Utterance]:
    day = datetime.fromtimestamp(message.at, UTC).date() if message.at > 0 else None
    if message.role == "assistant" and message.origin == "assistant":
        yield Utterance(message.id, "assistant", message.text, day)
        return
    for text in said(message):
        own = own_words(text)
        yield Utterance(message.id, "user", own, day)
        if own != text.strip():
            yield Utterance(message.id, "tool", text, day)
    yield Utterance(message.id, "tool", _foreign(message), day)


def _foreign(message: Message) -> str:
    """Text by neither speaker: tool results, attachments, documents and output of hooks."""
    parts = [] if message.origin == "user" else [message.text]
    for block in message.blocks:
        match block:
            case ToolResult():
                parts.append(block.text)
            case Attachment(label, text) if label != LABEL:
                parts.append(text)
            case Document(data=data) if block.media_type.startswith("text/"):
                parts.append(data)
            case _:
                pass
    return "\n".join(part for part in parts if part)


Found: TypeAlias = tuple[Candidate, ...]
Reader: TypeAlias = Callable[[Sequence[Message], Sequence[Message]], Awaitable[Found]]

log = logging.getLogger(__name__)

# Characters said by the person. Reading fewer is faster than starting a process.
_MANY = 20_000
_LONGEST_SECONDS = 600
_LOW_PRIORITY = 10


async def in_a_thread(new: Sequence[Message], earlier: Sequence[Message]) -> Found:
    """Read messages in a new thread, so that neither the event loop nor its workers wait."""
    return await _in_a_thread(find, new, earlier)


async def apart(new: Sequence[Message], earlier: Sequence[Message]) -> Found:
    """Read many messages in a separate process, and few in a thread."""
    if sum(len(message.text) for message in new if message.origin == "user") < _MANY:
        return await in_a_thread(new, earlier)
    return await _in_a_thread(_in_a_process, new, earlier)


async def _in_a_thread(
    read: Callable[[Sequence[Message], Sequence[Message]], Found],
    new: Sequence[Message],
    earlier: Sequence[Message],
) -> Found:
    worker = ThreadPoolExecutor(1, "reverie-learning")
    try:
        return await asyncio.get_running_loop().run_in_executor(worker, read, new, earlier)
    finally:
        worker.shutdown(wait=False)


def _in_a_process(new: Sequence[Message], earlier: Sequence[Message]) -> Found:
    """`find` in another process; if that fails, here."""
    command = [sys.executable, "-m", "reverie.learning.extraction.reading"]
    given = pickle.dumps((_words_only(new), _words_only(_since_the_person(earlier))))
    try:
        done = subprocess.run(
            command, input=given, capture_output=True, timeout=_LONGEST_SECONDS, check=True,
            start_new_session=True,
        )  # fmt: skip
        found: Found = pickle.loads(done.stdout)  # written by our own child
    except (OSError, subprocess.SubprocessError, pickle.UnpicklingError, EOFError) as error:
        log.warning("messages are read in this process: %s", error)
        return find(new, earlier)
    return found


def _words_only(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages reduced to their words, as the rules read nothing else."""
    return tuple(
        replace(m, blocks=tuple(b for b in m.blocks if b.kind == "text")) for m in messages
    )


def _since_the_person(earlier: Sequence[Message]) -> Sequence[Message]:
    """The messages from the person's last one on, which may hold a proposal that a yes confirms."""
    start = len(earlier)
    while start and earlier[start - 1].origin != "user":
        start -= 1
    return earlier[max(0, start - 1) :]


def main() -> None:
    """Read messages from standard input, and write the candidates to standard output."""
    with suppress(OSError):
        os.nice(_LOW_PRIORITY)
    new, earlier = pickle.load(sys.stdin.buffer)  # written by our own parent
    pickle.dump(find(new, earlier), sys.stdout.buffer)


if __name__ == "__main__":
    main()
