"""Does a sentence speak of the person, or of this project? Decided by its type and its words. Pure.

A memory about the person is shown in every project they open, so that it needs a sign of its own
(“I prefer …”, “answer in …”) and nothing that ties it to one project. In doubt it stays here.
"""

from __future__ import annotations

import re

from reverie.keeper.draft import infer_type
from reverie.memory.scopes import OwnScope
from reverie.memory.taxonomy import MemoryType

# What only means something here: the project and its people, or a thing that belongs to it.
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

# A path, a file, an address, a command, a name in code: all of these exist in one project.
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

# The person speaks of themselves, or an agent notes it of them.
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

# How they want to be spoken to and worked with, whatever the work is.
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
    """`person` for what is theirs in every project, `project` for the rest and in doubt."""
    kind = type_ or infer_type(text)
    if kind not in ("user", "feedback") or _HERE.search(text) or _THING.search(text):
        return "project"
    # Of feedback, “always use spaces” may be meant for this project alone; “keep answers short” is not.
    signs = _SELF.search(text) or (kind == "feedback" and _MANNER.search(text))
    return "person" if signs else "project"
