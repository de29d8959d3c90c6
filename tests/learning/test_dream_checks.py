"""A dream's changes are typed, and those that would lose or invent something are refused."""

import pytest
from tests.learning.dreaming import TODAY, Scrubber, changed, judged, memory, with_index

from reverie.learning.dreaming.changes import Change, FileStep, Reason, typed
from reverie.learning.dreaming.checks import (
    QUESTIONS,
    REFUSALS,
    CheckContext,
    differs_in_value,
)
from reverie.learning.extraction.reading import Utterance
from reverie.memory.format.manifest import INDEX_FILE

PORT = memory("The port of the harbour service is 8080.")
PORT_AGAIN = memory("The port of the harbour service is 8080.", source=("s2#m1",))
NEW_PORT = memory("The port of the harbour service is 9090.", created="2026-10-20T10:00:00+00:00")
SAME_DAY = memory("The port of the harbour service is 9191.")
COLOUR = memory("The favourite colour of Ada is purple.")
PLAN = memory("Ask Grace before a release.\n\nShe owns https://ops.example.org/board since 2024.")
PINNED = memory("Never deploy on a Friday.", pinned=True)
OVER = memory("The freeze ends soon.", valid_until="2026-01-01")
TIED = memory(
    "The pier is long.", links=("pier.md",), supersedes=("pier.md",), entities=("pier.md",)
)
EDITED = b"text by a person without frontmatter\n"

BEFORE = with_index(
    {
        "port.md": PORT,
        "port_2.md": PORT_AGAIN,
        "new_port.md": NEW_PORT,
        "same_day.md": SAME_DAY,
        "colour.md": COLOUR,
        "plan.md": PLAN,
        "pinned.md": PINNED,
        "over.md": OVER,
        "tied.md": TIED,
        "loose.md": EDITED,
    }
)


def after(**files: bytes | None) -> dict[str, bytes]:
    named = {f"{name}.md": data for name, data in files.items()}
    made = {**BEFORE, **named}
    return {name: data for name, data in made.items() if data is not None}


