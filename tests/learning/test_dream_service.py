"""A whole dream, from the lock to the commit, and its review by a person."""

import asyncio
from pathlib import Path

import pytest
from tests.place import NOON, FixedClock, Place

from reverie.context import NotDue
from reverie.errors import InputError, StorageError
from reverie.files.locks import STALE_AFTER
from reverie.learning.dreaming.changes import CUES_GIVEN, Reason
from reverie.learning.dreaming.dream import Branch, Dreamt, tidy_dreamer
from reverie.learning.dreaming.gates import FILE, Due, Held, gates_for, lock_of
from reverie.learning.dreaming.judging import RecallProber
from reverie.learning.dreaming.review import Report, Turn
from reverie.learning.dreaming.service import (
    DreamOptions,
    approve,
    dream,
    dreams,
    reject,
    report_of,
    status_of,
    stop,
)
from reverie.memory.changes.draft import NewMemory, Remembered
from reverie.memory.changes.undo import of_dream, undo
from reverie.memory.directory import Scratch
from reverie.memory.format import topic as topics
from reverie.memory.format.revisions import Author
from reverie.memory.opening import OpenMemory
from reverie.workspace import Workspace

PORT = "The port of the harbour service is 8080."
COLOUR = "The favourite colour of Ada is purple."


@pytest.fixture
def app(place: Place) -> Workspace:
    return place.app("recall.embedder=none")


@pytest.fixture
def memory(app: Workspace) -> OpenMemory:
    """Two that say the same, and a third."""
    opened = app.memory()
    for text in (PORT, PORT, COLOUR):
        done = opened.keeper.remember(NewMemory(text, even_if_known=True), Author("user"))
        assert isinstance(done, Remembered)
    return opened


def names(memory: OpenMemory) -> list[str]:
    return sorted(memory.store.listing())


def texts(memory: OpenMemory) -> str:
    return "\n".join((memory.store.current(name) or b"").decode() for name in names(memory))


def dreamt(app: Workspace, memory: OpenMemory, dreamer: object = None, **options: bool) -> Report:
    made = asyncio.run(dream(app, memory, DreamOptions(**options), dreamer=dreamer))  # type: ignore[arg-type]
    assert isinstance(made, Report)
    return made


def test_a_dream_is_one_commit_that_can_be_taken_back(app: Workspace, memory: OpenMemory) -> None:
    before = {name: memory.store.current(name) for name in (*names(memory), "MEMORY.md")}
    report = dreamt(app, memory)
    assert (report.state, len(names(memory))) == ("completed", 2)
    newest = next(memory.history.log())
    assert (newest.id, newest.author) == (report.revision, Author("dream", dream=report.id))
    undo(memory.store, memory.history, of_dream(memory.history, report.id), Author("user"))
    assert {name: memory.store.current(name) for name in before} == before


@pytest.mark.parametrize(("reason", "left"), [(CUES_GIVEN, ()), ("a model's", ("marketing",))])
def test_a_dream_takes_out_misleading_cues_of_earlier_rules(
    app: Workspace, memory: OpenMemory, reason: str, left: tuple[str, ...]
) -> None:
    text = "When the boiler shows F28, press reset for three seconds."
    memory.keeper.remember(NewMemory(text), Author("user"))
    [file] = [name for name in names(memory) if "boiler" in name]

    async def earlier(branch: Branch) -> Dreamt:
        topic = topics.parse(branch.files[file], file)
        branch.write(file, topics.render(topic.with_(cues=("marketing",))))
        return Dreamt({file: Reason(reason)})

    dreamt(app, memory, earlier)
    assert "marketing" in texts(memory)
    dreamt(app, memory)
    now = memory.store.read(file)
    assert now is not None
    assert now.topic.cues == left


def test_it_counts_for_the_gate_only_when_it_is_completed(
    app: Workspace, memory: OpenMemory, clock: FixedClock
) -> None:
    lock = lock_of(memory.place, clock)
    dreamt(app, memory, dry=True)
    assert lock.last_dream() is None

    async def fails(branch: Branch) -> Dreamt:
        raise StorageError("the disk is full")

    failed = dreamt(app, memory, fails)
    assert (failed.state, failed.why) == ("failed", "the disk is full")
    assert lock.last_dream() is None
    dreamt(app, memory)
    assert lock.last_dream() == NOON


def test_a_trial_changes_nothing_and_is_not_kept(app: Workspace, memory: OpenMemory) -> None:
    before = texts(memory)
    report = dreamt(app, memory, dry=True)
    assert [entry.standing for entry in report.entries] == ["proposed", "proposed"]
    assert texts(memory) == before
    assert dreams(memory) == []


def test_only_one_dreams_at_a_time(app: Workspace, memory: OpenMemory, clock: FixedClock) -> None:
    held = lock_of(memory.place, clock).acquire()
    assert isinstance(held, Held)
    made = asyncio.run(dream(app, memory))
    assert isinstance(made, NotDue)
    assert "is dreaming" in made.reason
    held.release("failed")
    assert dreamt(app, memory).state == "completed"


