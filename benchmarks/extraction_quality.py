"""How well the rules find memories without a model: precision and recall on labelled turns.

`extraction_turns.jsonl` holds two kinds of rows. A written turn has its text (`said`, and `before`
when the assistant spoke first), the types that are right (`types`, empty when nothing may be kept) and
the words the memory must come from (`holds`). A turn of a real session is only named: the session,
and which of its messages hold `nothing` or a memory of some type; those rows need REVERIE_DATA. A turn
of a chat (LongMemEval) is named when something in it is worth keeping; whatever the rules find in any
other turn of those chats counts as wrong, and what they miss there is not counted. The rules were
mended after a look at those chats, so that row shows what is known, not what is to be expected.

`messages/` holds strangers' messages, each with the sentences in it that are worth keeping; no rule was
written after a look at them.

Written turns are split by the digest of their id: rules are tuned on one half (`dev`), the other
half (`held out`) is only counted.

    python benchmarks/extraction_quality.py [--errors] [--written]
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from report import data_folder, publish

from reverie.conversation import transcripts
from reverie.conversation.records import Said
from reverie.core.messages import Message, Text, new_message
from reverie.learning.extraction.candidates import Candidate
from reverie.learning.extraction.rules import find

TURNS = Path(__file__).with_name("extraction_turns.jsonl")
MESSAGES = Path(__file__).with_name("messages")
BAR = 0.95
# A memory is one of the sentences to keep when it holds this share of its words.
SAME = 0.6
_WORD = re.compile(r"\w{3,}")


@dataclass(frozen=True, slots=True)
class Turn:
    """One labelled turn: `types` empty means that nothing in it may become a memory."""

    part: str
    messages: tuple[Message, ...]
    types: tuple[str, ...]
    holds: str
    why: str

    @property
    def group(self) -> str:
        """The language of a written turn, by its label."""
        first = self.why.split()[0]
        return {"de": "German", "fr": "French", "es": "Spanish"}.get(first, "English")


@dataclass(frozen=True, slots=True)
class Outcome:
    turn: Turn
    right: tuple[Candidate, ...]
    wrong: tuple[Candidate, ...]

    @property
    def missed(self) -> bool:
        return bool(self.turn.types) and not self.right


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument(
        "--errors", action="store_true", help="print what is wrong in the dev half"
    )
    options.add_argument("--written", action="store_true", help="leave out what needs REVERIE_DATA")
    chosen = options.parse_args()
    rows = [json.loads(line) for line in TURNS.read_text("utf-8").splitlines()]
    turns = [_written(row) for row in rows if "said" in row]
    if not chosen.written:
        turns += _real(rows)
    outcomes = [_judged(turn) for turn in turns]
    if chosen.errors:
        _print_errors(outcomes)
    columns = ("turns", "labelled", "with memory", "found", "right", "precision", "recall", "bar")
    publish("extraction_quality", columns, list(_table(outcomes)))


def _real(rows: list[dict[str, Any]]) -> Iterator[Turn]:
    for row in rows:
        if "session" in row:
            yield from _recorded(row)
    yield from _chats(
        {(row["chat"], row["turn"]): tuple(row["types"]) for row in rows if "chat" in row}
    )


def _table(outcomes: list[Outcome]) -> Iterator[tuple[Any, ...]]:
    held = [one for one in outcomes if one.turn.part == "held out"]
    for part in ("dev", "held out", "real sessions", "real chats, seen"):
        if mine := [one for one in outcomes if one.turn.part == part]:
            yield _row(part, mine)
    for group in ("English", "German", "French", "Spanish"):
        yield _row(f"held out, {group}", [one for one in held if one.turn.group == group])
    for file in sorted(MESSAGES.glob("*.jsonl")):
        yield _strangers(file)


def _strangers(file: Path) -> tuple[Any, ...]:
    """A message may hold several sentences to keep: recall counts sentences, not messages."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    found = right = kept = 0
    for row in rows:
        texts = [
            one.text for one in find([new_message("user", Text(row["message"]))]) if not one.doubt
        ]
        found += len(texts)
        right += sum(any(_shares(text, keep) for keep in row["keep"]) for text in texts)
        kept += sum(any(_shares(text, keep) for text in texts) for keep in row["keep"])
    sentences = sum(len(row["keep"]) for row in rows)
    name = f"messages, {file.stem} author"
    return name, len(rows), sentences, found, right, right / found, kept / sentences, ""