KINDS = {
    "merge": after(port_2=None),
    "supersede": after(
        port=changed(PORT, superseded_by="new_port.md"),
        new_port=changed(NEW_PORT, supersedes=("port.md",)),
    ),
    "edit": after(colour=changed(COLOUR, body="The favourite colour of Ada is purple. Really.\n")),
    "archive": after(over=OVER.replace(b"type:", b"archived: 2026-11-15\ntype:")),
    "delete": after(colour=None),
    "new": after(fresh=memory("Something without a source.")),
    "re-index": {**BEFORE, INDEX_FILE: b""},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_told_apart(kind: str) -> None:
    assert [change.kind for change in typed(BEFORE, KINDS[kind])] == [kind]


def test_files_that_depend_on_each_other_are_one_change() -> None:
    [change] = typed(BEFORE, KINDS["supersede"])
    assert change.files == ("new_port.md", "port.md")


def test_what_a_merge_rests_on_is_part_of_it() -> None:
    [change] = typed(BEFORE, KINDS["merge"])
    assert change.files == ("port_2.md",)
    assert change.relies_on == (("port.md", PORT),)


def test_reasons_and_sources_are_kept() -> None:
    reasons = {"colour.md": Reason("she said so", ("s1#m2",))}
    [change] = typed(BEFORE, KINDS["edit"], reasons)
    assert (change.reason, change.sources) == ("she said so", ("s1#m2",))


def body(data: bytes, old: str, new: str) -> bytes:
    """A memory with some words of its body replaced."""
    head, fence, text = data.decode().rpartition("---\n")
    assert old in text
    return f"{head}{fence}{text.replace(old, new)}".encode()


# name: (files after the dream, the outcome, a part of the reason)
BAD = {
    "a fact is deleted": (after(colour=None), "refused", "colour.md still holds: nothing says it"),
    "a merge of two values": (
        after(
            port=None, port_2=None, new_port=changed(NEW_PORT, supersedes=("port.md", "port_2.md"))
        ),
        "refused",
        "would lose '8080'",
    ),
    "a number is rewritten": (
        after(port=body(PORT, "8080", "9090")),
        "refused",
        "port.md would lose '8080'",
    ),
    "a name is dropped": (after(plan=body(PLAN, "Ask Grace", "Ask")), "refused", "lose 'grace'"),
    "an address is dropped": (
        after(plan=body(PLAN, "https://ops.example.org/board", "it")),
        "refused",
        "lose 'https://ops.example.org/board'",
    ),
    "a plain word is exchanged": (
        after(colour=body(COLOUR, "purple", "cyan")),
        "for a person",
        "would no longer say “The favourite colour of Ada is purple.”",
    ),
    "a sentence is denied": (
        after(plan=body(PLAN, "before a release", "never before a release")),
        "for a person",
        "would no longer say",
    ),
    "roles are swapped": (
        after(colour=body(COLOUR, "colour of Ada is purple", "purple of Ada is colour")),
        "for a person",
        "would no longer say",
    ),
    "words are slipped in": (
        after(colour=body(COLOUR, "is purple", "is said to be purple")),
        "for a person",
        "and names no source for it",
    ),
    "a pinned memory": (after(pinned=changed(PINNED, description="x")), "refused", "is pinned"),
    "a pinned memory is deleted": (after(pinned=None), "refused", "is pinned"),
    "a live memory is archived": (
        after(colour=COLOUR.replace(b"type:", b"archived: 2026-11-15\ntype:")),
        "refused",
        "to hide it is not for a dream",
    ),
    "a live memory is ended": (
        after(colour=changed(COLOUR, valid_until="2026-01-01")),
        "refused",
        "would hold until 2026-01-01",
    ),
    "a live memory is to end later": (
        after(colour=changed(COLOUR, valid_until="2027-01-01")),
        "refused",
        "would hold until 2027-01-01",
    ),
    "a source is dropped": (
        after(port_2=changed(PORT_AGAIN, source=())),
        "refused",
        "would lose 's2#m1' from its source",
    ),
    **{
        f"one of its {key} is dropped": (
            after(tied=changed(TIED, **{key: ()})),
            "refused",
            f"tied.md would lose 'pier.md' from its {key}",
        )
        for key in ("links", "supersedes", "entities")
    },
    "who said it": (after(colour=changed(COLOUR, origin="user")), "refused", "not change origin"),
    "frontmatter is broken": (
        after(colour=COLOUR.removeprefix(b"---\n")),
        "refused",
        "there is no frontmatter",
    ),
    "a description is emptied": (
        after(colour=changed(COLOUR, description=None)),
        "refused",
        "lacks a name, a description or a type",
    ),
    "a file only a person may mend": (after(loose=b"tidy\n"), "refused", "only a person may mend"),
    "a secret": (
        after(colour=COLOUR + b"\nThe password is hunter2.\n"),
        "refused",
        "would hold a secret (password)",
    ),
    "a new memory without a source": (
        after(fresh=memory("The moon is made of cheese.")),
        "for a person",
        "fresh.md is new and names no source",
    ),
    "superseded by a missing file": (
        after(port=changed(PORT, superseded_by="missing.md")),
        "refused",
        "missing.md, which does not exist",
    ),
    "superseded without saying so": (
        after(port=changed(PORT, superseded_by="new_port.md")),
        "refused",
        "does not say that it supersedes",
    ),
    "superseded by a stranger": (
        after(
            port=changed(PORT, superseded_by="colour.md"),
            colour=changed(COLOUR, supersedes=("port.md",)),
        ),
        "for a person",
        "is not plainly a newer version",
    ),
    "the newer superseded by the older": (
        after(
            new_port=changed(NEW_PORT, superseded_by="port.md"),
            port=changed(PORT, supersedes=("new_port.md",)),
        ),
        "for a person",
        "is not plainly a newer version",
    ),
    "superseded by one of the same day": (
        after(
            port=changed(PORT, superseded_by="same_day.md"),
            same_day=changed(SAME_DAY, supersedes=("port.md",)),
        ),
        "for a person",
        "is not plainly a newer version",
    ),
    "a link to nothing": (
        after(colour=changed(COLOUR, links=("nowhere",))),
        "refused",
        "would point to nothing",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_it_is_not_made(name: str) -> None:
    left, fate, reason = BAD[name]
    found = judged(BEFORE, left)
    assert found.accepted == ()
    assert [one.fate for one in found.objections] == [fate]
    assert reason in found.objections[0].reason


GOOD = {
    "a duplicate goes": after(port_2=None),
    "sources are joined": after(port=changed(PORT, source=("s2#m1",)), port_2=None),
    "something is linked": after(colour=changed(COLOUR, links=("plan",))),
}


@pytest.mark.parametrize("name", GOOD)
def test_it_is_made(name: str) -> None:
    found = judged(BEFORE, GOOD[name])
    assert found.objections == ()
    assert len(found.accepted) == 1


def test_an_older_value_is_superseded_when_a_source_says_so() -> None:
    left = after(
        port=changed(PORT, superseded_by="new_port.md", valid_until="2026-10-20"),
        new_port=changed(NEW_PORT, supersedes=("port.md",)),
    )
    assert judged(BEFORE, left, {"port.md": Reason("moved", ("s9#m4",))}).objections == ()
    [objection] = judged(BEFORE, left).objections
    assert objection.fate == "for a person"
    assert "no source says which one holds" in objection.reason


HARMLESS = (FileStep("over.md", OVER, None), FileStep("tied.md", TIED, TIED))
CROOKED = b"---\nname: x\n---\ntext\n"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (FileStep("new.md", None, CROOKED), "lacks a name, a description or a type"),
        (FileStep("new.md", None, memory("The password is hunter2.")), "would hold a secret"),
        (FileStep("port.md", PORT, changed(PORT, origin="user")), "may not change origin"),
        (FileStep("port_2.md", PORT_AGAIN, changed(PORT_AGAIN, source=())), "would lose 's2#m1'"),
        (FileStep("colour.md", COLOUR, None), "colour.md would lose"),
        (FileStep("pinned.md", PINNED, None), "pinned.md is pinned"),
        (FileStep("colour.md", COLOUR, body(COLOUR, "purple", "cyan")), "would no longer say"),
        (FileStep("port.md", PORT, changed(PORT, superseded_by="new_port.md")), "no source says"),
        (FileStep("new.md", None, memory("The moon is round.")), "names no source"),
    ],
)
def test_every_file_of_a_change_is_checked(step: FileStep, reason: str) -> None:
    """Also those after files that the check has nothing to say of."""
    new = changed(NEW_PORT, supersedes=("port.md",))
    context = CheckContext(BEFORE, {**BEFORE, "new_port.md": new}, TODAY, Scrubber())
    change = Change("1", "edit", (*HARMLESS, step), "")
    said = [found for check in (*REFUSALS, *QUESTIONS) if (found := check(change, context))]
    assert any(reason in one for one in said), said


def test_a_memory_that_was_superseded_before_may_be_linked() -> None:
    old = changed(PORT, superseded_by="new_port.md")
    before = {**BEFORE, "port.md": old, "new_port.md": changed(NEW_PORT, supersedes=("port.md",))}
    found = judged(before, {**before, "port.md": changed(old, links=("plan",))})
    assert found.objections == ()


@pytest.mark.parametrize("undated", ["port.md", "new_port.md"])
def test_without_a_day_none_is_newer(undated: str) -> None:
    days = {name: {} if name == undated else {"created": day} for name, day in _CREATED.items()}
    older, newer = (_undated(data, **days[name]) for name, data in _PORTS.items())
    before = {**BEFORE, "port.md": older, "new_port.md": newer}
    left = {
        **before,
        "port.md": changed(older, superseded_by="new_port.md"),
        "new_port.md": changed(newer, supersedes=("port.md",)),
    }
    [objection] = judged(before, left, {"port.md": Reason("moved", ("s9#m4",))}).objections
    assert "is not plainly a newer version" in objection.reason


_PORTS = {"port.md": PORT, "new_port.md": NEW_PORT}
_CREATED = {"port.md": "2026-10-01T10:00:00+00:00", "new_port.md": "2026-10-20T10:00:00+00:00"}


def _undated(data: bytes, created: str | None = None) -> bytes:
    return changed(data, created=created)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("The harbour closes at six.", None),
        ("Lunch is on Friday.", "new.md would say what its sources do not say"),
        ("", "new.md is new and names no source"),
    ],
)
def test_what_is_new_must_be_what_a_source_says(said: str, reason: str | None) -> None:
    words = [Utterance("s9#m4", "user", said)] if said else []
    context = CheckContext(BEFORE, BEFORE, TODAY, Scrubber(), lambda source: words)
    step = FileStep("new.md", None, memory("The harbour closes at six."))
    change = Change("1", "new", (step,), "", ("s9#m4",))
    found = [one for check in QUESTIONS if (one := check(change, context))]
    assert [one.startswith(reason or "") for one in found] == ([True] if reason else [])


