"""A transcript holds no secret; the process that was told one goes on as if nothing had happened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conversation.build import HEAD, STRICT
from tests.place import FixedClock

from reverie.conversation import journal
from reverie.conversation.cache_report import cache_report
from reverie.conversation.conversation import Conversation
from reverie.conversation.journal import Journal
from reverie.conversation.records import (
    Compacted,
    HeadFrozen,
    Opened,
    Record,
    Redacted,
    Replaced,
    Said,
    TodosSet,
    Used,
)
from reverie.conversation.state import SessionState
from reverie.core.messages import (
    Attachment,
    Block,
    Image,
    Message,
    Opaque,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    dump,
    new_message,
)
from reverie.core.request import Request
from reverie.core.usage import Usage
from reverie.memory.secrets.scrubber import SecretScrubber
from reverie.models.offline import ScriptedModel

VALUE = "hunter" + "2-blue-Falcon"
KEY = "gh" + "p_" + "aB3dE6gH9jK2mN5pQ8sT1vX4zA7cF0hJ3kL6"
TOLD = f"my password for the wiki is {VALUE}"
MARKED = "my password for the wiki is (secret removed - password)"


@pytest.fixture
def scrubber(tmp_path: Path) -> SecretScrubber:
    return SecretScrubber(tmp_path / "allowed-secrets.json")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s.jsonl"


def written(path: Path, scrubber: SecretScrubber, *records: Record) -> tuple[Record, ...]:
    with Journal(path, scrubber) as open_journal:
        open_journal.append(*records)
    return journal.load(path).records


def said(*blocks: Block, role: str = "user") -> Said:
    return Said(new_message(role, *blocks))  # type: ignore[arg-type]


def test_a_message_is_kept_without_its_secret_and_says_so(path: Path, scrubber: SecretScrubber):
    record = said(Text(TOLD))
    kept, marked = written(path, scrubber, record)
    assert isinstance(kept, Said)
    assert kept.message.id == record.message.id
    assert kept.message.text == MARKED
    assert marked == Redacted(record.message.id, "secret: password")
    assert VALUE not in path.read_text("utf-8")


def test_what_holds_no_secret_is_kept_byte_for_byte(path: Path, scrubber: SecretScrubber):
    record = said(Text("The token bucket holds 100 tokens."), Image("image/png", "iVBORw0KGgo" * 9))
    assert written(path, scrubber, record) == (record,)


@pytest.mark.parametrize(
    "record",
    [
        said(Attachment("recall", TOLD)),
        said(ToolResult("t1", (Text(f"GITHUB_TOKEN={KEY}"),))),
        said(ToolUse("t1", "Bash", json.dumps({"command": f"echo {KEY}"})), role="assistant"),
        said(Opaque("p", json.dumps({"output": TOLD})), role="assistant"),
        Replaced("t1", TOLD),
        TodosSet(((TOLD, "pending"),)),
        Compacted((new_message("user", Text(TOLD)),), None, "manual", 1, 0.0),
        HeadFrozen(HEAD.__class__(HEAD.model, (Text(TOLD),))),
        Opened("s", 0.0, f"/home/dana/{KEY}"),
    ],
    ids=lambda record: type(record).__name__,
)
def test_no_kind_of_record_keeps_one(path: Path, scrubber: SecretScrubber, record: Record):
    *_, last = written(path, scrubber, record)
    assert isinstance(last, Redacted)
    text = path.read_text("utf-8")
    assert VALUE not in text
    assert KEY not in text


@pytest.mark.parametrize(
    "arguments",
    [
        {"command": f'curl -H "X: {KEY}" https://a.b'},
        {"password": VALUE, "retries": 3},
        {"pin": 4713, "note": "the PIN is 4713"},
        {"text": f"first\nmy password is {VALUE}\nlast"},
    ],
)
def test_arguments_stay_json(path: Path, scrubber: SecretScrubber, arguments: dict[str, object]):
    use = ToolUse("t1", "Bash", json.dumps(arguments))
    kept = written(path, scrubber, said(use, role="assistant"))[0]
    assert isinstance(kept, Said)
    (block,) = kept.message.tool_uses
    assert block.input.keys() == arguments.keys()
    assert VALUE not in block.arguments
    assert KEY not in block.arguments


def test_thinking_about_a_secret_is_left_out_whole(path: Path, scrubber: SecretScrubber):
    """Its signature would not hold for other words."""
    record = said(Thinking(TOLD, "signed"), Text("Noted."), role="assistant")
    kept = written(path, scrubber, record)[0]
    assert isinstance(kept, Said)
    assert kept.message.blocks == (Text("Noted."),)


def test_a_message_that_was_only_such_a_thought_is_still_a_message(
    path: Path, scrubber: SecretScrubber
):
    kept = written(path, scrubber, said(Thinking(TOLD, "signed"), role="assistant"))[0]
    assert isinstance(kept, Said)
    assert len(kept.message.blocks) == 1


def sent(request: Request) -> str:
    return repr(request.messages)


async def turn(conversation: Conversation, text: str) -> None:
    conversation.say(Text(text))
    async for _ in conversation.send():
        pass


async def test_the_running_process_sends_what_was_said_and_a_resumed_one_what_was_kept(
    path: Path, scrubber: SecretScrubber
):
    model = ScriptedModel([[Text("Noted.")], [Text("Yes.")]])
    live = Conversation(Journal(path, scrubber), model, FixedClock())
    live.open("s1", HEAD, "/project")
    await turn(live, TOLD)
    await turn(live, "Is it long?")
    first, second = model.requests
    assert second.messages[: len(first.messages)] == first.messages
    assert VALUE in sent(second)

    state = SessionState.replay(journal.load(path).records)
    assert state.rewritten == "secret: password"
    again = ScriptedModel([[Text("Fine.")]])
    resumed = Conversation(Journal(path, scrubber), again, FixedClock(), state=state)
    await turn(resumed, "And now?")
    (request,) = again.requests
    assert VALUE not in sent(request)
    assert MARKED in sent(request)
    assert [m.id for m in request.messages[:3]] == [m.id for m in second.messages]


async def test_the_break_on_resume_is_registered_with_its_cause(
    path: Path, scrubber: SecretScrubber
):
    written(path, scrubber, Opened("s1", 0.0), HeadFrozen(HEAD), said(Text(TOLD)))
    state = SessionState.replay(journal.load(path).records)
    resumed = Conversation(Journal(path, scrubber), ScriptedModel([]), FixedClock(), state=state)
    promise = resumed._tracker.before(resumed._assembler.assemble(HEAD, state.shown).chain)
    assert promise.expected == "taken out of the transcript: secret: password"


def test_a_redaction_that_was_compacted_away_breaks_nothing(path: Path, scrubber: SecretScrubber):
    start = new_message("user", Text("A summary."))
    gone = said(Text(TOLD))
    records = written(path, scrubber, gone, Compacted((start,), None, "manual", 1, 0.0))
    assert SessionState.replay(records).rewritten is None


def _exchange(number: int, read: int) -> tuple[Record, ...]:
    usage = Usage(cache_read=read, cache_write_5m=4_000, output=5)
    asked = new_message("user", Text(f"{'word ' * 3_000}{number}"), at=float(number))
    reply = Message(f"a{number}", "assistant", (Text("ok"),), asked.id, response=f"r{number}")
    return Said(asked), Said(reply), Used(f"r{number}", "main", "m", usage, float(number))


def test_the_cache_report_knows_the_cause(path: Path, scrubber: SecretScrubber):
    records = (
        HeadFrozen(HEAD),
        said(Text(TOLD)),
        *_exchange(1, 0),
        *_exchange(2, 4_000),
        *_exchange(3, 0),
    )
    kept = written(path, scrubber, *records)
    (row,) = cache_report("s", kept, STRICT.cache, None)
    (broken,) = row.breaks
    assert broken.expected
    assert broken.why == "expected: taken out of the transcript: secret: password"


def test_an_unknown_record_is_cleaned_too(path: Path, scrubber: SecretScrubber):
    line = {"type": "from the future", "notes": [TOLD, {"deep": TOLD}]}
    path.write_bytes(dump(line) + b"\n")
    (unknown,) = journal.load(path).records
    again = path.with_name("again.jsonl")
    written(again, scrubber, unknown)
    assert VALUE not in again.read_text("utf-8")
