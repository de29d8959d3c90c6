"""Embedding models that are already on this machine. Nothing is downloaded, ever.

The weights come from installed packages; they are looked up by path, so that neither the package
nor its own dependencies are imported. Without them recall goes by words alone, and says so once.
"""

from __future__ import annotations

import logging
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from reverie.recall.embed import Embedder

log = logging.getLogger(__name__)


def default_embedder() -> Embedder | None:
    """The static model of the `wordllama` package; None, said once, when it is not installed."""
    folder = _package("wordllama")
    if folder is None or _package("numpy") is None or _package("tokenizers") is None:
        _say_once("the packages numpy and wordllama are not installed: recall goes by words alone")
        return None
    from reverie.recall.static_embedder import StaticEmbedder  # noqa: PLC0415 - numpy is slow to load

    return StaticEmbedder(
        "wordllama-l2-supercat-256",
        folder / "weights" / "l2_supercat_256.safetensors",
        folder / "tokenizers" / "l2_supercat_tokenizer_config.json",
    )


def onnx_embedder(folder: Path | None = None) -> Embedder | None:
    """A model in a folder (`model.onnx`, `tokenizer.json`), or the copy in an installed package."""
    if _package("onnxruntime") is None or _package("tokenizers") is None:
        _say_once("the package onnxruntime is not installed: the stronger model is not used")
        return None
    found = (folder, folder, f"onnx:{folder.name}") if folder else _packaged_onnx()
    if found is None:
        _say_once("no package with an ONNX model is installed: the stronger model is not used")
        return None
    from reverie.recall.onnx_embedder import OnnxEmbedder  # noqa: PLC0415 - an extra

    model, tokenizer, name = found
    return OnnxEmbedder(name, model / "model.onnx", tokenizer / "tokenizer.json", prefix=_QUESTION)


_QUESTION = "Represent this sentence for searching relevant passages: "


def _packaged_onnx() -> tuple[Path, Path, str] | None:
    package = _package("project_brain")
    if package is None:
        return None
    folder = package / "model" / "int8"
    return folder / "onnx", folder, "arctic-embed-s-int8"


@lru_cache(maxsize=32)
def _say_once(message: str) -> None:
    log.warning(message)


def _package(name: str) -> Path | None:
    """Where an installed package lies, found without running it."""
    try:
        spec = find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))
