"""Secrets in sentences: «the token of the staging server is …», «nimm … als Passwort».

A *cue* is a word for a secret, in English, German, French or Spanish. Every token near a cue is
judged by the words between them: a value that is clearly named may look like a chosen password; one
that is only in the same sentence must look generated. Without a cue, only long tokens with three
character classes count, and only inside a sentence.

Each token is compared with the nearest cues within a fixed distance, so the time is linear.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from reverie.memory.secrets.library import Secret
from reverie.memory.secrets.plausibility import (
    is_chosen,
    is_door_code,
    is_hash,
    is_mixed,
    is_numbered_words,
    is_of_both_cases,
    is_opaque,
    is_pin,
    is_placeholder,
    is_spoken_key,
    is_spoken_password,
    is_varied,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Kind = Literal["password", "login", "network", "unlock", "codes", "key", "pin", "generic"]

_NAMES: dict[Kind, str] = {
    "password": "password",
    "login": "password",
    "network": "password",
    "unlock": "password",
    "codes": "recovery code",
    "key": "api key",
    "pin": "pin",
    "generic": "key",
}
_REACH = 110
_LONGEST_TOKEN = 512

_CUES: dict[Kind, str] = {
    "password": r"pass(?:word|wd|wort|wörter|phrase| phrase|key)|pass\b|pwd|pw\b|kennw[oö]rt|wachtwoord|contrase[ñn]a"
    r"|senha|mots? de passe|mdp\b|hasło|lösenord|adgangskode|parola\b|пароль|psk\b",
    "login": r"basic auth\b|log[- ]?ins?\b|sign in\b|zugang(?:sdaten)?\b|anmeldedaten|identifiants?\b|credencial(?:es)?\b|creds\b",
    "network": r"wi-?fi\b|wlan\b",
    "unlock": r"opens? with\b|öffnet (?:sich )?mit\b|s['’]ouvre avec\b|se abre con\b|unlock(?:s|ed)?\b|decrypts?\b|unzips?\b|entsperr\w*|entschlüssel\w*|déverrouill\w*|déchiffr\w*|desbloque\w*",
    "codes": r"(?:recovery|backup) codes?|wiederherstellungscodes?|codes? de récupération|códigos? de (?:recuperación|respaldo)",
    "key": r"tokens?\b|secret(?:s|o)?\b|credentials?\b|bearer\b|geheim(?:nis|e[rnms]? schlüssel)|jetons?\b|clés?\b|claves?\b"
    r"|llaves?\b|seed\b|t?otp\b|2fa\b|authenticator|webhooks?\b|cookies?\b|authorization\b",
    "pin": r"pin(?:[- ]?code)?\b|puk\b|passcode|(?:access|alarm|door|entry|garage|gate|lock(?:er)?|safe) code"
    r"|(?:alarm|tür|tor|safe|zugangs)code|code (?:d['’]accès|de l['’]alarme|de la porte|du portail|du coffre)"
    r"|código de (?:acceso|la alarma|la puerta)|clave de (?:acceso|la alarma|la puerta)",
    "generic": r"keys?\b|schlüssel\b|chaves?\b",
}
_CUE = re.compile("|".join(f"(?P<{kind}>{words})" for kind, words in _CUES.items()))
# The beginnings of cues: a plain alternation is fast, and the pattern above is tried only there.
_STEM = re.compile(
    r"basic auth|pass|pw|kenn|wachtw|contrase|senha|mot|mdp|has|lösen|adgangs|parola|пароль|log|sign in|zugang|anmelde|identif"
    r"|cred|psk|wi-?fi|wlan|token|secret|bearer|geheim|jeton|cl[éa]|llave|seed|t?otp|2fa|authen|webhook|cookie"
    r"|authori|recovery|backup|wieder|code|código|pin|puk|access|alarm|door|entry|garage|gate|lock|safe|tür|tor|key"
    r"|schlüssel|chave|unlock|unzip|decrypt|entsperr|entschlüssel|déverrouill|déchiffr|desbloque|open|öffnet|s['’]ouvre|se abre"
)
# Too short to count inside a longer word, unlike in `Datenbankpasswort` or `apitoken`.
_SHORT = re.compile(
    r"(?:pass|pw|mdp|psk|pin|puk|seed|t?otp|2fa|clé|clés|wi-?fi|wlan|clave|claves|log[- ]?in)s?\Z"
)
_KEY_OF = re.compile(
    r"(?:api|access|auth|account|client|encryption|licen[sc]e|master|private|secret|service|shared|signing|storage"
    r"|subscription|deploy|admin|webhook|session|zugangs|zugriffs|geheime[rnms]?|private[rnms]?)[-_ ]?\Z"
)
# Keys that are not secret: `primary key`, `cache key`, `public key`, `idempotency key`.
_OTHER_KEY = re.compile(
    r"(?:primary|foreign|sort|partition|cache|public|idempotency|hot|composite|unique|lookup|shard|row"
    r"|object|dict|map|index|routing|group|answer|öffentliche[rn]?|host|arrow|registry|translation|json|yaml)[-_ ]$"
)

_IN_TOKEN = r"[^\s\"'`<>(){}\[\],;|=「」，。；、«»“”„‘’\ufffc\\]"
# Anchored at the first character, so that a long run of letters is tried once; requires a digit, a
# sign or three separators.
_TOKEN = re.compile(
    rf"(?<!{_IN_TOKEN})(?={_IN_TOKEN}*?(?:[\d!@#$%^&*?~]|[-_.][a-z]++[-_.][a-z]++[-_.][a-z]|[a-zA-Z]={{1,2}}(?!\S)))"
    rf"{_IN_TOKEN}{{4,}}+={{0,2}}"
)
_TRAILING = ".:!?*#…"
_CALLED = ("(", "[")
_SENTENCE_END = re.compile(r"[.!?]['\")]?\s+[A-ZÄÖÜÉÈÀ¿¡]|\n")
_WORD = re.compile(r"[^\W_]+")

# Between a cue and its value, none of these may occur …
_NOT_ITS_VALUE = frozenset(
    ["hash", "hashes", "digest", "checksum", "fingerprint", "id", "ids", "uuid", "count", "limit", "limits", "budget", "policy", "length", "size", "ttl", "expiry", "expires", "field", "column", "variable", "env", "file", "files", "path", "page", "link", "url", "type", "kind", "format", "prefix", "header", "bucket", "manager", "rotation", "reset", "version", "endpoint", "issuer", "audience", "scope", "class", "function", "method", "expire", "after", "before", "since", "every", "until", "characters", "zeichen", "caractères", "caracteres", "days", "hours", "minutes", "seconds", "stunden", "tage", "jours", "heures", "días", "horas", "länge", "longueur", "longitud", "named", "called", "kostet", "costs", "cost", "price", "table", "spalte", "counted", "commit", "request", "message", "see", "siehe"]
)  # fmt: skip
# … and the last word must be one of these, or a sign, or there is no word at all.
_LEADS = frozenset(
    ["s", "is", "are", "was", "were", "be", "being", "now", "still", "currently", "actually", "simply", "just", "to", "into", "as", "by", "with", "reads", "equals", "ist", "sind", "war", "lautet", "lauten", "heißt", "heisst", "jetzt", "nun", "auf", "durch", "als", "bitte", "mit", "sei", "est", "sont", "était", "devient", "désormais", "maintenant", "par", "comme", "avec", "suivant", "es", "son", "era", "será", "ahora", "por", "como", "con", "al", "sea", "ahora", "el", "la", "le", "das", "der", "a", "à", "zu"]
)  # fmt: skip
# «For the wifi use …», «tape …».
_USE = frozenset(
    ["use", "using", "type", "enter", "take", "nimm", "nehmt", "nutze", "tippe", "utilise", "utilisez", "tape", "tapez", "saisis", "usa", "usad", "pon", "teclea"]
)  # fmt: skip
# «User ada, key …»: beside the name of an account any key is a password.
_ACCOUNT = re.compile(
    r"\b(?:user(?:name)?|account|login|benutzer(?:name)?|konto|utilisateur|compte|identifiant|usuario|cuenta)\b[\s:]+\S+[\s,;/&+]+(?:\w{1,4}\s+)?$",
    re.IGNORECASE,
)
_DOOR = re.compile(
    r"\b(?:door|gate|keypad|lock(?:er|box)?|safe|garage|alarm|tür|tor|schloss|tresor|porte|portail|digicode|coffre|puerta|portón|caja fuerte|candado)\w*",
    re.IGNORECASE,
)
# The key of a network as people make it up, at the end of what is said of it: «clé wifi du bureau orgue074668».
_WORD_AND_NUMBER = re.compile(r"[^\W\d_]{3,}\d{4,}")
_ENDS = re.compile(r"[\s\"'»”.!]*(?:\n|$)")
_SIGN_BEFORE = re.compile(r"(?:[:=：＝]|->|=>|→|⇒|[-–—])[\s\"'`*(\[<{«“„‘「]*$")
# After a value: «… is the token», «… als Passwort», «… (password)».
_FOLLOWS = re.compile(
    r"[!?\"'`*)\]>»”’」]*\s*(?:[-–—,]\s*)?(?:\(|(?:is|was|as|for|ist|war|als|est|comme|es|como|that['’]?s|das ist|c['’]est|eso es)\b)"
)
# Recovery codes such as `4f8a-9c2e` or `12345678`.
_CODE = re.compile(
    r"[A-Za-z0-9]{4,6}(?:-[A-Za-z0-9]{4,6}){1,5}|\d{6,10}|(?=[a-z]*\d)[a-z0-9]{8,16}"
)
_UNIT = re.compile(
    r"\s*%|\s+(?:digits?|char|letters?|attempts?|tries|times|second|minute|hour|day|week|month|year|users?|people|items?"
    r"|entries|euros?|dollars?|stellen|ziffern|zeichen|versuche|sekunden|minuten|stunden|tage|chiffres|caract|essais|jours"
    r"|heures|cifras|dígitos|intentos|días|horas|veces)"
)
# A value after one of these is an id, with or without a cue.
_NAMES_AN_ID = re.compile(
    r"(?:\b(?i:ids?|uid|uuid|sha\d*|md5|commit|revision|checksum|digest|hash|fingerprint|integrity|signature|etag|nonce"
    r"|request|trace|span|message|channel|video|document|folder|file|image|build|address|wallet|cid|public key|adresse|datei)"
    r"|(?:[a-z]Id|_id|-id|ID)s?)[\s:=#\"'`(*\\]{1,6}$"
)
_SENTENCE_WORDS = 3
# A label on its own line, such as `Okta: …`.
_LABEL = re.compile(r"[\s>*\-•|]*[A-Z][\w.]*(?: [\w.]+){0,2}\s?(?::|->|→|=|–|-)\s*[\"'`*(\[<«]*")
_NOTHING_MORE = re.compile(r"[\"'`*)\]>».,;\s]*")


@dataclass(frozen=True, slots=True)
class _Cue:
    kind: Kind
    start: int
    end: int


def find_in_sentences(text: str, lower: str) -> Iterator[Secret]:
    """Every value that is a secret by the words around it, or by its form in a sentence."""
    cues = _cues(lower)
    starts = [cue.start for cue in cues]
    for found in _TOKEN.finditer(text):
        start, end = found.start(), _end(text, found)
        value = text[start:end]
        if not 4 <= len(value) <= _LONGEST_TOKEN or text[end : end + 1] in _CALLED:
            continue
        # `${PASSWORD:?must be set}` names a variable.
        if text.endswith("${", 0, start) or _NAMES_AN_ID.search(text, max(0, start - 32), start):
            continue
        place = bisect_left(starts, start)
        kind = _judged(
            text, value, start, end, cues[max(0, place - 3) : place], cues[place : place + 2]
        )
        if kind and "://" not in value and not _in_address(text, start):
            yield Secret(kind, start, end)


def _cues(lower: str) -> list[_Cue]:
    found: list[_Cue] = []
    end = 0
    for stem in _STEM.finditer(lower):
        match = _CUE.match(lower, stem.start()) if stem.start() >= end else None
        if match is None:
            continue
        start, end = match.span()
        inside = lower[start - 1 : start].isalnum()
        # A part of a longer name: `token_response`; or a short word inside another: `spin`.
        if lower[end : end + 1] == "_" or (inside and _SHORT.match(match[0])):
            continue
        kind = _kind(match, lower[max(0, start - 16) : start])
        if kind:
            found.append(_Cue(kind, start, end))
    return found


def _kind(match: re.Match[str], before: str) -> Kind | None:
    kind = cast("Kind", match.lastgroup)
    if kind != "generic":
        return kind
    if _KEY_OF.search(before):
        return "key"
    return None if before[-1:].isalnum() or _OTHER_KEY.search(before) else kind


def _end(text: str, found: re.Match[str]) -> int:
    end = found.end()
    if text[end - 1] == "!" and text[end : end + 1] in (",", ";", ")"):
        return end
    while end > found.start() and text[end - 1] in _TRAILING:
        end -= 1
    return end


def _in_address(text: str, start: int) -> bool:
    """Whether it is part of a URL, such as the value of `?id=`."""
    before = text[max(0, start - 200) : start]
    cut = max(before.rfind(" "), before.rfind("\n"), before.rfind('"'), before.rfind("'"))
    return "://" in before[cut + 1 :]


def _judged(
    text: str, value: str, start: int, end: int, before: Sequence[_Cue], behind: Sequence[_Cue]
) -> str | None:
    """The kind of secret; None if it is not a secret."""
    loose: Kind | None = None
    for cue in reversed(before):
        if cue.end > start or start - cue.end > _REACH:
            continue
        between = text[cue.end : start]
        if _SENTENCE_END.search(between):
            continue
        kind = _named_kind(cue, between, before, text)
        if named := _named_by(cue, kind, between, value, text, end):
            return _NAMES[named]
        loose = loose or cue.kind
    for cue in behind:
        if (
            cue.start < end
            or cue.start - end > _REACH
            or _SENTENCE_END.search(text[end : cue.start])
        ):
            continue
        between = text[end : cue.start]
        if (
            _FOLLOWS.match(between)
            and not _is_about_another(between)
            and _is_named_behind(cue.kind, value)
        ):
            return _NAMES[cue.kind]
        loose = loose or cue.kind
    if loose == "codes" and _CODE.fullmatch(value):
        return _NAMES[loose]
    if loose and loose != "generic" and is_opaque(value, 10 if is_of_both_cases(value) else 16):
        return _NAMES[loose]
    return "opaque key" if is_mixed(value) and _in_sentence(text, start, end) else None


def _named_kind(cue: _Cue, between: str, before: Sequence[_Cue], text: str) -> Kind:
    """What a cue names: the "key" of a network is its password, as is what follows "wifi:"."""
    if cue.kind == "network":
        given = _SIGN_BEFORE.search(between) or _USE.intersection(between.lower().split()[-1:])
        return "network" if given else "login"
    if cue.kind in ("key", "generic") and _ACCOUNT.search(text, max(0, cue.start - 60), cue.start):
        return "password"
    network = cue.kind == "generic" and any(
        one.kind == "network"
        and one.end < cue.start
        and not _SENTENCE_END.search(text[one.end : cue.start])
        for one in before
    )
    return "password" if network else cue.kind


def _named_by(cue: _Cue, kind: Kind, between: str, value: str, text: str, end: int) -> Kind | None:
    """The kind of secret that a cue before a value says it is."""
    if not _leads_to(between):
        last = cue.kind == "network" and _is_said_last(text, between, value, end)
        return "network" if last else None
    if _is_value(kind, value, text[end : end + 12]):
        return kind
    return "pin" if kind == "unlock" and _opens_a_door(text, cue, value) else None


def _opens_a_door(text: str, cue: _Cue, value: str) -> bool:
    named = _DOOR.search(text, max(0, cue.start - 60), cue.start)
    return is_pin(value.strip("#*")) and bool(named)


def _is_said_last(text: str, between: str, value: str, end: int) -> bool:
    """Whether a made-up word with a number ends what is said of a network and its key."""
    return bool(
        _WORD_AND_NUMBER.fullmatch(value)
        and _ENDS.match(text, end)
        and not _is_about_another(between)
        and not is_placeholder(value)
    )


def _leads_to(between: str) -> bool:
    """Whether the words between a cue and a value connect them."""
    words = [word.lower() for word in _WORD.findall(between)]
    if not words:
        return len(between) <= 12
    if _NOT_ITS_VALUE.intersection(words):
        return False
    return bool(_SIGN_BEFORE.search(between)) or words[-1] in _LEADS or words[-1] in _USE


def _is_about_another(between: str) -> bool:
    return bool(_NOT_ITS_VALUE.intersection(word.lower() for word in _WORD.findall(between)))


def _is_value(kind: Kind, value: str, after: str) -> bool:
    pin = is_pin(value) and not _UNIT.match(after)
    match kind:
        case "pin":
            return pin or is_door_code(value) or is_spoken_key(value)
        case "password":
            numbered = is_spoken_password(value) or is_numbered_words(value)
            return (pin and len(value) >= 6) or numbered
        case "network" | "unlock":
            chosen = is_chosen(value) and is_spoken_password(value)
            return chosen or (kind == "network" and is_numbered_words(value))
        case "key":
            return is_spoken_key(value)
        case "codes":
            return bool(_CODE.fullmatch(value))
        case _:
            hashed = kind == "generic" and is_hash(value) and len(value) >= 32
            opaque = is_opaque(value, 16 if kind == "generic" else 10)
            pair = kind == "login" and _is_name_and_password(value)
            return opaque or pair or (hashed and not is_placeholder(value))


def _is_name_and_password(value: str) -> bool:
    name, _, password = value.partition(":")
    return name.isalnum() and is_chosen(password) and is_spoken_password(password)


def _is_named_behind(kind: Kind, value: str) -> bool:
    if kind in ("generic", "login", "network", "unlock", "codes"):
        return is_opaque(value, 16)
    if kind == "password" and is_spoken_password(value) and is_varied(value):
        return True
    return is_spoken_key(value) or (kind == "pin" and is_pin(value))


def _in_sentence(text: str, start: int, end: int) -> bool:
    """Whether it is among the words of a sentence, or after a label on its own line."""
    before = text[max(0, start - 120) : start].rpartition("\n")[2]
    after = text[end : end + 120].partition("\n")[0]
    if before.endswith("base64,"):
        return False
    if _LABEL.fullmatch(before) and _NOTHING_MORE.fullmatch(after):
        return True
    return (
        len(re.findall(r"(?<![\w/.-])[^\W\d_]{2,}(?![\w/-])", f"{before} {after}"))
        >= _SENTENCE_WORDS
    )
