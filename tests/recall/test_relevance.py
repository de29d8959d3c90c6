"""Memories asked about in other words: groups of words, the kind of question, long messages, cues."""

from pathlib import Path

import pytest

from reverie.recall import queries
from reverie.recall.documents import MemoryDoc
from reverie.recall.fuse import GOOD_MATCH
from reverie.recall.index import RecallIndex
from reverie.recall.prompt_kind import PromptKind, kind_of
from reverie.recall.relevance import (
    Figures,
    Marks,
    Wanted,
    calibration,
    chance,
    chance_beside,
    marks,
)
from reverie.text import thesaurus

PAGER = "Karin is on pager duty in odd weeks, Tomasz in even weeks."
ERRORS = 'Exceptions from production go to the Sentry project "web".'
DAILY = "The standup is at 9:40 every weekday."
PRICES = "Ticket prices are stored as integers."


def note(file: str, text: str, *cues: str) -> MemoryDoc:
    return MemoryDoc(file, (1, 1, 1), name=text, description=text, body=text, cues=cues)


@pytest.fixture
def index(tmp_path: Path) -> RecallIndex:
    texts = {"pager": PAGER, "errors": ERRORS, "daily": DAILY, "prices": PRICES}
    made = RecallIndex.open(tmp_path / "index.sqlite")
    made.put_many([note(f"{name}.md", text) for name, text in texts.items()])
    return made


def best(index: RecallIndex, question: str) -> str:
    hits = index.search(queries.plain(question), now=1.79e9).hits
    return hits[0].key if hits else ""


@pytest.mark.parametrize(
    ("question", "file"),
    [
        ("Who do I call when the site goes down?", "pager.md"),
        ("Where can I see crashes?", "errors.md"),
        ("Daily meeting time?", "daily.md"),
        ("Wer hat Rufbereitschaft?", "pager.md"),
    ],
)
def test_a_question_that_shares_no_word_finds_its_memory(
    index: RecallIndex, question: str, file: str
) -> None:
    assert best(index, question) == file


@pytest.mark.parametrize("typed", ["tomasz", "standup", "ticket prices", "Sentry project"])
def test_keywords_show_the_memory_that_has_them_all(index: RecallIndex, typed: str) -> None:
    hits = index.search(queries.plain(typed), now=1.79e9).hits
    assert [hit.score >= GOOD_MATCH for hit in hits[:1]] == [True]


@pytest.mark.parametrize("typed", ["standup comedy", "fix prices", "is it on", "integers please"])
def test_keywords_that_a_memory_lacks_and_orders_show_nothing(
    index: RecallIndex, typed: str
) -> None:
    hits = index.search(queries.plain(typed), now=1.79e9).hits
    assert not [hit for hit in hits if hit.score >= GOOD_MATCH]


def test_a_phrase_says_more_than_its_words() -> None:
    memory = marks("Mara carries the pager this month.")
    ringing, calling = (
        Wanted(text, 30, lambda term: 1).compared(memory)
        for text in ("who is on call tonight", "who should call tonight")
    )
    assert ringing.others > calling.others


def test_short_forms_ask_as_long_ones_do() -> None:
    for short, long in (
        ("Who's in charge of billing?", "Who is in charge of billing?"),
        ("What's our deadline?", "What is our deadline?"),
        ("Where’s the key?", "Where is the key?"),
    ):
        assert kind_of(short) == kind_of(long)
    assert kind_of("Who's ours?") != kind_of("Whose ours?")


def test_what_is_alike_by_a_common_word_alone_is_not_shown(index: RecallIndex) -> None:
    hits = index.search(queries.plain("Thanks, that looks great!"), now=1.79e9).hits
    assert not [hit for hit in hits if hit.score >= GOOD_MATCH]


def test_a_long_message_is_searched_by_its_sentences(index: RecallIndex) -> None:
    padding = "We spent a pleasant afternoon walking along the river with some old friends. " * 5
    assert best(index, f"{padding}In which form are ticket prices stored? {padding}") == "prices.md"


def test_a_short_message_is_one_part_and_a_long_one_keeps_its_end() -> None:
    assert queries.parts("When is it? Tell me.") == ("When is it? Tell me.",)
    long = " ".join(f"This is sentence number {n} of the text." for n in range(30))
    found = queries.parts(long)
    assert len(found) == queries.MOST_PARTS
    assert found[0].endswith("0 of the text.")
    assert found[-1].endswith("29 of the text.")


TASK = """I want you to add a small command line tool that exports the orders of yesterday as CSV. Please put \
it under tools/export_orders and give it an option for the date with a sensible default. It should connect to \
the staging database, read the orders in batches of a thousand rows, and write the columns id, customer, amount \
and currency. Use the existing logging setup, add a unit test for the handling of dates, and update the README \
so that people know how to run it every morning."""


