"""How fast recall is at 1k, 10k, 100k and 1M memories: one core, warm, words and vectors.

Each size runs in a process of its own, so that its memory can be measured. Texts are made by
joining halves of real sentences (LoCoMo), so that words are as common or rare as in real talk.

    python benchmarks/recall_speed.py [sizes…]
    python benchmarks/recall_speed.py --peers        peers and ours at 1k and 10k, same texts
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from math import log10
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from peers.drivers import installed
from recall_data import locomo
from report import RESULTS, data_folder, milliseconds, publish

from reverie.models.embeddings.local import Missing, default_embedder
from reverie.ports import Embedder
from reverie.recall.documents import MemoryDoc
from reverie.recall.index import RecallIndex

SIZES = (1_000, 10_000, 100_000, 1_000_000)
BARS = {1_000: 10.0, 10_000: 10.0, 100_000: 25.0, 1_000_000: 100.0}
NOW = 1_800_000_000.0
QUESTIONS = 200
PEER_SIZES = (1_000, 10_000)
PEER_COLUMNS = ("who", "memories", "p50 ms", "p95 ms", "taken in, a second")
COLUMNS = (
    *("memories", "p50 ms", "p95 ms", "core p50 ms", "core p95 ms", "bar ms", "words p95 ms"),
    *(
        "build words/s",
        "embed/s",
        "update ms",
        "unchanged scan ms",
        "MB resident",
        "MB on disk",
        "approximate",
    ),
)


def main() -> None:
    match sys.argv[1:]:
        case ["--build", size, folder]:
            print(json.dumps(build(int(size), Path(folder))))
        case ["--ask", folder]:
            print(json.dumps(ask(Path(folder))))
        case ["--peers"]:
            beside = [row for size in PEER_SIZES for row in beside_peers(size)]
            publish("recall_speed_peers", PEER_COLUMNS, beside)
        case sizes:
            rows = [measure(int(size)) for size in sizes or SIZES]
            publish("recall_speed", COLUMNS, [[row[name] for name in COLUMNS] for row in rows])
            plot(rows)


def measure(size: int) -> dict[str, Any]:
    """One size: built in one process, asked in another that knows nothing but the file."""
    with tempfile.TemporaryDirectory() as folder:
        built = _apart("--build", str(size), folder)
        asked = _apart("--ask", folder)
        on_disk = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
    print(f"… {size:,}", flush=True)
    fixed = {"memories": size, "bar ms": BARS.get(size, 0.0), "MB on disk": round(on_disk, 1)}
    return {**fixed, **built, **asked}


def _apart(*given: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, *given],
        env={**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def beside_peers(size: int) -> Iterator[list[Any]]:
    """Ours and each peer with the same texts, by the clock, embedding included."""
    questions, docs = _material(size)
    kept = list(docs())
    with tempfile.TemporaryDirectory() as folder:
        index = RecallIndex.open(Path(folder) / "recall.db", _embedder())
        began = perf_counter()
        index.put_many(kept)
        while index.embed(10).left:
            pass
        built = perf_counter() - began
        taken, _, _ = _times(index, questions)
        index.close()
    yield ["ours", size, quantile(taken, 0.5), quantile(taken, 0.95), round(size / built)]
    texts = {doc.file: f"{doc.name}. {doc.description}\n{doc.body}" for doc in kept}
    for peer in installed():
        found = peer.run(texts, questions, 10)
        p50, p95 = quantile(found.asked, 0.5), quantile(found.asked, 0.95)
        yield [f"peer: {peer.name}", size, p50, p95, round(size / found.built)]
        print(f"… {peer.name}, {size:,}", flush=True)


def build(size: int, folder: Path) -> dict[str, Any]:
    questions, docs = _material(size)
    (folder / "questions.json").write_text(json.dumps(questions))
    by_words = _build(folder / "recall.db", size, docs)
    index = RecallIndex.open(folder / "recall.db", _embedder())
    began = process_time()
    while index.embed(10).left:
        pass
    embedded = size / (process_time() - began)
    index.close()
    return {"build words/s": round(size / by_words), "embed/s": round(embedded)}


def _build(path: Path, size: int, docs: Callable[[], Iterator[MemoryDoc]]) -> float:
    """Seconds of one core for one pass by words; generating the texts is not counted."""
    index = RecallIndex.open(path)
    spent = 0.0
    batch: dict[str, MemoryDoc] = {}
    for doc in docs():
        batch[doc.file] = doc
        if len(batch) == 2_000 or len(batch) == size:
            began = process_time()
            index.put_many(batch.values())
            spent += process_time() - began
            batch.clear()
    index.close()
    return spent


def ask(folder: Path) -> dict[str, Any]:
    """What a process that only asks and updates takes in time and memory."""
    questions = json.loads((folder / "questions.json").read_text())
    words = RecallIndex.open(folder / "recall.db")
    _, by_words, _ = _times(words, questions)
    words.close()
    index = RecallIndex.open(folder / "recall.db", _embedder())
    taken, worked, approximate = _times(index, questions)
    updates = milliseconds(lambda: index.put_many((_changed(),)), 20)
    resident = _resident()
    listing = dict.fromkeys(index.files(), (1, 2, 3))
    scans = milliseconds(lambda: index.refresh(listing, lambda file: None), 5)
    return {
        "p50 ms": quantile(taken, 0.5),
        "p95 ms": quantile(taken, 0.95),
        "core p50 ms": quantile(worked, 0.5),
        "core p95 ms": quantile(worked, 0.95),
        "words p95 ms": quantile(by_words, 0.95),
        "update ms": quantile(updates, 0.5),
        "unchanged scan ms": quantile(scans, 0.5),
        "approximate": approximate,
        "MB resident": round(resident, 1),
    }


def _embedder() -> Embedder:
    found = default_embedder()
    if isinstance(found, Missing):
        sys.exit(f"missing: {found.reason}")
    return found


_COUNTER = count()


def _changed() -> MemoryDoc:
    take = next(_COUNTER)
    return _doc(7, ("changed", f"take {take}", f"This memory was changed {take} times."))


def quantile(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def _times(index: RecallIndex, questions: list[str]) -> tuple[list[float], list[float], bool]:
    """Milliseconds by the clock, milliseconds of one core, and whether any answer was approximate.

    On a machine that others use, too, the second is what the first would be on an idle one.
    """
    for question in questions[:20]:
        index.search(question, now=NOW)
    taken, worked, approximate = [], [], False
    for question in questions:
        began, work_began = perf_counter(), process_time()
        found = index.search(question, now=NOW)
        worked.append((process_time() - work_began) * 1000)
        taken.append((perf_counter() - began) * 1000)
        approximate |= found.approximate
    return taken, worked, approximate


def _resident() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _material(size: int) -> tuple[list[str], Callable[[], Iterator[MemoryDoc]]]:
    corpora = locomo(data_folder())
    turns = [turn.text.split() for corpus in corpora for turn in corpus.turns]
    asked = [question.text for corpus in corpora for question in corpus.questions]
    dice = random.Random(4)
    dice.shuffle(asked)

    def docs() -> Iterator[MemoryDoc]:
        for i in range(size):
            first, second, third = dice.choice(turns), dice.choice(turns), dice.choice(turns)
            body = first[: len(first) // 2] + second[len(second) // 2 :]
            yield _doc(i, (" ".join(third[:4]), " ".join(third[:12]), " ".join(body)))

    return asked[:QUESTIONS], docs


def _doc(number: int, texts: tuple[str, str, str]) -> MemoryDoc:
    kind = ("user", "feedback", "project", "reference")[number % 4]
    created = NOW - number % 700 * 86_400
    return MemoryDoc(f"m{number}.md", (1, 2, 3), *texts, type=kind, created=created)


def plot(rows: list[dict[str, Any]]) -> None:
    """p50, p95 and the bars over size, both on logarithmic scales, as SVG by hand."""

    def at(size: float, ms: float) -> tuple[int, int]:
        return round(60 + (log10(size) - 3) * 160), round(300 - (log10(max(ms, 0.1)) + 1) * 80)

    lines = []
    for column, colour in (("core p50 ms", "#2a7"), ("core p95 ms", "#27a"), ("bar ms", "#c33")):
        places = [at(row["memories"], row[column]) for row in rows]
        points = " ".join(f"{x},{y}" for x, y in places)
        lines.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
        )
        x, y = places[-1]
        lines.append(f'<text x="{x + 6}" y="{y}" fill="{colour}">{column}</text>')
    ticks = [(4, 300 - (power + 1) * 80, f"{10.0**power:g} ms") for power in range(-1, 3)]
    ticks += [(44 + (power - 3) * 160, 320, f"{10**power:,}") for power in range(3, 7)]
    lines += [f'<text x="{x}" y="{y}">{label}</text>' for x, y, label in ticks]
    body = "\n".join(lines)
    (RESULTS / "recall_speed.svg").write_text(
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 330" '
        f'font-family="sans-serif" font-size="12">\n{body}\n</svg>\n'
    )


if __name__ == "__main__":
    main()
