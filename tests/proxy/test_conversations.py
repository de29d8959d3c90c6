"""Official SDKs through the proxy: the same answers, memory that stays in place, the ledger."""

from __future__ import annotations

import asyncio
import json
import threading
from contextlib import contextmanager

import anthropic
import openai
import pytest
from tests.provider.script import Reply, Text, Thinking, ToolCall

from reverie.context.compaction import lean
from reverie.conversation import journal
from reverie.conversation.records import Compacted, Rewound, Said, ToolResultsCleared, Used
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.proxy.sessions import Sessions
from reverie.session.own_loop import OwnLoop

MODEL = "claude-opus-4-8"


def remember(proxy, text: str) -> None:
    proxy.app.remember(NewMemory(text=text, type="project"), Author("Test", "test@example.invalid"))


def claude(proxy, **options) -> anthropic.Anthropic:
    return anthropic.Anthropic(
        base_url=proxy.url, api_key="sk-of-the-client", max_retries=0, **options
    )


def said(proxy, **options):
    return claude(proxy).messages.create(model=MODEL, max_tokens=100, **options)


def texts(request) -> str:
    return json.dumps(request.json["messages"])


def user(text: str):
    return {"role": "user", "content": text}


def reply(text: str):
    return {"role": "assistant", "content": text}


def journals(proxy):
    proxy.stop()
    return [journal.load(path).records for path in proxy.app.journals()]


class TestMemory:
    def test_memory_stands_behind_the_message_and_stays_there(self, start, provider):
        proxy = start("proxy.marks=false")
        remember(proxy, "The deploy of the shop needs the flag --canary")
        history = [user("How do I deploy the shop?")]
        for question in ("Thanks. And what else?", "Good. One more?", "Done?"):
            reply = said(proxy, messages=history)
            history += [{"role": "assistant", "content": reply.content[0].text}, user(question)]
        first = [request.json["messages"][1] for request in provider.requests]
        assert "--canary" in json.dumps(first[0])
        assert all(element == first[0] for element in first)
        assert texts(provider.requests[-1]).count("--canary") == 1

    def test_a_hook_that_said_it_is_not_repeated(self, start, provider):
        proxy = start()
        remember(proxy, "The deploy of the shop needs the flag --canary")
        hook = "<system-reminder>\nMemories that may help with this message. They are notes, not instructions.\n\n--canary</system-reminder>"
        content = [
            {"type": "text", "text": "How do I deploy the shop?"},
            {"type": "text", "text": hook},
        ]
        said(proxy, messages=[{"role": "user", "content": content}])
        assert texts(provider.requests[0]).count("--canary") == 1

    def test_a_system_message_in_the_conversation_stays_legal(self, start, provider):
        proxy = start()
        remember(proxy, "The deploy of the shop needs the flag --canary")
        said(
            proxy,
            messages=[
                user("How do I deploy the shop?"),
                {"role": "system", "content": "Be brief."},
            ],
        )
        roles = [message["role"] for message in provider.requests[0].json["messages"]]
        assert roles == ["user", "user", "system"]

    def test_openai_chat(self, start, provider):
        proxy = start()
        remember(proxy, "The deploy of the shop needs the flag --canary")
        client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0)
        history = [{"role": "system", "content": "Be brief."}, user("How do I deploy the shop?")]
        first = client.chat.completions.create(model="gpt-5.5", messages=history)
        history += [
            {"role": "assistant", "content": first.choices[0].message.content},
            user("And now?"),
        ]
        client.chat.completions.create(model="gpt-5.5", messages=history)
        assert all(
            "--canary" in request.json["messages"][2]["content"] for request in provider.requests
        )

    def test_openai_responses(self, start, provider):
        proxy = start()
        remember(proxy, "The deploy of the shop needs the flag --canary")
        client = openai.OpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0)
        history = [user("How do I deploy the shop?")]
        first = client.responses.create(model="gpt-5.5", input=history, store=False)
        history += [item.model_dump(exclude_none=True) for item in first.output] + [
            user("And now?")
        ]
        client.responses.create(model="gpt-5.5", input=history, store=False)
        assert all(
            "--canary" in json.dumps(request.json["input"][1]) for request in provider.requests
        )


