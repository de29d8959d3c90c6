"""The four types of memory and the three scopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

MemoryType = Literal["user", "feedback", "project", "reference"]
Scope = Literal["private", "team"]
Origin = Literal["user", "assistant", "tool", "import", "team"]

ORIGINS: tuple[Origin, ...] = get_args(Origin)


@dataclass(frozen=True, slots=True)
class Kind:
    """One type of memory, as the prompt and the command line describe it."""

    type: MemoryType
    what: str
    when: str
    use: str
    examples: tuple[str, ...]
    scope: Scope
    scope_rule: str
    structured: bool = False


KINDS: tuple[Kind, ...] = (
    Kind(
        type="user",
        what="The person: role, aims, duties, what they know well and what is new to them, "
        "what they like. Never anything that judges them.",
        when="As soon as they let you know something about themselves.",
        use="To choose depth and wording: a database administrator and a designer "
        "want different answers to the same question.",
        examples=(
            "“I run the pharmacy desk, I only script on the side” "
            "→ explain tools in full, skip nothing about the domain.",
            "“Twenty years of Fortran, first week of Rust” → explain ownership, not numerics.",
        ),
        scope="private",
        scope_rule="always private",
    ),
    Kind(
        type="feedback",
        what="How they want you to work: what they corrected and what they approved, both. "
        "An agent that keeps corrections only grows timid and forgets what already worked.",
        when="“Not like that”, “leave that out” — and just as much “good, keep doing it”, "
        "or silence after you chose something unusual.",
        use="So that nobody has to tell you twice.",
        examples=(
            "“No retries around the payment call, we charged people double” "
            "→ payment calls are never retried; why: double charges in March 2026.",
            "“Good that you asked before deleting the fixtures” "
            "→ ask before deleting test data; why: it was praised when it was done.",
        ),
        scope="private",
        scope_rule="private; team only when it is a convention of the whole project",
        structured=True,
    ),
    Kind(
        type="project",
        what="Who does what, why and by when: decisions, incidents and deadlines "
        "that neither code nor git can tell. Dates are written out as dates.",
        when="When you hear it; work out the date behind “Tuesday” before you write.",
        use="To see the need behind a request. It goes stale quickly: "
        "the Why tells you whether it still holds.",
        examples=(
            "“The auditors come on Tuesday, no schema changes before that” "
            "→ no schema changes until the audit on 2026-11-24.",
            "“Mira wants the importer out of the monolith because of licence costs” "
            "→ the importer split is about licences, so cheap beats elegant.",
        ),
        scope="team",
        scope_rule="leans to team",
        structured=True,
    ),
    Kind(
        type="reference",
        what="Where things are kept outside the repository: trackers, dashboards, channels, papers.",
        when="When you learn that a place exists and what one finds there.",
        use="When that place, or what it holds, comes up.",
        examples=(
            "“Customer complaints end up in the HARBOR board” → complaints: board HARBOR.",
            "“The weekly numbers are in the finance wiki” → revenue figures: finance wiki.",
        ),
        scope="team",
        scope_rule="usually team",
    ),
)

TYPES: tuple[MemoryType, ...] = tuple(kind.type for kind in KINDS)


def parse_type(text: str) -> MemoryType | None:
    """One of the four types; None for anything else."""
    word = text.strip().lower()
    return next((known for known in TYPES if known == word), None)


def may_share(type_: MemoryType | None) -> bool:
    """Whether a memory of this type may be put in team memory at all."""
    return type_ != "user"


# Valid in one project, for the user in every project, or for all who work on the project.
MemoryScope = Literal["project", "person", "team"]
# Scopes that can be inferred; team memory must be requested explicitly.
OwnScope = Literal["project", "person"]

SCOPES: Final[tuple[MemoryScope, ...]] = get_args(MemoryScope)
OWN_SCOPES: Final[tuple[OwnScope, ...]] = get_args(OwnScope)

# Prefixes in the labels of memories of other scopes.
_FOLDERS: Final[dict[MemoryScope, str]] = {"person": "person", "team": "team"}
# Folders of a memory directory that are not part of its own memories.
APART: Final = (*_FOLDERS.values(), "logs")

# Remark on the origin of a memory for the model; none for the project's own.
SCOPE_ORIGINS: Final[dict[MemoryScope, str]] = {
    "project": "",
    "person": "about the person, known in every project",
    "team": "shared by the team",
}


def labelled(file: str, scope: MemoryScope) -> str:
    """A file's label: the name that commands and tools accept."""
    folder = _FOLDERS.get(scope)
    return file if folder is None else f"{folder}/{file}"


def split(label: str) -> tuple[MemoryScope, str]:
    """The scope and file name of a label."""
    first, _, rest = label.partition("/")
    scope = next((scope for scope, folder in _FOLDERS.items() if folder == first and rest), None)
    return ("project", label) if scope is None else (scope, rest)
