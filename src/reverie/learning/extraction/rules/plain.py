"""Recognises plain statements of lasting facts: "Our CI runs on Buildkite", "I'm allergic to nuts".

Nothing in such a sentence asks to be remembered. It counts when its subject is the person or their work
("my", "our", "we", "in this repo"), its verb is a present tense that describes a state or a habit, it
names something in particular, and no word ties it to this moment or this task. Pure.
"""

from __future__ import annotations

import re

# Clauses that stand beside a task: "Fix the test, and by the way we use pytest".
_BESIDE = re.compile(
    r"(?:,(?= (?:i['’]ve stopped|i (?:don['’]t|never|only|always)|we (?:use|don['’]t|never|only|always))\b)|[,.]? (?:and |but |und |et |y )?(?:by the way|btw|fyi|note that|keep in mind that|remember that|übrigens|au fait|por cierto)[,:]?) +",
    re.I,
)
# "No, that's wrong: …", "You got that mixed up, …".
_CORRECTION = re.compile(
    r"^(?:(?:no|nope|nein|non|actually|eigentlich|en fait|en realidad|wrong|falsch|correction)[,:.–—-]+ *"
    r"|(?:no, )?(?:that['’]?s|that is|this is|das ist|c['’]est|eso es|eso está) (?:wrong|not right|incorrect|not true|falsch|nicht richtig|faux|mal|incorrecto)[,:;–—-]+ *"
    r"|you(?:['’]ve)? (?:got|have|mixed) [^,:;]{2,30}[,:;–—-]+ *|actually )",
    re.I,
)
_CONTRAST = re.compile(
    r"[,;] (?:and |und |et |y )?(?:not|never|nicht|kein\w*|nie|pas|jamais|no|nunca)\b[^,;]{2,60}$",
    re.I,
)

_PEOPLE = r"(?:wife|husband|partner|son|daughter|kids?|children|mother|father|mum|mom|dad|parents|brothers?|sisters?|boss|manager|lead|team ?mates?|colleagues?|boyfriend|girlfriend|landlord|doctor|dentist|teacher|coach|dogs?|cats?|pet|family|flatmate|roommate|supervisor|tutor|client|customer|neighbou?r)"
# Verbs that describe a state or a habit.
_STATES = (
    r"is|are|isn['’]t|aren['’]t|has|have|uses?|runs?|lives?|sits?|stays?|stores?|keeps?|supports?|needs?|requires?|costs?|opens?|closes?|starts?|ends?"
    r"|happens?|takes?|gets?|goes|go|comes?|belongs?|contains?|follows?|expects?|handles?|owns?|pays?|deploys?|ships?|hosts?|listens?|works?"
    r"|meets?|reports?|signs?|approves?|prefers?|likes?|hates?|speaks?|plays?|teaches|studies|drives?|eats?|drinks?|wears?|trains?|sells?"
    r"|builds?|bills?|writes?|names?|tags?|releases?|reviews?|merges?|backs? up|logs?|sends?|limits?|allows?|publishes|publish|may not|doesn['’]t|don['’]t|never|always|only"
)
_SUBJECT = r"(?:[\w'’/.&+-]+ ){0,7}?"

