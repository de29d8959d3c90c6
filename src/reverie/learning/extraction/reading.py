"""Where the rules read messages: in a thread, or in a process of their own where there are many.

A long history takes seconds to read. In the same interpreter these seconds would be taken from
whatever else it does; a process of low priority takes them from nothing.
"""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

from reverie.core.messages import Message
from reverie.learning.extraction.candidates import Candidate
from reverie.learning.extraction.rules import find

Found: TypeAlias = tuple[Candidate, ...]
Reader: TypeAlias = Callable[[Sequence[Message], Sequence[Message]], Awaitable[Found]]

log = logging.getLogger(__name__)

# Characters that a person said. Fewer are read faster than a process starts.
_MANY = 20_000
_LONGEST_SECONDS = 600
_LOW_PRIORITY = 10


async def in_a_thread(new: Sequence[Message], earlier: Sequence[Message]) -> Found:
    """Read messages in a thread of its own, so that neither the loop nor its workers wait."""
    return await _in_a_thread(find, new, earlier)


async def apart(new: Sequence[Message], earlier: Sequence[Message]) -> Found:
    """Read many messages in a process of their own, and few in a thread."""
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
    """The same as `find`; it is called here if the process fails."""
    command = [sys.executable, "-m", "reverie.learning.extraction.reading"]
    given = pickle.dumps((_said(new), _said(_since_the_person(earlier))))
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


def _said(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The messages with their words alone: the rules read nothing else."""
    return tuple(
        replace(m, blocks=tuple(b for b in m.blocks if b.kind == "text")) for m in messages
    )


def _since_the_person(earlier: Sequence[Message]) -> Sequence[Message]:
    """The messages from the person's last one on, where a proposal may be that a yes confirms."""
    start = len(earlier)
    while start and earlier[start - 1].origin != "user":
        start -= 1
    return earlier[max(0, start - 1) :]


def main() -> None:
    """Read messages from the standard input, and write what was found to the standard output."""
    with suppress(OSError):
        os.nice(_LOW_PRIORITY)
    new, earlier = pickle.load(sys.stdin.buffer)  # written by our own parent
    pickle.dump(find(new, earlier), sys.stdout.buffer)


if __name__ == "__main__":
    main()
