"""Memories in the index: what a question finds, in what order, and why."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from tests.recall.shelf import DAY, NOW, HashedWords, changed, files, fill, memory, shelf

from reverie.memory.format import topic
from reverie.recall.candidates import POOL
from reverie.recall.documents import MemoryDoc

DEPLOY = memory(
    "deploy.md", "Deploys go out on Tuesdays after the stand-up.", name="deploy day", type="project"
)
RETRY = memory(
    "retries.md",
    "Never retry the payment call; customers were charged twice.",
    name="no payment retries",
    description="payment calls are never retried",
    type="feedback",
)
BOARD = memory(
    "board.md", "Customer complaints end up in the HARBOR board.", name="complaints board"
)


@pytest.fixture(params=[None, HashedWords()], ids=["words alone", "with vectors"])
def embedder(request):
    return request.param


@pytest.mark.parametrize(
    ("question", "file"),
    [
        ("when do we deploy?", "deploy.md"),
        ("may I retry a payment", "retries.md"),
        ("where do complaints go", "board.md"),
        ("HARBOR", "board.md"),
    ],
)
def test_a_question_finds_its_memory(tmp_path, embedder, question, file):
    index = shelf(tmp_path, DEPLOY, RETRY, BOARD, embedder=embedder)
    assert files(index, question)[0] == file


@pytest.mark.parametrize(
    ("question", "body"),
    [
        ("数据库密码", "生产环境的数据库密码保存在保险库里"),
        ("データベースの設定", "本番のデータベース設定は金庫にある"),
        ("أين قاعدة البيانات", "توجد قاعدة البيانات في الخادم الثاني"),
        (
            "Datenbank",
            "Die Datenbankverbindung wird nach einer Minute getrennt und nicht erneuert.",
        ),
        (
            "Wie lange hält die Verbindung?",
            "Die Datenbankverbindung wird nach einer Minute getrennt.",
        ),
        ("Datenbankverbindung", "Die Verbindung zur Datenbank ist auf dem Server und nicht lokal."),
        ("Где книга?", "Он оставил книгу в саду"),
        ("parse response", "parseHTTPResponse must never raise"),
        ("fetch_user_profile", "fetchUserProfile caches for a minute"),
        ("window height", "the flag --min-window-height is ignored"),
        ("file store", "see src/reverie/stores/file_store.py"),
    ],
)
def test_languages_and_names_find_what_they_should(tmp_path, question, body):
    others = [memory(f"other{i}.md", text) for i, text in enumerate(_NOISE)]
    index = shelf(tmp_path, memory("wanted.md", body), *others)
    assert files(index, question)[0] == "wanted.md"


_NOISE = (
    "The team prefers short stand-ups in the morning.",
    "会议在星期二举行",
    "明日は休みです",
    "الاجتماع يوم الثلاثاء",
    "Das Treffen ist am Dienstag und nicht am Montag.",
    "Встреча во вторник",
)


def test_nothing_in_common_gives_nothing_by_words(tmp_path):
    assert files(shelf(tmp_path, DEPLOY, RETRY), "zebra xylophone") == []


def test_superseded_and_expired_memories_rank_lower_and_say_so(tmp_path):
    text = "The release train leaves on Friday."
    index = shelf(
        tmp_path,
        memory("old.md", text, superseded=True),
        memory("expired.md", text, valid_until=NOW - DAY),
        memory("doubtful.md", text, confidence=0.2),
        memory("current.md", text),
    )
    hits = index.search("release train", now=NOW).hits
    assert [hit.key for hit in hits] == ["current.md", "doubtful.md", "expired.md", "old.md"]
    assert [hit.why.rpartition("; ")[2] for hit in hits[1:]] == [
        "low confidence",
        "expired",
        "superseded",
    ]


TRAIN = "The release train leaves on Friday."


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("release train", ["current.md"]),
        ("release train after:2020-01", ["current.md"]),
        ("after:2020-01", ["current.md"]),
        ("release train is:archived", ["away.md"]),
        ("is:archived", ["away.md"]),
        ("is:archived type:user release", []),
    ],
)
def test_archived_memories_are_found_only_by_those_who_ask(tmp_path, embedder, question, found):
    index = shelf(
        tmp_path,
        memory("away.md", TRAIN, type="project", archived=True, pinned=True),
        memory("current.md", TRAIN, type="project"),
        embedder=embedder,
    )
    hits = index.search(question, now=NOW).hits
    assert [hit.key for hit in hits] == found
    assert ["archived" in hit.why for hit in hits] == [hit.key == "away.md" for hit in hits]


def test_many_archived_memories_crowd_nobody_out(tmp_path, embedder):
    away = [memory(f"away{n}.md", TRAIN, archived=True) for n in range(POOL + 50)]
    current = memory("current.md", f"{TRAIN} It is a long way home, and nobody waits for us there.")
    index = shelf(tmp_path, *away, current, embedder=embedder)
    assert files(index, "release train friday") == ["current.md"]
    assert files(index, "after:2020-01") == ["current.md"]


def test_a_tie_brings_no_archived_memory_in(tmp_path):
    seed = memory("seed.md", TRAIN, entities=("Okapi",))
    tied = memory("tied.md", "Something else altogether.", entities=("Okapi",))
    index = shelf(tmp_path, seed, tied)
    assert files(index, "release train") == ["seed.md", "tied.md"]
    fill(index, seed, replace(tied, archived=True, signature=(1, 2, 3)))
    assert files(index, "release train") == ["seed.md"]
    fill(index, seed, replace(tied, signature=(1, 2, 4)))
    assert files(index, "release train") == ["seed.md", "tied.md"]


@pytest.mark.parametrize(
    ("better", "options"),
    [
        ({"pinned": True}, {}),
        ({"created": NOW - DAY}, {}),
        ({"type": "feedback"}, {}),
        ({}, {"use_counts": {"b.md": 9}}),
    ],
)
def test_what_settles_a_draw(tmp_path, better, options):
    text = "The staging host is called heron."
    old = {"created": NOW - 400 * DAY}
    index = shelf(tmp_path, memory("a.md", text, **old), memory("b.md", text, **(old | better)))
    assert files(index, "staging host", **options)[0] == "b.md"


def test_a_memory_linked_with_the_best_one_comes_along(tmp_path):
    index = shelf(
        tmp_path,
        memory("freeze.md", "No merges in the last week of the quarter.", links=("calendar",)),
        memory("calendar.md", "Dates are kept in the shared sheet."),
        memory("other.md", "Lunch is at noon."),
    )
    hits = index.search("merges quarter", now=NOW).hits
    assert [hit.key for hit in hits] == ["freeze.md", "calendar.md"]
    assert "linked through calendar" in hits[1].why


def test_an_option_keeps_linked_memories_out_too(tmp_path):
    index = shelf(
        tmp_path,
        memory("a.md", "No merges this week.", links=("b",), type="project"),
        memory("b.md", "Dates are in the sheet.", type="reference"),
    )
    assert files(index, "merges") == ["a.md", "b.md"]
    assert files(index, "type:project merges") == ["a.md"]


def test_memories_that_share_an_entity_rise_together(tmp_path):
    index = shelf(
        tmp_path,
        memory("a.md", "Mira owns the importer.", entities=("Mira",)),
        memory("b.md", "On leave until June.", entities=("mira",)),
        memory("c.md", "On leave until July.", entities=("Tom",)),
    )
    assert files(index, "who owns the importer") == ["a.md", "b.md"]


def test_time_in_the_question_counts(tmp_path):
    index = shelf(
        tmp_path,
        memory("march.md", "The outage was caused by a full disk.", valid_from=1_773_000_000.0),
        memory(
            "june.md", "The outage was caused by a bad certificate.", valid_from=1_781_000_000.0
        ),
    )
    assert files(index, "what caused the outage in March 2026")[0] == "march.md"
    assert files(index, "what caused the outage in June 2026")[0] == "june.md"


def test_as_of_hides_what_was_not_known_yet(tmp_path):
    index = shelf(
        tmp_path,
        memory("early.md", "The port is 8080.", created=NOW - 100 * DAY),
        memory("late.md", "The port is 8443.", created=NOW - DAY, valid_from=NOW - 99 * DAY),
    )
    assert set(files(index, "which port")) == {"early.md", "late.md"}
    assert files(index, "which port", as_of=NOW - 50 * DAY) == ["early.md"]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("type:feedback payment", ["retries.md"]),
        ("type:project payment", ["deploy.md"]),
        ('"charged twice"', ["retries.md"]),
        ('"twice charged"', []),
        ("payment -customers", ["deploy.md"]),
        ("type:feedback", ["retries.md"]),
        ("before:2020 payment", []),
        ("type:feedback zebra", []),
        ("after:2020 complaints", ["board.md"]),
    ],
)
def test_the_query_language(tmp_path, typed, found):
    index = shelf(tmp_path, replace(DEPLOY, body="payment deploys"), RETRY, BOARD)
    assert files(index, typed) == found


def test_what_was_left_out_is_explained(tmp_path):
    index = shelf(tmp_path, DEPLOY, RETRY, BOARD, memory("twice.md", "Measure twice, pay once."))
    results = index.search('payment twice "charged twice"', now=NOW)
    assert [hit.key for hit in results.hits] == ["retries.md"]
    results = index.search("twice -customers", now=NOW)
    assert {(item.key, item.reason) for item in results.left_out} == {
        ("retries.md", "contains “customers”")
    }
    results = index.search("twice", now=NOW, limit=1)
    assert [item.reason for item in results.left_out] == ["not among the best 1"]


def test_every_hit_shows_its_score_per_signal(tmp_path):
    index = shelf(tmp_path, DEPLOY, RETRY, BOARD, embedder=HashedWords())
    results = index.search("may I retry payment calls", now=NOW)
    best = results.hits[0]
    assert {"lexical", "semantic"} <= best.signals.keys()
    assert 0.0 <= best.score <= 1.0
    assert results.used_semantic
    assert not results.approximate
    assert "payment" in best.snippet


def test_a_long_memory_is_found_by_any_of_its_paragraphs(tmp_path):
    body = "\n\n".join(f"Paragraph {i} speaks of {word}. " * 20 for i, word in enumerate(_ANIMALS))
    index = shelf(tmp_path, memory("long.md", body), DEPLOY)
    for word in _ANIMALS:
        assert files(index, word) == ["long.md"]


_ANIMALS = ("aardvark", "bittern", "caracal", "dormouse", "echidna", "fossa")


def test_only_what_changed_is_read_again(tmp_path):
    docs = [DEPLOY, RETRY, BOARD]
    index = shelf(tmp_path, *docs)
    read: list[str] = []
    newer = changed(DEPLOY, "Deploys go out on Mondays.")
    listing = {doc.file: doc.signature for doc in (newer, RETRY)}
    done = index.refresh(listing, lambda file: (read.append(file), newer)[1])
    assert read == ["deploy.md"]
    assert (done.added, done.changed, done.removed) == (0, 1, 1)
    assert files(index, "mondays") == ["deploy.md"]
    assert files(index, "tuesdays") == []
    assert files(index, "complaints") == []


def test_a_touched_file_with_the_same_content_changes_nothing(tmp_path):
    index = shelf(tmp_path, DEPLOY)
    done = fill(index, replace(DEPLOY, signature=(9, 9, 9)))
    assert (done.added, done.changed) == (0, 0)


def test_forgotten_means_not_a_byte_is_left(tmp_path):
    index = shelf(tmp_path, DEPLOY, memory("secret.md", "The codeword is quetzalcoatl."))
    index.forget("secret.md")
    index.close()
    assert all(b"quetzalcoatl" not in path.read_bytes() for path in tmp_path.iterdir())


def test_another_model_means_other_vectors(tmp_path):
    shelf(tmp_path, DEPLOY, RETRY, embedder=HashedWords()).close()

    class Renamed(HashedWords):
        name = "hashed-words-2"
        dimensions = 32

    index = shelf(tmp_path, DEPLOY, RETRY, BOARD, embedder=Renamed())
    assert index.search("deploy", now=NOW).used_semantic
    assert files(index, "deploy")[0] == "deploy.md"


def test_a_day_counts_to_its_end_and_what_is_to_come_says_from_when(tmp_path):
    noon = datetime(2026, 11, 20, 12).astimezone().timestamp()
    topics = [
        topic.new("n", TRAIN, "project", TRAIN, file=f"{name}.md", **limits)
        for name, limits in {
            "over": {"valid_until": "2026-11-19"},
            "today": {"valid_until": "2026-11-20"},
            "later": {"valid_from": "2026-11-21"},
        }.items()
    ]
    index = shelf(tmp_path, *(MemoryDoc.of(one, (0, 0, n)) for n, one in enumerate(topics)))
    hits = index.search("release train", now=noon).hits
    assert [(hit.key, hit.label) for hit in hits] == [
        ("today.md", ""),
        ("later.md", "from 2026-11-21"),
        ("over.md", "expired"),
    ]