def test_a_memory_of_another_client_gets_no_lock_of_ours(place: Place, tmp_path: Path) -> None:
    theirs = tmp_path / "deep" / "theirs"
    theirs.mkdir(parents=True)
    app = place.app(f"memory_directory={theirs}", "recall.embedder=none")
    memory = app.memory()
    dreamt(app, memory)
    assert list(theirs.iterdir()) == []
    assert (memory.place.state / FILE).exists()


def test_who_was_too_slow_does_not_come_home(
    app: Workspace, memory: OpenMemory, clock: FixedClock
) -> None:
    before = texts(memory)

    async def slow(branch: Branch) -> Dreamt:
        found = await tidy_dreamer()(branch)
        clock.advance(STALE_AFTER + 1)
        assert isinstance(lock_of(memory.place, clock).acquire(), Held)
        return found

    report = dreamt(app, memory, slow)
    assert (report.state, texts(memory)) == ("failed", before)
    assert "took over" in report.why


def test_what_a_person_writes_meanwhile_stays(app: Workspace, memory: OpenMemory) -> None:
    [colour, first, second] = names(memory)

    async def interrupted(branch: Branch) -> Dreamt:
        found = await tidy_dreamer()(branch)
        path = memory.place.directory / first
        path.write_bytes(path.read_bytes() + b"I looked it up.\n")
        memory.keeper.remember(NewMemory("The harbour closes at six."), Author("main"))
        return found

    report = dreamt(app, memory, interrupted)
    assert [e.standing for e in report.entries if e.change.kind == "merge"] == ["waiting"]
    assert {first, second, colour} < set(names(memory))
    assert "I looked it up." in texts(memory)
    assert "closes at six" in texts(memory)
    pointers = {pointer.file for pointer in memory.store.index().pointers}
    assert pointers == set(names(memory))
    # The next dream takes up what waited.
    assert dreamt(app, memory).state == "completed"
    assert len(names(memory)) == 3


async def bad(branch: Branch) -> Dreamt:
    """Writes outside, deletes, leaves a link and a script."""
    (branch.folder.parent / "escaped.md").write_text("free")
    (branch.folder / "link.md").symlink_to("/etc/hostname")
    (branch.folder / "run.sh").write_text("rm -rf /")
    (branch.folder / "MEMORY.md").write_text("")
    for path in branch.folder.glob("*colour*.md"):
        path.unlink()
    return Dreamt({})


def test_a_bad_dream_changes_nothing_and_is_named(app: Workspace, memory: OpenMemory) -> None:
    before = texts(memory), memory.store.index()
    report = dreamt(app, memory, bad)
    assert (texts(memory), memory.store.index()) == before
    assert {entry.standing for entry in report.entries} == {"refused"}
    assert all(entry.why for entry in report.entries)
    assert [name for name, _ in report.ignored] == ["../escaped.md", "link.md", "run.sh"]
    assert not list((memory.place.state / "dreams" / "branches").iterdir())


def test_a_killed_dream_says_so_and_leaves_all_as_it_was(
    app: Workspace, memory: OpenMemory, clock: FixedClock
) -> None:
    before = texts(memory)

    async def endless(branch: Branch) -> Dreamt:
        branch.progress(Turn("thinking", 1))
        running = status_of(memory, clock)
        assert running is not None
        assert (running.state, running.phase) == ("running", "starting")
        branch.progress(Turn("writing", 2, ("a.md",)))
        assert stop(memory, clock) == running.id
        await asyncio.Event().wait()
        return Dreamt()

    report = dreamt(app, memory, endless)
    assert (report.state, report.why) == ("killed", "it was stopped by hand")
    status = status_of(memory, clock)
    assert status is not None
    assert (status.state, status.phase) == ("killed", "updating")
    assert [turn.text for turn in status.turns] == ["thinking", "writing"]
    assert texts(memory) == before
    assert lock_of(memory.place, clock).last_dream() is None
    with pytest.raises(InputError, match="no dream is running here"):
        stop(memory, clock)


def test_whatever_a_dreamer_raises_the_lock_is_given_back(
    app: Workspace, memory: OpenMemory, clock: FixedClock
) -> None:
    async def broken(branch: Branch) -> Dreamt:
        return Dreamt({}[branch])

    report = dreamt(app, memory, broken)
    assert report.state == "failed"
    assert isinstance(lock_of(memory.place, clock).acquire(), Held)


def test_a_lock_that_cannot_be_taken_stops_nobody(app: Workspace, memory: OpenMemory) -> None:
    lock = lock_of(memory.place, app.clock).path
    lock.symlink_to("/etc/hostname")
    made = asyncio.run(dream(app, memory))
    assert isinstance(made, NotDue)
    assert "cannot take the lock" in made.reason