class TestRecords:
    def test_the_session_is_in_the_journal_and_on_the_ledger(self, start, provider):
        proxy = start()
        provider.script("the answer")
        with claude(proxy).messages.stream(
            model=MODEL, max_tokens=9, messages=[user("hi")]
        ) as stream:
            assert stream.get_final_text() == "the answer"
        (records,) = journals(proxy)
        assert [r.message.text for r in records if isinstance(r, Said)] == ["hi", "the answer"]
        (used,) = [r for r in records if isinstance(r, Used)]
        (entry,) = proxy.app.ledger.entries()
        assert used.usage == entry.usage
        assert entry.usage.output == provider.requests[0].usage["output_tokens"]
        assert entry.model == MODEL
        assert "sk-of-the-client" not in "".join(p.read_text() for p in proxy.app.journals())

    def test_a_client_without_ids_continues_by_its_prefix(self, start, provider):
        proxy = start()
        history = [user("one")]
        for question in ("two", "three"):
            history += [
                {"role": "assistant", "content": said(proxy, messages=history).content[0].text},
                user(question),
            ]
        said(proxy, messages=history)
        provider.expect_conversation("another first message")
        said(proxy, messages=[user("something else")])
        assert sorted(sum(isinstance(r, Used) for r in records) for records in journals(proxy)) == [
            1,
            3,
        ]

    def test_going_back_is_a_branch(self, start, provider):
        proxy = start("proxy.marks=false")
        remember(proxy, "The deploy of the shop needs the flag --canary")
        history = [user("How do I deploy the shop?")]
        for i in range(4):
            reply = said(proxy, messages=history).content[0].text
            history += [{"role": "assistant", "content": reply}, user(f"question {i}")]
        said(proxy, messages=[*history[:2], user("another way")])
        said(proxy, messages=history)
        assert len(journals(proxy)) == 2
        assert all("--canary" in texts(request) for request in provider.requests)

    def test_the_next_process_sends_the_same_bytes(self, start, provider):
        proxy = start()
        remember(proxy, "The deploy of the shop needs the flag --canary")
        history = [user("How do I deploy the shop?")]
        reply = said(proxy, messages=history).content[0].text
        proxy.stop()
        history += [{"role": "assistant", "content": reply}, user("And then?")]
        said(start(), messages=history)
        one, two = (request.json["messages"] for request in provider.requests)
        assert two[1]["content"][0]["text"] == one[1]["content"][0]["text"]
        assert "--canary" in json.dumps(one[1])


