"""Tools beyond the room of the head: found by a search, called by name, under the same checks."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agent.test_toolbox import echo, tool

from reverie.agent.permissions import Consent, Mode, by_mode
from reverie.agent.toolbox import CALL, FIND, Toolbox, beyond, searching
from reverie.agent.tools import Workplace
from reverie.core.messages import ToolUse

MANY = [tool(f"weather_{i}", echo) for i in range(3)]
DEPLOY = tool("deploy_site", echo, access="write", file="site.html")


def box(place: Path, mode: Mode = "bypass") -> Toolbox:
    workplace = Workplace(place)
    consent = Consent(by_mode(mode, workplace))
    added = (*MANY, DEPLOY)
    return Toolbox((tool("echo", echo), *searching(added)), workplace, consent, deferred=added)


def call(name: str, **arguments: object) -> ToolUse:
    return ToolUse("1", CALL, json.dumps({"name": name, "arguments": arguments}))


def test_few_tools_stay_in_the_head() -> None:
    assert beyond(MANY, 10_000) == ()
    assert beyond(MANY, 10) == tuple(MANY)


def test_the_head_has_the_search_in_their_place(tmp_path: Path) -> None:
    assert [spec.name for spec in box(tmp_path).specs] == ["echo", FIND, CALL]


async def test_a_tool_is_found_by_what_it_does_and_called(tmp_path: Path) -> None:
    toolbox = box(tmp_path)
    [found] = await toolbox.run([ToolUse("1", FIND, '{"query": "deploy my site"}')])
    assert found.text.startswith("deploy_site: The deploy_site tool.")
    assert '"required": ["text"]' in found.text
    [done] = await toolbox.run([call("weather_1", text="rain")])
    assert (done.text, done.is_error) == ("rain", False)


async def test_its_own_schema_and_permission_hold(tmp_path: Path) -> None:
    [wrong] = await box(tmp_path).run([call("weather_1", text=5)])
    assert "weather_1: the arguments.text must be string" in wrong.text
    [refused] = await box(tmp_path, "plan").run([call("deploy_site", text="now")])
    assert refused.is_error
    [unknown] = await box(tmp_path).run([call("nothing", text="now")])
    assert FIND in unknown.text


async def test_a_fork_has_the_same_head_and_calls_them_too(tmp_path: Path) -> None:
    toolbox = box(tmp_path)
    fork = toolbox.fork(Consent(by_mode("bypass", toolbox.workplace)))
    assert fork.specs == toolbox.specs
    [done] = await fork.run([call("weather_2", text="sun")])
    assert done.text == "sun"
