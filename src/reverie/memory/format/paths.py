"""Check directories and file names for memory by their text, and make file names.

`memory.directory` makes the checks on disk (symbolic links, no-follow opening).
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


LONGEST_COMPONENT = 255
LONGEST_NAME = 1_024
LONGEST_DIRECTORY = 4_096
DEEPEST_NAME = 8

_ENCODED = re.compile(r"%(?:[0-9a-f]{2}|u[0-9a-f]{4}|%)", re.IGNORECASE)
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|clock\$|conin\$|conout\$|(?:com|lpt)\d)", re.IGNORECASE)
_SHORT_NAME = re.compile(r"~\d")
_NOT_PORTABLE = frozenset('<>:"|?*')
# Characters that look like a path separator and that some systems turn into one.
_LOOKALIKES = frozenset("\u2044\u2215\u2216\u29f5\u29f8\u29f9\u2571\u2572\u3033")
_JOINERS = frozenset("\u200c\u200d")
_SYSTEM = frozenset(
    {"bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "sbin", "sys", "usr", "system"}
)
_KEEP_OUT = frozenset({".ssh", ".gnupg", ".aws", ".kube", ".docker", ".git", ".password-store"})


@dataclass(frozen=True, slots=True)
class Accepted:
    """A path that breaks no rule that can be checked without the disk."""

    path: PurePosixPath


@dataclass(frozen=True, slots=True)
class Refused:
    """A path that breaks a rule; `reason` names the rule, quotes the input and can be shown."""

    rule: str
    reason: str


Verdict: TypeAlias = Accepted | Refused
_Rule: TypeAlias = "Callable[[str], str | None]"


def check_directory(text: str, home: str) -> Verdict:
    """Whether a directory may hold memory: absolute, deep enough, not reserved, unambiguous."""
    for rule, broken in _DIRECTORY_TEXT_RULES:
        if problem := broken(text):
            return _refused("directory", rule, text, problem)
    expanded = f"{home.rstrip('/')}{text[1:]}" if text == "~" or text.startswith("~/") else text
    for rule, broken in _DIRECTORY_SHAPE_RULES:
        if problem := broken(expanded):
            return _refused("directory", rule, text, problem)
    path = PurePosixPath(expanded)
    if problem := _reserved(path, PurePosixPath(home)):
        return _refused("directory", "reserved place", text, problem)
    return Accepted(path)


def check_name(text: str) -> Verdict:
    """Whether a name from a model may be a file inside the memory directory."""
    for rule, broken in _NAME_RULES:
        if problem := broken(text):
            return _refused("file name", rule, text, problem)
    return Accepted(PurePosixPath(text))


def _refused(what: str, rule: str, text: str, problem: str) -> Refused:
    quoted = repr(text if len(text) <= 120 else f"{text[:120]}…")
    return Refused(rule, f"{what} {quoted} is refused ({rule}): {problem}")


def _empty(text: str) -> str | None:
    return None if text.strip() else "it is empty"


def _plain(text: str) -> bool:
    """Whether text is printable ASCII, in which nothing can be hidden or disguised."""
    return text.isascii() and text.isprintable()


def _control(text: str) -> str | None:
    for char in "" if _plain(text) else text:
        if char == "\0":
            return "it contains a NUL byte"
        if unicodedata.category(char) in {"Cc", "Zl", "Zp"}:
            return f"it contains the control character U+{ord(char):04X}"
    return None


def _invisible(text: str) -> str | None:
    for at, char in enumerate("" if _plain(text) else text):
        kind = unicodedata.category(char)
        if kind == "Cs":
            return "it is not valid UTF-8"
        if kind == "Co" or (ord(char) & 0xFFFE) == 0xFFFE or 0xFDD0 <= ord(char) <= 0xFDEF:
            return f"it contains U+{ord(char):04X}, which is not a character"
        if kind == "Cf" and not (char in _JOINERS and _joins_letters(text, at)):
            return f"it contains the invisible character U+{ord(char):04X}"
    return None


def _joins_letters(text: str, at: int) -> bool:
    """Whether a joiner is between letters that need it (Persian, Indic, emoji), not beside ASCII."""
    around = text[at - 1 : at] + text[at + 1 : at + 2]
    return len(around) == 2 and not any(char.isascii() or char in _JOINERS for char in around)


def _encoded(text: str) -> str | None:
    found = _ENCODED.search(text)
    return f"{found[0]!r} is an encoded character; write the character itself" if found else None


def _windows(text: str) -> str | None:
    if text.startswith(("\\\\", "//")):
        return "it is a UNC or network path"
    if _DRIVE.match(text):
        return "it starts with a drive letter"
    return "it contains a backslash" if "\\" in text else None


@lru_cache(maxsize=4_096)
def _compatible(char: str) -> str:
    return unicodedata.normalize("NFKC", char)


def _disguised_separator(text: str) -> str | None:
    for char in "" if _plain(text) else text:
        folded = "" if char.isascii() else _compatible(char)
        if char in _LOOKALIKES or any(sign in folded for sign in "./\\~:"):
            return f"U+{ord(char):04X} ({char!r}) passes for a dot, a slash or another path sign"
    return None


def _disguised_ascii(text: str) -> str | None:
    for char in "" if _plain(text) else text:
        if not char.isascii() and any(part.isascii() for part in _compatible(char)):
            return f"U+{ord(char):04X} ({char!r}) becomes {_compatible(char)!r} when normalised"
        if char != " " and unicodedata.category(char) == "Zs":
            return f"U+{ord(char):04X} is a space in disguise"
    return None


def _absolute(text: str) -> str | None:
    if text.startswith("/"):
        return "it is absolute; names are relative to the memory directory"
    return "it starts with '~'" if text.startswith("~") else None


def _not_absolute(text: str) -> str | None:
    if text.startswith("~"):
        return "only '~/' is expanded, not another user's home"
    return None if text.startswith("/") else "it is not absolute"


def _climbs(text: str) -> str | None:
    return "it contains '..'" if ".." in text.split("/") else None


def _crooked(text: str) -> str | None:
    parts = text.split("/")
    if "." in parts or "" in parts:
        return "it has an empty or '.' component; write the plain path"
    return None


def _hidden(text: str) -> str | None:
    if any(part.startswith(".") for part in text.split("/")):
        return "a component starts with a dot"
    return None


def _ragged(text: str) -> str | None:
    parts = (part for part in text.split("/") if part not in {"", ".", ".."})
    if any(part != part.strip(" ") or part.endswith(".") for part in parts):
        return "a component starts with a space, or ends with a space or a dot"
    return None


def _not_portable(text: str) -> str | None:
    bad = sorted(_NOT_PORTABLE.intersection(text))
    if bad:
        return f"it contains {bad[0]!r}, which other systems do not allow"
    if any(part.startswith("~") or _SHORT_NAME.search(part) for part in text.split("/")):
        return "a component looks like a home ('~') or a short name ('~1')"
    return None


def _device(text: str) -> str | None:
    for part in text.split("/"):
        stem = part.partition(".")[0].strip()
        if _DEVICE.fullmatch(stem):
            return f"{stem!r} is a device on some systems"
    return None


def _wordless(text: str) -> str | None:
    for part in text.removesuffix(".md").split("/"):
        # Refuse names of only marks and punctuation.
        if not any(unicodedata.category(char)[0] in "LNSC" for char in part):
            return f"the component {part!r} has no letter, digit or symbol"
    return None


def _not_markdown(text: str) -> str | None:
    return None if text.endswith(".md") else "memory files end with '.md'"


def _index_twin(text: str) -> str | None:
    name = text.rpartition("/")[2]
    if name != "MEMORY.md" and name.casefold() == "memory.md":
        return "on some systems it is the same file as the index, MEMORY.md"
    return None


def _long_name(text: str) -> str | None:
    if text.count("/") >= DEEPEST_NAME:
        return f"it is more than {DEEPEST_NAME} levels deep"
    return _long(text, LONGEST_NAME)


def _long_directory(text: str) -> str | None:
    return _long(text, LONGEST_DIRECTORY)


def _long(text: str, most: int) -> str | None:
    sizes = [len(part.encode("utf-8", "surrogatepass")) for part in text.split("/")]
    if max(sizes) > LONGEST_COMPONENT or sum(sizes) + len(sizes) - 1 > most:
        return f"it is longer than {most} bytes, or a component is longer than {LONGEST_COMPONENT}"
    return None


def _shallow(text: str) -> str | None:
    parts = [part for part in text.split("/") if part not in {"", "."}]
    if len(parts) < 2:
        return "it is the root, or directly below it"
    return None


def _reserved(path: PurePosixPath, home: PurePosixPath) -> str | None:
    if path == home or path in home.parents:
        return "it is the home directory, or one that contains it"
    # Ignore case: on some file systems /ETC is /etc. A home at the root protects nothing.
    own = len(home.parts) > 2 and path.is_relative_to(home)
    inside = [part.casefold() for part in (path.relative_to(home) if own else path).parts]
    place = next(part for part in inside if part not in {"/", "private"})
    if not own and place in _SYSTEM:
        return f"/{place} belongs to the system"
    closed = next((part for part in inside if part in _KEEP_OUT), None)
    return f"{closed} holds other things than memory" if closed else None


_DIRECTORY_TEXT_RULES: tuple[tuple[str, _Rule], ...] = (
    ("empty", _empty),
    ("control character", _control),
    ("invisible character", _invisible),
    ("Windows path", _windows),
    ("encoded character", _encoded),
    ("disguised separator", _disguised_separator),
)
_DIRECTORY_SHAPE_RULES: tuple[tuple[str, _Rule], ...] = (
    ("not absolute", _not_absolute),
    ("parent traversal", _climbs),
    ("trailing dot or space", _ragged),
    ("too shallow", _shallow),
    ("too long", _long_directory),
)
_NAME_RULES: tuple[tuple[str, _Rule], ...] = (
    ("empty", _empty),
    ("control character", _control),
    ("invisible character", _invisible),
    ("Windows path", _windows),
    ("encoded character", _encoded),
    ("disguised separator", _disguised_separator),
    ("absolute path", _absolute),
    ("parent traversal", _climbs),
    ("empty component", _crooked),
    ("hidden file", _hidden),
    ("trailing dot or space", _ragged),
    ("normalisation", _disguised_ascii),
    ("not portable", _not_portable),
    ("device name", _device),
    ("not markdown", _not_markdown),
    ("no word", _wordless),
    ("index twin", _index_twin),
    ("too long", _long_name),
)

LONGEST_STEM = 60


def _pairs(table: str) -> dict[str, str]:
    words = table.split()
    return dict(zip(words[::2], words[1::2], strict=True))


# Letters that Unicode does not decompose, as their languages transliterate them.
_FOLDED = {
    **_pairs("ß ss æ ae œ oe ø o đ d ð d þ th ł l ı i ŋ ng ħ h ŧ t ĸ k ə e ɛ e ɔ o ƒ f"),
    **_pairs("α a β v γ g δ d ε e ζ z η i θ th ι i κ k λ l μ m ν n ξ x ο o π p ρ r σ s ς s τ t"),
    **_pairs("υ y φ f χ ch ψ ps ω o"),
    **_pairs("а a б b в v г g д d е e ж zh з z и i к k л l м m н n о o п p р r с s т t у u ф f"),
    **_pairs("х kh ц ts ч ch ш sh щ shch ы y э e ю yu я ya є ye і i ґ g ћ c ђ d љ lj њ nj џ dz"),
    **_pairs("ѕ dz ј j"),
    # The hard and the soft sign are not transliterated.
    "ъ": "",
    "ь": "",
}
_DEVICES = re.compile(r"(?:con|prn|aux|nul|clock|com\d|lpt\d|conin|conout)")


def fold(title: str) -> tuple[str, bool]:
    """The title in `[a-z0-9_]`, and whether letters were lost."""
    out: list[str] = []
    lost = False
    for char in unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", title).casefold()):
        if char.isascii():
            out.append(char if char.isalnum() else "_")
        elif char in _FOLDED:
            out.append(_FOLDED[char])
        elif unicodedata.category(char)[0] != "M":
            lost = lost or char.isalnum()
            out.append("_")
    return re.sub(r"_+", "_", "".join(out)).strip("_"), lost


def file_name(title: str, taken: Iterable[str] | Callable[[str], bool] = ()) -> str:
    """A free file name for a title; titles that cannot be transliterated get a short hash.

    `taken` are the existing names, or a function that checks one, ignoring case.
    """
    stem, lost = fold(title)
    stem = _shortened(stem)
    if lost or not stem:
        # The hash is of the title, so the same title always gets the same name.
        digest = hashlib.sha256(unicodedata.normalize("NFC", title).encode("utf-8", "replace"))
        stem = f"{stem or 'memory'}_{digest.hexdigest()[:8]}"
    if stem == "memory" or _DEVICES.fullmatch(stem):
        stem += "_note"
    if callable(taken):
        return _free(stem, taken)
    names = {name.casefold() for name in taken}
    return _free(stem, lambda name: name.casefold() in names)


def _shortened(stem: str) -> str:
    if len(stem) <= LONGEST_STEM:
        return stem
    cut = stem[: LONGEST_STEM + 1]
    whole = cut.rpartition("_")[0]
    return whole if len(whole) > LONGEST_STEM // 2 else cut[:LONGEST_STEM]


def _free(stem: str, is_taken: Callable[[str], bool]) -> str:
    # Ignore case: two names must not be one file on another machine.
    name, number = f"{stem}.md", 1
    while is_taken(name):
        number += 1
        name = f"{stem}_{number}.md"
    return name
