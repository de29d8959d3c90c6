"""A new memory on its way to be saved: its draft, inferred type and scope, and the outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import TypeAlias

from reverie.memory.format.revisions import Revision
from reverie.memory.format.taxonomy import MemoryType, OwnScope
from reverie.memory.format.topic import Scalar, Topic
from reverie.text.dates import DateChange
from reverie.text.likeness import Likeness


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A memory to save; everything but the text can be inferred."""

    text: str
    type: MemoryType | None = None
    name: str | None = None
    description: str | None = None
    supersedes: str | None = None
    source: tuple[str, ...] = ()
    origin: str = "user"
    even_if_known: bool = False
    # Retire the memory of which this is a newer value.
    replace: bool = False
    allow_excluded: bool = False
    # An imported memory, whose other keys are kept.
    original: Topic | None = None
    # The day it was said; an import without one keeps "tomorrow" as it is.
    said: date | None = None
    # When it is valid; inferred from its words if not given.
    valid_from: str | None = None
    valid_until: str | None = None
    # The scope to save it in; inferred from its words if not given.
    scope: OwnScope | None = None
    # Other words people will ask by.
    cues: tuple[str, ...] = ()
    # Taken from an instruction file: that the file says it is no reason to leave it out.
    from_instructions: bool = False
    # What a program notes about it.
    metadata: Mapping[str, Scalar] | None = None


@dataclass(frozen=True, slots=True)
class Related:
    """A memory similar to the one being saved: the same in other words, another value, a sibling."""

    file: str
    text: str
    likeness: Likeness
    certain: bool = False
    # Whether it only seems so: the words differ too much to tell.
    weighed: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A memory ready to save, and what was changed in it."""

    topic: Topic
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    related: tuple[Related, ...] = ()
    # The memory it replaces: given by the caller, or inferred from its words.
    replaces: str | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """A saved memory, with what was changed in it, so that the user can object."""

    topic: Topic
    revision: Revision
    dates: tuple[DateChange, ...] = ()
    secrets: tuple[str, ...] = ()
    superseded: str | None = None
    # Similar memories, which were not changed.
    related: tuple[Related, ...] = ()


@dataclass(frozen=True, slots=True)
class Declined:
    """Why nothing was saved; `existing` is the memory that already says it."""

    reason: str
    advice: str = ""
    existing: str | None = None


Outcome: TypeAlias = Remembered | Declined

LONGEST_TITLE = 70
LONGEST_DESCRIPTION = 180

# Tried in order; the first match decides. Precision before recall: `project` is the default.
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

# Not after "Dr." and similar, nor after the day of a date ("4. August").
_SENTENCE = re.compile(
    r"(?<=[.!?。！？])(?<!\b\d\.)(?<!\b\d\d\.)(?<!\b[DMS]r\.)(?<!\bM[sme]\.)(?<!\bM\.)(?<!\bSt\.)"
    r"(?<!\bNr\.)(?<!\bMrs\.)(?<!\bMme\.)(?<!\bSra\.)(?<!\bProf\.)\s+|\n+"
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is not saved yet."""

    name: str
    description: str
    type: MemoryType
    body: str

    @property
    def claim(self) -> str:
        """The text to compare with other memories: the body, or else the description."""
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
    """Infer what is not given; the text is the body."""
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
    """Cut at a word and end with an ellipsis."""
    if len(text) <= longest:
        return text
    kept = text[: longest - 1].rpartition(" ")[0] or text[: longest - 1]
    return f"{kept}…"


# Words that refer to the project, its people, or a part of it.
_HERE = re.compile(
    r"\b(?:we|we're|we've|we'll|us|our|ours|here"
    r"|(?:this|that|the|these|current|each|every) (?:\w+ )?(?:repo|repository|project|codebase|code base|app|application"
    r"|package|module|library|branch|workspace|monorepo|folder|directory|file|script|product|sprint|release|milestone"
    r"|ticket|issue|task|pr|pull request|test suite|build|pipeline|database|schema|table|api|endpoint|service|server"
    r"|cluster|backend|frontend|website|site|client|customer)s?"
    r"|(?:repo|project)(?:'s|-wide|-specific)"
    r"|staging|production|prod|localhost|changelog|readme|makefile|dockerfile|ci"
    r"|deploy(?:s|ed|ing|ment|ments)?|migrations?|rollout|hotfix|on[ -]call|standup|freeze"
    r"|until (?:then|the|\d)|deadline"
    r"|wir|uns|unsere?[mnrs]?|hier|dieses? (?:repo|projekt|modul|datei)|in diesem (?:repo|projekt)"
    r"|nous|notre|nos|ici|ce(?:tte)? (?:dépôt|projet|module|fichier)"
    r"|nosotros|nuestr[oa]s?|aquí|est[ea] (?:repositorio|proyecto|módulo|archivo))\b",
    re.IGNORECASE,
)

