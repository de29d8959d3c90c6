"""Check values from TOML or text, with errors that say what is expected."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from reverie.settings import schema
from reverie.settings.schema import NEVER, NONE, Setting, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_WORDS: Final = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}
# Formats of well-known API keys. A digit is required, so that "sk-learn-experiments" does not match;
# every repetition is bounded, so that a hostile file cannot make the search slow.
_KEY: Final = (
    r"\b(?:sk-(?=[\w-]{0,200}\d)[\w-]{16,200}|gh[oprsu]_\w{20,200}|github_pat_\w{20,200}"
    r"|AIza[\w-]{30,200}|xox[abp]-[\w-]{10,200}|AKIA[0-9A-Z]{12,40}"
    r"|eyJ[\w-]{10,200}\.[\w.-]{10,2000}|Bearer\s{1,9}\S{16,2000})"
)
_LOGIN: Final = r"//[^/@\s]{1,200}@"
_VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]{0,99}"
_URL: Final = r"https?://[^\s/@]+(?:/[^\s@]*)?"
_SECRETIVE: Final = r"(?i)(?:^|[._-])(?:api_?key|key|token|secret|password)$"
_LONGEST_QUOTE: Final = 60
_LONGEST_SEARCH: Final = 4_000
_LARGEST_NUMBER: Final = 10**15

KEYS_ADVICE: Final = (
    "keys never go in settings: put the key in an environment variable "
    "and its name in providers.<name>.api_key_env"
)


def check(row: Setting, key: str, raw: object, person_home: Path) -> Value:
    """Check a value read from TOML; ValueError says what is expected."""
    if isinstance(raw, str) and (re.search(_KEY, raw) or (row.kind == "variable" and _opaque(raw))):
        raise ValueError(f"{key} holds what looks like a secret key; {KEYS_ADVICE}")
    try:
        return _CHECKS[row.kind](row, raw, person_home)
    except (TypeError, ValueError):
        instead = "" if row.kind == "variable" else f", not {quote(raw)}"
        raise ValueError(f"{key} must be {expected(row)}{instead}") from None


def check_text(row: Setting, key: str, text: str, person_home: Path) -> Value:
    """Check a value given as text: a variable or a `--set` option."""
    return check(row, key, _typed(row, text), person_home)


def expected(row: Setting) -> str:
    """What is expected, in words that complete "must be …"."""
    bounds = "" if row.low is None else f" from {row.low:,} to {row.high:,}"
    return {
        "bool": "true or false",
        "int": f"a whole number{bounds}",
        "float": f"a number{bounds}",
        "str": "text that is not empty",
        "path": "an absolute path (~/ is expanded)",
        "choice": "one of " + ", ".join(f'"{choice}"' for choice in row.choices),
        "money": f'an amount in US dollars, 0 or more, or "{NONE}" for no cap',
        "url": "an http:// or https:// address without a user or password in it",
        "variable": "the NAME of an environment variable, such as ANTHROPIC_API_KEY",
        "threshold": f'a number of characters{bounds}, or "{NEVER}"',
    }[row.kind]


def quote(raw: object) -> str:
    """A value for an error message: short, on one line, without keys."""
    match raw:
        case dict():
            return "a table"
        case list():
            return "a list"
        case bool():
            return str(raw).lower()
        case str():
            return f'"{shown(raw)}"'
        case int() if abs(raw) >= 10**_LONGEST_QUOTE:
            return "a huge number"
    return shown(str(raw))


def shown(text: str) -> str:
    """Untrusted text made safe for a message: masked, shortened, without control characters."""
    masked = re.sub(_LOGIN, "//[login]@", re.sub(_KEY, "[key]", text[:_LONGEST_SEARCH]))
    cut = masked if len(masked) <= _LONGEST_QUOTE else masked[:_LONGEST_QUOTE] + "…"
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in cut)


def names_a_secret(key: str) -> bool:
    """Whether a setting with this name would hold a secret."""
    return bool(re.search(_SECRETIVE, key))


def _typed(row: Setting, text: str) -> object:
    stripped = text.strip()
    if row.kind == "bool":
        return _WORDS.get(stripped.lower(), text)
    if row.kind in ("int", "float", "money", "threshold"):
        for number in (int, float):
            try:
                return number(stripped)
            except ValueError:
                continue
    return text


def _opaque(text: str) -> bool:
    """Whether text looks like an API key: a long run of mixed characters, not words."""
    longest = max(text.split("_"), key=len)
    return len(longest) >= 20 and not longest.isalpha()


def _bool(row: Setting, raw: object, _: Path) -> Value:
    if not isinstance(raw, bool):
        raise TypeError
    return raw


def _int(row: Setting, raw: object, _: Path) -> Value:
    if isinstance(raw, bool) or not isinstance(raw, int):
        raise TypeError
    return _within(row, raw)


def _float(row: Setting, raw: object, _: Path) -> Value:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        raise TypeError
    # Refuses nan, and ints that no float can hold.
    if not abs(raw) < _LARGEST_NUMBER:
        raise ValueError
    return _within(row, float(raw))


def _money(row: Setting, raw: object, home: Path) -> Value:
    if raw == NONE:
        return None
    amount = _float(row, raw, home)
    if not isinstance(amount, float) or amount < 0:
        raise ValueError
    return amount


def _within(row: Setting, number: float) -> Value:
    if row.low is not None and number < row.low:
        raise ValueError
    if row.high is not None and number > row.high:
        raise ValueError
    return number


def _str(row: Setting, raw: object, _: Path) -> Value:
    if not isinstance(raw, str):
        raise TypeError
    if not raw.strip() or "\0" in raw:
        raise ValueError
    return raw


def _path(row: Setting, raw: object, home: Path) -> Value:
    text = str(_str(row, raw, home))
    path = home / text[1:].lstrip("/") if text == "~" or text.startswith("~/") else Path(text)
    if not path.is_absolute():
        raise ValueError
    return path


def _choice(row: Setting, raw: object, _: Path) -> Value:
    if not isinstance(raw, str) or raw not in row.choices:
        raise ValueError
    return raw


def _url(row: Setting, raw: object, _: Path) -> Value:
    if not isinstance(raw, str) or not re.fullmatch(_URL, raw):
        raise ValueError
    return raw


def _variable(row: Setting, raw: object, _: Path) -> Value:
    if not isinstance(raw, str) or not re.fullmatch(_VARIABLE, raw):
        raise ValueError
    return raw


def _threshold(row: Setting, raw: object, home: Path) -> Value:
    return NEVER if raw == NEVER else _int(row, raw, home)


_CHECKS: Final[dict[str, Callable[[Setting, object, Path], Value]]] = {
    "bool": _bool,
    "int": _int,
    "float": _float,
    "str": _str,
    "path": _path,
    "choice": _choice,
    "money": _money,
    "url": _url,
    "variable": _variable,
    "threshold": _threshold,
}

# Every real key is shorter; comparing longer ones would be slow.
_LONGEST_KEY = 100


def unknown_key(key: str) -> str:
    """The error message for an unknown key, with a suggestion if there is a likely one."""
    if len(key) > _LONGEST_KEY:
        return f"unknown setting {shown(key)}"
    inside = [row.key for row in schema.SETTINGS if row.key.startswith(f"{key}.")]
    if inside:
        return f"{shown(key)} is a table, not a value; set what is in it, such as {inside[0]}"
    if names_a_secret(key):
        return f"unknown setting {shown(key)}; {KEYS_ADVICE}"
    half = None if "." in key else _closest_part(key)
    meant = half or _closest(key, _candidates(key))
    return f"unknown setting {shown(key)}" + (f"; did you mean {meant}?" if meant else "")


def unknown_variable(name: str) -> str:
    """The error message for an unknown variable, without its value, which may be a key."""
    known = [row.variable for row in schema.SETTINGS if "*" not in row.key]
    # All share the prefix; comparing it would make all of them similar.
    bare = [each.removeprefix(schema.PREFIX) for each in (*known, *schema.OTHER_VARIABLES)]
    closest = _closest(name.removeprefix(schema.PREFIX)[:_LONGEST_KEY], bare)
    meant = f"{schema.PREFIX}{closest}" if closest else None
    advice = f"did you mean {meant}?" if meant else "unset it, or see `reverie settings`"
    return f"{shown(name)}: no such variable; {advice}"


def _closest_part(key: str) -> str | None:
    """The key or table for a part of a key: `recall` → `features.recall`, `featurs` → `features`."""
    whole = {row.key.rpartition(".")[2]: row.key for row in schema.SETTINGS}
    whole |= {table: table for table in (row.key.partition(".")[0] for row in schema.SETTINGS)}
    closest = _closest(key, list(whole))
    return whole[closest] if closest else None


def _candidates(key: str) -> list[str]:
    """All keys, with the name from `key` in place of the `*`."""
    parts = key.split(".")
    # The name is at the position of the `*`: second in `tools.*.x`, third in `spend.purpose.*`.
    return [
        ".".join(
            parts[place] if part == "*" and place < len(parts) else part
            for place, part in enumerate(row.key.split("."))
        )
        for row in schema.SETTINGS
    ]


def _closest(word: str, known: list[str]) -> str | None:
    # Import lazily: needed only for an error message.
    from difflib import get_close_matches  # noqa: PLC0415

    return next(iter(get_close_matches(word, known, n=1)), None)


# Patterns stay text: they are compiled only if there is a file to read.
_PART: Final = r"""(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')"""
_PATH: Final = rf"({_PART}(?:[ \t]*\.[ \t]*{_PART})*)"
_HEADER: Final = rf"[ \t]*\[{{1,2}}[ \t]*{_PATH}[ \t]*\]"
_ASSIGNMENT: Final = rf"[ \t]*{_PATH}[ \t]*="
_AT_LINE: Final = r" \(at line (\d+), column \d+\)$"

# No setting is nested this deep.
_DEEPEST: Final = 12


class TomlEntry(NamedTuple):
    """One value of a file; `value` is a dict only for a table that is empty or too deep."""

    key: str
    value: object
    line: int | None


class BadToml(Exception):
    """Invalid TOML; `line` is where, if the parser says so."""

    def __init__(self, reason: str, line: int | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def parse_toml(text: str) -> list[TomlEntry]:
    """Every value in the text, in its order."""
    # Import lazily: most machines have no settings file.
    import tomllib  # noqa: PLC0415

    try:
        tree = tomllib.loads(text)
    except RecursionError:
        raise BadToml("nested too deeply", None) from None
    # A number of 5,000 digits raises a plain ValueError, not TOMLDecodeError.
    except ValueError as error:
        raise _explained(error) from None
    lines = toml_lines(text)
    return [
        TomlEntry(".".join(path), value, _line_of_key(lines, path)) for path, value in _leaves(tree)
    ]


def _explained(error: ValueError) -> BadToml:
    message = str(error)
    at = re.search(_AT_LINE, message)
    if at:
        return BadToml(message[: at.start()], int(at[1]))
    return BadToml(message, None)


def _leaves(tree: dict[str, object]) -> Iterator[tuple[tuple[str, ...], object]]:
    pending: list[tuple[tuple[str, ...], object]] = [((key,), tree[key]) for key in reversed(tree)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict) and value and len(path) < _DEEPEST:
            pending.extend(((*path, key), value[key]) for key in reversed(value))
        else:
            yield path, value


def toml_lines(text: str) -> dict[tuple[str, ...], int]:
    """First line of every table toml_header and assignment; may be wrong inside multi-line strings."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        if (opened := toml_header(line)) is not None:
            table = opened
            found.setdefault(table, number)
        elif assignment := re.match(_ASSIGNMENT, line):
            found.setdefault(table + _key_parts(assignment[1]), number)
    return found


def toml_header(line: str) -> tuple[str, ...] | None:
    """The path of a table toml_header; None for any other line."""
    found = re.match(_HEADER, line)
    return _key_parts(found[1]) if found else None


def _key_parts(path: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, path))


def _line_of_key(lines: dict[tuple[str, ...], int], path: tuple[str, ...]) -> int | None:
    """The line of the key, or of the inline table that contains it."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None
