"""Foreign bytes made from good ones: spliced, repeated, cut short, and JSON with another value in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

# What parsers trip over: line ends, marks, digits that are no digits, half characters, dates past the end.
_PIECES: tuple[bytes, ...] = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\r", b"\r\n", b"\n\n", b"\t", b" ", b"---\n", b"...\n",
    b'"', b"'", b"`", b"#", b"- ", b": ", b"[", b"]", b"{", b"}", b"(", b")", b"<", b">", b"|", b"&",
    b"*", b"\\", b"$(", b"=", b",", b";", b"~", b"^", b"@", b"!", b"%", b".", b"/", b"-1", b"1e999",
    b"9" * 30, b"0000-00-00", b"9999-12-31", b"0001-01-01T00:00:00+14:00", b"in 999 years", b"NaN",
    *(piece.encode() for piece in ("\ufeff", "\u2028", "\x85", "²", "٣", "Ⅷ", "ſ", "K", "İ", "ß", "…", "’")),
)  # fmt: skip

_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, float("nan"), float("inf"), 10**30, "", "\0", "\ud800", "\udcff",
    "a\nb", "/", "/tmp/a\0b.jsonl", [], {}, [[]], [{}], [None], {"type": "text"}, {"content": [{}]},
    "9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2026-13-45", "²", "x" * 3_000,
)  # fmt: skip


def mutated(data: bytes, seed: int, *, lines: bool = False) -> bytes:
    """The data with a few changes that the seed decides; `lines` is for data made of JSON lines."""
    rnd = Random(seed)
    if lines and rnd.random() < 0.8:
        return _with_other_values(data, rnd)
    for _ in range(rnd.randint(1, 4)):
        data = rnd.choice(_CHANGES)(data, rnd)
    return data


def _inserted(data: bytes, rnd: Random) -> bytes:
    at = rnd.randint(0, len(data))
    return data[:at] + rnd.choice(_PIECES) + data[at:]


def _replaced(data: bytes, rnd: Random) -> bytes:
    start = rnd.randint(0, len(data))
    return data[:start] + rnd.choice(_PIECES) + data[start + rnd.randint(1, 12) :]


def _repeated(data: bytes, rnd: Random) -> bytes:
    """A piece many times over: what a pattern that looks back takes minutes for."""
    start = rnd.randint(0, len(data))
    own = data[start : start + rnd.randint(1, 8)]
    piece = rnd.choice((own or b" ", rnd.choice(_PIECES)))
    return data[:start] + piece * (rnd.choice((50, 2_000, 20_000)) // len(piece)) + data[start:]


def _moved(data: bytes, rnd: Random) -> bytes:
    start, to = rnd.randint(0, len(data)), rnd.randint(0, len(data))
    piece = data[start : start + rnd.randint(1, 40)]
    return data[:to] + piece + data[to:]


def _cut(data: bytes, rnd: Random) -> bytes:
    return data[: rnd.randint(0, len(data))]


def _flipped(data: bytes, rnd: Random) -> bytes:
    at = rnd.randint(0, max(0, len(data) - 1))
    return data[:at] + bytes([rnd.randrange(256)]) + data[at + 1 :]


_CHANGES: tuple[Callable[[bytes, Random], bytes], ...] = (
    _inserted, _inserted, _replaced, _replaced, _moved, _flipped, _cut, _repeated,
)  # fmt: skip


def _with_other_values(data: bytes, rnd: Random) -> bytes:
    found = []
    for line in data.splitlines():
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            found.append(line)
            continue
        for _ in range(rnd.choice((0, 1, 1, 2))):
            value = _other(value, rnd)
        with suppress(RecursionError):
            line = json.dumps(value).encode()
        found.append(line)
    return b"\n".join(found)


def _other(value: Any, rnd: Random) -> Any:
    """The same value with another one in its place, or somewhere inside it."""
    inside = list(value) if isinstance(value, dict) else list(range(len(_list(value))))
    if not inside or rnd.random() < 0.15:
        return _deep(rnd) if rnd.random() < 0.1 else rnd.choice(_VALUES)
    key = rnd.choice(inside)
    changed = dict(value) if isinstance(value, dict) else list(value)
    if rnd.random() < 0.1:
        del changed[key]
    else:
        changed[key] = _other(value[key], rnd)
    return changed


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _deep(rnd: Random) -> Any:
    """Nested as deeply as the reader of JSON allows, or nearly so."""
    value: Any = "deep"
    wrap: Callable[[Any], Any] = rnd.choice((lambda one: [one], lambda one: {"content": one}))
    for _ in range(rnd.choice((100, 900, 970, 985))):
        value = wrap(value)
    return value
