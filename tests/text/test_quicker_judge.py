"""What makes the judge quick changes no verdict: patterns left out, numpy, signs left out."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reverie.text import likeness, reader, weighing
from reverie.text.lexicon import folded
from reverie.text.likeness import compare, signs_between
from reverie.text.odds import odds
from reverie.text.rewriting import Rewrite, may_match, needed, rewritten
from reverie.text.signs import share_anything
from reverie.text.word_classes import forms

PAIRS = Path(__file__).parents[2] / "benchmarks" / "judgement"
LANGUAGES = ("english", "german", "french", "spanish")


def _pairs(every: int) -> Iterator[tuple[str, str]]:
    files = sorted(PAIRS.glob("pairs_*.jsonl"))
    lines = [line for file in files for line in file.read_text("utf-8").splitlines()]
    for line in lines[::every]:
        found = json.loads(line)
        yield found["new"], found["old"]


NEEDED = [
    (r"\b(?:take|took) out\b", {" out"}),
    (r"\bper cent\b|\bpercent\b", {"per cent", "percent"}),
    (r"\b(?:hates?|can not (?:stand|bear))\b", {"hate", "can not "}),
    (r"\bannual(?:ly)?\b", {"annual"}),
    (r"\b(?:an? )?(\d+)\b", set()),
    (r"colou?r", {"colo"}),
    (r"a{0,2}b+cd", {"cd"}),
    (r"[^]x]yes(?=no)(?!never)", {"yes"}),
    (r"\bNo\.", {"no."}),
    (r"one|\d", set()),
]


@pytest.mark.parametrize(("source", "letters"), NEEDED)
def test_a_pattern_tells_which_letters_it_needs(source: str, letters: set[str]) -> None:
    assert set(needed(source)) == letters


def test_no_pattern_that_fits_is_left_out() -> None:
    rules = [forms(name) for name in LANGUAGES]
    rewrites = [one for rule in rules for one in (*rule.spelling, *rule.rewrites)]
    told = [one for r in rules for one in (r.frames, r.adverbs, r.since, r.cues, r.denials) if one]
    fitting = 0
    for text in {folded(side) for pair in _pairs(25) for side in pair}:
        small = text.lower()
        for one in rewrites:
            if not one.may_fit(small):
                assert not one.pattern.search(text), (one.pattern.pattern, text)
            else:
                fitting += 1
        for pattern in told:
            assert may_match(pattern, text) or not pattern.search(text), (pattern.pattern, text)
    assert fitting


def test_a_rewrite_sees_what_the_one_before_it_wrote() -> None:
    chain = [Rewrite.of("one", "two"), Rewrite.of("two", "three"), Rewrite.of("s", "z")]
    assert rewritten("ONE", chain) == "three"
    # The long s counts as an s where case is ignored: such a text is searched for everything.
    assert rewritten("ſ one", chain) == "z three"


def test_texts_that_share_nothing_get_the_verdict_of_all_their_signs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "known", lambda: False)
    apart = 0
    pairs = list(_pairs(40))
    for (new, _), (_, old) in itertools.pairwise(pairs):
        pair = likeness._Pair(new, old)
        if not pair.uncertain:
            continue
        signs = signs_between(new, old)
        apart += not share_anything(signs)
        plain = weighing.by_signs(pair.verdict, signs, odds(signs))
        assert compare(new, old) == (plain if share_anything(signs) else pair.verdict)
        assert pair.signs(whole=False).items() <= signs.items()
    assert apart


ASK = """
import sys
if sys.argv[1] == "with":
    import numpy
from reverie.text import reader
from reverie.text.likeness import compare, signs_between
# Reading needs numpy; what is told by signs alone does not.
reader.known = lambda: False
for line in sys.stdin:
    new, old = line.rstrip("\\n").split("\\t")
    print(compare(new, old), sorted(signs_between(new, old).items()))
assert ("numpy" in sys.modules) == (sys.argv[1] == "with")
"""


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="sum() of floats is compensated there")
def test_verdicts_are_the_same_bytes_with_and_without_numpy() -> None:
    pytest.importorskip("numpy")
    given = "".join(f"{new}\t{old}\n" for new, old in _pairs(60) if "\n" not in new + old)
    told = [
        subprocess.run(
            [sys.executable, "-c", ASK, way],
            input=given,
            capture_output=True,
            text=True,
            check=True,
            encoding="utf-8",
        ).stdout
        for way in ("with", "without")
    ]
    assert len(told[0].splitlines()) == given.count("\n") > 40
    assert told[0] == told[1]
