"""A summary is read from whatever a model wrote, and rendered to size."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.compacting import REPLY, SUMMARY
from tests.core.build import filler, texts

from reverie.context.compaction.parts import (
    TITLES,
    USER_MESSAGES,
    Parts,
    parse,
    parse_reply,
    render,
)
from reverie.core.window import text_tokens

WANTED = tuple(f"The model on {title}." for title in TITLES)


def rewritten(old: str, new: str) -> str:
    assert old in REPLY
    return REPLY.replace(old, new)


def with_headings(style: str) -> str:
    parts = [
        style.format(n=n, title=title, TITLE=title.upper()) + f"\nThe model on {title}."
        for n, title in enumerate(TITLES, 1)
    ]
    return "<summary>\n" + "\n".join(parts) + "\n</summary>"


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(REPLY, id="as asked"),
        pytest.param(SUMMARY, id="no tags at all"),
        pytest.param(rewritten("</summary>", ""), id="summary not closed"),
        pytest.param(rewritten("<analysis>\nhm\n</analysis>\n", ""), id="no scratch pad"),
        pytest.param(rewritten("</analysis>\n", ""), id="scratch pad not closed"),
        pytest.param(rewritten("hm", "I will write <summary> now"), id="tag in the scratch pad"),
        pytest.param(rewritten("hm", "<analysis>x</analysis>"), id="nested scratch pad"),
        pytest.param(rewritten("hm", "## 1. Primary request\nwrong"), id="headings in it"),
        pytest.param(
            f"<analysis>\n## 1. Primary request\nwrong\n</analysis>\n{SUMMARY}",
            id="only the scratch pad has tags",
        ),
        pytest.param(f"Sure!\n{REPLY}\nAnything else?", id="chatter around it"),
        pytest.param(REPLY.replace("summary>", "SUMMARY>"), id="capital tags"),
        pytest.param(f"<summary>{REPLY}</summary>", id="nested tags"),
        pytest.param(f"<summary>\n```markdown\n{SUMMARY}\n```\n</summary>", id="fenced"),
        pytest.param(with_headings("**{n}. {title}**"), id="bold"),
        pytest.param(with_headings("{n}. **{title}**:"), id="bold name"),
        pytest.param(with_headings("### {title}"), id="no number"),
        pytest.param(with_headings("{n}. {title}:"), id="plain with colon"),
        pytest.param(with_headings("{n}) {TITLE}"), id="shouted"),
        pytest.param(with_headings("# {n}. {title} (as far as known)"), id="with a remark"),
        pytest.param(with_headings("## {n}. Абв"), id="another language"),
    ],
)
def test_a_summary_is_found(reply):
    assert parse_reply(reply).texts == WANTED


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "   \n",
        "I cannot help with that.",
        "<analysis>all the way to the limit",
        "<summary></summary>",
        "<summary>Fine.</summary>",
        "## 1. Primary request\nonly one part",
        "1. First I read the file.\n2. Then I fixed it.\n3. Then it worked.",
        "Current work is going well: the errors are gone.",
    ],
)
def test_what_is_no_summary_is_none(reply):
    assert parse_reply(reply) is None


@pytest.mark.parametrize(
    ("heading", "part"),
    [
        ("## Primary Request & Intent", 0),
        ("## Key Concepts", 1),
        ("3. **Files and Code Sections:**", 2),
        ("Errors and fixes:", 3),
        ("**Problem Solving**", 4),
        ("6. All User Messages:", 5),
        ("__Pending Tasks__", 6),
        ("## Current State", 7),
        ("9. Optional Next Step:", 8),
        ("## Next Steps", 8),
    ],
)
def test_headings_have_many_forms(heading, part):
    assert parse(f"{heading}\nthe text").texts[part] == "the text"


def test_text_may_begin_on_the_line_of_its_heading():
    assert parse("**Current work**: fixing the parser").texts[7] == "fixing the parser"


@pytest.mark.parametrize(
    "line",
    [
        "- Current work: in a list",
        "Next step is to test",
        "```\n## 9. Next step\n```",
        "The current work: nothing special",
    ],
)
def test_what_only_looks_like_a_heading_is_text(line):
    text = f"## 5. Problem solving\n{line}\nend"
    assert parse(text).texts[4] == f"{line}\nend"


def test_a_part_told_twice_is_put_together():
    assert parse("## Files and code\na\n## Next step\nb\n## Files and code\nc").texts[2] == "a\nc"


def test_a_reply_cut_by_the_output_limit_gives_what_there_is():
    cut = REPLY[: REPLY.index("The model on Pending")]
    parts = parse_reply(cut)
    assert parts.texts[0] == WANTED[0]
    assert parts.missing == ("Pending tasks", "Current work", "Next step")


def test_what_is_missing_is_completed():
    parts = Parts(("mine", *[""] * 8)).completed(Parts(tuple("abcdefghi"), "overview"))
    assert parts == Parts(("mine", *"bcdefghi"), "overview")


def test_prose_inside_the_tags_is_better_than_nothing():
    prose = "We fixed the parser and then the tests. " * 10
    assert parse_reply(f"<summary>{prose}</summary>").overview == prose.strip()
    assert parse_reply(prose) is None


def test_the_users_messages_are_never_the_models():
    text = render(Parts(("invented",) * 9), 10_000)
    assert text.count("invented") == 8
    assert "invented" not in parse(text).texts[USER_MESSAGES]


def test_only_the_longest_parts_are_cut():
    parts = Parts(("short", filler(5_000), filler(300), *["few words"] * 6))
    text = render(parts, 1_000, "/t.jsonl")
    assert text_tokens(text) <= 1_000
    found = parse(text)
    assert found.texts[0] == "short"
    assert found.texts[2] == filler(300)
    assert "20,000 bytes in all, the middle is left out; /t.jsonl" in found.texts[1]


@given(st.lists(texts, min_size=9, max_size=9), texts, st.integers(200, 2_000))
def test_any_parts_fit_the_room(found, overview, room):
    parts = Parts(tuple(text * 40 for text in found), overview * 40)
    assert text_tokens(render(parts, room)) <= room


# One line, and nothing a heading could be made of.
plain = st.text("abc -*_:.", min_size=1, max_size=30).map(lambda text: f"x {text} x")


@given(st.lists(plain, min_size=9, max_size=9))
def test_what_is_rendered_is_read_back(found):
    parts = Parts(tuple(found))
    read = parse(render(parts, 10_000))
    assert read.texts[:5] + read.texts[6:] == parts.texts[:5] + parts.texts[6:]


@given(st.text(st.sampled_from("<>/#*_:.1 \n`as") | st.characters(codec="utf-8"), max_size=200))
def test_any_reply_can_be_read(reply):
    parse_reply(reply)
    parse_reply(f"<summary>{reply}")
    parse_reply(f"<analysis>{reply}</analysis>{SUMMARY}")
