"""Whether it is worth asking a model what to learn from new messages, and how to ask it for less.

Most turns of a coding session hold nothing for later: "now put it in", then an hour of tools. A
model is asked when the person's own words state something: a rule, a correction, a decision, a wish,
a fact about them or their project. The turns in between are read by the rules alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reverie.context.user_messages import is_request, said
from reverie.conversation.records import Used
from reverie.core.messages import Message
from reverie.core.usage import PER_MILLION, Prices
from reverie.core.window import text_tokens
from reverie.learning.extraction.rules.confirmations import sentences
from reverie.learning.extraction.speech import own_words

# Words with which people state what should last, in English, German, French and Spanish.
_STATES = re.compile(
    r"\b(?:always|never|every ?time|whenever|from now on|in future|remember|forget|note that|keep in mind"
    r"|prefer\w*|rather|instead|favou?rite|hate|love|like it when|want (?:it|them|you) to|rule|convention|policy"
    r"|don'?t|do not|stop|must|mustn'?t|should|shouldn'?t|ought|only|no longer|any ?more|not? ?one"
    r"|decided|agreed|settled|go(?:ing)? with|chose\w*|because|reason|since|so that|otherwise"
    r"|actually|wrong|correct(?:ion)?|mistake|exactly|means?|belongs?|is called|stands for|counts? as"
    r"|i am|i'm|i work|i use|i have|i inherited|i joined|i own|i maintain|i lead|i moved|my|mine|our|ours"
    r"|we are|we're|we use|we have|they|he|she|his|her"
    r"|deadline|until|till|by (?:mon|tues|wednes|thurs|fri|satur|sun)day|next (?:week|month|year)|tomorrow"
    r"|january|february|march|april|june|july|august|september|october|november|december|20\d\d"
    r"|immer|nie|niemals|merke?|künftig|lieber|statt|nicht mehr|weil|wir haben|ich bin|mein\w*|unser\w*"
    r"|toujours|jamais|désormais|préfère|plutôt|parce que|je suis|notre|nos|mon|ma|mes"
    r"|siempre|nunca|prefiero|porque|desde ahora|soy|nuestr\w+|mi|mis)\b",
    re.IGNORECASE,
)
# A plain statement: a subject, and a verb that tells how things are. A request begins with its verb.
_TELLS = re.compile(
    r"^(?:(?:also|and|but|by the way|fyi|well|so|ok(?:ay)?),? )*"
    r"(?:the|an?|this|that|these|those|it|there|[A-ZÄÖÜÉ][\w-]+(?:['’]s)?)\s(?:\S+\s){0,6}?"
    r"(?:is|are|was|were|has|have|had|will|moved|runs?|uses?|owns?|lives?|starts?|ends?|needs?|leaves?"
    r"|changed|became|works?|ist|sind|war|hat|est|sont|es|son|está)\b"
)
_ASKS = re.compile(r"\?\s*$")
_FEWEST_WORDS = 4
# A message of so many characters was typed. Longer ones are plans, logs and task templates beside
# the person's own words.
_TYPED = 500
# More is pasted text.
_LONGEST_READ = 4_000


def occasion(messages: Iterable[Message]) -> str | None:
    """The first sentence of the person's that states something worth a look; None if there is none."""
    texts = (text for message in messages for text in said(message) if is_request(text))
    for text in texts:
        own = text if len(text) <= _TYPED else own_words(text[:_LONGEST_READ])
        for sentence in sentences(own):
            told = not _ASKS.search(sentence) and len(sentence.split()) >= _FEWEST_WORDS
            if told and (_STATES.search(sentence) or _TELLS.search(sentence)):
                return sentence
    return None


# The agent's own system prompt and its tools, which a side agent of its own is sent.
_OWN_HEAD = 2_500
# A directive tells the rules and the memories there are.
_DIRECTIVE = 2_000
# What a model writes that finds something.
_ANSWER = 250
# A run that costs less than this, in dollars, is not put off when a session ends.
SMALL = 0.02
# With the turns of earlier sessions a run may cost so many times the share of the session's own cost.
_FOR_OTHERS = 2


@dataclass(frozen=True, slots=True)
class Offer:
    """What it costs to learn from new messages in one request, in dollars."""

    fork: float
    apart: float

    @property
    def apart_is_cheaper(self) -> bool:
        return self.apart < self.fork

    @property
    def price(self) -> float:
        return min(self.fork, self.apart)


def offers(new: Sequence[str], prefix: int, main: Prices, side: Prices) -> Offer:
    """Compare a fork on the cached prefix with an agent that reads the new messages alone."""
    told = sum(map(text_tokens, new))
    fork = prefix * main.cache_read + _DIRECTIVE * main.cache_write_5m + _ANSWER * main.output
    apart = (_OWN_HEAD + _DIRECTIVE + told) * side.cache_write_5m + _ANSWER * side.output
    return Offer(fork / PER_MILLION, apart / PER_MILLION)


@dataclass(slots=True)
class Spending:
    """The dollars that a conversation has cost since they were last set to 0."""

    dollars: float = 0.0
    _counted: int = 0

    def follow(self, usages: Sequence[Used], prices: Prices) -> float:
        """Add the requests that are new."""
        self.dollars += sum(prices.cost(used.usage) for used in usages[self._counted :])
        self._counted = len(usages)
        return self.dollars


def affordable(
    price: float, spent: float, share: float, *, ending: bool, carried: float = 0.0
) -> bool:
    """Whether a run at this price fits a session that has cost `spent` dollars since the last run.

    The earlier sessions whose turns are read with it have cost `carried` dollars. A short session does
    not pay for them alone: they wait for one that has cost enough itself.
    """
    fits = price <= share * (spent + carried) and price <= _FOR_OTHERS * share * spent
    return fits or (ending and price <= SMALL)
