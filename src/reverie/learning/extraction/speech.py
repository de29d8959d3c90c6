"""Separates what a person wrote themselves from what they pasted into a message. Pure.

Code, logs, quotations, mails and markup are certainly pasted and left out. Prose may be the person's
or pasted, and only its place tells: the first paragraph is theirs, unless later text may discuss it.
Later paragraphs are doubtful, and a person decides about them. The ways to introduce or discuss
pasted text cannot be listed completely, so the harmless ways are listed instead.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from reverie.learning.extraction.questions import REPORTS, REWORDS, inquires
from reverie.learning.extraction.word_lists import ACKNOWLEDGES, ALWAYS, OPENINGS, SMALL
from reverie.text.words import STOP_WORDS

# A longer message is a document with a few words around it.
LONGEST_SPEECH = 3_000
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.M | re.S)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_TAGGED = re.compile(r"<([A-Za-z][\w:-]*)\b[^<>]*>.*?(?:</\1\s*>|\Z)", re.S)
_BARE_TAG = re.compile(r"</?[A-Za-z][\w:-]*\b[^<>]*>")
_HTML = re.compile(
    r"</?(?:html|head|body|p|div|span|br|hr|h[1-6]|ul|ol|li|table|t[rdh]|a|b|i|em|strong|img|pre|code|script|style|title"
    r"|blockquote|details|summary|section|article|meta)\b",
    re.I,
)
_OBJECT = re.compile(r"\{\s*\"[^{}\n]{0,2000}\}")

# After such a line the rest of the message is pasted.
_DOCUMENT = re.compile(
    r"\s*(?:#{1,6} \S|(?:from|to|cc|subject|date|von|an|betreff|de|à|objet|asunto|para) ?: \S"
    r"|-{2,} ?(?:original message|forwarded message|begin)|begin forwarded message"
    r"|on .{6,60} wrote:|am .{6,60} schrieb|le .{6,60} a écrit|el .{6,60} escribió|diff --git|commit [0-9a-f]{7,}"
    r"|traceback \(most recent|(?:[=*_~#-] ?){3,}\s*$)",
    re.I,
)
# A letter to other people: its opening, its close, its postscript.
_LETTER = re.compile(
    r"^[ \t]*(?:(?:hi|hello|dear|hallo|liebe[rs]?|bonjour|cher|chère|chers|hola|querid[oa]s?|estimad[oa]s?) (?:all|team|everyone|everybody|folks|readers?"
    r"|colleagues|customers?|sir|madam|zusammen|alle|team|kolleg\w+|tous|toutes|à tous|équipe|collègues|todos|a todos|equipo)\b"
    r"|dear\b|sehr geehrte|(?:kind |best |warm |many )?regards\b|best wishes|sincerely|cheers,|best,|yours\b|(?:mit )?(?:freundlichen|besten|vielen) gr(?:ü|ue)(?:ß|ss)en"
    r"|viele grüße|beste grüße|cordialement|bien à vous|salutations|saludos|un saludo|atentamente|signed-off-by|co-authored-by"
    r"|p\.?\s?p?\.?s\.?\s*[:–—-]|©|[—–] ?\w)"
    r"|\((?:from|source|via|quelle|aus|siehe|source|tiré|selon|fuente|según)\b",
    re.I | re.M,
)
_ASKS = r"remember|note|memory|memori[sz]e|from now on|merk|souviens|retiens|recuerda"
# "Here is the guideline:" at the end of a line, unless the person asks to remember what follows.
_LEAD_IN = re.compile(rf"(?!.*\b(?:{_ASKS})).*[:：]\s*$", re.I)

_FENCE = "```"
BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+")
_BOUNDED = re.compile(r"\s*(?:>|```|\|)")
# A short line without final punctuation, like a heading, but no bullet.
_TITLE = re.compile(r"(?!\s*(?:[-*+•]|\d{1,2}[.)])\s).{0,60}[^\s.!,;…]\s*$")
_NOT_SPEECH = re.compile(
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
_INDENTED = re.compile(r"(?: {4}|\t)\S|[ \t]{2,}[\w\"'-]+: ")
# A chat log: names before a colon, one a line.
_SPEAKER = re.compile(r"\s*[A-Z][\w.-]{1,20}(?: [A-Z][\w.-]{1,20})?: \S")
_QUOTED = re.compile(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»|`[^`\n]+`"
)
_REPORTED = re.compile(
    r"(?:\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|„[^“”\n]{1,400}[“”]|«[^»\n]{1,400}»)(?<!\w)"
)
_REPORTS = re.compile(
    rf"\b(?:{REPORTS}|told|tells|reads?|states?|answered|replied|called it|heißt|steht|écrivait|pone)\b",
    re.I,
)

# Phrases that introduce a text by another author.
_INTRODUCES = re.compile(
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
# Requests to work on a text elsewhere in the message.
_TEXT_WORK = re.compile(
    rf"\b(?:{REWORDS}|explain|summari[sz]e|summary|translat\w+|reword|rewrite|shorten|review|spelling|spell[- ]?check|grammar"
    r"|tl;?dr|decode|parse|analy[sz]e|interpret|draft|write back|bullet points|polish|answer (?:this|that|it|them|him|her|politely)|reply|respond"
    r"|thoughts|opinion|make sense of|any idea|correct (?:this|the text)|(?:turn|convert|format|make) (?:this|that|it|these|the text)"
    r"|erklär\w*|übersetz\w*|fass\w* .{0,20}zusammen|zusammenfass\w*|(?:korrigier\w*|prüfe?) (?:das|dies\w*|den text)|antworte\w*|beantworte\w*|formulier\w*|kürz\w*|lies"
    r"|explique\w*|tradui\w*|résum\w*|(?:corrige\w*|vérifie\w*) (?:ce|cette|ça|cela)|relis|répon\w*|reformule\w*|explica\w*|traduc\w*|resum\w*|contesta\w*|(?:corrige|revisa)\w* (?:esto|eso|este|esta)|reformula\w*)\b",
    re.I,
)
_MEANING = re.compile(
    r"\bwhat (?:does|do|did|is|are|was)(?: \w+){0,2}? (?:this|that|these|those|it|they)\b|\bwhat(?:'s| is) (?:this|that)\b|\bwhat does (?:the|their) [\w ]{2,40} (?:mean|say|want)\b"
    r"|\bis (?:this|that|it) (?:true|right|correct|legit\w*|real|spam|safe|ok(?:ay)?|valid|normal|an?)\b|\btranslate (?:this|that|it|please|the)\b|\bexplain (?:this|that|it|the (?:above|following|text|message|e?-?mail|page|passage|paragraph|rule|policy|notice|terms|log|output|error))\b"
    r"|\bwas (?:heißt|bedeutet|meint|soll|ist|will) (?:das|dies\w*)\b|\bstimmt das\b|\bque (?:veut dire|signifie)\b|\bqu'est-ce que (?:c'est|ça|cela)\b|\bc'est (?:vrai|normal)\b"
    r"|\bqué (?:significa|quiere decir|es) (?:esto|eso|este|esta)\b|\bes (?:verdad|cierto|normal)\b",
    re.I,
)
_POINTS = re.compile(
    r"^\s*\^|\b(?:this|that|these|those|it|its|they|them|he|she|him|her|such|above|so|same|there|text|words?|sentences?|paragraphs?|wording|tone|section"
    r"|das|dies\w*|darauf|dazu|davon|es|ihn|oben|text|wörter|satz|ça|cela|ceci|ce|cette|texte|phrase|ci-dessus|eso|esto|este|esta|lo|texto|frase|arriba)\b",
    re.I,
)
# Beginnings of an independent task.
_TASK = re.compile(
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
_PERSONAL = re.compile(
    r"(?<![\w'’])(?:i|i['’](?:m|ve|d|ll)|me|my|mine|myself|we|we['’](?:re|ve|d|ll)|us|our|ours|ich|mir|mich|mein\w*|wir|uns|unser\w*"
    r"|je|moi|mon|ma|mes|nous|notre|nos|yo|mi|mis|nosotros|nuestr\w+)(?!\w)|(?<!\w)j['’]\w"
    r"|^(?:thanks|thank you|thx|danke|merci|gracias)\b(?! to\b)|^(?:no|yes|yep|yeah|nope|ok|okay|great|perfect|nice|nein|ja|non|oui|sí|vale)\b[,:!. ]"
    r"|^(?:and |so |but )?(?:please|can you|could you|would you|let's|bitte|kannst du|peux-tu|puedes|s'il te plaît|por favor)\b"
    r"|\b(?:please|bitte|por favor)[.!]*$"
    r"|^(?:it|they|that|he|she|sie|ils|elles|ça)['’]?\b|^(?:because|since|otherwise|last time|weil|sonst|parce que|sinon|porque)\b"
    r"|^you(?:['’]ve)? (?:did|do|keep|kept|forgot|used|wrote|broke|added|made|removed|deleted|changed|always|never|just|already|still|should|may|don't|needn't)\b",
    re.I,
)
# Orders, tasks and decisions, whose wording does not tell whether the person or a stranger wrote them.
_ANYBODYS = re.compile(
    r"(?:(?:also|and|so|but|und|et|y),? )*(?:always|never|don't|do not|stop|from now on|from here on|going forward|henceforth|in (?:the )?future|next time"
    r"|as of|whenever|every time|remember|use|keep|avoid|prefer|make sure|no |when you|if you|for future|(?:we|the \w+)(?:'ve| have| has)? (?:decided|agreed)"
    r"|immer|nie|niemals|ab jetzt|ab sofort|von jetzt an|künftig|verwende\w*|benutze?|merk\w*|vergiss|wir haben|toujours|jamais|désormais|à partir|n'oublie"
    r"|souviens|nous avons|on a|siempre|nunca|a partir|de ahora|recuerda|no olvides|hemos|acordamos|decidimos)(?!\w)",
    re.I,
)
# "Remember that." and "Don't save this." refer to the sentence before.
_ABOUT_MEMORY = re.compile(
    r"(?:remember|memori[sz]e|keep) (?:that|this|it)[.!]*$|(?:don't|do not) (?:save|store|remember|keep|note) (?:this|that|it)\b",
    re.I,
)
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|\n")
# Giving power to others or removing a check: typical aims of injected text.
_EMPOWERS = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\byou )\b(?:approves|signs|merges|owns|reviews|grants|decides|controls|manages|administers)\b"
    r"|\b(?:give|gives|gets?|grant|has|have|let|allow|trust|add)\b.{1,40}\b(?:access|rights|admin|permissions?|approve|merge|deploy|as (?:an? )?(?:reviewer|owner))\b"
    r"|\bas (?:root|admin)\b|\bsudo\b|\bwithout (?:review|approval|asking|confirm\w*|a second|tests?|checks?)\b"
    r"|\b(?:skip|disable|bypass|ignore|turn off|switch off|lift|remove)\b.{1,40}\b(?:check|checks|reviews?|tests?|verification|firewall|hooks?|signatures?|approvals?|limits?|certificates?)\b"
    r"|\b(?:needs?|requires?) no (?:review|approval|tests?|second|signature|password)\b|\b(?:check|checks|verification|firewall|review) (?:is|are) off\b"
    r"|\b(?:freigeben|gibt .{1,30} frei|genehmigt|Zugriff|Rechte|ohne (?:Prüfung|Nachfrage|Freigabe))\b|\b(?:approuve|valide|accès|droits|sans (?:validation|demander))\b"
    r"|\b(?:aprueba|acceso|permisos|sin (?:revisión|preguntar))\b",
    re.I,
)
_OPENING_QUESTION = re.compile(r"[^.!?\n]+\?\s+\S")
_FEWEST_WORDS = 4
# The columns at which editors and mail programs wrap lines.
_NARROWEST, _WIDEST = 50, 100
_SPOKEN = ("english", "german", "french", "spanish")

_ZERO_WIDTH = re.compile("[\u00ad\u061c\u115f\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]")  # fmt: skip
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph of prose. `doubt` says why it may not be the person's own; empty if it plainly is."""

    text: str
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class _Paragraph:
    text: str
    # Adjacent to or after code, a log or a chat, where pasted text may continue as prose.
    pasted: bool = False


