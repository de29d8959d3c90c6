"""Decide whether a value is a real secret, or a word, a placeholder, a name or code; in doubt it is none."""

from __future__ import annotations

import hashlib
import itertools
import re

_DUMMIES = re.compile(
    r"pass|passw(?:or[dt]|d)\d?|pwd|secret|token|api[_-]?key|user(?:name)?\d?|root|admin|guest"
    r"|postgres|mysql|mongo(?:db)?|redis|minio|rabbitmq|localhost|example|sample|dummy|fake"
    r"|change(?:me|it)|none|null|nil|true|false|(?:dis|en)abled|required|optional|unset|empty"
    r"|redacted|removed|hidden|masked|foo|bar|baz|foobar|test(?:er|ing)?"
    r"|(?:abc|foo|pass|secret|test|admin|user|demo|guest|example|password|changeme)[-_]?\d{1,4}|1password|lastpass|bitwarden|keepass(?:xc)?"
    r"|oauth2?|base64|sha\d{1,3}|argon2(?:id)?|pbkdf2|utf-?\d{1,2}|2fa|u2f|fido2|x\.?509|k8s|s3",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"[$%](?=[\w{(])"  # $VAR, ${VAR}, %(name)s
    r"|[{*]"  # {{ x }}, ****
    r"|(?:[<\[(]+)?(?:your|insert|replace)[-_. ]?[a-z]"
    r"|(?:[<\[(]+)?(?:my|the|some|enter|put|add|paste)[-_. ]?[a-z_. -]{0,24}"
    r"(?:key|token|secret|pass|pw|user|name|host|domain|value|api|db|app|server|code|pin|cred|login|here|random|string)"
    r"|(?:base|sha|utf|md|oauth|argon|pbkdf|bcrypt|scrypt|aes|rsa|wpa|chacha|x?chacha20|curve|ed|tls|ssl)-?\d{0,5}[-_/.]",
    re.IGNORECASE,
)
# In the middle of a token, too: `sk-ant-your-key-here`, `ghp_xxxxxxxx`, `AKIA…EXAMPLE`.
_STAND_IN = re.compile(
    r"(?i:x{6}|\*{3}|0{10}|\.\.\.|…|example|placeholder|dummy|redacted|changeme"
    r"|beispiel|platzhalter|ersetze[-_]?mich|exemple|[aà][-_]remplacer|c[aá]mbiame|reemplaza[-_]?me|ejemplo"
    r"|replace[-_]?(?:me|with|this)|(?:^|[-_./])(?:your|goes|here|insert)(?:[-_./]|$)"
    r"|secret removed)"
)
_CONSTANT = re.compile(r"_*[A-Z]+(?:_[A-Z0-9*]+)+")
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+"  # settings.api_key
    r"|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)*[(\[].*"  # os.environ[, read(1)[0]
)
_PATH = re.compile(r"(?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.@~-]+(?:[/\\][\w.@~-]*)*|\w+://.*")
_WORDS = re.compile(r"(?:[A-Za-z]+\d{0,3}|\d{1,8})(?:[-_.:/+](?:[A-Za-z]+\d{0,3}|\d{1,8}))+")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_SHORTEST_MADE_UP = 8
_DIGIT_OR_SIGN = re.compile(r"[\d!@#$%^&*+=?~]")
_FOUR_WORDS = re.compile(r"[a-z]+(?:-[a-z]+){3,}|[a-z]+(?:_[a-z]+){3,}")
_BASE32 = re.compile(r"[A-Z2-7]{16,128}")
STATES = frozenset(
    ["missing", "invalid", "wrong", "expired", "unknown", "incorrect", "correct", "string", "text", "number", "boolean", "weak", "strong", "short", "long", "blank", "valid", "default", "public", "private", "encrypted", "hashed", "plain", "stored", "falsch", "ungültig", "leer", "richtig", "vide", "yours", "mine", "there", "here", "gone", "fine", "okay", "safe", "secret", "unique", "random", "lost", "fresh", "legacy", "bytes", "varchar", "argon", "bcrypt", "scrypt", "plaintext", "nothing", "something", "anything", "everything", "later", "tomorrow", "today", "again", "below", "above", "inside", "online", "offline", "static", "visible", "nullable", "object", "array", "char", "forgot", "mandatory", "always", "never", "often", "really", "still", "also", "just", "good", "better", "great", "terrible", "enough", "outdated", "stale", "leaked", "admin", "simple", "complex", "easy", "hard", "other", "another", "different", "vault", "keychain", "keyring", "prompt", "input", "field"]
)  # fmt: skip
SMALL_WORDS = frozenset(
    ["the", "and", "for", "not", "you", "your", "our", "its", "has", "have", "was", "that", "this", "with", "from", "into", "than", "too", "when", "which", "must", "should", "will", "can", "kept", "set", "written", "required", "needed", "asked", "never", "always", "only", "nicht", "und", "der", "die", "das", "den", "dem", "für", "mit", "wird", "les", "des", "dans", "pour", "pas", "une", "avec", "los", "las", "para", "con", "una", "del", "are", "but", "they", "them", "their", "there", "before", "after", "where", "each", "every", "may", "were", "been", "being", "how", "what", "who", "why", "all", "any", "some", "via", "per", "ist", "sind", "ein", "eine", "auf", "aus", "bei", "von", "zum", "zur", "est", "sont", "sur", "par", "que", "qui", "son", "por", "como", "out", "off", "in", "of", "to", "at", "on"]
)  # fmt: skip
# Humps in the names of classes, fields and products rather than passwords.
_PARTS_OF_NAMES = frozenset(
    ["field", "input", "type", "manager", "service", "provider", "handler", "store", "form", "model", "view", "class", "error", "exception", "config", "settings", "client", "server", "auth", "login", "user", "encoder", "hasher", "validator", "context", "request", "response", "page", "screen", "button", "box", "key", "pass", "hash", "only", "sensitive", "based", "protected", "free", "level", "wide", "time", "hub", "lab", "script", "base", "warden", "end", "mode", "session"]
)  # fmt: skip
# Endings of words that describe a password.
_SAID_EN = re.compile(
    r"(?:ed|ing|able|ible|ly|ful|less|ary|ory|ive|ous|ent|ant|al|ic|ty|dy|en|own|ure|ete|ble|se|one|ice|ain)$"
)
_SAID_DE = re.compile(
    r"(?:t|ig|lich|bar|isch|los|voll|en|ell|mehr|hier|dort|sicher|anders|pflicht)$"
)
_SAID_FR = re.compile(
    r"(?:é|ée|ant|able|ible|eux|if|ique|aire|oire|é|ert|bon|court|fort|ici|passé|perdu|connu|rect|nu)$"
)
_SAID_ES = re.compile(
    r"(?:ado|ada|ido|ida|able|ible|oso|osa|ario|aria|nte|ica|ecta|aquí|fuerte|débil|misma|corta|larga)$"
)
_LATIN = re.compile(r"[!-~À-ɏ]+")
_LOWER_RUN = re.compile(r"[a-z]{3,}")
_SIGN = re.compile(r"[!@#$%^&*?~]")
_FEWEST_DISTINCT = 4
# Shorter ones are usually ids of commits and spans.
_SHORTEST_HASH = 20

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?(?:[0-9a-f]{7,}|[0-9A-F]{7,})")
# Named digests, public keys and addresses, object ids, addresses of machines, versions and dates.
_PUBLIC = re.compile(
    r"(?:.*@)?(?i:sha\d{1,3}|md5|h1|blake\w{1,3})[-:].*"
    r"|AAAA[BCE][23A-Za-z].*"
    r"|0x[0-9a-fA-F]{4,}|Qm[1-9A-HJ-NP-Za-km-z]{44}|bc1[a-z0-9]{25,}"
    r"|[a-z]{1,10}-[0-9a-f]{8,17}"
    r"|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){3,7}"
    r"|v?\d+(?:\.\d+){1,3}(?:[-+.][A-Za-z0-9.+-]*)?|\d{4}-\d\d-\d\d.*|arn:.*"
    r"|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?:\d+[-–])?\d+-?[a-z]{1,12}|\d+(?:st|nd|rd|th)|[A-Z]{1,5}-?\d{1,6}"
    r"|.*(?:A-Z|a-z|0-9).*|[a-z0-9]+(?:_[a-z0-9]+){2,}"
    r"|[\w./-]+\.(?:py|js|ts|md|json|ya?ml|toml|txt|sh|go|rs|java|html?|css|png|jpe?g|svg|pdf|gz|zip|lock|conf|ini|pub|pem|log)"
)
_ADDRESS = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+|\w+://.*|.*[/\\].*|.*[(\[].*")
# The names of licences in package files, such as `Apache-2.0`; "license:" also announces keys.
_LICENCE_NAME = re.compile(
    r"(?:A?GPL|LGPL|Apache|BSD|MPL|EPL|EUPL|CDDL|OFL|BSL|PSF|CC-[A-Z-]{2,8})-\d(?:\.\d){0,2}"
    r"(?:-(?:only|or-later|Clause|Clear|Patent))*\+?"
)
# Addresses, versions, dates, files, paths, and ids with the session they belong to: no words make them secrets.
_TECHNICAL = re.compile(
    r"(?:.*@)?(?i:sha\d{1,3}|md5|h1|blake\w{1,3})[-:].*|AAAA[BCE][23A-Za-z].*|[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){3,7}"
    r"|v?\d+(?:\.\d+){1,3}(?:[-+.][A-Za-z0-9.+-]*)?|\d{4}-\d\d-\d\d.*|arn:.*|[\w.+-]+@[\w.-]+(?:\.[\w-]+)+(?::[\w./-]+)?"
    r"|[\w./-]+\.(?:py|js|ts|md|json|ya?ml|toml|txt|sh|go|rs|java|html?|css|png|jpe?g|svg|pdf|gz|zip|lock|conf|ini|pub|pem|log)(?:[:#].*)?"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-.*#.*|.*::.*|(?:\.{0,2}|~|[A-Za-z]:)[/\\](?:[\w.@~-]+[/\\])+.*|[\w-]+(?:/[\w.-]+){2,}|\w+=[^=]\S*"
    r"|@[a-z_.]+|0x[0-9a-fA-F]{4,}|[A-Za-z]+(?:\+[A-Za-z0-9]+)+|[A-Z]+(?:[@/:_.]+[A-Z]+)+|.*-20\d\d-\d\d-\d\d|(?i:build|room|page|line|step|issue|ticket|order|port|floor|gate|level|version|release|rfc|part|case|item)\d+|[a-z]+-(?:sensitive|only|based|protected|free|safe|side|level|wide|specific|driven|friendly)"
)
# Ids of services.
_ID = re.compile(
    r"(?:msg|toolu|req|resp|run|thread|asst|file|chatcmpl|call|evt|cus|pi|ch|in|sub|price|prod|acct|txn|"
    r"card|src|seti|si|ord|usr|user|org|proj|team|doc|obj|job|trace|span|sess|session|batch|step|rs|fc|ws)[_-].*"
)
# `confirm_password2` is the name of a field, not a secret.
_NAMES_A_SECRET = re.compile(r"(?i:password|passwort|token|secret|apikey|api_key|credential)")
# Digests of example keys from manuals (of a storage emulator, a payment provider, an authenticator,
# a token); digests, so that repository scanners do not report this file.
_PRINTED_IN_MANUALS = frozenset(
    {
        "5cfa2d4b3681d3dc",
        "1ca2e83211af8796",
        "e73fa925d0eda76e",
        "a58035a7f1059fab",
        "e1e3bc73454e1470",
        "feabd0f19e250951",
        "57c248f933b62a1f",
        "0f65f9479f38311b",
        "a76bffc7d1491ff8",
        "f98d352bcd8232ef",
    }
)


