"""Words for a secret, in English, German, French and Spanish: where they are, and what they name."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

Kind = Literal["password", "login", "network", "unlock", "codes", "key", "pin", "code", "generic"]

NAMES: dict[Kind, str] = {
    "password": "password",
    "login": "password",
    "network": "password",
    "unlock": "password",
    "codes": "recovery code",
    "key": "api key",
    "pin": "pin",
    "code": "pin",
    "generic": "key",
}
_CUES: dict[Kind, str] = {
    # `p[as]…`: also as people mistype it, such as `passwrod`, `pasword` and `passowrd`.
    "password": r"pass(?:word|wd|wort|wörter|phrase| phrase|key)|p[as]{2,5}[wor]{2,5}[dt]s?\b|pass\b|pwd|pw\b|kenn?w[oö]r?t"
    r"|wachtwoord|contrase[ñn]a|cont[ras]{2,4}e[ñn]a|frase de paso|key ?phrase|schlüsselphrase|phrase (?:de passe|secrète)|frase secreta"
    r"|senha|mots? ?de ?pas+e|mdp\b|hasło|lösenord|adgangskode|parola\b|пароль|psk\b",
    "login": r"basic auth\b|log[- ]?ins?\b|sign in\b|zugang(?:sdaten)?\b|anmeldedaten|identifiants?\b|credencial(?:es)?\b|creds\b",
    "network": r"wi-?fi\b|wlan\b|ssid\b",
    "unlock": r"opens? with\b|öffnet (?:sich )?mit\b|s['’]ouvre avec\b|se abre con\b|unlock(?:s|ed|ing)?\b|decrypts?\b|unzips?\b|entsperr\w*"
    r"|entschlüssel\w*|déverrouill\w*|déchiffr\w*|desbloque\w*|encrypted\b|verschlüsselt\b|chiffrée?s?\b|cifrad[oa]s?\b|locked\b"
    r"|gesperrt\b|keepass\w*|veracrypt|bitlocker|luks\b|protected\b|geschützt\b|protégée?s?\b|protegid[oa]s?\b",
    "codes": r"(?:recovery|backup) (?:codes?|keys?)|wiederherstellungs(?:codes?|schlüssel)|clés? de récupération|claves? de recuperación|codes? de (?:récupération|secours)|códigos? de (?:recuperación|respaldo)",
    "pin": r"pin(?:[- ]?code)?\b|disarm(?:s|ing)?\b|entschärf\w*|désarmer?\b|desarmar\b|(?:alarm|garage|gate|safe|tresor|portail)(?=\s?[:=]\s?\d{4,8}[#*]?\s*(?:[,;.\n]|\Z))|puk\b|passcode|digicode|key ?codes?\b|keypad\b|padlock\b|combination\b|kombination\b|combinaison\b|combinación\b"
    r"|(?:access|alarm|door|entry|garage|gate|lock(?:er)?|safe) code|(?:bike|luggage|suitcase|gym|shed|locker)(?:['’]s)? lock\b|lockbox\b"
    r"|(?:zahlen|fahrrad|vorhänge)schloss|cadenas\b|candado\b"
    r"|(?:alarm|tür|tor|safe|zugangs)code|code (?:d['’]accès|de l['’]alarme|de la porte|du portail|du coffre)"
    r"|código de (?:acceso|la alarma|la puerta)|clave de (?:acceso|la alarma|la puerta)",
    "key": r"tokens?\b|to[ken]{3}s?\b|secret(?:s|o)?\b|credentials?\b|bearer\b|geheim(?:nis|e[rnms]? schlüssel)|jetons?\b|clés?\b|claves?\b"
    r"|llaves?\b|seed\b|t?otp\b|2fa\b|authenticator|webhooks?\b|cookies?\b|authorization\b|mnemonic|(?:12|24|twelve) words\b|serial\b(?! n)|activation\b",
    "code": r"codes?\b|códigos?\b",
    "generic": r"keys?\b|schlüssel\b|chaves?\b",
}
_CUE = re.compile("|".join(f"(?P<{kind}>{words})" for kind, words in _CUES.items()))
# The beginnings of cues: a plain alternation is fast, and the pattern above is tried only there.
_STEM = re.compile(
    r"basic auth|p[as]{2}|pw|kenn?w|wachtw|cont[ras]{2}|frase|phrase|senha|mot|mdp|has|lösen|adgangs|parola|пароль|log|sign in|zugang|anmelde|identif"
    r"|cred|psk|wi-?fi|wlan|ssid|to[ken]{3}|secret|bearer|geheim|jeton|cl[éa]|llave|seed|t?otp|2fa|authen|webhook|cookie|serial|activ|mnemon|12 w|24 w|twelve"
    r"|authori|recovery|backup|wieder|code|código|pin|puk|access|alarm|door|entry|garage|gate|lock|safe|tür|tor|key"
    r"|tresor|porta|digi|padl|pad|keep|combin|kombin|bike|lugg|suit|gym|shed|zahlen|fahrr|vorhä|caden|candad|disarm|entschärf|désarm|desarm|encry|versch|chiff|cifr|gesp|verac|bitl|luks"
    r"|prot|gesch|schlüssel|chave|unlock|unzip|decrypt|entsperr|entschlüssel|déverrouill|déchiffr|desbloque|open|öffnet|s['’]ouvre|se abre"
)
# Too short to count inside a longer word, unlike in `Datenbankpasswort` or `apitoken`.
_SHORT = re.compile(
    r"(?:pass|pw|mdp|psk|pin|puk|seed|t?otp|2fa|clé|clés|wi-?fi|wlan|ssid|clave|claves|log[- ]?in|cifrad[oa]|serial|activation"
    r"|p[as]{2,5}[wor]{2,5}[dt]|to[ken]{3}|locked|protected|encrypted)s?\Z"
)
_WHOLE = ("password", "passwort", "token", "tokens", "passwords")
_KEY_OF = re.compile(
    r"(?:api|access|auth|account|client|encryption|licen[sc]e|product|master|private|secret|service|shared|signing|storage"
    r"|subscription|deploy|admin|webhook|session|activation|zugangs|zugriffs|lizenz|produkt|aktivierungs|geheime[rnms]?|private[rnms]?)[-_ ]?\Z"
)
# Keys that are not secret: `primary key`, `cache key`, `public key`, `idempotency key`.
_OTHER_KEY = re.compile(
    r"(?:primary|foreign|sort|partition|cache|public|idempotency|hot|composite|unique|lookup|shard|row"
    r"|object|dict|map|index|routing|group|answer|öffentliche[rn]?|host|arrow|registry|translation|json|yaml)[-_ ]$"
)
# «We pass …», «the second pass», «tests pass» name no password.
_PASSING = re.compile(
    r"\b(?:we|i|you|they|to|must|can|should|will|first|second|third|next|last|one|single|two|final|tests?|all|checks?|boarding|season) $"
)
DOOR = re.compile(
    r"\b(?:doors?\b|gates?\b|keypad|(?:pad)?lock(?:er|box)?s?\b|safe\b|garage|alarm|entrance|entry|building|shed|cabin|gym\b|mailbox|elevator"
    r"|parking|barrier|lobby|reception|foyer|hall\b|bike|luggage|suitcase|flat\b|apartment|storage|warehouse|cellar|basement|office|house|voicemail|sim\b"
    r"|tür|haustür|tor\b|garagentor|\w*schloss|tresor|keller|\w*eingang|fahrrad|koffer|wohnung|lager|schließf|spind|schranke|büro"
    r"|porte\b|portail|digicode|coffre|entrée|immeuble|vélo|valise|cadenas|barrière|casier|bureau"
    r"|puerta|portón|portal\b|caja fuerte|candado|taquilla|edificio|trastero|entrada|maleta|bici|oficina)",
    re.IGNORECASE,
)
# Codes that open nothing: `error code`, `Postleitzahl`.
_OTHER_CODE = re.compile(
    r"\b(?:error|exit|status|return|response|http|result|country|zip|postal|post|product|area|source|colou?r|qr|bar|vat|sort|swift"
    r"|dialling|language|currency|fehler|länder|produkt|erreur|postale?s?|país|the|this|our|your|my|of|legacy|dead|new|old|all|test|some)[- ]$"
)


@dataclass(frozen=True, slots=True)
class Cue:
    """One word for a secret, and its place."""

    kind: Kind
    start: int
    end: int


def find_cues(lower: str) -> list[Cue]:
    """All cues in order; `lower` is the text in lower case."""
    found: list[Cue] = []
    end = 0
    for stem in _STEM.finditer(lower):
        match = _CUE.match(lower, stem.start()) if stem.start() >= end else None
        if match is None:
            continue
        start, end = match.span()
        inside = lower[start - 1 : start].isalnum()
        # A part of a longer name: `token_response`; or a short word inside another: `spin`.
        short = inside and match[0] not in _WHOLE and _SHORT.match(match[0])
        if lower[end : end + 1] == "_" or short:
            continue
        kind = _kind(match, lower)
        if kind:
            found.append(Cue(kind, start, end))
    return found


def _kind(match: re.Match[str], lower: str) -> Kind | None:
    kind, start = cast("Kind", match.lastgroup), match.start()
    before = lower[max(0, start - 16) : start]
    if match[0] == "pass" and _PASSING.search(before):
        return None
    if kind == "code":
        return "pin" if _opens(lower, match, before) else None
    if kind != "generic":
        return kind
    if _KEY_OF.search(before):
        return "key"
    return None if before[-1:].isalnum() or _OTHER_KEY.search(before) else kind


def _opens(lower: str, code: re.Match[str], before: str) -> bool:
    """Whether a code belongs to a door or the like: named in the same word, or nearby in the same line."""
    start, end = code.span()
    if before[-1:].isalnum():
        return DOOR.match(before[before.rfind(" ") + 1 :]) is not None
    if _OTHER_CODE.search(before) and not before.endswith(("the ", "my ", "our ", "new ")):
        return False
    line = lower[max(0, start - 60) : start].rpartition("\n")[2]
    behind = lower[end : end + 40].partition("\n")[0]
    return bool(DOOR.search(line) or DOOR.search(behind))
