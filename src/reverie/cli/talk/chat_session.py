"""A session in a chat: prints its events, counts its costs, and feeds the status line."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias
from urllib.parse import unquote, urlsplit

from rich.console import Group, RenderableType
from rich.text import Text

from reverie.agent.kit.editing import picture
from reverie.cli.invocation import printable, when
from reverie.cli.talk import render
from reverie.cli.talk.output import Paragraphs
from reverie.cli.talk.terminal import Screen, Status, Tally, cost_of
from reverie.conversation import journal
from reverie.conversation.record_json import parse
from reverie.conversation.records import Said
from reverie.core.messages import Message
from reverie.core.request import TextDelta, ThinkingDelta, ToolUseStarted
from reverie.errors import InputError, TranscriptError
from reverie.events import Event, ForkStarted, Replied, ToolFinished, ToolStarted
from reverie.models.selection import OFFLINE

if TYPE_CHECKING:
    from reverie.cli.talk.terminal import Terminal
    from reverie.core.messages import ResultContent
    from reverie.core.usage import Entry
    from reverie.session.options import SessionOptions
    from reverie.session.query import Session
    from reverie.workspace import Workspace

Kind: TypeAlias = Literal["start", "text", "tool", "aside"]


class EventPrinter:
    """Prints a session's events on a screen; `quiet` leaves out remarks."""

    def __init__(self, screen: Screen, *, quiet: bool = False) -> None:
        self._screen = screen
        self._quiet = quiet
        self._text = Paragraphs()
        self._thinking = ""
        self._tools: dict[str, ToolStarted] = {}
        self._last: Kind = "start"

    def on_event(self, event: Event) -> None:
        match event:
            case TextDelta(text):
                self._fold_thinking()
                self._print_blocks(self._text.add(text))
                self._screen.under_way(Text("answering"), self._text.draft)
            case ThinkingDelta(text):
                self._thinking += text
                self._screen.under_way(Text("thinking"), self._thinking)
            case ToolUseStarted(_, name):
                self._end_text()
                self._screen.under_way(Text(f"preparing {name}"))
            case ToolStarted(id_):
                self._end_text()
                self._tools[id_] = event
                self._show_running()
            case ToolFinished():
                self._finished(event)
            case Replied():
                self._end_text()
                self._screen.under_way(Text("working"))
            case ForkStarted("compact"):
                self._screen.under_way(Text("compacting"))
            case _:
                self._remark(event)

    def began(self) -> None:
        """A turn begins."""
        self._screen.under_way(Text("working"))

    def ended(self) -> None:
        """A turn is over, however it ended: print the text that has arrived so far."""
        self._end_text()
        self._tools.clear()
        self._screen.under_way(None)
        self._last = "start"

    def print(self, kind: Kind, *what: RenderableType) -> None:
        """Print something, with an empty line between different kinds."""
        apart = kind != self._last or kind == "text"
        self._screen.show(*([""] if apart else []), *what)
        self._last = kind

    def _print_blocks(self, blocks: list[str]) -> None:
        for block in blocks:
            self.print("text", render.prose(block, markdown=self._screen.markdown))

    def _fold_thinking(self) -> None:
        if self._thinking.strip() and not self._quiet:
            self.print("aside", render.thought(self._thinking))
        self._thinking = ""

    def _end_text(self) -> None:
        self._fold_thinking()
        self._print_blocks(self._text.end())

    def _finished(self, event: ToolFinished) -> None:
        self._tools.pop(event.id, None)
        lines = render.result_lines(event.result)
        self.print("tool", render.call_line(event.name, event.headline), *lines)
        self._show_running()

    def _show_running(self) -> None:
        running = [render.call_line(tool.name, tool.headline) for tool in self._tools.values()]
        self._screen.under_way(Text(", ").join(running) if running else Text("working"))

    def _remark(self, event: Event) -> None:
        remark = render.remark(event)
        if remark is not None and not self._quiet:
            self.print("aside", remark)