def is_placeholder(value: str) -> bool:
    """Whether a value is a stand-in from documentation, a template or an earlier redaction."""
    return (
        _DUMMIES.fullmatch(value) is not None
        or _TEMPLATE.match(value) is not None
        or _CONSTANT.fullmatch(value) is not None
        or _STAND_IN.search(value) is not None
        or "EXAMPLE" in value
        or len(set(value)) < _FEWEST_DISTINCT
        or _counts_up(value)
        or _digest(value) in _PRINTED_IN_MANUALS
    )


def is_never_secret(value: str) -> bool:
    """Whether a value is a placeholder, the name of a secret, or a path, whatever is said of it."""
    if not _LETTER.search(value):
        digits = re.sub(r"\D", "", value)
        return len(set(digits)) < 2 or digits in "0123456789012345678909876543210"
    named = _NAMES_A_SECRET.search(value) is not None and not _SIGN.search(value)
    forms = (_TECHNICAL, _ID, _CONSTANT, _LICENCE_NAME, *(() if _DIGIT.search(value) else (_CODE,)))
    foreign = " " not in value and not _LATIN.fullmatch(value)
    humps = re.findall(r"[A-Z][a-z]+", value) if value.isalpha() else []
    named = named or (len(humps) > 1 and humps[-1].lower() in _PARTS_OF_NAMES)
    return is_placeholder(value) or named or foreign or any(form.fullmatch(value) for form in forms)


