"""Recognises plain statements of lasting facts: "Our CI runs on Buildkite", "I'm allergic to nuts".

Nothing in such a sentence asks to be remembered. A clause states a lasting fact if

- it is a whole statement of 4 to 32 words, and no word ties it to this moment or this task;
- it is a rule for all work, or describes the person ("I live in …"), or names something of their work
  ("The customer is called …"), or corrects what was said ("No, …, not Jenkins");
- or else its subject is their work ("our", "we", "in this repo"), its verb describes a state or a habit,
  and it says something in particular: a name, a number, a habit, a strict "always" or "only".

The decisions come first, then the patterns, by what they find and by language. A pattern is
matched against a clause without its full stop; case is ignored, except within `(?-i:…)`. Lists of words
are written as words, with `_` for a space. Pure.
"""

from __future__ import annotations

import re

_FEWEST_WORDS, _SHORT, _MOST_WORDS = 4, 16, 32


def clauses(sentence: str) -> tuple[str, ...]:
    """The sentence, cut where a remark follows a task."""
    return tuple(part.strip() for part in _TO_A_REMARK.split(sentence) if part.strip())


def without_occasion(clause: str) -> str:
    """The clause without "when you write SQL for me", which would read as a question."""
    return _WHEN_YOU.sub("", clause)


def without_reminder(clause: str) -> str:
    """The clause without a request to keep it in mind."""
    kept = _KEEP_IN_MIND.sub("", clause).strip()
    return f"{kept}." if kept != clause.strip() and kept[-1:].isalnum() else kept


def is_about_work(clause: str) -> bool:
    """Whether it says how the person and their colleagues work."""
    return _ABOUT_WORK.match(clause) is not None


def is_passing(clause: str) -> bool:
    """Whether it holds only now or for this task."""
    return _PASSING.search(_FROM_NOW.sub(" ", _STILL_LASTING.sub("", clause))) is not None


def is_particular(clause: str, *, contrasts: bool = False) -> bool:
    """Whether it says something specific about the person's own work, or describes a habit."""
    if contrasts:
        return True
    if _OURS.search(clause):
        return any(sign.search(clause) for sign in (_PARTICULAR, _HABIT, _DEFINES, _STRICT))
    habitual = len(clause.split()) <= _SHORT and not _TELLS_OF_ONESELF.search(clause)
    return habitual and bool(_HABIT.search(clause) or _NORM.match(clause))


def lasting_piece(clause: str) -> str:
    """The piece of a clause that states a lasting fact or a rule for all work; "" if none does."""
    plain = _KEEP_IN_MIND.sub("", clause)
    to_keep = plain != clause
    if _SUBORDINATE.match(plain):
        return clause if _lasts(plain) else ""
    if _lasts(plain):
        return plain
    for piece in filter(None, map(str.strip, _NEXT_PIECE.split(plain))):
        if _SUBORDINATE.match(piece):
            continue
        if _lasts(piece) or (to_keep and _outlasts_the_moment(piece)):
            return piece
    return ""


def _outlasts_the_moment(piece: str) -> bool:
    """What the person asks to keep in mind need not be theirs, but must not be passing."""
    return len(piece.split()) >= _FEWEST_WORDS and not is_passing(piece.rstrip(".! "))


def _lasts(clause: str) -> bool:
    """Whether a clause states a lasting fact, by the conditions above."""
    ended = clause.rstrip(".! ")
    plain = _FOREWORD.sub("", _CORRECTION.sub("", ended))
    if not _FEWEST_WORDS <= len(plain.split()) <= _MOST_WORDS or plain.endswith((":", "?")):
        return False
    if is_passing(plain):
        return False
    if _RULE.match(plain) or _SELF_DESCRIPTION.match(plain):
        return True
    contrasts = _CONTRAST.search(plain) is not None
    if contrasts and _CORRECTION.match(ended):
        return True
    if (_IDENTITY.match(plain) or _CHANGED.match(plain)) and not _TELLS_OF_ONESELF.search(plain):
        return True
    return is_about_work(plain) and is_particular(ended, contrasts=contrasts)


def _words(text: str) -> str:
    """The alternatives of a list of words."""
    return "|".join(word.replace("_", " ") for word in text.split())


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# People (and pets) that a person calls "my".
_PEOPLE = _words(
    """
    wife husband partner son daughter kids? children mother father mum mom dad parents brothers?
    sisters? boss manager lead team_?mates? colleagues? boyfriend girlfriend landlord doctor
    dentist teacher coach dogs? cats? pet family flatmate roommate supervisor tutor client
    customer neighbou?r
    """
)

