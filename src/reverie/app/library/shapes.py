"""What callers give, as plain JSON values: dictionaries, SDK objects, and mixtures of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from reverie.errors import InputError

Raw = dict[str, Any]


def plain(value: object) -> Any:
    """SDK objects become the dictionaries they stand for, however deep they lie."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", warnings=False)
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


@dataclass(frozen=True, slots=True)
class Given:
    """An object somebody gave, and where: what is wrong with it is said with its place."""

    raw: Raw
    where: str

    @classmethod
    def of(cls, value: object, where: str, what: str) -> Given:
        raw = plain(value)
        if not isinstance(raw, dict):
            raise InputError(f"{where} is {shown(value)}; give {what}")
        return cls(raw, where)

    def get(self, key: str) -> Any:
        return self.raw.get(key)

    def text(self, key: str) -> str:
        value = self.raw.get(key)
        if not isinstance(value, str):
            raise self.wrong(key, "text")
        return value

    def inner(self, key: str) -> Given:
        value = self.raw.get(key)
        if not isinstance(value, dict):
            raise self.wrong(key, "an object")
        return Given(value, f"{self.where}.{key}")

    def each(self, key: str) -> list[Given]:
        """The objects of a list; an absent one is empty."""
        value = self.raw.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        places = ((part, f"{self.where}.{key}[{i}]") for i, part in enumerate(value))
        return [Given.of(part, where, "an object with a `type`") for part, where in places]

    def wrong(self, key: str, expected: str) -> InputError:
        value = self.raw.get(key)
        if value is None:
            return InputError(f"{self.where}.{key} is missing; it must be {expected}")
        return InputError(f"{self.where}.{key} must be {expected}, not {shown(value)}")


def shown(value: object) -> str:
    """A value as an error may quote it."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
