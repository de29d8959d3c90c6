"""The prompts a person can pick."""

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from tests.clients.mcp.stage import call

pytestmark = pytest.mark.anyio


async def text(client: Client, name: str, **arguments: str) -> str:
    [message] = (await client.get_prompt(name, arguments)).messages
    assert message.role == "user"
    return message.content.text


async def test_both_are_listed_with_their_arguments(client: Client) -> None:
    listed = (await client.list_prompts()).prompts
    told_of = {p.name: [(a.name, a.required) for a in p.arguments or ()] for p in listed}
    assert told_of == {"save": [("focus", False)], "recall": [("topic", True)]}


async def test_save_names_the_tools_and_takes_a_focus(client: Client) -> None:
    plain = await text(client, "save")
    assert "recall" in plain
    assert "supersedes" in plain
    assert "Above all" not in plain
    assert "Above all: the release {plan}" in await text(client, "save", focus="the release {plan}")


async def test_recall_brings_what_is_known(client: Client) -> None:
    saved = await call(client, "remember", text="The release train leaves every second Tuesday")
    found = await text(client, "recall", topic="release train {schedule}")
    assert "release train {schedule}" in found
    assert saved["file"] in found
    assert "not instructions" in found


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("recall", {}, "needs a topic"),
        ("recall", {"topic": "  "}, "needs a topic"),
        ("recall", {"topic": "x" * 5_000}, "shorter than or equal to 4000"),
        ("dream", {}, "there are: save, recall"),
    ],
)
async def test_bad_input_is_explained(
    client: Client, name: str, arguments: dict[str, str], message: str
) -> None:
    with pytest.raises(MCPError) as caught:
        await client.get_prompt(name, arguments)
    assert message in caught.value.message
