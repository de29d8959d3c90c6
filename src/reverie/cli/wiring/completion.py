"""`reverie completion`: completion for bash, zsh and fish, with memory names and session ids."""

from __future__ import annotations

from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem, get_completion_class

from reverie.cli.invocation import Invocation, reverie_command

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reverie.workspace import Workspace

SHELLS = ("bash", "zsh", "fish")
_FILES = {
    "bash": 'eval "$(reverie completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(reverie completion zsh)" in ~/.zshrc, after compinit',
    "fish": "reverie completion fish > ~/.config/fish/completions/reverie.fish",
}
# Arguments by their names in the commands: what they complete to.
_MEMORIES = frozenset({"what", "words", "by", "supersedes"})
_SESSIONS = frozenset({"session", "resume"})
# Commands whose words are a question.
_OTHER_WORDS = frozenset({"search", "recall", "remember"})
_MOST = 200


@reverie_command(name="completion")
@click.argument("shell", type=click.Choice(SHELLS))
def command(frame: Invocation, shell: str) -> None:
    """Print the completion script of a shell.

    Completes commands, options, memory names and session ids.

    \b
    eval "$(reverie completion bash)"      # in ~/.bashrc
    eval "$(reverie completion zsh)"       # in ~/.zshrc, after compinit
    reverie completion fish > ~/.config/fish/completions/reverie.fish
    """
    root = click.get_current_context().find_root().command
    made = get_completion_class(shell)
    if made is None:
        raise click.UsageError(f"no completion for {shell}")
    source = made(root, {}, "reverie", "_REVERIE_COMPLETE").source()
    data = {"shell": shell, "script": source, "install": _FILES[shell]}
    frame.answer(data, lambda console: click.echo(source))


class Named(click.types.StringParamType):
    """The name of a memory or a session; completes to those there are."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        # A shell waits for this: whatever is wrong, there is nothing to offer.
        with suppress(Exception):
            app = _invocation(ctx).app()
            fitting = (one for one in _names(app, ctx, param) if one.value.startswith(incomplete))
            return list(islice(fitting, _MOST))
        return []


def with_names(command: click.Command) -> click.Command:
    """A command whose arguments complete to names, where they take names."""
    for param in command.params:
        if param.name in _MEMORIES | _SESSIONS and isinstance(
            param.type, click.types.StringParamType
        ):
            param.type = Named()
    return command


def _names(app: Workspace, ctx: click.Context, param: click.Parameter) -> Iterator[CompletionItem]:
    if ctx.info_name in _OTHER_WORDS:
        return
    if param.name in _MEMORIES:
        yield from _memories(app)
    if param.name in _SESSIONS or ctx.info_name == "show":
        yield from _sessions(app)


def _invocation(ctx: click.Context) -> Invocation:
    given: dict[str, Any] = ctx.params
    return Invocation(
        project=given.get("project"),
        home=given.get("home"),
        memory_dir=given.get("memory_dir"),
        overrides=tuple(given.get("overrides") or ()),
    )


def _memories(app: Workspace) -> Iterator[CompletionItem]:
    from reverie.workspace.handles import labelled

    for entry in labelled(app):
        yield CompletionItem(entry.file, help=entry.name)


def _sessions(app: Workspace) -> Iterator[CompletionItem]:
    for path in app.journals():
        yield CompletionItem(path.stem)