def is_real(value: str) -> bool:
    """Not a placeholder: sufficient where the context is unambiguous."""
    return not is_placeholder(value)


def is_password(value: str) -> bool:
    """Whether a value could be a password: not a bare word, not code, not a path."""
    mixed = _LETTER.search(value) and _DIGIT_OR_SIGN.search(value)
    return (
        bool(mixed or value.isdigit())
        # `!vault` is a tag of YAML.
        and not re.fullmatch(r"![a-z]{3,10}", value)
        and not is_placeholder(value)
        and not _CODE.fullmatch(value)
        and not _PATH.fullmatch(value)
    )


def is_key(value: str) -> bool:
    """Whether a value could be a generated key: letters and digits, not words."""
    return (
        _LETTER.search(value) is not None
        and _DIGIT.search(value) is not None
        and not is_placeholder(value)
        and not _CODE.fullmatch(value)
        and not _PATH.fullmatch(value)
        and not _WORDS.fullmatch(value)
    )


# --- values in sentences ---


def is_public(value: str) -> bool:
    """Whether a value is a digest, id, version, address or file name."""
    forms = (_PUBLIC, _ID, _CODE, _PATH, _CONSTANT)
    return is_hash(value) or any(form.fullmatch(value) for form in forms)


def is_hash(value: str) -> bool:
    """Whether a value is hexadecimal or a UUID, which may be an id or a key."""
    return bool(_HEX.fullmatch(value) or _UUID.fullmatch(value))


