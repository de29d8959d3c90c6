"""Recognises sentences that state nothing (questions, conditions, requests, guesses), with the word lists of extraction. Pure."""

from __future__ import annotations

import re
from functools import cache

from reverie.text.word_classes import negations


def _bag(words: str) -> frozenset[str]:
    return frozenset(words.split())


@cache
def denying() -> frozenset[str]:
    """Words that negate a statement."""
    return negations() | {"against", "instead", "ne"}


ALWAYS = _bag(
    """always every everything everywhere whenever each all any must never forever
    immer jede jeder jedes alle stets nie niemals toujours chaque jamais tout tous desormais
    siempre cada nunca todo todos"""
)
SMALL = _bag(
    """a an the is are was were be been being am to of in on at for by with as and or that this these
    those it its they their them he she his her i my me we our us you your will would should shall can
    could do does did has have had if then than so but from into about when which who what how why
    user users person people agent assistant wants want prefers likes asked said says apply applies
    please also very just really s t ll re ve d m
    der die das den dem ein eine einen und oder ist sind zu im am auf mit fur von dass wir ich du bitte
    le la les un une des de et ou est sont que qu je tu nous vous il elle
    el los las una y o es son con para por lo se mi"""
)
# Words in which two texts about one thing may differ; negation is compared separately.
IDLE = _bag(
    """the a an is are was in on at to of for by and from now please we i it our my has have been be will
    that this instead always never not don't do"""
)
# Acknowledgements at the start of a message.
ACKNOWLEDGES = _bag(
    """thanks thank you thx ok okay great perfect good nice cool merged done works work that this was is quick fine looks look very
    much so a lot hi hello hey yes no right got it i see lovely wonderful fast awesome agreed exactly well point catch idea question sure go ahead haha
    danke super passt gut hallo prima genau das ist sehr ja nein merci parfait bonjour salut très bien oui non
    gracias perfecto hola vale genial bien muy sí"""
)
FRAME_NAMES = _bag("i user the why how this when always never person")
# Common words that begin claims and are not names.
OPENINGS = _bag(
    """add added adds adding agree agreed allow answer answers apply archive assume avoid avoids begin backup backups ban bring bug bugs build
    builds call cases change changes check checks choose clean close code comment comments commit commits company config configuration
    confirm convert copy create customer customers dashboard dashboards data database deadline decided decision decisions default delete deploy
    deploys deployment deployments design details developer developers diff diffs discuss docs document documentation documents
    drop email emails enable endpoint endpoints ensure environment error errors every everyone exclude expects explain explanation
    explanations export favourite favorite feature features feedback file files find fix flag follow format freeze function functions give
    go goes handle hates host hosts ignore implement import imports include insists install instead integration issue issues items
    job jobs keep keeps knows language launch lead leave let library likes limit link list lives log logging logs long look main
    maintain make makes manager many meeting meetings memory merge merges message messages metrics migration migrations mock mocks
    module modules monitoring move must name names needs new nobody note notes office old only open order other output owner
    package packages page pages password people per pin plan plans platform policy port ports practice prefer preference
    preferences preferred prefers prepare present price prices problem process production project projects propose provide pull push
    put python query questions quote raise read ready record refer reference refuse release releases rely remember remove rename
    replace replies reply report reports repository request requests require required requires respond responses rest return
    review reviewers reviews role rule rules run runs save schedule schema script scripts secrets section security see
    send server servers service services session sessions set setup several share ship short should show signed since
    skip someone source speak speaks split staging standard start started starts state stay stick stop storage store style submit
    summary support switch system table target task tasks team tell test testing tests text think three tickets time timezone title
    tool tools track translate treat trust try turn two type types unit update updates upgrade use used uses using value values
    verify version versions wait wants warn watch week weekly work working works worked write writes writing written
    answers backend frontend branch branches cache client clients container containers contract dark data date dates day days
    diagram emoji english examples first formal french friday german greeting internal invoice invoices keys lint linter lines local
    measure minutes money monday monthly mornings naming nightly numbers pager paths phase pictures points pronouns
    quarterly recipes results retries sentences shell spaces spanish sprint squash strict tabs thursday tuesday typing
    verbose vpn wednesday saturday sunday wiki now future forward jetzt sofort künftig kunftig zukunft maintenant désormais desormais
    ahora adelante partir
    ab ablage alle allein anfragen antworte antworten arbeitet aufgaben befehle benutze benutzer besprechung bitte bug commits daten
    datenbank deploys dokumentation entscheidung fehler frage fragen freitag gespeichert kommentare kunde kunden kurze lange lege
    lösche losche mache montag nachts name nutze person projekt schreibe server sprache tests termin verwende vorzug werkzeuge
    ajoute assistant base clients code commits decision demande donnees ecris equipe evite fais fichiers lance mets
    preference prefere projet reponds reponses serveur tests travaille utilise utilisateur
    ajusta anade base cliente codigo datos decision ejecuta equipo escribe evita haz preferencia prefiere pregunta proyecto
    respuestas responde servidor trabaja usa usuario"""
)
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)


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
    r"(?:thinks|believes|assumes|reckons|figures|suspects|imagines)\b|glaubt|vermutet|croit|pense(?= que)|cree que|says?|said|saying|(?:wrote|writes)(?! (?:it|them|to|into|in|the|an?|its|our|their|down|one|two|\d+)\b)|claims?|claimed|keeps? (?:repeating|telling)|kept (?:repeating|telling|saying)|argues?|argued|(?:insists?|insisted|swears|swore|warns|warned|thinks|believes) that|swears by|preaches|(?:swears|insisted|forwarded|printed|popped up|pops up|goes (?=i\b|we\b|always\b|never\b)|ended with|ends with|shows that line)(?! (?:that )?(?:i|we) (?:can|should)\b)|commence ainsi|entendu|me puso|en la pared pone|vom \w+ gehört|(?:suggest|recommend|propose|announce|decree|advise)e?[sd]|suggested|recommended"
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
# An errand: someone should be asked or told to do something, which does not mean that they do it.
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
    """The person to be asked or told to do something; empty if there is none."""
    found = _ERRAND.search(sentence)
    return found["who"] if found else ""
