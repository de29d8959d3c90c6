"""Compaction by price: when it pays, what its record keeps, and which files stay in sight."""

from dataclasses import replace

import pytest
from tests.context.saying import did, edit, failed, model, ran, read, story, user

from reverie.context import NotDue
from reverie.context.compaction import lean
from reverie.context.compaction.lean import LeanPolicy, Moment
from reverie.context.compaction.parts import body_of, is_summary, worded
from reverie.context.compaction.plan import Compaction, Due, Failed, NoPlan, Situation
from reverie.context.compaction.record import WorkedOn, excerpt, record_of, spoken_names, worked_on
from reverie.context.profiles import NAMES, PROFILES
from reverie.core.messages import Message, Text, new_message
from reverie.core.usage import Prices
from reverie.core.window import Window, message_tokens
from reverie.settings.schema import SETTINGS

PRICES = Prices.of(5, 25)
NOW = Moment(PRICES)
POLICY = LeanPolicy(tail=500, rounds=1, files=2, room=600, likely=0.0, rereads=1_000, least=2_000)
LONG = "a line of output that says little\n" * 400


def long_story(rounds: int = 8) -> list[Message]:
    parts = [user("Please mend the parser, and keep the old names.")]
    for i in range(rounds):
        parts += [model(f"I'll split step {i} because the parser is slow.")]
        parts += [*did("Read", LONG, file_path=f"/src/part_{i}.py")]
    return story(*parts, model("That is all I found."), user("And now?"))


def situation(messages: list[Message]) -> Situation:
    return Situation(tuple(messages), Window(200_000, "test"), tokens=0, at=1.0, trigger="price")


def compacted(messages: list[Message], moment: Moment = NOW) -> Compaction:
    done = lean.compact(situation(messages), moment, POLICY, lambda path: f"text of {path}")
    assert isinstance(done, Compaction), done
    return done


@pytest.mark.parametrize(
    ("size", "moment", "policy", "pays"),
    [
        (100_000, NOW, LeanPolicy(), True),
        (30_000, NOW, LeanPolicy(calls=5), False),
        (30_000, replace(NOW, lapsed=True), LeanPolicy(calls=5), True),
        (14_000, replace(NOW, lapsed=True), LeanPolicy(), False),
        (100_000, Moment(None), LeanPolicy(), False),
        (100_000, NOW, LeanPolicy(budget=0.01), False),
        (100_000, NOW, LeanPolicy(budget=0.05), True),
        (100_000, replace(NOW, lapsed=True), LeanPolicy(budget=0.0), True),
        (100_000, replace(NOW, spent=0.5), LeanPolicy(share=0.05), False),
        (100_000, replace(NOW, spent=2.0), LeanPolicy(share=0.05), True),
        (100_000, NOW, LeanPolicy(on=False), False),
        (60_000, replace(NOW, done=20), LeanPolicy(), True),
        (60_000, replace(NOW, done=1), LeanPolicy(), False),
        (100_000, NOW, LeanPolicy(margin=10.0), False),
        (60_000, replace(NOW, sizes=[20_000, 60_000]), LeanPolicy(patience=1.0), False),
        (60_000, replace(NOW, sizes=[58_000, 60_000] * 3), LeanPolicy(patience=1.0), True),
        (60_000, NOW, LeanPolicy(patience=1.0), False),
        (60_000, replace(NOW, lapsed=True), LeanPolicy(patience=1.0), True),
    ],
    ids=[
        *("large", "small", "lapsed", "lapsed and tiny", "no prices"),
        *("beyond the budget", "within the budget", "lapsed, no budget"),
        *("young and cheap so far", "paid enough so far", "off"),
        *("in the middle", "just begun", "too little for the margin"),
        *("grown at once", "carried long enough", "nothing was sent yet", "lapsed, not patient"),
    ],
)
def test_due_by_price(size: int, moment: Moment, policy: LeanPolicy, *, pays: bool) -> None:
    found = lean.due(size, moment, policy)
    assert isinstance(found, Due if pays else NotDue), found


