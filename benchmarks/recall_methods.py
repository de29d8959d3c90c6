"""Ways to rank turns for a question: plain BM25, an embedding alone, and ours."""

from __future__ import annotations

import hashlib
import os
import pickle
import sqlite3
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from recall_data import Asked, Corpus

from reverie.models.embeddings.local import Missing, default_embedder
from reverie.ports import Embedder, TextKind
from reverie.recall import queries
from reverie.recall.documents import Episode, Results
from reverie.recall.index import RecallIndex
from reverie.recall.vectors import encoded
from reverie.text.words import ENGLISH

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CACHE = Path(os.environ.get("REVERIE_BENCH_CACHE") or Path(tempfile.gettempdir()) / "reverie-bench")


class Ranker(Protocol):
    """Turn ids and session names for a question, best first."""

    def turns(self, asked: Asked, count: int) -> list[str]: ...

    def sessions(self, asked: Asked) -> list[str]: ...


Method = Callable[[Corpus], Ranker]


class Bm25:
    """FTS5 with its own porter stemmer; stop words left out of the question. Nothing else."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE t USING fts5(text, tokenize='porter unicode61')")
        self._db.execute("CREATE VIRTUAL TABLE s USING fts5(text, tokenize='porter unicode61')")
        texts = [(f"{t.speaker}: {t.text}" if t.speaker else t.text,) for t in corpus.turns]
        self._db.executemany("INSERT INTO t(text) VALUES (?)", texts)
        self._sessions = list(dict.fromkeys(turn.session for turn in corpus.turns))
        for name in self._sessions:
            said = [t.text for t in corpus.turns if t.session == name and t.role == "user"]
            self._db.execute("INSERT INTO s(text) VALUES (?)", ("\n".join(said),))

    def turns(self, asked: Asked, count: int) -> list[str]:
        return [self._corpus.turns[row - 1].id for row in self._rows("t", asked)[:count]]

    def sessions(self, asked: Asked) -> list[str]:
        return [self._sessions[row - 1] for row in self._rows("s", asked)]

    def _rows(self, table: str, asked: Asked) -> list[int]:
        words = "".join(c if c.isalnum() else " " for c in asked.text.lower()).split()
        kept = [word for word in words if word not in ENGLISH] or words
        rows = self._db.execute(
            f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rank, rowid",
            (" OR ".join(f'"{word}"' for word in kept),),
        )
        return [row[0] for row in rows]


class EmbeddingAlone:
    """Cosine with each turn; the best turn speaks for its session."""

    def __init__(self, corpus: Corpus, embedder: Embedder) -> None:
        self._corpus = corpus
        self._embedder = embedder
        texts = [f"{t.speaker}: {t.text}" if t.speaker else t.text for t in corpus.turns]
        self._rows = encoded(embedder, texts, "passage")

    def turns(self, asked: Asked, count: int) -> list[str]:
        return [self._corpus.turns[i].id for i in self._order(asked)[:count]]

    def sessions(self, asked: Asked) -> list[str]:
        names = [self._corpus.turns[i].session for i in self._order(asked)]
        return list(dict.fromkeys(names))

    def _order(self, asked: Asked) -> list[int]:
        scores = self._rows @ encoded(self._embedder, [asked.text], "question")[0]
        return [int(i) for i in (-scores).argsort(kind="stable")]


class Ours:
    """The recall index as it ships."""

    def __init__(self, corpus: Corpus, embedder: Embedder | None) -> None:
        self._folder = tempfile.TemporaryDirectory()
        static = None if embedder is None else default_embedder()
        words = None if isinstance(static, Missing) else static
        path = Path(self._folder.name) / "recall.db"
        self.index = RecallIndex.open(path, embedder, words=words)
        by_session: dict[str, list[Episode]] = {}
        for t in corpus.turns:
            message = Episode(t.id, t.role, t.at, t.text, t.speaker)
            by_session.setdefault(t.session, []).append(message)
        for session, messages in by_session.items():
            self.index.add_episodes(session, messages)

    def turns(self, asked: Asked, count: int) -> list[str]:
        return [hit.key for hit in self._search(asked, count).hits]

    def sessions(self, asked: Asked) -> list[str]:
        return [hit.session for hit in self._search(asked, 1).sessions]

    def _search(self, asked: Asked, count: int) -> Results:
        question = queries.plain(asked.text)
        return self.index.search(question, now=asked.now, limit=count, collection="episodes")


class Cached:
    """An embedder that remembers on disk: a slow model is asked once for each text."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.name = embedder.name
        self.context = embedder.context
        self.together = embedder.together
        self.portion = embedder.portion
        self.apart = embedder.apart
        self._path = CACHE / f"{embedder.name}.pickle"
        self._known: dict[bytes, NDArray[np.float16]] = {}
        self._fresh = 0
        if self._path.exists():
            self._known = pickle.loads(self._path.read_bytes())

    def encode(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415 - only with vectors

        keys = [_key(kind, text) for text in texts]
        missing = list(
            {k: t for k, t in zip(keys, texts, strict=True) if k not in self._known}.items()
        )
        if missing:
            rows = self._embedder.encode([text for _, text in missing], kind)
            for (key, _), row in zip(missing, rows, strict=True):
                self._known[key] = row.astype(np.float16)
            self._fresh += len(missing)
        return np.stack([self._known[key] for key in keys]).astype(np.float32)

    def save(self) -> None:
        if self._fresh:
            CACHE.mkdir(parents=True, exist_ok=True)
            self._path.write_bytes(pickle.dumps(self._known))
            self._fresh = 0


def _key(kind: str, text: str) -> bytes:
    return hashlib.blake2b(f"{kind}\0{text}".encode("utf-8", "replace"), digest_size=16).digest()
