"""A year of dreams over a memory that keeps changing: is every fact that holds still recalled?

Three dreamers: one that is bad on purpose, the deterministic one, and the bad one without our checks
(to see that it would do harm). What holds is known to this script alone, from what a person said,
changed and took back; dreams are judged by asking recall, and by looking for the words.

    .venv/bin/python benchmarks/dream_safety.py [--nights 365] [--memories 500]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

from report import RESULTS, publish

from reverie.learning.dreaming.changes import Reason
from reverie.learning.dreaming.dream import (
    Branch,
    DreamContext,
    Dreamer,
    Dreamt,
    run,
    tidy_dreamer,
)
from reverie.learning.dreaming.gates import lock_of
from reverie.learning.dreaming.judging import RecallProber
from reverie.learning.dreaming.review import Report
from reverie.learning.dreaming.service import acquired
from reverie.memory.directory import Scratch
from reverie.memory.format import topic as topics
from reverie.memory.format.index import Index, pointer_to
from reverie.memory.format.manifest import INDEX_FILE
from reverie.memory.format.revisions import Author, Change, Drop, Put
from reverie.memory.format.topic import Topic
from reverie.memory.history import GitHistory
from reverie.memory.locations import MemoryLocation
from reverie.memory.secrets.scrubber import SecretScrubber
from reverie.memory.store import FileStore
from reverie.recall import queries
from reverie.recall.index import RecallIndex
from reverie.recall.ranker import IndexRanker

START = datetime(2026, 1, 5, 3, 0, tzinfo=UTC)
PERSON = Author("user")
ANSWERS = 10

_ON = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z")
_OF = ("a", "e", "i", "o", "u")
_PLACES = ("billing", "search", "login", "export", "import", "metrics", "mail", "payment", "upload")
_NUMBERED = ("port", "timeout in seconds", "retry limit", "batch size", "quota", "replica count")
_COLOURS = ("purple", "cyan", "amber", "teal", "crimson", "olive", "indigo", "maroon", "beige")
_DAYS = ("next Monday", "tomorrow", "next Thursday", "in two weeks", "next Friday")


@dataclass
class Clock:
    at: float = START.timestamp()

    def now(self) -> float:
        return self.at


@dataclass(frozen=True)
class Fact:
    """Something a person said: where it was written, how it is asked for, and what must be in the answer."""

    file: str
    text: str
    question: str
    marks: tuple[str, ...]
    type: str = "project"
    until: str | None = None
    pinned: bool = False


@dataclass
class World:
    """A person and their memory."""

    folder: Path
    chance: random.Random
    clock: Clock = field(default_factory=Clock)
    # Facts that hold, by the file a person wrote them to.
    facts: dict[str, Fact] = field(default_factory=dict)
    written: int = 0
    taken_back: int = 0
    seen: dict[str, tuple[object, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.place = MemoryLocation(self.folder / "memory", self.folder)
        history = GitHistory(self.place.history, self.clock)
        self.store = FileStore(self.place.directory, history)
        self.scrubber = SecretScrubber(self.folder / "allowed.json")

    @property
    def now(self) -> datetime:
        return datetime.fromtimestamp(self.clock.now(), UTC)

    # --- what a person does ---

    def begin(self, number: int) -> None:
        self._save([self._new_fact() for _ in range(number)], ())

    def day(self) -> None:
        """New facts, duplicates of old ones, a correction, something taken back, a hand edit."""
        self.clock.at += 86_400
        known = [self.facts[name] for name in sorted(self.facts)]
        fresh = [self._new_fact() for _ in range(2)]
        fresh += [self._again(self.chance.choice(known)), self._contradiction(known)]
        gone = self.chance.sample(known, 2)
        self._save(fresh, gone)
        self._edit_by_hand()
        today = self.now.date().isoformat()
        over = [name for name, fact in self.facts.items() if fact.until and fact.until < today]
        for name in over:
            del self.facts[name]

    def _save(self, fresh: list[Fact], gone: Sequence[Fact]) -> None:
        changes: list[Change] = [Put(fact.file, self._file(fact)) for fact in fresh]
        for fact in gone:
            # The duplicates of a fact a person takes back go, too; a dream may have merged them.
            twins = [name for name, other in self.facts.items() if other.marks == fact.marks]
            for name in self._holding(fact):
                stored = self.store.read(name)
                if stored is not None:
                    changes.append(Drop(name, stored.version))
            for name in twins:
                del self.facts[name]
            self.taken_back += len(twins)
        dropped = {change.file for change in changes if isinstance(change, Drop)}

        def edit(index: Index) -> Index:
            for name in dropped:
                index = index.without(name)
            for fact in fresh:
                grown = index.with_pointer(pointer_to(fact.text, fact.file, fact.text))
                index = grown if grown.fits else index
            return index

        self.store.apply(changes, PERSON, "a day", edit)
        self.facts |= {fact.file: fact for fact in fresh}

    def _holding(self, fact: Fact) -> list[str]:
        """Files that say a fact now, wherever dreams put it."""
        found = []
        for name, text in self._texts().items():
            if _states(text, fact):
                found.append(name)
        return found

    def _texts(self) -> dict[str, str]:
        """Every memory; what did not change is not read again."""
        listing = self.store.listing()
        for name, seen in listing.items():
            if self.seen.get(name, ((), ""))[0] != seen:
                text = (self.store.current(name) or b"").decode("utf-8", "replace")
                self.seen[name] = (seen, text)
        return {name: self.seen[name][1] for name in listing}

    def _edit_by_hand(self) -> None:
        """An editor, without any lock: a sentence is added to a memory."""
        self.add_by_hand(self.chance.choice(sorted(self.facts)))

    def add_by_hand(self, name: str) -> None:
        path = self.place.directory / name
        if path.exists():
            path.write_bytes(path.read_bytes() + f"Seen again on {self.now.date()}.\n".encode())

    def _file(self, fact: Fact) -> bytes:
        made = topics.new(
            fact.text[:70],
            fact.text,
            fact.type,  # type: ignore[arg-type]
            fact.text,
            file=fact.file,
            created=self.now.isoformat(timespec="seconds"),
            origin="user",
            source=(f"s{self.written}#m1",),
            valid_until=fact.until,
            pinned=fact.pinned,
        )
        return topics.render(made)

    def _name(self) -> str:
        return "".join(self.chance.choice(_ON) + self.chance.choice(_OF) for _ in range(3))

    def _new_fact(self) -> Fact:
        self.written += 1
        make = self.chance.choice(
            (self._numbered, self._numbered, self._coloured, self._dated, self._linked)
        )
        fact = make()
        if self.chance.random() < 0.05:
            fact = replace(fact, pinned=True)
        if self.chance.random() < 0.08:
            days = self.chance.randint(20, 200)
            fact = replace(fact, until=(self.now + timedelta(days=days)).date().isoformat())
        return fact

    def _numbered(self) -> Fact:
        what, place, name = self.chance.choice(_NUMBERED), self.chance.choice(_PLACES), self._name()
        value = str(self.chance.randint(100, 99_999))
        text = f"The {what} of the {place} service {name} is {value}."
        return self._fact(text, f"what is the {what} of {name}?", (name, value))

    def _coloured(self) -> Fact:
        name, colour = self._name(), self.chance.choice(_COLOURS)
        text = f"The favourite colour of {name.capitalize()} is {colour}."
        question = f"which colour does {name.capitalize()} like?"
        return self._fact(text, question, (name.capitalize(), colour))

    def _dated(self) -> Fact:
        name, when = self._name(), self.chance.choice(_DAYS)
        text = f"The {self.chance.choice(_PLACES)} team {name} presents its plan {when}."
        return self._fact(text, f"when does {name} present its plan?", (name, "presents"))

    def _linked(self) -> Fact:
        name = self._name()
        address = f"https://{name}.example.org/{self.chance.randint(10, 9_999)}"
        text = f"The dashboard of {name} is at {address}"
        return self._fact(text, f"where is the dashboard of {name}?", (address,), "reference")

    def _fact(
        self, text: str, question: str, marks: tuple[str, ...], type_: str = "project"
    ) -> Fact:
        return Fact(f"m{self.written:05}.md", text, question, marks, type_)

    def _again(self, fact: Fact) -> Fact:
        """The same once more, in other dress."""
        self.written += 1
        text = self.chance.choice(
            (fact.text, fact.text.rstrip("."), fact.text.replace("The ", "the ", 1))
        )
        # What was relative then would be another date today.
        if any(day in fact.text for day in _DAYS):
            return self._new_fact()
        return replace(fact, file=f"m{self.written:05}.md", text=text, pinned=False, until=None)

    def _contradiction(self, known: list[Fact]) -> Fact:
        """A newer value for the same thing; nobody said that the old one is wrong."""
        numbered = [fact for fact in known if fact.marks[-1].isdecimal()]
        old = self.chance.choice(numbered)
        self.written += 1
        value = str(self.chance.randint(100, 99_999))
        text = old.text.replace(old.marks[-1], value)
        marks = (*old.marks[:-1], value)
        return replace(
            old, file=f"m{self.written:05}.md", text=text, marks=marks, pinned=False, until=None
        )

    # --- is all of it still there? ---

    def kept(self) -> int:
        """Facts that some file of the memory still states."""
        by_file = dict(self._live())
        return sum(
            _states(by_file.get(fact.file, ""), fact)
            or any(_states(text, fact) for text in by_file.values())
            for fact in self.facts.values()
        )

    def _live(self) -> Iterator[tuple[str, str]]:
        for name, text in self._texts().items():
            if "\nsuperseded_by:" not in text and "\narchived:" not in text:
                yield name, text

    def recalled(self) -> int:
        """Facts that recall answers with, asked in plain words."""
        index = RecallIndex.open(self.folder / "judge.sqlite")
        texts = dict(self._live())
        try:
            ranker = IndexRanker(index, self.store, self.clock)
            ranker.refresh()
            return sum(self._answers(index, texts, fact) for fact in self.facts.values())
        finally:
            index.close()

    def _answers(self, index: RecallIndex, texts: dict[str, str], fact: Fact) -> bool:
        found = index.search(queries.plain(fact.question), now=self.clock.now(), limit=ANSWERS)
        return any(_states(texts.get(hit.key, ""), fact) for hit in found.hits)


def _states(text: str, fact: Fact) -> bool:
    return all(mark in text for mark in fact.marks)


# --- the dreamers ---


def bad_dreamer(chance: random.Random, world: World) -> Dreamer:
    """Everything a dream must not do, every night, and a few things it may."""

    async def dream(branch: Branch) -> Dreamt:
        for wrong in _WRONGS:
            for _ in range(2):
                wrong(branch.folder, chance)
        # A person goes on writing while the dream runs.
        world.add_by_hand(chance.choice(sorted(world.facts)))
        return Dreamt({INDEX_FILE: Reason("tidier")})

    return dream


def interrupted(dreamer: Dreamer, chance: random.Random, world: World) -> Dreamer:
    """A person edits, while the dream runs, the very file it is changing: their edit must stay."""

    async def dream(branch: Branch) -> Dreamt:
        dreamt = await dreamer(branch)
        touched = sorted(name for name in dreamt.reasons if name in world.facts)
        if touched and chance.random() < 0.3:
            world.add_by_hand(chance.choice(touched))
        return dreamt

    return dream


def _memories(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.startswith("m0"))


def _pick(folder: Path, chance: random.Random) -> tuple[Path, Topic]:
    path = chance.choice(_memories(folder))
    return path, topics.parse(path.read_bytes(), path.name)


def _delete(folder: Path, chance: random.Random) -> None:
    for _ in range(3):
        _pick(folder, chance)[0].unlink()


def _merge_different(folder: Path, chance: random.Random) -> None:
    """Two memories about different things, or with different values, become one."""
    path, topic = _pick(folder, chance)
    words = set(topic.description.split())
    others = (topics.parse(p.read_bytes(), p.name) for p in chance.sample(_memories(folder), 60))
    near = max(
        (o for o in others if o.file != path.name),
        key=lambda o: len(words & set(o.description.split())),
    )
    (folder / near.file).unlink()
    if topic.problem is None:
        path.write_bytes(topics.render(topic.with_(supersedes=(near.file,))))


def _rewrite_number(folder: Path, chance: random.Random) -> None:
    path, _ = _pick(folder, chance)
    head, end, body = path.read_text().rpartition("---\n")
    digits = [char for char in set(body) if char.isdigit()]
    if digits:
        path.write_text(head + end + body.replace(chance.choice(digits), str(chance.randint(0, 9))))


def _rewrite_word(folder: Path, chance: random.Random) -> None:
    path, topic = _pick(folder, chance)
    if topic.problem is None and len(words := topic.body.split()) > 3:
        words[chance.randrange(len(words))] = "something"
        path.write_bytes(
            topics.render(topic.with_(body=" ".join(words) + "\n", description=" ".join(words)))
        )


def _swap_bodies(folder: Path, chance: random.Random) -> None:
    (one, first), (other, second) = _pick(folder, chance), _pick(folder, chance)
    if first.problem is None and second.problem is None:
        one.write_bytes(topics.render(first.with_(body=second.body)))
        other.write_bytes(topics.render(second.with_(body=first.body)))


def _empty_index(folder: Path, chance: random.Random) -> None:
    index = folder / INDEX_FILE
    index.write_text(chance.choice(("", "- [Nothing](nothing.md) — gone\n" * 3, "x" * 30_000)))


def _write_outside(folder: Path, chance: random.Random) -> None:
    (folder.parent / "escaped.md").write_text("I am free\n")
    link = folder / "link.md"
    if not link.is_symlink():
        link.symlink_to("/etc/hostname")
    (folder / "run.sh").write_text("rm -rf /\n")


def _archive(folder: Path, chance: random.Random) -> None:
    path, _ = _pick(folder, chance)
    path.write_text(path.read_text().replace("\ntype:", "\narchived: 2026-01-01\ntype:", 1))


def _expire(folder: Path, chance: random.Random) -> None:
    path, topic = _pick(folder, chance)
    if topic.problem is None:
        until = chance.choice(("2020-01-01", "2026-02-01", "2027-01-10"))
        path.write_bytes(topics.render(topic.with_(valid_until=until)))


def _supersede(folder: Path, chance: random.Random) -> None:
    (one, first), (other, second) = _pick(folder, chance), _pick(folder, chance)
    if one != other and first.problem is None and second.problem is None:
        one.write_bytes(topics.render(first.with_(superseded_by=other.name)))
        other.write_bytes(topics.render(second.with_(supersedes=(one.name,))))


def _break(folder: Path, chance: random.Random) -> None:
    path, _ = _pick(folder, chance)
    path.write_text(path.read_text().replace("---\n", "", 1))


def _leak(folder: Path, chance: random.Random) -> None:
    path, _ = _pick(folder, chance)
    token = "ghp_" + "".join(chance.choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJ0123456789", k=36))
    path.write_text(path.read_text() + f"The token is {token}\n")


def _invent(folder: Path, chance: random.Random) -> None:
    name = f"invented_{chance.randint(0, 10**9)}.md"
    made = topics.new("Invented", "The moon port is 4711", "project", "The moon port is 4711")
    (folder / name).write_bytes(topics.render(made))


def _forge(folder: Path, chance: random.Random) -> None:
    path, topic = _pick(folder, chance)
    if topic.problem is None:
        path.write_bytes(topics.render(topic.with_(origin="assistant", confidence=0.1)))


_WRONGS: tuple[Callable[[Path, random.Random], None], ...] = (
    _delete, _merge_different, _rewrite_number, _rewrite_word, _swap_bodies, _empty_index,
    _write_outside, _archive, _expire, _supersede, _break, _leak, _invent, _forge,
)  # fmt: skip


# --- a year ---


@dataclass
class Year:
    """What one dreamer did to one memory."""

    dreamer: str
    kept: list[float] = field(default_factory=list)
    recalled: list[tuple[int, float]] = field(default_factory=list)
    standings: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    ignored: int = 0
    unnamed: int = 0
    failed: int = 0
    seconds: float = 0.0


def desk_of(world: World, night: int, prober: RecallProber, scratch: Scratch) -> DreamContext:
    id_ = f"night{night:03}"
    lock = lock_of(world.place, world.clock)
    return DreamContext(
        id=id_,
        pid=os.getpid(),
        workshop=scratch,
        store=world.store,
        prober=prober,
        scrubber=world.scrubber,
        clock=world.clock,
        acquire=lambda: acquired(lock, world.store),
        tell=lambda status: None,
        author=Author("dream", dream=id_),
        # The benchmark's own judge asks for everything; the dream asks where a change can reach.
        probe_everything=False,
    )


def dream_once(world: World, night: int, dreamer: Dreamer, year: Year) -> None:
    scratch = Scratch(world.folder / "dreams" / "branches" / str(night), world.store)
    # Kept from night to night: only what changed since is indexed again.
    probing = world.folder / "probing"
    probing.mkdir(exist_ok=True)
    prober = RecallProber(scratch, world.clock, probing, None)
    began = perf_counter()
    report = asyncio.run(run(dreamer, desk_of(world, night, prober, scratch)))
    year.seconds += perf_counter() - began
    prober.close()
    for left in probing.glob("after-*"):
        left.unlink()
    if not isinstance(report, Report) or report.state != "completed":
        year.failed += 1
        return
    year.ignored += len(report.ignored)
    for entry in report.entries:
        year.standings[entry.standing] += 1
        year.kinds[f"{entry.change.kind}, {entry.standing}"] += 1
        if entry.standing in {"refused", "for a person", "waiting"}:
            year.reasons[_shape(entry.why)] += 1
            year.unnamed += not (entry.why and entry.change.files)


def _shape(reason: str) -> str:
    """A reason without its names, to be counted."""
    words = reason.split("“")[0].split("'")[0].split()
    return " ".join(w for w in words if not w.strip(",:").endswith(".md") and not w[0].isdigit())


def unchecked(world: World, dreamer: Dreamer, night: int) -> None:
    """The same dream, believed."""
    scratch = Scratch(world.folder / "dreams" / "branches" / str(night), world.store)
    files = scratch.snapshot()
    folder = scratch.open(files)
    today = world.now.date()
    asyncio.run(dreamer(Branch(folder, files, today, scratch.write, lambda turn: None)))  # type: ignore[arg-type]
    after = scratch.read().files
    wanted = {n: after.get(n) for n in {*files, *after} if files.get(n) != after.get(n)}
    world.store.restore(lambda: wanted, Author("dream", dream=str(night)), "believed")
    scratch.clear()


def year_of(name: str, nights: int, memories: int, base: Path) -> tuple[Year, World]:
    folder = base / name.replace(" ", "-")
    world = World(folder, random.Random(7))
    world.begin(memories)
    chance = random.Random(11)
    tidy = interrupted(tidy_dreamer(), chance, world)
    dreamer = tidy if name == "deterministic" else bad_dreamer(chance, world)
    year = Year(name)
    for night in range(1, nights + 1):
        world.day()
        if name == "bad, unchecked":
            unchecked(world, dreamer, night)
        else:
            dream_once(world, night, dreamer, year)
        year.kept.append(world.kept() / len(world.facts))
        if night % 122 == 0 or night == nights:
            year.recalled.append((night, world.recalled() / len(world.facts)))
    return year, world


def plot(years: list[Year], path: Path) -> None:
    """Facts kept, night by night."""
    width, height, left, top, bottom = 720, 300, 48, 36, 28
    colours = ("#b03a2e", "#2f6f4f", "#b8b8b8")
    parts = [
        f'<text x="{left}" y="18">Share of the facts that hold which memory still has, by night</text>'
    ]
    for share in (0, 25, 50, 75, 100):
        y = height - bottom - share / 100 * (height - top - bottom)
        parts.append(f'<line x1="{left}" x2="{width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#eee"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{share}</text>')
    for number, (year, colour) in enumerate(zip(years, colours, strict=False)):
        step = (width - left) / max(1, len(years[0].kept) - 1)
        points = " ".join(
            f"{left + n * step:.1f},{height - bottom - kept * (height - top - bottom):.1f}"
            for n, kept in enumerate(year.kept)
        )
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        parts.append(
            f'<text x="{left + 12}" y="{top + 120 + 18 * number}" fill="{colour}">{year.dreamer}</text>'
        )
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12">{"".join(parts)}</svg>\n'
    )
    print(f"plot: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--memories", type=int, default=500)
    asked = parser.parse_args()
    shared = Path("/dev/shm")
    base = Path(tempfile.mkdtemp(dir=shared if os.access(shared, os.W_OK) else None))
    rows, years = [], []
    try:
        for name in ("bad", "deterministic", "bad, unchecked"):
            # What it does unchecked is clear after a few weeks.
            nights = asked.nights // 5 if name == "bad, unchecked" else asked.nights
            year, world = year_of(name, nights, asked.memories, base)
            years.append(year)
            made, no = year.standings["made"], sum(year.reasons.values())
            rows.append([
                name, nights, len(world.store.listing()), len(world.facts),
                f"{min(year.kept):.2%}", f"{min(share for _, share in year.recalled):.2%}",
                made, no, year.ignored, year.unnamed, year.failed,
                round(1000 * year.seconds / nights, 1),
            ])  # fmt: skip
    finally:
        shutil.rmtree(base, ignore_errors=True)
    publish(
        "dream_safety",
        ["dreamer", "dreams", "memories", "facts that hold", "kept (least)", "recalled (least)",
         "changes made", "not made", "files ignored", "without a reason", "failed", "ms a dream"],
        rows,
    )  # fmt: skip
    for year in years[:2]:
        print(f"\n{year.dreamer}:", dict(sorted(year.kinds.items())))
        for reason, count in year.reasons.most_common(25):
            print(f"  {count:6} {reason}")
    plot(years, RESULTS / "dream_safety.svg")


if __name__ == "__main__":
    main()