class TestRecord:
    def test_words_errors_and_paths_stay_and_output_goes(self) -> None:
        record = record_of(
            story(
                user("Make it fast."),
                model("I'll use a table instead of the loop, because it is called often."),
                read("/src/deep/down/parser.py"),
                edit("/src/deep/down/parser.py"),
                failed("pytest -q", "E   ValueError: the table has 3 rows, not 4"),
                ran("ls", "a\nb\nc"),
            ),
            5_000,
        )
        assert "I'll use a table instead of the loop, because it is called often." in record
        assert "/src/deep/down/parser.py" in record
        assert "ValueError: the table has 3 rows, not 4" in record
        assert "[user 1]" in record
        assert "a\nb\nc" not in record

    def test_answers_of_the_person_and_reports_stay(self) -> None:
        answer = did("AskUserQuestion", "The user chose: blue", question="Which colour?")
        report = did("Task", "The parser is called from two places.", description="look")
        record = record_of(story(answer, report), 5_000)
        assert "The user chose: blue" in record
        assert "The parser is called from two places." in record

    @pytest.mark.parametrize(
        "line",
        [
            "KeyError: 'rows'",
            "    raise TypeError(f'no {kind}')",
            "java.lang.IllegalStateException: closed twice",
            "--- FAIL: TestResume (3.29s)",
        ],
    )
    def test_an_exception_by_its_name_is_an_error(self, line: str) -> None:
        assert f"! {line.strip()}" in record_of(story(ran("make", f"went on\n{line}\n")), 5_000)

    def test_of_many_errors_those_that_a_program_reports_stay(self) -> None:
        vague = "".join(f"step {i}: unknown option ignored\n" for i in range(9))
        output = f"{vague}+ log(Error('x'))\nerror: two tests broke\nmain.go:3:1: undefined: rows\n"
        record = record_of(story(ran("make", output)), 5_000)
        assert "! error: two tests broke\n! main.go:3:1: undefined: rows\n! + log(" in record
        assert "unknown option" not in record

    def test_it_repeats_neither_paths_nor_errors_of_a_record_before_it(self) -> None:
        said = story(
            user("Go."), read("/src/deep/down/parser.py"), failed("make", "fatal: no rows")
        )
        first = record_of(said, 5_000)
        before = new_message("user", Text(worded(first, "")), origin="reverie")
        record = record_of(said, 5_000, [before])
        assert "down/parser.py" in record
        assert "/src/deep/down/parser.py" not in record
        assert "fatal" in first
        assert "fatal" not in record
        assert "[user 1]" in record

    def test_without_room_the_oldest_steps_go_first(self) -> None:
        parts = [part for i in range(60) for part in (ran(f"make part-{i}"), model(f"Part {i}."))]
        record = record_of(story(*parts), 400)
        assert "Part 0." in record
        assert "make part-0" not in record
        assert "make part-59" in record


