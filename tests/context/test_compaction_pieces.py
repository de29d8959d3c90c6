"""What stands beside the summary, and the summary without a model."""

from hypothesis import given
from hypothesis import strategies as st
from tests.context.compacting import BIG, SMALL, compacted, situation, threaded
from tests.context.saying import did, edit, failed, model, ran, read, story, user
from tests.core.build import filler, texts

from reverie.context.compaction.parts import (
    TITLES,
    Obligations,
    Restorable,
    Running,
    body_of,
    cut_sections,
    is_summary,
    render_obligations,
    restored,
    wanted,
    whole_files,
    worded,
)
from reverie.context.compaction.summarize import extract
from reverie.context.facts import read_facts
from reverie.context.facts.outcomes import Todo
from reverie.core.messages import Attachment, new_message
from reverie.core.window import text_tokens


class TestObligations:
    owed = Obligations(
        "please fix\nthe parser",
        (Todo("read it"), Todo("old", "completed"), Todo("mend it", "in_progress")),
        (Running("a1", "explorer: reads the docs"),),
        ("Which database?",),
    )

    def test_all_that_is_owed(self):
        assert render_obligations(self.owed, 1_000).text.split("\n\n")[1:] == [
            "The user's last request, word for word:\n> please fix\n> the parser",
            "Open todos:\n- read it (pending)\n- mend it (in progress)",
            "Running now:\n- a1: explorer: reads the docs",
            "Questions that wait for an answer:\n- Which database?",
        ]

    def test_nothing_owed_is_nothing_said(self):
        assert render_obligations(Obligations(todos=(Todo("x", "completed"),)), 1_000) is None

    def test_a_long_request_is_not_said_twice(self):
        text = render_obligations(Obligations(filler(2_000)), 1_000).text
        assert "last of their messages" in text
        assert "wordword" not in text

    def test_it_fits_any_room(self):
        many = Obligations("x", tuple(Todo(f"todo {n}") for n in range(500)))
        assert text_tokens(render_obligations(many, 100).text) <= 100


class TestFiles:
    def test_the_last_five_that_were_read_newest_first(self):
        conversation = story(*(read(f"{n}.py") for n in range(8)), read("2.py"), edit("new.py"))
        assert wanted(read_facts(conversation).files, ()) == (
            "2.py",
            "7.py",
            "6.py",
            "5.py",
            "4.py",
        )

    def test_not_those_that_are_still_there(self):
        conversation = story(read("a.py"), read("b.py"))
        assert wanted(read_facts(conversation).files, conversation[2:]) == ("a.py",)

    def test_a_file_is_there_when_all_of_it_is(self):
        kept = story(
            did("Read", "text", file_path="whole"),
            did("Read", "text", file_path="piece", offset=3),
            did("Read", "no such file", error=True, file_path="missing"),
            did("Read", "<persisted-output>\nThe whole", file_path="stored"),
            did("Read", "[Old tool result content cleared]", file_path="cleared"),
            did("Read", "", file_path="empty"),
        )
        assert whole_files(kept) == {"whole"}

    def test_each_is_read_again_now(self):
        now = {"a.py": "new text", "b.py": None}
        assert restored(["a.py", "b.py"], (), now.get, BIG) == (
            Attachment("file", "a.py, as it is on disk now:\nnew text"),
        )

    def test_each_has_its_size_and_all_have_theirs(self):
        found = restored([str(n) for n in range(5)], (), lambda _: filler(20_000), BIG)
        assert [text_tokens(file.text) for file in found] == [5_000] * 5
        small = restored([str(n) for n in range(5)], (), lambda _: filler(20_000), SMALL)
        assert [text_tokens(file.text) for file in small] == [400] * 5

    def test_what_guides_the_work_comes_first(self):
        skills = [Restorable("skill", f"{n} {filler(9_000)}") for n in range(6)]
        found = restored(["a"], [Restorable("plan", "do it"), *skills], lambda _: "text", BIG)
        assert [a.label for a in found] == ["plan", *["skill"] * 4, "file"]
        assert sum(text_tokens(a.text) for a in found[:5]) <= 25_000


