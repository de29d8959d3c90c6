"""Does memory help? Probes and replay end to end, with a real local model where one runs.

Three stores are made: one whose memories are right, one whose memories are about something else, and one
whose memories are wrong. The measurement must tell the three apart. A llama.cpp server or Ollama on its
usual port is asked if one runs (or --base-url and --model); otherwise a model that only reads stands in.
With REVERIE_DATA the outcomes of its recorded sessions are counted, too.

LoCoMo and LongMemEval: --questions FILE.json (a list of {"context", "question", "answer"}) asks each with
its context, without, and with the context of another question, where a right answer would be a guess.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import os
import random
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from reading_model import reading_model
from recall_data import locomo
from report import data_folder

from reverie.conversation import transcripts
from reverie.conversation.journal import Journal
from reverie.conversation.records import Opened, Said
from reverie.core.messages import Attachment, Text, new_message
from reverie.errors import ReverieError
from reverie.impact.probes import run_probes
from reverie.impact.replay import ask, items, open_model, replay, share_of
from reverie.impact.report import MEASURES, CountedSession, count_session, paired, with_repeats
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.workspace import Workspace

LOCAL = {"llama.cpp": "http://127.0.0.1:8080/v1", "Ollama": "http://127.0.0.1:11434/v1"}
SERVICES = (
    "billing", "search", "ledger", "mailer", "gateway", "catalog", "scheduler", "archive", "printer", "router",
)  # fmt: skip
NOON = 1_750_000_000.0


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--base-url", help="an OpenAI-compatible server")
    options.add_argument("--model", help="its model")
    options.add_argument("--key-env", default="", help="the variable that holds its key")
    options.add_argument("--most", type=int, default=10, help="pairs and probes a store")
    options.add_argument("--questions", type=Path, help="question answering with a context each")
    options.add_argument(
        "--locomo", action="store_true", help="the questions of LoCoMo 5 to 10 (needs REVERIE_DATA)"
    )
    given = options.parse_args()
    if given.questions or given.locomo:
        with _model(given, "unrelated") as (name, settings):
            print(f"model: {name}\n")
            asyncio.run(_questions(given, settings))
        return
    for kind in ("right", "unrelated", "wrong"):
        with _model(given, kind) as (name, settings):
            print(f"model: {name}\n")
            _store(kind, settings, given.most)
    _recorded()


# --- the model ---


@contextmanager
def _model(given: argparse.Namespace, kind: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The model's name and the settings that reach it; the one that only reads knows what memory lacks."""
    found = {"given": given.base_url} if given.base_url else LOCAL
    for title, url in found.items():
        model = given.model or _first_model(url)
        if model:
            key = (f"providers.local.api_key_env={given.key_env}",) if given.key_env else ()
            settings = ("providers.local.kind=openai", f"providers.local.base_url={url}", *key)
            yield f"{title}, {model}", (f"models.main=local:{model}", *settings)
            return
    if given.base_url:
        sys.exit(f"no model answers at {given.base_url}; give --model")
    known = () if kind == "right" else enumerate(SERVICES)
    knowledge = {f"{name} service": _right(n) for n, name in known}
    with reading_model(knowledge) as settings:
        yield "none runs here; one that only reads", ("models.main=reader:reader", *settings)


def _first_model(url: str) -> str:
    try:
        with urllib.request.urlopen(f"{url}/models", timeout=2) as answer:
            return str(json.load(answer)["data"][0]["id"])
    except (OSError, ValueError, KeyError, IndexError):
        return ""


# --- three stores ---


def _right(n: int) -> str:
    return f"The {SERVICES[n]} service listens on port {7_100 + n} of host node-{n}x."


def _memory(kind: str, n: int) -> str:
    if kind == "right":
        return _right(n)
    if kind == "wrong":
        return f"The {SERVICES[n]} service listens on port {8_000 + n} of host old-{n}y."
    return f"Holiday rota number {n}: Kim covers the weekend."