def own_words(text: str) -> str:
    """What the writer plainly said in this text, without pasted and doubtful passages."""
    return _ends("\n\n".join(one.text for one in passages(text) if not one.doubt))


def passages(text: str) -> tuple[Passage, ...]:
    """The paragraphs of prose in a message, each with the doubt about its author."""
    found = [*_paragraphs(text)]
    whole = _about_message(found, text)
    before = ""
    doubts = []
    for one in found:
        doubts.append(_hidden(one.text) or whole or before or _about(one))
        before = before or _leads_on(one.text)
    spoken_of = False
    later: set[str] = set()
    for place in range(len(found) - 1, -1, -1):
        words = _rare_words(found[place].text)
        if not doubts[place] and (spoken_of or words & later):
            doubts[place] = "what follows may speak of it as a text"
        if not doubts[place] and len(found) > 1 and _EMPOWERS.search(found[place].text):
            doubts[place] = (
                "it gives others power or lifts a check, and may be another author's text"
            )
        spoken_of = spoken_of or not _moves_on(found[place].text)
        later |= words
    return tuple(Passage(one.text, doubt) for one, doubt in zip(found, doubts, strict=True))


def prose(text: str) -> str:
    """All prose, doubtful or not, for an assistant's message, which contains no pasted text."""
    return _ends("\n\n".join(one.text for one in _paragraphs(text)))


