"""How many secrets that only their sentence gives away are found, and how many harmless texts are altered.

`spoken_secrets/fitted.txt` holds the sentences that `fit_secrets.py` learns from, `held_back.txt` those
that only this script reads; so are `unlearnt/`, by authors who had not seen any of this. In each line a mark says
whether it holds a secret (`+`; `+k` an opaque key, token or password, `+s` a code, word or name) or is
harmless (`-`); braces are filled with values made at run time, so nothing in the files is a credential.

    python benchmarks/spoken_secrets.py [--errors]
"""

from __future__ import annotations

import random
import re
import string
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from report import publish

from reverie.memory.secrets import find_secrets

FOLDER = Path(__file__).parent / "spoken_secrets"
Part = Literal["fitted", "held_back", "unlearnt/first", "unlearnt/second", "unlearnt/third"]
PARTS: Sequence[Part] = (
    "fitted",
    "held_back",
    "unlearnt/first",
    "unlearnt/second",
    "unlearnt/third",
)
NAMES = {"+": "secrets", "+k": "keys and passwords", "+s": "codes, words, names", "-": "harmless"}
TIMES = 3
COLUMNS = ("sentences", "what", "texts", "in clear or altered", "share", "bar")

_WORDS = {
    "": "lantern walrus copper violin thimble orchid canyon marble otter falcon turnip ladder pelican saffron tundra badger "
    "cinnamon harbour pickle rocket velvet maple quartz bramble sparrow kettle anchor willow pepper comet mango tulip "
    "giraffe cactus pretzel button bubbles buster snowflake sunshine starwars cheeseburger football princess monkey "
    "shadow dragon banana cherry rainbow whiskers muffin",
    "de": "laterne walross kupfer geige fingerhut wolke nebel fichte regenbogen schmetterling eichhörnchen sonnenblume "
    "kartoffel zwiebel gurke dackel apfelkuchen bratwurst fahrradkette dachboden schneemann krähe kranich",
    "fr": "lanterne morse cuivre violon nuage brouillard grenouille citrouille parapluie tournesol baleine chaussette "
    "fromage croissant coquelicot écureuil hérisson",
    "es": "linterna morsa cobre violín nube niebla girasol mariposa ballena calabaza paraguas zapato queso tormenta "
    "cangrejo ardilla erizo",
}
_NAMES = "Rosalie Throgmorton Bello Wuschel Hoffmann Delacroix Buttercup Mittens Kensington Filou Paco Stradivari"
_SMALL = {
    "": "my the on in of a",
    "de": "auf dem der im und",
    "fr": "dans le sur la du",
    "es": "en el sobre la de",
}
_KEYBOARD = (
    "qwertz1234 1q2w3e4r qwerty2020 asdf1234! zaq12wsx qaywsx789 azerty77 q1w2e3r4t5 yxcvbnm1"
)
_MIXED = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Example:
    """A text, where its secrets are, and the line it was made from."""

    text: str
    secrets: Sequence[tuple[int, int]]
    line: int
    mark: str = "-"


def examples(part: Part, times: int = TIMES) -> list[Example]:
    """Every sentence with a secret `times` with other values; the harmless ones once."""
    found = []
    for number, line in enumerate((FOLDER / f"{part}.txt").read_text("utf-8").splitlines()):
        mark, _, frame = line.partition(" ")
        frame = frame.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
        varied = mark.startswith("+") or "[" in frame
        for turn in range((times if varied else 1) if mark in NAMES else 0):
            dice = random.Random(f"{part} {line} {turn}")
            frame_of = _chosen(frame, dice)
            if turn % 3 == 2 and "\n" not in frame and not part.startswith("unlearnt"):
                frame_of = _among_others(frame_of, dice)
            made_of = _filled(frame_of, number, dice)
            # A commit or checksum in a harmless line is no secret.
            hidden = made_of.secrets if mark != "-" else ()
            found.append(replace(made_of, mark=mark, secrets=hidden))
    return found


def _chosen(frame: str, dice: random.Random) -> str:
    """One of the words of each bracket: `[my|our] gate`."""
    return re.sub(
        r"\[([^\[\]]*\|[^\[\]]*)\]", lambda found: dice.choice(found[1].split("|")), frame
    )


