"""A sentence as a statement: its content words, what it is about, and what it says of that.

No parser stands behind this. Closed classes of words (`forms/*.toml`: articles, negations,
conditions, relations with one value) divide a sentence into a subject before its relation and
phrases after it: enough to see *where* two sentences differ. A language without such a file is
read by the order of its words alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

from reverie.text import words
from reverie.text import words as languages

Kind: TypeAlias = Literal["word", "number", "day", "name", "code", "speaker", "quantity"]
Relation: TypeAlias = Literal["copula", "single", "multiple", "owner", "other"]

# A memory's claim is short; of a longer text only the beginning is compared.
LONGEST = 2_000
# A memory makes a few statements; each of one text is compared with each of the other.
_MOST = 16
# The languages that have a file of forms, and how many words tell a text's language.
_READ = ("english", "german", "french", "spanish")
_SAMPLE = 60
_FOLDER = Path(__file__).with_name("forms")

_MARKUP = re.compile(r"^[ \t]*(?:[#>*+-]+[ \t]+|\d+\.[ \t]+)|\*\*|__", re.MULTILINE)
_REASON = re.compile(r"\*\*(?:Why|How to apply):\*\*", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.!?。！？])(?<!\b\d\.)(?<!\b\d\d\.)\s+|\n+|;\s*|\s+[–—]\s+")
_TOKEN = re.compile(
    r"`(?P<code>[^`\n]{1,200})`"
    r"|(?P<url>https?://[^\s<>\"'`)\]]{0,500}[^\s<>\"'`)\].,;:!?])"
    r"|(?P<time>\d{1,2}(?:[:.h]\d{2})? ?(?:[ap]\.?m\b\.?|uhr\b|o.clock\b|de la (?:manana|tarde|noche)\b"
    r"|in the (?:morning|afternoon|evening)\b|du (?:matin|soir)\b|morgens\b|nachmittags\b|abends\b)"
    r"|\d{1,2}[:h]\d{2}(?![\w.])|\d{1,2} ?h\b)"
    r"|(?P<word>[~./]?[^\W_]+(?:[._/:@+-]{1,3}[^\W_]+)*%?)"
    r"|(?P<sign>[,:=()→%€$])",
    re.IGNORECASE,
)
# A figure starts with its digits, but for a letter such as that of v2 or q3; eu-west-1 is a name.
_FIGURE = re.compile(r"[~./]?[^\W\d_]{0,2}\d")
_AMOUNT = re.compile(r"(\d[\d.,]*)(ms|sec|s|min|hrs?|h|d|kb|mb|gb|tb|%|€|\$)")
_UNITS = {"min": "minute", "h": "hour", "hr": "hour", "hrs": "hour", "s": "second", "sec": "second"}
_UNITS |= {"d": "day", "%": "percent", "€": "euro", "$": "dollar"}
_GENDER = re.compile(
    r"(?:herman|hij|abuel|ti|prim|sobrin|nin|chic|amig|vecin|niet|cunad|suegr|novi|espos|jef|gat|perr)([ao])s?"
)
_ABBREVIATION = re.compile(
    r"\b(Dr|Mr|Mrs|Ms|St|Nr|Sr|Sra|Prof|Mme|approx|ca|vs|etc|e\.g|i\.e|z\.B)\.\s"
)
# How many seconds a unit of time has: two weeks are fourteen days.
_SECONDS = {"second": 1, "minute": 60, "hour": 3_600, "day": 86_400, "week": 604_800}
_DAYS = frozenset(
    [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)


@dataclass(frozen=True, slots=True)
class Forms:
    """The closed classes of one language."""

    fillers: frozenset[str] = frozenset()
    prepositions: frozenset[str] = frozenset()
    speakers: frozenset[str] = frozenset()
    copulas: frozenset[str] = frozenset()
    light: frozenset[str] = frozenset()
    single: frozenset[str] = frozenset()
    multiple: frozenset[str] = frozenset()
    owners: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    always: frozenset[str] = frozenset()
    conditions: frozenset[str] = frozenset()
    quantities: frozenset[str] = frozenset()
    definite: frozenset[str] = frozenset()
    auxiliaries: frozenset[str] = frozenset()
    possessives: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    posts: frozenset[str] = frozenset()
    able: frozenset[str] = frozenset()
    passive: str = ""
    frames: re.Pattern[str] | None = None
    adverbs: re.Pattern[str] | None = None
    cues: re.Pattern[str] | None = None
    denials: re.Pattern[str] | None = None
    splits: re.Pattern[str] | None = None
    former: tuple[re.Pattern[str], ...] = ()
    rewrites: tuple[tuple[re.Pattern[str], str], ...] = ()
    numbers: Mapping[str, int] = field(default_factory=dict)
    counted: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Token:
    """A content word: what it is compared by, what kind it is, and where it stands."""

    key: str
    kind: Kind
    # 0 before the relation, then counted: 1 is what follows it, 2 the next phrase, and so on.
    phrase: int = 0
    # The preposition that opened its phrase.
    led: str = ""
    # Part of a condition or exception: "if …", "except …".
    conditional: bool = False
    # The relation itself.
    verb: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """What one clause says."""

    tokens: tuple[Token, ...]
    relation: Relation = "other"
    # Before which token each negation stands; one past the last when it ends the clause.
    denied: tuple[int, ...] = ()
    passive: bool = False
    # Whether a relation was found, so that phrases mean something.
    parsed: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """What a text says about having changed: the words, and what it names as the former value."""

    cue: str = ""
    # Whether the words can mean nothing else, as "from now on" and "no longer" do.
    plain: bool = False
    former: frozenset[str] = frozenset()
    # It says that the new value stands beside the old one: "also".
    beside: bool = False


@cache
def _data(language: str) -> dict[str, Any]:
    file = _FOLDER / f"{language}.toml"
    return tomllib.loads(file.read_text(encoding="utf-8"))


@cache
def _vocabulary(language: str) -> frozenset[str]:
    classes = [value for value in _data(language).values() if isinstance(value, str)]
    return frozenset(" ".join(classes).split())


@cache
def forms(language: str) -> Forms:
    """The classes of a language; a language without a file has none."""
    if language not in _READ:
        return Forms()
    data = _data(language)
    sets = {
        name: frozenset(str(data[name]).split())
        for name in ("fillers", "prepositions", "speakers", "copulas", "negations", "always")
    }
    sets |= {
        name: frozenset(str(data[name]).split())
        for name in (
            "conditions",
            "quantities",
            "definite",
            "auxiliaries",
            "possessives",
            "beside",
            "posts",
            "able",
        )
    }
    verbs = {
        name: frozenset(words.stem(verb, language) for verb in str(data[name]).split())
        for name in ("light", "single", "multiple", "owners")
    }
    return Forms(
        **sets,
        **verbs,
        passive=data["passive"],
        frames=_any(data["frames"], r"^\s*", r"(?:\s+|$)"),
        adverbs=_any(data["adverbs"]),
        cues=_any(data["cues"]),
        denials=_any(data["denials"]),
        splits=re.compile("|".join(data["splits"]), re.IGNORECASE),
        former=tuple(re.compile(one, re.IGNORECASE) for one in data["former"]),
        rewrites=tuple((re.compile(a, re.IGNORECASE), b) for a, b in data["rewrites"]),
        numbers=data["numbers"],
        counted=_any(list(data["numbers"])),
    )


def _any(patterns: Sequence[str], start: str = r"\b", end: str = r"(?!\w)") -> re.Pattern[str]:
    return re.compile(rf"{start}(?:{'|'.join(patterns)}){end}", re.IGNORECASE)


@cache
def _synonyms(language: str) -> dict[str, str]:
    """What each word stands for; groups in brackets' sections, the shared ones and the language's own."""
    found: dict[str, str] = {}
    section = ""
    for line in (_FOLDER / "synonyms.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif section in ("shared", language):
            group = line.split()
            found |= dict.fromkeys(group, group[0])
    return found


@cache
def negations() -> frozenset[str]:
    """The words that deny, in every language that has a file."""
    return frozenset(word for name in _READ for word in str(_data(name)["negations"]).split())


def language_of(*texts: str) -> str:
    """The language texts are compared in; English when no small word tells."""
    found = [word for text in texts for word in words.plain_words(text[:LONGEST])[:_SAMPLE]]
    scores = {name: sum(word in _vocabulary(name) for word in found) for name in _READ}
    best = max(scores, key=lambda name: scores[name])
    leaning = languages.leaning(found)
    if leaning in scores and scores[leaning] >= scores[best]:
        return leaning
    return best if scores[best] else leaning or "english"


def claim_of(text: str) -> str:
    """What a memory states, without its markup and the reasons given below it."""
    claim = _MARKUP.sub("", _REASON.split(text[:LONGEST], maxsplit=1)[0])
    return _ABBREVIATION.sub(r"\1 ", claim).strip()


def reason_of(text: str) -> str:
    """What stands behind **Why:** or **How to apply:**."""
    return " ".join("".join(_REASON.split(text[:LONGEST])[1:]).split()).casefold()


@lru_cache(maxsize=4_096)
def statements(text: str, language: str) -> tuple[Statement, ...]:
    """The statements of a text: sentence by sentence, compound ones taken apart."""
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


@lru_cache(maxsize=4_096)
def change_in(text: str, language: str) -> Change:
    """What the text itself says of a change."""
    rules = forms(language)
    plain = _folded(claim_of(text))
    certain = _first(plain, rules.adverbs, rules.denials)
    cue = certain or _first(plain, rules.cues)
    if cue is None:
        return Change()
    named = [match[1] for one in rules.former for match in one.finditer(plain)]
    read = (_statement(one, rules, language) for one in named)
    keys = {token.key for one in read for token in one.tokens if token.kind != "speaker"}
    beside = not rules.beside.isdisjoint(re.findall(r"\w+", plain.lower()))
    return Change(cue, certain is not None, frozenset(keys), beside)


def _first(text: str, *patterns: re.Pattern[str] | None) -> str | None:
    found = (pattern.search(text) for pattern in patterns if pattern is not None)
    return next((match[0].strip() for match in found if match), None)


def _folded(text: str) -> str:
    """Without accents, but with its capitals: they tell names."""
    if text.isascii():
        return text
    return "".join(char if char.isascii() else _fold_char(char) for char in text)


@lru_cache(maxsize=4_096)
def _fold_char(char: str) -> str:
    if char in "’‘":
        return "'"
    plain = words.fold(char)
    return plain.upper() if char.isupper() else plain


def _prepared(sentence: str, rules: Forms) -> str:
    """Without "please remember that" and "from now on"; contractions and fixed phrases spelt out."""
    plain = _folded(sentence)
    for _ in range(3):
        shorter = rules.frames.sub("", plain, count=1) if rules.frames else plain
        if shorter == plain or not shorter.strip():
            break
        plain = shorter
    if rules.counted:
        plain = rules.counted.sub(lambda match: str(rules.numbers[match[0].lower()]), plain)
    for pattern, replacement in rules.rewrites:
        plain = pattern.sub(replacement, plain)
    return rules.adverbs.sub(" ", plain) if rules.adverbs else plain


@dataclass(frozen=True, slots=True)
class _Raw:
    """A word as it stands, before it is known what part it plays."""

    word: str
    key: str
    kind: Kind | Literal["sign"]
    verb: Relation | None = None


def _statement(clause: str, rules: Forms, language: str) -> Statement:
    raw = _amounts(list(_raw_words(clause, rules, language)))
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
    elif at is not None and _inverted(raw, at, rules):
        # "Fish is my shell" tells about my shell.
        tokens = tuple(replace(one, phrase=0 if one.phrase else 1) for one in tokens)
    return Statement(
        tokens,
        relation,
        tuple(denied),
        passive=rules.passive in spoken,
        parsed=at is not None,
    )


def _relation(raw: Sequence[_Raw], at: int | None, rules: Forms) -> Relation:
    if at is None:
        return "other"
    if at and raw[at - 1].word in rules.able:
        return "multiple"
    if _inverted(raw, at, rules):
        return "copula"
    if raw[at].verb == "copula" and any(one.word in rules.posts for one in raw[at + 1 : at + 4]):
        return "owner"
    return raw[at].verb or "copula"


def _inverted(raw: Sequence[_Raw], at: int, rules: Forms) -> bool:
    """Does the value come first, as in "Mira is our CTO"? Then an article follows the copula only."""
    if raw[at].verb != "copula" or at + 1 >= len(raw):
        return False
    return raw[at + 1].word in rules.definite and raw[0].word not in rules.definite | rules.speakers


def _raw_words(clause: str, rules: Forms, language: str) -> Iterator[_Raw]:
    """Every word and sign; numbers, units and times in one form."""
    previous = ""
    for match in _TOKEN.finditer(clause):
        text = match[0]
        if match["sign"]:
            unit = _UNITS.get(text)
            yield _Raw(text, unit, "word") if unit else _Raw(text, text, "sign")
        elif match["code"] or match["url"]:
            yield _Raw(text, (match["code"] or text).strip(), "code")
        elif match["time"]:
            yield _Raw(text, _time(text.lower()), "number")
        else:
            opening = previous == ""
            for one in _pieces(text):
                yield from _word(one, previous, rules, language, opening=opening)
                previous = one.lower()
        previous = text.lower()


def _amounts(raw: Sequence[_Raw]) -> list[_Raw]:
    """A number and its unit of time as one figure, in seconds."""
    found: list[_Raw] = []
    for one in raw:
        amount = _SECONDS.get(one.key)
        before = found[-1] if found else None
        if amount and before is not None and before.kind == "number" and before.key.isdigit():
            found[-1] = _Raw(before.word, f"{int(before.key) * amount}s", "number")
        else:
            found.append(one)
    return found


def _pieces(text: str) -> list[str]:
    """Compounds with a hyphen are two words; identifiers, versions and paths are one."""
    parts = text.split("-")
    if len(parts) > 1 and all(part.isalpha() for part in parts):
        return ["".join(parts)] if len(parts[0]) == 1 else parts
    return [text.rstrip(".:/")]


def _word(
    text: str, previous: str, rules: Forms, language: str, *, opening: bool
) -> Iterator[_Raw]:
    plain = text.lower()
    if amount := _AMOUNT.fullmatch(plain):
        yield _Raw(amount[1], _number(amount[1]), "number")
        yield _Raw(amount[2], _UNITS.get(amount[2], amount[2]), "word")
        return
    if plain in rules.numbers:
        yield _Raw(plain, str(rules.numbers[plain]), "number")
        return
    if any(char.isdigit() for char in plain):
        yield _Raw(plain, _number(plain), "number" if _FIGURE.match(plain) else "code")
        return
    if plain in _UNITS and previous[-1:].isdigit():
        yield _Raw(plain, _UNITS[plain], "word")
        return
    if text == "US":
        yield _Raw("u.s.", "us", "name")
        return
    stem = _stem(plain, language)
    known = _synonyms(language)
    key = known.get(plain) or known.get(stem) or stem
    if language == "spanish" and key == stem and (gender := _GENDER.fullmatch(plain)):
        # "hermano" and "hermana" have one stem and are two people.
        key += gender[1]
    if key in _DAYS:
        yield _Raw(plain, key, "day")
        return
    name = not opening and text[:1].isupper() and language != "german"
    yield _Raw(plain, key, "name" if name else "word", _verb(plain, stem, rules))


def _stem(plain: str, language: str) -> str:
    if language == "english":
        plain = _irregular().get(plain, plain)
    elif language == "german" and (participle := re.fullmatch(r"(\w{0,4}?)ge(\w{3,})t", plain)):
        plain = f"{participle[1]}{participle[2]}en"
    return words.stem(plain, language)


@cache
def _irregular() -> dict[str, str]:
    lines = (_FOLDER / "irregular.txt").read_text(encoding="utf-8").splitlines()
    groups = (line.split() for line in lines if not line.startswith("#"))
    return {form: group[-1] for group in groups for form in group}


def _verb(plain: str, stem: str, rules: Forms) -> Relation | None:
    if plain in rules.copulas:
        return "copula"
    if stem in rules.owners:
        return "owner"
    if stem in rules.multiple:
        return "multiple"
    return "single" if stem in rules.single or stem in rules.light else None


def _time(text: str) -> str:
    """14:00 for 2pm, 14h, 14.00 Uhr and 14:00."""
    hour, minute = (*re.findall(r"\d+", text), "00")[:2]
    late = re.search(r"p\.?m|tarde|noche|afternoon|evening|soir|nachmittag|abend", text)
    return f"{int(hour) + (12 if late and int(hour) < 12 else 0)}:{minute}"


def _number(text: str) -> str:
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", text).strip(".,:")


def _pivot(raw: Sequence[_Raw], rules: Forms) -> int | None:
    """Where the relation stands: a copula, else a verb that does not look like a noun, else a colon."""
    signs = [at for at, one in enumerate(raw) if one.kind == "sign" and one.word in ":=→"]
    candidates = [at for at, one in enumerate(raw) if one.verb and _stands_as_verb(raw, at, rules)]
    outside = [at for at in candidates if not _in_condition(raw, at, rules)] or candidates
    copulas = [at for at in outside if raw[at].verb == "copula"]
    if signs and not (copulas and copulas[0] < signs[0]):
        return signs[0]
    if copulas:
        return copulas[0]
    first = [at for at in outside if at > 0] or outside
    if outside and outside[0] == _opening(raw, rules):
        return outside[0] if len(outside) == 1 or raw[outside[1]].verb != "single" else first[0]
    return first[0] if first else None


def _opening(raw: Sequence[_Raw], rules: Forms) -> int:
    """The first word that is no filler, negation or adverb: where an order has its verb."""
    skipped = rules.fillers | rules.negations | rules.always | rules.speakers
    return next((at for at, one in enumerate(raw) if one.word not in skipped), 0)


def _stands_as_verb(raw: Sequence[_Raw], at: int, rules: Forms) -> bool:
    """Not after an article or preposition ("the release"), nor where a phrase ends ("tests, …")."""
    if raw[at].verb == "copula":
        return True
    before = raw[at - 1].word if at else ""
    following = raw[at + 1] if at + 1 < len(raw) else None
    if following is not None and (following.word == "," or (not at and following.kind == "number")):
        return False
    if before in rules.auxiliaries:
        return True
    if before in rules.fillers or before in rules.prepositions or before in rules.possessives:
        return False
    return not (at == 0 and following is not None and following.verb in ("copula", "single"))


def _in_condition(raw: Sequence[_Raw], at: int, rules: Forms) -> bool:
    """Inside "if …," or "when …," at the start, or after such a word."""
    for one in reversed(raw[:at]):
        if one.word == ",":
            return False
        if one.word in rules.conditions:
            return True
    return False


def _placed(raw: Sequence[_Raw], pivot: int | None, rules: Forms) -> Iterator[Token | None]:
    """The content words, each with the phrase it stands in; None where something is denied."""
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
        elif preposition:
            led = one.word
        elif (token := _content(one, rules, pivot=at == pivot)) is not None:
            conditional = conditional or condition
            filled = filled or at != pivot
            said = token.verb or (phrase == 1 and _participle(raw, at, pivot))
            yield replace(token, phrase=phrase, led=led, conditional=conditional, verb=said)


def _participle(raw: Sequence[_Raw], at: int, pivot: int | None) -> bool:
    """ "is serviced": behind a copula the participle is the relation."""
    if pivot is None or raw[pivot].verb != "copula" or at != pivot + 1:
        return False
    return raw[at].verb is not None or bool(re.search(r"(?:ed|ad[oa]s?|id[oa]s?)$", raw[at].word))


def _before_number(raw: Sequence[_Raw], at: int) -> bool:
    """ "after 60 seconds" says how long, not on which condition."""
    return at + 1 < len(raw) and raw[at + 1].kind == "number"


def _content(one: _Raw, rules: Forms, *, pivot: bool) -> Token | None:
    if one.word in rules.speakers:
        return Token("", "speaker")
    if one.word in rules.quantities:
        return Token(one.key, "quantity")
    if one.word in rules.conditions:
        return Token(one.key, "word")
    if one.word in rules.fillers or one.word in rules.copulas or one.word in rules.always:
        return None
    if one.kind == "sign" or (pivot and one.key in rules.light):
        return None
    return Token(one.key, one.kind, verb=pivot)
