"""Stronger embedding models, by their names at a model hub, run by `fastembed`.

Weights are downloaded only when a person asks for it (`download`): no prompt waits for a network.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.errors import StorageError
from reverie.models.embeddings.local import (
    Missing,
    onnx_embedder,
    package,
    prompt_of,
    with_words,
)
from reverie.models.embeddings.static import loading
from reverie.ports import QUESTIONS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from reverie.ports import Embedder, TextKind

USUAL_MODEL = "snowflake/snowflake-arctic-embed-s"
_BATCH = 32


@dataclass(frozen=True, slots=True)
class Source:
    """The source of the stronger model: its name at the hub, its folder, the folder of downloads."""

    model: str | None
    folder: Path | None
    downloads: Path


def extra_embedder(source: Source) -> Embedder | Missing:
    """The model for `recall.embedder = "extra"`: from a folder, an installed package, or the hub."""
    if source.model is None:
        found = onnx_embedder(source.folder)
        if source.folder is not None or not isinstance(found, Missing):
            return found
    if package("fastembed") is None:
        return Missing("a stronger model: `reverie models recall --install`")
    if source.folder is None and not _downloaded(source):
        return Missing(
            f"the weights of {source.model or USUAL_MODEL}: `reverie models recall --install`"
        )
    return with_words(HubEmbedder(source))


class HubEmbedder:
    """A sentence model run by `fastembed`; loaded at the first use, on one thread."""

    context: tuple[float, ...] = ()
    together = 0.5
    portion = 64
    apart = False

    def __init__(self, source: Source) -> None:
        self._source = source
        self._model = source.model or USUAL_MODEL
        self.name = f"fastembed:{self._model}"
        if source.folder is not None:
            # Other weights in the same folder are another model.
            size = sum(path.stat().st_size for path in source.folder.rglob("*.onnx"))
            self.name += f":{size}"

    def encode(self, texts: Sequence[str], kind: TextKind) -> NDArray[np.float32]:
        import numpy as np

        prompt = prompt_of(self._model) if kind in QUESTIONS else ""
        rows = list(self._loaded.embed([prompt + text for text in texts], batch_size=_BATCH))
        return np.asarray(rows, np.float32)

    @cached_property
    def _loaded(self) -> Any:
        return _open(self._source, local=True)


def download(source: Source) -> None:
    """Fetch the weights from the hub; StorageError if that fails."""
    _open(source, local=False)
    _marker(source).touch()


def _open(source: Source, *, local: bool) -> Any:
    name = source.model or USUAL_MODEL
    place = source.folder or source.downloads
    with loading(name, place):
        from fastembed import TextEmbedding
        from loguru import logger

        # fastembed reports every attempt to reach the hub on standard error; our own message is
        # enough.
        logger.disable("fastembed")
        known = {str(entry["model"]).lower() for entry in TextEmbedding.list_supported_models()}
        if name.lower() not in known:
            raise StorageError(f"fastembed does not know a model of the name {name!r}")
        place.mkdir(parents=True, exist_ok=True)
        return TextEmbedding(
            name,
            cache_dir=str(source.downloads),
            threads=1,
            providers=["CPUExecutionProvider"],
            local_files_only=local,
            specific_model_path=str(source.folder) if source.folder else None,
        )


def _downloaded(source: Source) -> bool:
    return _marker(source).exists()


def _marker(source: Source) -> Path:
    return source.downloads / f"{(source.model or USUAL_MODEL).replace('/', '--')}.downloaded"