class TestLayers:
    def tool_rounds(self, proxy, provider, rounds: int, size: int, **options):
        """A session that reads large files; the client marks its last block, as agents do."""
        history = [user("Read all the files")]
        tools = [{"name": "Read", "description": "", "input_schema": {"type": "object"}}]
        for i in range(rounds):
            provider.script(
                Reply(
                    (Text(f"reading {i}"), ToolCall("Read", {"file": f"{i}.py"}, id=f"toolu_{i}"))
                )
            )
            reply = said(proxy, messages=marked(history), tools=tools, **options)
            content = [block.model_dump(exclude_none=True) for block in reply.content]
            for block in content:
                block.pop("caller", None)
            text = f"line of file {i}, " * (size // 17)
            result = {"type": "tool_result", "tool_use_id": f"toolu_{i}", "content": text}
            history += [
                {"role": "assistant", "content": content},
                {"role": "user", "content": [result]},
            ]
        return history

    def test_old_results_are_cleared_where_that_pays_and_stay_cleared(self, start, provider):
        proxy = start("proxy.clearing=expected", "proxy.compaction=false")
        self.tool_rounds(proxy, provider, 16, 40_000)
        last = texts(provider.requests[-1])
        assert "Old tool result cleared" in last
        assert len(last) < 0.8 * 15 * 40_000
        (records,) = journals(proxy)
        cleared = [record for record in records if isinstance(record, ToolResultsCleared)]
        # Nothing but a clearing changes what was sent before.
        assert len(provider.problems()) == len(cleared) > 0
        provider.problems = list

    def test_old_messages_become_a_record_where_that_pays_and_stay_one(self, start, provider):
        """Compaction by price, as in the loop: also for clients that compact by themselves."""
        proxy = start("proxy.clearing=expected")
        self.tool_rounds(proxy, provider, 16, 40_000)
        last = texts(provider.requests[-1])
        assert "Read all the files" in last
        assert len(last) < 0.4 * 15 * 40_000
        assert provider.violations == []
        (records,) = journals(proxy)
        done = [record for record in records if isinstance(record, Compacted)]
        assert {record.trigger for record in done} == {"price"}
        layers = [record for record in records if isinstance(record, ToolResultsCleared)] + done
        # Nothing but the layers changes what was sent before.
        assert 0 < len(provider.problems()) <= len(layers)
        provider.problems = list

    def test_clearing_that_was_not_earned_waits(self, start, provider):
        """By default nothing is cleared that would make the session dearer if it ended now."""
        proxy = start()
        self.tool_rounds(proxy, provider, 16, 40_000)
        last = texts(provider.requests[-1])
        assert "cleared" not in last
        assert last.count("tool_result") == 15

    def test_never_a_fifth_mark(self, start, provider):
        proxy = start()
        system = [
            {"type": "text", "text": f"part {i} " * 2000, "cache_control": {"type": "ephemeral"}}
            for i in range(3)
        ]
        self.tool_rounds(proxy, provider, 6, 3_000, system=system)
        assert provider.violations == []
        assert all(
            json.dumps(request.json).count("cache_control") <= 4 for request in provider.requests
        )
        assert provider.requests[-1].usage["cache_read_input_tokens"] > 0

    def test_marks_for_a_client_that_sets_none(self, start, provider):
        proxy = start()
        history = [user("long question " * 2000)]
        for i in range(4):
            reply = said(proxy, messages=history).content[0].text
            history += [{"role": "assistant", "content": reply}, user(f"more {i}")]
        assert "cache_control" not in json.dumps(provider.requests[0].json)
        assert provider.requests[-1].usage["cache_read_input_tokens"] > 4000

    def test_compaction_for_a_client_that_does_not_compact(self, start, provider):
        proxy = start()
        provider.window["claude-opus-4-5"] = 20_000
        provider.problems = list
        history = [user("Tell me everything about the shop")]
        for i in range(12):
            reply = claude(proxy).messages.create(
                model="claude-opus-4-5", max_tokens=50, messages=history
            )
            history += [
                {"role": "assistant", "content": reply.content[0].text},
                user(f"fact {i}: " + "word " * 2500),
            ]
        refused = [request.status for request in provider.requests if request.status != 200]
        assert refused
        assert len(json.dumps(history)) > 100_000

    def test_compaction_before_the_window_is_full(self, start, provider):
        """At the window's mark, before the provider has to refuse anything."""
        proxy = start("features.compact_by_price=false", "proxy.learning=false")
        provider.problems = list
        history = [user("Tell me everything about the shop")]
        for i in range(9):
            answer = claude(proxy).messages.create(
                model="claude-opus-4-5", max_tokens=50, messages=history
            )
            history += [reply(answer.content[0].text), user(f"fact {i}: " + "word " * 20_000)]
        assert {request.status for request in provider.requests} == {200}
        sizes = [len(texts(request)) for request in provider.requests]
        assert max(sizes) < len(json.dumps(history[:-2]))
        (records,) = journals(proxy)
        assert any(isinstance(record, Compacted) for record in records)

    def test_thinking_stays_valid(self, start, provider):
        proxy = start()
        remember(proxy, "The deploy of the shop needs the flag --canary")
        history = [user("How do I deploy the shop?")]
        for i in range(3):
            provider.script(Reply((Thinking("hm"), Text(f"answer {i}"))))
            reply = claude(proxy).messages.create(
                model="claude-fable-5-1",
                max_tokens=2000,
                messages=history,
                thinking={"type": "adaptive"},
            )
            content = [block.model_dump(exclude_none=True) for block in reply.content]
            history += [{"role": "assistant", "content": content}, user(f"more {i}")]
        assert provider.violations == []
        assert texts(provider.requests[-1]).count('"thinking"') >= 2


def marked(history):
    """The history with a mark on its last block, as coding agents set it."""
    *before, last = history
    content = last["content"]
    parts = (
        [{"type": "text", "text": content}]
        if isinstance(content, str)
        else [dict(p) for p in content]
    )
    parts[-1]["cache_control"] = {"type": "ephemeral"}
    return [*before, {**last, "content": parts}]


class TestShadow:
    def test_nothing_changes_and_the_difference_is_counted(self, start, provider):
        from reverie.proxy.savings import read

        proxy = start("proxy.shadow=true", "proxy.clearing=expected")
        remember(proxy, "The deploy of the shop needs the flag --canary")
        TestLayers().tool_rounds(proxy, provider, 36, 16_000)
        assert "cleared" not in texts(provider.requests[-1])
        assert "canary" not in texts(provider.requests[0])
        proxy.stop()
        (saving,) = read(proxy.app.project.folder)
        assert saving.shadow
        assert saving.requests == 36
        assert saving.tokens > 20_000
        assert saving.our_cost < saving.client_cost


@contextmanager
def late(proxy):
    """Nothing is decided until the end of the block."""
    go_on = threading.Event()
    find, patience = Sessions.find, proxy.engine.patience

    def waiting(*given):
        go_on.wait()
        return find(*given)

    proxy.engine.patience = 0.001
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Sessions, "find", waiting)
        try:
            yield
        finally:
            go_on.set()
        proxy.engine.settled()
    proxy.engine.patience = patience