_PERSON = re.compile(
    r"^(?:i['’]m|i am) (?:also |still |strictly |severely )?(?:allergic|intolerant|vegan|vegetarian|pescatarian|diabetic|celiac|coeliac|gluten|lactose|left-handed"
    r"|married|divorced|retired|pregnant|fluent|\d+ (?:years old|cm)|from (?-i:[A-Z])|(?:a|an) (?:vegan|vegetarian|[\w-]+ speaker|early bird|night owl))"
    r"|^i (?:live|study|teach|grew up|was born) (?:in|at|near|with|on)\b"
    r"|^i work (?:in|at|for|from|with|on|as|part|full|remotely|night|only|four|three|mondays)\b"
    r"|^i (?:don['’]t|do not|never|only|mostly|always) (?:work|eat|drink|use|read|drive|fly|cite|take|wear|answer|write)\b"
    r"|^i(?:['’]ve| have)? (?:recently |just )?moved to (?-i:[A-Z])|^i(?:['’]ve| have) (?:stopped|quit|given up|switched|changed)\b"
    r"|^i (?:really |absolutely )?(?:like|love|enjoy|hate|dislike|can['’]t stand|cannot stand|despise) (?!(?:it|this|that|these|those|the|their|his|how|what|when|your|you|to (?:see|know|get|have|stay)|all|them|both|him|her|some|option|seeing|hearing|learning|\d|idea)\b)\w"
    r"|^i use (?-i:[A-Z])[\w.+#-]*|^i use (?:[a-z]+ )?(?:tabs|spaces|vim|emacs|tmux|zsh|fish|uv|pnpm|nix|docker|podman)\b"
    r"|^i(?:['’]d| would) (?:rather|prefer) (?:get|have|see|read|be|you|one|short|long)\b"
    r"|^i (?:run|measure|write|count|track|log|keep|store|cook|bake|shop|train|cite|name|sort|plan|pay) my\b"
    rf"|^my {_PEOPLE}(?:['’]s [\w ]{{3,30}}?)?,? (?:[\w ]{{2,30}}, )?(?:(?-i:[A-ZÀ-Þ])[\w'’-]+ )?(?:only |never |always )?"
    r"(?:is|are|has|have|turns|like|love|hate|live|work|play|eat|speak|(?!was|does)\w{2,}(?<![su'’])s) (?!been\b|(?:really |very |so |quite )?keen\b|\w+ing\b)"
    r"|^my (?:[\w'’-]+ ){1,4}(?:is|are|has) (?:called |named |spelled |written )?(?:(?-i:[A-ZÀ-Þ])[\w'’-]+|\d)"
    r"|^(?:i have|i['’]ve got|ich habe|j['’]ai|tengo) (?:\d+|an?|one|two|three|four|eine?n?|zwei|drei|vier|une?|deux|trois|quatre|una?|dos|tres|cuatro) (?:[\wà-ÿ-]+ )?"
    r"(?:kids?|child(?:ren)?|sons?|daughters?|cats?|dogs?|brothers?|sisters?|kind(?:er)?|söhne?|t[oö]chter|katzen?|hunde?|enfants?|fils|filles?|chats?|chiens?|hij[oa]s?|gat[oa]s?|perr[oa]s?|herman[oa]s?)\b"
    r"|^i (?:teach|study|coach|own|speak) (?!(?:it|this|that|these|those|the|to|with)\b)\w|^ich (?!habe|sehe|finde|brauche|kann|bin)\w+e (?:\w+ )?kein\w*\b"
    r"|^(?:please |bitte )?(?:call me|nenn mich|appelle-moi|llámame) \w|^(?:i['’]m|i am) the only\b|^i(?:['’]d| would) rather (?!not\b)\w+ (?:fewer|less|more|no|\w+s)\b"
    r"|^i (?:don['’]t|do not) want (?:any )?(?!(?:you|to|this|that|it|the|a|an|him|her|them|us|my)\b)\w+"
    r"|^my (?:(?!with\b|of\b|about\b|in\b|on\b)[\w-]+ ){0,3}(?:names?|birthday|address|phone|number|size|favou?rite|editor|shell|laptop|machine|desktop|car|bike|allerg\w+|diet|goal|hobby|hobbies"
    r"|working hours|office|home ?town|school|university|thesis|time ?zone|email|handle|username|keyboard|blood type|insurance|bank|gym|shift|day off) (?:\w+ ){0,5}?(?:is|are|has|runs)\b(?! \w+ing\b)"
    r"|^ich (?:wohne|lebe|studiere|unterrichte|trinke|esse|mag|hasse|nutze|benutze|verwende|heiße|arbeite|fahre|trage|spiele)\b"
    r"|^ich bin (?:\w+ )?(?:allergisch|veganer|vegetarier|vegan|vegetarisch|linkshänder|verheiratet|geschieden|diabetiker\w*|schwanger|farbenblind|schwerhörig|zöliakie|\d+ jahre)"
    r"|^ich (?:möchte|will|hätte gern),? (?:immer|nie|dass du)\b"
    r"|^mein(?:e[nrms]?)? (?:[\wäöüß-]+ ){1,5}?(?:ist|sind|heißt|heißen|hat|arbeitet|wohnt|läuft|beträgt)\b"
    r"|^ich (?:will|möchte|mag|brauche) (?:\w+ ){0,2}kein\w*\b|^je ne veux (?:pas|plus) (?:de |d['’])|^no quiero (?!que\b|eso\b|esto\b|el\b|la\b)\w+|^nada de \w+"
    r"|^je suis (?:enceinte|allergique|végétarien\w*|végane?|gaucher\w*|marié\w*|diabétique|intolérante?|cœliaque|daltonien\w*|malentendant\w*|sourde?)|^j['’](?:habite|étudie|enseigne|aime|adore|utilise|ai \d+ ans)\b"
    r"|^je (?:vis|déteste|n['’]aime pas|bois|mange|ne (?:bois|mange|travaille|veux)|travaille|parle|joue|m['’]appelle)\b"
    r"|^m(?:on|a|es) (?:[\wà-ÿ'’-]+ ){1,5}?(?:est|sont|s['’]appelle|travaille|habite|a|ont)\b"
    r"|^soy (?:alérgic[oa]|vegetarian[oa]|vegan[oa]|zurd[oa]|diabétic[oa]|celíac[oa]|intolerante|embarazada|daltónic[oa]|sord[oa])|^(?:vivo|trabajo|estudio|enseño|uso|odio|hablo|bebo|como|juego|tengo \d+ años) "
    r"|^(?:no )?me (?:gustan?|encantan?|llamo)\b|^prefiero que\b|^quiero que siempre\b|^mis? (?:[\wà-ÿ-]+ ){1,6}?(?:es|son|se llama|trabaja|vive|tiene|está en)\b",
    re.I,
)
# Verbs after "we" that tell of a moment, a wish or the past, not of a habit; also anything that ends in -ed.
_NO_HABIT = (
    r"are|were|was|had|have|got|get|did|do|(?:did|was|were|had|could|would|are|have|has)n['’]t|need|want|should|could|would|can|can['’]t|cannot|may|might|will|won['’]t|shall|see|saw|think|hope|know|try|just"
    r"|ate|began|blew|bought|broke|brought|built|came|caught|chose|cut|drank|drew|drove|fell|felt|flew|forgot|found|gave|grew|heard|held|hit|kept|knew|led|left|lost|made|meant"
    r"|met|paid|put|ran|read through|rode|rang|sang|sat|said|sent|set|shot|slept|spent|spoke|stood|swam|taught|thought|threw|told|took|went|woke|won|wore|wrote|wonder|wish|also|then"
    r"|actually|really|recently|finally|already|even|land|depart|arrive|(?!stopped \w+ing|dropped|switched|moved|migrated|replaced|renamed|adopted|need|feed|speed|embed|shed)\w+ed"
)
_WORK = re.compile(
    rf"^our {_SUBJECT}(?:{_STATES})\b"
    rf"|^we (?:only |always |never |usually |generally |don['’]t |do not |no longer )*(?!(?:{_NO_HABIT})\b)\w{{2,}}\b|^we(?: have (?:an?|two|three|four|\d+)| are (?:an?|based)|['’]re (?:an?|based))\b"
    r"|^(?:for|with) us,? |^our (?:[\w'’-]+ ){0,3}[\w'’-]+, [^,]{2,30}, (?!was\b)\w{2,}(?<![su])s\b"
    rf"|^(?:the|all|every|each|any|no) {_SUBJECT}(?:{_STATES})\b|^(?:[A-Z][\w-]*|[a-z]+) (?:[\w-]+ ){{0,3}}in (?:our|this) {_SUBJECT}(?:{_STATES})\b"
    r"|^(?:nobody|no one|only) (?:\w+ ){0,3}(?:may|can|is allowed)\b"
    r"|^(?-i:[A-Z][\wà-ÿ-]+(?: [A-Z][\wà-ÿ-]+)?) (?:is|owns|approves|signs off|reviews|runs|leads|manages|maintains|handles|speaks for) "
    r"|^(?=.*\b(?:wir|uns|unser\w*)\b)(?!.*\b(?:haben?|hat|hatten?|war(?:en)?|wurden?|können|sollen|wollen|müssen) .*\w+(?:t|en)$)"
    r"|^(?:der|die|das|alle|jede[rsn]?) (?:[\wäöüß/.-]+ ){0,7}?(?:ist|sind|heißt|heißen|läuft|laufen|steht|stehen|liegt|liegen|nutzt|nutzen|hat|haben|wird|werden|beginnt|endet|findet|kostet|gehört)\b"
    r"|^(?=.*\b(?:nous|notre|nos|chez nous)\b)(?!.*\b(?:nous avons|on a|a été|ont été|était|étaient|nous (?:devons|pouvons|voulons))\b)"
    r"|^(?:le|la|les|chaque|tous|on|c['’]est) (?:[\wà-ÿ'’/.-]+ ){0,7}?(?:est|sont|tourne\w*|s['’]appelle\w*|utilis\w+|a lieu|ont lieu|coûte|commence|finit|appartient|écoute|gard\w+|déploy\w+|travaill\w+|ne support\w+|valide|qui)\b"
    r"|^(?=.*(?<!\w)(?:nuestr[oa]s?|(?!tramos|extremos|supremos|vamos|podemos|queremos|debemos|tenemos que|necesitamos|hemos)\w{2,}[aei]mos)(?!\w))(?!.*\b(?:fue|fueron|era|eran|estaba\w*)\b)"
    r"|^(?:el|la|los|las|cada|todos|hemos cambiado) (?:[\wà-ÿ/.-]+ ){0,7}?(?:es|son|está\w*|corre\w*|se llama\w*|usa\w*|tiene\w*|empieza\w*|termina\w*|cuesta\w*|escucha\w*|se \w+|de|en|con|van?)\b",
    re.I,
)
_OF_WORK = (
    r"(?:customer|client|company|product|project|repo(?:sitory)?|server|cluster|database|url|host|endpoint|address|branch|port|deadline|limit|owner|contact|supplier|vendor|provider"
    r"|tenant|team|department|budget|contract|release|version|environment|staging|production|account|reviewer|maintainer|lead|manager|director|boss"
    r"|kund\w+|firma|produkt|projekt|server|datenbank|adresse|frist|ansprechpartner\w*|lieferant\w*|vertrag|umgebung|chef\w*|leiter\w*|zuständige\w*"
    r"|client\w*|entreprise|société|produit|projet|serveur|base|adresse|échéance|responsable|fournisseur|équipe|contrat"
    r"|cliente|empresa|producto|proyecto|servidor|dirección|plazo|encargad\w+|proveedor\w*|equipo|contrato|jef[ae])\b"
)
_CHANGED = re.compile(
    r"^(?:the|our|my) (?:[\w'’-]+ ){1,4}(?:has |have )?(?:changed|moved)\b(?:, (?:it['’]s|they['’]re) now| to| from)\b",
    re.I,
)
# "The customer is called Brunswick Tiles": what something is, by name, number or address.
_IDENTITY = re.compile(
    rf"^(?:the|der|die|das|le|la|les|el|los|las) (?=[^.,;]*\b{_OF_WORK})(?:[\wà-ÿ'’/.-]+ ){{1,5}}(?:(?:is|are|ist|sind|est|sont|es|son)(?: now| jetzt| désormais| ahora)? (?:called |named |spelled )?"
    r"|has changed, it['’]s now |heißt |heißen |s['’]appelle |se llama )(?:https?://|\d|[\"“'‘«]|(?-i:[A-ZÀ-Þ])[\wà-ÿ]+(?: (?-i:[A-ZÀ-Þ])|[.,]|$| (?:and|since|und|seit|et|depuis|y|desde)\b))",
    re.I,
)
# Words that make a fact about "the …" a lasting one of the person's own work.
_OURS = re.compile(
    r"^the (?:project|team|company|product|repo|office|customer|client)\b|^(?:hemos|usamos|trabajamos|desplegamos|guardamos|pagamos)\b|\b(?:we|we['’]re|our|ours|us|in this (?:repo(?:sitory)?|code ?base|project|company|team|house|monorepo|workspace)|wir|uns\w*|nous|notre|nos|chez nous|nuestr\w+|(?!tramos|extremos|supremos)\w{2,}[aei]mos)\b",
    re.I,
)
_HABIT = re.compile(
    r"\b(?:(?:every|each|per) (?:other |second |third |\d+ )?(?:second|minute|hour|day|night|morning|evening|week|weekend|month|quarter|year|sprint|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?|weekly|daily|nightly|monthly|yearly|annually|(?:mon|tues|wednes|thurs|fri|satur|sun)days|jede\w*|wöchentlich|täglich|monatlich"
    r"|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s|chaque|tous les|toutes les|le (?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)"
    r"|cada|todos los|todas las|los (?:lunes|martes|miércoles|jueves|viernes|sábados|domingos))\b",
    re.I,
)
# A name, a number, a place, a contrast: what the sentence says in particular.
_PARTICULAR = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|twelve|zwei|drei|vier|fünf|sechs|deux|trois|quatre|cinq|dos|tres|cuatro|cinco)\b|(?<=[a-zà-ÿ,] )(?-i:[A-ZÀ-Þ])[\w+#.-]+|[`\"“][^`\"”]+[`\"”]|\b\w+[./]\w+\b"
)
# "Our brand colour is teal", "amounts in our system are stored in cents".
_DEFINES = re.compile(
    r"^our (?:[\w'’-]+ ){1,4}(?:is|are) (?!(?:to|very|quite|pretty|too|so|really|not|more|less|getting|\w+ing|big|small|old|large|great|good|bad|done|ready|due)\b)\w"
    r"|\b(?:is|are) (?:always |never |only )?(?:stored|kept|named|written|called|hosted|deployed|signed|reviewed|logged|billed|paid|sorted|tagged|encrypted|generated|built|tested|served)\b"
    r"|\bmust (?:always|never|not)\b",
    re.I,
)
_STRICT = re.compile(
    r"\b(?:always|never|only|solely|exclusively|nobody|no one|immer|nie|niemals|nur|stets|niemand|toujours|jamais|uniquement|seulement|personne|siempre|nunca|solo|sólo|solamente|nadie|in this (?:repo(?:sitory)?|code ?base|project|team|company))\b",
    re.I,
)
# "All dates are to be …", "nobody but … may …": a norm, which needs no owner.
_NORM = re.compile(
    r"^(?:all|every|each|no) (?:[\w'’-]+ ){1,6}(?:is|are) (?:always |never )?to be\b|^(?:nobody|no one|niemand|personne|nadie) (?:but|except|außer|sauf|salvo) ",
    re.I,
)
_FOREWORD = re.compile(
    r"^(?:for|in|at|on|für|in|bei|pour|dans|para|en) (?:my|our|all|this|mein\w*|unser\w*|mon|ma|notre|mi|nuestr\w+) [\w -]{2,30}?,? (?=i\b|we\b|ich\b|wir\b|je\b|nous\b|on\b)|^(?:therefore|hence|that['’]s why|deshalb|daher|donc|por eso),? ",
    re.I,
)
_RULE = re.compile(
    r"^(?:please |bitte )?(?:use|write|name|put|prefix|format|run|keep|add|sign|tag|start|end|wrap|sort|answer|reply|ask|verwende|benutze|schreibe?|nutze|utilise|écris|mets|usa|escribe|pon)\b(?! (?:the|my|an?|and|me|us)\b)"
    r".*\b(?:(?:for|in|on|before|after|with) (?:every|all|any)\b|in this (?:repo(?:sitory)?|code ?base|project)\b|everywhere\b|für jede\w*|in jede\w*|pour chaque|dans chaque|para cada|en cada|en todos)"
    r"|^(?:please |bitte )?(?!i\b|we\b|it\b|the\b|you\b|they\b|he\b|she\b|my\b|our\b|what\b|why\b|how\b)\w+ .*\b(?:whenever|every time|each time|jedes mal,? wenn|chaque fois que|cada vez que) (?:you|i|we|du|ich|wir|tu|je|nous)\b"
    r"|^(?:please )?(?:don['’]t|do not) (?:use|write|add|put|name|commit|push|touch|call|install) .*\bin (?:our|my|this (?:repo(?:sitory)?|project|code ?base|team))\b"
    r"|^when(?:ever)? you (?:write|answer|reply|commit|name|show|give|explain|draft|generate|create|make|suggest|plan|book|cook|edit|change|review)\b[^,]{2,60}, (?:please )?(?!i\b|we\b|it\b|you\b|the\b|this\b)\w+",
    re.I,
)
_WHEN_YOU = re.compile(r"^when(?:ever)? you [^,]{4,60}, ", re.I)
# What holds only now, for this task, or is trouble to be mended.
_PASSING = re.compile(
    r"\b(?:this|that|these|those|(?:in|on|at|from|of|to|with) (?:it|them)|it['’]s (?:not|still)|here|there|today|tonight|tomorrow|yesterday|now|currently|right now|at the moment|yet|still|just|again|so far|anymore"
    r"|fail\w*|broke\w*|crash\w*|errors?|bugs?|issues?|problems?|wrong|missing|stuck|slow|function|method|class|variable|loop|callback|returns?|raises|throws|null|none|undefined|fix|while|sounds|lately|recently|so it['’]?s?|so i can['’]t|budget|like to (?:analy[sz]e|get|know|see|have)|shall|weird|strange|trouble|struggl\w+|confus\w+|flak\w+|hang\w*|red|seit (?:\w+ )?(?:minuten?|stunden?|tagen?)|depuis (?:\w+ )?(?:minutes?|heures?|hier)|desde (?:ayer|hace)"
    r"|try(?:ing)?|want(?:s|ed)?|wanna|need(?:s|ed)? (?:to|some|help|an?)|wish|hope|hoping|plan(?:ning)? to|going to|gonna|about to|look(?:ing)? (?:for|forward|into|at)|think\w*|thought|feel\w*|wonder\w*"
    r"|consider\w*|start(?:ing|ed)|should|would|could|might|may|will(?! (?:immer|nie|nur|kein\w*|dass)\b)|won['’]t|can you|could you|let['’]s|todo|instead of the|supposed|seems?|looks? like|appears?|sorry"
    r"|heute|morgen|gestern|jetzt|gerade|noch|kaputt|fehler\w*|problem\w*|möglicherweise|sollte\w*|könnte\w*|aujourd['’]hui|demain|hier|maintenant|encore|cassé\w*|erreurs?|problèmes?|devrait|pourrait"
    r"|hoy|mañana|ayer|ahora|todavía|roto|errores|problemas?|debería|podría)\b",
    re.I,
)
_STILL_LASTING = re.compile(
    r"\b(?:in|of|for) this (?:repo(?:sitory)?|code ?base|project|company|team|house|monorepo|workspace)\b"
    r"|^(?:nobody|no one|only) (?:\w+ ){0,3}(?:may|can)\b|\b(?:no longer|not any ?more|any ?more since)\b|, (?:so|donc|also|así que) (?!it|that|i can['’]t).*$|,? please don['’]t\b.*$",
    re.I,
)
# The person tells what they did.
_TELLS = re.compile(r"\b(?:i|i['’]ve|i['’]m|me|my|ich|je|yo)\b", re.I)
_FEWEST_WORDS, _SHORT, _MOST_WORDS = 4, 16, 32