class TestCompact:
    def test_the_words_of_the_user_are_carried_and_the_last_rounds_stay(self) -> None:
        messages = long_story()
        done = compacted(messages)
        [record, now] = done.start
        assert is_summary(record)
        assert "keep the old names" in record.blocks[1].text
        assert done.kept_from in {message.id for message in messages[-4:]}
        assert "text of /src/part_" in now.blocks[-1].text
        assert done.tokens_after < sum(len(LONG) // 4 for _ in range(8)) // 3

    def test_the_next_one_leaves_the_first_record_where_it_is(self) -> None:
        first = compacted(long_story())
        again = [*first.start, *long_story()]
        done = compacted(again)
        assert done.kept_up_to == first.start[0].id
        assert "I'll split step 0" in done.start[0].text
        assert is_summary(done.start[0])
        frames = [len(one.start[0].text) - len(body_of(one.start[0])) for one in (first, done)]
        assert frames[1] < frames[0] / 2

    def test_what_saves_too_little_is_left_alone(self) -> None:
        short = story(user("Hello."), model("Hi."), read("/a"), model("Read."), user("Thanks."))
        done = lean.compact(situation(short), NOW, POLICY, lambda path: None)
        assert isinstance(done, Failed)

    def test_a_lone_unanswered_round_is_no_plan(self) -> None:
        assert isinstance(lean.plan([user("Hello.")], POLICY), NoPlan)


class TestExcerpts:
    def test_the_last_touched_file_comes_first_and_changes_are_known(self) -> None:
        found = worked_on(story(read("/a.py"), edit("/b.py"), read("/c.py")))
        assert [(file.path, file.changed) for file in found] == [
            ("/c.py", False),
            ("/b.py", True),
            ("/a.py", False),
        ]

    def test_a_long_file_is_shown_around_the_places_in_work(self) -> None:
        text = "\n".join(f"line {i} of a long file" for i in range(1_000))
        shown = excerpt(text, ["line 700 of a long file"], 600)
        assert "line 700 of" in shown
        assert "line 1 of" not in shown
        assert "of 1000]" in shown
        assert excerpt("short", [], 600) == "short"

    def test_a_long_file_is_shown_near_the_names_that_were_spoken_of(self) -> None:
        lines = [f"line {i} of a long file" for i in range(1_000)]
        lines[400], lines[800] = "def parse_table(rows):", "return parse_rows"
        names = spoken_names(["Next, parse_table must take a list; look at the parser."])
        assert names == ("parse_table",)
        shown = excerpt("\n".join(lines), [], 600, names)
        assert "def parse_table(rows):" in shown
        assert "parse_rows" not in shown

    def test_every_place_is_shown_a_little_before_one_is_shown_much(self) -> None:
        text = "\n".join(f"line {i} of a long file" for i in range(1_000))
        places = [f"line {i} of a long file" for i in (100, 300, 500, 700)]
        shown = excerpt(text, places, 600)
        assert all(place in shown for place in places)

    def test_what_was_just_changed_is_likelier_edited_than_what_was_read_long_ago(self) -> None:
        changed, fresh, old = (
            WorkedOn("/a.py", changed=True, calls_ago=1, places=()),
            WorkedOn("/b.py", changed=False, calls_ago=1, places=()),
            WorkedOn("/c.py", changed=False, calls_ago=12, places=()),
        )
        likely = [file.likelihood(named=False) for file in (changed, fresh, old)]
        assert likely == sorted(likely, reverse=True)
        assert old.likelihood(named=True) > old.likelihood(named=False)

    def test_a_file_that_was_asked_about_stays_likely_until_it_is_edited(self) -> None:
        messages = story(
            user("Please mend /src/a.py and b.py."), read("/src/a.py"), read("/src/b.py")
        )
        messages += [message for i in range(9) for message in ran(f"make {i}")]
        files = {file.name: file for file in worked_on([*messages, *edit("/src/b.py")])}
        a, b = files["a.py"], files["b.py"]
        assert a.likelihood(named=False, asked_for=True) > a.likelihood(named=False)
        assert b.likelihood(named=False, asked_for=True) == b.likelihood(named=False)

    def test_files_that_will_hardly_be_edited_are_left_out(self) -> None:
        messages = long_story()
        policy = replace(POLICY, likely=0.9)
        done = lean.compact(situation(messages), NOW, policy, lambda path: f"text of {path}")
        assert isinstance(done, Compaction)
        assert not any("text of" in block.text for m in done.start for block in m.blocks)

    def test_a_less_likely_file_gets_less_room(self) -> None:
        text = "\n".join(f"line {i} of a long file" for i in range(1_000))
        policy = replace(POLICY, room=50_000, file=2_000)
        messages = long_story()
        done = lean.compact(situation(messages), NOW, policy, lambda path: text)
        free = replace(policy, file=100_000)
        more = lean.compact(situation(messages), replace(NOW, lapsed=True), free, lambda path: text)
        assert isinstance(done, Compaction)
        assert isinstance(more, Compaction)
        assert sum(map(message_tokens, done.start)) < sum(map(message_tokens, more.start)) // 2

    def test_files_of_an_earlier_compaction_are_still_in_work(self) -> None:
        done = compacted(long_story())
        assert worked_on(done.start)[0].path.startswith("/src/part_")


def test_the_profiles_are_those_of_the_setting() -> None:
    [setting] = [one for one in SETTINGS if one.key == "context.profile"]
    assert tuple(setting.choices) == NAMES == tuple(PROFILES)
    assert setting.default in PROFILES


@pytest.mark.parametrize(
    ("tool", "declared", "threshold"),
    [
        ("Bash", 50_000, 6_000),
        ("Grep", 4_000, 4_000),
        ("Read", None, None),
        ("mcp__x", 50_000, 50_000),
    ],
)
def test_what_is_looked_at_once_is_stored_sooner(
    tool: str, declared: int | None, threshold: int | None
) -> None:
    assert PROFILES["balanced"].threshold(tool, declared) == threshold
