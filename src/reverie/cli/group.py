"""The `reverie` command: a table of commands, loaded only when they are called."""

from __future__ import annotations

import io
import sys
from contextlib import suppress
from importlib import import_module
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import click

from reverie.cli.invocation import (
    Invocation,
    printable,
    reverie_command,
    shared_options,
    stop_printing,
)
from reverie.errors import ReverieError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from click.shell_completion import CompletionItem

    from reverie.workspace import Workspace


class Entry(NamedTuple):
    """A command's help group, its `module` or `module:function`, and its line in `--help`."""

    group: str
    module: str
    line: str


COMMANDS: dict[str, Entry] = {
    "chat": Entry("talk", "talk", "Talk to a model that remembers, reads, edits and runs."),
    "remember": Entry("memory", "memory.writing:remember", "Save a memory, with absolute dates and without secrets."),
    "recall": Entry("memory", "memory.finding:recall_command", "Find the memories that fit a question, best first."),
    "search": Entry("memory", "memory.finding:search_command", "Search memories and past conversations."),
    "list": Entry("memory", "memory.listing:list_command", "List the memories of this project, newest first."),
    "show": Entry("memory", "memory.show", "Read a memory, a change to memory, or a session."),
    "edit": Entry("memory", "memory.writing:edit", "Change a memory in your editor ($VISUAL, $EDITOR)."),
    "move": Entry("memory", "memory.listing:move", "Move a memory to the project, to you in every project, or to the team."),
    "forget": Entry("memory", "memory.forget", "Remove a memory, or every trace of it."),
    "retire": Entry("memory", "memory.listing:retire", "Mark a memory as replaced by another, or restore it; both are kept."),
    "pin": Entry("memory", "memory.listing:pin", "Keep a memory first in the index."),
    "index": Entry("memory", "memory.listing:index", "Show MEMORY.md as it goes into every prompt."),
    "import": Entry("memory", "memory.transfer:import_command", "Import memories from files of many kinds."),
    "export": Entry("memory", "memory.transfer:export_command", "Write all memories to a folder, a .zip or JSON."),
    "adopt": Entry("memory", "memory.transfer:adopt", "Use a memory that exists elsewhere, in place."),
    "log": Entry("history", "history:log", "List every change to memory, newest first."),
    "diff": Entry("history", "history:diff", "Show what changed in memory."),
    "blame": Entry("history", "history:blame", "Show which change wrote each line of a memory."),
    "undo": Entry("history", "history:undo", "Undo a change to memory: the last one, or REV."),
    "redo": Entry("history", "history:redo", "Redo what was undone last."),
    "dream": Entry("learning", "learning.dream", "Tidy memory: duplicates, dates, the index; nothing is lost."),
    "extract": Entry("learning", "learning.extract:extract", "Look through past conversations for what should be remembered."),
    "learning": Entry("learning", "learning.extract:learning", "Show or edit what you want remembered and what never, in your own words."),
    "inbox": Entry("learning", "learning.inbox", "Review proposed memories: list, show, approve, reject."),
    "context": Entry("context", "context.reports:context", "Show what fills the window of a session (default: the newest one)."),
    "cache": Entry("context", "context.reports:cache", "Show the cache hit rate, breaks and their cost; what-if."),
    "spend": Entry("context", "context.reports:spend", "Show what was spent, on what, and the caps."),
    "watch": Entry("context", "context.impact:watch", "Follow what memory does in a running session, live."),
    "sessions": Entry("context", "context.reports:sessions", "List the sessions of this project, newest first."),
    "compact": Entry("context", "context.reports:compact", "Compact a session: the older part becomes a summary, the next resume is small."),
    "stats": Entry("context", "context.impact:stats", "Show what happened: memories recalled and used, layers, cache, learning."),
    "impact": Entry("context", "context.impact:impact", "Show whether memory helped."),
    "ui": Entry("look", "context.impact:ui", "Look at memory and decide, in your browser."),
    "install": Entry("wiring", "wiring.install:install_command", "Give a coding agent Reverie's memory: hooks and the MCP server."),
    "uninstall": Entry("wiring", "wiring.install:uninstall_command", "Remove Reverie from a coding agent."),
    "hook": Entry("wiring", "wiring.processes:hook", "Answer a hook of a coding agent; `reverie install` sets them up."),
    "daemon": Entry("wiring", "wiring.processes:daemon", "Control the process behind the hooks: status, start, stop, or run it here."),
    "team": Entry("wiring", "wiring.sharing:team_command", "Share a part of memory with your team, through git."),
    "sync": Entry("wiring", "wiring.sharing:sync_command", "Bring your memory to your other machines, through a git remote of yours."),
    "serve": Entry("wiring", "wiring.serve:serve", "Run the memory service for many people, on PostgreSQL."),
    "worker": Entry("wiring", "wiring.serve:worker", "Run the service's jobs: any number of workers, on any machine."),
    "tenants": Entry("wiring", "wiring.serve:tenants", "Manage organisations, spaces and keys of the memory service."),
    "migrate": Entry("wiring", "wiring.sharing:migrate", "Move a memory from files to a service, or back, with its history."),
    "agents": Entry("wiring", "wiring.agents", "List the agents a session hired, their state, and the agent types."),
    "mcp": Entry("wiring", "wiring.processes:mcp", "Give any client memory over the Model Context Protocol."),
    "proxy": Entry("wiring", "wiring.processes:proxy", "Give any client memory and a smaller bill, by its base URL."),
    "models": Entry("wiring", "wiring.models:models_command", "List the models you can use now, with window and price, or choose one."),
    "keys": Entry("wiring", "wiring.models:keys_command", "List the API keys that are known, set one, or remove one."),
    "settings": Entry("wiring", "wiring.settings:settings", "Show every setting, its value and where it came from; set, unset or edit."),
    "trust": Entry("wiring", "wiring.settings:trust", "Show what this project's settings files ask for, and answer."),
    "completion": Entry("wiring", "group:completion", "Print the completion script of a shell."),
    "doctor": Entry("wiring", "wiring.doctor", "Check that everything is in order."),
    "demo": Entry("look", "demo", "A long session through the layers, live, without a key."),
}  # fmt: skip

