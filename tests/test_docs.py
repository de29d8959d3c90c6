"""The pages: their links lead somewhere, and the commands in them exist."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reverie.cli.group import COMMANDS, cli
from reverie.cli.reference import reference

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"(?<!\!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(sh|console|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def headings(text: str) -> set[str]:
    """The anchors of a page, as a forge makes them."""
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in found)
    return {heading.strip().replace(" ", "-") for heading in plain}


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    without_code = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    for match in LINK.finditer(without_code):
        target = match[1] or match[2]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = page.parent / path if path else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor and linked.suffix == ".md":
            assert anchor in headings(linked.read_text("utf-8")), f"{page.name} links to {target}"


def commands_in(page: Path) -> Iterator[list[str]]:
    for _, block in FENCE.findall(page.read_text("utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            command = line.removeprefix("$ ").split("| reverie ")[-1].partition("  #")[0]
            if line.removeprefix("$ ").startswith("reverie ") or "| reverie " in line:
                yield shlex.split(command.removeprefix("reverie "), comments=True)


@each_page
def test_commands_and_options_exist(page: Path) -> None:
    for words in commands_in(page):
        names = [word for word in words if word in COMMANDS]
        assert names or words[0].startswith("-"), f"{page.name}: no command in {words}"
        command = cli.get_command(click.Context(cli), names[0]) if names else cli
        assert command is not None
        known = {option for one in _nested(command) for p in one.params for option in p.opts}
        after = words[words.index("--") :] if "--" in words else []
        for word in words[: len(words) - len(after)]:
            if word.startswith("--"):
                option = word.partition("=")[0]
                assert option in known | {"--help", "--version"}, f"{page.name}: {words}"


def _nested(command: click.Command) -> list[click.Command]:
    if not isinstance(command, click.Group) or command is cli:
        return [command]
    return [command, *command.commands.values()]


def test_the_page_of_commands_is_what_they_say() -> None:
    page = (ROOT / "docs" / "commands.md").read_text("utf-8")
    assert page == reference(), "render it again: make docs"
