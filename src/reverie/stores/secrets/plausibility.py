"""Is this value a real secret, or a word, a placeholder, a name, a piece of code?

Precision comes first: a memory that loses an ordinary word is a broken promise, too.
"""

from __future__ import annotations

import re

_DUMMIES = re.compile(
    r"pass|passw(?:or[dt]|d)\d?|pwd|secret|token|api[_-]?key|user(?:name)?\d?|root|admin|guest"
    r"|postgres|mysql|mongo(?:db)?|redis|minio|rabbitmq|localhost|example|sample|dummy|fake"
    r"|change(?:me|it)|none|null|nil|true|false|(?:dis|en)abled|required|optional|unset|empty"
    r"|redacted|removed|hidden|masked|foo|bar|baz|foobar|test(?:er|ing)?"
    r"|(?:abc|foo|pass|secret|test)\d{3,4}|1password|lastpass|bitwarden|keepass(?:xc)?"
    r"|oauth2|base64|sha\d{1,3}|argon2(?:id)?|pbkdf2",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"[$%{<\[(*]"  # ${VAR}, %(name)s, {{ x }}, <your key>, [redacted], (a call), ****
    r"|(?:your|my|the|some|insert|enter|replace|put|add)[-_. ]?[a-z]"  # your-key-here
    r"|(?:base|sha|utf|md|oauth|argon|pbkdf|bcrypt|scrypt|aes|rsa)-?\d{0,3}[-_/]",
    re.IGNORECASE,
)
_CONSTANT = re.compile(r"[A-Z]+(?:_[A-Z0-9]+)+")
_CODE = re.compile(
    r"[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)+"  # settings.api_key
    r"|[A-Za-z_]\w*(?:(?:\.|::|->)[A-Za-z_]\w*)*[(\[].*"  # os.environ[, read(1)[0]
)
_PATH = re.compile(r"(?:\.{0,2}|~|[A-Za-z]:)[/\\][\w.@~-]+(?:[/\\][\w.@~-]*)*|\w+://.*")
_WORDS = re.compile(r"(?:[A-Za-z]+\d{0,3}|\d{1,4})(?:[-_.:/](?:[A-Za-z]+\d{0,3}|\d{1,4}))+")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
_DIGIT_OR_SIGN = re.compile(r"[\d!@#$%^&*+=?~]")
_FEWEST_DISTINCT = 4


def is_placeholder(value: str) -> bool:
    """A stand-in that documentation, a template or an earlier redaction put there."""
    return (
        _DUMMIES.fullmatch(value) is not None
        or _TEMPLATE.match(value) is not None
        or _CONSTANT.fullmatch(value) is not None
        or "EXAMPLE" in value
        or len(set(value)) < _FEWEST_DISTINCT
    )


def is_real(value: str) -> bool:
    """Anything but a placeholder: enough where the surroundings leave no other reading."""
    return not is_placeholder(value)


def is_password(value: str) -> bool:
    """What someone would set as a password: not a bare word, not code, not a path."""
    mixed = _LETTER.search(value) and _DIGIT_OR_SIGN.search(value)
    return (
        bool(mixed or value.isdigit())
        and not is_placeholder(value)
        and not _CODE.fullmatch(value)
        and not _PATH.fullmatch(value)
    )


def is_spoken_password(value: str) -> bool:
    """The same after «the password is …», where an ordinary word is far more likely."""
    varied = _DIGIT.search(value) and value.lower() != value != value.upper()
    return bool(varied and value.isascii() and is_password(value) and not _WORDS.fullmatch(value))


def is_key(value: str) -> bool:
    """What a machine would make as a key: letters and digits without a word in sight."""
    return (
        _LETTER.search(value) is not None
        and _DIGIT.search(value) is not None
        and not is_placeholder(value)
        and not _CODE.fullmatch(value)
        and not _PATH.fullmatch(value)
        and not _WORDS.fullmatch(value)
    )