GROUPS = ("talk", "memory", "history", "learning", "context", "wiring", "look")


class LazyGroup(click.Group):
    """Lists all commands from the table and imports only the one it runs."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        module, _, function = entry.module.partition(":")
        found = import_module(f"reverie.cli.{module}")
        command: click.Command = getattr(found, function or "command")
        if ctx.resilient_parsing:
            return with_names(command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise click.UsageError(_no_such(args[0]), ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for group in GROUPS:
            rows = [(name, entry.line) for name, entry in COMMANDS.items() if entry.group == group]
            with formatter.section(group):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except ReverieError as error:
            raise Failed(str(error)) from error
        except BrokenPipeError:
            stop_printing()
            ctx.exit(0)
        except OSError as error:
            # Disk and permission errors: print one line, not a traceback.
            raise Failed(_disk_trouble(error)) from error


def _disk_trouble(error: OSError) -> str:
    at = f"{error.filename}: " if error.filename else ""
    reason = error.strerror or str(error) or type(error).__name__
    return f"{at}{reason}; `reverie doctor` checks the home and the disk"


def show_error(error: click.ClickException) -> None:
    """Print click's message; it quotes what was typed, so control characters are escaped."""
    message = io.StringIO()
    error.show(message)
    click.echo(printable(message.getvalue()), nl=False, err=True)


class Failed(click.ClickException):
    """A command failed: one message on stderr, exit code 1."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"reverie: {printable(self.message)}", file=file, err=True)


def _no_such(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, COMMANDS, n=1)
    hint = f" Did you mean '{close[0]}'?" if close else ""
    return f"No such command '{name}'.{hint}"


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        from reverie import __version__

        click.echo(f"reverie {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@shared_options
@click.option(
    "--version", is_flag=True, expose_value=False, is_eager=True, callback=_print_version,
    help="Print the version.",
)  # fmt: skip
@click.pass_context
def cli(ctx: click.Context, frame: Invocation) -> None:
    """Layered memory and context management for any LLM agent.

    Memory is plain markdown you can read, edit and undo; cost is visible and capped.
    """
    ctx.obj = frame


def main() -> None:
    """Run the command line; exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted."""
    # A transcript may hold text that cannot be encoded: print it escaped.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        sys.exit(cli.main(prog_name="reverie", standalone_mode=False))
    except click.ClickException as error:
        show_error(error)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("reverie: interrupted", err=True)
        sys.exit(130)


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
def completion(frame: Invocation, shell: str) -> None:
    """Print the completion script of a shell.

    Completes commands, options, memory names and session ids.

    \b
    eval "$(reverie completion bash)"      # in ~/.bashrc
    eval "$(reverie completion zsh)"       # in ~/.zshrc, after compinit
    reverie completion fish > ~/.config/fish/completions/reverie.fish
    """
    from click.shell_completion import get_completion_class

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
        from click.shell_completion import CompletionItem

        # A shell is waiting: on any error, offer nothing.
        with suppress(Exception):
            names = ("project", "home", "memory_dir", "overrides")
            given = {name: ctx.params[name] for name in names if ctx.params.get(name)}
            app = Invocation(**given).app()
            fitting = (one for one in _names(app, ctx, param) if one[0].startswith(incomplete))
            return [CompletionItem(name, help=about) for name, about in islice(fitting, _MOST)]
        return []


def with_names(command: click.Command) -> click.Command:
    """A command whose arguments complete to names where they take names."""
    for param in command.params:
        if param.name in _MEMORIES | _SESSIONS and isinstance(
            param.type, click.types.StringParamType
        ):
            param.type = Named()
    return command


def _names(
    app: Workspace, ctx: click.Context, param: click.Parameter
) -> Iterator[tuple[str, str | None]]:
    from reverie.workspace.handles import labelled

    if ctx.info_name in _OTHER_WORDS:
        return
    if param.name in _MEMORIES:
        yield from ((entry.file, entry.name) for entry in labelled(app))
    if param.name in _SESSIONS or ctx.info_name == "show":
        yield from ((path.stem, None) for path in app.journals())
