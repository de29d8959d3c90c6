"""Recall sits at the tail: with it and without it, everything before the message is the same."""

from pathlib import Path

from tests.flows.talking import send, talking, turn
from tests.provider import script as say
from tests.provider.provider import Provider

from reverie.core.messages import Attachment, Text
from reverie.events import CacheBroke


async def test_recall_changes_nothing_before_the_message(provider: Provider, tmp_path: Path):
    provider.respond(lambda request: say.Reply((say.Text("Fine. " * 40),)))
    prefixes = []
    for name, attached in (("off", False), ("on", True)):
        async with talking(provider, tmp_path / f"{name}.jsonl", "claude-opus-4-8") as conversation:
            await turn(conversation, "A first question " * 100)
            blocks = [Text("when can I ship?")]
            if attached:
                blocks.append(Attachment("recall", "## freeze.md (saved today)\nNo deploys."))
            conversation.say(*blocks)
            events = await send(conversation)
            events += await turn(conversation, "And after that?")
        assert not [event for event in events if isinstance(event, CacheBroke)]
        sent = provider.requests[-2].json
        prefixes.append((sent["system"], sent["tools"], sent["messages"][:2]))
        assert sent["messages"][2]["content"][0]["text"] == "when can I ship?"
    assert prefixes[0] == prefixes[1]


async def test_a_recalled_memory_is_cached_like_any_other_text(provider: Provider, tmp_path: Path):
    provider.respond(lambda request: say.Reply((say.Text("Fine. " * 40),)))
    async with talking(provider, tmp_path / "s.jsonl", "claude-opus-4-8") as conversation:
        await turn(conversation, "A first question " * 100)
        conversation.say(Text("ship?"), Attachment("recall", "No deploys after Thursday. " * 50))
        await send(conversation)
        await turn(conversation, "And after that?")
        *_, before, after = (used.usage for used in conversation.state.usages)
    assert after.cache_read == before.cache_read + before.cache_write