# Verbs that describe a state or a habit.
_STATES = _words(
    """
    is are isn['’]t aren['’]t has have uses? runs? lives? sits? stays? stores? keeps? supports?
    needs? requires? costs? opens? closes? starts? ends? happens? takes? gets? goes go comes?
    belongs? contains? follows? expects? handles? owns? pays? deploys? ships? hosts? listens?
    works? meets? reports? signs? approves? prefers? likes? hates? speaks? plays? teaches
    studies drives? eats? drinks? wears? trains? sells? builds? bills? writes? names? tags?
    releases? reviews? merges? backs?_up logs? sends? limits? allows? publishes publish may_not
    doesn['’]t don['’]t never always only
    """
)

# After "we": verbs of a moment, a wish or the past, and anything that ends in -ed.
_NO_HABIT = _words(
    r"""
    are were was had have got get did do (?:did|was|were|had|could|would|are|have|has)n['’]t
    need want should could would can can['’]t cannot may might will won['’]t shall see saw think
    hope know try just ate began blew bought broke brought built came caught chose cut drank
    drew drove fell felt flew forgot found gave grew heard held hit kept knew led left lost made
    meant met paid put ran read_through rode rang sang sat said sent set shot slept spent spoke
    stood swam taught thought threw told took went woke won wore wrote wonder wish also then
    actually really recently finally already even land depart arrive
    (?!stopped_\w+ing|dropped|switched|moved|migrated|replaced|renamed|adopted|need|feed|speed|embed|shed)\w+ed
    """
)

_SUBJECT = r"(?:[\w'’/.&+-]+ ){0,7}?"