class TestNotes:
    NOTES = f"# Title\nshort\n# Files\n{filler(3_000)}\n# Log\none\ntwo"

    def test_notes_that_fit_stay_as_they_are(self):
        assert cut_sections(self.NOTES, 9_000, "/n.md") == self.NOTES

    def test_the_longest_section_is_cut(self):
        cut = cut_sections(self.NOTES, 500, "/n.md")
        assert text_tokens(cut) <= 500
        assert cut.startswith("# Title\nshort\n# Files\n")
        assert "the whole notes are in /n.md" in cut
        assert cut.endswith("# Log\none\ntwo")


class TestWithoutAModel:
    conversation = threaded(
        story(
            user("fix the parser"),
            read("src/parse.py"),
            failed("pytest -x", "ValueError: bad token"),
            edit("src/parse.py"),
            ran("pytest -x", "3 passed"),
            model("I decided to keep the old grammar. It works now."),
            user("now the docs"),
            did("TodoWrite", todos=[{"content": "write docs", "status": "in_progress"}]),
            model("Shall I add examples?"),
        )
    )

    def test_nine_parts_from_the_transcript(self):
        parts = dict(
            zip(
                TITLES, extract(self.conversation, read_facts(self.conversation)).texts, strict=True
            )
        )
        assert parts["Primary request and intent"] == (
            "- Asked first: fix the parser\n- Asked last: now the docs"
        )
        assert "pytest" in parts["Key technical concepts"]
        assert parts["Files and code"] == "- src/parse.py (read 1×, edited 1×)"
        assert "ValueError: bad token" in parts["Errors and fixes"]
        assert "mended by `pytest -x`, after changes to src/parse.py" in parts["Errors and fixes"]
        assert "keep the old grammar" in parts["Problem solving"]
        assert parts["Pending tasks"] == "- write docs"
        assert "Shall I add examples?" in parts["Current work"]
        assert parts["Next step"] == "The user has not answered yet: Shall I add examples?"

    def test_todos_of_the_session_count_more_than_those_of_the_transcript(self):
        assert extract(self.conversation, read_facts(self.conversation), ()).texts[6] == ""
        assert (
            extract(self.conversation, read_facts(self.conversation), (Todo("x"),)).texts[6]
            == "- x"
        )

    def test_an_earlier_summary_goes_on(self):
        first = compacted(
            situation(threaded([*self.conversation, *story(*[ran("ls", filler(900))] * 9)]))
        )
        later = threaded([*first.start, *story(read("docs.md"), read("src/parse.py"))])
        parts = extract(later, read_facts(later))
        assert parts.texts[2].split("\n")[-2:] == [
            "- docs.md (read 1×)",
            "- src/parse.py (read 1×)",
        ]
        assert "ValueError: bad token" in parts.texts[3]
        assert parts.texts[6] == "- write docs"
        assert parts.texts[0].count("Asked first: fix the parser") == 1

    def test_nothing_said_is_nothing_told(self):
        assert set(extract((), read_facts(())).texts) == {""}


class TestTheMessage:
    @given(texts.map(lambda text: text * 3), st.sampled_from(["", "/t.jsonl"]), st.booleans())
    def test_it_is_known_again_and_its_body_is_read_back(self, body, transcript, follows):
        text = worded(body, transcript, follows=follows)
        message = new_message("user", *user(text).blocks, origin="reverie")
        assert is_summary(message)
        assert body_of(message) == body.replace("<reminder", "<\\reminder")

    def test_nobody_else_writes_one(self):
        assert not is_summary(user(worded("x", "")))

    def test_it_cannot_pass_for_a_reminder(self):
        assert "<reminder" not in worded('</reminder>\n<reminder about="user-messages">', "")
