"""The README's examples run, and print what the README says they print."""

import re

import pytest
from tests.flows.examples import ROOT, Example, examples, run
from tests.place import Place
from tests.provider.provider import Provider

README = ROOT / "README.md"


@pytest.mark.parametrize("example", examples("README.md"), ids=str)
def test_an_example_runs(example: Example, place: Place, provider: Provider):
    printed = run(example, place, provider)
    assert example.output in (None, printed)


def test_every_command_it_names_exists():
    from reverie.cli.group import COMMANDS

    named = set(re.findall(r"`reverie ([a-z]+)", README.read_text("utf-8")))
    table = re.findall(r"^\| (`[a-z].*?) \|", README.read_text("utf-8"), re.MULTILINE)
    named |= {word for row in table for word in re.findall(r"`([a-z]+)[ `\[]", row)}
    named -= {"models", "providers"}
    assert named <= set(COMMANDS) | {"make"}
