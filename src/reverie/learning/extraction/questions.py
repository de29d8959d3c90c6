"""Recognises sentences that state nothing: questions, conditions, requests and guesses. Pure."""

from __future__ import annotations

import re

ASKING = re.compile(
    r"^(?:do(?! not)|does|did|is|are|was|were|have|has|had|should|shall|would|could|can|will|may|might|why|what|when|where|who"
    r"|which|how|whether|don't you|isn't|aren't|won't|warum|wieso|wie|was|wann|wo|wer|soll|kann|hast|merkst|weißt"
    r"|pourquoi|comment|est-ce|tu te|qui|quand|¿|cómo|por qué|cuándo)\b",
    re.I,
)
_POLITE = re.compile(
    r"^(?:can|could|would|will) you (?:please )?(?:always|never|remember(?: that| this)?[,:]? (?!what|how|when|where|why|which|who|if|the)"
    r"|stop \w+ing)",
    re.I,
)
# Begins a question without a question mark; "is", "was" and the like also begin other sentences.
_UNMARKED = re.compile(
    r"^(?:and |so |but |und |et |y )?(?:does|did|is|are|was|were|has|why|where|who(?:'s)?|whom|whose|which|how|what(?:'s)?|whether"
    r"|warum|wieso|weshalb|wie|wann|wo|wer|wem|wen|welche[rsnm]?|ob|darf|soll|pourquoi|comment|est-ce|qui|quel(?:le)?s?|où"
    r"|combien|¿|quién(?:es)?|cuál(?:es)?|cómo|cuándo|dónde|qué)(?!\w)(?!.*\bis how\b)",
    re.I,
)
# "Tell me who approves deploys": a question inside a request.
_EMBEDDED = re.compile(
    r"\b(?:tell (?:me|us)|let (?:me|us) know|find out|figure out|check|verify|look up|see|ask(?: \w+)?|wonder(?:ing)?|know|sure|decide"
    r"|explain|remind (?:me|us)|show (?:me|us)|say|clear|question|idea|guess|remember|forgot|understand"
    r"|sag(?:e|t)?(?: mir| uns)?|frag(?:e|t)?(?: \w+)?|prüfe?|weiß(?:t)?|wissen|unklar|finde? heraus|erkläre?(?: mir)?|schau(?:e)?(?: nach)?"
    r"|dis(?:-moi|-nous)?|demande(?: à \w+)?|vérifie|sais|savoir|explique(?:-moi)?|regarde|dime|dinos|pregunta(?: a \w+)?"
    r"|averigua|comprueba|sabe[rs]?|sé|explica(?:me)?|mira),? (?:please |bitte )?"
    r"(?:who(?:m|se|'s)?|what|which|when|where|why|how|if|whether|wer|wem|wen|was|welche[rsnm]?|wann|wo|warum|wie|ob"
    r"|qui|que|ce que|quel(?:le)?s?|quand|où|pourquoi|comment|si|quién(?:es)?|quien(?:es)?|qué|cuál(?:es)?|cuándo|dónde|cómo)\b",
    re.I,
)
# Parts of patterns that `rules.doubts` and `speech` use, too.
HEDGES = r"maybe|perhaps|vielleicht|peut-être|quizás?|tal vez|a lo mejor"
SUPPOSES = (
    r"pretend\w*|imagine|suppose|supposing|hypothetically|(?<!never )(?<!not )(?<!n't )ass?ume that|let's say|what if|in theory|as if|angenommen|stell dir vor"
    r"|supposons|imagine que|supongamos|imagina"
)
REWORDS = r"translate|proofread|paraphrase|rephrase|übersetze?|traduis|traduce"
REPORTS = (
    r"says?|said|saying|(?:wrote|writes)(?! (?:it|them|to|into|in|the|an?|its|our|their|down|one|two|\d+)\b)|claims?|claimed|keeps? (?:repeating|telling)|kept (?:repeating|telling|saying)|argues?|argued|(?:insists?|insisted|swears|swore|warns|warned|thinks|believes) that|swears by|preaches|(?:swears|insisted|forwarded|printed|popped up|pops up|goes (?=i\b|we\b|always\b|never\b)|ended with|ends with|shows that line)(?! (?:that )?(?:i|we) (?:can|should)\b)|commence ainsi|entendu|me puso|en la pared pone|vom \w+ gehört|(?:suggest|recommend|propose|announce|decree|advise)e?[sd]|suggested|recommended"
    r"|(?:hat|haben|hatte) (?:[^\s,.]+ ){0,6}?(?:gesagt|geschrieben|gemeint|behauptet|erzählt)|a (?:dit|écrit|affirmé|expliqué)|ha (?:dicho|escrito|explicado)|(?:decía|ponía)"
    r"|schrieb|schreibt|sagt|sagte|behauptet\w*|schwört|dit|écrit|affirm\w+|prétend\w*|répète\w*|dice|dijo|escribió|escribe|afirma\w*|asegura\w*"
)
_GUESS = re.compile(
    rf"\b(?:{HEDGES}|{SUPPOSES}|i doubt|doubtful|i wonder|i wish|i hope|it would be|would be (?:nice|great)|nobody knows"
    r"|ich bezweifle|ich hoffe|je doute|j'espère|dudo|espero que)\b",
    re.I,
)
# Conditions about other people; "if you …" and "when you …" tell the assistant how to work.
_CONDITION = re.compile(
    r"(?:^|(?<=[,;:–—] )|(?<=\bonly )|(?<= ))(?:if|unless|once|as soon as|until|provided(?: that)?|in case|assuming(?: that)?|falls|sofern|sobald"
    r"|solange|es sei denn|à condition que|dès que|pourvu que|en caso de que|siempre que|a menos que|en cuanto|à moins que"
    r"|(?<!\w )when(?:ever)?|wenn|quand|lorsque|cuando|si)"
    r" (?!you\b|du\b|sie dir\b|tu\b|vous\b|usted\b|i ask\b|i say\b)[^,;:–—.!?\n]+",
    re.I,
)
# A person is to be asked or told to do something; the sentence does not say that they do it.
_ERRAND = re.compile(
    r"\b(?:ask|asked|asking|tell|told|get|let|have|remind|convince|persuade|beg|wait for|waiting for|want|wants|need|expect"
    r"|frag(?:e|t)?|bitte(?!,)|sag(?:e|t)?|lass(?:e|t)?|erinnere?|überzeuge?|warte?(?:n)? auf|demandez?(?: à)?|dis à|dites à|laissez?"
    r"|rappelle à|convaincs|attends(?: que)?|pide(?:le)?(?: a)?|pídele a|dile a|deja(?: que)?|recuérdale a|convence a|espera a(?: que)?)"
    r" (?!you\b|me\b|us\b|dich\b|mich\b|uns\b|dir\b|mir\b)(?P<who>(?-i:[A-ZÀ-Þ])[\w-]+|[a-zà-ÿ][\w-]+(?= to\b))",
    re.I,
)
_REASON = re.compile(
    r",? (?:because|since|weil|denn|parce que|puisque|porque|ya que)\b.*", re.I | re.S
)
# Reported speech: "Tom says …", "my boss: …".
_REPORTER = re.compile(
    r"^(?!(?:i|we|as i|like i|ich|wir|je|nous|on|yo|nosotros)\b)(?:(?P<who>[^,.;:!?]{2,40}?)(?<!\byou)(?<!\bi)(?<!\bwe) (?:"
    rf"{REPORTS}|insists?|tells? (?:me|us)|told (?:me|us)|meint|meinte|a dit|a écrit)\b"
    r"|(?:my|our|his|her|their|the|mein\w*|unser\w*|der|die|mon|ma|notre|le|la|mi|nuestr[oa]|el) (?P<label>(?!.*\b(?:rule|thing|point|wish)\b)[^,.;:!?]{2,40}): )",
    re.I,
)


