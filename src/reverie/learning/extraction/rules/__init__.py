"""Finds memories without a model: what a person asks to remember, and lasting facts they plainly state.

Precision comes before recall. Only the person's own words count, never pasted text, and only
sentences with a cue (`cues`) or a plain fact (`plain`) and without a doubt (`doubts`). Where the
author of a paragraph is unclear, the candidate carries that doubt, and a person decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from reverie.context.user_messages import is_request
from reverie.core.messages import Message
from reverie.learning.extraction.candidates import Add, Candidate, Delete
from reverie.learning.extraction.rules import doubts, plain
from reverie.learning.extraction.rules.cues import CUES, Cue
from reverie.learning.extraction.rules.sentences import (
    LONGEST_SENTENCE,
    confirmed,
    facts,
    sentences,
    to_the_point,
)
from reverie.learning.extraction.speech import LONGEST_SPEECH, passages, unquoted
from reverie.memory.format.kinds import infer_type
from reverie.memory.format.taxonomy import MemoryType

__all__ = ["find"]

_FEWEST_WORDS = 2
_MOST_IN_A_MESSAGE = 5

# "Please remember that." and "Don't do that again." refer to the previous sentence.
_REMEMBER_THAT = re.compile(
    r"^(?:please |can you |could you )*(?:remember|memori[sz]e|keep) (?:that|this)(?: (?:please|in mind|for (?:later|the future|next time)))*[.!]*$"
    r"|^(?:bitte )?merk(?:e)? dir das(?: bitte)?[.!]*$|^souviens-t'en[.!]*$|^recuérdalo[.!]*$",
    re.I,
)
_NOT_THAT_AGAIN = re.compile(
    r"^(?:please )?(?:don't|do not|never)(?: ever)? do (?:that|this|it)(?: ever)? (?:again|any ?more)[.!]*$",
    re.I,
)
_YOU_DID = re.compile(r"^(?:you|your)\b(?!.*\?$)", re.I)
# "Please remember:" before a list applies to each of its lines.
_LIST = re.compile(
    r"^(?:please |bitte )?(?:remember|memori[sz]e|keep in mind|merke? dir|souviens-toi|retiens|recuerda)"
    r"(?: (?:that|this|these|the following|bitte|please))*\s*:$",
    re.I,
)
_FORGET = re.compile(
    r"^(?:please |can you |could you )*(?:forget|delete|remove) (?:the (?:memory|note) (?:about|that)|what you (?:know|remember) about|from memory that) (?P<said>.{8,}?)[.!]*$",
    re.I,
)
_BECAUSE = re.compile(
    r"^(?:because|since|otherwise|the reason|that's because|it (?:broke|caused|cost)|last time|weil|sonst|parce que|sinon|porque)\b(?!.*\?$)",
    re.I,
)
_EMPTY = re.compile(
    r"this|that|it|these|those|them|here|there|so|das|dies|ça|cela|eso|esto|can|could|would|you|please|do|don't|not|never"
    r"|always|again|stop|any|more|anymore|ever|to|the|an?|is|are|and|of",
    re.I,
)
_WORD = re.compile(r"\w[\w'’-]*")
_WITH_DIGIT = re.compile(r"[^\W\d]+\d")


def find(messages: Sequence[Message], earlier: Sequence[Message] = ()) -> tuple[Candidate, ...]:
    """Every memory that a person asked for or plainly stated in these messages, in order, without duplicates.

    `earlier` messages were read before; a yes may confirm what the assistant last said there.
    """
    found: dict[str, Candidate] = {}
    proposal = _last_proposal(earlier)
    for message in messages:
        if message.origin == "assistant" and message.text.strip():
            proposal = message
        elif message.origin == "user" and message.role == "user" and is_request(message.text):
            for candidate in (*_confirmation(message, proposal), *_stated(message)):
                known = found.get(candidate.text.casefold())
                if known is None or (known.doubt and not candidate.doubt):
                    found[candidate.text.casefold()] = candidate
            proposal = None
    return tuple(found.values())


def _last_proposal(earlier: Sequence[Message]) -> Message | None:
    """The assistant's message after the person's last one."""
    for message in reversed(earlier):
        if message.origin == "user":
            return None
        if message.origin == "assistant" and message.text.strip():
            return message
    return None


def _confirmation(reply: Message, proposal: Message | None) -> Iterator[Candidate]:
    if proposal is None or doubts.about_message(reply.text):
        return
    statement = confirmed(reply.text, proposal.text)
    if statement is not None:
        yield Candidate(
            text=statement,
            type=_confirmed_type(statement),
            sources=(proposal.id, reply.id),
            origin="assistant",
            evidence=reply.text.strip(),
        )


def _confirmed_type(statement: str) -> MemoryType:
    """The type of a confirmed statement: "you are …" is about the person, the rest about the work."""
    if re.search(r"\b(?:you(?:'re| are) an?|your (?:role|job|name)|you work)\b", statement, re.I):
        return "user"
    if re.search(r"\bwe (?:have )?(?:decided|agreed)\b", statement, re.I):
        return "project"
    return "feedback"


def _stated(message: Message) -> Iterator[Candidate]:
    found = [one for one in passages(message.text) if len(one.text) <= LONGEST_SPEECH]
    # Text that may be another's casts no doubt: a joke in pasted text is not the person's.
    own = "\n\n".join(one.text for one in found if not one.doubt)
    everything = "\n\n".join(one.text for one in found)
    if doubts.about_message(unquoted(own)):
        return
    doubtful_too = not doubts.about_message(unquoted(everything))
    spoken = [sentences(one.text) for one in found]
    whole = [sentence for said in spoken for sentence in said]
    count = start = 0
    for one, said in zip(found, spoken, strict=True):
        for place, sentence in enumerate(said):
            if len(sentence) > LONGEST_SENTENCE or (one.doubt and not doubtful_too):
                continue
            candidate = _read(message, said, place)
            if candidate is None or doubts.about_place(whole, start + place):
                continue
            if count < _MOST_IN_A_MESSAGE:
                count += 1
                yield replace(candidate, doubt=one.doubt)
        start += len(said)


def _read(message: Message, said: Sequence[str], place: int) -> Candidate | None:
    sentence = to_the_point(said[place])
    if (about := _FORGET.match(sentence)) is not None:
        return _candidate(
            message, about["said"], infer_type(about["said"]), said[place], delete=True
        )
    before = said[place - 1] if place else ""
    if _REMEMBER_THAT.match(sentence):
        return _lasting(message, before, infer_type(before)) if _states(before) else None
    if _NOT_THAT_AGAIN.match(sentence):
        both = f"{before} {said[place]}"
        return _lasting(message, both, "feedback") if _YOU_DID.match(before) else None
    return _cued(message, said, place)


def _cued(message: Message, said: Sequence[str], place: int) -> Candidate | None:
    """The first matching cue decides, even if a doubt overrules it."""
    sentence = to_the_point(said[place])
    blotted = unquoted(sentence)
    matches = ((cue, cue.pattern.match(blotted)) for cue in CUES)
    cue, found = next(((cue, found) for cue, found in matches if found), (None, None))
    earlier = tuple(said[:place])
    if cue is None or found is None:
        listed = any(map(_LIST.match, earlier)) and not doubts.about_sentence(
            blotted, "asked", earlier
        )
        if listed:
            return _lasting(message, sentence, infer_type(sentence), said[place])
        return _plain(message, said[place], earlier)
    if doubts.about_sentence(blotted, cue.manner, earlier):
        return None
    body = _body(sentence, found, cue)
    return _lasting(
        message, _with_reason(body, said, place), cue.type or infer_type(body), said[place]
    )


def _plain(message: Message, sentence: str, earlier: tuple[str, ...]) -> Candidate | None:
    """A lasting fact in the sentence, without a request to remember it."""
    asks = sentence.endswith(("?", "？"))
    for clause in () if asks else plain.clauses(sentence):
        blotted = to_the_point(unquoted(clause))
        piece = plain.lasting_piece(blotted)
        if piece and not (
            doubts.hedged(blotted)
            or doubts.about_sentence(plain.without_occasion(piece), "plain", earlier)
        ):
            body = plain.without_reminder(to_the_point(clause))
            return _lasting(message, body, infer_type(body), sentence)
    for fact in facts(sentence):
        blotted = unquoted(fact)
        if not (doubts.hedged(blotted) or doubts.about_sentence(blotted, "plain", ())):
            return _lasting(message, fact, infer_type(fact), sentence)
    return None


def _states(sentence: str) -> bool:
    return (
        bool(sentence)
        and not sentence.endswith("?")
        and _meaningful_words(sentence) >= _FEWEST_WORDS
    )


def _body(sentence: str, found: re.Match[str], cue: Cue) -> str:
    """The text to remember, without the request to remember it."""
    if "said" not in cue.pattern.groupindex:
        return sentence
    # Masking quotations changes lengths, but never before the end of the cue.
    said = sentence[found.start("said") :].strip()
    return said.removesuffix("?").strip() if cue.manner == "asked" else said


def _with_reason(body: str, said: Sequence[str], place: int) -> str:
    following = said[place + 1] if place + 1 < len(said) else ""
    return f"{body} {following}" if _BECAUSE.match(following) else body


def _lasting(
    message: Message, body: str, type_: MemoryType, evidence: str = ""
) -> Candidate | None:
    if _meaningful_words(body) < _FEWEST_WORDS or body.endswith(":"):
        return None
    return _candidate(message, body, type_, evidence or body)


def _candidate(
    message: Message, body: str, type_: MemoryType, evidence: str, *, delete: bool = False
) -> Candidate:
    # "v2.3" alone is a name.
    text = body if _WITH_DIGIT.match(body) else body[0].upper() + body[1:]
    return Candidate(
        text=text,
        type=type_,
        sources=(message.id,),
        origin="user",
        operation=Delete() if delete else Add(),
        evidence=evidence,
    )


def _meaningful_words(text: str) -> int:
    """The number of meaningful words; "do that again" has none."""
    return sum(_EMPTY.fullmatch(word) is None for word in _WORD.findall(text))
