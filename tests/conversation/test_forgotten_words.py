"""Words out of a journal: other lines keep their bytes, ids stay, and the break has a cause."""

from tests.conversation.build import AT, user
from tests.conversation.test_cache_report import RULES, read, turn, written

from reverie.conversation.cache_report import cache_report
from reverie.conversation.record_json import parse, render
from reverie.conversation.records import HeadFrozen, MemoriesShown, Opened, Record, Redacted, Said
from reverie.conversation.redaction import WHY, redacted
from reverie.conversation.state import SessionState
from reverie.core.messages import Attachment, Text, Thinking, ToolUse, dump, new_message
from reverie.core.request import Head
from reverie.core.usage import Prices
from reverie.memory.format.traces import MARK, Traces

SECRET = 'The zebra project is called off, says "Okapi"'
FILE = "project_zebra_is_off.md"
TRACES = Traces(FILE, (SECRET,))


def journal(*records: Record) -> bytes:
    return b"".join(dump(render(record)) + b"\n" for record in records)


def records(data: bytes) -> list[Record]:
    import json

    return [parse(json.loads(line)) for line in data.splitlines()]


def test_structure_stays_and_words_go() -> None:
    first = user(f"Hello. {SECRET}.")
    thought = new_message(
        "assistant",
        Thinking(f"So {SECRET}", "signed"),
        Text("I see."),
        ToolUse("t1", "Write", '{"text": "The zebra project is called off, says \\"Okapi\\""}'),
        after=first,
        response="r1",
    )
    recalled = new_message(
        "user", Attachment("recall", f"## {FILE} (today)\n{SECRET}"), after=thought
    )
    kept = Said(user("nothing of it", recalled))
    head = HeadFrozen(Head("m", (Text(f"# Index\n- [Zebra]({FILE}) — off\n- [B](b.md)\n"),)))
    shown = MemoriesShown((FILE, "b.md"), 10)
    data = journal(Opened("s", AT), head, Said(first), Said(thought), Said(recalled), shown, kept)
    clean = redacted(data + b'{"torn": "The zebra project is called off, says', TRACES)
    assert b"zebra" not in clean.data.lower()
    *made, torn, first_gone, second_gone, third_gone = clean.data.splitlines()
    assert torn == b'{"torn": "' + MARK.encode()
    assert made[-1] + b"\n" == journal(kept)
    opened, head_now, one, two, three, files, _ = [*map(_parsed, made)]
    assert opened == Opened("s", AT)
    assert head_now == HeadFrozen(Head("m", (Text("# Index\n- [B](b.md)\n"),)))
    assert isinstance(one, Said)
    assert isinstance(two, Said)
    assert isinstance(three, Said)
    assert one.message.text == f"Hello. {MARK}."
    assert (two.message.id, two.message.parent) == (thought.id, first.id)
    assert two.message.blocks == (
        Text("I see."),
        ToolUse("t1", "Write", f'{{"text": "{MARK}"}}'),
    )
    assert three.message.blocks == (Attachment("recall", f"## {MARK} (today)\n{MARK}"),)
    assert files == MemoriesShown((MARK, "b.md"), 10)
    gone = [_parsed(line) for line in (first_gone, second_gone, third_gone)]
    assert gone == [Redacted(one.id, WHY) for one in (first, thought, recalled)]
    assert redacted(clean.data, TRACES).data == clean.data


def _parsed(line: bytes) -> Record:
    [record] = records(line)
    return record


def test_what_holds_nothing_is_left_alone() -> None:
    data = journal(Opened("s", AT), Said(user("zebra")))
    assert redacted(data, TRACES).data is data
    foreign = b'{"type": "user", "text": "' + SECRET.replace('"', '\\"').encode() + b'"}\n'
    assert redacted(foreign, TRACES).data == b'{"type":"user","text":"%s"}\n' % MARK.encode()


def test_the_break_it_causes_is_registered() -> None:
    head = HeadFrozen(Head("m", (Text("s"),)))
    after = turn(3, written(6_000))
    gone = Redacted("", WHY)
    told = [head, *turn(1, written(5_000)), *turn(2, read(5_000)), gone, *after]
    [row] = cache_report("s", told, RULES, Prices.of(10, 50))
    [found] = row.breaks
    assert (found.call, found.expected) == (3, True)
    assert "a memory was forgotten" in found.why
    assert SessionState.replay(told).rewritten == WHY