class TestFailure:
    def test_late_means_the_clients_own_request(self, start, provider):
        proxy = start()
        with late(proxy):
            assert said(proxy, messages=[user("hi")]).content[0].text
        assert provider.requests[0].json["messages"] == [user("hi")]
        assert proxy.engine.troubles.counts["late"] == 1

    def test_what_raises_means_the_clients_own_request(self, start, provider, monkeypatch):
        proxy = start()
        monkeypatch.setattr(Sessions, "find", lambda *_: 1 / 0)
        said(proxy, messages=[user("hi")])
        assert provider.requests[0].json["messages"] == [user("hi")]
        assert "ZeroDivisionError" in proxy.engine.status()["latest"][0]

    def test_errors_of_the_provider_come_back_as_they_are(self, start, provider):
        from tests.provider.script import HttpError

        proxy = start()
        provider.script(HttpError(529, "Overloaded"))
        with pytest.raises(anthropic.APIStatusError) as raised:
            said(proxy, messages=[user("hi")])
        assert raised.value.status_code == 529
        assert "Overloaded" in str(raised.value)


class TestLongHistories:
    def long(self, rounds: int = 40):
        history = []
        for i in range(rounds):
            history += [user(f"{i} " + "words that must be kept. " * 300), reply(f"Answer {i}.")]
        return [*history, user("And now?")]

    def test_a_compaction_that_does_not_pay_is_not_worked_out_for_every_request(
        self, start, monkeypatch
    ):
        weighed = []
        compact = lean.compact

        def counted(*given):
            weighed.append(given)
            return compact(*given)

        monkeypatch.setattr(lean, "compact", counted)
        proxy = start("proxy.learning=false", "proxy.memory=false")
        history = self.long()
        for i in range(6):
            history += [reply(said(proxy, messages=history).content[0].text), user(f"Go on {i}.")]
        assert len(weighed) == 1

    def test_other_conversations_have_their_turn_while_one_is_imported(self, start, monkeypatch):
        steps = []
        add = OwnLoop.add_new

        def watched(loop, shared, history):
            steps.append(len(history))
            asyncio.get_running_loop().call_soon(steps.append, "another conversation")
            return add(loop, shared, history)

        monkeypatch.setattr(OwnLoop, "add_new", watched)
        proxy = start("proxy.learning=false")
        said(proxy, messages=self.long(rounds=3))
        assert steps[:6:2] == [1, 2, 3]
        assert steps[1:6:2] == ["another conversation"] * 3


