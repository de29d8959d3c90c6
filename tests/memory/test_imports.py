"""Imports from other programs: every format is read, and nothing is dropped silently."""

import io
import json
import zipfile
from datetime import date

import pytest

from reverie.errors import InputError
from reverie.memory.changes.draft import Declined, NewMemory
from reverie.memory.changes.imports import Found, read_file, read_files
from reverie.memory.changes.transfer import Piece, pieces

AGENTS = """\
# Shop

Everything here is for agents.

## Tests

- Always run the suite with a real database.
- Never mock time;
  take a clock instead.

  ```python
  clock = FixedClock()

  ```
* One more.

Before a release:

1. Ask Mira.
2. Tag it.

A closing remark about tests.

## Places
---
<!-- nothing -->
![logo](logo.png)
"""


def test_an_instruction_file_is_taken_apart():
    assert pieces(AGENTS) == [
        Piece("Everything here is for agents."),
        Piece("Always run the suite with a real database.", "Tests"),
        Piece(
            "Never mock time;\ntake a clock instead.\n\n```python\nclock = FixedClock()\n\n```",
            "Tests",
        ),
        Piece("One more.", "Tests"),
        Piece("Ask Mira.", "Tests, Before a release"),
        Piece("Tag it.", "Tests, Before a release"),
        Piece("A closing remark about tests.", "Tests"),
    ]


def test_code_stays_with_what_was_said_about_it():
    text = "Start it so:\n\nRun this.\n\n```sh\n# not a heading\n- not a bullet\n```\nAfter.\n"
    code = "Run this.\n\n```sh\n# not a heading\n- not a bullet\n```\nAfter."
    assert pieces(text) == [Piece(code, "Start it so")]
    assert [piece.text for piece in pieces("```\nx\n```")] == ["```\nx\n```"]


@pytest.mark.parametrize("text", ["", "\n\n", "# Only a title", "```\nunclosed", "---", "- ", "a:"])
def test_odd_files_are_taken_apart_too(text):
    assert all(piece.text for piece in pieces(text))


def new_memory(found: Found) -> NewMemory:
    assert isinstance(found.wish, NewMemory), found
    return found.wish


def test_a_single_file_without_frontmatter_is_split():
    found = read_file("AGENTS.md", AGENTS.encode())
    assert [one.source for one in found][:2] == ["AGENTS.md, piece 1", "AGENTS.md, Tests"]
    assert new_memory(found[1]).description == "Tests: Always run the suite with a real database."
    assert {new_memory(one).origin for one in found} == {"import"}


TOPIC = b"""---
name: Who is who
description: Mira decides about releases
type: project
x-client: kept
---
Mira decides.
"""


def test_a_folder_is_one_memory_a_file():
    found = read_files({
        "who.md": TOPIC,
        "sub/note.md": b"# Deploy days\n\nOnly on Mondays.\n",
        "MEMORY.md": b"- [Who](who.md)\n",
        "broken.md": b"---\nname: x\nno end",
        "README.txt": b"not markdown",
    })  # fmt: skip
    broken, note, who = sorted(found, key=lambda one: one.source)
    assert isinstance(broken.wish, Declined)
    assert "never closed" in broken.wish.reason
    assert (new_memory(note).name, new_memory(note).text) == ("Deploy days", "Only on Mondays.")
    assert (new_memory(who).name, new_memory(who).type, new_memory(who).text) == (
        "Who is who",
        "project",
        "Mira decides.",
    )
    assert new_memory(who).original is not None


def jsoned(name: str, data: object) -> list[Found]:
    return read_file(name, json.dumps(data).encode())


ONE = {
    "id": "1",
    "memory": "Likes tea",
    "created_at": "2025-01-31T10:00:00-08:00",
    "metadata": None,
}
MEM0 = {
    "results": {"results": [ONE], "count": 1},
    "a list": [ONE],
    "openmemory": {"user": {}, "memories": [{"content": "Likes tea", "created_at": "2025-01-31"}]},
    "categories": {"results": [{**ONE, "categories": ["food", "user"]}]},
    "typed": {"results": [{**ONE, "metadata": {"type": "user"}}]},
}


@pytest.mark.parametrize("shape", MEM0)
def test_mem0(shape):
    [found] = jsoned("mem0.json", MEM0[shape])
    made = new_memory(found)
    assert (made.text, made.said, made.origin) == ("Likes tea", date(2025, 1, 31), "import")
    assert made.type == ("user" if shape in ("categories", "typed") else None)


def test_lines_of_json():
    found = read_file("memories.jsonl", b'{"content": "one"}\n\n{"text": "two"}\n"three"\n')
    assert [new_memory(one).text for one in found] == ["one", "two", "three"]


def test_what_is_no_memory_is_said():
    found = jsoned("x.json", [1, {"id": "2"}, {"memory": "gone", "state": "deleted"}, "kept"])
    assert [isinstance(one.wish, Declined) for one in found] == [True, True, True, False]
    assert [one.source for one in found] == ["x.json #1", "x.json #2", "x.json #3", "x.json #4"]


BLOCKS = [
    {"label": "persona", "value": "I am Sam."},
    {"label": "human", "value": "The human is called Ada.\n\nAda likes tea.", "limit": 5000},
    {"label": "project", "value": "Releases are on Mondays."},
    {"label": "empty", "value": None},
]
LETTA = {
    "agent file": {"agents": [{"id": "agent-0", "messages": []}], "blocks": BLOCKS, "tools": []},
    "older agent file": {"agent_type": "memgpt_agent", "core_memory": BLOCKS, "messages": []},
    "inside the agent": {"agents": [{"core_memory": BLOCKS}], "blocks": []},
}


@pytest.mark.parametrize("shape", LETTA)
def test_letta(shape):
    persona, *rest = jsoned("sam.af", LETTA[shape])
    assert isinstance(persona.wish, Declined)
    assert [(new_memory(one).text, new_memory(one).type) for one in rest] == [
        ("The human is called Ada.", "user"),
        ("Ada likes tea.", "user"),
        ("Releases are on Mondays.", None),
    ]


def test_letta_passages():
    [found] = jsoned(
        "p.json", {"passages": [{"text": "archived", "created_at": "2024-05-05T00:00:00Z"}]}
    )
    assert (new_memory(found).text, new_memory(found).said) == ("archived", date(2024, 5, 5))


def zipped(files: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return made.getvalue()


def test_a_zip_is_a_folder():
    found = read_file(
        "x.zip", zipped({"who.md": TOPIC, "MEMORY.md": b"", "memories.json": b'["a"]'})
    )
    assert sorted(new_memory(one).text for one in found) == ["Mira decides.", "a"]


BAD = {
    "no JSON": ("x.json", b"{", "x.json is not JSON"),
    "deep JSON": ("x.json", b"[" * 100_000, "x.json is not JSON"),
    "another object": ("x.json", b'{"a": 1}', "no list of memories"),
    "a number": ("x.json", b"7", "no list of memories"),
    "no zip": ("x.zip", b"PK\x03\x04 not really", "cannot be unpacked"),
    "a bomb": ("x.zip", zipped({"a.md": bytes(65 * 1024 * 1024)}), "unpacks to more than"),
    "a bad line": ("x.jsonl", b'"a"\n{', "x.jsonl, line 2 is not JSON"),
}


@pytest.mark.parametrize("name", BAD)
def test_files_that_cannot_be_read(name):
    file, data, said = BAD[name]
    with pytest.raises(InputError, match=said):
        read_file(file, data)