# Where a sentence goes on with something else: a reason, a consequence, a remark.
_PIECE = re.compile(
    r"[,;–—] +|,? (?:and|und|et|y) (?=(?:that|it|they|she|he|i|you|sie|er|es|elle|il|ella|él)\b)"
    r"|,? (?=(?:since|because|so that|as i|as we|weil|da ich|denn|car|parce que|porque)\b)",
    re.I,
)
_SUBORDINATE = re.compile(
    r"^(?:if|unless|once|when|until|while|although|though|since|because|as|so that|during|above|regarding|speaking of|who|which|where|wenn|falls|weil|während|denn|da|car|parce que|porque|como|sobald|obwohl|si|quand|bien que|cuando|aunque)\b",
    re.I,
)
# Asks to keep what stands before or behind it.
_NOTED = re.compile(
    r"^(?:please |bitte |por favor,? )?(?:note|keep in mind|bear in mind|be aware|beachte|denk daran|bedenke|note|sache|garde en tête|ten en cuenta|ten presente|ojo)(?: bitte)?,?:? (?:that|dass|que|qu['’]) ?"
    r"|[,;] (?:and |please |so |also )*(?:(?:keep|bear) (?:that|this|it) in mind|note (?:that|this) down|don['’]t forget (?:that|it|this)|merk dir das|vergiss das nicht|ne l['’]oublie pas|garde-le en tête"
    r"|no lo olvides|tenlo en cuenta|recuérdalo)\b.*$",
    re.I,
)
# "It's now …", "we only buy there now", "from today on": a change that stays.
_FROM_NOW = re.compile(
    r"\b(?:it['’]s|is|are|ist|sind|est|sont|es|son) (?:now|jetzt|maintenant|désormais|ahora)\b|\bonly\b(?=.{1,40}\bnow\b)|(?<=\w) (?:now|maintenant|ahora)$"
    r"|\b(?:from|since|as of|starting) (?:today|now)(?: on)?\b|\bnur noch\b|\bne \w+ plus que\b|\bab (?:heute|jetzt)\b|\bdès aujourd['’]hui\b|\bdésormais\b|\b(?:a partir|desde) (?:de )?(?:hoy|ahora)\b",
    re.I,
)


