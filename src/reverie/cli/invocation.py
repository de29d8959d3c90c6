"""What every command shares: options, the workspace, one way to print, and formats for the terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime, time
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import click

from reverie.core.foreign_text import printable, printable_json
from reverie.errors import InputError
from reverie.logs import logger
from reverie.text.figures import counted, dollars, share, sparkline, tokens, when

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from reverie.workspace import Workspace

__all__ = [
    "Finding",
    "counted",
    "date_option",
    "dollars",
    "late_recall",
    "patch_lines",
    "printable",
    "printable_json",
    "share",
    "sparkline",
    "tokens",
    "when",
]


def late_recall(seconds: float) -> str:
    return f"recall took longer than {seconds:g} s (recall.deadline); answering without it"


def date_option(ctx: click.Context, param: click.Parameter, value: str | None) -> datetime | None:
    """Parse a date: `2026-03-01` is the end of that day, `2026-03-01T14:30` that minute, local time."""
    if value is None:
        return None
    text = value.strip()
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is not a date; write it like 2026-03-01 or 2026-03-01T14:30"
        ) from None
    if len(text) <= len("2026-03-01"):
        parsed = datetime.combine(parsed.date(), time.max)
    return parsed.astimezone()


_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_HEADS = ("diff --git", "index ", "--- ", "+++ ", "new file", "deleted file", "\\ No newline")


def patch_lines(patch: str) -> Iterator[Text]:
    """A patch line by line, with git's header lines dimmed."""
    for line in patch.removesuffix("\n").split("\n"):
        yield styled(line, "dim" if line.startswith(_HEADS) else _COLOURS.get(line[:1], ""))


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; `advice` says what to do about it."""

    state: Literal["ok", "note", "wrong"]
    what: str
    advice: str = ""


log = logger(__name__)

Handler = TypeVar("Handler", bound=Callable[..., Any])
# Output for a person: lines, tables and styled text, or a function that prints them.
Human: TypeAlias = "str | Iterable[RenderableType] | Callable[[Console], None]"


@dataclass(frozen=True, slots=True)
class Invocation:
    """The shared options of one invocation."""

    project: Path | None = None
    home: Path | None = None
    memory_dir: Path | None = None
    overrides: tuple[str, ...] = ()
    as_json: bool = False
    quiet: bool = False
    verbose: int = 0

    def over(self, outer: Invocation | None) -> Invocation:
        """Merge with the options given before the command; those after it win."""
        if outer is None:
            return self
        merged = {f.name: getattr(self, f.name) or getattr(outer, f.name) for f in fields(self)}
        return Invocation(**{**merged, "overrides": outer.overrides + self.overrides})

    def app(self, *, check_home: bool = True) -> Workspace:
        """Open the workspace these options ask for."""
        from reverie.cli.screen import start_logging
        from reverie.workspace import Workspace

        overrides = self.overrides
        if self.memory_dir is not None:
            overrides = (*overrides, f"memory_directory={self.memory_dir.absolute()}")
        app = Workspace.open(self.project, home=self.home, overrides=overrides)
        if check_home and app.settings.home.exists() and not app.settings.home.is_dir():
            raise InputError(
                f"the home {app.settings.home} is a file, not a folder; "
                "choose another one with --home or REVERIE_HOME"
            )
        start_logging(app.settings, self.verbose)
        if app.joined:
            self.warn(app.joined)
        log.info("project %s, home %s", app.working_folder, app.settings.home)
        for item in app.settings.items():
            if item.origin.source != "default":
                log.debug("%s = %s from %s", item.key, item.value, item.origin)
        return app

    def answer(self, data: Any, human: Human) -> None:
        """Print a result: as JSON with --json, else for people."""
        if self.as_json:
            click.echo(printable_json(data, indent=2))
        elif callable(human):
            human(console())
        else:
            print_lines(console(), [human] if isinstance(human, str) else human)

    def show(self, data: Any, human: Human) -> None:
        """Print the outcome of a change; nothing with --quiet."""
        if self.as_json or not self.quiet:
            self.answer(data, human)

    def warn(self, *notices: str) -> None:
        """Print notices on stderr, where they are not part of the result."""
        for notice in () if self.quiet else notices:
            click.echo(f"reverie: {printable(notice)}", err=True)


def print_lines(out: Console, lines: Iterable[RenderableType]) -> None:
    """Print each line as it is, however long; foreign text is escaped."""
    from rich.text import Text

    for line in lines:
        shown = printable(line) if isinstance(line, str) else line
        out.print(shown, soft_wrap=isinstance(line, str | Text))


def styled(text: str, style: str = "dim") -> Text:
    from rich.text import Text

    return Text(printable(text), style)


def table(*columns: str, rows: Iterable[Iterable[str]], fixed: int = 0) -> Table:
    """A table without lines; the first `fixed` columns are never wrapped."""
    from rich.table import Table

    made = Table(*columns, box=None, pad_edge=False)
    for column in made.columns[:fixed]:
        column.no_wrap = True
    for row in rows:
        made.add_row(*map(printable, row))
    return made


def at_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def note(text: str) -> None:
    click.echo(f"note: {printable(text)}", err=True)


def open_editor(path: Path) -> str | None:
    """Let the person edit a file; return what went wrong, if anything."""
    import subprocess

    from reverie.settings.projects import editor

    command = [*editor(), str(path)]
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        return f"cannot start the editor {command[0]!r} ({error.strerror}); set VISUAL or EDITOR"
    return f"the editor ended with {code}" if code else None


def limit_option(default: int, most: int | None = None) -> Callable[[Handler], Handler]:
    kind = click.IntRange(1, most)
    return click.option("-n", "--limit", type=kind, default=default, show_default=True, help="How many.")  # fmt: skip


def console() -> Console:
    from reverie.cli.screen import Screen
    from reverie.settings.projects import columns

    # Do not wrap lines for a pipe unless a width was set. Markup is off: "[/b]" in a transcript is
    # text.
    width = columns() or (None if sys.stdout.isatty() else 10_000)
    return Screen(highlight=False, soft_wrap=False, width=width, markup=False, emoji=False)


_OPTIONS = (
    click.option("--project", type=click.Path(path_type=Path), help="Work on the project in this folder."),
    click.option("--home", type=click.Path(path_type=Path), help="Where Reverie keeps its files."),
    click.option("--memory-dir", type=click.Path(path_type=Path), help="Use this memory directory."),
    click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Set a setting for this run."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON."),
    click.option("-q", "--quiet", is_flag=True, help="Print results and errors, no notes."),
    click.option("-v", "--verbose", count=True, help="Log more (-vv: everything)."),
)  # fmt: skip


def shared_options(handler: Handler) -> Handler:
    """Add the shared options; the handler receives them as `frame`."""

    @wraps(handler)
    def with_options(*args: Any, **kwargs: Any) -> Any:
        own = {f.name: kwargs.pop(f.name) for f in fields(Invocation)}
        outer = click.get_current_context().obj
        return handler(*args, frame=Invocation(**own).over(outer), **kwargs)

    wrapped: Any = with_options
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    result: Handler = wrapped
    return result


def reverie_command(**attributes: Any) -> Callable[[Callable[..., None]], click.Command]:
    """Like `click.command`, with the shared options."""

    def decorate(handler: Callable[..., None]) -> click.Command:
        command: click.Command = click.command(**attributes)(shared_options(handler))
        return command

    return decorate


def stop_printing() -> None:
    """Nothing reads the output any more (`reverie … | head`): discard the rest."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
