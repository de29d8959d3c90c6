"""Embeddings: each word is a fixed direction, so that texts with the same words are alike."""

import base64
import hashlib
import struct

from tests.provider.blocks import Json, count_text
from tests.provider.rejection import Rejection
from tests.provider.transport import Rendered

# Small sizes: tests compare vectors, they do not store many.
SIZES = {"text-embedding-3-small": 16, "local-embed": 12}
MOST_INPUTS = 2_048


def check_embeddings(body: Json, sizes: dict[str, int]) -> list[str]:
    """The texts of a request that keeps the documented rules."""
    model = str(body.get("model"))
    if model not in sizes:
        problem = f"The model `{model}` does not exist or you do not have access to it."
        raise Rejection("model", problem, status=404, code="model_not_found")
    given = body.get("input")
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or len(texts) > MOST_INPUTS:
        raise Rejection("embeddings", f"'input' must hold 1 to {MOST_INPUTS} texts.", param="input")
    if not all(isinstance(text, str) and text for text in texts):
        raise Rejection("embeddings", "'input' cannot be an empty string.", param="input")
    if body.get("encoding_format", "float") not in {"float", "base64"}:
        raise Rejection("embeddings", "Invalid value.", param="encoding_format")
    return texts


def render_embeddings(body: Json, texts: list[str], size: int) -> Rendered:
    plain = body.get("encoding_format", "float") == "float"
    rows = [vector(text, size) for text in texts]
    usage: Json = {"prompt_tokens": sum(map(count_text, texts))}
    usage["total_tokens"] = usage["prompt_tokens"]
    answer: Json = {
        "object": "list",
        "model": body["model"],
        "usage": usage,
        "data": [
            {"object": "embedding", "index": i, "embedding": row if plain else _packed(row)}
            for i, row in enumerate(rows)
        ],
    }
    return Rendered(answer, (), usage)


def vector(text: str, size: int) -> list[float]:
    words = text.lower().split() or [text]
    found = [_direction(word.strip(".,?!:"), size) for word in words]
    return [sum(column) for column in zip(*found, strict=True)]


def _direction(word: str, size: int) -> list[float]:
    digest = hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=2 * size).digest()
    return [value / 32_768 for value in struct.unpack(f"{size}h", digest)]


def _packed(row: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(row)}f", *row)).decode()