def test_a_cancelled_dream_gives_the_lock_back(
    app: Workspace, memory: OpenMemory, clock: FixedClock
) -> None:
    async def cancelled() -> None:
        begun = asyncio.Event()

        async def endless(branch: Branch) -> Dreamt:
            begun.set()
            await asyncio.Event().wait()
            return Dreamt()

        task = asyncio.ensure_future(dream(app, memory, dreamer=endless))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    status = status_of(memory, clock)
    assert status is not None
    assert status.state == "killed"
    assert isinstance(lock_of(memory.place, clock).acquire(), Held)


def test_a_status_of_the_dead_is_a_failure(
    app: Workspace, memory: OpenMemory, clock: FixedClock
) -> None:
    async def looked_at(branch: Branch) -> Dreamt:
        path = memory.place.state / "dreams" / "status.json"
        left.append(path.read_bytes())
        return Dreamt()

    left: list[bytes] = []
    dreamt(app, memory, looked_at)
    (memory.place.state / "dreams" / "status.json").write_bytes(left[0])
    status = status_of(memory, clock)
    assert status is not None
    assert (status.state, status.why) == ("failed", "its process died")


async def proposing(branch: Branch) -> Dreamt:
    """Says something new without a source, and merges the duplicates."""
    found = await tidy_dreamer()(branch)
    head = "---\nname: Harbour\ndescription: The harbour is blue.\ntype: project\n---\n"
    branch.write("harbour.md", f"{head}The harbour is blue.\n".encode())
    return Dreamt({**found.reasons, "harbour.md": Reason("it looked so")})


def test_in_review_nothing_is_made_before_a_person_says_so(
    app: Workspace, memory: OpenMemory
) -> None:
    before = texts(memory)
    report = dreamt(app, memory, proposing, review=True)
    assert texts(memory) == before
    merge, new = (entry.change for entry in report.open if entry.change.kind != "re-index")
    done, revision = approve(app, memory, report.id, [merge.id])
    assert revision is not None
    assert revision.author.dream == report.id
    assert len(names(memory)) == 2
    assert [e.standing for e in done.entries if e.change.id == merge.id] == ["approved"]
    rejected = reject(memory, report.id, [new.id])
    assert [e.standing for e in rejected.entries if e.change.id == new.id] == ["rejected"]
    with pytest.raises(InputError, match=f"no change '{new.id}' of dream {report.id} is open"):
        approve(app, memory, report.id, [new.id])
    assert not (memory.place.directory / "harbour.md").exists()


def test_what_is_for_a_person_can_be_approved_later(app: Workspace, memory: OpenMemory) -> None:
    report = dreamt(app, memory, proposing)
    assert [entry.change.files for entry in report.open] == [("harbour.md",)]
    approve(app, memory, report.id, [])
    assert "The harbour is blue." in texts(memory)
    assert "harbour.md" in {pointer.file for pointer in memory.store.index().pointers}
    assert report_of(memory).open == ()


def test_a_secret_is_kept_nowhere(app: Workspace, memory: OpenMemory) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"

    async def leaking(branch: Branch) -> Dreamt:
        for name, held in branch.files.items():
            if "colour" in name:
                branch.write(name, held + f"The token is {token}\n".encode())
        return Dreamt()

    report = dreamt(app, memory, leaking)
    assert "would hold a secret" in report.entries[0].why
    for path in memory.place.state.rglob("*"):
        assert not path.is_file() or token.encode() not in path.read_bytes()


def test_the_setting_makes_every_dream_a_proposal(place: Place, memory: OpenMemory) -> None:
    app = place.app("recall.embedder=none", "dream.review=true")
    assert {entry.standing for entry in dreamt(app, memory).entries} == {"proposed"}


def test_a_report_reads_back_as_it_was_written(app: Workspace, memory: OpenMemory) -> None:
    report = dreamt(app, memory, bad)
    assert report_of(memory) == report_of(memory, report.id) == report
    with pytest.raises(InputError, match="no dream 'x' here"):
        report_of(memory, "x")


def test_the_gates_of_a_session_do_not_count_itself(
    place: Place, app: Workspace, memory: OpenMemory, clock: FixedClock
) -> None:
    for number in range(6):
        place.journal(f"s{number}")
    assert gates_for(app, memory, "s0").due() == Due(None, 5)
    clock.advance(3600)
    dreamt(app, memory)
    assert isinstance(gates_for(app, memory, "s0").due(), NotDue)
    clock.advance(25 * 3600)
    found = gates_for(app, memory, "s0").due()
    assert found == NotDue("0 of 5 sessions since the last dream")


def test_recall_is_asked_before_and_after(
    app: Workspace, memory: OpenMemory, tmp_path: Path
) -> None:
    scratch = Scratch(tmp_path / "dreams" / "x", memory.store)
    scratch.open(scratch.snapshot())
    prober = RecallProber(scratch, app.clock, tmp_path, None)
    [colour, first, second] = names(memory)
    assert set(prober.before()("the port of the harbour", 10)) == {first, second}
    assert prober.after({second: None})("the port of the harbour", 10) == [first]
    assert prober.after({colour: None})("colour of Ada", 10) == []
    assert prober.before()("colour of Ada", 10) == [colour]
    prober.close()
