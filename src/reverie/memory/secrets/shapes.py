"""The shape of a value, and the signs given by its letters and digits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reverie.memory.secrets import plausibility as value_forms
from reverie.memory.secrets.word_classes import classes_of

_TIME = re.compile(r"(?:[01]\d|2[0-3])[0-5][05]")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
# What is typed at a keypad with star and hash, and how the dial of a safe is turned.
_KEYED = re.compile(r"\d{1,4}(?:[*#]\d{1,4}){1,2}[*#]?")
_DIGIT_BY_DIGIT = re.compile(r"\d(?:-\d){3,8}")
_SIDE = r"(?:right|left|rechts|links|droite|gauche|derecha|izquierda)"
TURNS = re.compile(
    rf"(?:{_SIDE}\b[^.\n\d]{{0,20}}\d{{1,2}}\b|\b\d{{1,2}}\b[^.\n\d,]{{0,8}}{_SIDE}\b)(?:[,;]? [^.\n\d]{{0,12}}?"
    rf"(?:{_SIDE}\b[^.\n\d]{{0,20}}\d{{1,2}}\b|\b\d{{1,2}}\b[^.\n\d,]{{0,8}}{_SIDE}\b)){{1,4}}",
    re.IGNORECASE,
)
_SEED_LENGTHS = (12, 15, 18, 24)
_SPACED_DIGITS = re.compile(r"\d{1,4}(?:[ ,]{1,2}\d{1,4})+")


def shape_of(value: str) -> str:  # noqa: C901, PLR0911, PLR0912 - one return a form
    """The form of a value, in one word."""
    bare = value.strip("#*")
    if bare.isdigit():
        return (
            f"{len(bare)} digits" if len(bare) == 3 else "pin" if len(bare) <= 6 else "long number"
        )
    if TURNS.fullmatch(value):
        return "dial code"
    if " " in value:
        return "spaced digits" if _SPACED_DIGITS.fullmatch(value) else "phrase"
    if value.isalpha():
        return "humps" if re.search(r"[a-zà-ÿ][A-ZÀ-Þ]", value) else "word"
    if value_forms.is_uuid(value):
        return "uuid"
    if value_forms.is_hash(value):
        return "hash"
    if value_forms.is_dial_code(value) or _DIGIT_BY_DIGIT.fullmatch(value):
        return "dial code"
    if value_forms.is_licence(value):
        return "groups"
    if value_forms.is_door_code(value) or _KEYED.fullmatch(value):
        return "door code"
    if re.fullmatch(r"[a-z0-9]{4,6}(?:-[a-z0-9]{4,6}){1,5}", value) and re.search(r"\d", value):
        return "groups"
    if value_forms.is_opaque(value, 8):
        return "random"
    if re.search(r"[!@#$%^&*?~+]", value):
        return "signs"
    if re.fullmatch(r"[^\W\d_]{3,}\d{1,6}", value):
        return "word and number"
    if re.fullmatch(r"[^\W_]+", value):
        return "mixed"
    return "joined" if re.fullmatch(r"[^\W_]+(?:[-_.][^\W_]+)+", value) else "other"


BROAD = {
    "3 digits": "number", "pin": "number", "long number": "number", "spaced digits": "number", "dial code": "code", "door code": "code",
    "groups": "code", "random": "made", "signs": "made", "word and number": "made", "mixed": "made", "joined": "made", "humps": "made",
    "hash": "hash", "uuid": "hash", "word": "word", "phrase": "phrase", "other": "other",
}  # fmt: skip


def signs_of_value(value: str, shape: str) -> Iterator[str]:  # noqa: C901, PLR0912 - one line a sign
    bare = value.strip("#*")
    yield "length " + str(min(len(value), 12) if len(value) < 16 else 16 if len(value) < 24 else 24)
    if shape == "pin":
        if len(bare) == 4 and _YEAR.fullmatch(bare):
            yield "year"
        elif len(bare) == 4 and _TIME.fullmatch(bare):
            yield "time"
        if bare.endswith("00"):
            yield "round"
    if value_forms.is_varied(value):
        yield "varied"
    if value[:1].isupper():
        yield "capital"
    if value.isupper():
        yield "upper"
    if (name := re.match(r"[^\W\d_]+", value)) and "product" in classes_of(name[0].lower()):
        yield "product"
    if shape != "pin" and value_forms.is_public(value):
        yield "public"
    if shape == "joined":
        yield f"joined by {re.sub(r'[^-_.]', '', value)[:2]}"
        yield "digits" if re.search(r"\d", value) else "no digits"
    if shape == "signs":
        yield "spoken" if value_forms.is_spoken_password(value) else "unspoken"
    if shape == "word":
        word = value.lower()
        if word in value_forms.STATES or word in value_forms.SMALL_WORDS:
            yield "state"
        if any(classes_of(word)):
            yield "class word"
    if shape == "phrase":
        yield from _signs_of_phrase(value)


def _signs_of_phrase(value: str) -> Iterator[str]:
    words = value.lower().split()
    small = sum(
        word in value_forms.SMALL_WORDS or len(word) < 3 or bool(classes_of(word)) for word in words
    )
    yield f"{min(small, 3)} small"
    yield f"{min(len(words), 6)} words"
    if len(words) in _SEED_LENGTHS:
        yield "words of a seed"
    if value.istitle():
        yield "name"
    if any(word in value_forms.STATES for word in words):
        yield "state"


def what_is_said(
    text: str, value: str, shape: str, near: Sequence[tuple[str, str, str]]
) -> Iterator[str]:
    """Whether a plain word describes a password instead of being one, in the language of the cue."""
    if shape == "phrase" and any("phrase" in word or "frase" in word for _, _, word in near):
        yield "called a phrase"
        small = sum(
            word in value_forms.SMALL_WORDS or len(word) < 3 for word in value.lower().split()
        )
        yield f"called a phrase, {min(small, 3)} small"
    if shape == "word":
        for name, _, word in near:
            if name in ("password", "answer"):
                yield (
                    "plain password" if value_forms.is_plain_password(value, word) else "said of it"
                )
                return
