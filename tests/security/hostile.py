"""Text as an attacker writes it, and what none of it may do to a terminal."""

import unicodedata

ESCAPES = (
    "\x1b[2J\x1b[1;31mred\x1b]0;owned\x07\x1b]8;;http://evil.example\x1b\\link\x9b31m\x90q\x9c"
)
TURNED = "\u202egnp.exe\u2066isolate\u2069\u061c\u200e\u200f"
UNSEEN = "a\u200bb\u2060c\ufeffd\u00ade\u200df\u200cg\u3164h\u034fi\U000e0041\U000e0042\U000e007f"
RETURNS = "good\rbad\x08\x08\x0b\x0c\x00\x7f\x85\u2028\u2029"
SMUGGLED = "x\U000e0101\U000e0152\ufe01\ufe02\ufe03"
HOSTILE = " ".join((ESCAPES, TURNED, UNSEEN, RETURNS, SMUGGLED))

_BLANK = "\u034f\u115f\u1160\u3164\uffa0\U000e0101\U000e0152"


def steering(text: str) -> list[str]:
    """The characters that would steer a terminal or hide from the eye, by their category."""
    unseen = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    return [
        f"U+{ord(char):04X}"
        for char in text
        if char not in "\n\t" and (unicodedata.category(char) in unseen or char in _BLANK)
    ]