# A person says who they are, what they like and how they want things.
_SELF_DESCRIPTION = _any(
    # "I'm allergic to nuts", "I live in Oslo", "I never work on Fridays", "I've given up sugar"
    r"^(?:i['’]m|i am) (?:also |still |strictly |severely )?(?:allergic|intolerant|vegan|vegetarian|pescatarian|diabetic|celiac|coeliac|gluten|lactose|left-handed|married|divorced|retired|pregnant|fluent|\d+ (?:years old|cm)|from (?-i:[A-Z])|(?:a|an) (?:vegan|vegetarian|[\w-]+ speaker|early bird|night owl))",
    r"^i (?:live|study|teach|grew up|was born) (?:in|at|near|with|on)\b",
    r"^i work (?:in|at|for|from|with|on|as|part|full|remotely|night|only|four|three|mondays)\b",
    r"^i (?:don['’]t|do not|never|only|mostly|always) (?:work|eat|drink|use|read|drive|fly|cite|take|wear|answer|write)\b",
    r"^i(?:['’]ve| have)? (?:recently |just )?moved to (?-i:[A-Z])",
    r"^i(?:['’]ve| have) (?:stopped|quit|given up|switched|changed)\b",
    r"^i (?:teach|study|coach|own|speak) (?!(?:it|this|that|these|those|the|to|with)\b)\w",
    r"^(?:i['’]m|i am) the only\b",
    # "I love jazz", "I use Emacs", "I'd rather get one answer", "I don't want emojis"
    r"^i (?:really |absolutely )?(?:like|love|enjoy|hate|dislike|can['’]t stand|cannot stand|despise) (?!(?:it|this|that|these|those|the|their|his|how|what|when|your|you|to (?:see|know|get|have|stay)|all|them|both|him|her|some|option|seeing|hearing|learning|\d|idea)\b)\w",
    r"^i use (?-i:[A-Z])[\w.+#-]*",
    r"^i use (?:[a-z]+ )?(?:tabs|spaces|vim|emacs|tmux|zsh|fish|uv|pnpm|nix|docker|podman)\b",
    r"^i(?:['’]d| would) (?:rather|prefer) (?:get|have|see|read|be|you|one|short|long)\b",
    r"^i (?:run|measure|write|count|track|log|keep|store|cook|bake|shop|train|cite|name|sort|plan|pay) my\b",
    r"^i(?:['’]d| would) rather (?!not\b)\w+ (?:fewer|less|more|no|\w+s)\b",
    r"^i (?:don['’]t|do not) want (?:any )?(?!(?:you|to|this|that|it|the|a|an|him|her|them|us|my)\b)\w+",
    # "My wife is a nurse", "My thesis is about kelp", "I have two kids"
    rf"^my (?:{_PEOPLE})(?:['’]s [\w ]{{3,30}}?)?,? (?:[\w ]{{2,30}}, )?(?:(?-i:[A-ZÀ-Þ])[\w'’-]+ )?(?:only |never |always )?(?:is|are|has|have|turns|like|love|hate|live|work|play|eat|speak|(?!was|does)\w{{2,}}(?<![su'’])s) (?!been\b|(?:really |very |so |quite )?keen\b|\w+ing\b)",
    r"^my (?:[\w'’-]+ ){1,4}(?:is|are|has) (?:called |named |spelled |written )?(?:(?-i:[A-ZÀ-Þ])[\w'’-]+|\d)",
    r"^my (?:(?!with\b|of\b|about\b|in\b|on\b)[\w-]+ ){0,3}(?:names?|birthday|address|phone|number|size|favou?rite|editor|shell|laptop|machine|desktop|car|bike|allerg\w+|diet|goal|hobby|hobbies|working hours|office|home ?town|school|university|thesis|time ?zone|email|handle|username|keyboard|blood type|insurance|bank|gym|shift|day off) (?:\w+ ){0,5}?(?:is|are|has|runs)\b(?! \w+ing\b)",
    r"^(?:i have|i['’]ve got|ich habe|j['’]ai|tengo) (?:\d+|an?|one|two|three|four|eine?n?|zwei|drei|vier|une?|deux|trois|quatre|una?|dos|tres|cuatro) (?:[\wà-ÿ-]+ )?(?:kids?|child(?:ren)?|sons?|daughters?|cats?|dogs?|brothers?|sisters?|kind(?:er)?|söhne?|t[oö]chter|katzen?|hunde?|enfants?|fils|filles?|chats?|chiens?|hij[oa]s?|gat[oa]s?|perr[oa]s?|herman[oa]s?)\b",
    # "Call me Jo", in four languages
    r"^(?:please |bitte )?(?:call me|nenn mich|appelle-moi|llámame) \w",
    # German: "Ich wohne in Köln", "Mein Chef heißt Ulf", "Ich will keine Emojis"
    r"^ich (?:wohne|lebe|studiere|unterrichte|trinke|esse|mag|hasse|nutze|benutze|verwende|heiße|arbeite|fahre|trage|spiele)\b",
    r"^ich bin (?:\w+ )?(?:allergisch|veganer|vegetarier|vegan|vegetarisch|linkshänder|verheiratet|geschieden|diabetiker\w*|schwanger|farbenblind|schwerhörig|zöliakie|\d+ jahre)",
    r"^ich (?:möchte|will|hätte gern),? (?:immer|nie|dass du)\b",
    r"^mein(?:e[nrms]?)? (?:[\wäöüß-]+ ){1,5}?(?:ist|sind|heißt|heißen|hat|arbeitet|wohnt|läuft|beträgt)\b",
    r"^ich (?:will|möchte|mag|brauche) (?:\w+ ){0,2}kein\w*\b",
    r"^ich (?!habe|sehe|finde|brauche|kann|bin)\w+e (?:\w+ )?kein\w*\b",
    # French: "Je suis gaucher", "J'habite à Lille", "Ma fille est allergique"
    r"^je suis (?:enceinte|allergique|végétarien\w*|végane?|gaucher\w*|marié\w*|diabétique|intolérante?|cœliaque|daltonien\w*|malentendant\w*|sourde?)",
    r"^j['’](?:habite|étudie|enseigne|aime|adore|utilise|ai \d+ ans)\b",
    r"^je (?:vis|déteste|n['’]aime pas|bois|mange|ne (?:bois|mange|travaille|veux)|travaille|parle|joue|m['’]appelle)\b",
    r"^m(?:on|a|es) (?:[\wà-ÿ'’-]+ ){1,5}?(?:est|sont|s['’]appelle|travaille|habite|a|ont)\b",
    r"^je ne veux (?:pas|plus) (?:de |d['’])",
    # Spanish: "Soy celíaca", "Vivo en Vigo", "Me gusta el té", "Mi hija se llama Ana"
    r"^soy (?:alérgic[oa]|vegetarian[oa]|vegan[oa]|zurd[oa]|diabétic[oa]|celíac[oa]|intolerante|embarazada|daltónic[oa]|sord[oa])",
    r"^(?:vivo|trabajo|estudio|enseño|uso|odio|hablo|bebo|como|juego|tengo \d+ años) ",
    r"^(?:no )?me (?:gustan?|encantan?|llamo)\b",
    r"^prefiero que\b",
    r"^quiero que siempre\b",
    r"^mis? (?:[\wà-ÿ-]+ ){1,6}?(?:es|son|se llama|trabaja|vive|tiene|está en)\b",
    r"^no quiero (?!que\b|eso\b|esto\b|el\b|la\b)\w+",
    r"^nada de \w+",
)