def is_uuid(value: str) -> bool:
    return _UUID.fullmatch(value) is not None


def is_opaque(value: str, least: int = 10) -> bool:
    """Whether letters and digits alternate more than in words and names."""
    if len(value) < least or not value.isascii():
        return False
    if not _LETTER.search(value) or not _DIGIT.search(value):
        return False
    if is_public(value) or _WORDS.fullmatch(value) or is_placeholder(value):
        return False
    return _switches(value) >= max(3, len(value) * 0.2)


def is_made_up(value: str) -> bool:
    """Whether letters with digits, signs or strokes are too odd for a word, a version or a name in code."""
    strange = _DIGIT.search(value) or _SIGN.search(value[:-1])
    if len(value) < _SHORTEST_MADE_UP or not strange or not is_spoken_password(value):
        return False
    mixed = is_of_both_cases(value) or re.search(r"[a-z]\d[a-z]{2}|[a-z]{4}\d{3}", value)
    return bool(mixed) and not _WORDS.fullmatch(value.lower())


def is_of_both_cases(value: str) -> bool:
    return value.lower() != value != value.upper()


def is_seed(value: str) -> bool:
    """Whether a value is an authenticator's seed: upper-case base32."""
    return value.isupper() and _BASE32.fullmatch(value) is not None and is_real(value)


