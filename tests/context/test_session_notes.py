"""The notes as text: frame, limits, drafts from facts, and the summary."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.context.saying import did, edit, failed, model, ran, read, story, user
from tests.core.build import texts as hurtful

from reverie.context.facts import read_facts
from reverie.context.facts.outcomes import Facts
from reverie.context.session_notes import (
    DRAFT_TOKENS,
    MARK,
    SECTION_TOKENS,
    TEMPLATE,
    TOTAL_TOKENS,
    Notes,
    Template,
    Unusable,
    as_summary,
    cut_sections,
    from_facts,
    parse,
    parse_template,
    refreshed,
    render,
    salvage,
    substituted,
    warnings,
)
from reverie.core.window import text_tokens

TITLES = [
    "Session Title",
    "Current State",
    "Task specification",
    "Files and Functions",
    "Workflow",
    "Errors & Corrections",
    "Codebase and System Documentation",
    "Learnings",
    "Key results",
    "Worklog",
]

# Lines of the frame itself, and anything else: a section may quote the whole file.
_frame = [line for section in TEMPLATE.sections for line in (section.heading, section.hint)]
_texts = st.lists(st.sampled_from(["plain", "# code", "", MARK, *_frame]) | hurtful, max_size=6)
some_notes = st.lists(_texts.map("\n".join), min_size=len(TITLES), max_size=len(TITLES)).map(
    Notes.blank().with_texts
)


def notes(**texts: str) -> Notes:
    """Notes by the first word of a section's title."""
    found = [texts.get(title.split()[0].lower(), "") for title in TITLES]
    return Notes.blank().with_texts(found)


# ── the frame ────────────────────────────────────────────────────────────────


def test_the_ten_sections_are_fixed() -> None:
    assert [section.title for section in TEMPLATE.sections] == TITLES
    assert parse_template(render(Notes.blank())) == TEMPLATE


@given(some_notes)
def test_what_is_rendered_is_read_back(some: Notes) -> None:
    """Whatever a section quotes, the frame stands; quoted headings are marked, once."""
    text = render(some)
    found = parse(text)
    assert found is not None
    assert render(found) == text
    headings = [section.heading for section in TEMPLATE.sections]
    for now, before in zip(found.texts, some.texts, strict=True):
        for line, original in zip(now.split("\n"), before.split("\n"), strict=True):
            assert line == (f"\\{original}" if original in headings else original)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("# Workflow", "# Work flow"),
        lambda text: text.replace("# Workflow", "## Workflow"),
        lambda text: text.replace("_Commands that", "_Commands which"),
        lambda text: text.replace("# Learnings\n", ""),
        lambda text: text + "\n" + text,
        lambda text: "Here are the notes:\n" + text,
        lambda text: (
            text.replace("# Learnings", "# Swap")
            .replace("# Workflow", "# Learnings")
            .replace("# Swap", "# Workflow")
        ),
        lambda text: "",
    ],
)
def test_a_changed_frame_is_seen(change) -> None:
    text = render(notes(workflow="make", learnings="use make"))
    assert parse(text) is not None
    assert parse(change(text)) is None


def test_new_headings_inside_a_section_are_its_text() -> None:
    found = parse(render(notes(workflow="# build\nmake")))
    assert found is not None
    assert found.text("Workflow") == "# build\nmake"


def test_line_ends_of_another_system_are_no_change_of_the_frame() -> None:
    some = notes(workflow="make\nmake test")
    assert parse(render(some).replace("\n", "\r\n")) == some


def test_a_broken_file_gives_what_can_be_saved() -> None:
    text = render(notes(workflow="make", worklog="- built"))
    broken = "chatter\n" + text.replace("_Commands that are run", "_Commands run")
    saved = salvage(broken)
    assert "make" in saved.text("Workflow")
    assert saved.text("Worklog") == "- built"
    assert salvage("nothing of ours") == Notes.blank()


# ── a template of one's own ──────────────────────────────────────────────────