def _store(kind: str, settings: Sequence[str], most: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "project"
        root.mkdir()
        app = Workspace.open(root, home=Path(folder) / "home", overrides=tuple(settings))
        for n in range(len(SERVICES)):
            _session(app, kind, n)
            app.remember(NewMemory(_memory(kind, n), "project"), Author("user"))
        name = app.settings.model("main")
        replayed = asyncio.run(replay(app, name, most=most))
        _table(f"memories that are {kind}: replay", replayed)
        if kind == "right":
            _table("memories that are right: probes", asyncio.run(run_probes(app, name, most=most)))


def _session(app: Workspace, kind: str, n: int) -> None:
    """A session that was shown a memory of the kind, and was answered rightly."""
    prompt = Text(f"On which port and host does the {SERVICES[n]} service listen?")
    shown = Attachment("recall", _memory(kind, n))
    with Journal(app.project.journal(f"s{n}")) as journal:
        journal.append(
            Opened(f"s{n}", NOON),
            Said(new_message("user", prompt, shown, at=NOON)),
            Said(new_message("assistant", Text(_right(n)), at=NOON + 9, response="r")),
        )


def _table(title: str, found: dict[str, Any]) -> None:
    print(f"## {title}\n")
    rows = [found["columns"], *found["rows"]]
    widths = [max(len(str(row[n])) for row in rows) for n in range(len(rows[0]))]
    for row in rows:
        print(
            "  ".join(
                str(cell).ljust(width) for cell, width in zip(row, widths, strict=True)
            ).rstrip()
        )
    print(f"\n{found['verdict']} ({found['note']})\n")


# --- recorded sessions ---


def _recorded() -> None:
    """Outcomes of real sessions, and how many of their turns could be replayed."""
    folder = os.environ.get("REVERIE_DATA")
    if not folder:
        print("REVERIE_DATA is not set: no recorded sessions are counted")
        return
    paths = sorted(Path(folder, "claude_sessions").rglob("*.jsonl*"))
    found: list[CountedSession] = []
    for path in paths:
        try:
            found.append(count_session(path.stem, transcripts.load(path).records))
        except ReverieError:
            continue
    outcomes = with_repeats(found)
    print(f"## {len(outcomes)} recorded sessions\n")
    for name in MEASURES:
        values = [getattr(one, name) for one in outcomes]
        print(
            f"{name.replace('_', ' '):22} {sum(values):14,.0f}  {sum(values) / len(values):12,.2f} a session"
        )


# --- question answering with wrong-answer controls ---


def _locomo() -> list[dict[str, str]]:
    """The questions of LoCoMo that have an answer, each with the sessions that hold its evidence."""
    folder = data_folder()
    with gzip.open(folder / "locomo" / "locomo10.json.gz") as file:
        conversations = json.load(file)
    answers = {
        qa["question"]: str(qa.get("answer", "")) for one in conversations for qa in one["qa"]
    }
    rows = []
    for corpus in (one for one in locomo(folder) if not one.dev):
        of_turn = {turn.id: turn.session for turn in corpus.turns}
        for asked in corpus.questions:
            answer = answers[asked.text]
            sessions = {of_turn[id_] for id_ in asked.gold}
            said = [f"{t.speaker}: {t.text}" for t in corpus.turns if t.session in sessions]
            if asked.kind in ("single", "multi") and said and answer:
                rows.append({"context": "\n".join(said), "question": asked.text, "answer": answer})
    random.Random(7).shuffle(rows)
    return rows


async def _questions(given: argparse.Namespace, settings: Sequence[str]) -> None:
    rows = _locomo() if given.locomo else json.loads(given.questions.read_text("utf-8"))
    rows = rows[: given.most]
    with tempfile.TemporaryDirectory() as folder:
        app = Workspace.open(Path(folder), home=Path(folder) / "home", overrides=tuple(settings))
        async with open_model(app, app.settings.model("main"), None) as model:
            scores: dict[str, list[float]] = {"with": [], "without": [], "another's context": []}
            for n, row in enumerate(rows):
                contexts = (row["context"], "", rows[(n + 1) % len(rows)]["context"])
                wanted = items(row["answer"]) or frozenset({row["answer"].casefold()})
                for way, context in zip(scores, contexts, strict=True):
                    text = f"{context}\n\n---\n\n{row['question']}" if context else row["question"]
                    scores[way].append(share_of((await ask(model, text)).text, wanted))
    for way, values in scores.items():
        print(f"{way:20} {sum(values) / len(values):.2f}")
    difference = paired([a - b for a, b in zip(scores["with"], scores["without"], strict=True)])
    print(
        f"with − without: {difference.mean:+.2f} ({difference.low:+.2f} … {difference.high:+.2f})"
    )


if __name__ == "__main__":
    main()