# A sentence about the person's work, their household or a person they work with.
_ABOUT_WORK = _any(
    # "Our CI runs on Buildkite", "We bill in cents", "For us, Monday is fine"
    rf"^our {_SUBJECT}(?:{_STATES})\b",
    rf"^we (?:only |always |never |usually |generally |don['’]t |do not |no longer )*(?!(?:{_NO_HABIT})\b)\w{{2,}}\b",
    r"^we(?: have (?:an?|two|three|four|\d+)| are (?:an?|based)|['’]re (?:an?|based))\b",
    r"^(?:for|with) us,? ",
    r"^our (?:[\w'’-]+ ){0,3}[\w'’-]+, [^,]{2,30}, (?!was\b)\w{2,}(?<![su])s\b",
    # "Every release has a tag", "Tests in this repo are slow", "Only admins may merge", "Ada owns billing"
    rf"^(?:the|all|every|each|any|no) {_SUBJECT}(?:{_STATES})\b",
    rf"^(?:[A-Z][\w-]*|[a-z]+) (?:[\w-]+ ){{0,3}}in (?:our|this) {_SUBJECT}(?:{_STATES})\b",
    r"^(?:nobody|no one|only) (?:\w+ ){0,3}(?:may|can|is allowed)\b",
    r"^(?-i:[A-Z][\wà-ÿ-]+(?: [A-Z][\wà-ÿ-]+)?) (?:is|owns|approves|signs off|reviews|runs|leads|manages|maintains|handles|speaks for) ",
    # German: a sentence with "wir", "uns", "unser"; "Die Anlage steht in Bern"
    r"^(?=.*\b(?:wir|uns|unser\w*)\b)(?!.*\b(?:haben?|hat|hatten?|war(?:en)?|wurden?|können|sollen|wollen|müssen) .*\w+(?:t|en)$)",
    r"^(?:der|die|das|alle|jede[rsn]?) (?:[\wäöüß/.-]+ ){0,7}?(?:ist|sind|heißt|heißen|läuft|laufen|steht|stehen|liegt|liegen|nutzt|nutzen|hat|haben|wird|werden|beginnt|endet|findet|kostet|gehört)\b",
    # French: a sentence with "nous", "notre"; "Le site tourne à Lyon"
    r"^(?=.*\b(?:nous|notre|nos|chez nous)\b)(?!.*\b(?:nous avons|on a|a été|ont été|était|étaient|nous (?:devons|pouvons|voulons))\b)",
    r"^(?:le|la|les|chaque|tous|on|c['’]est) (?:[\wà-ÿ'’/.-]+ ){0,7}?(?:est|sont|tourne\w*|s['’]appelle\w*|utilis\w+|a lieu|ont lieu|coûte|commence|finit|appartient|écoute|gard\w+|déploy\w+|travaill\w+|ne support\w+|valide|qui)\b",
    # Spanish: a sentence with "nuestro" or a verb in -mos; "La tienda se llama Sol"
    r"^(?=.*(?<!\w)(?:nuestr[oa]s?|(?!tramos|extremos|supremos|vamos|podemos|queremos|debemos|tenemos que|necesitamos|hemos)\w{2,}[aei]mos)(?!\w))(?!.*\b(?:fue|fueron|era|eran|estaba\w*)\b)",
    r"^(?:el|la|los|las|cada|todos|hemos cambiado) (?:[\wà-ÿ/.-]+ ){0,7}?(?:es|son|está\w*|corre\w*|se llama\w*|usa\w*|tiene\w*|empieza\w*|termina\w*|cuesta\w*|escucha\w*|se \w+|de|en|con|van?)\b",
)

