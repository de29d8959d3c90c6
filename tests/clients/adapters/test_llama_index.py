"""LlamaIndex's own memory with our block: memories stand in its history, and what leaves it is learnt."""

from typing import Any

import pytest
from tests.place import Place

from reverie import Memory

pytest.importorskip("llama_index.core", reason="llama-index-core is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def memory(place: Place) -> Any:
    with Memory.open(clock=place.clock) as opened:
        yield opened


def message(role: str, text: str) -> Any:
    from llama_index.core.base.llms.types import ChatMessage

    return ChatMessage(role=role, content=text)


async def test_memories_stand_beside_the_question(memory: Memory) -> None:
    from llama_index.core.memory import Memory as History

    from reverie.adapters.llama_index import ReverieMemoryBlock

    memory.remember("The staging database listens on port 6543")
    block = ReverieMemoryBlock(memory)
    history = History.from_defaults(session_id="s1", memory_blocks=[block])
    await history.aput(message("user", "On which port does the staging database listen?"))
    sent = await history.aget()
    assert "6543" in str([one.content for one in sent])
    assert "6543" not in str(await block.aget([message("user", "How is the weather?")]))
    assert await block.aget([]) == ""
    await history.sql_store._async_engine.dispose()


async def test_what_leaves_the_window_is_learnt(memory: Memory) -> None:
    from llama_index.core.memory import Memory as History

    from reverie.adapters.llama_index import ReverieMemoryBlock

    history = History.from_defaults(
        session_id="s2",
        token_limit=60,
        chat_history_token_ratio=0.5,
        token_flush_size=20,
        memory_blocks=[ReverieMemoryBlock(memory)],
    )
    await history.aput(message("user", "Remember that our staging server is called heron."))
    await history.aput(message("assistant", "I will. " * 20))
    await history.aput(message("user", "Thank you. " * 10))
    await history.sql_store._async_engine.dispose()
    assert any("heron" in entry.memory for entry in memory.list())


async def test_the_weakest_are_left_out_first(memory: Memory) -> None:
    from reverie.adapters.llama_index import ReverieMemoryBlock

    block = ReverieMemoryBlock(memory)
    assert await block.atruncate("- first\n- second\n- third", 2) == "- first\n- second"
    assert await block.atruncate("- first", 100) is None
