"""Parses a sentence into a statement: its content words, its subject and its relation.

This is no full parser. Closed word classes (`forms/*.toml`: articles, negations, conditions,
relations with one value) divide a sentence into a subject, a relation and phrases, which is enough
to see *where* two sentences differ. Without such a file only the order of words is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from reverie.text.lexicon import amounts, folded, read_words
from reverie.text.rewriting import may_match, rewritten
from reverie.text.word_classes import LONGEST, Forms, Kind, Relation, Word, forms

# The most statements per text, since each is compared with each of the other text.
_MOST = 16
_MARKUP = re.compile(r"^[ \t]*(?:[#>*+-]+[ \t]+|\d+\.[ \t]+)|\*\*|__", re.MULTILINE)
_REASON = re.compile(r"\*\*(?:Why|How to apply):\*\*", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?。！？])(?<!\b\d\.)(?<!\b\d\d\.)\s+|\n+|;\s*|\s+[–—]\s+")
# The separators of a list of several things.
_LISTED = re.compile(r"[,/]\s+|\s+(?:and|und|et|y|e)\s+")
_VALUES = frozenset({"number", "day", "name", "code"})
_ABBREVIATION = re.compile(
    r"\b(Dr|M|Mlle|Hr|Fr|Mr|Mrs|Ms|St|Nr|Sr|Sra|Prof|Mme|approx|ca|vs|etc|e\.g|i\.e|z\.B)\.\s"
)


@dataclass(frozen=True, slots=True)
class Token:
    """A content word: its key for comparison, its kind and its place."""

    key: str
    kind: Kind
    # 0 before the relation, 1 for the phrase after it, 2 for the next one, and so on.
    phrase: int = 0
    # The preposition that opened its phrase.
    led: str = ""
    # Part of a condition or exception: "if …", "except …".
    conditional: bool = False
    # The relation itself.
    verb: bool = False
    # The group of a vague verb; 0 for words that carry meaning.
    vague: int = 0
    # The word as it was written, in lower case.
    word: str = field(default="", compare=False)


@dataclass(frozen=True)
class Statement:
    """What one clause says. Derived properties are cached, since it is compared with many others."""

    tokens: tuple[Token, ...]
    relation: Relation = "other"
    # The index of the token after each negation; one past the last when it ends the clause.
    denied: tuple[int, ...] = ()
    passive: bool = False
    # Whether a relation was found; otherwise phrases have no meaning.
    parsed: bool = False

    @cached_property
    def content(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.kind != "speaker")

    @cached_property
    def topic(self) -> frozenset[str]:
        """What it is about: its words without values, or else all of them."""
        kept = frozenset(one.key for one in self.content if one.kind not in ("number", "day"))
        return kept or frozenset(one.key for one in self.content)

    @cached_property
    def subject(self) -> frozenset[str]:
        return frozenset(one.key for one in self.content if not one.phrase and not one.verb)


@dataclass(frozen=True, slots=True)
class Change:
    """What a text says about a change: the words for it, and the former value."""

    cue: str = ""
    # Whether the words are unambiguous, like "from now on" and "no longer".
    plain: bool = False
    former: frozenset[str] = frozenset()
    # Whether the new value is in addition to the old one: "also".
    beside: bool = False


@lru_cache(maxsize=4_096)
def claim_of(text: str) -> str:
    """The claim of a memory, without markup and reasons."""
    claim = _MARKUP.sub("", _REASON.split(text[:LONGEST], maxsplit=1)[0])
    return _ABBREVIATION.sub(r"\1 ", claim).strip()


def reason_of(text: str) -> str:
    """The text after **Why:** or **How to apply:**."""
    return " ".join("".join(_REASON.split(text[:LONGEST])[1:]).split()).casefold()


def sentences(text: str) -> list[str]:
    """The sentences of a claim that have words."""
    return list(_sentences(text))


@lru_cache(maxsize=4_096)
def _sentences(text: str) -> tuple[str, ...]:
    found = _SENTENCE.split(claim_of(text), maxsplit=_MOST)
    return tuple(one for one in found if any(map(str.isalnum, one))) or (text,)


@lru_cache(maxsize=16_384)
def statements(text: str, language: str) -> tuple[Statement, ...]:
    """The statements of a text, sentence by sentence, with compound sentences split."""
    rules = forms(language)
    found: list[Statement] = []
    for sentence in _SENTENCE.split(claim_of(text), maxsplit=_MOST):
        if len(found) >= _MOST:
            break
        plain = _prepared(sentence, rules)
        clauses = rules.splits.split(plain) if rules.splits else [plain]
        read = (_statement(clause, rules, language) for clause in clauses)
        found += [one for one in read if one.tokens]
    return tuple(found)


def lists_several(text: str, language: str) -> bool:
    """Whether a text lists values of several things: "Ports: api 8080, admin 8081"."""
    parts = _LISTED.split(claim_of(text).partition(": ")[2] or claim_of(text))
    if len(parts) == 1:
        return False
    kinds = [
        {
            token.kind
            for one in statements(part, language)
            for token in one.content
            if not token.verb
        }
        for part in parts
    ]
    return sum("word" in found and not found.isdisjoint(_VALUES) for found in kinds) > 1


@lru_cache(maxsize=4_096)
def change_in(text: str, language: str) -> Change:
    """What the text says about a change."""
    rules = forms(language)
    plain = _spelt(claim_of(text), rules)
    certain = _first(plain, rules.adverbs, rules.denials)
    cue = certain or _first(plain, rules.cues, rules.since)
    beside = not rules.beside.isdisjoint(re.findall(r"\w+", plain.lower()))
    if cue is None:
        return Change(beside=beside)
    named = [match[1] for one in rules.former for match in one.finditer(plain)]
    read = (_statement(_prepared(one, rules), rules, language) for one in named)
    keys = {token.key for one in read for token in one.tokens if token.kind != "speaker"}
    return Change(cue, certain is not None, frozenset(keys), beside)


def _first(text: str, *patterns: re.Pattern[str] | None) -> str | None:
    asked = (one for one in patterns if one is not None and may_match(one, text))
    found = (pattern.search(text) for pattern in asked)
    return next((match[0].strip() for match in found if match), None)


def _spelt(text: str, rules: Forms) -> str:
    """Without accents and contractions."""
    return rewritten(folded(text), rules.spelling)


def _prepared(sentence: str, rules: Forms) -> str:
    """Without "please remember that" and "from now on"; contractions and fixed phrases spelt out."""
    plain = _spelt(sentence, rules)
    for _ in range(3):
        if rules.frames is None or not may_match(rules.frames, plain):
            break
        shorter = rules.frames.sub("", plain, count=1)
        if shorter == plain or not shorter.strip():
            break
        plain = shorter
    if rules.counted:
        known = rules.numbers
        plain = rules.counted.sub(lambda match: str(known.get(match[0].lower(), match[0])), plain)
    plain = rewritten(plain, rules.rewrites)
    for told in (rules.adverbs, rules.since):
        plain = told.sub(" ", plain) if told and may_match(told, plain) else plain
    return plain


def _statement(clause: str, rules: Forms, language: str) -> Statement:
    raw = amounts(list(read_words(clause, rules, language)))
    at = _pivot(raw, rules)
    placed = list(_placed(raw, at, rules))
    tokens = tuple(token for token in placed if isinstance(token, Token))
    denied = [
        sum(isinstance(token, Token) for token in placed[:index])
        for index, token in enumerate(placed)
        if token is None
    ]
    spoken = [one.word for one in raw]
    relation = _relation(raw, at, rules)
    if at == 0 and relation == "copula":
        # "Ab sofort ist das Standup um 10": what follows is the subject, up to a preposition.
        tokens = tuple(
            one if one.led or one.phrase > 1 else replace(one, phrase=0) for one in tokens
        )
    elif at and _fronted(tokens):
        # "Am Montag kommt der Maler": the day comes first, the subject follows.
        tokens = tuple(
            replace(one, phrase=one.phrase if one.verb or one.led else 0)
            if one.phrase
            else replace(one, phrase=1)
            for one in tokens
        )
    elif at is not None and _inverted(raw, at, rules):
        # "Fish is my shell" is about my shell.
        tokens = tuple(replace(one, phrase=0 if one.phrase else 1) for one in tokens)
    return Statement(
        tokens,
        relation,
        tuple(denied),
        passive=rules.passive in spoken,
        parsed=at is not None,
    )


def _fronted(tokens: Sequence[Token]) -> bool:
    """Whether only days and figures precede the relation, and a subject follows it."""
    before = [one for one in tokens if not one.phrase]
    after = [one for one in tokens if one.phrase and not one.verb]
    return (
        bool(before)
        and all(one.kind in ("day", "number") and one.led for one in before)
        and any(not one.led for one in after)
    )


def _relation(raw: Sequence[Word], at: int | None, rules: Forms) -> Relation:
    if at is None:
        return "other"
    if at and raw[at - 1].word in rules.able:
        return "multiple"
    if _inverted(raw, at, rules):
        return "copula"
    if raw[at].verb == "copula" and any(one.word in rules.posts for one in raw[at + 1 : at + 4]):
        return "owner"
    return raw[at].verb or "copula"


def _inverted(raw: Sequence[Word], at: int, rules: Forms) -> bool:
    """Whether the value comes first, as in "Mira is our CTO", with an article only after the copula."""
    if raw[at].verb != "copula" or at + 1 >= len(raw):
        return False
    return raw[at + 1].word in rules.definite and raw[0].word not in rules.definite | rules.speakers


def _pivot(raw: Sequence[Word], rules: Forms) -> int | None:
    """The index of the relation: a copula, else a verb that is no noun, else a colon."""
    signs = [at for at, one in enumerate(raw) if one.kind == "sign" and one.word in ":=→"]
    candidates = [at for at, one in enumerate(raw) if one.verb and _stands_as_verb(raw, at, rules)]
    outside = [at for at in candidates if not _in_condition(raw, at, rules)] or candidates
    # Of two verbs in a row the first is a noun: "the release train leaves".
    outside = [at for at in outside if at + 1 not in outside or raw[at].verb == "copula"]
    copulas = [at for at in outside if raw[at].verb == "copula"]
    if signs and not (copulas and copulas[0] < signs[0]):
        return signs[0]
    if copulas:
        return copulas[0]
    first = [at for at in outside if at > 0] or outside
    if outside and outside[0] == _opening(raw, rules):
        return outside[0] if len(outside) == 1 or raw[outside[1]].verb != "single" else first[0]
    return first[0] if first else None


def _opening(raw: Sequence[Word], rules: Forms) -> int:
    """The index of the first word that is no filler, negation or adverb: the verb of an order."""
    skipped = rules.fillers | rules.negations | rules.always | rules.speakers
    return next((at for at, one in enumerate(raw) if one.word not in skipped), 0)


# "billing", "building" are nouns without an auxiliary.
_GERUND = re.compile(r"\w{3,}ing")


def _stands_as_verb(raw: Sequence[Word], at: int, rules: Forms) -> bool:
    """False after an article or preposition ("the release"), and at the end of a phrase."""
    if raw[at].verb == "copula":
        return True
    before = raw[at - 1].word if at else ""
    following = raw[at + 1] if at + 1 < len(raw) else None
    if following is not None and (following.word == "," or (not at and following.kind == "number")):
        return False
    if before in rules.auxiliaries:
        return True
    if _GERUND.fullmatch(raw[at].word):
        return False
    if before in rules.fillers or before in rules.prepositions or before in rules.possessives:
        return False
    return not (at == 0 and following is not None and following.verb in ("copula", "single"))


def _in_condition(raw: Sequence[Word], at: int, rules: Forms) -> bool:
    """Whether it is inside "if …," or "when …," at the start, or after such a word."""
    for one in reversed(raw[:at]):
        if one.word == ",":
            return False
        if one.word in rules.conditions:
            return True
    return False


def _placed(raw: Sequence[Word], pivot: int | None, rules: Forms) -> Iterator[Token | None]:
    """The content words, each with its phrase; None at a negation."""
    phrase, led, conditional, filled = 0, "", False, False
    for at, one in enumerate(raw):
        if at == pivot:
            phrase, led, filled = 1, "", False
            conditional = _in_condition(raw, at, rules)
        if one.kind == "sign":
            conditional, led = False, ""
            if phrase and filled and one.word in ",(":
                phrase, filled = phrase + 1, False
            continue
        condition = one.word in rules.conditions and not _before_number(raw, at)
        preposition = one.word in rules.prepositions or (
            one.word in rules.conditions and not condition
        )
        opens = condition or preposition
        if opens and phrase and filled:
            phrase, filled = phrase + 1, False
        if one.word in rules.negations:
            yield None
        elif preposition and not _particle(raw, at):
            led = one.word
        elif (token := _content(one, rules, pivot=at == pivot)) is not None:
            conditional = conditional or condition
            said = token.verb or (phrase == 1 and _participle(raw, at, pivot))
            filled = filled or not said
            yield replace(token, phrase=phrase, led=led, conditional=conditional, verb=said)


def _particle(raw: Sequence[Word], at: int) -> bool:
    """ "The heating is on": a particle that ends a clause after a copula is a value."""
    last = at + 1 == len(raw) or raw[at + 1].kind == "sign"
    return last and at > 0 and raw[at - 1].verb == "copula"


def _participle(raw: Sequence[Word], at: int, pivot: int | None) -> bool:
    """ "is serviced": after a copula the participle is the relation."""
    if pivot is None or raw[pivot].verb != "copula" or at != pivot + 1 or raw[at].kind == "name":
        return False
    return raw[at].verb is not None or bool(re.search(r"(?:ed|ad[oa]s?|id[oa]s?)$", raw[at].word))


def _before_number(raw: Sequence[Word], at: int) -> bool:
    """ "after 60 seconds" is a duration, not a condition."""
    return at + 1 < len(raw) and raw[at + 1].kind == "number"


def _content(one: Word, rules: Forms, *, pivot: bool) -> Token | None:
    if one.word in rules.speakers:
        return Token("", "speaker")
    if one.word in rules.quantities:
        return Token(one.key, "quantity", word=one.word)
    if one.word in rules.conditions:
        return Token(one.key, "word", word=one.word)
    if one.word in rules.fillers or one.word in rules.copulas or one.word in rules.always:
        return None
    if one.kind == "sign" or (pivot and one.key in rules.light):
        return None
    return Token(one.key, one.kind, verb=pivot, vague=one.vague, word=one.word)