def is_phrase(value: str) -> bool:
    """Whether a quoted value is a passphrase: several words, or one that is not a state."""
    return (
        (len(value.split()) >= 3 or value.isalpha())
        and is_real(value)
        and value.lower() not in STATES
    )


def is_mixed(value: str) -> bool:
    """Whether a value is a key even without context: long, opaque, with both cases and digits."""
    if not is_of_both_cases(value) or not is_opaque(value, 20):
        return False
    in_words = sum(map(len, _LOWER_RUN.findall(value)))
    return _switches(value) >= len(value) * 0.3 and in_words < len(value) * 0.5


def is_spoken_key(value: str) -> bool:
    """After «the token is …»: a generated key, or a chosen phrase with a digit and a capital."""
    if is_hash(value):
        return len(value) >= _SHORTEST_HASH and not is_placeholder(value)
    if _NAMES_A_SECRET.search(value) and not _SIGN.search(value):
        return False
    made = len(value) >= 12 and is_key(value) and not is_public(value)
    return made or is_opaque(value, 8) or (is_chosen(value) and is_spoken_password(value))


def is_spoken_password(value: str) -> bool:
    """After «the password is …»: a chosen password, but not an ordinary word."""
    if len(value) < 6 or not _LATIN.fullmatch(value) or is_placeholder(value):
        return False
    if is_hash(value) and len(value) >= _SHORTEST_HASH:
        return True
    if not _LETTER.search(value):
        return False
    if _ADDRESS.fullmatch(value) or (is_public(value) and not is_chosen(value)):
        return False
    if _NAMES_A_SECRET.search(value) and not _SIGN.search(value):
        return False
    padded = value.endswith("=") and is_of_both_cases(value)
    found = _DIGIT.search(value) or _SIGN.search(value[1:]) or _FOUR_WORDS.fullmatch(value)
    return padded or bool(found)


def is_word_list(value: str, most: int = 0) -> bool:
    """Whether words after «the passphrase is» are the passphrase: a sentence would need small words."""
    words = value.lower().replace("-", " ").split()
    small = sum(word in SMALL_WORDS or (len(word) < 3 and word.isalpha()) for word in words)
    return small <= most and not STATES.intersection(words) and not _NAMES_A_SECRET.search(value)


def is_plain_password(value: str, cue: str) -> bool:
    """Whether one plain word after «the password is» is the password, not what is said about it."""
    word = value.lower()
    german = cue.startswith(("passwort", "kenn", "paswort"))
    french = cue.startswith(("mot", "mdp", "phrase"))
    says = (
        _SAID_DE
        if german
        else _SAID_FR
        if french
        else _SAID_ES
        if cue.startswith(("con", "fra"))
        else _SAID_EN
    )
    if word in STATES or word in SMALL_WORDS or is_placeholder(value) or is_joined_name(value):
        return False
    return not says.search(word) and not _NAMES_A_SECRET.search(word)


def is_joined_name(value: str) -> bool:
    """Whether a word has humps and is no list of plain words, such as `PasswordField`."""
    return re.search(r"[a-z][A-Z]", value) is not None and not is_joined_words(value)


def is_varied(value: str) -> bool:
    """Whether a value has letters of both cases and digits, as words and names seldom do."""
    return is_of_both_cases(value) and _DIGIT.search(value) is not None


def is_leet(value: str) -> bool:
    """Whether digits stand for letters inside a word of both cases, such as `Hop3ful.Mole`."""
    inside = re.search(r"[a-z]\d[a-z]", value) or _SIGN.search(value)
    return bool(inside) and is_varied(value) and is_spoken_password(value)