def _shares(memory: str, keep: str) -> bool:
    mine, theirs = set(_WORD.findall(memory.casefold())), set(_WORD.findall(keep.casefold()))
    return len(mine & theirs) >= SAME * min(len(mine), len(theirs))


def _row(name: str, outcomes: list[Outcome]) -> tuple[Any, ...]:
    with_memory = sum(bool(one.turn.types) for one in outcomes)
    right = sum(len(one.right) for one in outcomes)
    found = right + sum(len(one.wrong) for one in outcomes)
    hits = sum(bool(one.right) for one in outcomes)
    precision = right / found if found else "–"
    recall = hits / with_memory if with_memory and name != "real chats, seen" else "–"
    bar = BAR if name == "held out" else ""
    return name, len(outcomes), with_memory, found, right, precision, recall, bar


def _judged(turn: Turn) -> Outcome:
    """Right: the type is one that fits, and the words are those that were labelled; each turn once."""
    # What may have been pasted is found too, but goes to the inbox.
    found = [one for one in find(turn.messages) if not one.doubt]
    right = tuple(one for one in found if one.type in turn.types and _from(one, turn.holds))[:1]
    return Outcome(turn, right, tuple(one for one in found if one not in right))


def _from(candidate: Candidate, holds: str) -> bool:
    mine, theirs = _plain(candidate.text), _plain(holds)
    return mine in theirs or theirs in mine


def _plain(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _written(row: dict[str, Any]) -> Turn:
    digest = hashlib.blake2b(row["id"].encode(), digest_size=1).digest()[0]
    before = new_message("assistant", Text(row["before"])) if "before" in row else None
    said = new_message("user", Text(row["said"]), after=before)
    messages = (said,) if before is None else (before, said)
    part = "dev" if digest % 2 else "held out"
    return Turn(part, messages, tuple(row["types"]), row.get("holds", ""), row["why"])


def _recorded(row: dict[str, Any]) -> Iterator[Turn]:
    """The turns of a real session, each with what the assistant said last before it."""
    messages = _messages(row["session"])
    labels = dict.fromkeys(row["nothing"], ())
    labels |= {index: tuple(types) for types, index in row.get("memory", ())}
    for index, types in sorted(labels.items()):
        said = messages[index]
        earlier = [
            one for one in messages[:index] if one.origin == "assistant" and one.text.strip()
        ]
        yield Turn("real sessions", (*earlier[-1:], said), types, said.text, "real")


def _chats(labels: dict[tuple[str, int], tuple[str, ...]]) -> Iterator[Turn]:
    """Every turn of the chats, each session once."""
    seen: set[str] = set()
    with gzip.open(data_folder() / "longmemeval" / "dev.json.gz") as file:
        questions = json.load(file)
    for question in questions:
        ids, sessions = question["haystack_session_ids"], question["haystack_sessions"]
        for chat, session in zip(ids, sessions, strict=True):
            if chat not in seen:
                seen.add(chat)
                yield from _chat(chat, session, labels)


def _chat(
    chat: str, session: list[dict[str, str]], labels: dict[tuple[str, int], tuple[str, ...]]
) -> Iterator[Turn]:
    before: tuple[Message, ...] = ()
    for at, turn in enumerate(session):
        text = Text(turn["content"])
        if turn["role"] == "user":
            said = (*before, new_message("user", text))
            yield Turn(
                "real chats, seen", said, labels.get((chat, at), ()), turn["content"], "real"
            )
        else:
            before = (new_message("assistant", text),)


def _messages(session: str) -> list[Message]:
    path = next((data_folder() / "claude_sessions").glob(f"{session}*.jsonl.gz"))
    return [r.message for r in transcripts.load(path).records if isinstance(r, Said)]


def _print_errors(outcomes: list[Outcome]) -> None:
    kinds: Counter[str] = Counter()
    for one in outcomes:
        if one.turn.part == "held out":
            continue
        said = one.turn.messages[-1].text[:160]
        for wrong in one.wrong:
            kinds["wrong"] += 1
            print(f"wrong  {wrong.type}: {wrong.text!r} ← {said!r} (label {one.turn.types})")
        if one.missed:
            kinds["missed"] += 1
            print(f"missed {'/'.join(one.turn.types)}: {said!r}")
    print(dict(kinds))


if __name__ == "__main__":
    main()
