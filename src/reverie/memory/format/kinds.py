"""Infers the type of a sentence, and whether it belongs to the person or to the project.

The words and their order are signs; the weight of each sign for each reading is data
(`kinds.json`), fitted by `benchmarks/fit_kinds.py` on sentences people would ask an assistant to
remember.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from reverie.memory.format.taxonomy import MemoryType, OwnScope

# What a sentence may be: a fact about the person, how to work for them anywhere, how to work here, a
# fact of this project, where something is found.
READINGS = ("person", "manner", "rule", "fact", "place")
_TYPES: Mapping[str, MemoryType] = {
    "person": "user",
    "manner": "feedback",
    "rule": "feedback",
    "fact": "project",
    "place": "reference",
}
# Memories of the person are recalled in every project: in doubt a sentence stays in this one.
SURE_OF_PERSON = 0.6
# Longer texts are read by their beginning.
_MOST_WORDS = 60
# With fewer known signs than a sentence of two words has, assume a fact of the project.
_FEWEST_SIGNS = 3
_WORD = re.compile(r"[^\W\d_]+|\d+|[?!:/`@#]")
_CLAUSE = re.compile(r"[.!?;:,]\s+")
# A path, file, address, command or name in code.
_CODE = re.compile(
    r"`[^`]+`|(?:^|[\s(\"'])(?:~|\.{1,2})?/[\w.-]+|\b[\w-]+/[\w-]+/"
    r"|\b[\w-]+\.(?:py|pyi|js|jsx|ts|tsx|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|swift|php|sh|sql|md|rst|txt|json|toml"
    r"|ya?ml|ini|cfg|env|lock|html|css|scss|vue|ipynb|tf|proto|xml|csv)\b"
    r"|\b[a-z]+_[a-z_]+\b|\b[a-z]+[A-Z]\w*\b|\b[A-Z][a-z]+[A-Z]\w*\b|\w\(\)"
    r"|\b[A-Z]{2,}-\d+\b|#\d+\b|:\d{2,5}\b",
)
# A sentence that names a file or function stays in the project.
_FILE = re.compile(
    r"\b[\w-]+\.(?:py|js|jsx|ts|tsx|go|rs|rb|java|kt|c|h|cc|cpp|cs|swift|php|sh|sql|json|toml|ya?ml)\b|\w\(\)"
)
# "Ximena answers until noon": a name, then a verb of the third person.
_NAMED = re.compile(
    r"(?:(?:Dr|Mr|Mrs|Ms|Herr|Frau|Madame|Monsieur)\.? )?[A-ZÀ-Þ][a-zà-ÿ]+ [a-zà-ÿ]+(?:s|t|e|a)\b"
)
_ADDRESS = re.compile(r"https?://|\bwww\.")
# What may be "ours": "our staging box lives in Frankfurt" is of the project, "our daughter lives in Frankfurt" is not.
_CLASSES = {
    "work": """
        server servers box host cluster machine database db staging production preview environment environments
        build builds pipeline release releases deploy deploys deployment api endpoint endpoints backend frontend
        service services importer import migration migrations repo repository branch ticket tickets test tests
        index backup backups queue cache gateway app client clients customer customers supplier suppliers invoice
        invoices billing contract contracts team office warehouse workshop shop store plant depot project product
        department budget intern interns developers designers board dashboard runbook changelog
        testserver rechner datenbank umgebung lager werkstatt kunden kunde lieferant lieferanten rechnung rechnungen
        vertrag abteilung büro azubis projekt produkt firma filiale werk
        serveur serveurs base préproduction facture factures fournisseur fournisseurs équipe bureau
        atelier entrepôt dépôt contrat projet produit entreprise
        servidor servidores datos pruebas entorno factura facturas proveedor proveedores cliente clientes
        equipo oficina taller almacén contrato proyecto producto empresa tienda
    """,
    "family": """
        wife husband partner son daughter kid kids child children mother father mum mom dad parents brother
        sister grandma grandmother grandpa grandad grandfather aunt uncle cousin niece nephew cat dog pet
        flatmate flatmates girlfriend boyfriend neighbour neighbor
        frau mann sohn tochter kinder mutter vater eltern bruder schwester oma opa tante onkel cousine neffe
        nichte katze hund freundin freund nachbar nachbarin wg
        femme mari fils fille enfants mère père parents frère soeur sœur tante oncle mamie papi chat chien
        copine copain
        mujer marido hijo hija hijos niños madre padre padres hermano hermana abuela abuelo abuelos tía tío
        prima primo gato perro novia novio
    """,
}
_OWN_WORDS = """
    i i'm i've i'd i'll im me my mine myself ich mich mir mein meine meiner meinem meinen
    je j moi mon ma mes yo mi mis mí soy tengo estoy