def is_pin(value: str) -> bool:
    return value.isdigit() and 4 <= len(value) <= 12 and not _counts_up(value * 3)


def is_dial_code(value: str) -> bool:
    """Whether a value is dialled at a lock, such as `34-11-27`, `0-6-3-8` or `2468-11`."""
    form = r"\d{1,2}(?:-\d{1,2}){2,4}|(?!(?:19|20)\d\d-)\d{3,6}-\d{1,4}"
    return re.fullmatch(form, value) is not None


def is_licence(value: str) -> bool:
    """Whether a value is in groups, as the keys of programs are: `KXQPD-WMRTV-JHGBN`."""
    return (
        re.fullmatch(r"[A-Z0-9]{4,8}(?:-[A-Z0-9]{4,8}){2,7}", value) is not None
        and not is_placeholder(value)
        and len(set(value)) > 8
    )


def is_joined_words(value: str) -> bool:
    """Whether a value is made of two or three plain words: `BlueOtterLamp`, `blue-otter-lamp`."""
    humps = re.fullmatch(r"(?:[A-Z][a-z]{2,11}){2,5}", value) and len(value) >= 8
    dashed = re.fullmatch(r"[a-z]{3,12}(?:-[a-z]{3,12}){2}", value)
    if not (humps or dashed) or is_placeholder(value) or _NAMES_A_SECRET.search(value):
        return False
    words = re.findall(r"[A-Z]?[a-z]+", value)
    return not (SMALL_WORDS | STATES | _PARTS_OF_NAMES).intersection(map(str.lower, words))


def is_joined_or_chosen(value: str) -> bool:
    """Whether a value in a shell's variable is a password, also two words as in `teaspoonRiot`."""
    humps = re.fullmatch(r"[A-Za-z][a-z]{2,11}(?:[A-Z][a-z]{2,11}){1,4}", value)
    plain = humps and not (is_placeholder(value) or _NAMES_A_SECRET.search(value))
    return bool(plain) or is_password(value)


def is_door_code(value: str) -> bool:
    """Whether a value could be typed at a door, such as `C4471B` or `71-B-408`."""
    form = r"(?=(?:[A-Z-]*\d){3})(?:[A-Z\d]{4,10}|(?=[\d-]*[A-Z])[A-Z\d]{1,6}(?:-[A-Z\d]{1,6}){1,3})[#*]?"
    return re.fullmatch(form, value) is not None


def is_numbered_words(value: str) -> bool:
    """Whether a value is made of words with a number at the end, such as `blue_owl_52`."""
    return (
        re.fullmatch(r"[a-zà-ÿ]{3,}(?:[_.-][a-zà-ÿ]{2,})+[_.-]?\d{2,4}", value, re.I) is not None
        and not is_placeholder(value)
        and not _NAMES_A_SECRET.search(value)
    )


def is_chosen(value: str) -> bool:
    """Whether a value looks chosen, such as `hunter2-blue-Falcon` or `Tiger4711!`."""
    varied = is_of_both_cases(value)
    return bool(
        _SIGN.search(value) or (varied and _DIGIT.search(value) and re.search(r"[-_.]", value))
    )


def _switches(value: str) -> int:
    """How often the character class changes, ignoring separators."""
    kinds = [
        1 if char.isdigit() else 2 if char.isupper() else 3 for char in value if char.isalnum()
    ]
    changes = sum(a != b for a, b in itertools.pairwise(kinds))
    # A capitalised word is not a change.
    capitals = len(re.findall(r"(?<![A-Za-z])[A-Z](?=[a-z]{3})", value))
    return changes - capitals


def _counts_up(value: str) -> bool:
    """Whether most characters follow the previous one, as in `1234567890abcdef`."""
    if len(value) < 8:
        return False
    steps = sum(ord(b) - ord(a) in (0, 1) for a, b in itertools.pairwise(value))
    return steps >= len(value) * 0.6


def _digest(value: str) -> str:
    data = value.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=8, person=b"reverie-manuals").hexdigest()
