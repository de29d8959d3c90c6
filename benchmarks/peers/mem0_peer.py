"""mem0 as it stores without a language model (`infer=False`), with the same static embedding."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

os.environ["MEM0_TELEMETRY"] = "False"

import wordllama
from mem0 import Memory


class Embedding:
    """The model behind mem0's own interface."""

    def __init__(self) -> None:
        folder = Path(wordllama.__file__).parent
        self._model = wordllama.WordLlama.load(cache_dir=folder, disable_download=True)

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        return [float(x) for x in self._model.embed([text.strip() or "."])[0]]

    def embed_batch(self, texts: list[str], memory_action: str | None = None) -> list[list[float]]:
        return [self.embed(text) for text in texts]


def opened(folder: str) -> Any:
    store = {"path": folder, "embedding_model_dims": 256, "collection_name": "turns"}
    memory = Memory.from_config(
        {
            "vector_store": {"provider": "qdrant", "config": store},
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "embedder": {"provider": "openai", "config": {"api_key": "none"}},
            "history_db_path": f"{folder}/history.db",
        }
    )
    memory.embedding_model = Embedding()
    return memory


def main() -> None:
    if "--check" in sys.argv:
        return
    given = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        memory = opened(folder)
        began = perf_counter()
        for turn in given["turns"]:
            text = turn["text"].strip() or "."
            memory.add(text, user_id="u", infer=False, metadata={"turn": turn["id"]})
        built = perf_counter() - began
        found, asked = [], []
        for question in given["questions"]:
            began = perf_counter()
            hits = memory.search(
                question, filters={"user_id": "u"}, top_k=given["count"], threshold=0.0
            )
            asked.append((perf_counter() - began) * 1000)
            found.append([hit["metadata"]["turn"] for hit in hits["results"]])
    print(json.dumps({"found": found, "built": built, "asked": asked}))


if __name__ == "__main__":
    main()