# What belongs to work, in four languages.
_OF_WORK = _words(
    r"""
    customer client company product project repo(?:sitory)? server cluster database url host
    endpoint address branch port deadline limit owner contact supplier vendor provider tenant
    team department budget contract release version environment staging production account
    reviewer maintainer lead manager director boss kund\w+ firma produkt projekt server
    datenbank adresse frist ansprechpartner\w* lieferant\w* vertrag umgebung chef\w* leiter\w*
    zuständige\w* client\w* entreprise société produit projet serveur base adresse échéance
    responsable fournisseur équipe contrat cliente empresa producto proyecto servidor dirección
    plazo encargad\w+ proveedor\w* equipo contrato jef[ae]
    """
)

# "The customer is called Brunswick Tiles": what something is, by name, number or address.
_IDENTITY = _any(
    rf"^(?:the|der|die|das|le|la|les|el|los|las) (?=[^.,;]*\b(?:{_OF_WORK})\b)(?:[\wà-ÿ'’/.-]+ ){{1,5}}"
    rf"(?:(?:is|are|ist|sind|est|sont|es|son)(?: now| jetzt| désormais| ahora)? (?:called |named |spelled )?|has changed, it['’]s now |heißt |heißen |s['’]appelle |se llama )"
    rf"""(?:https?://|\d|[\"“'‘«]|(?-i:[A-ZÀ-Þ])[\wà-ÿ]+(?: (?-i:[A-ZÀ-Þ])|[.,]|$| (?:and|since|und|seit|et|depuis|y|desde)\b))"""
)

# "Our address has changed, it's now …".
_CHANGED = _any(
    r"^(?:the|our|my) (?:[\w'’-]+ ){1,4}(?:has |have )?(?:changed|moved)\b(?:, (?:it['’]s|they['’]re) now| to| from)\b"
)

# Words that make a fact about "the …" a fact about the person's own work.
_OURS = _any(
    r"^the (?:project|team|company|product|repo|office|customer|client)\b",
    r"^(?:hemos|usamos|trabajamos|desplegamos|guardamos|pagamos)\b",
    r"\b(?:we|we['’]re|our|ours|us|in this (?:repo(?:sitory)?|code ?base|project|company|team|house|monorepo|workspace)|wir|uns\w*|nous|notre|nos|chez nous|nuestr\w+|(?!tramos|extremos|supremos)\w{2,}[aei]mos)\b",
)

# Habits and repetitions.
_HABIT_WORDS = _words(
    r"""
    (?:every|each|per)_(?:other_|second_|third_|\d+_)?(?:second|minute|hour|day|night|morning|evening|week|weekend|month|quarter|year|sprint|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?
    weekly daily nightly monthly yearly annually (?:mon|tues|wednes|thurs|fri|satur|sun)days
    jede\w* wöchentlich täglich monatlich
    (?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s chaque tous_les toutes_les
    le_(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche) cada todos_los todas_las
    los_(?:lunes|martes|miércoles|jueves|viernes|sábados|domingos)
    """
)
_HABIT = _any(rf"\b(?:{_HABIT_WORDS})\b")

# A name, a number, a place, a contrast: what the sentence says in particular.
_PARTICULAR = re.compile(
    "|".join(
        (
            r"\d",
            r"\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|zwei|drei|vier|fünf|sechs|deux|trois|quatre|cinq|dos|tres|cuatro|cinco)\b",
            r"(?<=[a-zà-ÿ,] )(?-i:[A-ZÀ-Þ])[\w+#.-]+",
            r"[`\"“][^`\"”]+[`\"”]",
            r"\b\w+[./]\w+\b",
        )
    )
)

# "Our brand colour is teal", "amounts in our system are stored in cents".
_DEFINES = _any(
    r"^our (?:[\w'’-]+ ){1,4}(?:is|are) (?!(?:to|very|quite|pretty|too|so|really|not|more|less|getting|\w+ing|big|small|old|large|great|good|bad|done|ready|due)\b)\w",
    r"\b(?:is|are) (?:always |never |only )?(?:stored|kept|named|written|called|hosted|deployed|signed|reviewed|logged|billed|paid|sorted|tagged|encrypted|generated|built|tested|served)\b",
    r"\bmust (?:always|never|not)\b",
)

# Statements without exception.
_STRICT_WORDS = _words(
    r"""
    always never only solely exclusively nobody no_one immer nie niemals nur stets niemand
    toujours jamais uniquement seulement personne siempre nunca solo sólo solamente nadie
    in_this_(?:repo(?:sitory)?|code_?base|project|team|company)
    """
)
_STRICT = _any(rf"\b(?:{_STRICT_WORDS})\b")

