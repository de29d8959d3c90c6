"""Ask a model with and without memories: one message a question, on a copy of the store, under a cap."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core.messages import Text, new_message
from reverie.core.request import Head, Options, Request
from reverie.core.usage import Usage
from reverie.learning.dreaming.facts import values
from reverie.models.metered import MeteredModel
from reverie.ports import complete
from reverie.recall.attachment import Surfaced
from reverie.recall.service import choose_embedder, open_ranker, recall_for
from reverie.recall.usage import uncounted
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from reverie.ports import Model
    from reverie.recall.pipeline import Recall

PURPOSE = "impact"
MOST_OUTPUT = 600

SYSTEM = (
    "Answer the person's last message in a few sentences, as their coding assistant. Use what stands "
    "in the message and nothing else. You cannot run tools here: name the paths, commands and values "
    "you would use. If you do not know, say: I don't know."
)

_UNKNOWN = re.compile(
    r"\b(?:i\s+(?:do\s+not|don['’]t)\s+(?:know|have)|not\s+(?:sure|known|given|mentioned|stated)|"
    r"no\s+information|unknown|cannot\s+(?:tell|say)|can['’]t\s+(?:tell|say))\b",
    re.IGNORECASE,
)
_PATH = re.compile(
    r"(?<![\w/.-])(?:\.{0,2}/)?(?:[\w.-]+/)+[\w.-]+\w|\b[\w-]+\.(?:py|js|ts|md|toml|ya?ml|json|sql|sh|go|rs)\b"
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's reply and what it took."""

    text: str
    usage: Usage = Usage()

    @property
    def abstains(self) -> bool:
        return not self.text.strip() or bool(_UNKNOWN.search(self.text))


def items(text: str) -> frozenset[str]:
    """What a text can be checked by: paths, commands in code marks, numbers, addresses, names."""
    found = {
        one.partition(":")[2] if one.startswith(("url:", "code:")) else one for one in values(text)
    }
    return frozenset({one.casefold() for one in (*found, *_PATH.findall(text)) if len(one) > 1})


def share_of(reply: str, wanted: frozenset[str]) -> float:
    """The share of the wanted items that a reply names."""
    plain = " ".join(reply.split()).casefold()
    found = items(reply)
    return sum(one in found or one in plain for one in wanted) / len(wanted) if wanted else 0.0


@asynccontextmanager
async def open_model(app: Workspace, name: str, cap: float | None) -> AsyncIterator[Model]:
    """A model whose calls are on the ledger and together cost no more than the cap."""
    model = MeteredModel(
        app.bare_model(name), app.ledger, app.caps(PURPOSE), app.clock, PURPOSE, PURPOSE, most=cap
    )
    try:
        yield model
    finally:
        await model.aclose()


async def ask(model: Model, text: str, *, system: str = SYSTEM) -> Answer:
    options = Options(max_tokens=MOST_OUTPUT)
    head = Head(model.name, (Text(system),), (), options)
    reply = await complete(model, Request(head, (new_message("user", Text(text)),)))
    return Answer(reply.text, reply.usage)


@contextmanager
def recall_on_copy(app: Workspace) -> Iterator[Recall]:
    """Recall over a copy of the memories: nothing that is asked counts as a use or changes a file."""
    with tempfile.TemporaryDirectory(prefix="reverie-impact-") as folder:
        copy = Path(folder) / "memory"
        _copied(app.memory_location.directory, copy)
        other = Workspace.open(
            app.working_folder,
            home=_copied_home(app, Path(folder)),
            overrides=(*app.overrides, f"memory_directory={copy}"),
            clock=app.clock,
        )
        memory = other.memory()
        with open_ranker(memory, app.clock, choose_embedder(app)) as ranker:
            recall = recall_for(other, memory, ranker, None, PURPOSE)
            recall.count = uncounted
            yield recall


def _copied(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns(".*", "*.sqlite*"))
    else:
        target.mkdir(parents=True)


def _copied_home(app: Workspace, folder: Path) -> Path:
    """A home with the memories about the person and nothing else."""
    home = folder / "home"
    home.mkdir()
    person = app.settings.home / "person" / "memory"
    if person.is_dir():
        _copied(person, home / "person" / "memory")
    return home


async def memories_for(recall: Recall, question: str, at: float) -> str:
    """The memories that recall would put beside a message; empty when none fit."""
    recall.surfaced = Surfaced(set(), 0)
    found = await recall.recollect(new_message("user", Text(question), at=at))
    return found.attachment.text if found.attachment else ""