def unquoted(sentence: str) -> str:
    """The sentence with its quotations masked, because a cue inside them does not count."""
    return _QUOTED.sub("“…”", sentence)


def unreported(sentence: str) -> str:
    """The sentence without what it says others said: `she wrote "…"`."""
    return _REPORTED.sub("“…”", sentence) if _REPORTS.search(sentence) else sentence


def _paragraphs(text: str) -> Iterator[_Paragraph]:
    """Split at blank lines, at text that is not prose, and after a line that asks or introduces."""
    # Clients put their own tags before the person's words; an HTML page is pasted.
    pasted = _HTML.search(text) is not None
    text = _FENCED.sub(f"\n{_FENCE}\n", text)
    for pattern in (_COMMENT, _TAGGED, _BARE_TAG):
        text = pattern.sub("\n\n", text)
    lines = _unwrapped(_OBJECT.sub("“…”", text).split("\n"))
    chat = sum(_SPEAKER.match(line) is not None for line in lines) >= 2
    kept: list[str] = []
    for line in (*lines, ""):
        document = _DOCUMENT.match(line) is not None
        foreign = not document and _foreign(line, chat=chat)
        titled = bool(kept) and _TITLE.match(kept[-1]) is not None and not BULLET.match(line)
        # Prose before a fence or a quotation is the person's; a log or a chat may begin as prose.
        touching = pasted or (foreign and not _BOUNDED.match(line))
        if kept and (document or foreign or titled or not line.strip()):
            yield _Paragraph("\n".join(kept).strip(), touching)
            kept = []
        pasted = pasted or foreign
        if document:
            return
        if foreign or not line.strip():
            continue
        introduces = _LEAD_IN.match(line) is not None
        asks = inquires(line)
        if asks and kept:
            yield _Paragraph("\n".join(kept).strip(), pasted)
            kept = []
        kept.append(line)
        if introduces or asks:
            yield _Paragraph("\n".join(kept).strip(), pasted)
            kept = []
        if introduces:
            return