def test_what_memories_say_need_not_be_said_again() -> None:
    """A new sentence may join what two memories say with what the person said."""
    context = CheckContext(BEFORE, BEFORE, TODAY, Scrubber(), _said_of_the_port)
    joined = memory("The port of the harbour service is 8080, and it closes at six.")
    step = FileStep("new.md", None, joined)
    for relies_on, good in (((("port.md", PORT),), True), ((), False)):
        change = Change("1", "new", (step,), "", ("s9#m4",), relies_on)
        objected = any(check(change, context) for check in QUESTIONS)
        assert objected is not good


def _said_of_the_port(source: str) -> list[Utterance]:
    return [Utterance(source, "user", "The harbour service closes at six.")]


@pytest.mark.parametrize(
    ("words", "verb"), [("purple", "would no longer say"), ("cyan", "would say")]
)
def test_a_long_statement_is_quoted_in_part(words: str, verb: str) -> None:
    long = "The favourite colour is " + "very " * 30 + words
    old = memory(f"{long}.") if words == "purple" else COLOUR
    new = body(old, "purple", "cyan") if words == "purple" else old + f"{long}.\n".encode()
    context = CheckContext(BEFORE, BEFORE, TODAY, Scrubber())
    change = Change("1", "edit", (FileStep("colour.md", old, new),), "")
    said = " ".join(found for check in QUESTIONS if (found := check(change, context)))
    assert f"colour.md {verb} “{long[:120]}”" in said


