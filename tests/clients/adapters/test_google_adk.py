"""Google ADK with its own runner: what a user says in one session is known in the next."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.place import Place

from reverie import InputError, Memory

pytest.importorskip("google.adk", reason="google-adk is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

APP = "desk"


@pytest.fixture
def service(place: Place) -> Any:
    from reverie.adapters.google_adk import ReverieMemoryService

    made = ReverieMemoryService(project=place.root, home=place.home)
    yield made
    made.close()


def agent_that_repeats() -> Any:
    """An agent whose model answers with what it was told, so that a test can see it."""
    from google.adk.agents import LlmAgent
    from google.adk.models.base_llm import BaseLlm
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.tools.preload_memory_tool import PreloadMemoryTool
    from google.genai import types

    class Repeats(BaseLlm):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            told = str(llm_request.config.system_instruction) + str(llm_request.contents)
            yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=told)]))

    return LlmAgent(name="desk", model=Repeats(model="repeats"), tools=[PreloadMemoryTool()])


async def say(service: Any, user: str, text: str) -> tuple[str, Any]:
    """One message in a new session; the answer, and the session afterwards."""
    from google.adk.runners import Runner
    from google.adk.sessions import InMemorySessionService
    from google.genai import types

    sessions = InMemorySessionService()
    runner = Runner(
        app_name=APP, agent=agent_that_repeats(), session_service=sessions, memory_service=service
    )
    session = await sessions.create_session(app_name=APP, user_id=user)
    message = types.Content(role="user", parts=[types.Part(text=text)])
    answers = [
        part.text or ""
        async for event in runner.run_async(
            user_id=user, session_id=session.id, new_message=message
        )
        for part in (event.content.parts or [] if event.content else [])
    ]
    done = await sessions.get_session(app_name=APP, user_id=user, session_id=session.id)
    return "".join(answers), done


async def test_a_session_is_learnt_from_and_known_in_the_next(service: Any) -> None:
    _, session = await say(service, "alice", "Remember that our staging server is called heron.")
    await service.add_session_to_memory(session)
    # ADK may add a session after each turn; what was read is not read again.
    await service.add_session_to_memory(session)
    answer, _ = await say(service, "alice", "What is our staging server called?")
    assert "heron" in answer
    other, _ = await say(service, "bob", "What is our staging server called?")
    assert "heron" not in other


async def test_memories_are_added_and_deleted(service: Any, place: Place) -> None:
    from google.adk.memory.memory_entry import MemoryEntry
    from google.genai import types

    content = types.Content(parts=[types.Part(text="The clinic opens at 8")])
    entry = MemoryEntry(content=content, custom_metadata={"year": 2026, "nested": {}})
    await service.add_memory(app_name=APP, user_id="alice", memories=[entry])
    with Memory.open(place.root, home=place.home, user=f"{APP}/alice") as memory:
        assert [one.metadata for one in memory.list()] == [{"year": 2026}]
    asked = {"app_name": APP, "user_id": "alice"}
    [found] = (await service.search_memory(query="when does the clinic open?", **asked)).memories
    await service.delete_memory(memory_id=found.id, **asked)
    assert not (await service.search_memory(query="when does the clinic open?", **asked)).memories
    with pytest.raises(InputError, match="memory_id is missing"):
        await service.delete_memory(**asked)
