"""Peers as ranking methods: each runs in its own interpreter and is spoken to in JSON lines.

`REVERIE_PEERS` is the folder of an environment with the peers installed (CONTRIBUTING says how);
without it, or without a peer in it, that row is said not to have run.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recall_data import Asked, Corpus
    from recall_methods import Method

PEERS = ("chroma", "mem0")


@dataclass(frozen=True, slots=True)
class Answers:
    """Ids for each question, the seconds it took to take everything in, milliseconds a question."""

    found: list[list[str]]
    built: float
    asked: list[float]


@dataclass(frozen=True, slots=True)
class Peer:
    """A memory system in an environment of its own."""

    name: str
    python: Path
    script: Path

    def run(self, texts: dict[str, str], questions: Sequence[str], count: int) -> Answers:
        """Texts by their id go in, then the questions are asked, one after the other."""
        turns = [{"id": name, "text": text} for name, text in texts.items()]
        done = subprocess.run(
            [self.python, self.script],
            input=json.dumps({"turns": turns, "questions": list(questions), "count": count}),
            capture_output=True,
            text=True,
            check=True,
        )
        return Answers(**json.loads(done.stdout.splitlines()[-1]))


def installed() -> Iterator[Peer]:
    """Each peer that can be started."""
    python = Path(os.environ.get("REVERIE_PEERS") or "/nonexistent") / "bin" / "python"
    for name in PEERS:
        script = Path(__file__).parent / f"{name}_peer.py"
        started = python.exists() and subprocess.run(
            [python, script, "--check"], capture_output=True, check=False
        )
        if not started or started.returncode:
            print(f"not run: {name} (set REVERIE_PEERS to an environment that has it)")
            continue
        yield Peer(name, python, script)


def peers() -> Iterator[tuple[str, Method]]:
    """The peers as methods that rank turns."""
    for peer in installed():
        yield f"peer: {peer.name}", _method(peer)


def _method(peer: Peer) -> Method:
    return lambda corpus: PeerRanker(corpus, peer)


class PeerRanker:
    """One peer with one corpus in it."""

    def __init__(self, corpus: Corpus, peer: Peer) -> None:
        self._session = {turn.id: turn.session for turn in corpus.turns}
        texts = {t.id: f"{t.speaker}: {t.text}" if t.speaker else t.text for t in corpus.turns}
        asked = [question.text for question in corpus.questions]
        answers = peer.run(texts, asked, 60)
        self._found = dict(zip(asked, answers.found, strict=True))

    def turns(self, asked: Asked, count: int) -> list[str]:
        return self._found[asked.text][:count]

    def sessions(self, asked: Asked) -> list[str]:
        names = [self._session[name] for name in self._found[asked.text]]
        return list(dict.fromkeys(names))
