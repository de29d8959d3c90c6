"""Every slash command, in a conversation without a model."""

import re

import pytest
from rich.console import RenderableType
from rich.text import Text as Line
from tests.cli.test_chat_render import shown
from tests.place import Place

from reverie.agent.permissions import Answer
from reverie.cli.talk.chat import Chat
from reverie.cli.talk.terminal import Question
from reverie.conversation import journal
from reverie.conversation.records import Said
from reverie.core.messages import Attachment, Text
from reverie.session.options import SessionOptions
from reverie.workspace import Workspace

LONG = "The quick brown fox jumps over the lazy dog near the river bank. " * 800


class Typist:
    """A terminal that types these lines and records the output."""

    markdown = True
    width = 100

    def __init__(self, *lines: str) -> None:
        self.on_interrupt = lambda: False
        self.text = ""
        self._lines = list(lines)

    def show(self, *renderables: RenderableType) -> None:
        self.text += "\n".join(shown(*renderables, width=self.width)) + "\n"

    def under_way(self, what: Line | None, draft: str = "") -> None:
        pass

    def follow(self, status: object) -> None:
        pass

    async def line(self) -> str | None:
        return self._lines.pop(0) if self._lines else None

    async def ask(self, question: Question) -> Answer:
        return "no"


async def typed(app: Workspace, *lines: str) -> str:
    """The output while these lines are typed."""
    typist = Typist(*lines)
    await Chat(app, typist).run(SessionOptions(model="offline"))
    return typist.text


COMMANDS = [
    (["/help"], ["/remember TEXT", "Save a memory.", "Ctrl-D"]),
    (["/remember The export runs at 06:00"], ["Remembered (project): The export", "undo with"]),
    (["/remember The export runs at 06:00"] * 2, ["✗", "already says so"]),
    (["/remember Ada owns billing", "/recall who owns billing?"], ["project_ada_owns_billing.md"]),
    (["/recall anything"], ["Nothing found."]),
    (
        ["/remember Ada owns billing", "/undo", "/redo"],
        ["undo with: /undo ", "Undid ", "to reverse this: /redo", "Redid ", "/undo"],
    ),
    (["/undo"], ["✗", "nothing to undo"]),
    # Asked again in other words, the same memory answers again.
    (
        ["/remember Ada owns billing", "who owns billing?", "whose is billing?"],
        ["From memory:", "From memory:"],
    ),
    (
        ["/remember Ada owns billing", "!echo hello", "who owns billing?"],
        ["hello", "1 memory: project_ada_owns_billing.md"],
    ),
    (["Ada owns billing"], ["to save that: # Ada owns billing"]),
    (["/remember Ada owns billing", "/search billing"], ["project_ada_owns_billing.md"]),
    (["/memory"], ["0 memories in", "~/.reverie/projects/"]),
    (
        ["/remember I prefer short answers", "/memory"],
        ["about you: known in every project", "1 memory about you"],
    ),
    (["/remember --scope project I like tea"], ["in user_i_like_tea.md"]),
    (["/remember --scope moon I like tea"], ["✗", "choose one of: project, person"]),
    (["/remember Ada owns billing", "/memory"], ["1 memory in", "• Ada owns billing"]),
    (["/context"], ["█ system", "window 200.0k (default)", "estimated"]),
    (["/compact"], ["Nothing was said yet"]),
    (["hello", "/compact"], ["▸ compaction: the summary would be no shorter"]),
    (["/snip 1"], ["✗ snip is off; turn it on with features.snip = true"]),
    (["/notes"], ["No notes yet"]),
    (["/inbox"], ["Nothing waits in the inbox."]),
    (["/dream stop"], ["No dream is running any more"]),
    (["/todos"], ["Nothing is on the list."]),
    (["/agents"], ["No agents were hired yet."]),
    (["/agents types"], ["explore: ", "tools: Read, Grep, Glob", "general: ", "every tool"]),
    (["/agents stop rita"], ["✗ there is no agent 'rita'; no agent was hired"]),
    (["/agents stop"], ["✗ /agents takes nothing, types, or stop NAME, not 'stop'"]),
    (["/agents lits"], ["✗ /agents takes nothing, types, or stop NAME, not 'lits'"]),
    (["/cost"], ["Nothing was spent in this session."]),
    (["hello", "/cost"], ["main", "$0.00 in this session"]),
    (["/model"], ["offline, window 200.0k"]),
    (["/model claude-opus-5-5"], ["✗ claude-opus-5-5 has no key", "ANTHROPIC_API_KEY"]),
    (["/model claude-opsu-5-5"], ["✗ no model 'claude-opsu-5-5'", "claude-opus-5-5"]),
    (["/resume"], ["There are no conversations in this project yet."]),
    (["hello", "/clear", "/resume"], ["a new conversation", "1  ", "hello", "/resume NUMBER"]),
    (["hello", "/clear", "/resume 1"], ["continuing", "❯ hello", "not a language model"]),
    (["/resume 7"], ["✗ there is no conversation 7 in the list of 0"]),
    (["/resume nope"], ["✗ no session 'nope' here"]),
    (["!echo from the shell; exit 3"], ["from the shell", "exit code 3"]),
    (["!true"], ["no output"]),
    (["# Ada owns billing", "/memory"], ["1 memory in", "• Ada owns billing"]),
    (["hello", "exit"], ["continue with: reverie chat --resume"]),
    (["/exit", "/help"], []),
]


