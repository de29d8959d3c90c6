"""From a person's sentence to a memory: its type, title and one-line description. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from reverie.memory.taxonomy import MemoryType

LONGEST_TITLE = 70
LONGEST_DESCRIPTION = 180

# Tried in order; the first that speaks decides. Precision before recall: `project` is what is left.
_SIGNS: tuple[tuple[MemoryType, re.Pattern[str]], ...] = (
    (
        "reference",
        re.compile(
            r"https?://|\b(?:dashboard|runbook|wiki|tracked in|documented (?:in|at)"
            r"|(?:docs?|documentation|code|config|notes?|tickets?|issues|designs?|specs?|secrets|keys|logs) lives? (?:in|at)"
            r"|slack channel|linear|jira|grafana|confluence|notion|issue tracker|mailing list"
            r"|dokumentiert (?:in|im)|documentée?s? dans|documentad[oa]s? en)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "feedback",
        re.compile(
            r"^(?:please )?(?:don'?t|do not|never|always|stop|avoid|use|prefer|keep|make sure|ask)\b"
            r"|\bfrom now on,? (?:please )?(?:(?:don'?t|do not|never|always) )?(?:use|prefer|keep|run|write|answer|ask"
            r"|reply|call|put|make|stop|avoid|add|commit|check|explain|show|tell|test|name|format|you|i want)\b"
            r"|\b(?:instead of|next time|yes,? exactly|i(?:'d| would) (?:like|prefer|rather)"
            r"|i want you to|you should|when you)\b"
            r"|^(?:bitte )?(?:nie(?:mals)?|immer|verwende|benutze|nutze|antworte|schreib[e]?|vermeide|frag[e]?|halte|erkläre?)\b"
            r"|^(?:s['’]il (?:te|vous) plaît,? |stp,? )?(?:ne |n['’])?(?:jamais|toujours|utilise[sz]?|réponds|écris|évite[sz]?|explique[sz]?|demande[sz]?)\b"
            r"|^(?:por favor,? )?(?:(?:no|nunca|siempre) )?(?:uses|usa|responde|respóndeme|escribe|evita|explica|pregunta|mantén)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "user",
        re.compile(
            r"\b(?:i am|i'm|i work|i've been|i have been|i know|i don'?t know|i live|i like|i prefer"
            r"|my (?:name|role|job|background|team|title|favou?rite|pronouns|time ?zone|wife|husband|partner|son|daughter"
            r"|kids?|children|sister|brother|mum|mom|mother|dad|father|parents|family|dog|cat|birthday|doctor|dentist|hobby)"
            r"|ich (?:bin|heiße|arbeite|wohne|lebe|mag|bevorzuge|möchte|spreche|kenne)"
            r"|meine? (?:name|rolle|beruf|job|frau|mann|sohn|tochter|kinder|schwester|bruder|mutter|vater|familie|hund|katze|geburtstag)"
            r"|je (?:suis|m['’]appelle|travaille|vis|préfère|parle|connais)|j['’](?:habite|aime|adore|ai)"
            r"|m(?:on|a|es) (?:nom|rôle|métier|travail|femme|mari|fils|fille|enfants|sœur|soeur|frère|mère|père|famille|chien|chat|anniversaire)"
            r"|soy|me llamo|trabajo (?:como|en|de)|vivo en|me gustan?|prefiero|hablo"
            r"|mis? (?:nombre|papel|trabajo|mujer|marido|hijos?|hijas?|hermanas?|hermanos?|madre|padre|familia|perro|gato|cumpleaños))\b",
            re.IGNORECASE,
        ),
    ),
)

_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is not saved yet."""

    name: str
    description: str
    type: MemoryType
    body: str

    @property
    def claim(self) -> str:
        """What is compared with other memories: the text, or the line it is found by."""
        return self.body or self.description


def infer_type(text: str) -> MemoryType:
    return next((kind for kind, sign in _SIGNS if sign.search(text)), "project")


def draft(
    text: str,
    *,
    type_: MemoryType | None = None,
    name: str | None = None,
    description: str | None = None,
) -> Draft:
    """Fill in what the person did not say; their own words are the body."""
    body = text.strip()
    first = _first_sentence(body)
    return Draft(
        name=_cut(name or first.rstrip(".!?。"), LONGEST_TITLE),
        description=_cut(description or first, LONGEST_DESCRIPTION),
        type=type_ or infer_type(body),
        body=body,
    )


def _first_sentence(text: str) -> str:
    plain = re.sub(r"^[#>*\-\s]+", "", text)
    return " ".join(_SENTENCE.split(plain, maxsplit=1)[0].split())


def _cut(text: str, longest: int) -> str:
    """At a word, with a sign that there is more."""
    if len(text) <= longest:
        return text
    kept = text[: longest - 1].rpartition(" ")[0] or text[: longest - 1]
    return f"{kept}…"
