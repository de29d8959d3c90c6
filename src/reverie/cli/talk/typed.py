"""What a typed line brings along: pictures by their path, and the output of `!commands`."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from rich.text import Text

from reverie.agent.kit.read import picture
from reverie.cli.formatting import printable
from reverie.cli.talk import render

if TYPE_CHECKING:
    from reverie.cli.talk.chat_session import ChatSession
    from reverie.core.messages import ResultContent

_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")
# A path as typed, as `@path`, in quotes, or with escaped spaces, as terminals paste a dropped file.
_PATH = re.compile(r"""'([^']+)'|"([^"]+)"|((?:\\.|[^\s'"])+)""")

_MOST_SHOWN = 40
_MOST_SENT = 20_000


def pictures_in(text: str, root: Path) -> list[ResultContent]:
    """The pictures and PDF files whose paths stand in the text."""
    found: dict[Path, ResultContent] = {}
    for path in _paths(text, root):
        with suppress(OSError, ValueError):
            content = picture(path.name, path.read_bytes()) if path not in found else None
            if content is not None:
                found[path] = content
    return list(found.values())


def _paths(text: str, root: Path) -> Iterator[Path]:
    for match in _PATH.finditer(text):
        word = match[1] or match[2] or re.sub(r"\\(.)", r"\1", match[3])
        word = word.removeprefix("@").rstrip(".,;:!?)")
        if word.startswith("file://"):
            word = unquote(urlsplit(word).path)
        if word.lower().endswith(_ENDINGS):
            with suppress(RuntimeError):
                yield (root / Path(word).expanduser()).resolve()


async def run_shell(chat: ChatSession, command: str) -> None:
    """Run the user's command in the project and show its output; the next message carries it."""
    process = await asyncio.create_subprocess_shell(
        command,
        cwd=chat.app.working_folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        written, _ = await process.communicate()
    except BaseException:
        # The command may have started others: end its whole group.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    output = chat.app.scrubber.scrub(written.decode("utf-8", "replace")).text.rstrip("\n")
    _show(chat, output, process.returncode or 0)
    ending = f" (exit code {process.returncode})" if process.returncode else ""
    chat.shell_output.append(f"I ran `{command}`{ending}:\n```\n{_shortened(output)}\n```")


def _show(chat: ChatSession, output: str, code: int) -> None:
    lines = output.split("\n") if output else []
    shown = [Text(f"  {printable(line)}") for line in lines[:_MOST_SHOWN]]
    more = len(lines) - _MOST_SHOWN
    notes = [render.aside(f"… {more:,} more lines; the model sees them")] if more > 0 else []
    notes += [render.aside(f"exit code {code}")] if code else []
    chat.show(*shown, *notes) if shown or notes else chat.show(render.aside("no output"))


def _shortened(output: str) -> str:
    """The output, or its beginning and end."""
    if len(output) <= _MOST_SENT:
        return output
    half = _MOST_SENT // 2
    return (
        f"{output[:half]}\n[… {len(output) - 2 * half:,} characters left out …]\n{output[-half:]}"
    )