@dataclass(slots=True)
class ChatSession:
    """A session with its terminal and costs; `before` holds its calls from earlier processes."""

    app: Workspace
    session: Session
    terminal: Terminal
    printer: EventPrinter
    options: SessionOptions
    before: list[Entry] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)
    # What `!commands` printed since the last message.
    shell_output: list[str] = field(default_factory=list)
    _status: Status = field(init=False)

    def __post_init__(self) -> None:
        self.refresh()

    @property
    def offline(self) -> bool:
        return self.session.conversation.model.name == OFFLINE

    @property
    def spent(self) -> list[Entry]:
        """Every call of this session, in this process and before it."""
        return [*self.before, *self.tally.spent]

    def on_event(self, event: Event) -> None:
        self.tally.on_event(event)
        self.printer.on_event(event)
        # Counting the window takes time; a piece of text does not change it by much.
        if not isinstance(event, TextDelta | ThinkingDelta):
            self.refresh()

    def show(self, *what: RenderableType) -> None:
        """Show the outcome of a command after an empty line."""
        self.terminal.show("", *what)

    def refresh(self) -> None:
        """Measure what the status line shows."""
        state, window = self.session.conversation.state, self.session.upkeep.window
        spent = self.spent
        self._status = Status(
            model=self.session.conversation.model.name,
            tokens=state.tokens,
            window=window.tokens,
            state=window.state(state.tokens),
            hit_rate=state.usage.hit_rate if state.usage.prompt else None,
            cost=cost_of(spent),
            unpriced=sum(entry.cost is None for entry in spent),
            mode=self.options.mode or self.app.settings.permission_mode,
        )

    def status(self) -> Status:
        return replace(self._status, running=self.session.background.running)


_ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf")
# A path as typed, as `@path`, in quotes, or with escaped spaces, as terminals paste a dropped file.
_PATH = re.compile(r"""'([^']+)'|"([^"]+)"|((?:\\.|[^\s'"])+)""")

_MOST_SHOWN = 40
_MOST_SENT = 20_000


def pictures_in(text: str, root: Path) -> list[ResultContent]:
    """The pictures and PDF files whose paths are in the text."""
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
        # The command may have started others: kill its whole group.
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


MOST_LISTED = 9
_FIRST_WORDS = 60
# From this many columns on, the list has room for ids.
_WIDE = 100


@dataclass(frozen=True, slots=True)
class PastChat:
    """One conversation: its journal, the time of its last message, and its first words."""

    path: Path
    at: float
    begins: str

    @property
    def session(self) -> str:
        return self.path.stem


def recent_chats(app: Workspace, limit: int = MOST_LISTED) -> list[PastChat]:
    """Conversations with messages, newest first."""
    found: list[PastChat] = []
    for path in app.journals():
        words = _first_words(path)
        if words:
            found.append(PastChat(path, path.stat().st_mtime, words))
        if len(found) == limit:
            break
    return found


def newest_chat(app: Workspace) -> Path:
    found = recent_chats(app, 1)
    if not found:
        raise InputError("there is no conversation to continue in this project; start one")
    return found[0].path


def chosen_chat(app: Workspace, word: str) -> Path:
    """Find a conversation by its number in the list, its id, or the start of its id."""
    listed = recent_chats(app)
    if word.isdecimal() and len(word) <= 2:
        if not 1 <= int(word) <= len(listed):
            raise InputError(f"there is no conversation {word} in the list of {len(listed)}")
        return listed[int(word) - 1].path
    return app.transcript(word)


def chat_table(listed: Sequence[PastChat], width: int = _WIDE) -> RenderableType:
    """The list; a narrow terminal has no room for the ids, and the numbers are enough."""
    rows = []
    for number, past in enumerate(listed, 1):
        row = Text(f"{number:>{len(str(len(listed)))}}", "bold", no_wrap=True, overflow="ellipsis")
        if width >= _WIDE:
            row.append(f"  {past.session}", "not bold dim")
        row.append(f"  {when(past.at)}", "not bold dim")
        rows.append(row.append(f"  {printable(past.begins)}", "not bold"))
    return Group(*rows)


def _first_words(path: Path) -> str:
    """The start of the user's first message; the rest of the journal is not read."""
    try:
        for _, value in journal.read_lines(path, []):
            message = _message(value)
            if message is not None and message.origin == "user" and message.text.strip():
                return " ".join(message.text.split())[:_FIRST_WORDS]
    except TranscriptError:
        return ""
    return ""


def _message(value: object) -> Message | None:
    try:
        record = parse(value)
    except TranscriptError:
        return None
    return record.message if isinstance(record, Said) else None