def test_a_template_of_the_user() -> None:
    found = parse_template("intro\n# Goal of X\n*why*\n\n# Worklog\n_steps_\n")
    assert isinstance(found, Template)
    assert [section.title for section in found.sections] == ["Goal of X", "Worklog"]
    facts = read_facts(story(user("go"), read("a/b.py")))
    assert from_facts(facts, found).texts == ("", "- asked: go\n- read a/b.py")


@pytest.mark.parametrize(
    ("text", "why"),
    [("", "no section"), ("# A\nplain", "no section"), ("# A\n_x_\n# A\n_y_", "twice")],
)
def test_a_template_that_is_no_frame(text: str, why: str) -> None:
    found = parse_template(text)
    assert isinstance(found, Unusable)
    assert why in found.reason


def test_variables_are_put_in_once() -> None:
    values = {"a": "{{b}}", "b": "deep", "path": r"\1 \g<0>"}
    assert (
        substituted("{{a}} {{ b }} {{unknown}} {{path}}", values)
        == r"{{b}} deep {{unknown}} \1 \g<0>"
    )


# ── limits ───────────────────────────────────────────────────────────────────


def words(tokens: int) -> str:
    """Lines of this many tokens in all, each of four."""
    return "\n".join(["fifteen letters"] * (tokens // 4))


def test_what_is_too_long_is_named() -> None:
    assert warnings(notes(learnings=words(SECTION_TOKENS - 4))) == ()
    (warning,) = warnings(notes(learnings=words(SECTION_TOKENS + 40)))
    assert "“Learnings”" in warning
    long = Notes.blank().with_texts([words(1_900)] * 10)
    (warning,) = warnings(long)
    assert f"{TOTAL_TOKENS:,}" in warning


def test_a_long_section_loses_its_end_and_a_log_its_beginning() -> None:
    lines = "\n".join(f"line {n:05}" for n in range(2_000))
    cut = cut_sections(notes(learnings=lines, worklog=lines, workflow="short"), "/s/notes.md")
    mark = "[cut here; the whole section is in /s/notes.md]"
    assert cut.text("Workflow") == "short"
    assert cut.text("Learnings").startswith("line 00000\n")
    assert cut.text("Learnings").endswith(f"\n{mark}")
    assert cut.text("Worklog").startswith(f"{mark}\n")
    assert cut.text("Worklog").endswith("\nline 01999")


def test_one_line_without_end_is_cut_too() -> None:
    cut = cut_sections(notes(learnings="é" * 50_000, worklog="x" * 50_000), "p")
    assert all(text_tokens(text) <= SECTION_TOKENS for text in cut.texts)
    assert cut.text("Learnings").startswith("é")


@given(st.lists(st.integers(0, 4_000), min_size=10, max_size=10))
def test_cut_notes_are_within_their_limits(sizes: list[int]) -> None:
    """And notes that were within them are not cut at all."""
    some = Notes.blank().with_texts([words(size) for size in sizes])
    cut = cut_sections(some, "p")
    assert all(text_tokens(text) <= SECTION_TOKENS for text in cut.texts)
    assert sum(text_tokens(text) for text in cut.texts) <= TOTAL_TOKENS
    real = [text_tokens(text) for text in some.texts]
    assert (cut == some) == (sum(real) <= TOTAL_TOKENS and max(real) <= SECTION_TOKENS)


# ── notes without a model ────────────────────────────────────────────────────


def the_facts() -> Facts:
    todos = [
        {"content": "write docs", "status": "pending"},
        {"content": "x", "status": "completed"},
    ]
    return read_facts(
        story(
            user("Make the tests of the parser pass, and do not touch the public interface please"),
            read("/p/a.py"),
            failed("make test", "ValueError: x"),
            edit("/p/a.py"),
            ran("make test"),
            ran("ls -la"),
            did("TodoWrite", todos=todos),
            user("go on"),
            model("All pass. Shall I commit?"),
        )
    )


def test_what_the_facts_tell() -> None:
    found = from_facts(the_facts())
    assert dict(zip(TITLES, found.texts, strict=True)) == {
        "Session Title": "Make the tests of the parser pass, and do not",
        "Current State": "Last request: go on\n"
        "Last answer: All pass. Shall I commit?\n"
        "Waiting for the user to answer: Shall I commit?\n"
        "- [ ] write docs (pending)",
        "Task specification": "- Make the tests of the parser pass, and do not touch the public "
        "interface please\n- go on",
        "Files and Functions": "- `/p/a.py`: edited 1×, read 1×",
        "Workflow": "- `make test`: 2×, last time ok",
        "Errors & Corrections": "- `make test`: ValueError: x → changed /p/a.py, "
        "then `make test` worked",
        "Codebase and System Documentation": "",
        "Learnings": "",
        "Key results": "",
        "Worklog": "- asked: Make the tests of the parser pass, and do not touch the public "
        "interface please\n- read p/a.py\n- ran `make test` → exit 1\n- edited p/a.py\n"
        "- ran `make test`\n- ran `ls -la`\n- TodoWrite\n- asked: go on",
    }


def test_a_long_session_stays_within_the_limits() -> None:
    long = story(
        user("start " * 3_000),
        *(edit(f"/project/of/some/depth/file_{n}.py") for n in range(300)),
        *(
            failed(f"make target-{n} " + "x" * 200, f"ValueError: {n} " + "y" * 150)
            for n in range(90)
        ),
        *(user(f"please {n} " + "z" * 700) for n in range(90)),
        model("w" * 9_000),
    )
    found = from_facts(read_facts(long))
    assert all(text_tokens(text) <= DRAFT_TOKENS for text in found.texts)
    assert warnings(found) == ()


def test_a_user_who_quotes_the_notes_does_not_break_them() -> None:
    quoted = render(from_facts(the_facts()))
    found = from_facts(read_facts([user(quoted), model(quoted)]))
    assert parse(render(found)) is not None


def test_a_draft_is_refreshed_and_a_refined_section_stays() -> None:
    first = refreshed(
        notes(learnings="mine", workflow="run make, then look"), the_facts(), everywhere=False
    )
    assert first.text("Learnings") == "mine"
    assert first.text("Workflow") == "run make, then look"
    assert first.text("Files and Functions") == f"{MARK}\n- `/p/a.py`: edited 1×, read 1×"
    later = refreshed(first, read_facts(story(edit("/p/z.py"))), everywhere=False)
    assert later.text("Files and Functions") == f"{MARK}\n- `/p/z.py`: edited 1×"
    assert later.text("Workflow") == "run make, then look"


def test_text_above_the_mark_is_never_touched() -> None:
    mixed = notes(files=f"the parser is in a.py\n\n{MARK}\n- old")
    found = refreshed(mixed, the_facts(), everywhere=False).text("Files and Functions")
    assert found == f"the parser is in a.py\n\n{MARK}\n- `/p/a.py`: edited 1×, read 1×"


def test_without_a_model_the_draft_goes_under_what_was_refined() -> None:
    refined = notes(session="Parser tests", workflow="run make", learnings="mine")
    found = refreshed(refined, the_facts(), everywhere=True)
    assert found.text("Session Title") == "Parser tests"
    assert found.text("Workflow") == f"run make\n\n{MARK}\n- `make test`: 2×, last time ok"
    assert found.text("Learnings") == "mine"
    assert refreshed(found, the_facts(), everywhere=True) == found


def test_a_full_section_gets_no_draft() -> None:
    full = notes(workflow=words(SECTION_TOKENS))
    assert refreshed(full, the_facts(), everywhere=True).text("Workflow") == words(SECTION_TOKENS)


# ── the summary ──────────────────────────────────────────────────────────────


def test_blank_notes_are_no_summary() -> None:
    assert as_summary(Notes.blank(), "p") is None
    assert as_summary(notes(workflow=MARK), "p") is None


def test_the_summary_is_the_sections_that_say_something() -> None:
    some = notes(session="Parser tests", workflow=f"run make\n\n{MARK}\n- `make`: ok")
    assert as_summary(some, "p") == (
        "# Session Title\nParser tests\n\n# Workflow\nrun make\n\n- `make`: ok"
    )
    long = as_summary(notes(learnings=words(9_000)), "/s/notes.md")
    assert long is not None
    assert text_tokens(long) <= SECTION_TOKENS + 10
    assert "/s/notes.md" in long
