"""Many conversations in one program: one engine, one thread beside the program's own loop."""

import asyncio
import gc
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from tests.place import Place

from reverie import Context, Event, InputError, MemoriesSurfaced, Memory, Reply, Usage
from reverie.api import shared_loop
from reverie.core.messages import Text
from reverie.errors import ReverieError
from reverie.memory.watcher import Scanner
from reverie.recall import engine
from reverie.recall.engine import ENGINES, Busy, Workers

MANY = 12


@pytest.fixture
def memory(place: Place) -> Memory:
    memory = Memory.open(place.root)
    for number in range(MANY):
        memory.remember(f"The staging database of service {number} listens on port {7000 + number}")
    return memory


def answer(text: str = "I see.") -> Reply:
    return Reply("r", "m", (Text(text),), "end", Usage(input=10, output=2))


def question(number: int) -> list[Any]:
    return [
        {"role": "user", "content": f"Which port has the staging database of service {number}?"}
    ]


def sent(prepared: Any) -> str:
    return f"{prepared.request.messages} {prepared.arguments}"


def context(place: Place, **given: Any) -> Context:
    return Context(model="anthropic:claude-sonnet-5-5", project=place.root, **given)


class TestManyAtOnce:
    async def test_each_recalls(self, place: Place, memory: Memory) -> None:
        async def ask(number: int) -> str:
            async with context(place) as one:
                prepared = await one.prepare(question(number))
                await one.observe(answer())
                return sent(prepared)

        found = await asyncio.gather(*map(ask, range(MANY)))
        assert [str(7000 + number) in text for number, text in enumerate(found)] == [True] * MANY

    async def test_events_come_in_the_programs_own_thread(
        self, place: Place, memory: Memory
    ) -> None:
        heard: list[tuple[str, bool]] = []

        def hear(event: Event) -> None:
            heard.append((type(event).__name__, threading.current_thread() is mine))

        mine = threading.current_thread()
        async with context(place, listener=hear) as one:
            await one.prepare(question(3))
            assert ("MemoriesSurfaced", True) in heard
        assert all(here for _, here in heard)

    def test_what_is_loaded_once_is_no_work_for_the_garbage_collector(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shared_loop._started(), "_loaded", False)
        loaded: list[object] = []
        with shared_loop.loading():
            assert not gc.isenabled()
            loaded.append([])
        assert gc.isenabled()
        try:
            assert all(thing is not loaded for thing in gc.get_objects())
            with shared_loop.loading():
                assert gc.isenabled()
        finally:
            gc.unfreeze()

    def test_memories_of_a_project_share_an_index(self, place: Place, memory: Memory) -> None:
        with Memory.open(place.root) as other:
            assert other._index.index is memory._index.index
            assert other._index.store is memory._index.store

    def test_a_user_shares_nothing(self, place: Place, memory: Memory) -> None:
        with Memory.open(place.root, user="alice") as alice:
            assert alice._index.index is not memory._index.index

    def test_engines_not_in_use_are_few(self, place: Place, memory: Memory) -> None:
        for number in range(engine.MOST_IDLE + 3):
            with Memory.open(place.root, user=str(number)) as one:
                one.recall("which port?")
        idle = [one for one in ENGINES._open.values() if not one.leases]
        assert len(idle) == engine.MOST_IDLE

    async def test_a_queue_that_is_full_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine, "MOST_WAITING", 1)
        workers, gate = Workers(), threading.Event()
        first = asyncio.create_task(workers.run(gate.wait))
        await asyncio.sleep(0)
        with pytest.raises(Busy, match="1 recalls wait already"):
            await workers.run(str)
        gate.set()
        assert await first
        assert await workers.run(lambda: 7) == 7


class TestWithoutAsync:
    def test_a_conversation(self, place: Place, memory: Memory) -> None:
        heard: list[Event] = []
        with Context(model="offline", project=place.root, listener=heard.append) as one:
            assert "7003" in sent(one.prepare_sync(question(3)))
            assert any(isinstance(event, MemoriesSurfaced) for event in heard)
            assert one.observe_sync(answer("On 7003.")).text == "On 7003."
            one.compact_sync()
        with pytest.raises(InputError, match="closed"):
            one.prepare_sync(question(3))

    async def test_also_where_a_loop_runs(self, place: Place, memory: Memory) -> None:
        with context(place) as one:
            assert "7004" in sent(one.prepare_sync(question(4)))

    def test_in_threads(self, place: Place, memory: Memory) -> None:
        found: list[str] = []

        def work(number: int) -> None:
            memory.remember(f"The office in city {number} opens at {number} o'clock")
            with context(place, memory=memory) as one:
                found.append(sent(one.prepare_sync(question(number))))
            memory.recall(f"when does the office in city {number} open?")

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum("700" in text for text in found) == 4
        assert sum("The office in city" in entry.description for entry in memory) == 4


FORKING = """
import os, sys
from reverie import Context, InputError, Memory

root, home = sys.argv[1:]
ask = [{"role": "user", "content": "Which port has the staging database of service 3?"}]
memory = Memory.open(root, home=home)
context = Context(model="offline", project=root, home=home)
context.prepare_sync(ask)
memory.recall("which port has the staging database of service 3?")
child = os.fork()
if child == 0:
    assert "7003" in memory.recall("which port has the staging database of service 3?")[0].text
    with Context(model="offline", project=root, home=home) as mine:
        mine.prepare_sync(ask)
    try:
        context.prepare_sync(ask)
    except InputError as error:
        assert "forked" in str(error), error
    else:
        os._exit(3)
    os._exit(0)
_, status = os.waitpid(child, 0)
context.close()
memory.recall("which port?")
sys.exit(os.waitstatus_to_exitcode(status))
"""


class TestElsewhere:
    def test_after_a_fork(self, place: Place, memory: Memory) -> None:
        home = str(place.home)
        command = [sys.executable, "-c", FORKING, str(place.root), home]
        subprocess.run(command, check=True, timeout=60)

    def test_a_memory_is_pickled_as_where_it_is(self, place: Place, memory: Memory) -> None:
        with pickle.loads(pickle.dumps(memory)) as other:
            assert other.directory == memory.directory
            assert "7003" in other.recall("which port has service 3?")[0].text

    def test_a_conversation_is_not_pickled(self, place: Place) -> None:
        with pytest.raises(TypeError, match="pass on its `session`"):
            pickle.dumps(context(place))


def test_opening_again_reads_no_directory(
    place: Place, memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.recall("which port?")
    read: list[str] = []

    look: Callable[..., Any] = Scanner.look
    monkeypatch.setattr(
        Scanner, "look", lambda self, *given: read.append(given[0]) or look(self, *given)
    )
    with Memory.open(place.root) as again:
        assert again.recall("which port has service 3?")
    assert read == []
    assert issubclass(Busy, ReverieError)