def clauses(sentence: str) -> tuple[str, ...]:
    """The sentence, cut where a remark stands beside a task."""
    return tuple(part.strip() for part in _BESIDE.split(sentence) if part.strip())


def statement(clause: str) -> str:
    """The clause without "when you write SQL for me", which would read as a question."""
    return _WHEN_YOU.sub("", clause)


def content(clause: str) -> str:
    """The clause without the request to keep it in mind."""
    kept = _NOTED.sub("", clause).strip()
    return f"{kept}." if kept != clause.strip() and kept[-1:].isalnum() else kept


def is_of_work(clause: str) -> bool:
    """Whether it tells how the person and their colleagues work."""
    return _WORK.match(clause) is not None


def standing(clause: str) -> str:
    """The piece of a clause that plainly states a lasting fact or a rule for all work; empty if none does."""
    plain = _NOTED.sub("", clause)
    noted = plain != clause
    if _SUBORDINATE.match(plain):
        return clause if _lasts(plain) else ""
    if _lasts(plain):
        return plain
    pieces = [piece.strip() for piece in _PIECE.split(plain) if piece.strip()]
    for piece in pieces:
        if _SUBORDINATE.match(piece):
            continue
        if _lasts(piece) or (noted and _is_noted(piece)):
            return piece
    return ""


