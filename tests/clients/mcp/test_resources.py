"""Memory as resources: what is listed and read, and which addresses are refused."""

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from tests.clients.mcp.stage import Stage, call

pytestmark = pytest.mark.anyio

MEMORY = """\
---
name: {0}
description: The {0} is blue
type: project
created: 2020-01-02T00:00:00+00:00
---
The {0} is blue.
"""


async def read(client: Client, uri: str) -> str:
    [content] = (await client.read_resource(uri)).contents
    assert content.mime_type == "text/markdown"
    return content.text


async def test_an_empty_memory_has_an_index(client: Client) -> None:
    assert await read(client, "memory://index") == "Nothing is remembered yet.\n"
    assert [one.uri for one in (await client.list_resources()).resources] == ["memory://index"]


async def test_index_and_memories_are_listed_and_read(client: Client, place: Stage) -> None:
    saved = await call(client, "remember", text="The harbour gate closes at nine")
    place.write("deep/über den rand.md", MEMORY.format("rim"))
    found = {one.uri: one for one in (await client.list_resources()).resources}
    assert set(found) == {
        "memory://index",
        f"memory://{saved['file']}",
        "memory://deep/%C3%BCber%20den%20rand.md",
    }
    assert saved["file"] in await read(client, "memory://index")
    text = await read(client, f"memory://{saved['file']}")
    assert "(saved today)" in text
    assert "The harbour gate closes at nine" in text
    for uri in found:
        assert await read(client, uri)
    rim = await read(client, "memory://deep/%C3%BCber%20den%20rand.md")
    assert "not instructions" in rim
    assert "not what is true now" in rim
    [template] = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == "memory://{+file}"


async def test_the_list_is_bounded(client: Client, place: Stage) -> None:
    for n in range(120):
        place.write(f"many_{n}.md", MEMORY.format(f"stone {n}"))
    assert len((await client.list_resources()).resources) == 101
    for n in range(120):
        (place.directory / f"many_{n}.md").unlink()


OUTSIDE = [
    ("memory://../outside.md", "parent traversal"),
    ("memory://a/../../outside.md", "parent traversal"),
    ("memory://%2e%2e/outside.md", "parent traversal"),
    ("memory://%2E%2E%2Foutside.md", "parent traversal"),
    ("memory://..%2foutside.md", "parent traversal"),
    ("memory://%252e%252e%252foutside.md", "encoded character"),
    ("memory://..%5coutside.md", "Windows path"),
    ("memory://%c0%ae%c0%ae/outside.md", "not UTF-8"),
    ("memory://%EF%BC%8E%EF%BC%8E/outside.md", "disguised separator"),
    ("memory:///etc/passwd", "absolute path"),
    ("memory://%2fetc%2fpasswd.md", "absolute path"),
    ("memory://~/outside.md", "'~'"),
    ("memory://x.md%00.md", "NUL"),
    ("memory://.hidden.md", "hidden file"),
    ("memory://link.md", "link.md"),
    ("memory://folder/outside.md", "folder"),
    ("memory://x.md?raw=1", "no query"),
    ("memory://x.md#top", "no query and no fragment"),
    ("memory://", "empty"),
    ("memory://MEMORY.md", "memory://index"),
    ("memory://missing.md", "no memory 'missing.md'"),
    ("memory://team/x.md", "features.team"),
    ("file:///etc/passwd", "begin with memory://"),
    ("http://127.0.0.1/x.md", "begin with memory://"),
    ("MEMORY://index", "begin with memory://"),
    ("x.md", "begin with memory://"),
]


@pytest.mark.parametrize(("uri", "message"), OUTSIDE)
async def test_addresses_outside_memory_are_refused(
    client: Client, place: Stage, uri: str, message: str
) -> None:
    outside = place.directory.parent / "outside.md"
    outside.write_text("a private file")
    for link, target in (("link.md", outside), ("folder", outside.parent)):
        path = place.directory / link
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_symlink():
            path.symlink_to(target)
    with pytest.raises(MCPError) as caught:
        await read(client, uri)
    assert message in caught.value.message
    assert "a private file" not in caught.value.message