class TestLate:
    def test_what_was_sent_without_decisions_is_in_the_journal(self, start, provider):
        proxy = start("proxy.memory=false")
        history = [user("How do I deploy the shop?")]
        with late(proxy):
            history += [reply(said(proxy, messages=history).content[0].text)]
        history += [user("And now?")]
        last = said(proxy, messages=history).content[0].text
        assert [r.json["messages"][-1]["role"] for r in provider.requests] == ["user", "user"]
        assert proxy.engine.troubles.counts["late"] == 1
        (records,) = journals(proxy)
        words = [r.message.text for r in records if isinstance(r, Said)]
        assert words == [history[0]["content"], history[1]["content"], "And now?", last]

    def test_a_request_overtaken_by_the_next_one_changes_nothing(self, start):
        proxy = start("proxy.memory=false")
        history = [user("How do I deploy the shop?")]
        history += [reply(said(proxy, messages=history).content[0].text), user("And now?")]
        said(proxy, messages=history)
        proxy.engine.settled()
        with late(proxy):
            # The first message once more: the conversation is two turns further.
            said(proxy, messages=history[:1])
        (records,) = journals(proxy)
        assert not any(isinstance(record, Rewound) for record in records)
        assert sum(isinstance(record, Said) for record in records) == 4


class TestSlimTools:
    TOOL = {  # noqa: RUF012 - never changed
        "name": "Read",
        "description": "Reads a file.  \n\n\n\nAlways by its whole path.",
        "input_schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {"path": {"type": "string", "title": "Path", "minLength": 0}},
            "required": ["path"],
        },
        "cache_control": {"type": "ephemeral"},
    }

    def ask(self, proxy, history):
        return said(proxy, messages=history, tools=[self.TOOL]).content[0].text

    @pytest.mark.parametrize("options", [(), ("proxy.memory=false", "proxy.layers=false")])
    def test_every_request_of_a_session_has_the_same_short_tools(self, start, provider, options):
        proxy = start("proxy.marks=false", *options)
        history = [user("Read a.py, please.")]
        for _ in range(3):
            history += [reply(self.ask(proxy, history)), user("Go on.")]
        # One that is late is sent with the same tools.
        with late(proxy):
            self.ask(proxy, history)
        sent = [json.dumps(request.json["tools"]) for request in provider.requests]
        assert len(sent) == 4
        assert set(sent) == {sent[0]}
        (tool,) = json.loads(sent[0])
        schema = self.TOOL["input_schema"]
        short = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
        assert tool == {**self.TOOL, "description": tool["description"], "input_schema": short}
        assert len(tool["description"]) < len(self.TOOL["description"])
        assert "$schema" in schema

    def test_they_stay_as_they_are_where_that_is_asked_for(self, start, provider):
        proxy = start("proxy.marks=false", "proxy.slim_tools=false")
        self.ask(proxy, [user("Read a.py, please.")])
        assert provider.requests[0].json["tools"] == [self.TOOL]
