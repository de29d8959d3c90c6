"""Proposed memories that wait for the user's decision, and their JSON form."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from reverie.core.messages import Json, iso_time, parse_time
from reverie.memory.format.taxonomy import TYPES, MemoryType

Operation: TypeAlias = Literal["add", "update", "supersede", "delete"]
Proposer: TypeAlias = Literal["extract", "import", "dream"]
Voice: TypeAlias = Literal["user", "assistant", "tool"]

OPERATIONS: tuple[Operation, ...] = get_args(Operation)
PROPOSERS: tuple[Proposer, ...] = get_args(Proposer)
VOICES: tuple[Voice, ...] = get_args(Voice)

# A proposal that is repeated often keeps only its first sources.
MOST_SOURCES = 50

# The year 9000, which every calendar function can handle.
_LATEST = 221_845_392_000.0

_SPEAKS_FOR_PERSON = "it speaks of you or for you, but comes from a tool"

_Word = TypeVar("_Word", bound=str)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A new memory, or a change to one, that the user has not approved."""

    text: str
    type: MemoryType
    origin: Voice
    reason: str
    by: Proposer = "extract"
    operation: Operation = "add"
    # The memory it would change; empty for an addition.
    file: str = ""
    name: str = ""
    description: str = ""
    warning: str = ""
    # `session#message`, or the session alone.
    sources: tuple[str, ...] = ()
    evidence: str = ""
    # The day it was said, when that is not the day it was proposed.
    said: str = ""
    # Whether its words were found in the messages it cites.
    supported: bool = False
    # Other words people will ask by.
    cues: tuple[str, ...] = ()

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source.partition("#")[0] for source in self.sources))

    @property
    def caution(self) -> str:
        """A warning to show before approval; empty if nothing is suspicious."""
        foreign = self.origin == "tool" and self.type in ("user", "feedback")
        return self.warning or (_SPEAKS_FOR_PERSON if foreign else "")

    @property
    def id(self) -> str:
        """The same words for the same memory have the same id, regardless of the title."""
        words = "" if self.operation == "delete" else " ".join(self.text.split()).casefold()
        named = "\0".join((self.operation, self.file, words))
        return hashlib.blake2b(named.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@dataclass(frozen=True, slots=True)
class Item:
    """A proposal in the inbox, with its time and how often it was made."""

    id: str
    proposal: Proposal
    at: float
    count: int = 1


@dataclass(frozen=True, slots=True)
class NotKept:
    """Why a proposal was not added; `rejected`: the user rejected the same one before."""

    reason: str
    rejected: bool = False


Offered: TypeAlias = Item | NotKept


def cited(session: str, messages: Sequence[str]) -> tuple[str, ...]:
    """Sources in the form of topic files."""
    if not session:
        return ()
    return tuple(f"{session}#{message}" for message in messages) or (session,)


def lacking(proposal: Proposal) -> str:
    """What a proposal lacks; empty if it is complete."""
    if proposal.operation != "delete" and not proposal.text.strip():
        return "it has no text"
    if proposal.operation != "add" and not proposal.file:
        return f"it would {proposal.operation} a memory, but names none"
    return ""


def repeated(item: Item, fresh: Proposal) -> Item:
    """The item after the same was proposed again: its text stays, warnings and doubts add up."""
    old = item.proposal
    sources = tuple(dict.fromkeys((*old.sources, *fresh.sources)))[:MOST_SOURCES]
    both = replace(
        old,
        origin="tool" if "tool" in (old.origin, fresh.origin) else old.origin,
        warning=old.warning or fresh.warning,
        sources=sources,
        supported=old.supported and fresh.supported,
    )
    return replace(item, proposal=both, count=item.count + 1)


def item_to_json(item: Item) -> Json:
    proposal = item.proposal
    return {
        "id": item.id,
        "at": iso_time(item.at),
        "count": item.count,
        "by": proposal.by,
        "operation": proposal.operation,
        "file": proposal.file,
        "type": proposal.type,
        "name": proposal.name,
        "description": proposal.description,
        "text": proposal.text,
        "reason": proposal.reason,
        "warning": proposal.warning,
        "origin": proposal.origin,
        "sources": list(proposal.sources),
        "evidence": proposal.evidence,
        "said": proposal.said,
        "supported": proposal.supported,
        **({"cues": list(proposal.cues)} if proposal.cues else {}),
    }


def item_from_json(id_: str, data: object) -> Item:
    """Parse an item; ValueError says what is wrong."""
    if not isinstance(data, dict):
        raise ValueError("it is not a proposal")
    proposal = Proposal(
        text=_text(data, "text"),
        type=_one_of(data, "type", TYPES),
        origin=_one_of(data, "origin", VOICES),
        reason=_text(data, "reason"),
        by=_one_of(data, "by", PROPOSERS),
        operation=_one_of(data, "operation", OPERATIONS),
        file=_text(data, "file"),
        name=_text(data, "name"),
        description=_text(data, "description"),
        warning=_text(data, "warning"),
        sources=_texts(data, "sources"),
        evidence=_text(data, "evidence"),
        said=_text(data, "said"),
        supported=data.get("supported") is True,
        cues=_texts(data, "cues"),
    )
    if wrong := lacking(proposal):
        raise ValueError(wrong)
    return Item(id_, proposal, _moment(data), _count(data))


def _text(data: Mapping[str, Any], key: str) -> str:
    value = data.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key!r} is not text")
    return value


def _texts(data: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{key!r} is not a list of texts")
    return tuple(value[:MOST_SOURCES])


def _one_of(data: Mapping[str, Any], key: str, known: Sequence[_Word]) -> _Word:
    value = data.get(key)
    found = next((word for word in known if word == value), None)
    if found is None:
        raise ValueError(f"{key!r} is not one of {', '.join(known)}")
    return found


def _moment(data: Mapping[str, Any]) -> float:
    try:
        at = parse_time(_text(data, "at"))
    except (ValueError, OverflowError):
        at = -1.0
    if not 0 <= at < _LATEST:
        raise ValueError("'at' is not a valid time in ISO 8601")
    return at


def _count(data: Mapping[str, Any]) -> int:
    value = data.get("count", 1)
    return value if type(value) is int and 0 < value < 1_000_000 else 1
