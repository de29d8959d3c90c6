"""How sub-agents end: once, reported to their parent, with all their own sub-agents stopped."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from rich.console import RenderableType
from tests.cli.test_chat_actions import Typist
from tests.flows.crew_cast import LEAD, Cast, Team, agent, held, letter, repository, team_of, until
from tests.flows.sessions import MODEL, Desk, hear, kinds
from tests.place import Place
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.script import HttpError, Reply, ToolCall

from reverie.cli.talk.chat import Chat
from reverie.cli.talk.once import once
from reverie.conversation.records import AgentHired, AgentLeft, Record
from reverie.errors import StorageError
from reverie.events import AgentEnded, AgentStarted, Event, TroubleNoted
from reverie.session.options import SessionOptions
from reverie.session.query import Session
from reverie.subagents.crew import Crew
from reverie.subagents.identity import AgentIdentity, answer
from reverie.subagents.mail import TeamMail, team_name
from reverie.subagents.mail_store import Post
from reverie.subagents.members import Brief, Member


@pytest.fixture
def desk(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> Team:
    return Team(place, provider, monkeypatch)


def identity_of(session: Session) -> AgentIdentity:
    assert session.place is not None
    return session.place.identity


def shown_to(cast: Cast, who: str) -> str:
    """Everything an agent saw."""
    return json.dumps(cast.asked[who][-1].json["messages"], ensure_ascii=False)


async def all_end(crew: Crew) -> None:
    works = {member.work for member in crew.members.values() if member.work is not None}
    _, pending = await asyncio.wait(works, timeout=5)
    assert not pending


def ends(desk: Team) -> list[str]:
    return [record.name for record in desk.records() if isinstance(record, AgentLeft)]


def git(desk: Team, *arguments: str) -> bytes:
    return subprocess.check_output(["git", *arguments], cwd=desk.place.root)


GLOB = ToolCall("Glob", {"pattern": "*"})
GOODBYE = letter("lead", "Bye.", kind="shutdown_response", reply_to="asked", agreed=True)


class TestStopped:
    @pytest.mark.parametrize("how", ["background", "wait"])
    async def test_before_its_first_step(self, desk: Team, provider: Provider, how: str) -> None:
        cast = Cast(provider, {LEAD: [agent("begin", how=how), "It did not begin."]})
        stops: list[asyncio.Task[None]] = []
        heard: list[Event] = []

        async with Desk.session(desk) as session:
            crew = team_of(session)

            def hear_it(event: Event) -> None:
                heard.append(event)
                if isinstance(event, AgentStarted):
                    stops.append(asyncio.create_task(crew.stop(event.name, "not needed")))

            with session.announce.subscribed(hear_it):
                await answer(session.run("Begin."))
                await asyncio.gather(*stops)
            if how == "background":
                await until(session, lambda: "<letter " in cast.last(LEAD))
        assert "It ended early: not needed." in cast.last(LEAD)
        assert kinds(heard, AgentEnded) == [AgentEnded("general-1", "not needed", 0)]
        assert ends(desk) == ["general-1"]
        assert "general-1" not in cast.asked

    @pytest.mark.parametrize("first", ["it is stopped", "it is done"])
    async def test_again_while_it_ends(self, desk: Team, provider: Provider, first: str) -> None:
        """It is stopped again while it is stopping its sub-agents."""
        gate = Gate()
        cast = Cast(
            provider,
            {
                LEAD: [agent("delegate", how="background"), "It is delegated."],
                "general-1": [
                    agent("stay", how="teammate"),
                    "It stays.",
                    held(gate, "I am done."),
                ],
                "general-2": ["I am here."],
            },
        )
        stops: list[asyncio.Task[None]] = []
        heard: list[Event] = []
        async with desk.session() as session:
            crew = team_of(session)
            await answer(session.run("Delegate."))
            await asyncio.to_thread(gate.wait_reached)
            one = crew.members["general-1"]
            assert one.work is not None

            def hear_it(event: Event) -> None:
                heard.append(event)
                if isinstance(event, AgentEnded) and event.name == "general-2":
                    stops.append(asyncio.create_task(crew.stop("general-1", "once more")))
                    assert one.work is not None
                    one.work.cancel()

            with session.announce.subscribed(hear_it):
                if first == "it is done":
                    gate.release()
                else:
                    await crew.stop("general-1", "not needed")
                await asyncio.wait({one.work}, timeout=5)
                await asyncio.gather(*stops)
            assert len(stops) == 1
            assert crew.running == ()
            why = "done" if first == "it is done" else "not needed"
            assert one.why == why
            await answer(session.run_mail())
        gate.release()
        assert [event.name for event in kinds(heard, AgentEnded)] == ["general-2", "general-1"]
        assert ends(desk) == ["general-2", "general-1"]
        assert cast.last(LEAD).count('from=\\"general-1\\"') == 1

    async def test_whom_it_hired_has_ended_before_however_often_it_is_cancelled(
        self, desk: Team, provider: Provider
    ) -> None:
        repository(desk)
        gate = Gate()
        Cast(
            provider,
            {
                LEAD: [agent("delegate", how="background"), "It is delegated."],
                "general-1": [agent("try", how="isolated", name="ida"), "Ida tries."],
                "ida": [held(gate)],
            },
        )
        async with desk.session() as session:
            crew = team_of(session)
            await answer(session.run("Delegate."))
            await asyncio.to_thread(gate.wait_reached)
            one, ida = crew.members["general-1"], crew.members["ida"]
            stopping = asyncio.create_task(crew.stop("general-1", "not needed"))
            # Ida's worktree is removed in a thread: that takes longer than any number of these.
            while ida.stopped_for is None:
                await asyncio.wait({stopping}, timeout=0)
            assert one.work is not None
            for _ in range(3):
                one.work.cancel()
                await asyncio.wait({stopping}, timeout=0)
            assert one.running
            assert ida.running
            await stopping
            gate.release()
        assert ends(desk) == ["ida", "general-1"]

    @pytest.mark.parametrize("how", ["background", "wait"])
    async def test_by_an_interrupt_in_the_moment_of_hiring(
        self, desk: Team, provider: Provider, how: str
    ) -> None:
        gate = Gate()
        Cast(provider, {LEAD: [agent("wait", how=how)], "general-1": [held(gate)]})
        async with Desk.session(desk) as session:
            turn = asyncio.create_task(answer(session.run("Wait.")))

            def interrupt(event: Event) -> None:
                hiring = asyncio.current_task()
                if isinstance(event, AgentStarted) and hiring is not None:
                    hiring.cancel()
                    turn.cancel()

            with session.announce.subscribed(interrupt):
                await asyncio.wait({turn})
            crew = team_of(session)
            assert list(crew.members) == ["general-1"]
            await all_end(crew)
            assert crew.running == ()
        gate.release()
        assert ends(desk) == ["general-1"]

    async def test_while_its_worktree_is_made(
        self, desk: Team, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        slow = desk.place.base / "slow"
        os.mkfifo(slow)
        desk.write(".gitattributes", "readme.md filter=slow\n")
        repository(desk)
        # The person's own filter: one that a repository brings along is not run at all.
        own = desk.place.base / "gitconfig"
        own.write_text(f'[filter "slow"]\nsmudge = "sh -c \'cat {slow}; cat\'"\n')
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
        cast = Cast(provider, {LEAD: [agent("try", how="isolated", name="ida"), "Ida tries."]})
        async with Desk.session(desk) as session:
            crew = team_of(session)
            await answer(session.run("Have it tried."))
            # It can be opened when git reads from it: in the middle of the checkout.
            with await asyncio.to_thread(slow.open, "w"):
                stopping = asyncio.create_task(crew.stop("ida", "not needed"))
                await asyncio.wait({stopping}, timeout=0)
                assert crew.members["ida"].running
            await stopping
        assert "ida" not in cast.asked
        assert list((desk.app().project.folder / "worktrees").iterdir()) == []
        assert git(desk, "branch", "--list", "reverie/*") == b""

    async def test_all_are_known_messages_any_is_waited_for(
        self, desk: Team, provider: Provider
    ) -> None:
        gates = {"general-1": Gate(), "general-2": Gate()}
        hires = tuple(agent(f"wait {n}", how="background") for n in range(2))
        Cast(
            provider,
            {
                LEAD: [Reply(hires), "Two wait."],
                **{name: [held(gate)] for name, gate in gates.items()},
            },
        )
        told: list[set[str | None]] = []
        async with desk.session() as session:
            crew = team_of(session)
            await answer(session.run("Hire two."))
            for gate in gates.values():
                await asyncio.to_thread(gate.wait_reached)

            def look(event: Event) -> None:
                if isinstance(event, AgentEnded):
                    told.append({member.stopped_for for member in crew.members.values()})

            with session.announce.subscribed(look):
                await crew.aclose()
        for gate in gates.values():
            gate.release()
        assert told == [{"the session was closed"}] * 2

    async def test_by_an_interrupt_that_stops_everything(
        self, desk: Team, provider: Provider
    ) -> None:
        gates = Gate(), Gate()
        Cast(
            provider,
            {
                LEAD: [agent("wait", how="background"), held(gates[0])],
                "general-1": [held(gates[1])],
            },
        )
        async with desk.session("agent.on_interrupt=stop") as session:
            turn = asyncio.create_task(answer(session.run("Hire an agent.")))
            for gate in gates:
                await asyncio.to_thread(gate.wait_reached)
            turn.cancel()
            await asyncio.wait({turn})
            crew = team_of(session)
            assert crew.running == ()
            assert crew.members["general-1"].why == "the user interrupted everything"
            for gate in gates:
                gate.release()


class TestTroubles:
    async def test_an_end_that_cannot_be_written_down_is_told_all_the_same(
        self, desk: Team, provider: Provider
    ) -> None:
        cast = Cast(
            provider,
            {
                LEAD: [agent("count", how="background"), "An agent counts.", "Four."],
                "general-1": ["There are four."],
            },
        )
        heard: list[Event] = []
        async with desk.session() as session:
            crew = team_of(session)
            keep = crew.record

            def full(record: Record) -> None:
                if isinstance(record, AgentLeft):
                    raise StorageError("the disk is full")
                keep(record)

            crew.record = full
            with session.announce.subscribed(heard.append):
                await answer(session.run("Count."))
                told = until(session, lambda: "There are four." in cast.last(LEAD))
                await asyncio.wait_for(told, 5)
            crew.record = keep
        [trouble] = kinds(heard, TroubleNoted)
        assert trouble == TroubleNoted("agents", "not recorded in the transcript: the disk is full")

    async def test_mail_that_cannot_be_read_stops_neither_a_turn_nor_the_end(
        self, desk: Team, provider: Provider
    ) -> None:
        provider.script("One.", "Two.")
        heard: list[Event] = []
        async with desk.session() as session:
            mail = identity_of(session).mail
            assert isinstance(mail, TeamMail)
            mail.open_box()
            for path in desk.place.home.glob("mail.sqlite*"):
                path.unlink()
            (desk.place.home / "mail.sqlite").mkdir()
            with session.announce.subscribed(heard.append):
                assert await answer(session.run("One?")) == "One."
                assert await answer(session.run("Two?")) == "Two."
        [trouble] = kinds(heard, TroubleNoted)
        assert isinstance(trouble, TroubleNoted)
        assert trouble.what.startswith("letters are not read: ")

    async def test_a_timeout_of_the_work_is_not_the_limit_of_time(
        self, desk: Team, provider: Provider
    ) -> None:
        cast = Cast(provider, {LEAD: [agent("count"), "It did not work."]})
        async with Desk.session(desk) as session:
            team_of(session).host = Unanswering()
            await hear(session, "Count.")
        assert "It ended early: the disk did not answer." in cast.last(LEAD)
        assert "the longest one may take" not in cast.last(LEAD)


class Unanswering:
    """Quarters on a disk that is too slow."""

    def transcript(self, brief: Brief) -> str:
        return "nowhere.jsonl"

    @asynccontextmanager
    async def open(self, member: Member, identity: AgentIdentity) -> AsyncIterator[Session]:
        raise TimeoutError("the disk did not answer")
        yield

    async def launch(self, member: Member) -> None:
        raise TimeoutError("the disk did not answer")


class TestProcesses:
    async def test_whom_a_teammate_hires_counts_in_the_session(
        self, desk: Team, provider: Provider
    ) -> None:
        cast = Cast(
            provider,
            {
                LEAD: [agent("stay", how="teammate", name="paul", apart=True), "Paul stays."],
                "paul": [Reply((agent("count"), agent("count, too"))), GOODBYE, "Four."],
                "paul-general-1": [GLOB, "There are four."],
            },
        )
        async with desk.session("agents.concurrent=2") as session:
            await answer(session.run("Hire Paul."))
            provider.expect_conversation("whom Paul hires", within=50)
            paul = team_of(session).members["paul"]
            assert paul.work is not None
            await asyncio.wait({paul.work})
            assert (paul.why, paul.answer) == ("done", "Four.")
            id_ = session.conversation.state.session
        assert {who: len(asked) for who, asked in cast.asked.items()} == {
            LEAD: 2,
            "paul": 3,
            "paul-general-1": 2,
        }
        assert "1 are running, and 1 may run at once" in shown_to(cast, "paul")
        entries = list(desk.app().ledger.entries())
        assert {entry.session for entry in entries} == {id_}
        spent = {entry.purpose for entry in entries}
        assert {"agent:paul", "agent:paul-general-1"} <= spent
        used = sum(e.usage.context for e in entries if e.purpose.startswith("agent:"))
        assert paul.tokens == used

    async def test_a_long_answer_arrives_whatever_else_is_printed(
        self, desk: Team, provider: Provider, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        chatty = desk.place.base / "chatty"
        chatty.mkdir()
        chatty.joinpath("sitecustomize.py").write_text(
            "import atexit\nprint('hello', flush=True)\natexit.register(print, '{bye')\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(chatty), prepend=os.pathsep)
        Cast(
            provider,
            {
                LEAD: [agent("tell", how="teammate", name="paul", apart=True), "Paul tells."],
                "paul": [GOODBYE, "я" * 40_000],
            },
        )
        async with desk.session() as session:
            await answer(session.run("Hire Paul."))
            paul = team_of(session).members["paul"]
            assert paul.work is not None
            await asyncio.wait({paul.work})
            assert (paul.why, paul.answer) == ("done", "я" * 40_000)
        assert "{bye" in Path(paul.transcript).with_suffix(".log").read_text()

    async def test_why_one_failed_reaches_the_model(self, desk: Team, provider: Provider) -> None:
        cast = Cast(
            provider,
            {
                LEAD: [agent("fail", how="teammate", name="paul", apart=True), "Let us see."],
                "paul": [HttpError(400, "no such thing")],
            },
        )
        async with Desk.session(desk) as session:
            await answer(session.run("Hire Paul."))
            await until(session, lambda: "<letter " in cast.last(LEAD))
        assert "It ended early" in cast.last(LEAD)
        assert "no such thing" in cast.last(LEAD)


async def test_a_fork_is_stopped_by_the_limit_of_tokens(desk: Team, provider: Provider) -> None:
    cast = Cast(
        provider,
        {LEAD: [agent("think", how="fork"), "It thinks."], "fork": ["", *[GLOB] * 20]},
    )
    async with desk.session("agents.tokens=9000") as session:
        await answer(session.run("Have it thought about."))
        crew = team_of(session)
        await all_end(crew)
        fork = crew.members["fork-1"]
        assert fork.why is not None
        assert re.search(r"used \d+,\d+ tokens of 9,000", fork.why)
        assert fork.tokens >= 9_000
    assert len(cast.asked["fork"]) < 10


class TestLetters:
    async def test_whoever_was_lost_with_an_earlier_process_gets_none(
        self, desk: Team, provider: Provider
    ) -> None:
        cast = Cast(provider, {LEAD: ["Hello.", letter("gone", "Are you there?"), "A pity."]})
        app = desk.app()
        async with desk.session() as session:
            await answer(session.run("Hello."))
            session.conversation.record(
                AgentHired("gone", "general", "teammate", "vanish", "lead", "x.jsonl", 1.0)
            )
            id_ = session.conversation.state.session
        box = Post(desk.place.home, team_name(app, id_), app.clock).open("gone")
        async with desk.session(resume=True) as session:
            await answer(session.run("Write to it."))
        assert "Not sent to gone: gone is gone: it ended with its session" in shown_to(cast, LEAD)
        assert box.unread() == 0

    async def test_letters_unread_at_the_end_are_reported_to_their_sender(
        self, desk: Team, provider: Provider
    ) -> None:
        gate = Gate()
        cast = Cast(
            provider,
            {
                LEAD: [
                    agent("wait", how="background"),
                    letter("general-1", "Look at a.py."),
                    "It knows.",
                ],
                "general-1": [held(gate)],
            },
        )
        async with desk.session() as session:
            await answer(session.run("Hire an agent."))
            await asyncio.to_thread(gate.wait_reached)
            await team_of(session).stop("general-1", "not needed")
            await answer(session.run_mail())
        gate.release()
        assert "general-1 ended before it read: Look at a.py." in cast.last(LEAD)

    async def test_many_long_ones_are_told_in_portions(
        self, desk: Team, provider: Provider
    ) -> None:
        provider.script("One.", "Two.")
        async with desk.session() as session:
            crew, identity = team_of(session), identity_of(session)
            for number in range(12):
                text = f"letter {number} " + "word " * 50_000
                assert identity.receive(crew.letter("paul", "lead", text, "long")) is None
            for number in range(2):
                await answer(session.run_mail())
                told = json.dumps(provider.requests[-1].json["messages"])
                assert re.findall(r"letter (\d+) word", told) == [str(n) for n in range(number + 1)]
            assert identity.has_mail
            identity.take_unread()

    async def test_what_is_unread_at_the_end_is_all_in_the_transcript(
        self, desk: Team, provider: Provider
    ) -> None:
        provider.script("Hello.")
        async with desk.session() as session:
            crew, identity = team_of(session), identity_of(session)
            await answer(session.run("Hello."))
            for number in range(3):
                text = f"letter {number} " + "word " * 10_000
                identity.receive(crew.letter("paul", "lead", text, "long"))
        texts = desk.app().journals()[0].read_text()
        assert re.findall(r"letter (\d+) word", texts) == ["0", "1", "2"]


class TestInChat:
    async def test_an_agent_that_finishes_is_attended_to_while_nobody_types(
        self, desk: Team, provider: Provider
    ) -> None:
        gate = Gate()
        Cast(
            provider,
            {
                LEAD: [agent("count", how="background"), "An agent counts.", "Four, I hear."],
                "general-1": [held(gate, "There are four.")],
            },
        )
        for _ in range(2):
            provider.expect_conversation("a conversation of its own", within=50)
        typist = Listener("Four, I hear.", gate, "Count.")
        await asyncio.wait_for(
            Chat(desk.app(), typist).run(SessionOptions(model=MODEL, mode="bypass")), 10
        )
        assert "An agent counts." in typist.text
        assert "Four, I hear." in typist.text

    async def test_one_question_waits_for_a_teammates_first_report(
        self, desk: Team, provider: Provider, capsys: pytest.CaptureFixture[str]
    ) -> None:
        Cast(
            provider,
            {
                LEAD: [
                    agent("fix it", how="teammate", name="rita"),
                    "Rita is on it.",
                    "Rita has fixed it.",
                ],
                "rita": [GLOB, ToolCall("Write", {"path": "done.txt", "content": "x"}), "Fixed."],
            },
        )
        for _ in range(2):
            provider.expect_conversation("a conversation of its own", within=50)
        work = once(
            desk.app(), SessionOptions(mode="bypass"), "Have it fixed.", "text", quiet=False
        )
        await asyncio.wait_for(work, 20)
        assert desk.place.root.joinpath("done.txt").exists()
        assert capsys.readouterr().out == "Rita has fixed it.\n"


class Listener(Typist):
    """Types nothing more, and leaves when it has read some words."""

    def __init__(self, words: str, gate: Gate, *lines: str) -> None:
        super().__init__(*lines)
        self._words = words
        self._gate = gate
        self._read = asyncio.Event()

    def show(self, *renderables: RenderableType) -> None:
        super().show(*renderables)
        if self._words in self.text:
            self._read.set()

    async def line(self) -> str | None:
        typed = await super().line()
        if typed is None:
            self._gate.release()
            await self._read.wait()
        return typed
