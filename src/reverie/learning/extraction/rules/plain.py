"""Recognises plain statements of lasting facts: "Our CI runs on Buildkite", "I'm allergic to nuts".

Nothing in such a sentence asks to be remembered. It counts when its subject is the person or their work
("my", "our", "we", "in this repo"), its verb is a present tense that describes a state or a habit, it
names something in particular, and no word ties it to this moment or this task. Pure.
"""

from __future__ import annotations

from reverie.learning.extraction.rules import plain_signs as signs

_FEWEST_WORDS, _SHORT, _MOST_WORDS = 4, 16, 32


def clauses(sentence: str) -> tuple[str, ...]:
    """The sentence, cut where a remark stands beside a task."""
    return tuple(part.strip() for part in signs.BESIDE.split(sentence) if part.strip())


def statement(clause: str) -> str:
    """The clause without "when you write SQL for me", which would read as a question."""
    return signs.WHEN_YOU.sub("", clause)


def content(clause: str) -> str:
    """The clause without the request to keep it in mind."""
    kept = signs.NOTED.sub("", clause).strip()
    return f"{kept}." if kept != clause.strip() and kept[-1:].isalnum() else kept


def standing(clause: str) -> str:
    """The piece of a clause that plainly states a lasting fact or a rule for all work; empty if none does."""
    plain = signs.NOTED.sub("", clause)
    noted = plain != clause
    if signs.SUBORDINATE.match(plain):
        return clause if _lasts(plain) else ""
    if _lasts(plain):
        return plain
    pieces = [piece.strip() for piece in signs.PIECE.split(plain) if piece.strip()]
    for piece in pieces:
        if signs.SUBORDINATE.match(piece):
            continue
        if _lasts(piece) or (noted and _is_noted(piece)):
            return piece
    return ""


def _is_noted(piece: str) -> bool:
    """What the person asks to keep in mind needs no owner, but must outlast the moment."""
    return len(piece.split()) >= _FEWEST_WORDS and not _is_passing(piece.rstrip(".! "))


def _is_passing(plain: str) -> bool:
    return (
        signs.PASSING.search(signs.FROM_NOW.sub(" ", signs.STILL_LASTING.sub("", plain)))
        is not None
    )


def _lasts(clause: str) -> bool:
    ended = clause.rstrip(".! ")
    plain = signs.FOREWORD.sub("", signs.CORRECTION.sub("", ended))
    if not _FEWEST_WORDS <= len(plain.split()) <= _MOST_WORDS or plain.endswith((":", "?")):
        return False
    if _is_passing(plain):
        return False
    if signs.RULE.match(plain) or signs.PERSON.match(plain):
        return True
    contrasts = signs.CONTRAST.search(plain) is not None
    if contrasts and signs.CORRECTION.match(ended):
        return True
    if (signs.IDENTITY.match(plain) or signs.CHANGED.match(plain)) and not signs.TELLS.search(
        plain
    ):
        return True
    return signs.WORK.match(plain) is not None and _is_particular(ended, contrasts=contrasts)


def _is_particular(plain: str, *, contrasts: bool) -> bool:
    """Whether it says something in particular about the person's own work, or tells of a habit."""
    if contrasts or signs.OURS.search(plain):
        return contrasts or any(
            sign.search(plain)
            for sign in (signs.PARTICULAR, signs.HABIT, signs.DEFINES, signs.STRICT)
        )
    habitual = len(plain.split()) <= _SHORT and not signs.TELLS.search(plain)
    return habitual and bool(signs.HABIT.search(plain) or signs.NORM.match(plain))
