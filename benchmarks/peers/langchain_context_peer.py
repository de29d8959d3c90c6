"""LangChain's own middleware on recorded sessions: what it would send at each call, as JSON lines.

Called with the parts to use (`summarize`, `edit`). A line in is a session: its messages with their
sizes, and how many of them there are at each call. Lines out are what is sent, one a call: places of
messages, a place with another text, or -1 with the text of a summary.

Sizes are the provider's own, as an exact tokenizer would give them. Summaries are due at a share of
the window that counts the system prompt and tools, as the provider's reported tokens do. Everything
else is as the package ships.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from langchain.agents.middleware import ContextEditingMiddleware, SummarizationMiddleware
from langchain.agents.middleware.summarization import DEFAULT_SUMMARY_PROMPT
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.language_models.fake_chat_models import FakeListChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import add_messages

SHARE_OF_WINDOW = 0.85


def main() -> None:
    if "--check" in sys.argv:
        return
    for line in sys.stdin:
        session = Session(json.loads(line), frozenset(sys.argv[1:]))
        for known in session.calls:
            print(json.dumps(session.sent(known)))
        sys.stdout.flush()


class Session:
    """One conversation under the middleware."""

    def __init__(self, given: dict[str, Any], parts: frozenset[str]) -> None:
        self.calls = given["calls"]
        self._given = given["messages"]
        self._sizes = {str(i): message["tokens"] for i, message in enumerate(self._given)}
        self._summary = given["summary"]
        self._summarized = 0
        self._state: list[AnyMessage] = []
        self._taken = 0
        model = FakeListChatModel(responses=["unused"])
        self._summarization = (
            SummarizationMiddleware(
                model,
                trigger=("tokens", int(given["window"] * SHARE_OF_WINDOW) - given["head"]),
                token_counter=self._count,
                summarizer=self._summarize,
            )
            if "summarize" in parts
            else None
        )
        self._editing = (
            ContextEditingMiddleware(token_counter=self._count) if "edit" in parts else None
        )
        self._model = model

    def sent(self, known: int) -> dict[str, Any]:
        fresh = [_message(self._given[i], str(i)) for i in range(self._taken, known)]
        self._taken = known
        self._state += fresh
        self._summarized = 0
        update = None
        if self._summarization is not None:
            update = self._summarization.before_model({"messages": self._state}, None)
            if update:
                self._state = list(add_messages(self._state, update["messages"]))
        shown = self._edited(self._state) if self._editing is not None else self._state
        return {
            "shown": [self._place(message) for message in shown],
            "compacted": bool(update),
            "summarized": self._summarized,
        }

    def _edited(self, messages: list[AnyMessage]) -> list[AnyMessage]:
        seen: list[AnyMessage] = []

        def handler(request: ModelRequest) -> ModelResponse:
            seen.extend(request.messages)
            return ModelResponse(result=[AIMessage("")])

        request = ModelRequest(model=self._model, messages=messages)
        self._editing.wrap_model_call(request, handler)
        return seen

    def _place(self, message: AnyMessage) -> int | list[Any]:
        if message.id not in self._sizes:
            return [-1, message.content]
        place = int(message.id)
        edited = isinstance(message, ToolMessage) and message.content != self._given[place]["text"]
        return [place, message.content] if edited else place

    def _count(self, messages: list[AnyMessage]) -> int:
        return sum(self._size(message) for message in messages)

    def _size(self, message: AnyMessage) -> int:
        if isinstance(message, RemoveMessage):
            return 0
        place = self._place(message)
        if isinstance(place, int):
            return self._sizes[str(place)]
        return len(message.content) // 4

    def _summarize(self, messages: list[AnyMessage]) -> str:
        texts = (len(str(message.content)) for message in messages)
        self._summarized = len(DEFAULT_SUMMARY_PROMPT) + sum(texts)
        return self._summary


def _message(given: dict[str, Any], id_: str) -> AnyMessage:
    match given["role"]:
        case "human":
            return HumanMessage(given["text"], id=id_)
        case "tool":
            return ToolMessage(given["text"], tool_call_id=given["call"], id=id_)
        case _:
            return AIMessage(given["text"], tool_calls=given["calls"], id=id_)


if __name__ == "__main__":
    main()
