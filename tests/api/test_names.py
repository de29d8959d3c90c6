"""The public names: exactly these, cheap to import, each with an example that runs."""

import re
import subprocess
import sys
from typing import get_args

import pytest
from tests.flows.examples import ROOT, Example, examples, run
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest
from tests.provider.script import ScriptItem, ToolCall

import reverie
from reverie import events

PAGE = "docs/library.md"


def helpful(request: RecordedRequest) -> ScriptItem:
    """Calls the first tool the example brought, once."""
    last = str(request.json["messages"])
    names = {tool["name"] for tool in request.json.get("tools", [])}
    if "tool_result" in last:
        return "It is done."
    if "get_weather" in names:
        return ToolCall("get_weather", {"city": "Bern"})
    return ToolCall("on_call", {"day": "2026-11-20"}) if "on_call" in names else "Well."


@pytest.mark.parametrize("example", examples(PAGE), ids=str)
def test_an_example_runs(example: Example, place: Place, provider: Provider) -> None:
    provider.respond(helpful)
    assert run(example, place, provider)


def test_every_name_is_there() -> None:
    assert sorted(reverie.__all__) == reverie.__all__
    assert all(getattr(reverie, name) is not None for name in reverie.__all__)
    assert set(reverie.__all__) <= set(dir(reverie))
    with pytest.raises(AttributeError, match="no attribute 'Agents'"):
        reverie.Agents  # noqa: B018


def test_every_name_has_an_example() -> None:
    code = "\n".join(example.code for example in (*examples("README.md"), *examples(PAGE)))
    assert [name for name in reverie.__all__ if not re.search(rf"\b{name}\b", code)] == []


def test_every_name_is_documented() -> None:
    undocumented = [name for name in reverie.__all__ if not getattr(reverie, name).__doc__]
    assert set(undocumented) <= {"Event"}


def test_every_event_is_in_the_table() -> None:
    page = (ROOT / PAGE).read_text("utf-8")
    table = page[page.index("## Events") : page.index("## Errors")]
    assert [
        kind.__name__ for kind in get_args(events.Event) if f"`{kind.__name__}`" not in table
    ] == []


def test_importing_loads_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules); import reverie; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-S",
            "-c",
            f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); {code}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["__future__", "reverie"]


def test_it_is_typed() -> None:
    assert (ROOT / "src" / "reverie" / "py.typed").exists()
