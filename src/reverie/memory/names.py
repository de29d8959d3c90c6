"""File names for new memories: short, ASCII, made from the title, never colliding."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

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
    # The hard and the soft sign have no sound of their own.
    "ъ": "",
    "ь": "",
}
_DEVICES = re.compile(r"(?:con|prn|aux|nul|clock|com\d|lpt\d|conin|conout)")


def fold(title: str) -> tuple[str, bool]:
    """The title in `[a-z0-9_]`, and whether letters were lost on the way."""
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
    """A free file name for a title; scripts that do not fold keep apart by a short hash.

    `taken` are the names there are, or tells of one whether it is, in whatever case.
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
    # Compared without case: two names must not be one file on another machine.
    name, number = f"{stem}.md", 1
    while is_taken(name):
        number += 1
        name = f"{stem}_{number}.md"
    return name
