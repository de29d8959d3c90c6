"""A sentence model in ONNX form: stronger and slower; needs the `onnxruntime` package."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reverie.models.embeddings.weights import load_tokenizer, loading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_LONGEST_INPUT = 256
_BATCH = 32
_MODELS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of a model lie, and how its authors want it used."""

    model: Path
    tokenizer: Path
    # What is put before a question.
    prompt: str = ""
    # Whether the average of all tokens stands for a text, or the first token.
    average: bool = False


def layout(folder: Path) -> Layout | None:
    """The parts in a folder laid out as sentence models are published; None without a model."""
    model = next((folder / name for name in _MODELS if (folder / name).is_file()), None)
    tokenizer = folder / "tokenizer.json"
    if model is None or not tokenizer.is_file():
        return None
    prompts = _read(folder / "config_sentence_transformers.json").get("prompts")
    prompt = prompts.get("query") if isinstance(prompts, dict) else None
    pooling = _read(folder / "1_Pooling" / "config.json")
    average = pooling.get("pooling_mode_mean_tokens") is True
    return Layout(model, tokenizer, prompt if isinstance(prompt, str) else "", average)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


class OnnxEmbedder:
    """Read from disk when the first text comes; one thread, so that a turn has the others."""

    context: tuple[float, ...] = ()
    together = 0.5
    portion = 64

    def __init__(self, name: str, parts: Layout) -> None:
        self.name = name
        self._parts = parts

    def encode(
        self, texts: Sequence[str], kind: Literal["passage", "question"]
    ) -> NDArray[np.float32]:
        session, tokenizer = self._loaded
        import numpy as np

        prompt = self._parts.prompt if kind == "question" else ""
        encoded = tokenizer.encode_batch([prompt + text for text in texts])
        # Texts of one length together: padding is work, too.
        order = sorted(range(len(texts)), key=lambda i: len(encoded[i].ids))
        found = [
            self._run(session, [encoded[i].ids for i in order[start : start + _BATCH]])
            for start in range(0, len(order), _BATCH)
        ]
        rows = np.zeros((len(texts), found[0].shape[1]), np.float32)
        rows[order] = np.concatenate(found)
        return rows

    @cached_property
    def _loaded(self) -> tuple[Any, Any]:
        with loading(self.name, self._parts.model.parent):
            import onnxruntime

            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1
            session = onnxruntime.InferenceSession(
                str(self._parts.model), options, providers=["CPUExecutionProvider"]
            )
            tokenizer = load_tokenizer(self._parts.tokenizer)
            tokenizer.enable_truncation(_LONGEST_INPUT)
            return session, tokenizer

    def _run(self, session: Any, ids: list[list[int]]) -> NDArray[np.float32]:
        import numpy as np

        tokens = np.zeros((len(ids), max(map(len, ids))), np.int64)
        mask = np.zeros_like(tokens)
        for row, known in enumerate(ids):
            tokens[row, : len(known)] = known
            mask[row, : len(known)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": tokens * 0}
        wanted = {item.name for item in session.get_inputs()}
        states = session.run(None, {k: v for k, v in given.items() if k in wanted})[0]
        if not self._parts.average:
            first: NDArray[np.float32] = states[:, 0]
            return first
        told = mask[:, :, None]
        averaged: NDArray[np.float32] = (states * told).sum(axis=1) / told.sum(axis=1).clip(1)
        return averaged
