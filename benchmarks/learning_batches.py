"""What `reverie extract` costs in the ordinary way and as a batch: 20 scripted sessions, one provider on loopback.

.venv/bin/python benchmarks/learning_batches.py

The model is scripted: in every third session it saves a fact, with a line in MEMORY.md or, in a second run, without one
(then an ordinary reading asks it once more). Requests, caches and tokens are those of the provider the tests use.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from typing import TYPE_CHECKING

from tests.provider import Provider, RecordedRequest, ToolCall, serving

from reverie.conversation.journal import Journal
from reverie.conversation.records import Opened, Said
from reverie.core.messages import Text, new_message
from reverie.learning.batches import collect, submit
from reverie.learning.past_sessions import plan_reading, read_sessions
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from tests.provider.script import Responder, ScriptItem

MODELS = ("anthropic:claude-haiku-5-5", "anthropic:claude-sonnet-5-5", "openai:gpt-5.5")
SESSIONS = 20
TURNS = 30
PEOPLE = ("Bruno", "Ines", "Tomas", "Wanda", "Yusuf", "Zoe", "Petra")


def fact(number: int) -> str:
    return f"{PEOPLE[number // 3]} owns the service number {number} since 2026-03."


def talk(app: Workspace, number: int) -> None:
    with Journal(app.project.journal(f"s{number}")) as journal:
        journal.append(Opened(f"s{number}", app.clock.now()))
        after = None
        for turn in range(TURNS):
            said = (
                f"Of task {number}.{turn}: please look at the next failing test and mend what it shows. "
                * 5
            )
            text = fact(number) if turn == TURNS // 2 and number % 3 == 0 else said
            after = new_message("user", Text(text), after=after, at=app.clock.now() + turn)
            journal.append(Said(after))
            done = "I changed the parser so that empty lines are kept; the test passes now. " * 6
            after = new_message("assistant", Text(done), after=after, at=app.clock.now() + turn)
            journal.append(Said(after))


def model_of(folder: Path, *, index: bool) -> Responder:
    """Saves the fact it is told; `index` adds a line to MEMORY.md in the same reply."""

    def answer(request: RecordedRequest) -> ScriptItem:
        body = json.dumps(request.json)
        told = [number for number in range(0, SESSIONS, 3) if f". user: {fact(number)}" in body]
        if not told or any(mark in body for mark in ("tool_use", "tool_calls", "function_call")):
            return "Nothing more."
        name, text = f"project_service_{told[0]}.md", fact(told[0])
        head = f"name: Service\ndescription: {text}\ntype: project\nsource: [{TURNS + 1}]\n"
        calls = [ToolCall("Write", _file(folder / name, f"---\n{head}---\n\n{text}\n"))]
        if index:
            calls.append(
                ToolCall("Write", _file(folder / "MEMORY.md", f"- [S]({name}) — {text}\n"))
            )
        return tuple(calls)

    return answer


def _file(path: Path, content: str) -> dict[str, str]:
    return {"path": str(path), "content": content}


async def cost(model: str, *, batch: bool, index: bool) -> tuple[float, int, int]:
    """Dollars, requests and saved memories of one reading of all sessions."""
    provider = Provider()
    with tempfile.TemporaryDirectory() as folder, serving(provider):
        home, root = Path(folder) / "home", Path(folder) / "project"
        root.mkdir()
        settings = (
            f"models.side={model}",
            f"providers.anthropic.base_url={provider.anthropic_url}",
            f"providers.openai.base_url={provider.openai_url}",
        )
        app = Workspace.open(root, home=home, overrides=settings)
        for number in range(SESSIONS):
            talk(app, number)
        provider.respond(model_of(app.memory_location.directory, index=index))
        if batch:
            await submit(app, plan_reading(app))
            provider.end_batches()
            read = list((await collect(app)).read)
        else:
            read = [one async for one in read_sessions(app, plan_reading(app))]
        saved = sum(len(one.learnt.saved) for one in read)
        entries = list(app.ledger.entries())
        return sum(entry.cost or 0.0 for entry in entries), len(entries), saved


async def main() -> None:
    os.environ |= {"ANTHROPIC_API_KEY": "test", "OPENAI_API_KEY": "test"}
    print("| model | index | ordinary | requests | batch | requests | share | saved |")
    print("|---|---|---|---|---|---|---|---|")
    for model in MODELS:
        for index in (True, False):
            (usual, asked, kept), (half, sent, same) = [
                await cost(model, batch=batch, index=index) for batch in (False, True)
            ]
            row = f"{model} | {'same reply' if index else 'left out'} | ${usual:.4f} | {asked} | ${half:.4f} | {sent}"
            print(f"| {row} | {half / usual:.0%} | {kept} and {same} |")


if __name__ == "__main__":
    asyncio.run(main())
