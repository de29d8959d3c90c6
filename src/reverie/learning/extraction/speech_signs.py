"""Signs by which pasted text, its introduction and a person's own words are told apart. Pure data."""

from __future__ import annotations

import re

from reverie.learning.extraction.questions import REWORDS

# A letter to other people: its opening, its close, its postscript.
LETTER = re.compile(
    r"^[ \t]*(?:(?:hi|hello|dear|hallo|liebe[rs]?|bonjour|cher|chère|chers|hola|querid[oa]s?|estimad[oa]s?) (?:all|team|everyone|everybody|folks|readers?"
    r"|colleagues|customers?|sir|madam|zusammen|alle|team|kolleg\w+|tous|toutes|à tous|équipe|collègues|todos|a todos|equipo)\b"
    r"|dear\b|sehr geehrte|(?:kind |best |warm |many )?regards\b|best wishes|sincerely|cheers,|best,|yours\b|(?:mit )?(?:freundlichen|besten|vielen) gr(?:ü|ue)(?:ß|ss)en"
    r"|viele grüße|beste grüße|cordialement|bien à vous|salutations|saludos|un saludo|atentamente|signed-off-by|co-authored-by"
    r"|p\.?\s?p?\.?s\.?\s*[:–—-]|©|[—–] ?\w)"
    r"|\((?:from|source|via|quelle|aus|siehe|source|tiré|selon|fuente|según)\b",
    re.I | re.M,
)
NOT_SPEECH = re.compile(
    r"\s*(?:>|```|\$ |❯|% |⏺|⎿|\+\+\+ |--- |@@ |[+-] {2,}\S|\||//|/\*|\*/|\{|\}|\[\{"
    r"|\d{4}-\d{2}-\d{2}[T ]\d{2}:|\[?\d{1,2}:\d{2}:\d{2}|\[\d{1,2}:\d{2}\]"
    r"|(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d+ \d\d:"
    r"|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|TRACE|FATAL|FAIL|PASS|DEBU)\b|(?:error|fatal|warning|remote): "
    r"|at \S+\(|File \"|make(?:\[\d+\])?: |\w+Error: |\w+Exception\b|npm (?:ERR|WARN)|(?-i:(?:GET|POST|PUT|HEAD|DELETE)) /"
    r"|\d{1,2}[/.]\d{1,2}[/.]\d{2,4},? \d{1,2}:\d{2}|-- \S|\[//\]:|(?-i:[A-Z][A-Z0-9_]+)=|(?:export )?[\w.-]+ = [\"'\d\[{]"
    r"|\[[\w.-]+\]\s*$|(?-i:[a-z]{2}): |@\w+\b ?:|[^\s,]+,[^\s,]+(?:[ ,]|$)|§|\d+/ |in (?:english|german|french|spanish): |\d{1,2}(?:\.\d{1,2})+\.? \S|(?:npm|pip|yarn|cargo|docker) (?:notice|info|warning)\b|[\w.-]+@[\w.-]+:\S*[#$]"
    r"|(?:user|assistant|system|human|ai|tool|bot|admin) ?: |\"[^\"]*\"\s*[,:]?\s*$|\"[\w-]+\" ?: |(?-i:\[[A-Z]{3,}\])"
    r"|\w[\w.-]{0,20} {2,}\d{1,2}:\d{2}(?: ?[AP]M)?\s*$|\[[ xX]\] )",
    re.I,
)
# Phrases that introduce a text by another author.
INTRODUCES = re.compile(
    r"\b(?:look at|have a look|see below|below|here(?:'s| is| are| comes)|fyi|found (?:this|that|it|on|in)|(?:i |we |just )got (?:this|that|an?|the|it)"
    r"|received|came across|according to|pasted?|copied|the following|as follows|attached|forwarded|they sent|sent (?:me|us)"
    r"|(?:docs?|documentation|readme|guide|manual|page|wiki|e?-?mail|message|error|logs?|article|faq|spec|issue|ticket|bot|chatgpt|gpt|copilot"
    r"|gemini|llm|model|colleague|boss|customer|client|vendor|supplier|maintainer|reviewer|linter|answer|reply|output|he|she|they|someone|somebody)"
    r" (?:\w+ ){0,2}?(?:says?|said|wrote|writes|told|reads|states|answered|replied|claims?|suggest\w*|sent|shows?|has this|was this|is this|goes)"
    r"|(?<!\bi )(?<!\bwe )(?<!\byou )(?:wrote|commented|posted|announced|replied|answered)\b|\b(?:shows|prints|says|reads)\s*$"
    r"|(?:this|that) (?:is|was|came) (?:from|the|what|in|on|an?)|from (?:the|their|our|an?|this|that) (?:docs?|documentation|readme|guide|wiki|page|mail|faq"
    r"|website|site|issue|blog|article|manual|spec|thread|log|chat|ticket|repo)"
    r"|hier (?:ist|sind|kommt)|siehe|schau|sieh|guck|laut|(?:steht|schrieb|schreibt|sagt|sagte|meinte)\b|folgende\w*|anbei|weitergeleitet|gefunden"
    r"|bekommen|erhalten|kam (?:gerade|per)|voici|voilà|regarde|selon|d'après|(?:a|ont|m'a|nous a) (?:écrit|dit|envoyé|répondu)|dit (?:ceci|que|ça)|ci-dessous"
    r"|(?:j'ai|on a) (?:reçu|trouvé)|suivante?s?|mira|aquí (?:está|va|tienes)|según|(?:dice|dicen|dijo|escribió|respondió|pone)\b|siguientes?|a continuación"
    r"|(?:he|hemos) (?:recibido|encontrado)|me (?:llegó|mandaron|enviaron))",
    re.I,
)
# Made-up texts: the "I" in them is not the person.
_MADE_UP = (
    r"(?:short |little |funny |old |bedtime |theatre )?(?:stor(?:y|ies)|poems?|haikus?|limericks?|sonnets?|songs?|lyrics|novels?|plays?|screenplays?|scenes?|dialogues?|monologues?|sketch(?:es)?|fables?|fairy tales?|slogans?|taglines?"
    r"|jokes?|parod(?:y|ies)|role-?play|(?:kurz)?geschichten?|gedichte?|lied(?:er)?|roman|theaterstück|szenen?|dialoge?|witze?|märchen|histoires?|poèmes?|chansons?|pièces?|scènes?|dialogues?|blagues?|contes?|cuentos?|poemas?"
    r"|canci(?:ón|ones)|novelas?|escenas?|diálogos?|chistes?)"
)
FICTION = re.compile(
    r"^(?:imagine|pretend|suppose|picture|stell dir vor|angenommen|imagine[zr]?|supposons|imagina|supongamos|supón)\b|\bimagine (?:you|that|your|a)\b"
    r"|\brole-?play|\brollenspiel|\bjeu de rôle|\bjuego de rol|\bplay(?:ing)? the (?:part|role) of\b|\bstay in character\b"
    rf"|\b(?:write|make|compose|invent|tell|give|create|rate|improve|continue|finish|writing|drafting|schreib\w*|dichte?|erfinde?|écri\w*|j['’]écris|invente|escrib\w*|cuenta|inventa)\b[^.!?\n]{{0,30}}?\b{_MADE_UP}\b"
    rf"|\b(?:in|for|dans|pour|für|en|para) (?:my|the|a|an|our|meine?[mnr]?|eine[mnr]?|ma|mon|la|le|une?|mi|el|una?) {_MADE_UP}\b|\b(?:sample|example|practice|made-?up) {_MADE_UP}\b"
    r"|(?:^|[,;] )you(?:['’]re| are) (?:an?|my|the) [\w ]{2,30}(?:, (?:and )?i(?:['’]m| am)\b|\. (?:i start|go|action|begin))|\b(?:let['’]s|lass uns) (?:practi[sc]e|rehearse|act|play|üben|spielen)\b|\bdu bist (?:der|die|ein\w*|mein\w*) [\w ]{2,30}, ich (?:bin|der|die)\b"
    r"|\b(?:game|book|film|movie|series|show|novel|podcast) (?:that )?i(?:['’]m| am)? (?:play|read|watch|see|saw|hear)\w*",
    re.I,
)
# Words before a colon that name a text by any author: "Test sentence:", "My horoscope:".
TEXT_NAMED = re.compile(
    r"\b(?:sentences?|texts?|quot\w+|scenarios?|horoscope|lyrics|slogans?|motto|headlines?|titles?|captions?|lines?|phrases?|examples?|samples?|exercises?|case|prompts?|dialogues?|stor(?:y|ies)|poems?|jokes?|riddles?|e?-?mails?|letters?|posts?|tweets?|comments?"
    r"|messages?|ads?|adverts?|reviews?|subject|speech|abstract|draft|(?:meeting )?notes|sätze?|satz|zitate?|überschrift|beispiele?|nachricht|entwurf|textes?|titre|exemples?|message|brouillon|frases?|textos?|título|ejemplos?|mensaje|borrador)\b",
    re.I,
)
# A fragment that names a text before or after it: "FAQ draft.", "PR description for you to tighten
# up - …", "Her bio".
_TEXT_KINDS = (
    r"(?:receipts?|notifications?|toasts?|subtitles?|captions?|bios?|profiles?|utterances?|personas?|transcripts?|transcriptions?|descriptions?|voicemails?|sms|fortune cookies?|flyers?|leaflets?|posters?|signs?|clues?|reviews?|posts?|tweets?"
    r"|comments?|faqs?|drafts?|cv|résumés?|homework|dictations?|surveys?|graffiti|horoscopes?|lyrics|verse|excerpts?|notes?|letters?|mottos?|slogans?|headlines?|output|manual|answers?|zettel|elternbrief|aushang|untertitel|entwurf|diktat|horoskop|anzeige"
    r"|affiche|horoscope|brouillon|sous-titres?|annonce|horóscopo|cartel|borrador|subtítulos?|anuncio)"
)
FRAGMENT = re.compile(
    rf"(?!(?:i|we|you|he|she|they|it|ich|wir|je|nous|on|yo|please|always|never|no|from|when|for|in|all|every|use|keep|put|send|write|add|answer|remember|note|merk\w*)\b)(?!.{{0,60}}\b(?:is|are|was|were|have|has|had|need|want|like|prefer|use|keep|go|goes|must|should|ist|sind|est|sont|es|son)\b[^-–—:]*$)(?:my|our|the|a|an|his|her|their|some|\w+['’]s|one-star|interview|training|meeting|best man['’]s|linkedin|pr|jira|git|app)?\s?(?:[\w'’-]+ ){{0,3}}?{_TEXT_KINDS}\b(?! (?:is|are|must|should|need|go|have|has|were|was|of mine|I|we)\b)",
    re.I,
)
# Turns of a conversation in one line: "- Do you …? - No, I never …".
TURNS = re.compile(r"(?:^|[:.?!…] )[-–—] [^\n]{3,120}?[.?!…] [-–—] \w", re.M)
# After these words and a colon people continue in their own words; after others the text may be quoted.
OWN_COLON = re.compile(
    r"^(?:(?:and|so|also|oh|ok|okay|please|und|ach|et|y)[, ]+)*(?:(?:a|one|two|another|quick|small|short|just|side|last)[ ,]+)*(?:for|fyi|fwiw|btw|by the way|ps|p\.s|note|reminder|heads[- ]?up|context|background|rule|thing|things|convention|preference|preferences|correction|update|decision|request|question|fact|facts"
    r"|more thing|first|second|important|same|still|remember|merk\w*|wichtig|hinweis|für|zur|regel|info|kontext|note|rappel|pour|règle|contexte|nota|ojo|para|regla|contexto|recordatorio)\b(?! (?:from|of the|by|vom|der|du|del)\b)",
    re.I,
)
# Requests to work on a text elsewhere in the message.
TEXT_WORK = re.compile(
    rf"\b(?:{REWORDS}|explain|compare (?:these|this|those|the following|both)|vergleiche? diese|compare[rz]? ces|compara est[ao]s|summari[sz]e|summary|translat\w+|reword|rewrite|shorten|review|spelling|spell[- ]?check|grammar"
    r"|tl;?dr|decode|parse|analy[sz]e|interpret|draft|write back|bullet points|polish|answer (?:this|that|it|them|him|her|politely)|reply|respond"
    r"|thoughts|opinion|make sense of|any idea|correct (?:this|the text)|(?:turn|convert|format|make) (?:this|that|it|these|the text)"
    r"|erklär\w*|übersetz\w*|fass\w* .{0,20}zusammen|zusammenfass\w*|(?:korrigier\w*|prüfe?) (?:das|dies\w*|den text)|antworte\w*|beantworte\w*|formulier\w*|kürz\w*|lies"
    r"|explique\w*|tradui\w*|résum\w*|(?:corrige\w*|vérifie\w*) (?:ce|cette|ça|cela)|relis|répon\w*|reformule\w*|explica\w*|traduc\w*|res[uú]m\w*|contesta\w*|(?:corrige|revisa)\w* (?:esto|eso|este|esta)|reformula\w*)\b",
    re.I,
)
# A short sentence that presents a text beside it, or tells what to do with it: "The vendor replied.", "Convert to uppercase.".
FRAMES = re.compile(
    r"\b(?:tl;?dr|eli5|true or false|real or fake|wahr oder falsch|richtig oder falsch|vrai ou faux|verdadero o falso|quiz\w*|trivia)\b"
    r"|^(?:please |bitte |s['’]il te plaît,? |por favor,? )?(?:convert|uppercase|lowercase|capitali[sz]e|proof-?read|paraphrase|rephrase|simplify|correct|transcribe|dictate|punctuate"
    r"|korrigiere?|großschreiben|vereinfache?|diktiere?|mets en|simplifie|corrige[zr]?|ponctue|pon en|simplifica|corrige|dicta)\b"
    r"|^(?:please |bitte )?(?!(?:remember|save|note|keep|store|mind|apply|follow|respect|do|did|don['’]t|use|is|are|was|let|i|we|you)\b)[^\W\d_]{3,}(?: it| them)(?: \w+){0,3}[.!]?$"
    r"|^(?:please |bitte |por favor,? )?(?:(?:judge|rate|grade|score|critique|assess|evaluate) (?:this|that|these|it|the|my|our|his|her)|(?:turn|put|change) (?:this |that |it |these )?into (?:the )?(?:passive|active|past|present|future|indirect|reported)"
    r"|(?:bewerte|benote|beurteile) (?:das|die|den|dies\w*|folgend\w*|mein\w*)|(?:résume|évalue|juge|note)[zr]? (?:ce|cet|cette|ces|ça|le|la|mon|ma)|(?:resume|evalúa|valora|califica|juzga) (?:est[aeo]s?|el|la|mi))\b"
    r"|\b(?:spam or ham|ham or spam|scam or (?:real|legit)|legit or (?:not|scam))\b|\bthat['’]s (?:the|a|one) (?:sentence|line|quote|text|paragraph|caption) (?:on|from|in|of|at)\b"
    r"|\b(?:zu|trop|demasiado|too) (?:steif|förmlich|lang|unhöflich|schroff|formel\w*|froide?|longue?|sèche?|formal|larg[oa]|sec[oa]|frí[oa]|stiff|rude|long|dry|cold|pushy)\s*\?"
    r"|^here(?:['’]s| is| are) (?:an?|some|one|another|what)\b"
    r"|\b(?:replied|answered|responded|wrote|commented|posted|announced|stated?s?|says|said|claims?)(?: (?:to|me|us|it|this|so|as|follows|back|in|by|via|on|an?|the|e?-?mail|chat|slack|writing|page|site))*[.!]?$"
    r"|\b(?:schrieb|schreibt|antwortete?|meinte|sagte?|hat geschrieben|hat geantwortet)(?: (?:mir|uns|dazu|das|so|folgendes|per|mail|chat))*[.!]?$"
    r"|\b(?:a|m['’]a|nous a|ont|vient de) (?:écrit|répondu|dit|envoyé)(?: (?:ceci|ça|cela|par|mail))*[.!]?$"
    r"|\b(?:escribió|respondió|dijo|contestó|me (?:llegó|mandó|mandaron|escribió))(?: (?:esto|eso|este|así|un|el|por|correo|mensaje|mail))*[.!]?$",
    re.I,
)
# A lead that says where a text was found, or a label in square brackets before it.
FOUND = re.compile(
    r"^(?:(?:found|seen|spotted|copied|taken|overheard|heard|read|posted|written|stuck|pinned|printed|received|gefunden|gelesen|gehört|abgeschrieben"
    r"|trouvée?|lue?|reçue?|entendue?|visto|leído|encontrado|recibido|oído)\b[^:\n]{3,80}:|\[[^\]\n]{2,24}\])",
    re.I,
)
MEANING = re.compile(
    r"\bwhat (?:does|do|did|is|are|was)(?: \w+){0,2}? (?:this|that|these|those|it|they)\b|\bwhat(?:'s| is) (?:this|that)\b|\bwhat does (?:the|their) [\w ]{2,40} (?:mean|say|want)\b"
    r"|\bis (?:this|that|it) (?:true|right|correct|legit\w*|real|spam|safe|ok(?:ay)?|valid|normal|an?)\b|\btranslate (?:this|that|it|please|the)\b|\bexplain (?:this|that|it|the (?:above|following|text|message|e?-?mail|page|passage|paragraph|rule|policy|notice|terms|log|output|error))\b"
    r"|\bwas (?:heißt|bedeutet|meint|soll|ist|will) (?:das|dies\w*)\b|\bstimmt das\b|\bque (?:veut dire|signifie)\b|\bqu'est-ce que (?:c'est|ça|cela)\b|\bc'est (?:vrai|normal)\b"
    r"|\bwho (?:sings?|sang|wrote|said|says) (?:that|this|it)\b|\b(?:which|what) (?:book|film|movie|song|poem|show|band|tense|case|words?)\b[^.!?\n]{0,30}\?|\b(?:mistakes?|typos?|scam|spam|phishing|hoax|cringe(?: level)?|true|legit|stronger verbs|too (?:rude|formal|long|stiff))\s*\?"
    r"|\b(?:meaning of|how (?:do|would) (?:you|i) say|sounds? (?:natural|better)|more natural|is it correct|does .{1,30} match)\b|\b(?:underline|conjugate|cluster them|fill in the gap)\b|\bhay (?:faltas?|errores)\b|\bcómo se dice\b|\bte lo crees\b|\bc['’]est une (?:pub|arnaque|blague)\b|\bwie sagt man\b"
    r"|\bqué (?:significa|quiere decir|es) (?:esto|eso|este|esta)\b|\bes (?:verdad|cierto|normal)\b",
    re.I,
)
POINTS = re.compile(
    r"^\s*\^|\b(?:this|that|these|those|it|its|they|them|he|she|him|her|such|above|so|same|there|text|words?|sentences?|paragraphs?|wording|tone|section"
    r"|das|dies\w*|darauf|dazu|davon|es|ihn|oben|text|wörter|satz|ça|cela|ceci|ce|cette|texte|phrase|ci-dessus|eso|esto|este|esta|lo|texto|frase|arriba)\b",
    re.I,
)
# Beginnings of an independent task.
TASK = re.compile(
    r"\s*(?:(?:and|so|then|now|next|also|please|ok|okay|thanks|und|dann|jetzt|nun|bitte|danke|et|puis|maintenant|merci|y|luego|ahora|por favor|gracias)[,.!:]? +)*"
    r"(?:(?:can|could|would|will) you|let's|kannst du|könntest du|lass uns|peux-tu|pourrais-tu|tu peux|¿?puedes|¿?podrías"
    r"|add|apply|bring|build|bump|change|check|clean|configure|continue|convert|create|debug|delete|deploy|drop|extend|extract|find|finish|fix|generate|go"
    r"|implement|improve|install|integrate|investigate|list|look|make|merge|migrate|move|open|optimi[sz]e|port|refactor|remove|rename|replace|revert|run|set"
    r"|show|split|start|stop|switch|test|try|update|upgrade|use|wire|write"
    r"|baue?|behebe?|benenne?|entferne?|erstelle?|füge?|lösche?|mache?|prüfe?|schreibe?|starte?|teste?|ändere?|zeige?"
    r"|ajoute|change|corrige|crée|écris|enlève|fais|lance|mets|montre|renomme|supprime|teste"
    r"|añade|arregla|borra|cambia|corrige|crea|ejecuta|elimina|escribe|haz|muestra|prueba|quita|renombra)\b",
    re.I,
)
# Sentences that only the person at the keyboard writes: about themselves, about the assistant's
# work, or about what was just said.
PERSONAL = re.compile(
    r"(?<![\w'’])(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself|we|we['’](?:re|ve|d|ll)|us|our|ours|ich|mir|mich|mein\w*|wir|uns|unser\w*"
    r"|je|moi|mon|ma|mes|nous|notre|nos|yo|mi|mis|nosotros|nuestr\w+)(?!\w)|(?<!\w)j['’]\w"
    r"|^(?:thanks|thank you|thx|danke|merci|gracias)\b(?! to\b)|^(?:no|yes|yep|yeah|nope|ok|okay|great|perfect|nice|nein|ja|non|oui|sí|vale|sure|anyway|haha\w*|lol|hmm+|ugh|phew|oh|ah|wow"
    r"|morning|moin|servus|puh|ach|bon|ouf|salut|oye|uf|¡?hola)(?!\w)[,:!. ]"
    r"|^(?:and |so |but |now |und |y |et )*¿?(?:please|can you|could you|would you|let's|bitte|kannst du|könntest du|peux-tu|tu peux|puedes|podrías|s'il te plaît|por favor)\b"
    r"|(?<!\w)(?:soy|estoy|tengo|vivo|trabajo|uso|quiero|prefiero|necesito|puedo|debo|(?!tramos|extremos|supremos|términos)\w{3,}[ae]mos)(?!\w)"
    r"|\b(?:please|bitte|por favor)[.!]*$"
    r"|^(?:it|they|that|he|she|sie|ils|elles|ça)['’]?\b|^(?:because|since|otherwise|last time|weil|sonst|parce que|sinon|porque)\b"
    r"|^you(?:['’]ve)? (?:did|do|keep|kept|forgot|used|wrote|broke|added|made|removed|deleted|changed|always|never|just|already|still|should|may|don't|needn't)\b",
    re.I,
)
# Orders, tasks and decisions, whose wording does not show who wrote them.
ANYBODYS = re.compile(
    r"(?:(?:also|and|so|but|und|et|y),? )*(?:always|never|don't|do not|stop|from now on|from here on|going forward|henceforth|in (?:the )?future|next time"
    r"|as of|whenever|every time|remember|use|keep|avoid|prefer|make sure|no |when you|if you|for future|(?:we|the \w+)(?:'ve| have| has)? (?:decided|agreed)"
    r"|immer|nie|niemals|ab jetzt|ab sofort|von jetzt an|künftig|verwende\w*|benutze?|merk\w*|vergiss|wir haben|toujours|jamais|désormais|à partir|n'oublie"
    r"|souviens|nous avons|on a|siempre|nunca|a partir|de ahora|recuerda|no olvides|hemos|acordamos|decidimos)(?!\w)",
    re.I,
)
# Gives power to others or removes a check, as injected text typically tries to.
EMPOWERS = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\byou )\b(?:approves|signs|merges|owns|reviews|grants|decides|controls|manages|administers)\b"
    r"|\b(?:give|gives|gets?|grant|has|have|let|allow|trust|add)\b.{1,40}\b(?:access|rights|admin|permissions?|approve|merge|deploy|as (?:an? )?(?:reviewer|owner))\b"
    r"|\bas (?:root|admin)\b|\bsudo\b|\bwithout (?:review|approval|asking|confirm\w*|a second|tests?|checks?)\b"
    r"|\b(?:skip|disable|bypass|ignore|turn off|switch off|lift|remove)\b.{1,40}\b(?:check|checks|reviews?|tests?|verification|firewall|hooks?|signatures?|approvals?|limits?|certificates?)\b"
    r"|\b(?:needs?|requires?) no (?:review|approval|tests?|second|signature|password)\b|\b(?:check|checks|verification|firewall|review) (?:is|are) off\b"
    r"|\b(?:freigeben|gibt .{1,30} frei|genehmigt|Zugriff|Rechte|ohne (?:Prüfung|Nachfrage|Freigabe))\b|\b(?:approuve|valide|accès|droits|sans (?:validation|demander))\b"
    r"|\b(?:aprueba|acceso|permisos|sin (?:revisión|preguntar))\b",
    re.I,
)
# Words before a colon that say where the text after it is found.
SOURCE = re.compile(
    r"^(?:from|aus|extrait|del?)\b|\b(?:excerpt|extract|quot(?:e|ation)|passage|snippet|minutes|transcript|caption|auszug|ausschnitt|zitat|protokoll|abschrift"
    r"|extrait|citation|compte rendu|extracto|fragmento|cita|acta)\b"
    r"|\b(?:left|pinned|taped|hinterließ|hinterlassen|aufgehängt|laissée?|affichée?|dejó|dejaron|colgó|ha dejado)\b",
    re.I,
)
# "Suggest a cake", "Schreib mir das Skript": a verb in front of its object. The first word must be no function word.
ORDER = re.compile(
    r"(?:(?:and|so|then|now|next|also|please|und|dann|jetzt|nun|bitte|et|puis|maintenant|y|luego|ahora)[,:]? +)*"
    r"(?P<verb>[^\W\d_]{2,})(?:-(?:moi|nous|le|la|les|lui))? "
    r"(?:me|us|it|them|an?|the|my|our|this|that|these|those|one|some|all|another|two|three|mir|uns|bitte|es|das|den|die|dem|eine?[nm]?|mein\w*|unser\w*|diese\w*"
    r"|à|le|la|les|une?|des|ce|cet|cette|ces|mon|ma|mes|notre|nos|el|los|las|una|este|esta|estos|estas|mis?|nuestr\w+)\b",
    re.I,
)
# An organisation that addresses its readers, or a model that advises its user; the person's own
# assistant is told about its answers and commits.
ORGANISATION = re.compile(
    r"(?<!\w)(?:we|our|wir|unser\w*|nous|notre|nos|nosotros|nuestr\w+)(?!\w)", re.I
)
READERS = re.compile(
    r"(?<!\w)(?:you will|you agree|ihnen|ihre[nmrs]?|votre|vos|su cuenta"
    r"|your (?!(?:\w+ )?(?:answers?|repl(?:y|ies)|commits?|messages?|code|plans?|explanations?|prs?|pull requests?|diffs?|changes?|summar(?:y|ies)|last|previous|next|patch\w*"
    r"|tests?|memory|own|work|output|drafts?|suggestions?|edits?|tone|notes?|help|mind|commands?|scripts?)\b))",
    re.I,
)
ADVICE = re.compile(
    r"\bas an ai\b|\bi (?:recommend|suggest|advise)\b|\bich empfehle\b|\bje (?:recommande|conseille)\b|\b(?:recomiendo|aconsejo)\b",
    re.I,
)
SPEAKER = re.compile(
    r"(?<![\w'’])(?:i|i['’](?:m|ve|d|ll)|me|my|mine|ich|mir|mich|mein\w*|je|moi|mon|ma|mes|yo|mi|mis|soy|estoy|tengo|quiero)(?!\w)|(?<!\w)j['’]\w",
    re.I,
)
# "Also remember …", after a question: the same person goes on.
GOES_ON = re.compile(
    r"(?:also|and|oh|btw|by the way|besides|plus|anyway|übrigens|und|außerdem|ach|au fait|et|sinon|por cierto|y|además)\b",
    re.I,
)
# "Classify each line: …", "Turn into a table: …".
WORK_ON = re.compile(
    r"\b(?:this|these|each|every|following|dies\w*|jede\w*|folgende\w*|ce(?:t|tte|s|ci)?|chaque|est[aeo]s?|cada)"
    r" (?:\w+ )?(?:lines?|texts?|sentences?|reviews?|messages?|e?-?mails?|comments?|words?|posts?|tweets?|quotes?|paragraphs?"
    r"|zeilen?|satz|sätze|nachrichten?|lignes?|phrases?|messages?|líneas?|frases?|mensajes?)\b"
    r"|\b(?:into|to|in|ins|auf|en|al) (?:english|german|french|spanish|italian|an? (?:table|check ?list|list|tweet|summary|headline|poem|mail|letter)|json"
    r"|deutsche?|englische?|anglais|allemand|alemán|inglés)\b",
    re.I,
)