"""
_OWN = frozenset(_OWN_WORDS.split())
# Words that mean something else in a title or in another language: "Frau Lenz", "team chat", "son équipe".
_AMBIGUOUS = frozenset({"frau", "mann", "chat", "son", "partner", "pet"})
_CLASS_OF = {word: name for name, words in _CLASSES.items() for word in words.split()}
_OUR_WORDS = """
    our unser unsere unserer unserem unseren notre nos nuestro nuestra nuestros nuestras
"""
_OURS = frozenset(_OUR_WORDS.split())
# How many words after "our" may name it.
_NEAR = 3
_LONG_WORD = 6


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight of each sign for each reading, and the offsets of the readings."""

    signs: Mapping[str, list[float]]
    offsets: list[float]


def signs_of(text: str) -> set[str]:
    """The words of a sentence, pairs of them, its first words, and what looks like code."""
    words = [
        "0" if word.isdigit() else word
        for word in _WORD.findall(text.casefold().replace("’", "'"))[:_MOST_WORDS]
    ]
    found = set(words)
    for word in words:
        if len(word) >= _LONG_WORD:
            found |= {f"{word[:4]}~", f"~{word[-3:]}"}
    found |= {f"{first} {second}" for first, second in pairwise(words)}
    found |= {f"^{' '.join(words[:count])}" for count in (1, 2)}
    found |= _ours(words)
    if not _OWN.isdisjoint(words):
        found.add("<my>")
    if any(_CLASS_OF.get(word) == "family" for word in found - _AMBIGUOUS):
        found.add("<family>")
    for clause in _CLAUSE.split(text.casefold())[1:]:
        if opening := _WORD.search(clause):
            found.add(f", {opening.group()}")
    if _NAMED.match(text):
        found.add("<name first>")
    if _CODE.search(text):
        found.add("<code>")
    if _ADDRESS.search(text):
        found.add("<address>")
    return found


def _ours(words: Sequence[str]) -> set[str]:
    """What is "ours": a thing of work or one of the family."""
    after = [words[at + 1 : at + 1 + _NEAR] for at, word in enumerate(words) if word in _OURS]
    return {f"<our {_CLASS_OF[word]}>" for near in after for word in near if word in _CLASS_OF}


def readings(text: str, weights: Weights | None = None) -> dict[str, float]:
    """The probability of each reading of a sentence; they add up to one."""
    weights = weights or _weights()
    known = [row for sign in signs_of(text) if (row := weights.signs.get(sign))]
    if len(known) < _FEWEST_SIGNS:
        return {name: float(name == "fact") for name in READINGS}
    scale = 1 / math.sqrt(len(known))
    sums = [
        offset + scale * sum(row[place] for row in known)
        for place, offset in enumerate(weights.offsets)
    ]
    shares = [math.exp(one - max(sums)) for one in sums]
    return {name: share / sum(shares) for name, share in zip(READINGS, shares, strict=True)}


def type_of(found: Mapping[str, float]) -> MemoryType:
    """The most probable type."""
    totals: dict[MemoryType, float] = {}
    for name, share in found.items():
        totals[_TYPES[name]] = totals.get(_TYPES[name], 0.0) + share
    return max(totals, key=lambda type_: totals[type_])


def share_of_person(found: Mapping[str, float]) -> float:
    """How probable it is that a sentence applies to the person in every project."""
    return found["person"] + found["manner"]


def infer_type(text: str) -> MemoryType:
    return type_of(readings(text))


def infer_scope(text: str, type_: MemoryType | None = None) -> OwnScope:
    """`person` for what applies to the user in every project, else (and in doubt) `project`."""
    if type_ in ("project", "reference") or _FILE.search(text):
        return "project"
    return "person" if share_of_person(readings(text)) > SURE_OF_PERSON else "project"


@cache
def _weights() -> Weights:
    data = json.loads(Path(__file__).with_name("kinds.json").read_text(encoding="utf-8"))
    return Weights(data["signs"], data["offsets"])
