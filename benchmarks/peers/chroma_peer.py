"""Chroma with the same static embedding: turns and questions in, ids and times out, as one JSON line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import chromadb
import numpy as np
import wordllama


def embedder() -> Any:
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(cache_dir=folder, disable_download=True)


def main() -> None:
    if "--check" in sys.argv:
        return
    given = json.load(sys.stdin)
    model = embedder()
    client = chromadb.EphemeralClient()
    shelf = client.get_or_create_collection("turns", metadata={"hnsw:space": "cosine"})
    turns = given["turns"]
    began = perf_counter()
    for start in range(0, len(turns), 500):
        part = turns[start : start + 500]
        texts = [turn["text"].strip() or "." for turn in part]
        shelf.add(
            ids=[t["id"] for t in part], embeddings=np.asarray(model.embed(texts)), documents=texts
        )
    built = perf_counter() - began
    found, asked = [], []
    for question in given["questions"]:
        began = perf_counter()
        rows = np.asarray(model.embed([question]))
        hits = shelf.query(query_embeddings=rows, n_results=min(given["count"], len(turns)))
        asked.append((perf_counter() - began) * 1000)
        found.append(hits["ids"][0])
    print(json.dumps({"found": found, "built": built, "asked": asked}))


if __name__ == "__main__":
    main()
