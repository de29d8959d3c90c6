"""The pages: their links lead somewhere, and the commands in them exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from reverie.cli.group import COMMANDS, cli

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
    if page.name == "walk.md":
        pytest.skip("its mistakes are meant; every command is played by tests/flows/test_walk.py")
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


def test_references_say_what_the_code_says() -> None:
    """Settings, commands, API and events."""
    check = [sys.executable, str(ROOT / "scripts" / "reference.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nrender them again: make docs"


def test_the_cost_of_a_conversation_is_the_measured_one() -> None:
    measured = (ROOT / "docs" / "benchmarks.md").read_text("utf-8")
    row = re.search(r"\*\*ours, balanced\*\* \(default\) \| ([\d.]+) \| \*\*(−[\d.]+) %", measured)
    assert row is not None
    dollars, percent = round(float(row[1])), row[2]
    comparison = (ROOT / "docs" / "comparison.md").read_text("utf-8")
    assert f"**${dollars}** ({percent} %;" in comparison
    readme = (ROOT / "README.md").read_text("utf-8")
    assert f"cost {percent[1:]} % less" in readme


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    pages = {page.name for page in ROOT.glob("docs/*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def test_each_layer_has_a_picture() -> None:
    text = (ROOT / "docs" / "concepts.md").read_text("utf-8")
    layers = re.split(r"^## (?=\d )", text, flags=re.MULTILINE)[1:]
    assert [part[0] for part in layers] == [*"1234567"]
    assert [part[:40] for part in layers if part.count("```mermaid") != 1] == []


PLACE = re.compile(r"`([\w/]+\.py)(?::([\w.]+))?`")


@pytest.mark.parametrize(("file", "function"), sorted(set(PLACE.findall((ROOT / "ARCHITECTURE.md").read_text("utf-8")))))  # fmt: skip
def test_the_files_and_functions_of_the_architecture_exist(file: str, function: str) -> None:
    """A walk may leave out the folder that it is in already: `dream.py:run`."""
    if file.startswith("tests/"):
        assert (ROOT / file).exists()
        return
    package = ROOT / "src" / "reverie"
    found = [path for path in package.rglob(Path(file).name) if str(path).endswith(f"/{file}")]
    assert found, f"there is no {file}"
    sources = [path.read_text("utf-8") for path in found]
    for name in filter(None, function.split(".")):
        defined = re.compile(rf"^ *(async def|def|class) {name}\b", re.MULTILINE)
        assert any(defined.search(source) for source in sources), f"{file} has no {name}"


def test_the_modules_of_the_tree_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    tree = text.partition("```\nsrc/reverie/\n")[2].partition("```")[0]
    names = {path.name for path in (ROOT / "src" / "reverie").rglob("*.py")}
    missing = sorted(set(re.findall(r"\b\w+\.py\b", tree)) - names)
    assert not missing, f"the tree names modules that are not there: {missing}"
