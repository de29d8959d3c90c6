"""A sentence model in ONNX form: stronger and slower. Loaded only when it was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime

from reverie.recall.embed import Kind
from reverie.recall.static_embedder import load_tokenizer
from reverie.recall.vectors import unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LONGEST_INPUT = 256
_BATCH = 32


class OnnxEmbedder:
    """A sentence model in ONNX form: stronger and slower; needs the `onnxruntime` package."""

    context = ()

    def __init__(self, name: str, model: Path, tokenizer: Path, *, prefix: str = "") -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.name = name
        self._session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._tokenizer = load_tokenizer(tokenizer)
        self._tokenizer.enable_truncation(_LONGEST_INPUT)
        self._prefix = prefix

    @property
    def dimensions(self) -> int:
        return int(self._session.get_outputs()[0].shape[-1])

    def encode(self, texts: Sequence[str], kind: Kind) -> NDArray[np.float32]:
        asked = [self._prefix + text for text in texts] if kind == "question" else list(texts)
        encoded = self._tokenizer.encode_batch(asked)
        # Texts of one length together: padding is work, too.
        order = sorted(range(len(asked)), key=lambda i: len(encoded[i].ids))
        rows = np.zeros((len(asked), self.dimensions), np.float32)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            rows[batch] = self._run([encoded[i].ids for i in batch])
        return unit(rows)

    def _run(self, ids: list[list[int]]) -> NDArray[np.float32]:
        tokens = np.zeros((len(ids), max(map(len, ids))), np.int64)
        mask = np.zeros_like(tokens)
        for row, known in enumerate(ids):
            tokens[row, : len(known)] = known
            mask[row, : len(known)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": tokens * 0}
        states = self._session.run(None, {k: v for k, v in given.items() if k in self._inputs})[0]
        # The first token stands for the whole text in the models this class is for.
        first: NDArray[np.float32] = states[:, 0]
        return first
