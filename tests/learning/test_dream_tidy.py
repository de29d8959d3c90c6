"""The dream without a model does what is certain, and only that."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.learning.dreaming import TODAY, changed, judged, memory, with_index

from reverie.learning.dreaming.changes import typed
from reverie.learning.dreaming.facts import archived, parsed
from reverie.learning.dreaming.tidy import tidied
from reverie.memory.format import index as indexes
from reverie.memory.format.index import Index
from reverie.memory.format.manifest import INDEX_FILE
from reverie.text.validity import validity

PORT = "The port of the harbour service is 8080."

SAME = {
    "word for word": (PORT, PORT),
    "without the stop": (PORT, PORT.rstrip(".")),
    "another case": (PORT, PORT.replace("The", "the")),
    "one says more": (PORT, f"{PORT}\nIt is open to the outside."),
}
APART = {
    "another number": (PORT, "The port of the harbour service is 9090."),
    "another colour": ("My favourite colour is purple.", "My favourite colour is cyan."),
    "another subject": (PORT, "The port of the airport service is 8080."),
    "denied": ("Deploys run on Friday.", "Deploys never run on Friday."),
    "the other way round": ("Ada reports to Grace.", "Grace reports to Ada."),
    "another date": ("The audit is on 2026-12-01.", "The audit is on 2026-12-02."),
    "two dates from one phrase": ("The audit is tomorrow.", "The audit is tomorrow."),
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("turned", [False, True])
def test_what_says_the_same_becomes_one(name: str, *, turned: bool) -> None:
    one, other = reversed(SAME[name]) if turned else SAME[name]
    before = with_index({"a.md": memory(one), "b.md": memory(other, source=("s2#m2",))})
    made = tidied(before, TODAY)
    [left] = set(made.files) - {INDEX_FILE}
    assert all(statement in made.files[left].decode() for statement in [one[5:-1], other[5:-1]])
    assert [pointer.file for pointer in indexes.parse(made.files[INDEX_FILE]).pointers] == [left]
    if left == "a.md":
        assert parsed(made.files[left], left).source == ("s2#m2",)


@pytest.mark.parametrize("name", APART)
def test_what_differs_stays_apart(name: str) -> None:
    one, other = APART[name]
    before = with_index(
        {"a.md": memory(one), "b.md": memory(other, created="2026-10-09T10:00:00+00:00")}
    )
    assert set(tidied(before, TODAY).files) == set(before)


def test_what_holds_for_another_time_stays_apart() -> None:
    before = with_index({"a.md": memory(PORT), "b.md": memory(PORT, valid_until="2027-01-01")})
    assert set(tidied(before, TODAY).files) == set(before)


def test_contradictions_are_flagged() -> None:
    one, other = APART["another colour"]
    [flag] = tidied(with_index({"a.md": memory(one), "b.md": memory(other)}), TODAY).flags
    assert (flag.kind, flag.files) == ("contradiction", ("a.md", "b.md"))


def test_dates_count_from_the_day_of_the_memory() -> None:
    before = with_index({"a.md": memory("The audit is tomorrow.")})
    made = tidied(before, TODAY)
    assert "The audit is on 2026-10-02." in made.files["a.md"].decode() or (
        "The audit is 2026-10-02." in made.files["a.md"].decode()
    )
    assert "tomorrow" not in parsed(made.files["a.md"], "a.md").description


def test_a_memory_without_a_day_keeps_its_words() -> None:
    before = with_index({"a.md": memory("The audit is tomorrow.", created=None, cues=("x",))})
    assert tidied(before, TODAY).files == before


def test_what_is_over_is_archived_and_leaves_the_index() -> None:
    before = with_index({"a.md": memory("The freeze holds.", valid_until="2026-11-14")})
    made = tidied(before, TODAY)
    assert archived(parsed(made.files["a.md"], "a.md")) == "2026-11-15"
    assert indexes.parse(made.files[INDEX_FILE]).pointers == ()
    assert tidied(made.files, TODAY).files == made.files


def test_what_is_pinned_broken_or_history_is_left_alone() -> None:
    files = {
        "pinned.md": memory("The audit is tomorrow.", pinned=True),
        "broken.md": b"---\nname: x\nThe audit is tomorrow.\n",
        "over.md": memory("It is over.", valid_until="2020-01-01", pinned=True),
        "old.md": memory(PORT, superseded_by="new.md"),
        "new.md": memory(PORT, supersedes=("old.md",), cues=("x",)),
    }
    before = with_index(files)
    made = tidied(before, TODAY).files
    assert {name: made[name] for name in files} == files


def test_a_memory_without_cues_is_given_some_and_keeps_all_else() -> None:
    text = "The newsletter goes out through Brevo on Thursdays."
    before = with_index({"a.md": memory(text), "b.md": memory("Own words.", cues=("mine",))})
    made = tidied(before, TODAY)
    given = parsed(made.files["a.md"], "a.md")
    assert "email" in given.cues
    assert given.with_(cues=None) == parsed(before["a.md"], "a.md")
    assert made.files["b.md"] == before["b.md"]
    assert "ask by" in made.reasons["a.md"].why
    assert tidied(made.files, TODAY).files == made.files
    assert not judged(before, made.files).objections


BOILER = "When the boiler shows F28, press reset for three seconds."


def test_cues_that_rules_would_not_write_now_are_taken_out() -> None:
    ruled = {"a.md": frozenset({"marketing", "campaign"}), "b.md": frozenset({"marketing"})}
    before = with_index(
        {
            "a.md": memory(BOILER, cues=("marketing", "campaign")),
            "b.md": memory("The hall is heated by gas.", cues=("marketing", "my own")),
            "c.md": memory("The key hangs in the shed.", cues=("marketing",)),
        }
    )
    made = tidied(before, TODAY, ruled=ruled)
    cues = {name: parsed(made.files[name], name).cues for name in ("a.md", "b.md", "c.md")}
    assert cues == {"a.md": (), "b.md": ("my own",), "c.md": ("marketing",)}
    assert made.files["c.md"] == before["c.md"]
    assert tidied(made.files, TODAY, ruled=ruled).files == made.files


def test_only_cues_of_rules_may_go() -> None:
    before = with_index({"a.md": memory(BOILER, cues=("marketing",))})
    after = {**before, "a.md": changed(before["a.md"], cues=None)}
    [objection] = judged(before, after).objections
    assert "would lose 'marketing' from its cues" in objection.reason
    assert not judged(before, after, ruled={"a.md": frozenset({"marketing"})}).objections


def test_of_two_that_say_the_same_the_pinned_one_stays() -> None:
    before = with_index({"a.md": memory(PORT), "b.md": memory(PORT, pinned=True)})
    made = tidied(before, TODAY).files
    assert set(made) == {"b.md", INDEX_FILE}
    assert made["b.md"] == before["b.md"]


def test_a_memory_others_point_to_is_not_merged_away() -> None:
    files = {"a.md": memory(PORT), "b.md": memory(PORT)}
    guide = changed(memory("Look there."), links=("a", "b"))
    before = with_index({**files, "guide.md": guide})
    assert set(tidied(before, TODAY).files) == set(before)


def test_the_index_is_mended_around_what_somebody_wrote() -> None:
    files = {"a.md": memory("The first."), "b.md": memory("The second.")}
    index = b"# Ours\n\n- [The first](a.md) - my own words\n- [Gone](gone.md)\n\nSee the wiki.\n"
    made = tidied({**files, INDEX_FILE: index}, TODAY).files[INDEX_FILE].decode()
    assert made.startswith("# Ours\n\n- [The first](a.md) - my own words\n")
    assert "gone.md" not in made
    assert "(b.md)" in made
    assert "See the wiki." in made


def test_a_long_pointer_is_shortened_and_a_full_index_counts_the_rest() -> None:
    files = {f"m{n:03}.md": memory(f"Memory number {n} says {n * 7}.") for n in range(260)}
    long = Index((f"- [x](m000.md) — {'word ' * 60}\n",))
    made = indexes.parse(
        tidied({**files, INDEX_FILE: indexes.render(long)}, TODAY).files[INDEX_FILE]
    )
    assert made.fits
    assert len(made.pointers) + made.more == 260
    assert max(len(pointer.render()) for pointer in made.pointers) <= 200


def test_dead_anchors_are_flagged() -> None:
    before = with_index({"a.md": memory("See the code.", anchors=("src/gone.py",))})
    [flag] = tidied(before, TODAY, lambda topic: (f"{topic.anchors[0]} is gone",)).flags
    assert (flag.kind, flag.about) == ("dead anchor", "src/gone.py is gone")


SENTENCES = st.sampled_from(
    [text for pair in (*SAME.values(), *APART.values()) for text in pair]
    + ["Grace owns https://a.example.org since 2024.", "Use `make check` before a push."]
)


@given(st.lists(st.tuples(SENTENCES, st.booleans(), st.booleans()), max_size=12))
def test_whatever_it_does_passes_every_check(said: list[tuple[str, bool, bool]]) -> None:
    files = {
        f"m{n:02}.md": memory(text, pinned=pinned, valid_until="2026-01-01" if over else None)
        for n, (text, pinned, over) in enumerate(said)
    }
    before = with_index(files)
    made = tidied(before, TODAY)
    assert judged(before, made.files, made.reasons, share=1.0).objections == ()
    # A second dream finds nothing to do.
    assert typed(made.files, tidied(made.files, TODAY).files) == ()


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("No deploys until 14 November.", True),
        ("No deploys until 15 November.", False),
        ("No deploys from 20 December to 6 January.", False),
        ("Deploys are open from 20 December on.", False),
    ],
)
def test_what_its_words_ended_is_archived_and_what_is_to_come_is_not(text: str, over: bool) -> None:
    found = validity(text, date(2026, 11, 1))
    limits = {
        "valid_from": found.valid_from and found.valid_from.isoformat(),
        "valid_until": found.valid_until and found.valid_until.isoformat(),
    }
    before = with_index({"a.md": memory(text, created="2026-11-01T09:00:00Z", **limits)})
    made = tidied(before, TODAY).files["a.md"]
    assert archived(parsed(made, "a.md")) == ("2026-11-15" if over else None)


def test_the_same_from_another_day_on_is_another_fact() -> None:
    files = {"a.md": memory(PORT), "b.md": memory(PORT, valid_from="2027-01-01")}
    assert {*tidied(with_index(files), TODAY).files} == {"a.md", "b.md", INDEX_FILE}
    # Once both hold, they say the same.
    files = {"a.md": memory(PORT), "b.md": memory(PORT, valid_from="2026-01-01")}
    assert len(tidied(with_index(files), TODAY).files) == 2