def _is_noted(piece: str) -> bool:
    """What the person asks to keep in mind needs no owner, but must outlast the moment."""
    return len(piece.split()) >= _FEWEST_WORDS and not is_passing(piece.rstrip(".! "))


def is_passing(plain: str) -> bool:
    """Whether it holds only now or for this task."""
    return _PASSING.search(_FROM_NOW.sub(" ", _STILL_LASTING.sub("", plain))) is not None


def _lasts(clause: str) -> bool:
    ended = clause.rstrip(".! ")
    plain = _FOREWORD.sub("", _CORRECTION.sub("", ended))
    if not _FEWEST_WORDS <= len(plain.split()) <= _MOST_WORDS or plain.endswith((":", "?")):
        return False
    if is_passing(plain):
        return False
    if _RULE.match(plain) or _PERSON.match(plain):
        return True
    contrasts = _CONTRAST.search(plain) is not None
    if contrasts and _CORRECTION.match(ended):
        return True
    if (_IDENTITY.match(plain) or _CHANGED.match(plain)) and not _TELLS.search(plain):
        return True
    return _WORK.match(plain) is not None and is_particular(ended, contrasts=contrasts)


def is_particular(plain: str, *, contrasts: bool = False) -> bool:
    """Whether it says something in particular about the person's own work, or tells of a habit."""
    if contrasts or _OURS.search(plain):
        return contrasts or any(
            sign.search(plain) for sign in (_PARTICULAR, _HABIT, _DEFINES, _STRICT)
        )
    habitual = len(plain.split()) <= _SHORT and not _TELLS.search(plain)
    return habitual and bool(_HABIT.search(plain) or _NORM.match(plain))