def test_a_long_task_is_searched_by_the_names_in_it(tmp_path: Path) -> None:
    index = RecallIndex.open(tmp_path / "index.sqlite")
    texts = {
        "staging": "The staging database listens on port 6543.",
        "daily": DAILY,
        "pnpm": "We use pnpm.",
        "pager": PAGER,
    }
    index.put_many([note(f"{name}.md", text) for name, text in texts.items()])
    assert "the staging database" in queries.names(TASK)
    hits = index.search(queries.plain(TASK), now=1.79e9).hits
    assert [hit.key for hit in hits if hit.score >= GOOD_MATCH] == ["staging.md"]


def test_names_stop_at_words_that_carry_nothing() -> None:
    text = "Look at the release calendar of the week, and unsere neue Datenbank, then the team."
    assert queries.names(text) == ("the release calendar", "unsere neue Datenbank")


def test_cues_find_a_memory_and_are_not_shown(tmp_path: Path) -> None:
    index = RecallIndex.open(tmp_path / "index.sqlite")
    index.put_many([note("a.md", PRICES, "zeppelin"), note("b.md", DAILY)])
    (hit,) = index.search(queries.plain("zeppelin"), now=1.79e9).hits
    assert hit.key == "a.md"
    assert "zeppelin" not in hit.snippet
    index.put_many([note("a.md", PRICES)])
    assert not index.search(queries.plain("zeppelin"), now=1.79e9).hits


def test_names_in_common_are_counted_and_unknown_ones_told() -> None:
    wanted = Wanted("Who keeps the keys of Karin's boat?", 10, lambda term: int(term == "karin"))
    assert wanted.compared(marks("Karin has them")).names > 0
    assert wanted.compared(marks("the porter has them")).names == 0
    assert wanted.compared(marks("")).unknown == 0
    strange = Wanted("Who keeps the keys of Karin's boat?", 10, lambda term: 0)
    assert strange.compared(marks("")).unknown == 1


def test_a_question_about_ones_own_work_counts_more_than_one_about_the_world() -> None:
    def seen(question: str) -> float:
        figures = Wanted(question, 10, lambda term: 1).compared(marks("nothing alike"))
        return calibration("").base(figures)

    assert seen("Where do we keep backups?") > seen("What is a backup?")
    assert seen("Wo bewahren wir unsere Sicherungen auf?") > seen("Was ist ein Backup?")


def test_an_agent_that_asks_about_the_user_asks_about_ones_own_work() -> None:
    for agent, person in (
        ("How does the user like changes presented?", "How do we like changes presented?"),
        ("what is the user's favourite editor", "what is our favourite editor"),
    ):
        assert kind_of(agent) == kind_of(person)
    assert kind_of("What is the user agent?") != kind_of("What are we agent?")


def test_what_is_told_is_judged_by_what_it_shares_and_not_by_how_it_sounds() -> None:
    def seen(prompt: str) -> PromptKind:
        return kind_of(prompt)

    assert not seen("Put the backup on the other disk.").asks
    assert seen("which port does staging use").asks
    assert seen("I will be late today. Who opens the shop?").asks
    told = Wanted("Write a backup of the harbour.", 10, lambda term: 1).compared(marks("harbour"))
    assert (told.tells, told.own_work) == (1.0, 0.0)
    assert told.words > 0


def test_a_message_that_asks_two_things_is_searched_by_each() -> None:
    asked = "When do we meet, and who is on call this week?"
    assert queries.parts(asked) == (asked, "When do we meet", "who is on call this week?")
    assert queries.parts("Is it black and white?") == ("Is it black and white?",)


def test_where_a_question_lies_in_the_space_of_its_model_is_told() -> None:
    known = calibration("potion-8m-notes-int8")
    assert known.topic_of(known.direction) > 0 > known.topic_of([-x for x in known.direction])
    assert known.topic_of(None) == known.topic_of((1.0, 2.0)) == 0.0


def test_beside_one_worth_showing_stand_those_nearly_as_good_and_no_others() -> None:
    assert chance_beside(-1.5, best=-0.5) == GOOD_MATCH
    assert chance_beside(1.0, best=4.5) < GOOD_MATCH
    assert chance_beside(-1.5, best=-1.4) == chance(-1.5)


def test_a_word_counts_once_in_common_or_in_other_words() -> None:
    wanted = Wanted("Is the outage over?", 10, lambda term: 0)
    same = wanted.compared(marks("an outage"))
    other = wanted.compared(marks("an incident"))
    assert same.words > 0
    assert same.others == 0
    assert other.words == 0
    assert other.others > 0


def test_cosines_of_a_model_that_was_not_calibrated_count_nothing() -> None:
    assert calibration("some-endpoint").cosine == 0.0
    assert calibration("").margin == 0.0


def test_groups_are_found_by_word_and_by_phrase() -> None:
    assert thesaurus.groups("on call") & thesaurus.groups("the pager")
    assert thesaurus.groups("Rufbereitschaft") & thesaurus.groups("the pager")
    assert not thesaurus.groups("qwertz")


