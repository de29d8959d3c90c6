"""Render docs/commands.md: every command with its usage, its help and its options."""

from __future__ import annotations

import inspect

import click

from reverie.cli.group import COMMANDS, GROUPS, cli
from reverie.cli.invocation import Invocation

_OPENING = """\
# Commands

Generated from the commands themselves by `make docs`; a test compares the two.

Each command takes these options, before or after its name:

"""


def reference() -> str:
    """The text of docs/commands.md."""
    context = click.Context(cli, info_name="reverie", **cli.context_settings)
    shared = [one for one in cli.params if one.name in _shared()]
    parts = [_OPENING + _options(shared, context)]
    for group in GROUPS:
        parts.append(f"## {group}\n")
        for name, entry in COMMANDS.items():
            command = cli.get_command(context, name) if entry.group == group else None
            if command is not None:
                parts.append(_command(name, command, context))
    return "\n".join(parts)


def _shared() -> set[str]:
    return set(inspect.signature(Invocation).parameters)


def _command(name: str, command: click.Command, parent: click.Context) -> str:
    context = click.Context(command, info_name=name, parent=parent)
    usage = command.get_usage(context).removeprefix("Usage: ")
    usage = " ".join(usage.split())
    own = [one for one in command.params if one.name not in _shared()]
    lines = [f"### {name}\n", f"```text\n{usage}\n```\n", _help(command)]
    if table := _options(own, context):
        lines += [table]
    if isinstance(command, click.Group):
        lines += [_subcommands(command, context)]
    return "\n".join(lines)


def _help(command: click.Command) -> str:
    """The help as markdown: paragraphs that click leaves alone are examples."""
    blocks = inspect.cleandoc(command.help or "").split("\n\n")
    shown = []
    for block in blocks:
        if block.startswith("\b"):
            shown.append("```sh\n" + block.removeprefix("\b").strip("\n") + "\n```")
        else:
            shown.append(" ".join(block.split()))
    return "\n\n".join(shown) + "\n"


def _options(params: list[click.Parameter], context: click.Context) -> str:
    options = [one for one in params if isinstance(one, click.Option)]
    records = [record for one in options if (record := one.get_help_record(context))]
    if not records:
        return ""
    rows = [f"| `{_cell(option)}` | {_cell(about)} |" for option, about in records]
    return "\n".join(["| option | what it does |", "|---|---|", *rows, ""])


def _subcommands(group: click.Group, context: click.Context) -> str:
    rows = []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            rows.append(f"| `{name}` | {_cell(command.get_short_help_str(200))} |")
    return "\n".join(["| action | what it does |", "|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
