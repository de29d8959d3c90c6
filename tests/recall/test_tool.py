"""`search_memory` as the agent calls it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.recall.shelf import NOW, HashedWords, memory, said, shelf

from reverie.agent.permissions import Consent, by_mode
from reverie.agent.toolbox import Toolbox
from reverie.agent.tools import Tool, Workplace
from reverie.core.messages import ToolResult, ToolUse
from reverie.errors import StorageError
from reverie.recall.documents import Results, Scope
from reverie.recall.service import NAME, results_text, search_memory


@pytest.fixture
def tool(tmp_path: Path) -> Tool:
    docs = (
        memory("logo.md", "The logo is teal.", type="project"),
        memory("lunch.md", "Lunch is at noon.", type="user"),
    )
    index = shelf(tmp_path, *docs, embedder=HashedWords())
    index.add_episodes("0442a060", said("Which colour has the logo?", "Teal, we said."))

    def search(question: str, scope: Scope, limit: int) -> Results:
        return index.search(question, now=NOW, limit=limit, collection=scope)

    return search_memory(search)


async def call(tool: Tool, root: Path, **arguments: Any) -> ToolResult:
    place = Workplace(root)
    # In plan mode whatever does not only read is refused.
    box = Toolbox((tool,), place, Consent(by_mode("plan", place)))
    (result,) = await box.run([ToolUse("use-1", NAME, json.dumps(arguments))])
    return result


async def test_memories_and_episodes_with_their_names_and_dates(tool: Tool, tmp_path: Path):
    result = await call(tool, tmp_path, query="logo colour")
    assert not result.is_error
    assert "- memory logo.md (2027-01-05): The logo is teal." in result.text
    assert "- session 0442a060 (2027-01-14, user): Which colour has the logo?" in result.text


@pytest.mark.parametrize(
    ("arguments", "wanted", "unwanted"),
    [
        ({"scope": "memories"}, "logo.md", "0442a060"),
        ({"scope": "episodes"}, "0442a060", "logo.md"),
        ({"query": "type:user teal lunch", "scope": "memories"}, "lunch.md", "logo.md"),
    ],
)
async def test_it_can_be_narrowed(tool: Tool, tmp_path: Path, arguments, wanted, unwanted):
    text = (await call(tool, tmp_path, **{"query": "logo", **arguments})).text
    assert wanted in text
    assert unwanted not in text


async def test_a_limit(tool: Tool, tmp_path: Path):
    assert len((await call(tool, tmp_path, query="logo teal", limit=1)).text.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments", [{}, {"query": ""}, {"query": "x", "scope": "all"}, {"query": "x", "limit": 99}]
)
async def test_wrong_arguments_are_explained(tool: Tool, tmp_path: Path, arguments):
    result = await call(tool, tmp_path, **arguments)
    assert result.is_error
    assert "schema" in result.text


async def test_failure_is_a_result(tmp_path: Path):
    def broken(question: str, scope: Scope, limit: int) -> Results:
        raise StorageError("the index is gone")

    result = await call(search_memory(broken), tmp_path, query="x")
    assert (result.is_error, result.text) == (True, "the index is gone")


def test_nothing_and_notes():
    assert results_text(Results()) == "Nothing was found."
    text = results_text(Results(approximate=True, notes=("by words alone: down",)))
    assert "narrow the query" in text
    assert text.endswith("(by words alone: down)")