@pytest.mark.parametrize(
    ("one", "other", "differs"),
    [
        ("Grace likes tea.", "Grace likes coffee.", True),
        ("Harbour port 8080.", "Harbour port 9090.", True),
        ("The harbour has 3 long piers.", "The harbour has 4 long piers.", True),
        ("Grace likes tea.", "Ada likes coffee.", False),
        ("Ada likes tea.", "Grace likes tea.", False),
        ("Tea.", "Coffee.", False),
        ("Green tea.", "Green coffee.", False),
        ("Pier 3 is long.", "Pier 4 is long.", True),
        ("Pier three is long.", "Pier 4 is long.", False),
        ("Grace likes tea.", "Grace likes green tea.", False),
        ("Grace likes tea. Ada left.", "Grace likes tea. Ada stayed.", False),
    ],
)
def test_values_that_differ(one: str, other: str, differs: bool) -> None:
    assert differs_in_value(one, other) is differs


def test_a_dream_does_not_supersede_by_a_memory_of_its_own() -> None:
    own = memory("The port of the harbour service is 9292.", created="2026-10-20T10:00:00+00:00")
    left = after(
        a_port=changed(own, supersedes=("port.md",)),
        port=changed(PORT, superseded_by="a_port.md"),
    )
    said = Reason("moved", ("s9#m4",))
    [objection] = judged(BEFORE, left, {"port.md": said, "a_port.md": said}).objections
    assert objection.fate == "for a person"
    assert "a_port.md, which would supersede port.md, is the dream's own" in objection.reason


def test_something_new_needs_a_source_outside_of_memory() -> None:
    left = after(fresh=memory("The harbour closes at six."))
    assert judged(BEFORE, left, {"fresh.md": Reason("said", ("s9#m4",))}).objections == ()
    assert judged(BEFORE, left, {"fresh.md": Reason("said", ("plan.md",))}).accepted == ()


def test_what_does_not_hold_may_go_within_the_budget() -> None:
    many = with_index(
        {f"old_{n}.md": memory(f"Item {n} is over.", valid_until="2026-01-01") for n in range(20)}
    )
    left = {name: data for name, data in many.items() if not name.startswith("old_1")}
    found = judged(many, left)
    assert len(found.accepted) == 2
    assert {one.fate for one in found.objections} == {"for a person"}
    assert found.objections[0].reason == "more than 10% would be deleted or archived"
    assert len(judged(many, left, share=1.0).accepted) == 11


def test_one_bad_change_does_not_spoil_the_others() -> None:
    found = judged(BEFORE, after(port_2=None, colour=None))
    assert [change.kind for change in found.accepted] == ["merge"]
    assert [one.change.files for one in found.objections] == [("colour.md",)]


def test_a_memory_that_others_point_to_stays() -> None:
    before = {**BEFORE, "guide.md": changed(memory("See there."), links=("port_2",))}
    left = {name: data for name, data in before.items() if name != "port_2.md"}
    [objection] = judged(before, left).objections
    assert objection.reason == "guide.md still points to port_2.md"
