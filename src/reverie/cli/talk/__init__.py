"""`reverie chat`: talk to a model that remembers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.wiring.trust import ask_what_waits
from reverie.files.folders import make_private
from reverie.session.system_prompt import refused_instructions

if TYPE_CHECKING:
    from prompt_toolkit.history import History

    from reverie.cli.talk.full_terminal import FullTerminal
    from reverie.cli.talk.terminal import PlainTerminal
    from reverie.ports import Scrubber
    from reverie.session.options import SessionOptions
    from reverie.workspace import Workspace

MODES = ("ask", "accept-edits", "plan", "bypass")
FORMATS = ("text", "json", "stream-json")
# `--resume` without an id.
_LIST = "?"


@reverie_command(name="chat")
@click.argument("prompt", nargs=-1)
@click.option(
    "--resume",
    is_flag=False,
    flag_value=_LIST,
    metavar="[ID]",
    help="Go on with a conversation; without ID, pick one.",
)
@click.option(
    "-c", "--continue", "newest", is_flag=True, help="Go on with the newest conversation."
)
@click.option("--model", metavar="M", help="Talk to this model: provider:model, or offline.")
@click.option(
    "--permission-mode", type=click.Choice(MODES), help="What tools may do without asking."
)
@click.option(
    "-p", "--print", "once", is_flag=True, help="Answer once and exit; also reads standard input."
)
@click.option("--output-format", "show", type=click.Choice(FORMATS), help="How the answer is printed; implies -p.")  # fmt: skip
def command(frame: Invocation, prompt: tuple[str, ...], **given: Any) -> None:
    """Talk to a model that remembers, reads, edits and runs.

    \b
    reverie chat
    reverie chat --resume
    git diff | reverie chat -p "Is this safe to merge?"
    """
    show = given["show"] or ("json" if frame.as_json else None)
    one_shot = given["once"] or show is not None or not _at_a_terminal()
    if not one_shot:
        ask_what_waits(frame)
    app = frame.app()
    frame.warn(*app.notices, *refused_instructions(app))
    wish = _wish(app, given, may_pick=not one_shot)
    if one_shot:
        _once(app, wish, _with_input(" ".join(prompt)), show or "text", quiet=frame.quiet)
    else:
        _talk(app, wish, " ".join(prompt), quiet=frame.quiet)


def _at_a_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _with_input(prompt: str) -> str:
    """What was asked, and what was piped in behind it."""
    piped = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
    whole = "\n\n".join(part.strip("\n") for part in (prompt, piped) if part.strip())
    if not whole:
        raise click.UsageError("Nothing to say: give a PROMPT, or pipe text in.")
    return whole


def _wish(app: Workspace, given: dict[str, Any], *, may_pick: bool) -> SessionOptions:
    """What the options ask for, checked before anything is opened."""
    from reverie.cli.talk.terminal import require_model
    from reverie.session.options import SessionOptions

    require_model(app, given["model"] or app.settings.model("main"))
    resume = _resumed(app, given["resume"], newest=given["newest"], may_pick=may_pick)
    return SessionOptions(
        model=given["model"],
        resume=resume,
        mode=given["permission_mode"],
        # Nobody waits for a dream when one answer was asked for.
        dreams=may_pick,
    )


def _resumed(app: Workspace, told: str | None, *, newest: bool, may_pick: bool) -> Path | None:
    from reverie.cli.talk import past_chats as past

    if newest and told is not None:
        raise click.UsageError("--resume and --continue are two ways to say which one: give one.")
    if newest:
        return past.newest(app)
    if told != _LIST:
        return None if told is None else past.chosen(app, told)
    if not may_pick:
        raise click.UsageError(
            "Say which one: --resume ID (see `reverie sessions`), or --continue."
        )
    return _picked(app)


def _picked(app: Workspace) -> Path:
    from reverie.cli.invocation import console
    from reverie.cli.talk import past_chats as past

    listed = past.recent(app)
    if not listed:
        return past.newest(app)
    console().print(past.table(listed))
    number = click.prompt("Which one", type=click.IntRange(1, len(listed)), default=1)
    return listed[number - 1].path


def _once(app: Workspace, wish: SessionOptions, prompt: str, show: Any, *, quiet: bool) -> None:
    from reverie.cli.running import run
    from reverie.cli.talk.once import once

    run(once(app, wish, prompt, show, quiet=quiet))


def _talk(app: Workspace, wish: SessionOptions, prompt: str, *, quiet: bool) -> None:
    from reverie.cli.running import run

    run(_talking(app, wish, prompt, quiet=quiet))


async def _talking(app: Workspace, wish: SessionOptions, prompt: str, *, quiet: bool) -> None:
    from reverie.cli.talk.chat import Chat
    from reverie.cli.talk.layout import logged_on

    terminal = _terminal(app)
    talk = Chat(app, terminal, quiet=quiet)
    talk.greet(wish)
    async with terminal:
        with logged_on(terminal):
            await talk.run(wish, prompt)


def _terminal(app: Workspace) -> FullTerminal | PlainTerminal:
    from reverie.settings.sources import environment

    variables = environment()
    if variables.get("TERM", "dumb") in ("dumb", "unknown", ""):
        from reverie.cli.talk.terminal import PlainTerminal

        return PlainTerminal()
    from reverie.cli.talk.full_terminal import FullTerminal
    from reverie.cli.talk.slash import ChatCompleter

    return FullTerminal(
        ChatCompleter(app.place),
        _history(app.project.folder / "chat-history", app.scrubber),
        colour=not variables.get("NO_COLOR"),
    )


def _history(path: Path, scrubber: Scrubber) -> History:
    """What was typed in this project before, less secrets; where it cannot be kept, it is not."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    class CleanHistory(FileHistory):
        def store_string(self, string: str) -> None:
            super().store_string(scrubber.scrub(string).text)

    try:
        make_private(path.parent)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return CleanHistory(path)