# "All dates are to be …", "nobody but … may …": a norm, whoever it is about.
_NORM = _any(
    r"^(?:all|every|each|no) (?:[\w'’-]+ ){1,6}(?:is|are) (?:always |never )?to be\b",
    r"^(?:nobody|no one|niemand|personne|nadie) (?:but|except|außer|sauf|salvo) ",
)

# A rule for all work: "Use tabs in every file", "Ask me whenever you …", "When you write SQL, …".
_RULE = _any(
    r"^(?:please |bitte )?(?:use|write|name|put|prefix|format|run|keep|add|sign|tag|start|end|wrap|sort|answer|reply|ask|verwende|benutze|schreibe?|nutze|utilise|écris|mets|usa|escribe|pon)\b(?! (?:the|my|an?|and|me|us)\b).*\b(?:(?:for|in|on|before|after|with) (?:every|all|any)\b|in this (?:repo(?:sitory)?|code ?base|project)\b|everywhere\b|für jede\w*|in jede\w*|pour chaque|dans chaque|para cada|en cada|en todos)",
    r"^(?:please |bitte )?(?!i\b|we\b|it\b|the\b|you\b|they\b|he\b|she\b|my\b|our\b|what\b|why\b|how\b)\w+ .*\b(?:whenever|every time|each time|jedes mal,? wenn|chaque fois que|cada vez que) (?:you|i|we|du|ich|wir|tu|je|nous)\b",
    r"^(?:please )?(?:don['’]t|do not) (?:use|write|add|put|name|commit|push|touch|call|install) .*\bin (?:our|my|this (?:repo(?:sitory)?|project|code ?base|team))\b",
    r"^when(?:ever)? you (?:write|answer|reply|commit|name|show|give|explain|draft|generate|create|make|suggest|plan|book|cook|edit|change|review)\b[^,]{2,60}, (?:please )?(?!i\b|we\b|it\b|you\b|the\b|this\b)\w+",
)

# True only now or for this task, or a problem to fix.
_PASSING_WORDS = _words(
    r"""
    this that these those (?:in|on|at|from|of|to|with)_(?:it|them) it['’]s_(?:not|still) here
    there today tonight tomorrow yesterday now currently right_now at_the_moment yet still just
    again so_far anymore fail\w* broke\w* crash\w* errors? bugs? issues? problems? wrong missing
    stuck slow function method class variable loop callback returns? raises throws null none
    undefined fix while sounds lately recently so_it['’]?s? so_i_can['’]t budget
    like_to_(?:analy[sz]e|get|know|see|have) shall weird strange trouble struggl\w+ confus\w+
    flak\w+ hang\w* red seit_(?:\w+_)?(?:minuten?|stunden?|tagen?)
    depuis_(?:\w+_)?(?:minutes?|heures?|hier) desde_(?:ayer|hace) try(?:ing)? want(?:s|ed)?
    wanna need(?:s|ed)?_(?:to|some|help|an?) wish hope hoping plan(?:ning)?_to going_to gonna
    about_to look(?:ing)?_(?:for|forward|into|at) think\w* thought feel\w* wonder\w* consider\w*
    start(?:ing|ed) should would could might may will(?!_(?:immer|nie|nur|kein\w*|dass)\b)
    won['’]t can_you could_you let['’]s todo instead_of_the supposed seems? looks?_like appears?
    sorry heute morgen gestern jetzt gerade noch kaputt fehler\w* problem\w* möglicherweise
    sollte\w* könnte\w* aujourd['’]hui demain hier maintenant encore cassé\w* erreurs?
    problèmes? devrait pourrait hoy mañana ayer ahora todavía roto errores problemas? debería
    podría
    """
)
_PASSING = _any(rf"\b(?:{_PASSING_WORDS})\b")

# These look passing but are not.
_STILL_LASTING = _any(
    r"\b(?:in|of|for) this (?:repo(?:sitory)?|code ?base|project|company|team|house|monorepo|workspace)\b",
    r"^(?:nobody|no one|only) (?:\w+ ){0,3}(?:may|can)\b",
    r"\b(?:no longer|not any ?more|any ?more since)\b",
    r", (?:so|donc|also|así que) (?!it|that|i can['’]t).*$",
    r",? please don['’]t\b.*$",
)