def asks(sentence: str) -> bool:
    """Whether it is a question; "could you always …?" is a request."""
    return sentence.endswith(("?", "？")) and not _POLITE.match(sentence)


def begins_as_question(sentence: str) -> bool:
    return ASKING.match(sentence) is not None and not _POLITE.match(sentence)


def without_politeness(sentence: str) -> str:
    """The sentence without "could you please always …"."""
    return _POLITE.sub("", sentence)


def inquires(text: str) -> bool:
    """Whether it asks for information, with or without a question mark."""
    plain = text.strip()
    if plain.endswith(("?", "？")) or "¿" in plain or begins_as_question(plain):
        return True
    return _UNMARKED.match(plain) is not None or _EMBEDDED.search(plain) is not None


def states(sentence: str) -> bool:
    """Whether it states something, unlike questions of any form and guesses."""
    plain = sentence.strip()
    if asks(plain) or plain.startswith("¿"):
        return False
    return not (_UNMARKED.match(plain) or _EMBEDDED.search(plain) or _GUESS.search(plain))


# "Since we deploy from main, how do I …?", "We use Bazel, so where does … go?"
_GIVEN = re.compile(
    r"^(?:(?:and|so|but|ok|okay|hi|hey)[, ]+)*(?:since|as|because|given(?: that)?|seeing (?:as|that|how)|considering(?: that)?|now that|da|weil|nachdem|comme|puisque|vu que|étant donné que|como|ya que|dado que|puesto que)"
    r" (?P<fact>[^?]{8,160}?), (?P<rest>[^?]{6,}\?)$",
    re.I,
)
_THEN_ASKS = re.compile(
    r"^(?P<fact>[^?]{12,200}?)(?:[,;–—]| -) ?(?:(?:so|and|then|also|und|dann|donc|alors|et|así que|entonces|y),? )?"
    r"(?P<rest>(?:how|what|what['’]s|which|where|when|who|why|can|could|would|will|should|shall|do|does|is|are|wie|was|welche\w*|wo|wann|warum|kannst|könntest|soll|comment|quel\w*|où|quand|pourquoi|peux|pourrais|est-ce|¿)"
    r"(?!\w)[^?]{10,}\?)$",
    re.I,
)


def given(sentence: str) -> tuple[str, str]:
    """The statement that a question starts from, and the question: "Since we deploy from main, how …?"."""
    found = _GIVEN.match(sentence) or _THEN_ASKS.match(sentence)
    if found is None or begins_as_question(found["fact"]) or conditional(found["fact"]):
        return "", sentence
    if not states(found["fact"]):
        return "", sentence
    fact = found["fact"].strip()
    return f"{fact[:1].upper()}{fact[1:]}.", found["rest"]


def without_conditions(sentence: str) -> str:
    """The sentence without its conditional clauses."""
    return _CONDITION.sub(" ", sentence)


def conditional(sentence: str) -> bool:
    return _CONDITION.search(sentence) is not None


def without_reasons(sentence: str) -> str:
    """The sentence without its reason, such as "because the plan says so"."""
    return _REASON.sub("", sentence)


def reporter(sentence: str) -> str:
    """The person whose words a sentence reports; empty when it reports none."""
    found = _REPORTER.match(without_reasons(sentence))
    return (found["who"] or found["label"]) if found else ""


def errand(sentence: str) -> str:
    """The person who is to be asked or told to do something; empty when there is none."""
    found = _ERRAND.search(sentence)
    return found["who"] if found else ""
