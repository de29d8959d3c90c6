"""A memory's words are found in other texts, also wrapped, escaped or cut, and nothing else is."""

import json

import pytest

from reverie.memory.format import topic
from reverie.memory.format.traces import MARK, Traces, traces_of

BODY = (
    'The zebra project is called off, says "Okapi" für immer.\n\n'
    "**Why:** the budget of the stable was cut in half.\n- Nobody feeds it\n"
)
MEMORY = topic.new(
    "Zebra is off", "The zebra project ended", "project", BODY, file="project_zebra_is_off.md"
)
TRACES = traces_of(MEMORY.file, [MEMORY])
SENTENCE = 'The zebra project is called off, says "Okapi" für immer'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"Hear: {SENTENCE}. And more.", f"Hear: {MARK}. And more."),
        (SENTENCE.upper(), MARK),
        (f"you said that {SENTENCE.lower()}!", f"you said that {MARK}!"),
        (SENTENCE.replace(" ", "\n  "), MARK),
        (json.dumps(SENTENCE), f'"{MARK}"'),
        (json.dumps(SENTENCE, ensure_ascii=False), f'"{MARK}"'),
        (json.dumps(json.dumps({"a": SENTENCE})), json.dumps(json.dumps({"a": MARK}))),
        # Cut short, with an ellipsis or at the end of a line.
        ("The zebra project is called o…", MARK),
        ("# The zebra project is called off, says\nnext", f"# {MARK}\nnext"),
        ("because the budget of the stable was cut in half", f"because {MARK}"),
        # The name of its file, in a path, a link, a pointer.
        ("see memory/project_zebra_is_off.md:3", f"see memory/{MARK}:3"),
        ("see [[project_zebra_is_off]] and on", f"see {MARK} and on"),
        ("a\n- [Zebra is off](project_zebra_is_off.md) — ended\nb", "a\nb"),
        # A short sentence only where it has a line to itself, or is all there is.
        ("- Nobody feeds it", f"- {MARK}"),
        ("Zebra is off", MARK),
    ],
)
def test_what_is_taken_out(text: str, left: str) -> None:
    found = TRACES.redacted(text)
    assert found.text == left or found.text == left.removeprefix("- ")
    assert found.count == 1
    assert TRACES.redacted(found.text).count == 0


@pytest.mark.parametrize(
    "text",
    [
        "The zebra project goes on",
        "the budget of the stable was cut in halfway",
        "The zebra project is called of, says another",
        "the budget of the year",
        "project_zebra_is_offline.md",
        "my_project_zebra_is_off.md",
        "zebra off Okapi für immer",
    ],
)
def test_what_stays(text: str) -> None:
    assert TRACES.redacted(text) == TRACES.redacted(text).__class__(text)


@pytest.mark.parametrize("text", ["see README.md", "readme.md is old", "the readme.md of memory"])
def test_a_plain_file_name_is_no_trace(text: str) -> None:
    assert not Traces("readme.md").holds(text)
    assert Traces("readme.md").holds("/home/x/memory/readme.md")
    assert Traces("readme.md").held_in_json({"files": ["readme.md"]})


def test_json_keeps_its_shape() -> None:
    arguments = json.dumps({"text": SENTENCE, "n": 1})
    value = {
        "id": "m1",
        "blocks": [
            {"type": "thinking", "text": f"I know: {SENTENCE}", "signature": "s"},
            {"type": "tool_use", "id": "t1", "arguments": arguments},
        ],
        "n": 3,
    }
    clean, count = TRACES.redacted_json(value)
    assert count == 2
    assert clean == {
        "id": "m1",
        "blocks": [
            {"type": "tool_use", "id": "t1", "arguments": json.dumps({"text": MARK, "n": 1})}
        ],
        "n": 3,
    }
    only = {"blocks": [{"type": "thinking", "text": SENTENCE}]}
    assert TRACES.redacted_json(only)[0] == {"blocks": [{"type": "text", "text": MARK}]}


def test_a_line_that_holds_nothing_keeps_its_bytes() -> None:
    line = '{"a" : "\\u00fc zebra", "b":1.0}\n'
    assert TRACES.redacted_line(line).text == line
    torn = f'{{"a": "{SENTENCE}'
    assert TRACES.redacted_line(torn).count == 1


def test_the_message_it_came_from_is_read_more_closely() -> None:
    dated = traces_of(
        "f.md",
        [
            topic.new(
                "n", "d", "project", "Deploys freeze 2025-06-19, the auditors come", file="f.md"
            )
        ],
    )
    said = "Hello there. Please remember: deploys freeze next Thursday, the auditors come! Thanks."
    assert dated.same_words(said) == (
        "Please remember: deploys freeze next Thursday, the auditors come!",
    )
    more = dated.with_sentences(dated.same_words(said))
    assert more.redacted(said).text == f"Hello there. {MARK}! Thanks."
    assert dated.same_words("We deploy on Fridays. The audit is over.") == ()