# Other sentences that stand beside one with a secret, or without.
_BESIDE = (
    "Thanks for the quick reply.", "We meet at 14:30 in room 2105.", "The release is 2.14.1, ticket AB-4711.", "I'll be back on Monday.",
    "Order 20260412 has shipped.", "Bitte denk an die Milch.", "Merci et à demain.", "Gracias y hasta mañana.", "The train leaves at 0915.",
    "Call me at 0170 1234567.", "Nothing else is open.", "The build takes 12m34s.", "See you on 12 May.", "Das Treffen ist am 12.05. um 1830.",
)  # fmt: skip


def _among_others(frame: str, dice: random.Random) -> str:
    """A sentence with another before or behind it."""
    first, last = dice.sample(_BESIDE, 2)
    closed = frame if frame[-1] in ".!?" else frame + "."
    return dice.choice(
        [
            f"{first} {frame}",
            f"{closed} {last}",
            f"{first}\n{frame}",
            f"{frame}\n{last}",
            f"{first} {closed} {last}",
        ]
    )


def _filled(frame: str, line: int, dice: random.Random) -> Example:
    text, secrets = "", []
    for literal, field in re.findall(r"([^{]*)(?:\{(\w+)\})?", frame):
        text += literal
        if field:
            value = made(field, dice)
            secrets.append((len(text), len(text) + len(value)))
            text += value
    return Example(text, secrets, line)


def made(field: str, dice: random.Random) -> str:  # noqa: C901, PLR0911, PLR0912 - one return a field
    name, _, language = field.partition("_")
    match name:
        case "pw":
            return _password(dice)
        case "word":
            return _word(dice, language or dice.choice(["", "", "de", "fr", "es"]))
        case "Word":
            return dice.choice(
                [*_NAMES.split(), _word(dice, dice.choice(list(_WORDS))).capitalize()]
            )
        case "phrase":
            return _phrase(dice, language)
        case "pinspaced":
            return dice.choice([" ", "-", ", "]).join(_digits(dice, 4))
        case "dial":
            return _dial(dice)
        case "code":
            return _door_code(dice)
        case "groups":
            return _groups(dice)
        case "licence":
            return "-".join(
                _chars(string.ascii_uppercase + string.digits, 5, dice)
                for _ in range(dice.randint(4, 5))
            )
        case "base32":
            return _chars(string.ascii_uppercase + "234567", dice.choice([16, 26, 32]), dice)
        case "turns":
            return _turns(dice, language)
        case "name":
            return f"{dice.choice(['Mr', 'Aunt', 'Captain', 'Doctor', *_NAMES.split()])} {dice.choice(_NAMES.split())}"
        case "six":
            return f"{_digits(dice, 3)} {_digits(dice, 3)}"
        case "dots":
            return "-".join(dice.sample("123456789", dice.randint(5, 7)))
        case "keyed":
            return _digits(dice, 2) + dice.choice("*#") + _digits(dice, 2)
        case "seed":
            return " ".join(dice.sample(_WORDS[""].split(), 12))
        case "key":
            alphabet = dice.choice(
                [_MIXED, _MIXED, string.ascii_lowercase + string.digits, _MIXED + "-_"]
            )
            return _chars(alphabet, dice.randint(16, 40), dice)
    known = re.fullmatch(r"([a-z]+)(\d*)", name)
    if known is None or language:
        # Part of a harmless text, such as "/users/{user_id}".
        return f"{{{field}}}"
    kind, size = known.groups()
    if kind == "hex":
        return _chars("0123456789abcdef", int(size), dice)
    return _digits(dice, int(size) if size else dice.choice([4, 4, 4, 5, 6]))


