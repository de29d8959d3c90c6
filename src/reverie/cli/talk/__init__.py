"""`reverie chat`: talk to a model that remembers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.wiring.models import model_hint, offer_model
from reverie.cli.wiring.settings import ask_pending
from reverie.files.atomic import make_private
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
    help="Continue a conversation; without ID, pick one.",
)
@click.option("-c", "--continue", "newest", is_flag=True, help="Continue the newest conversation.")
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
    from reverie.cli.screen import run

    show: Any = given["show"] or ("json" if frame.as_json else None)
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    one_shot = given["once"] or show is not None or not at_terminal
    if not one_shot:
        ask_pending(frame)
    app = frame.app()
    if not one_shot and given["model"] is None and given["resume"] is None:
        app = offer_model(frame, app)
    frame.warn(*app.notices, *refused_instructions(app), *_alarm(app))
    options = _session_options(app, given, may_pick=not one_shot)
    if one_shot:
        if not given["model"] and (hint := model_hint(app)):
            frame.warn(hint)
        from reverie.cli.talk.once import once

        asked = _with_input(" ".join(prompt))
        run(once(app, options, asked, show or "text", quiet=frame.quiet))
    else:
        run(_run_chat(app, options, " ".join(prompt), quiet=frame.quiet))


def _alarm(app: Workspace) -> tuple[str, ...]:
    """Say once that learning has stopped."""
    from reverie.learning.runs import alarm_once

    alarm = alarm_once(app)
    return () if alarm is None else (f"{alarm.what}; {alarm.advice}",)


def _with_input(prompt: str) -> str:
    """The prompt, followed by the text that was piped in."""
    piped = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8", "replace")
    whole = "\n\n".join(part.strip("\n") for part in (prompt, piped) if part.strip())
    if not whole:
        raise click.UsageError("Nothing to say: give a PROMPT, or pipe text in.")
    return whole


def _session_options(app: Workspace, given: dict[str, Any], *, may_pick: bool) -> SessionOptions:
    """The session's options, checked before anything is opened."""
    from reverie.cli.wiring.models import require_model
    from reverie.session.options import SessionOptions

    require_model(app, given["model"] or app.settings.model("main"))
    resume = _resumed(app, given["resume"], newest=given["newest"], may_pick=may_pick)
    return SessionOptions(
        model=given["model"],
        resume=resume,
        mode=given["permission_mode"],
        # A single answer must not wait for a dream.
        dreams=may_pick,
    )


def _resumed(app: Workspace, id_: str | None, *, newest: bool, may_pick: bool) -> Path | None:
    from reverie.cli.talk import chat_session as past

    if newest and id_ is not None:
        raise click.UsageError("Give --resume or --continue, not both.")
    if newest:
        return past.newest_chat(app)
    if id_ != _LIST:
        return None if id_ is None else past.chosen_chat(app, id_)
    if not may_pick:
        raise click.UsageError(
            "Say which one: --resume ID (see `reverie sessions`), or --continue."
        )
    return _pick(app)


def _pick(app: Workspace) -> Path:
    from reverie.cli.invocation import console
    from reverie.cli.talk import chat_session as past

    listed = past.recent_chats(app)
    if not listed:
        return past.newest_chat(app)
    screen = console()
    screen.print(past.chat_table(listed, screen.width))
    number = click.prompt("Which one", type=click.IntRange(1, len(listed)), default=1)
    return listed[number - 1].path


async def _run_chat(app: Workspace, options: SessionOptions, prompt: str, *, quiet: bool) -> None:
    from reverie.cli.talk.chat import Chat
    from reverie.cli.talk.output import logged_on

    terminal = _terminal(app)
    chat = Chat(app, terminal, quiet=quiet)
    chat.greet(options)
    async with terminal:
        with logged_on(terminal):
            await chat.run(options, prompt)


def _terminal(app: Workspace) -> FullTerminal | PlainTerminal:
    from reverie.settings.sources import environment

    variables = environment()
    if variables.get("TERM", "dumb") in ("dumb", "unknown", ""):
        from reverie.cli.talk.terminal import PlainTerminal

        return PlainTerminal()
    from reverie.cli.talk.full_terminal import FullTerminal
    from reverie.cli.talk.slash import ChatCompleter

    return FullTerminal(
        ChatCompleter(app.working_folder),
        _history(app.project.folder / "chat-history", app.scrubber),
        colour=not variables.get("NO_COLOR"),
    )


def _history(path: Path, scrubber: Scrubber) -> History:
    """Input history of this project without secrets; in memory if the file cannot be written."""
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
