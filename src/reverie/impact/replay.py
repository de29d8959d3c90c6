"""Replay: recorded turns are asked again with and without memories, in pairs, in alternating order.

A turn that was shown memories gets the same text again; any other gets what recall finds today on a
copy of the store. Each reply is compared with what was actually done in that turn: the paths,
commands and values that the recorded answer and its tool calls named, but the prompt did not.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from reverie.conversation import transcripts
from reverie.conversation.records import Record, Said
from reverie.core.messages import Attachment, Message, Text, ToolUse, new_message
from reverie.core.request import Head, Options, Request
from reverie.core.usage import Usage
from reverie.errors import ReverieError, SpendCapReached
from reverie.impact.report import is_correction, paired
from reverie.learning.dreaming.facts import values
from reverie.memory.format.attachment import LABEL as RECALL
from reverie.models.metered import MeteredModel
from reverie.ports import complete
from reverie.recall.attachment import Surfaced
from reverie.recall.past_sessions import conversations
from reverie.recall.service import choose_embedder, open_ranker, recall_for
from reverie.recall.usage import uncounted
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from reverie.ports import Model
    from reverie.recall.pipeline import Recall

PURPOSE = "impact"
MOST_OUTPUT = 600

SYSTEM = (
    "Answer the person's last message in a few sentences, as their coding assistant. Use what stands "
    "in the message and nothing else. You cannot run tools here: name the paths, commands and values "
    "you would use. If you do not know, say: I don't know."
)

_UNKNOWN = re.compile(
    r"\b(?:i\s+(?:do\s+not|don['’]t)\s+(?:know|have)|not\s+(?:sure|known|given|mentioned|stated)|"
    r"no\s+information|unknown|cannot\s+(?:tell|say)|can['’]t\s+(?:tell|say))\b",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?<![\w/.-])(?:\.{0,2}/)?(?:[\w.-]+/)+[\w.-]+\w|\b[\w-]+\.(?:py|js|ts|md|toml|ya?ml|json|sql|sh|go|rs)\b"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's reply and its usage."""

    text: str
    usage: Usage = Usage()

    @property
    def abstains(self) -> bool:
        return not self.text.strip() or bool(_UNKNOWN.search(self.text))


def items(text: str) -> frozenset[str]:
    """The checkable items of a text: paths, commands in code marks, numbers, addresses, names."""
    found = {
        one.partition(":")[2] if one.startswith(("url:", "code:")) else one for one in values(text)
    }
    return frozenset({one.casefold() for one in (*found, *_PATH.findall(text)) if len(one) > 1})


def share_of(reply: str, wanted: frozenset[str]) -> float:
    """The share of the wanted items that a reply names."""
    plain = " ".join(reply.split()).casefold()
    found = items(reply)
    return sum(one in found or one in plain for one in wanted) / len(wanted) if wanted else 0.0


@asynccontextmanager
async def open_model(app: Workspace, name: str, cap: float | None) -> AsyncIterator[Model]:
    """A model whose calls are recorded on the ledger and together stay under the cap."""
    model = MeteredModel(
        app.bare_model(name), app.ledger, app.caps(PURPOSE), app.clock, PURPOSE, PURPOSE, most=cap
    )
    try:
        yield model
    finally:
        await model.aclose()


async def ask(model: Model, text: str, *, system: str = SYSTEM) -> Answer:
    options = Options(max_tokens=MOST_OUTPUT)
    head = Head(model.name, (Text(system),), (), options)
    reply = await complete(model, Request(head, (new_message("user", Text(text)),)))
    return Answer(reply.text, reply.usage)


@contextmanager
def recall_on_copy(app: Workspace) -> Iterator[Recall]:
    """Recall over a copy of the memories, so that no question counts as a use or changes a file."""
    with tempfile.TemporaryDirectory(prefix="reverie-impact-") as folder:
        copy = Path(folder) / "memory"
        _copied(app.memory_location.directory, copy)
        other = Workspace.open(
            app.working_folder,
            home=_copied_home(app, Path(folder)),
            overrides=(*app.overrides, f"memory_directory={copy}"),
            clock=app.clock,
        )
        memory = other.memory()
        with open_ranker(memory, app.clock, choose_embedder(app)) as ranker:
            recall = recall_for(other, memory, ranker, None, PURPOSE)
            recall.count = uncounted
            yield recall


