"""Peers as ranking methods: each runs in its own interpreter and is spoken to in JSON lines.

`REVERIE_PEERS` is the folder of an environment with the peers installed (CONTRIBUTING says how);
without it, or without a peer in it, that row is said not to have run.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recall_data import Asked, Corpus
    from recall_methods import Method

PEERS = ("chroma", "mem0")


def peers() -> Iterator[tuple[str, Method]]:
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
        yield f"peer: {name}", _method(python, script)


def _method(python: Path, script: Path) -> Callable[[Corpus], Peer]:
    return lambda corpus: Peer(corpus, python, script)


class Peer:
    """One peer with one corpus in it."""

    def __init__(self, corpus: Corpus, python: Path, script: Path) -> None:
        self._session = {turn.id: turn.session for turn in corpus.turns}
        turns = [
            {"id": t.id, "text": f"{t.speaker}: {t.text}" if t.speaker else t.text}
            for t in corpus.turns
        ]
        asked = [question.text for question in corpus.questions]
        done = subprocess.run(
            [python, script],
            input=json.dumps({"turns": turns, "questions": asked, "count": 60}),
            capture_output=True,
            text=True,
            check=True,
        )
        answers = json.loads(done.stdout.splitlines()[-1])
        self._found = dict(zip(asked, answers, strict=True))

    def turns(self, asked: Asked, count: int) -> list[str]:
        return [str(name) for name in self._found[asked.text][:count]]

    def sessions(self, asked: Asked) -> list[str]:
        names = [self._session[name] for name in self._found[asked.text]]
        return list(dict.fromkeys(names))