def _unwrapped(lines: Sequence[str]) -> list[str]:
    """Join lines that an editor wrapped at a column."""
    made: list[str] = []
    block: list[str] = []
    for line in (*lines, ""):
        if line.strip() and not (_NOT_SPEECH.match(line) or _DOCUMENT.match(line)):
            block.append(line.rstrip())
            continue
        width = max(map(len, block), default=0)
        last = ""
        for part in block:
            if _NARROWEST <= width <= _WIDEST and _broken(last, part, width):
                made[-1] += f" {part.lstrip()}"
            else:
                made.append(part)
            last = part
        made.append(line)
        block = []
    return made[:-1]


def _broken(line: str, following: str, width: int) -> bool:
    """Whether the line was wrapped here because the next word did not fit."""
    words = line.split()
    if not words or BULLET.match(following) or line.endswith((".", "!", "?", ":", "…", "？", "：")):
        return False
    first = following.split()[0]
    goes_on = not first[0].isupper() or line.endswith(",") or words[-1].lower() in _small()
    return len(line) + 1 + len(first) > width and goes_on and not inquires(line)


def _foreign(line: str, *, chat: bool) -> bool:
    if _NOT_SPEECH.match(line) or _INDENTED.match(line):
        return True
    return chat and _SPEAKER.match(line) is not None


def _about_message(found: Sequence[_Paragraph], text: str) -> str:
    """A doubt about a whole message."""
    if _LETTER.search(text):
        return "it stands in a letter"
    # The last words may follow a document that was cut off.
    tail = _FENCED.sub("", text).rstrip().rpartition("\n\n")[2].strip()
    cut_off = bool(found) and tail not in ("", found[-1].text) and "\n\n" in text
    return "what follows may speak of it as a text" if cut_off and not _moves_on(tail) else ""