# "It's now …", "we only buy there now", "from today on": a change that stays.
_FROM_NOW = _any(
    r"\b(?:it['’]s|is|are|ist|sind|est|sont|es|son) (?:now|jetzt|maintenant|désormais|ahora)\b",
    r"\bonly\b(?=.{1,40}\bnow\b)",
    r"(?<=\w) (?:now|maintenant|ahora)$",
    r"\b(?:from|since|as of|starting) (?:today|now)(?: on)?\b",
    r"\bnur noch\b",
    r"\bne \w+ plus que\b",
    r"\bab (?:heute|jetzt)\b",
    r"\bdès aujourd['’]hui\b",
    r"\bdésormais\b",
    r"\b(?:a partir|desde) (?:de )?(?:hoy|ahora)\b",
)

# The person reports what they did.
_TELLS_OF_ONESELF = _any(r"\b(?:i|i['’]ve|i['’]m|me|my|ich|je|yo)\b")

# Between a task and a clause beside it: "Fix the test, and by the way we use pytest".
_TO_A_REMARK = _any(
    r"(?:,(?= (?:i['’]ve stopped|i (?:don['’]t|never|only|always)|we (?:use|don['’]t|never|only|always))\b)|[,.]? (?:and |but |und |et |y )?(?:by the way|btw|fyi|note that|keep in mind that|remember that|übrigens|au fait|por cierto)[,:]?) +"
)

# "No, that's wrong: …", "You got that mixed up, …".
_CORRECTION = _any(
    r"^(?:(?:no|nope|nein|non|actually|eigentlich|en fait|en realidad|wrong|falsch|correction)[,:.–—-]+ *|(?:no, )?(?:that['’]?s|that is|this is|das ist|c['’]est|eso es|eso está) (?:wrong|not right|incorrect|not true|falsch|nicht richtig|faux|mal|incorrecto)[,:;–—-]+ *|you(?:['’]ve)? (?:got|have|mixed) [^,:;]{2,30}[,:;–—-]+ *|actually )"
)

# "…, not Jenkins".
_CONTRAST = _any(
    r"[,;] (?:and |und |et |y )?(?:not|never|nicht|kein\w*|nie|pas|jamais|no|nunca)\b[^,;]{2,60}$"
)

# "For my thesis, I …", "therefore".
_FOREWORD = _any(
    r"^(?:for|in|at|on|für|in|bei|pour|dans|para|en) (?:my|our|all|this|mein\w*|unser\w*|mon|ma|notre|mi|nuestr\w+) [\w -]{2,30}?,? (?=i\b|we\b|ich\b|wir\b|je\b|nous\b|on\b)",
    r"^(?:therefore|hence|that['’]s why|deshalb|daher|donc|por eso),? ",
)

_WHEN_YOU = _any(r"^when(?:ever)? you [^,]{4,60}, ")

# Where a sentence continues with something else: a reason, a consequence, a remark.
_NEXT_PIECE = _any(
    r"[,;–—] +",
    r",? (?:and|und|et|y) (?=(?:that|it|they|she|he|i|you|sie|er|es|elle|il|ella|él)\b)",
    r",? (?=(?:since|because|so that|as i|as we|weil|da ich|denn|car|parce que|porque)\b)",
)

# How a subordinate clause begins.
_SUBORDINATE = _any(
    r"^(?:if|unless|once|when|until|while|although|though|since|because|as|so that|during|above|regarding|speaking of|who|which|where|wenn|falls|weil|während|denn|da|car|parce que|porque|como|sobald|obwohl|si|quand|bien que|cuando|aunque)\b"
)

# Asks to keep what comes before or after it.
_KEEP_IN_MIND = _any(
    r"^(?:please |bitte |por favor,? )?(?:note|keep in mind|bear in mind|be aware|beachte|denk daran|bedenke|note|sache|garde en tête|ten en cuenta|ten presente|ojo)(?: bitte)?,?:? (?:that|dass|que|qu['’]) ?",
    r"[,;] (?:and |please |so |also )*(?:(?:keep|bear) (?:that|this|it) in mind|note (?:that|this) down|don['’]t forget (?:that|it|this)|merk dir das|vergiss das nicht|ne l['’]oublie pas|garde-le en tête|no lo olvides|tenlo en cuenta|recuérdalo)\b.*$",
)