def _password(dice: random.Random) -> str:
    """A password as people and programs make them up."""
    one, two = (_word(dice, dice.choice(["", "", "de", "fr", "es"])) for _ in range(2))
    number, sign = (
        str(dice.choice([dice.randint(2, 99), dice.randint(1960, 2031), dice.randint(100, 9999)])),
        dice.choice("!#$&%*+"),
    )
    return dice.choice(
        (
            one + number,
            one.capitalize() + number,
            one.capitalize() + number + sign,
            one + sign + number,
            f"{one}-{two}-{number}",
            f"{one}_{two}",
            f"{one}.{two}.{number}",
            f"{one.capitalize()}{two.capitalize()}",
            one.capitalize() + two.capitalize() + number,
            f"{one}-{two}-{_word(dice, '')}",
            one.replace("e", "3").replace("a", "4").replace("o", "0").capitalize() + sign + number,
            number + one + sign,
            _chars(_MIXED, dice.randint(8, 12), dice),
            _chars(string.ascii_lowercase + string.digits, dice.randint(8, 12), dice),
            _chars(_MIXED + "!#%&*+", dice.randint(9, 14), dice),
            dice.choice(_KEYBOARD.split()),
        )
    )


def _word(dice: random.Random, language: str) -> str:
    return dice.choice(_WORDS[language].split())


def _phrase(dice: random.Random, language: str) -> str:
    words = [_word(dice, language) for _ in range(dice.randint(3, 5))]
    if dice.random() < 0.3:
        words.insert(2, dice.choice(_SMALL[language].split()))
    return " ".join(words)


def _digits(dice: random.Random, count: int) -> str:
    while True:
        made = "".join(dice.choices(string.digits, k=count))
        if len(set(made)) > min(2, count - 1) and not (count == 4 and made[:2] in ("19", "20")):
            return made


def _dial(dice: random.Random) -> str:
    numbers = [str(dice.randint(2, 49)).zfill(2) for _ in range(3)]
    return dice.choice(
        ["-".join(numbers), "-".join(numbers), " ".join(numbers), "-".join(_digits(dice, 4))]
    )


def _turns(dice: random.Random, language: str) -> str:
    """How the dial of a safe is turned."""
    right, left = {
        "": ("right", "left"),
        "de": ("rechts", "links"),
        "fr": ("droite", "gauche"),
        "es": ("derecha", "izquierda"),
    }[language]
    numbers = [dice.randint(2, 98) for _ in range(3)]
    sides = zip((right, left, right), numbers, strict=True)
    if language == "fr":
        return ", ".join(f"{number} à {side}" for side, number in sides)
    to = {"": " to ", "de": " auf ", "es": " hasta "}[language]
    return ", ".join(f"{side}{dice.choice([to, ' '])}{number}" for side, number in sides)


def _door_code(dice: random.Random) -> str:
    pin = _digits(dice, 4)
    letter = dice.choice("ABCDEFGHK")
    return dice.choice(
        [
            pin,
            pin + letter,
            f"{letter}{pin}",
            f"{pin}#",
            f"{pin[:2]}{letter}{pin[2:]}",
            f"{pin[:2]}-{letter}-{pin[1:]}",
        ]
    )


def _groups(dice: random.Random) -> str:
    small = string.ascii_lowercase + string.digits
    return dice.choice(
        (
            "-".join(_chars(small, 4, dice) for _ in range(2)),
            "-".join(_chars(small, 5, dice) for _ in range(3)),
            " ".join(_digits(dice, 4) for _ in range(2)),
            _chars(small, 10, dice),
        )
    )


def _chars(alphabet: str, count: int, dice: random.Random) -> str:
    while True:
        made = "".join(dice.choices(alphabet, k=count))
        if set(made) & set(string.digits) and (set(made) - set(string.digits)):
            return made


def in_clear(example: Example) -> list[str]:
    """The secrets of a text of which something would be written."""
    found = [(secret.start, secret.end) for secret in find_secrets(example.text)]
    return [
        example.text[start:end]
        for start, end in example.secrets
        if not any(a <= start and end <= b for a, b in found)
    ]


def main() -> None:
    rows: list[Sequence[object]] = []
    for part in PARTS:
        texts = examples(part)
        for mark, name in NAMES.items():
            of = [example for example in texts if example.mark == mark]
            if not of:
                continue
            bad = [one for one in of if (in_clear(one) if one.secrets else find_secrets(one.text))]
            if "--errors" in sys.argv and part == "fitted":
                for example in bad:
                    print(f"{mark} {example.text!r}", in_clear(example))
            bar = "3 %" if mark == "-" else "10 %"
            rows.append((part, name, len(of), len(bad), f"{len(bad) / len(of):.1%}", bar))
    publish("spoken_secrets", COLUMNS, rows)


if __name__ == "__main__":
    main()
