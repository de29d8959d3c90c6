"""`undo` and `redo`, again and again, over real history."""

import pytest
from tests.cli.memories import AUDIT, TESTS, TRACKER, directory, remembered
from tests.cli.run import data, done, failed
from tests.place import Place

from reverie import Memory
from reverie.memory.format.proposals import Item, Proposal
from reverie.memory.format.revisions import Author
from reverie.workspace.changes import open_inbox


@pytest.fixture(autouse=True)
def fixed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reverie.workspace.SystemClock", lambda: place.clock)


def files() -> list[str]:
    return sorted(row["file"] for row in data("list"))


def test_back_and_forth(place: Place):
    states = [files()]
    for text in (AUDIT, TESTS, TRACKER):
        remembered(text)
        states.append(files())
    index = data("index")["text"]
    for state in reversed(states[:-1]):
        done("undo")
        assert files() == state
    assert "nothing to undo: no change is left" in failed("undo")
    for state in states[1:]:
        done("redo")
        assert files() == state
    assert data("index")["text"] == index
    assert "nothing to redo: nothing was undone" in failed("redo")
    done("undo"), done("undo")
    assert files() == states[1]
    done("redo"), done("undo"), done("undo")
    assert files() == states[0]


def test_the_log_tells_it_plainly(place: Place):
    short = remembered(AUDIT)["revision"][:10]
    assert done("undo").splitlines()[0] == f"Undid {short}: remember {AUDIT}"
    assert done("redo").splitlines()[0] == f"Redid {short}: remember {AUDIT}"
    text = done("undo")
    assert text.splitlines()[0] == f"Undid {short}: remember {AUDIT}"
    assert text.splitlines()[-1] == "  to reverse this: reverie redo"
    assert [row["summary"] for row in data("log")] == [
        f"undo {short}: remember {AUDIT}",
        f"redo {short}: remember {AUDIT}",
        f"undo {short}: remember {AUDIT}",
        f"remember {AUDIT}",
    ]


def test_a_change_in_between_stays(place: Place):
    first = remembered(AUDIT)["file"]
    done("undo")
    second = remembered(TESTS)["file"]
    done("redo")
    assert files() == sorted([first, second])
    done("undo"), done("undo")
    assert files() == []


def test_what_was_taken_back_by_hand_is_passed_over(place: Place):
    first = remembered(AUDIT)["file"]
    path = directory(place) / first
    before = path.read_text()
    path.write_text(before + "more\n")
    data("log")
    path.write_text(before)
    data("log")
    remembered(TESTS)
    undone = [done("undo").splitlines()[0].partition(": ")[2] for _ in range(4)]
    assert undone[0].startswith("remember Never mock")
    assert undone[1:] == [
        f"edited by hand: {first}",
        f"edited by hand: {first}",
        f"remember {AUDIT}",
    ]
    assert files() == []


def test_the_start_of_a_session_is_enough_if_it_is_the_only_one(place: Place):
    from tests.cli.test_memory_history import learnt

    learnt(place, "Deploys run on Fridays", Author("extract", session="0442a060-aaaa"))
    learnt(place, "Billing is owned by Ada", Author("extract", session="0442b171-bbbb"))
    assert "0442a060-aaaa, 0442b171-bbbb" in failed("undo", "--session", "0442")
    assert "Deploys run on Fridays" in done("undo", "--session", "0442a060")
    assert [row["description"] for row in data("list")] == ["Billing is owned by Ada"]


def test_a_session_goes_and_comes_back_as_one(place: Place):
    from tests.cli.test_memory_history import learnt

    remembered(TRACKER)
    for text in (AUDIT, TESTS):
        learnt(place, text, Author("extract", session="s1"))
    before = files()
    done("undo", "--session", "s1")
    assert len(files()) == 1
    done("redo")
    assert files() == before
    done("undo")
    assert len(files()) == 1


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("000", "'000' is too short for a revision; give at least 4 characters of its id"),
        ("a", "'a' is too short for a revision"),
        ("0000", "no revision '0000'; `reverie log` lists them"),
        ("0000000000", "no revision '0000000000'"),
        ("zebra", "no revision 'zebra'"),
        ("f" * 40, "no revision 'fff"),
    ],
)
def test_what_is_no_revision(place: Place, typed: str, expected: str):
    remembered(AUDIT)
    assert expected in failed("undo", typed)


def test_after_forgetting_everywhere_undo_still_knows_what_was_undone(place: Place):
    gone = remembered("The zebra project is called off, says Okapi")["file"]
    first, second = remembered(AUDIT)["file"], remembered(TESTS)["file"]
    done("undo")
    done("forget", gone, "--everywhere", "--yes")
    assert files() == [first]
    done("redo")
    assert files() == sorted([first, second])


# --- the inbox ---


def proposed(place: Place) -> Item:
    app = place.app()
    made = open_inbox(app, app.memory()).put(
        Proposal(TRACKER, "reference", "tool", "a tool said it")
    )
    assert isinstance(made, Item)
    return made


def waiting() -> list[str]:
    return [row["id"] for row in data("inbox")["waiting"]]


def test_an_approval_that_is_undone_waits_again(place: Place):
    item = proposed(place)
    done("inbox", "approve", item.id, "--yes")
    assert (waiting(), len(files())) == ([], 1)
    output = data("undo")
    assert output["waiting"] == [item.id]
    assert (waiting(), files()) == ([item.id], [])
    done("redo")
    assert (waiting(), len(files())) == ([], 1)
    assert "1 proposal waits in the inbox again" in done("undo")
    done("inbox", "approve", item.id, "--yes")
    assert (waiting(), len(files())) == ([], 1)


def test_the_library_does_the_same(place: Place):
    item = proposed(place)
    with Memory.open(place.root, clock=place.clock) as memory:
        memory.remember(AUDIT)
        done("inbox", "approve", item.id, "--yes")
        memory.undo()
        assert waiting() == [item.id]
        memory.undo()
        assert list(memory) == []
        assert memory.redo().summary.endswith(f"remember {AUDIT}")
        memory.redo()
        assert (len(list(memory)), waiting()) == (2, [])
