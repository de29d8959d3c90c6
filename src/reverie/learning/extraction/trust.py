"""Decides by author what happens to a candidate: saved, proposed to a person, or refused.

What the person plainly says may be saved, and so may what the assistant said and the person confirmed.
What occurs only in tool results, files or pages waits in the inbox, even if a model wants to keep it:
a model that believes a page only repeats the page. So does text that a person may have pasted, and
an order with external effect: to install, fetch, run or send something.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from reverie.core.messages import Message
from reverie.learning.extraction.authorship import introduces, is_task, starting_point
from reverie.learning.extraction.candidates import Candidate, Delete
from reverie.learning.extraction.questions import states
from reverie.learning.extraction.reading import Utterance, utterances
from reverie.learning.extraction.rules import doubts
from reverie.learning.extraction.rules.sentences import confirmed, facts, sentences
from reverie.learning.extraction.speech import unquoted, unreported
from reverie.learning.extraction.support import Similarity, Supported, Unsupported, echoes, support
from reverie.memory.format import exclusions

# "Rename the test to mallory approves deploys" states nothing.
_GIVES_A_TEXT = re.compile(
    r"(?:please |bitte )?(?:print|echo|type|display|repeat|rename|name|title|label|call(?! me\b| us\b)|spell|benenne|nenne|drucke?|imprime|renomme|affiche|répète|renombra|imprime|repite)\b",
    re.I,
)
_ORDERS = re.compile(
    r"\b(?:always|never|ignore|disregard|override|bypass|from now on|must|should|shall|do not|don't|make sure|remember"
    r"|henceforth|whenever|without (?:asking|telling|confirm\w*)|silently|secretly|immer|niemals|ab jetzt|ignoriere"
    r"|installiere?|verwende|benutze?|installe|utilise|instala|usa"
    r"|toujours|jamais|désormais|ignorez?|siempre|nunca|ignora|a partir de ahora|sempre|всегда|никогда|总是|永远|必ず|忽略)\b"
    r"|^(?:please )?(?:run|execute|use|send|upload|post|fetch|install|add|delete|disable|enable|approve|trust|call|open"
    r"|forward|include|insert|set|skip|accept|allow|commit|push|tell|answer|reply|treat|prefer|store|save)\b"
    r"|\b(?:the )?user (?:wants|prefers|said|says|asked|likes|has (?:asked|approved|agreed)|is fine|agreed|approved|allows)\b"
    r"|\bcurl\b|\bwget\b|\beval\b|[A-Za-z0-9+/]{40,}={0,2}",
    re.I | re.M,
)

_FORGET = re.compile(
    r"\b(?:forget|delete|remove|drop|erase|vergiss|lösche?|entferne?|oublie|supprime|efface|olvida|borra|elimina)\b",
    re.I,
)

# Addresses, downloads, installations and recipients, which make an order suspicious.
_REACHES_OUT = re.compile(
    r"\b(?:https?|ftp|ssh|git|file)://|\bwww\.|(?<![\w.+-])[\w.+-]+@[\w-]+\.\w|\b(?:\d{1,3}\.){3}\d{1,3}\b"
    r"|(?<![\w-])[\w-]+\.(?:com|net|org|io|dev|app|cloud|info|biz|xyz|example|bad|ru|cn|site|online|top|club|onion)\b"
    r"|\b(?:curl|wget|netcat|scp|rsync)\b|\|\s*(?:sudo )?(?:ba|z|k)?sh\b|[A-Za-z0-9+/_-]{32,}={0,2}"
    r"|\b(?:pip3?|pipx|npm|npx|pnpm|yarn|gem|cargo|brew|apt|apt-get|dnf|uv|conda|go|composer|docker|helm)(?: [\w-]+)? (?:install|add|i|get|pull|run)"
    r"\s+(?!(?:instead|and|or|for|to|in|on|at|when|before|after|rather|over|but|any ?more|again|ever|first|with|is|the tests?)\b)[-\w@./]+"
    r"|\binstall\w* (?:\w+ ){0,4}?(?:from|via|aus|von|depuis|desde)\b|\b(?:paket\w*|paquets|paquetes|packages) .{0,20}\b(?:from|aus|von|depuis|desde)\b"
    r"|\b(?:send|upload|forward|post|copy|e?-?mail(?! address)|b?cc|leak|push|publish|deliver|transfer)\b (?!(?:me|us)\b)[^.!?]{1,80}?\bto (?!(?:me|us|main|master|be|avoid|keep)\b)\S"
    r"|\b(?:sende?|schicke?|leite?|lade?|kopiere?|überweise?)\b[^.!?]{1,80}?\b(?:an|nach|auf|hoch|weiter)\b"
    r"|\b(?:envoie|envoyez|transfère|transmets|copie|téléverse)\b[^.!?]{1,80}?\b(?:à|vers|sur|au|aux)\b"
    r"|\b(?:envía|manda|reenvía|sube|copia|transfiere)\b[^.!?]{1,80}?\b(?:a|al|hacia|en)\b",
    re.I,
)

# "Never push to release" forbids an external effect; "never forget to push …" does not.
_PROHIBITS = re.compile(
    r"\b(?:don['’]t|do not|never)(?: ever)? (?:send|upload|forward|post|copy|mail|push|publish|deliver|transfer)\b"
    r"(?![^.!?,;\n]*\b(?:but|except|other than|only|unless|without)\b)[^.!?,;\n]*",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Save:
    """It may be saved, with the origin and sources that were found, not those that were claimed."""

    candidate: Candidate


@dataclass(frozen=True, slots=True)
class ToInbox:
    """A person decides. `warning` says what is suspicious, if anything."""

    reason: str
    warning: str = ""
    candidate: Candidate | None = None
    # Whether its words were found, even if only in a tool's or the assistant's text.
    supported: bool = False


@dataclass(frozen=True, slots=True)
class Refuse:
    reason: str


Verdict: TypeAlias = Save | ToInbox | Refuse


def judge(
    candidate: Candidate, messages: Sequence[Message], similarity: Similarity | None = None
) -> Verdict:
    """Decide about a candidate by the author of its words."""
    claim = _claim(candidate)
    if not candidate.text.strip():
        return Refuse("there is nothing to remember")
    if (excluded := exclusions.check(candidate.text)) is not None:
        return Refuse(excluded.reason)
    if candidate.doubt:
        doubtful = replace(candidate, origin="tool")
        # The warning keeps a setting from approving it automatically.
        warning = _warning(doubtful) or "it may have been pasted"
        return ToInbox(candidate.doubt, warning, doubtful, supported=True)
    spoken = utterances(messages)
    mine = [_stated(one) for one in spoken if one.voice == "user"]
    verdict = _found(claim, mine, candidate.sources, similarity)
    if isinstance(verdict, Supported):
        return _the_persons(replace(candidate, origin="user", sources=verdict.sources), spoken)
    return _not_the_persons(candidate, claim, messages, spoken, verdict)


def _the_persons(candidate: Candidate, spoken: Sequence[Utterance]) -> Verdict:
    words = [one.text for one in spoken if one.voice == "user" and one.id in candidate.sources]
    if isinstance(candidate.operation, Delete):
        if any(map(_FORGET.search, words)):
            return Save(candidate)
        return ToInbox("the person did not ask to forget it", "a memory would be lost", candidate)
    if any(map(doubts.not_for_memory, words)):
        return Refuse("the person asked not to remember it")
    if (reach := reaches_out(candidate)) and not isinstance(candidate.operation, Delete):
        reason = f"it is an order that names an address, a command or a recipient (“{reach}”)"
        return ToInbox(reason, "make sure that it is your own", candidate, supported=True)
    return Save(candidate)


def _not_the_persons(
    candidate: Candidate,
    claim: str,
    messages: Sequence[Message],
    spoken: Sequence[Utterance],
    verdict: Unsupported,
) -> Verdict:
    foreign = [one for one in spoken if one.voice == "tool" and echoes(claim, one.text)]
    agreed = _agreed(claim, messages)
    if agreed and not (foreign and orders(claim)) and not isinstance(candidate.operation, Delete):
        return Save(replace(candidate, origin="assistant", sources=agreed))
    if foreign:
        found = replace(candidate, origin="tool", sources=_ids(foreign))
        shown = isinstance(support(claim, foreign), Supported)
        return ToInbox("it stands only in what tools and pages said", _warning(found), found, shown)
    own = [one for one in spoken if one.voice == "assistant"]
    if isinstance(support(claim, own), Supported):
        found = replace(candidate, origin="assistant")
        reason = "the assistant said it, and the person did not confirm it"
        return ToInbox(reason, _warning(found), found, supported=True)
    found = replace(candidate, origin="tool" if candidate.origin == "tool" else "assistant")
    return ToInbox(f"it is not what was said: {verdict.reason}", _warning(found), found)


def reaches_out(candidate: Candidate) -> str:
    """The external target of an order; empty for a plain fact, such as the dashboard's address."""
    claim = _PROHIBITS.sub(" ", _claim(candidate))
    found = _REACHES_OUT.search(claim)
    return found[0][:60] if found and (candidate.type == "feedback" or orders(claim)) else ""