def test_a_question_is_not_read_in_the_query_language() -> None:
    asked = 'What did "Frozen" cost -- and why?'
    assert queries.read(asked) == queries.plain(asked)
    assert queries.read('"exact phrase" -word').phrases == ("exact phrase",)
    assert queries.read("what changed after:2026-01 here?").after is not None


@pytest.mark.parametrize("text", ["and on Sundays?", "by whom?", "how often does it run?"])
def test_a_follow_up_leans_on_what_was_said_before(text: str) -> None:
    assert queries.follow_up(text)


@pytest.mark.parametrize(
    "text", ["When is the standup?", "yes, do that", "Explain how a hash map works."]
)
def test_other_messages_stand_for_themselves(text: str) -> None:
    assert not queries.follow_up(text)


@pytest.mark.parametrize(
    ("words", "cosine", "shown"), [(0.42, 0.55, True), (0.42, 0.1, False), (0.04, 0.3, False)]
)
def test_words_and_meaning_that_agree_outweigh_the_way_it_is_asked(words, cosine, shown):
    weights = calibration("potion-8m-notes-int8")
    seen = Figures(words=words, cosine=cosine, margin=1.0, own_work=-0.5)
    assert (chance(weights.log_odds(seen)) >= GOOD_MATCH) is shown


@pytest.mark.parametrize(
    ("question", "memory", "fit"),
    [
        ("Who repairs the boiler?", "Mr Haddad services it.", 1.0),
        ("Who repairs the boiler?", "It stands beside the stairs.", -1.0),
        ("When is it due?", "The form is due every January.", 1.0),
        ("How many fit in?", "Blue is the colour of the walls.", -1.0),
        ("What is it like?", "Blue is the colour of the walls.", 0.0),
    ],
)
def test_a_memory_tells_what_is_asked_for_or_not(question: str, memory: str, fit: float) -> None:
    assert Wanted(question, 10, lambda term: 1).compared(marks(memory)).fits == fit


def test_marks_of_an_older_index_tell_nothing_about_the_answer() -> None:
    wanted = Wanted("Who repairs the boiler?", 10, lambda term: 1)
    assert wanted.compared(Marks("boiler", "")).fits == 0.0


@pytest.mark.parametrize(
    "text",
    [
        "until when can we use the old office",
        "at what score is it a detection",
        "the router is down again, what should i try",
        "remind me what Billie does",
        "In welcher Sprache ist der Bericht?",
        "The inspector asks about irrigation hours.",
    ],
)
def test_a_question_needs_no_mark_and_no_first_place(text: str) -> None:
    assert kind_of(text).asks


def test_a_task_has_a_kind_too_and_a_long_one_hardly_any() -> None:
    task = "thanks, that worked"
    figures = Wanted(task, 10, lambda term: 1).compared(marks("nothing alike"))
    assert figures.task < -1
    assert figures.own_work == 0
    assert abs(kind_of(f"{task}. {'The sea was calm that day. ' * 20}").own_work) < 1


def test_each_of_several_questions_is_shown_its_own_memory(index: RecallIndex) -> None:
    asked = "In which form are ticket prices stored, who is on pager duty, and when is the standup?"
    hits = index.search(queries.plain(asked), now=1.79e9).hits
    shown = {hit.key for hit in hits if hit.score >= GOOD_MATCH}
    assert shown >= {"prices.md", "pager.md", "daily.md"}


def test_many_answers_to_one_question_leave_room_for_the_other(tmp_path: Path) -> None:
    index = RecallIndex.open(tmp_path / "index.sqlite")
    isles = ("Muck", "Eigg", "Rum", "Canna", "Skye", "Mull", "Iona")
    texts = {f"{isle}.md": f"The ferries to {isle} sail at nine o'clock." for isle in isles}
    texts["pager.md"] = "Pager duty is a matter of the whole crew of engineers, week by week."
    index.put_many([MemoryDoc(file, (1, 1, 1), body=text) for file, text in texts.items()])
    asked = queries.plain("when do our ferries sail at nine, and who among us has duty?")
    hits = index.search(asked, now=1.79e9, limit=3).hits
    assert "pager.md" in [hit.key for hit in hits]


def test_a_memory_of_another_number_is_not_shown_beside_the_one_that_was_asked_for(
    index: RecallIndex,
) -> None:
    index.put_many(
        [
            note("two.md", "Professor Oyelaran is chief scientist of leg 2."),
            note("three.md", "Yevgenia is chief scientist of leg 3."),
            note("boats.md", "The 2 boats are painted each May."),
            note("park.md", "Level 2 of the car park is closed."),
            note("mill.md", "Unit 2 of the mill hums."),
        ]
    )

    def shown(question: str) -> set[str]:
        hits = index.search(queries.plain(question), now=1.79e9).hits
        return {hit.key for hit in hits if hit.score >= GOOD_MATCH}

    assert shown("Who is chief scientist on leg 2?") == {"two.md"}
    assert shown("Who is chief scientist?") >= {"two.md", "three.md"}