def _leads_on(paragraph: str) -> str:
    """The doubt that a paragraph casts on all later ones; a mere "thanks, that works" casts none."""
    if "?" in paragraph or inquires(paragraph):
        return "it follows a question, and may be what the question is about"
    if _INTRODUCES.search(paragraph) or _TEXT_WORK.search(paragraph):
        return "it follows an introduction, and may be another author's text"
    if {word.lower() for word in _WORD.findall(paragraph)} <= ACKNOWLEDGES:
        return ""
    return "it is not in the first paragraph, and may be another author's text"


def _about(one: _Paragraph) -> str:
    """A doubt about one paragraph by itself."""
    if one.pasted:
        return "it stands beside code, a log or a chat"
    if _MEANING.search(one.text):
        return "it asks what a text means"
    # "Can you rename it? From now on …" is the person's; "Tired of slow builds? …" may be pasted.
    if _OPENING_QUESTION.match(one.text) and not _TASK.match(one.text):
        return "it follows a question, and may be what the question is about"
    return (
        ""
        if _plainly_spoken(one.text)
        else "it stands beside sentences that may be another author's"
    )


# "Always use tabs. The linter is strict."
_SHORT_REASON = re.compile(
    r"(?:the|our|my|it)(?: \w+)? (?:is|are|isn't|aren't)(?: (?:very|quite|really|too|so))? \w+[.!]?",
    re.I,
)


def _plainly_spoken(paragraph: str) -> bool:
    """Whether the sentences read like a person who speaks to an assistant."""
    said = [part.strip() for part in _SENTENCE_END.split(paragraph) if part.strip()]
    if any(_is_personal(part) for part in said):
        return True
    tasks = (_ANYBODYS, _TASK)
    if len(said) == 2 and _ANYBODYS.match(said[0]) and _SHORT_REASON.fullmatch(said[1]):
        return True
    return len(said) < 2 or all(any(kind.match(part) for kind in tasks) for part in said)


def _is_personal(sentence: str) -> bool:
    if _ABOUT_MEMORY.match(sentence):
        return True
    if {word.lower() for word in _WORD.findall(sentence)} <= ACKNOWLEDGES:
        return True
    return _PERSONAL.search(sentence) is not None and not _ANYBODYS.match(sentence)


def _moves_on(paragraph: str) -> bool:
    """Whether it is an independent task or mere thanks, and so not about the paragraph before it."""
    words = _WORD.findall(paragraph)
    if {word.lower() for word in words} <= ACKNOWLEDGES:
        return "?" not in paragraph
    about = (_MEANING, _TEXT_WORK, _INTRODUCES, _POINTS)
    return (
        len(words) >= _FEWEST_WORDS
        and _TASK.match(paragraph) is not None
        and not any(sign.search(paragraph) for sign in about)
    )


def _rare_words(text: str) -> set[str]:
    """Rare words, which recur only where the same thing is meant."""
    return {word for word in map(str.lower, _WORD.findall(text)) if len(word) > 2} - _usual()


@cache
def _small() -> frozenset[str]:
    """Function words, which do not end a sentence."""
    return frozenset((*SMALL, *(word for name in _SPOKEN for word in STOP_WORDS[name])))


@cache
def _usual() -> frozenset[str]:
    return _small() | ALWAYS | OPENINGS | ACKNOWLEDGES


def _hidden(text: str) -> str:
    """A doubt about characters that people do not type: invisible ones, mixed scripts in a word."""
    if _ZERO_WIDTH.search(text):
        return "it holds invisible characters"
    if not text.isascii() and any(_mixed(word) for word in _WORD.findall(text)):
        return "it mixes letters that only look alike"
    return ""


def _mixed(word: str) -> bool:
    if word.isascii():
        return False
    scripts = {unicodedata.name(char, "").partition(" ")[0] for char in word}
    return "LATIN" in scripts and bool(
        scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "FULLWIDTH", "MATHEMATICAL"}
    )


def _ends(text: str) -> str:
    """The first and last paragraph of a very long text, where people speak around pasted text."""
    if len(text) <= LONGEST_SPEECH:
        return text
    paragraphs = [part for part in re.split(r"\n\s*\n", text) if part.strip()]
    around = (paragraphs[0], paragraphs[-1]) if len(paragraphs) > 1 else ()
    return "\n\n".join(part for part in around if len(part) <= LONGEST_SPEECH)