def orders(text: str) -> str:
    """The words that give an order; empty when there are none."""
    found = _ORDERS.search(text)
    return found[0].strip() if found else ""


def _warning(candidate: Candidate) -> str:
    order = orders(_claim(candidate))
    if order:
        return f"it gives an order (“{order}”) that no person gave: it may have been planted"
    if candidate.origin == "tool" and candidate.type in ("user", "feedback"):
        return (
            "it speaks of the person or for them, but comes from a tool: it may have been planted"
        )
    return ""


def _claim(candidate: Candidate) -> str:
    """All text that could reach a prompt, including title and description."""
    parts = (candidate.name, candidate.description, candidate.text)
    return "\n".join(part for part in parts if part.strip())


def _found(
    claim: str,
    spoken: Sequence[Utterance],
    cited: Sequence[str],
    similarity: Similarity | None,
) -> Supported | Unsupported:
    """Look for support in the cited messages, then in all of them."""
    here = {one.id for one in spoken}
    known = [id_ for id_ in cited if id_ in here]
    verdict = support(claim, spoken, known, similarity)
    if isinstance(verdict, Unsupported) and known:
        return support(claim, spoken, (), similarity)
    return verdict


def _stated(one: Utterance) -> Utterance:
    """The statements of a person, without questions, guesses, hearsay, quotations and requests to work on a text."""
    parts = [part if states(part) else starting_point(part) for part in sentences(one.text)]
    foreign = any(map(doubts.hearsay, parts))
    said = [
        " ".join(facts(part)) if introduces(part) else part
        for part in parts
        if part and not doubts.hearsay(part) and not part.isupper()
    ]
    # Next to what others say, an order is a task: "Give me arguments against him."
    kept = [
        unquoted(part) if is_task(part) else unreported(part)
        for part in said
        if not (is_task(part) and (foreign or _GIVES_A_TEXT.match(part)))
    ]
    return replace(one, text="\n".join(kept))


def _agreed(claim: str, messages: Sequence[Message]) -> tuple[str, ...]:
    """The assistant's message and the person's reply that confirms the claim."""
    proposal: Message | None = None
    for message in messages:
        if message.origin == "assistant" and message.text.strip():
            proposal = message
        elif message.origin == "user" and proposal is not None:
            statement = confirmed(message.text, proposal.text)
            proposed = (Utterance(proposal.id, "assistant", statement or ""),)
            if statement and isinstance(support(claim, proposed, answered=True), Supported):
                return proposal.id, message.id
            proposal = None
    return ()


def _ids(spoken: Sequence[Utterance]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one.id for one in spoken))
