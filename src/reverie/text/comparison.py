"""Compares two statements by rules of form: same, update, sibling or unrelated.

A difference before the relation, or in what says *which* thing is meant (a name, an environment, a
day, a condition), makes siblings: both stay valid. Only a difference in the value of a relation that
has one value makes an update. In doubt both stay valid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import ascii_letters
from typing import Literal, TypeAlias

from reverie.text.alignment import (
    are_values,
    conditions_of,
    denials_of,
    differing,
    keys_of,
    parts_of,
    relation_words,
    subject_of,
    topic_of,
)
from reverie.text.signs import OPPOSITES, WHICH
from reverie.text.statements import Change, Statement, Token

# "restates": probably the same in other words, but not so certain that it need not be saved.
Likeness: TypeAlias = Literal["duplicate", "extends", "update", "restates", "sibling", "unrelated"]

# With less in common, two sentences merely share words.
_ABOUT_ONE_THING = 0.5
_FEWEST_SHARED = 2
_BY = frozenset({"by", "von", "vom", "par", "por"})
# One figure on each side, and a verb on one side.
_FIGURES = 3
_FOR = frozenset({"for", "fur", "pour", "para"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """How two texts relate, how certain that is, and the words that differ on each side."""

    likeness: Likeness
    certain: bool = False
    ours: tuple[str, ...] = ()
    theirs: tuple[str, ...] = ()
    score: float = 0.0
    # The words by which the new text says that something changed, and whether they plainly refer to
    # this difference.
    cue: str = ""
    said: bool = False
    # Whether the words plainly speak of two things, whatever the odds say.
    firm: bool = False
    # Whether it rests on odds, not on the rules.
    weighed: bool = False


def compare_statements(new: Statement, old: Statement, change: Change) -> Verdict:
    """Compare two statements; a former value that the new one names is left out."""
    mine, other = new.content, old.content
    ours, theirs = differing(mine, other)
    # One word may match two on the other side.
    shared = min(len(mine) - len(ours), len(other) - len(theirs))
    score = shared / max(1, len(mine) + len(other) - shared)
    pair = _Pair(new, old, ours, theirs, shared, score, change)
    if change.former and (replaced := pair.replaces()) is not None:
        return replaced
    if not ours and not theirs and not pair.opposed:
        return pair.same_words()
    if (pair.opposed and not change.cue) or not pair.about_one_thing:
        return pair.verdict("sibling" if pair.about_one_thing else "unrelated")
    if not ours:
        return pair.less_said()
    if not theirs:
        return pair.more_said()
    return pair.otherwise_said()


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two statements, and what each says that the other does not."""

    new: Statement
    old: Statement
    ours: tuple[Token, ...]
    theirs: tuple[Token, ...]
    shared: int
    score: float
    change: Change

    def verdict(self, likeness: Likeness, *, certain: bool = False, named: bool = False) -> Verdict:
        ours, theirs = (tuple(t.key for t in side) for side in (self.ours, self.theirs))
        # A denial retires only what it names in full: "no longer takes the statin" keeps the aspirin.
        plain = self.change.plain and (self._denied_whole if self.new.denied else self.covered)
        said = likeness == "update" and (named or plain) and not self.change.beside
        return Verdict(likeness, certain, ours, theirs, self.score, self.change.cue, said)

    @property
    def _denied_whole(self) -> bool:
        return not self.theirs and all(token.phrase for token in self.ours)

    @property
    def about_one_thing(self) -> bool:
        """Whether both are about one thing, apart from the values: "the port is 8080", "the port is 8443"."""
        ours, theirs = (topic_of(side) for side in (self.new, self.old))
        common = len(ours & theirs)
        if ours == theirs and ours:
            return True
        subjects = [subject_of(side) or relation_words(side) for side in (self.new, self.old)]
        if subjects[0] == subjects[1] != frozenset() and self.new.relation == self.old.relation:
            return True
        fewest = min(len(ours), len(theirs))
        needed = _FEWEST_SHARED if fewest > _FEWEST_SHARED else 1
        return common >= max(needed, _ABOUT_ONE_THING * fewest)

    @property
    def turned(self) -> bool:
        """Whether one denies the other; a negation of something that only one side names does not count."""
        ours = denials_of(self.new, keys_of(self.ours) - keys_of(self.old.tokens))
        return ours != denials_of(self.old, keys_of(self.theirs) - keys_of(self.new.tokens))

    def replaces(self) -> Verdict | None:
        """Whether the new text names what it replaces, and the old one says exactly that."""
        stated = {token.key for token in self.old.tokens if token.kind != "speaker"}
        former = {key for key in stated if self.change.former & {key, key.rstrip(ascii_letters)}}
        anywhere = not self.old.parsed or self.old.relation == "owner"
        held = {token.key for token in self.old.tokens if token.phrase or anywhere}
        if not former & held:
            return None
        rest = stated - former - relation_words(self.old)
        spoken = {token.key for token in self.new.tokens}
        if rest & spoken:
            closer = subject_of(self.new) - stated - self.change.former
            whole = rest <= spoken and not (self.new.denied and closer)
            return self.verdict("update", certain=whole, named=whole)
        return self.verdict("update") if len(rest) <= _FEWEST_SHARED else None

    def same_words(self) -> Verdict:
        if self.turned:
            return self.verdict("update", certain=True)
        conditions = conditions_of(self.new), conditions_of(self.old)
        if all(conditions) and conditions[0].isdisjoint(conditions[1]):
            return self.verdict("sibling")
        if self.swapped:
            return self.verdict("update")
        exact = sorted(keys_of(self.new.tokens)) == sorted(keys_of(self.old.tokens))
        return self.verdict("duplicate", certain=exact)

    def less_said(self) -> Verdict:
        if _narrows(self.theirs, self.old) or self.swapped or any(t.verb for t in self.theirs):
            return self.verdict("sibling")
        if self.new.passive == self.old.passive and self._moved_across():
            return self.verdict("sibling")
        return self.verdict("update", certain=True) if self.turned else self.verdict("duplicate")

    def _moved_across(self) -> bool:
        """Whether a subject word is elsewhere in the other: "The keys are in the car", "the car keys are here"."""
        parsed = self.new.parsed and self.old.parsed
        about = subject_of(self.new) ^ subject_of(self.old)
        return parsed and bool(about & keys_of(self.new.tokens) & keys_of(self.old.tokens))

    def more_said(self) -> Verdict:
        if self.change.former & (keys_of(self.old.tokens) - subject_of(self.old)):
            return self.verdict("update")
        if _narrows(self.ours, self.new):
            return self.verdict("sibling")
        return self.verdict("update", certain=True) if self.turned else self.verdict("extends")

    @property
    def swapped(self) -> bool:
        """Whether two words swapped roles: "Alice reports to Bob", and the reverse."""
        if self.new.passive != self.old.passive or self.equated:
            return False
        if self._mirrored() or self._figures_exchanged():
            return True
        ours, theirs = parts_of(self.new), parts_of(self.old)
        moved = [key for key in ours.keys() & theirs.keys() if ours[key] != theirs[key]]
        exchanged = {(ours[key], theirs[key]) for key in moved}
        return any((after, before) in exchanged for before, after in exchanged)

    @property
    def equated(self) -> bool:
        """ "Mira is CTO" and "the CTO is Mira" say the same."""
        sides = [
            {subject_of(side), frozenset(keys_of(side.tokens) - subject_of(side) - {""})}
            for side in (self.new, self.old)
            if side.parsed and not relation_words(side)
        ]
        return len(sides) == 2 and sides[0] == sides[1]

    def _mirrored(self) -> bool:
        """ "The API calls the worker", and the reverse: two words change places, all else stays."""
        ours, theirs = (
            [token for token in side.tokens if token.kind != "speaker"]
            for side in (self.new, self.old)
        )
        if len(ours) != len(theirs):
            return False
        pairs = list(zip(ours, theirs, strict=True))
        moved = [at for at, (mine, other) in enumerate(pairs) if mine.key != other.key]
        if len(moved) != _FEWEST_SHARED or moved[1] - moved[0] == 1:
            return False
        if any(mine.led != other.led for mine, other in pairs):
            return False
        (one, two), back = pairs[moved[0]], pairs[moved[1]]
        names = {t.key for t in (*ours, *theirs) if t.kind == "name"}
        alike = (one.key in names) == (two.key in names) and not are_values((one,))
        return alike and (back[0].key, back[1].key) == (two.key, one.key) and not are_values((two,))

    def _figures_exchanged(self) -> bool:
        """ "Replica 1 follows replica 2", and the reverse."""
        first, then = (
            {t.key for t in side.tokens if not t.phrase and not t.led and are_values((t,))}
            for side in (self.new, self.old)
        )
        parsed = self.new.parsed and self.old.parsed
        return parsed and bool(first - then) and bool(then - first)

    def otherwise_said(self) -> Verdict:
        """The verdict when both name something that the other does not: another value or thing."""
        diffs = (*self.ours, *self.theirs)
        which = [token for token in diffs if _tells_which(token)]
        changed = self.change.cue and not self.change.beside
        changed = changed and self.same_subject and self.same_relation
        if which:
            # "only" is no part of a change, but it retires nothing.
            named = changed and all(token.kind == "quantity" for token in which)
            return replace(self.verdict("update" if named else "sibling"), said=False, firm=True)
        if changed:
            return self.verdict("update", certain=not self.turned and are_values(diffs))
        if self.turned:
            return self.verdict("sibling")
        if self.other_agent or self.one_other_figure:
            return self.verdict("update")
        return replace(self.other_figures(), firm=True) if are_values(diffs) else self.other_words()

    @property
    def other_agent(self) -> bool:
        """ "The retro is run by Ada", "Bob runs the retro": the passive names the agent last."""
        if self.new.passive == self.old.passive or len(self.ours) != 1 or len(self.theirs) != 1:
            return False
        actors = [
            diff[0].led in _BY if side.passive else not (diff[0].phrase or diff[0].led)
            for side, diff in self._sides()
        ]
        return all(actors) and not are_values((*self.ours, *self.theirs))

    @property
    def one_other_figure(self) -> bool:
        """Whether only the verb and one figure differ, and the figure is a value on at least one side."""
        rest = [[token for token in side if not token.verb] for side in (self.ours, self.theirs)]
        if [len(side) for side in rest] != [1, 1] or not are_values((*rest[0], *rest[1])):
            return False
        units = [side[0].key.lstrip("0123456789.:,") for side in rest]
        places = [bool(side[0].phrase) for side in rest]
        apart = places[0] != places[1] or self.new.parsed != self.old.parsed
        return apart and units[0] == units[1] and len(self.ours) + len(self.theirs) <= _FIGURES

    def other_words(self) -> Verdict:
        """Words differ: their position decides."""
        diffs = (*self.ours, *self.theirs)
        if not (self.new.parsed and self.old.parsed):
            return self.verdict("update" if self.other_tail else "sibling")
        if any(not token.phrase for token in diffs):
            return self.other_subject()
        return self.other_verb() if any(token.verb for token in diffs) else self.other_value()

    @property
    def other_tail(self) -> bool:
        """Whether sentences without a known relation differ only after the same last preposition."""
        heads = [side.tokens[: -len(diff)] for side, diff in self._sides()]
        tails = [side.tokens[-len(diff) :] for side, diff in self._sides()]
        alike = [keys_of(head) for head in heads]
        led = [{token.led for token in tail} for tail in tails]
        ends = len(self.ours) == len(self.theirs) == 1
        ends = ends and tails[0] == self.ours and tails[1] == self.theirs
        return ends and alike[0] == alike[1] and led[0] == led[1] and led[0] != {""}

    def _sides(self) -> tuple[tuple[Statement, tuple[Token, ...]], ...]:
        return (self.new, self.ours), (self.old, self.theirs)

    def other_verb(self) -> Verdict:
        """ "is on db-04" and "is hosted on db-04" say the same; "starts" and "ends" do not."""
        verbs = [[token for token in side if token.verb] for side in (self.ours, self.theirs)]
        rest = [token for token in (*self.ours, *self.theirs) if not token.verb]
        if rest or all(verbs):
            return self.verdict("sibling")
        return self.verdict("duplicate")

    @property
    def opposed(self) -> bool:
        """Whether one word follows opposite prepositions: "to Oslo" and "from Oslo"."""
        ours, theirs = (
            {token.key: token.led for token in side.tokens} for side in (self.new, self.old)
        )
        led = {frozenset((ours[key], theirs[key])) for key in ours.keys() & theirs.keys()}
        return not led.isdisjoint(OPPOSITES)

    @property
    def same_subject(self) -> bool:
        """Whether both are about the same thing, though one may name it more precisely."""
        ours, theirs = (subject_of(side) for side in (self.new, self.old))
        other = topic_of(self.old) | theirs
        return self.covered or bool(ours <= other and ours & theirs)

    @property
    def same_relation(self) -> bool:
        """Whether both make the same kind of statement; a new job does not end what a person built."""
        if self.new.relation == self.old.relation or are_values((*self.ours, *self.theirs)):
            return True
        if {self.new.relation, self.old.relation} <= {"copula", "single"}:
            return True
        about = subject_of(self.new) | subject_of(self.old)
        common = (keys_of(self.new.tokens) & keys_of(self.old.tokens)) - about - {""}
        kinds = [{t.kind for t in side if not t.verb} for side in (self.ours, self.theirs)]
        return bool(common) or (
            kinds[0] == kinds[1] and kinds[0] <= {"number", "day", "name", "code"}
        )

    @property
    def covered(self) -> bool:
        """Whether each names everything that the other is about."""
        ours, theirs = (subject_of(side) for side in (self.new, self.old))
        mine, other = (topic_of(side) | subject_of(side) for side in (self.new, self.old))
        return bool(ours or theirs) and ours <= other and theirs <= mine

    def other_figures(self) -> Verdict:
        """The verdict when only numbers and days differ; before the relation they say which one is meant."""
        diffs = (*self.ours, *self.theirs)
        if self.new.parsed and self.old.parsed and any(not token.phrase for token in diffs):
            return self.verdict("sibling")
        single = len(self.ours) == len(self.theirs) == 1
        moment = all(token.kind == "day" or ":" in token.key for token in diffs)
        if not single and not moment and not (self.new.parsed and self.old.parsed):
            return self.verdict("sibling")
        if not single and any(token.key[0].isalpha() and token.kind == "number" for token in diffs):
            # "v5 … until 2027" and "v6 … until 2029": the first figure says which, the second what.
            return self.verdict("sibling")
        return self.verdict("update", certain=single and self.old.relation in ("copula", "single"))

    def other_subject(self) -> Verdict:
        """Siblings, unless the subject is a post with a single holder, who changed."""
        diffs = (*self.ours, *self.theirs)
        holder = self.new.relation == self.old.relation == "owner"
        if holder and not any(token.phrase for token in diffs):
            return self.verdict("update")
        return self.verdict("sibling")

    def other_value(self) -> Verdict:
        diffs = (*self.ours, *self.theirs)
        phrases = {token.phrase for token in diffs}
        relations = {self.old.relation, self.new.relation}
        if relations & {"multiple", "owner", "other"}:
            return replace(self.verdict("sibling"), firm="other" not in relations)
        if any(are_values((token,)) for token in diffs):
            same = subject_of(self.new) == subject_of(self.old) != frozenset()
            return self.verdict("update" if same and relations == {"copula"} else "sibling")
        if "single" in relations and self._share_preposition(diffs):
            return self.verdict("update")
        if phrases == {1}:
            short = max(len(self.ours), len(self.theirs)) <= _FEWEST_SHARED
            return self.verdict("update", certain=relations == {"copula"} and short)
        if len(phrases) == 1 and "single" in relations and not self._object_is_value():
            return self.verdict("update")
        return self.verdict("sibling")

    def _share_preposition(self, diffs: Sequence[Token]) -> bool:
        """ "Bugs are tracked in …", "we track bugs in …": all differences follow one preposition."""
        led = {token.led for token in diffs}
        return len(led) == 1 and led != {""} and self.new.relation != self.old.relation

    def _object_is_value(self) -> bool:
        """Whether the value follows the relation, so that the rest only says where or when."""
        first = [t for t in self.old.tokens if t.phrase == 1 and not t.verb]
        return any(token.led or token.kind == "number" for token in first)


def _narrows(extra: Sequence[Token], said: Statement) -> bool:
    """Whether the extra words narrow the claim: a condition, a part, another subject."""
    return any(
        _tells_which(token) or token.led in _FOR or (said.parsed and not token.phrase)
        for token in extra
    )


def _tells_which(token: Token) -> bool:
    """Whether a token says which thing is meant: a condition, a quantifier, "staging"."""
    return token.conditional or token.kind == "quantity" or token.key in WHICH
