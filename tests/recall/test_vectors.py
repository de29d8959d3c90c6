"""Vectors: exact while few, by signs beyond, always the same for the same file."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from tests.recall.shelf import NOW, HashedWords, files, fill, memory, shelf

from reverie.recall import vectors
from reverie.recall.vectors import Matrix


def filled(rows: np.ndarray) -> Matrix:
    matrix = Matrix(0)
    matrix._add([(i + 1, *vectors.coded(row)) for i, row in enumerate(rows)])
    return matrix


def test_candidates_by_signs_hold_most_of_the_exact_answer(monkeypatch):
    random = np.random.default_rng(7)
    centres = random.standard_normal((60, 256))
    rows = centres[random.integers(0, 60, 12_000)] + 0.8 * random.standard_normal((12_000, 256))
    rows = vectors.unit(rows.astype(np.float32))
    matrix = filled(rows)
    shares = []
    for question in rows[:20]:
        exact = matrix.nearest(question, 50, None)
        monkeypatch.setattr(vectors, "EXACT_ROWS", 5_000)
        fast = matrix.nearest(question, 50, None)
        monkeypatch.setattr(vectors, "EXACT_ROWS", 50_000)
        assert (exact.approximate, fast.approximate) == (False, True)
        shares.append(len(exact.scores.keys() & fast.scores.keys()) / 50)
    assert np.mean(shares) > 0.95


def test_one_byte_a_dimension_keeps_the_cosine():
    random = np.random.default_rng(1)
    rows = vectors.unit(random.standard_normal((200, 256)).astype(np.float32))
    scores = filled(rows).scores(rows[0], range(1, 201))
    assert np.allclose([scores[i + 1] for i in range(200)], rows @ rows[0], atol=0.01)


def test_only_allowed_passages_are_looked_at():
    rows = vectors.unit(np.eye(8, dtype=np.float32))
    assert set(filled(rows).nearest(rows[0], 5, [3, 5, 99]).scores) == {3, 5}


def test_another_process_sees_what_was_added(tmp_path):
    first = shelf(tmp_path, memory("a.md", "alpha"), embedder=HashedWords())
    second = shelf(tmp_path, memory("a.md", "alpha"), embedder=HashedWords())
    assert files(second, "alpha") == ["a.md"]
    fill(first, memory("a.md", "alpha"), memory("b.md", "beta"))
    assert files(second, "beta")[0] == "b.md"
    fill(first, memory("b.md", "beta"))
    assert files(second, "alpha beta") == ["b.md"]


def test_an_index_made_without_a_model_gets_its_vectors_later(tmp_path):
    shelf(tmp_path, memory("a.md", "alpha"), memory("b.md", "beta")).close()
    index = shelf(
        tmp_path, memory("a.md", "alpha"), memory("c.md", "gamma"), embedder=HashedWords()
    )
    results = index.search("alpha", now=NOW)
    assert results.used_semantic
    assert all("semantic" in hit.signals for hit in results.hits)


def test_words_alone_load_neither_numpy_nor_tokenizers():
    code = "import sys, reverie.recall.index; print({'numpy', 'tokenizers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
