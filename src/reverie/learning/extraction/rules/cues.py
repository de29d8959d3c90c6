"""Phrases by which people ask to remember something, each with the type of memory it indicates.

English is covered broadly; German, French and Spanish only where the wording is unambiguous. A cue
is matched against one sentence with its quotations masked and its opening ("oh, by the way")
removed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from reverie.memory.format.taxonomy import MemoryType

# The manner of a cue decides which doubts apply to it.
Manner: TypeAlias = Literal[
    "dictated", "asked", "standing", "rule", "decision", "told", "self", "fact", "plain"
]


@dataclass(frozen=True, slots=True)
class Cue:
    """A pattern; with `type` None the words that follow decide the type."""

    manner: Manner
    pattern: re.Pattern[str]
    type: MemoryType | None = None


def _cue(manner: Manner, pattern: str, type_: MemoryType | None = None) -> Cue:
    return Cue(manner, re.compile(pattern, re.I), type_)


_PLEASE = r"(?:please,? |can you |could you |would you |will you |pls |i want you to |i['’]d like you to |i would like you to |you should |just )*"
_DAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{4}-\d\d-\d\d|\d{1,2}(?:st|nd|rd|th)?(?: of)? [A-Z]\w{2,}"
    r"|(?:january|february|march|april|may|june|july|august|september|october|november|december)"
    r"|q[1-4]\b|(?:next|this coming) (?:week|month|quarter|year|spring|summer|autumn|fall|winter)"
    r"|the (?:end|first|second|third|last)\b.{0,20}\bof\b"
)
_EVENT = (
    r"deadline|launch|release|(?:code |feature )?freeze|demo|audit|go-?live|cutover|tender|beta|migration"
    r"|offsite|hand-?over|presentation|review meeting|(?:\w+ )?report|submission|election|conference|pilot"
)
_TRADE = (
    r"engineer|developer|programmer|scientist|designer|manager|lead|student|founder|co-founder|cto|ceo|nurse"
    r"|teacher|lawyer|analyst|admin(?:istrator)?|architect|researcher|consultant|freelancer|beginner"
    r"|maintainer|writer|accountant|doctor|physician|professor|intern|physicist|chemist|biologist|economist"
    r"|mathematician|statistician|journalist|editor|translator|musician|electrician|mechanic|pharmacist"
    r"|owner|contractor|sysadmin|dba|tester|librarian|therapist|psychologist|pilot|chef|farmer|journalist"
)
_PLACE = (
    r"https?://|#[a-z][\w-]+|\b(?:linear|jira|notion|confluence|grafana|slack|figma|datadog|sentry|pagerduty"
    r"|asana|trello|sharepoint|google drive|airtable|kibana|looker|wiki|zendesk|miro|basecamp|intranet)\b"
)
_THINGS = (
    r"(?:bugs?|tickets?|issues?|incidents?|runbooks?|dashboards?|designs?|metrics|numbers|minutes|specs?"
    r"|alerts?|complaints?|postmortems?|reviews?|roadmap|rota|logs|mock-?ups|docs|documentation|crash reports?"
    r"|decisions|requests?|feedback|figures|contracts?|recordings|tasks)"
)

ENGLISH: tuple[Cue, ...] = (
    _cue(
        "asked",
        rf"^{_PLEASE}(?:remember|memori[sz]e)(?: (?:that|this|the following|also|please|for (?:later|next time"
        r"|the future|future sessions)))*\s*[,:–—-]?\s+(?!(?:when|how|what|where|why|who|which|if|whether|to|me|us"
        r"|the time|that time|last time|back)\b)(?P<said>\S.*)",
    ),
    _cue("asked", rf"^{_PLEASE}(?:don't|do not|never) forget that (?P<said>.+)"),
    _cue(
        "asked",
        rf"^{_PLEASE}(?:make|take) a (?:mental )?note(?: for [^:]{{3,40}})?(?: that|:|,) (?P<said>.+)",
    ),
    _cue(
        "asked",
        rf"^{_PLEASE}(?:save|add|put|write|store|keep) (?:this|that|it|the following) (?:to|in|into) "
        r"(?:your |the )?(?:long-term )?memory\s*[:,–—-]\s*(?P<said>.+)",
    ),
    _cue(
        "asked",
        r"^(?!(?:please )?remember\b)(?P<said>.{12,}?)[,;] (?:please |and )*remember (?:that|this)(?: (?:for|in) .{3,40})?[.!]*$",
    ),
    _cue("asked", r"^for (?:your )?future reference[,:]? (?P<said>.+)"),
    _cue(
        "asked",
        rf"^{_PLEASE}keep in mind for (?:the future|later|next time|future \w+),? (?:that )?(?P<said>.+)",
    ),
    _cue(
        "asked",
        rf"^{_PLEASE}remember to (?=.*\b(?:always|every time|whenever|before (?:each|every)|after (?:each|every))\b)"
        r"(?P<said>.+)",
        "feedback",
    ),
    _cue(
        "standing",
        r"^(?:from now on|from here on(?: out)?|going forward|henceforth)\b,? .+",
        "feedback",
    ),
    _cue(
        "standing",
        rf"^in (?:the )?future,? {_PLEASE}(?!i\b|we\b|the\b|this\b|it\b|there\b|you)\w+.+",
        "feedback",
    ),
    _cue(
        "standing", rf"^{_PLEASE}(?!i\b|we\b|the\b|this\b|it\b)[a-z]+ .+\bfrom now on\b", "feedback"
    ),
    _cue(
        "standing",
        rf"^next time,? (?:you \w+.+, |{_PLEASE}(?!i\b|we\b|the\b|this\b|it\b|you\b|there\b))\w+.+",
        "feedback",
    ),
    _cue("standing", r"^(?:whenever|every time|each time) you \w+.+?, .+", "feedback"),
    _cue("standing", r"^as of (?:today|now),? (?:every|each|all|no|please)\b.+", "feedback"),
    _cue("rule", rf"^{_PLEASE}(?:always|never)(?: ever)? (?P<verb>[a-z][a-z-]*)\b.+", "feedback"),
    _cue(
        "rule",
        r"^you (?:should|must|may|can|are to|need to|have to) (?:always|never) \w+.+",
        "feedback",
    ),
    _cue(
        "rule",
        r"^i (?:always|never) want (?:you )?(?!ed\b|to (?!see\b|be asked\b|have\b|know\b|review\b))\w+.+",
        "feedback",
    ),
    _cue("rule", rf"^{_PLEASE}(?:don't|do not) ever \w+.+", "feedback"),
    _cue(
        "rule",
        rf"^{_PLEASE}(?:don't|do not|never) .+\b(?:ever again|again|anymore|any more(?=[.,;!]|$))",
        "feedback",
    ),
    _cue(
        "rule",
        rf"^{_PLEASE}stop (?:add|us|writ|ask|apologi[sz]|summari[sz]|explain|includ|mak|putt|creat|mock|committ"
        r"|renam|comment|repeat|wrapp|guess|assum|generat|suggest|offer|prais|say|end|start|reformatt|delet"
        r"|overwrit|install|inventing|invent|sprinkl|hedg)ing \w+.*",
        "feedback",
    ),
    _cue("rule", r"^if you .+?, .+, always[.!]?$", "feedback"),
    _cue(
        "rule", r"^(?!if\b|when\b).{5,80}?, so (?:please )?(?:always|never) [a-z]+\b.+", "feedback"
    ),
    _cue(
        "told",
        r"^i(?:'ve| have)? (?:already )?told you (?:already|before|twice|many times)?:? ?(?:not to|to always|to never|no) \w+.+",
        "feedback",
    ),
    _cue(
        "told",
        r"^i(?:'ve| have)? (?:already )?told you (?:already|before)(?::| not to) .+",
        "feedback",
    ),
    _cue(
        "told",
        r"^(?:that's|that is|this is) not how (?:we|i) (?:do|work)\b.*?[,:;–—-] .+",
        "feedback",
    ),
    _cue(
        "told",
        r"^we (?:don't|do not|never) use .+ (?:here|in this (?:company|team|project|repo(?:sitory)?|codebase|house)),? (?:we|only) .+",
        "feedback",
    ),
    _cue("told", r"^i (?:don't|do not) want you to \w+.+", "feedback"),
    _cue(
        "told",
        r"^i (?:don't|do not) want (?!(?:you|to|this|that|it|the|any of)\b)\w+ .*\bin (?:your|any|my|our) .+",
        "feedback",
    ),
    _cue(
        "told",
        r"^i (?:really )?(?:hate|dislike|don't like|do not like|love|like) it when you \w+.+",
        "feedback",
    ),
    _cue(
        "decision",
        r"^(?:yesterday |today |last \w+ |this morning |after .{3,40}, )?(?:we|the (?:team|board|client|customer|company|management|committee))(?:'ve| have| has)? (?:now |finally |all |just |jointly )?(?:(?:decided|agreed)\b.{0,25}?\b(?:to|on|upon|that|against|for|with)\b|settled on|chosen|chose|resolved to)\b.+",
        "project",
    ),
    _cue("decision", r"^the decision (?:is|was)(?: made)? to \w+.+", "project"),
    _cue(
        "self",
        rf"^i(?:'m| am) (?:an?|the|one of the|our|also an?) (?:[\w/+#.-]+ ){{0,4}}(?:{_TRADE})s?\b",
        "user",
    ),
    _cue(
        "self",
        r"^i(?:'m| am) (?:(?:completely |quite |very |fairly |still |pretty )?new to|responsible for|in charge of|based in|colou?r-?blind|dyslexic|left-handed|deaf|blind|fluent in|a native)\b",
        "user",
    ),
    _cue(
        "self",
        r"^i work (?:as an? (?:[\w-]+ )*\w+|(?:at|for) an? \w+|(?:at|for) (?-i:[A-Z])\w+|(?:in|on) the \w+(?: \w+)? (?:team|department|group|office))\b",
        "user",
    ),
    _cue(
        "self",
        r"^my (?:role|job title|title|pronouns|time ?zone|native language|first language|mother tongue|background(?= (?:is|was) in\b)|day job|profession) (?:is|are) (?!not\b|missing\b|wrong\b|broken\b|failing\b)\w+",
        "user",
    ),
    _cue("self", r"^my name(?:'s| is) (?-i:[A-Z])\w+", "user"),
    _cue(
        "self",
        r"^i(?:'ve| have) been (?:writ|programm|cod|us|work|teach|develop|design|build|runn|maintain|play|study|learn|practic|practis|manag|do|administer)ing .{2,60}\bfor (?:\w+ ){1,3}(?:years|decades)\b",
        "user",
    ),
    _cue("self", r"^i(?:'ve| have) (?:\w+ ){1,2}years of\b", "user"),
    _cue(
        "self",
        r"^i(?:'ve| have) never (?:used|written|worked with|touched) (?!(?:any|one|it|this|that)\b)\w.+ before\b",
        "user",
    ),
    _cue(
        "self",
        r"^i (?:much |really |strongly |generally |usually |always |personally |definitely )?prefer (?!(?:option|the|this|that|it|your|his|her|their|these|those|to(?!.*\b(?:rather than|over|instead)\b)|not|if|when|number|\d|[a-d]\b|version|approach|plan)\b)\w+.+",
    ),
    _cue(
        "self",
        r"^i (?:don't|do not) like (?!(?:this|that|it|the|how|where|what|your|either|these|those|any of)\b)\w+ .+",
        "feedback",
    ),
    _cue("self", r"^i like my \w+ .+", "user"),
    _cue(
        "fact",
        rf"^(?:the|our) (?:\w+ ){{0,2}}(?:{_EVENT})(?: for [\w ]{{2,40}})? (?:is|starts|begins|ends|was moved|has been moved|has moved|got moved|is set|is planned|is scheduled|moves|will be)(?: (?:on|to|for|by|in|from|at))? .{{0,20}}(?:{_DAY})",
        "project",
    ),
    _cue(
        "fact",
        rf"^(?:code|feature) freeze (?:is|starts|begins|ends)(?: (?:on|from|by))? .{{0,12}}(?:{_DAY})",
        "project",
    ),
    _cue(
        "fact",
        rf"^we (?:ship|launch|release|go live|demo|migrate|present|move|freeze)\b.{{0,40}}\b(?:on|by|in|at|until) .{{0,12}}(?:{_DAY})",
        "project",
    ),
    _cue(
        "fact", rf"^(?:the|our) (?:[\w-]+ ){{1,4}}(?:is|are) due (?:on |by )?(?:{_DAY})", "project"
    ),
    _cue(
        "fact",
        rf"^(?:our |the |all )?(?:[\w-]+ ){{0,2}}{_THINGS}(?: (?:for|of|on|about) (?:[\w-]+ ){{0,3}}?[\w-]+)? (?:are|is|live|lives|go|goes|land|lands|end up)(?: (?:tracked|kept|stored|documented|collected|filed|discussed))? (?:in|at|on|under|to) .*(?:{_PLACE})",
        "reference",
    ),
    _cue(
        "fact",
        rf"^(?-i:[A-Z][a-zà-ÿ]+) (?:leaves|left|joins|joined|is leaving|is joining) (?:the|our) (?:company|team|project)\b.+(?:{_DAY})",
        "project",
    ),
    _cue(
        "fact",
        rf"^(?-i:[A-Z][a-zà-ÿ]+) is (?:on (?:\w+ )?(?:leave|vacation|holiday)|out|away|unavailable) (?:until|till|from) .{{0,12}}(?:{_DAY})",
        "project",
    ),
    _cue(
        "fact",
        r"^(?-i:[A-Z][a-zà-ÿ]+) (?:owns|is in charge of|is responsible for) .+, ask (?:her|him|them)\b.+",
        "project",
    ),
    _cue("fact", r"^the reason (?:that )?we(?:'re| are)? \w+ .+ is .+", "project"),
)

GERMAN: tuple[Cue, ...] = (
    _cue(
        "asked",
        r"^(?:bitte )?merke? dir(?: bitte)?[,:]? (?:dass )?(?!das (?:bitte )?nicht|nicht)(?P<said>.+)",
    ),
    _cue("asked", r"^bitte (?:merken|dran denken)[:,] (?:dass )?(?P<said>.+)"),
    _cue(
        "asked",
        r"^(?:bitte )?(?:vergiss nicht|denk(?: bitte| künftig| in zukunft)* daran)(?:, dass|:) (?P<said>.+)",
    ),
    _cue(
        "standing",
        r"^(?:bitte )?(?:ab jetzt|ab sofort|von nun an|von jetzt an|künftig|in zukunft)\b,? .+",
        "feedback",
    ),
    _cue(
        "standing",
        r"^(?:bitte )?(?:verwende|benutze?|nutze?|schreibe?|nimm|mache?|frage?) .*\b(?:ab jetzt|ab sofort|von nun an|künftig|in zukunft)\b",
        "feedback",
    ),
    _cue(
        "rule",
        r"^(?:bitte )?(?:verwende|benutze?|nutze?|schreibe?|nimm|mache?|frage?|lösche?|committe?|pushe?|antworte?|lege?|ändere?)(?: mich| mir)?(?: bitte)? (?:immer|nie|niemals|nie wieder)\b.+",
        "feedback",
    ),
    _cue("rule", r"^(?:bitte )?(?:nie wieder|niemals) .+en[.!]?$", "feedback"),
    _cue("rule", r"^bitte \w+(?: \w+){0,8}? (?:immer|stets|nie|niemals)\b.*", "feedback"),
    _cue(
        "decision",
        r"^(?:gestern |heute )?(?:haben wir|wir haben)(?: uns)? (?!noch|nicht)(?:.+ )?(?:beschlossen|entschieden|geeinigt|vereinbart)\b.*",
        "project",
    ),
    _cue(
        "self",
        r"^ich bin (?:(?:der|die|ein|eine) )?(?:[\wäöü-]+ )?(?-i:[A-ZÄÖÜ])[\wäöüß-]+(?:in|er|ent|eur|loge|ärztin|arzt|wirt|mann|frau|leiter|berater|ist|ör)\b",
        "user",
    ),
    _cue("self", r"^ich arbeite (?:als|bei) .+", "user"),
    _cue("self", r"^ich bevorzuge .+", "user"),
)

FRENCH: tuple[Cue, ...] = (
    _cue(
        "asked",
        r"^(?:s'il te plaît,? )?(?:souviens-toi|rappelle-toi|retiens)(?: bien)?,? (?:que |qu')(?P<said>.+)",
    ),
    _cue("asked", r"^n'oublie(?:z)? pas (?:que |qu')(?P<said>.+)"),
    _cue(
        "standing",
        r"^(?:à partir de maintenant|à partir d'aujourd'hui|désormais|dorénavant|à l'avenir)\b,? .+",
        "feedback",
    ),
    _cue(
        "rule",
        r"^(?:s'il te plaît,? )?n(?:e |')(?:utilise|fais|écris|touche|supprime|modifie|pousse|mets|change|ajoute|lance)\w* (?:plus )?jamais\b.+",
        "feedback",
    ),
    _cue(
        "rule",
        r"^(?:s'il te plaît,? )?(?:utilise|fais|écris|demande|mets|ajoute|lance|réponds)(?:-moi)? toujours\b.+",
        "feedback",
    ),
    _cue("decision", r"^(?:hier,? )?(?:nous avons|on a) (?:décidé|convenu|choisi)\b.+", "project"),
    _cue(
        "self",
        r"^je suis (?:un |une )?(?:développeu\w+|ingénieur\w*|designer|comptable|médecin|infirmi\w+|professeur\w*|chercheu\w+|étudiant\w*|chef\w* de projet|data scientist|avocat\w*|architecte|consultant\w*|enseignant\w*|graphiste)\b",
        "user",
    ),
    _cue("self", r"^je travaille (?:comme|chez|en tant que) .+", "user"),
    _cue(
        "self",
        r"^je préfère (?!(?:l'option|la (?:première|deuxième|seconde)|le (?:premier|deuxième|second)|cette|ce|celle|celui|ça)\b).+",
    ),
)

SPANISH: tuple[Cue, ...] = (
    _cue("asked", r"^(?:por favor,? )?(?:recuerda|acuérdate de) que (?P<said>.+)"),
    _cue("asked", r"^(?:por favor,? )?no (?:olvides|te olvides de) que (?P<said>.+)"),
    _cue(
        "standing",
        r"^(?:a partir de ahora|de ahora en adelante|en adelante|a partir de hoy)\b,? .+",
        "feedback",
    ),
    _cue("rule", r"^(?:por favor,? )?no vuelvas a .+", "feedback"),
    _cue(
        "rule",
        r"^(?:por favor,? )?nunca (?:más )?(?:uses|hagas|escribas|borres|toques|cambies|subas|pongas|modifiques|añadas|instales|ejecutes)\b.+",
        "feedback",
    ),
    _cue(
        "rule",
        r"^(?:por favor,? )?(?:usa|haz|escribe|pregunta|pregúntame|pon|añade|ejecuta|responde) siempre\b.+",
        "feedback",
    ),
    _cue(
        "decision",
        r"^(?:ayer )?(?:hemos decidido|decidimos|hemos acordado|acordamos|el equipo (?:ha decidido|decidió))\b.+",
        "project",
    ),
    _cue(
        "self",
        r"^soy (?:una? )?(?:ingenier\w+|desarrollador\w*|diseñador\w*|médic\w+|enfermer\w+|profesor\w*|contador\w*|contable|abogad\w+|estudiante|investigador\w*|arquitect\w+|científic\w+|programador\w*|analista|consultor\w*)\b",
        "user",
    ),
    _cue("self", r"^trabajo (?:como|de) .+", "user"),
    _cue(
        "self",
        r"^prefiero (?!(?:la (?:primera|segunda|opción)|el (?:primero|segundo)|esta|este|esa|ese|eso|esto|que)\b).+",
    ),
)

# "Please remember: US spelling for the landing pages": what stands after the colon, whatever its form.
DICTATED = _cue(
    "dictated",
    rf"^(?:bitte |s'il (?:te|vous) plaît,? |por favor,? )?{_PLEASE}"
    r"(?:remember|memori[sz]e|keep in mind|save|note(?= (?:this|that|down|the following))|merke? dir|notiere?(?: dir)?"
    r"|souviens-toi|retiens|mémorise|recuerda|apunta|anota)"
    r"(?: (?:this|that|these|down|the following|also|please|bitte|das|folgendes|bien|ceci|cela|esto|lo siguiente))*"
    r"\s*:\s+(?P<said>\S.*)",
)

CUES: tuple[Cue, ...] = (DICTATED, *ENGLISH, *GERMAN, *FRENCH, *SPANISH)