def _copied(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*", "*.sqlite*"))
    else:
        target.mkdir(parents=True)


def _copied_home(app: Workspace, folder: Path) -> Path:
    """A home with the memories about the person and nothing else."""
    home = folder / "home"
    home.mkdir()
    person = app.settings.home / "person" / "memory"
    if person.is_dir():
        _copied(person, home / "person" / "memory")
    return home


async def memories_for(recall: Recall, question: str, at: float) -> str:
    """The memories that recall would attach to a message; empty if none fit."""
    recall.surfaced = Surfaced(set(), 0)
    found = await recall.recollect(new_message("user", Text(question), at=at))
    return found.attachment.text if found.attachment else ""


MOST_PAIRS = 20
# How much of the earlier conversation goes with a prompt, in characters.
_BEFORE = 6_000
_LONGEST_MESSAGE = 1_500
_FEWEST_ITEMS = 2
_MOST_ITEMS = 12

Progress = Callable[[int, int], None]

_JUDGE = (
    "You compare two answers to the same message with what was really done. Reply with one word: "
    "FIRST if the first answer fits what was done better, SECOND if the second does, SAME otherwise."
)


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """A prompt, the conversation before it, the memories it was shown, and what was done next."""

    session: str
    prompt: str
    before: str
    shown: str
    done: str
    wanted: frozenset[str]


@dataclass(frozen=True, slots=True)
class Pair:
    """One turn asked both ways: the scores by rules, a model's verdict (-1, 0, 1), and tokens."""

    session: str
    prompt: str
    with_memory: float
    without: float
    judged: float | None
    tokens_with: int
    tokens_without: int
    was_shown: bool

    @property
    def difference(self) -> float:
        return self.with_memory - self.without


def recorded_turns(app: Workspace) -> list[RecordedTurn]:
    """Every turn that can be judged, newest session first, without those that were corrected."""
    found: list[RecordedTurn] = []
    paths = conversations(app.project, {}, user=app.user)
    for name, path in sorted(paths.items(), key=lambda pair: -pair[1].stat().st_mtime):
        try:
            found += turns_of(name, transcripts.load(path).records)
        except ReverieError:
            continue
    # Turns that were shown memories come first, as they matter most.
    return sorted(found, key=lambda turn: not turn.shown)


def turns_of(session: str, records: Sequence[Record]) -> Iterator[RecordedTurn]:
    messages = [record.message for record in records if isinstance(record, Said)]
    prompts = [n for n, one in enumerate(messages) if one.origin == "user" and one.text.strip()]
    for n, at in enumerate(prompts):
        end = prompts[n + 1] if n + 1 < len(prompts) else len(messages)
        following = messages[end].text if end < len(messages) else ""
        if is_correction(following):
            continue
        prompt = messages[at].text
        done = "\n".join(_done(message) for message in messages[at + 1 : end])
        before = _before(messages[:at])
        named = items(done) - items(prompt) - items(before)
        wanted = frozenset(sorted(named)[:_MOST_ITEMS])
        if len(wanted) >= _FEWEST_ITEMS and not prompt.startswith("<"):
            yield RecordedTurn(session, prompt, before, _shown(messages[at]), done, wanted)


def _done(message: Message) -> str:
    """An assistant's text and the arguments of its calls, without the results of tools."""
    if message.role != "assistant":
        return ""
    parts = [block.text for block in message.blocks if isinstance(block, Text)]
    parts += [f"`{value}`" for block in message.blocks if isinstance(block, ToolUse)
              for value in block.input.values() if isinstance(value, str) and len(value) < 200]  # fmt: skip
    return "\n".join(parts)


def _before(messages: Sequence[Message]) -> str:
    lines: list[str] = []
    room = _BEFORE
    for message in reversed(messages):
        text = message.text.strip()[:_LONGEST_MESSAGE]
        if not text or message.origin not in ("user", "assistant"):
            continue
        room -= len(text)
        if room < 0:
            break
        lines.insert(0, f"{message.origin}: {text}")
    return "\n\n".join(lines)


def _shown(message: Message) -> str:
    found = (b.text for b in message.blocks if isinstance(b, Attachment) and b.label == RECALL)
    return "\n\n".join(found)


def asked(turn: RecordedTurn, memories: str) -> str:
    """The single message that replays a turn."""
    parts = [f"So far:\n\n{turn.before}" if turn.before else ""]
    parts += [f"Notes from earlier sessions:\n\n{memories}" if memories else ""]
    parts += [f"The person now says:\n\n{turn.prompt}"]
    return "\n\n---\n\n".join(part for part in parts if part)


async def replay(
    app: Workspace,
    model: str,
    *,
    most: int = MOST_PAIRS,
    cap: float | None = None,
    judge: str = "",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Ask the recorded turns both ways; stops at the cap and reports the results so far."""
    turns = recorded_turns(app)
    pairs: list[Pair] = []
    stopped = ""
    with recall_on_copy(app) as recall:
        async with (
            open_model(app, model, cap) as asking,
            open_model(app, judge or model, cap) as judging,
        ):
            for turn in turns:
                if len(pairs) >= most:
                    break
                memories = turn.shown or await memories_for(recall, turn.prompt, app.clock.now())
                if not memories:
                    continue
                try:
                    first = len(pairs) % 2 == 0
                    answers = await _pair(asking, turn, memories, first=first)
                    won = await _judged(judging, turn, *answers, first=first) if judge else None
                except SpendCapReached as error:
                    stopped = str(error)
                    break
                pairs.append(_scored(turn, *answers, won))
                if progress is not None:
                    progress(len(pairs), min(most, len(turns)))
    return summary(pairs, model, app.clock.now(), judge=judge, stopped=stopped)


async def _pair(
    model: Model, turn: RecordedTurn, memories: str, *, first: bool
) -> tuple[Answer, Answer]:
    texts = (asked(turn, memories), asked(turn, ""))
    if first:
        with_memory = await ask(model, texts[0])
        return with_memory, await ask(model, texts[1])
    without = await ask(model, texts[1])
    return await ask(model, texts[0]), without


async def _judged(
    model: Model, turn: RecordedTurn, with_memory: Answer, without: Answer, *, first: bool
) -> float:
    """A model's verdict. The order of the answers alternates, and the model is not told which is which."""
    order = (with_memory, without) if first else (without, with_memory)
    text = (
        f"The message:\n{turn.prompt}\n\nWhat was done:\n{turn.done[:4_000]}\n\n"
        f"First answer:\n{order[0].text}\n\nSecond answer:\n{order[1].text}"
    )
    reply = (await ask(model, text, system=_JUDGE)).text.upper()
    won = 1.0 if "FIRST" in reply else -1.0 if "SECOND" in reply else 0.0
    return won if first else -won


def _scored(turn: RecordedTurn, with_memory: Answer, without: Answer, judged: float | None) -> Pair:
    return Pair(
        turn.session,
        turn.prompt[:200],
        share_of(with_memory.text, turn.wanted),
        share_of(without.text, turn.wanted),
        judged,
        with_memory.usage.context,
        without.usage.context,
        bool(turn.shown),
    )


def summary(
    pairs: Sequence[Pair], model: str, at: float, *, judge: str = "", stopped: str = ""
) -> dict[str, Any]:
    """The report: means, the interval of the difference, harm, and a verdict in words."""
    difference = paired([pair.difference for pair in pairs])
    better = sum(pair.difference > 0 for pair in pairs)
    worse = sum(pair.difference < 0 for pair in pairs)
    extra = fmean([pair.tokens_with - pair.tokens_without for pair in pairs]) if pairs else 0.0
    columns = [
        "judge",
        "pairs",
        "with",
        "without",
        "difference",
        "95 % interval",
        "better",
        "worse (harm)",
    ]
    rows = []
    if pairs:
        means = [
            fmean([pair.with_memory for pair in pairs]),
            fmean([pair.without for pair in pairs]),
        ]
        rows.append(
            ["rules", len(pairs), *(f"{mean:.2f}" for mean in means), f"{difference.mean:+.2f}",
             f"{difference.low:+.2f} … {difference.high:+.2f}", better, worse]
        )  # fmt: skip
    verdicts = [pair.judged for pair in pairs if pair.judged is not None]
    if verdicts:
        by_model = paired(verdicts)
        rows.append(
            [judge, len(verdicts), "", "", f"{by_model.mean:+.2f}",
             f"{by_model.low:+.2f} … {by_model.high:+.2f}", sum(v > 0 for v in verdicts), sum(v < 0 for v in verdicts)]
        )  # fmt: skip
    note = f"{extra:+,.0f} tokens a turn with memories"
    return {
        "at": at,
        "model": model,
        "note": f"{note}; stopped: {stopped}" if stopped else note,
        "columns": columns,
        "rows": rows,
        "difference": difference.as_json(),
        "better": better,
        "worse": worse,
        "verdict": in_words(difference.verdict),
        "pairs": [
            {"session": p.session, "prompt": p.prompt, "with": p.with_memory, "without": p.without,
             "judged": p.judged, "was_shown": p.was_shown} for p in pairs
        ],
    }  # fmt: skip


def in_words(verdict: str) -> str:
    return {
        "nothing to compare": "Nothing to compare: no recorded turn could be asked both ways.",
        "directional": "Fewer than 5 pairs: directional only.",
        "no difference": "No difference could be shown.",
        "higher": "Memory helps: the interval lies above zero.",
        "lower": "Memory harms: the interval lies below zero.",
    }[verdict]