@pytest.mark.parametrize(("lines", "expected"), COMMANDS, ids=lambda value: str(value)[:40])
async def test_a_command(place: Place, lines: list[str], expected: list[str]) -> None:
    text = await typed(place.app(), *lines)
    at = 0
    for want in expected:
        assert want in text[at:], text
        at = text.index(want, at) + len(want)
    if not expected:
        assert text == ""


async def test_the_model_sees_what_a_shell_command_printed_once(place: Place) -> None:
    app = place.app()
    await typed(app, "!echo 4711", "what is it?", "and now?")
    first, second = [
        record.message
        for record in journal.load(app.journals()[0]).records
        if isinstance(record, Said) and record.message.origin == "user"
    ]
    # Beside the message: what a command printed is not what the person said.
    assert first.text == "what is it?"
    shown = [block.text for block in first.blocks if isinstance(block, Attachment)]
    assert "I ran `echo 4711`:\n```\n4711\n```" in shown
    assert [block.text for block in second.blocks if isinstance(block, Text)] == ["and now?"]
    assert "4711" not in str(second.blocks)


async def test_notes_and_compaction_work_without_a_model(place: Place) -> None:
    questions = [f"Question {number}. {LONG}" for number in range(1, 5)]
    text = await typed(place.app("window.tokens=40000"), *questions, "/notes", "/compact the river")
    assert "▸ notes updated, by rules alone" in text
    assert re.search(r"▸ compaction: \d\d\.\dk → \d\d\.\dk tokens, the summary was made", text)
    assert "Task specification" in text
    assert "the summary was made without a model" in text.rpartition("/compact")[2]


async def test_snip_leaves_rounds_out(place: Place) -> None:
    app = place.app("features.snip=true")
    text = await typed(app, "one", "two", "/snip 1 small talk", "three", "/snip many")
    assert "These rounds are left out from the next request on." in text
    assert "▸ snip: " in text
    assert "✗ /snip takes how many rounds" in text


async def test_a_conversation_goes_on_after_a_failure(place: Place) -> None:
    app = place.app("memory.enabled=false")
    text = await typed(app, "/memory", "hello")
    assert "✗ memory is off" in text
    assert "not a language model" in text


async def test_agents_are_off(place: Place) -> None:
    text = await typed(place.app("features.agents=false"), "/agents", "/agents stop rita")
    assert text.count("✗ agents are off; turn them on with features.agents = true") == 2