# A path, file, address, command or name in code belongs to one project.
_THING = re.compile(
    r"https?://|`[^`]+`"
    r"|(?:^|[\s(\"'])(?:~|\.{1,2})?/[\w.-]+"
    r"|\b[\w-]+/[\w./-]*\w"
    r"|\b[\w-]+\.(?:py|pyi|js|jsx|ts|tsx|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|swift|php|sh|sql|md|rst|txt|json|toml"
    r"|ya?ml|ini|cfg|env|lock|html|css|scss|vue|ipynb|tf|proto|xml|csv)\b"
    r"|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\w\(\)"
    r"|\b[A-Z]{2,}-\d+\b|#\d+\b|:\d{2,5}\b|\bport \d+"
    r"|\b(?:make|npm|pnpm|yarn|cargo|pip|uv|poetry|docker|kubectl|terraform|pytest|tox|gradle|mvn|bazel) "
    r"(?:run |test|check|build|install|lint|dev|up|apply)",
)

# The user speaks of themselves, or an agent notes something about them.
_SELF = re.compile(
    r"\b(?:i am|i'm|i've|i have|i had|i know|i don'?t know|i (?:do not|never|always|often|usually|rarely|only) "
    r"|i work (?:as|in|from|at|with|for)|i live|i come from|i speak|i read|i learn|i like|i love|i hate|i dislike"
    r"|i prefer|i find|i use|i write|i think in|i(?:'d| would) (?:like|prefer|rather)|i want|i need|i expect"
    r"|call me|address me"
    r"|(?:the )?(?:user|person) (?:is an?|prefers|likes|dislikes|hates|wants|works as|lives in|speaks|knows)"
    r"|my (?:\w+ )?(?:name|role|job|background|title|profession|pronouns?|time ?zone|language|native language|mother tongue"
    r"|favou?rite|preference|preferred|experience|editor|keyboard|hobby|hobbies|eyesight|accessibility|style|level"
    r"|wife|husband|partner|sons?|daughters?|kids?|children|sisters?|brothers?|mum|mom|mother|dad|father|parents|family"
    r"|dogs?|cats?|birthday|doctor|dentist)"
    r"|ich (?:bin|heiße|arbeite|wohne|lebe|mag|bevorzuge|möchte|will|spreche|kenne)"
    r"|meine? (?:name|rolle|beruf|frau|mann|sohn|tochter|kinder|schwester|bruder|mutter|vater|familie|hund|katze|geburtstag)"
    r"|je (?:suis|m['’]appelle|travaille|vis|préfère|parle|connais|veux|voudrais)|j['’](?:habite|aime|adore)"
    r"|m(?:on|a|es) (?:nom|rôle|métier|femme|mari|fils|fille|enfants|sœur|soeur|frère|mère|père|famille|chien|chat|anniversaire)"
    r"|soy|me llamo|trabajo como|vivo en|me gustan?|prefiero|hablo|quiero"
    r"|mis? (?:nombre|papel|mujer|marido|hijos?|hijas?|hermanas?|hermanos?|madre|padre|familia|perro|gato|cumpleaños))\b",
    re.IGNORECASE,
)

# How the user wants an assistant to communicate and work, in any project.
_MANNER = re.compile(
    r"\b(?:answers?|repl(?:y|ies)|your responses?|explanations?|explain|your summar(?:y|ies)"
    r"|(?:talk|speak|write) to me|(?:tell|ask|warn|remind|show|teach) me"
    r"|be (?:more |less )?(?:brief|concise|terse|verbose|wordy|direct|polite|blunt|formal)"
    r"|antwort(?:e|en)|erkläre?|erklärungen|fass dich kurz|réponses?|réponds|explique[sz]?|explications?|sois"
    r"|respuestas?|responde|respóndeme|explica|explicaciones|sé breve"
    r"|emojis?|bullet points?|jargon|small talk|apologi[sz]\w*|flatter\w*|praise)\b",
    re.IGNORECASE,
)


def infer_scope(text: str, type_: MemoryType | None = None) -> OwnScope:
    """`person` for what applies to the user in every project, else (and in doubt) `project`."""
    kind = type_ or infer_type(text)
    if kind not in ("user", "feedback") or _HERE.search(text) or _THING.search(text):
        return "project"
    # Feedback such as “always use spaces” may be for this project only; “keep answers short” is not.
    signs = _SELF.search(text) or (kind == "feedback" and _MANNER.search(text))
    return "person" if signs else "project"
