"""The Memory view: the list with filters, search and as-of, and the page of one memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from reverie.api.forgetting import Forgetting
from reverie.conversation import transcripts
from reverie.conversation.records import Said
from reverie.errors import InputError, TranscriptError
from reverie.memory.format import attachment
from reverie.memory.format import topic as topics
from reverie.memory.format.taxonomy import ORIGINS, SCOPES, TYPES, split
from reverie.recall import attachment as anchors
from reverie.recall.hits import read_hits
from reverie.recall.service import recall_as_of
from reverie.web.open_project import fragment, page

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.memory.format.manifest import ManifestEntry
    from reverie.memory.format.revisions import Revision
    from reverie.memory.format.topic import Topic
    from reverie.memory.opening import OpenMemory
    from reverie.web.open_project import OpenProject, PageRequest

A_PAGE = 50
MOST_HITS = 30
_MOST_CHANGES = 20

STATES: dict[str, Callable[[ManifestEntry, datetime], bool]] = {
    "current": lambda entry, now: entry.listed and not attachment.expired(entry.valid_until, now),
    "pinned": lambda entry, now: entry.pinned,
    "replaced": lambda entry, now: entry.superseded,
    "archived": lambda entry, now: entry.archived,
    "expired": lambda entry, now: attachment.expired(entry.valid_until, now),
    "broken": lambda entry, now: entry.problem is not None,
    "all": lambda entry, now: True,
}
AGES = {"a day": 1, "a week": 7, "a month": 30, "a year": 365}
FILTERS = ("type", "scope", "origin", "age", "state")


def listing(project: OpenProject, request: PageRequest) -> Response:
    """Every memory that fits the filters, or the results of a search with the reasons."""
    as_of = moment_of(request.query.get("as_of", ""))
    question = request.query.get("q", "").strip()
    chosen = {name: request.query.get(name, "") for name in FILTERS}
    number = max(1, request.number("page", 1))
    # Unless a state is chosen, a search also finds replaced and archived memories, with their mark.
    wanted = {**chosen, "state": chosen["state"] or "all"} if question else chosen
    hits = _hits(project, question, as_of, wanted) if question else None
    found = [] if question else _fitting(project, project.entries(as_of), wanted)
    rows = project.rows(found[(number - 1) * A_PAGE : number * A_PAGE])
    return page(
        project,
        request,
        "memory/list.html",
        rows=rows,
        total=len(found),
        number=number,
        pages=-(-len(found) // A_PAGE) or 1,
        hits=hits,
        question=question,
        chosen=chosen,
        choices={
            "type": TYPES,
            "scope": SCOPES,
            "origin": ORIGINS,
            "age": tuple(AGES),
            "state": tuple(STATES),
        },
        as_of=as_of.date().isoformat() if as_of else "",
        days=_days(project),
        today=project.now().date().isoformat(),
    )


def moment_of(day: str) -> datetime | None:
    """The end of a day in the address; InputError for anything that is no date."""
    if not day:
        return None
    try:
        return datetime.combine(date.fromisoformat(day), time.max).astimezone()
    except ValueError:
        raise InputError(f"{day!r} is not a date; write it like 2026-03-01") from None


def _fitting(
    project: OpenProject, entries: Sequence[ManifestEntry], chosen: dict[str, str]
) -> list[ManifestEntry]:
    """The entries that fit all filters, pinned first."""
    now = project.now()
    fits = STATES.get(chosen["state"] or "current", STATES["current"])
    oldest = now - timedelta(days=AGES.get(chosen["age"], 100_000))
    found = [
        entry
        for entry in entries
        if fits(entry, now)
        and chosen["type"] in ("", entry.type)
        and chosen["scope"] in ("", split(entry.file)[0])
        and entry.mtime >= oldest
    ]
    if chosen["origin"]:
        found = [entry for entry in found if project.origin_of(entry) == chosen["origin"]]
    return sorted(found, key=lambda entry: not entry.pinned)


def _hits(
    project: OpenProject, question: str, as_of: datetime | None, chosen: dict[str, str]
) -> dict[str, Any]:
    """The results of a search among the memories that fit the filters, best first, with the reasons."""
    if as_of is None:
        found = project.ranker.search(question, limit=MOST_HITS)
    else:
        found = recall_as_of(project.memory, question, as_of, MOST_HITS)
    shown = read_hits(project.app, found, question, as_of, memory=project.memory, ids={})
    keys = {one.hit.key for one in shown}
    if as_of is None:
        known: Sequence[ManifestEntry] = project.memory.topics.some(sorted(keys))
    else:
        known = [entry for entry in project.entries(as_of) if entry.file in keys]
    entries = {entry.file: entry for entry in _fitting(project, known, chosen)}
    kept = [one for one in shown if one.hit.key in entries]
    rows = [
        {"hit": one.hit, "mark": one.mark, "good": one.good, **row}
        for one, row in zip(kept, project.rows([entries[o.hit.key] for o in kept]), strict=True)
    ]
    return {
        "good": [row for row in rows if row["good"]],
        "weak": [row for row in rows if not row["good"]],
        "left_out": found.left_out,
        "notes": found.notes,
        "how": "words and meaning" if found.used_semantic else "words alone",
    }


def _days(project: OpenProject) -> int:
    """The number of days in the history: the length of the as-of slider."""
    firsts = [_first_change(part) for part in project.memory.parts]
    first = min((at for at in firsts if at), default=project.app.clock.now())
    return max(1, int((project.app.clock.now() - first) // 86_400) + 1)


def _first_change(memory: OpenMemory) -> float | None:
    created = memory.place.history
    with suppress(OSError):
        return created.joinpath("config").stat().st_ctime if created.is_dir() else None
    return None


# --- one memory ---


def one(project: OpenProject, request: PageRequest) -> Response:
    """One memory in full; with `?edit` its text to change, with `?forget` what forgetting would do."""
    label = request.path["label"]
    as_of = moment_of(request.query.get("as_of", ""))
    data = read_memory(project, label, as_of)
    if request.query.get("edit"):
        return page(project, request, "memory/edit.html", **data, problem="")
    if request.query.get("forget"):
        return page(
            project, request, "memory/forget.html", **data, elsewhere=_elsewhere(project, label)
        )
    return page(project, request, "memory/one.html", **data)


def read_memory(project: OpenProject, label: str, as_of: datetime | None = None) -> dict[str, Any]:
    """The data for the page of a memory."""
    memory, file = project.part(label)
    topic, version, changed = _read(memory, file, as_of)
    now = as_of or project.now()
    return {
        "label": label,
        "topic": topic,
        "version": version,
        "text": topics.render(topic).decode("utf-8", "replace"),
        "changed": changed,
        "age": attachment.words(changed, now) if changed else "",
        "term": attachment.term(topic.valid_from, topic.valid_until, now),
        "scope": memory.scope,
        "anchors": [(one, anchors.check([one], project.app.project.root)) for one in topic.anchors],
        "links": [(link, _target(project, memory, link)) for link in topic.linked],
        "linked_from": [] if as_of else list(_linked_from(project, label, topic)),
        "supersedes": [memory.label(file) for file in topic.supersedes],
        "superseded_by": memory.label(topic.superseded_by) if topic.superseded_by else "",
        "changes": _changes(memory, file),
        "uses": {
            kind: project.memory.use_counts(kind).get(label, 0) for kind in ("recalled", "used")
        },
        "as_of": as_of.date().isoformat() if as_of else "",
    }


def _read(
    memory: OpenMemory, file: str, as_of: datetime | None
) -> tuple[Topic, str, datetime | None]:
    if as_of is None:
        stored = memory.keeper.require(file)
        path = memory.place.directory / stored.topic.file
        with suppress(OSError):
            changed = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            return stored.topic, stored.version, changed
        return stored.topic, stored.version, None
    revision = memory.history.as_of(as_of)
    data = None if revision is None else memory.history.read(file, revision.id)
    if revision is None or data is None:
        raise InputError(f"{file} was not there on {as_of:%Y-%m-%d}")
    return topics.parse(data, file), "", datetime.fromtimestamp(revision.at, UTC)


def _changes(memory: OpenMemory, file: str) -> list[Revision]:
    """The last changes; in a large directory, without first looking for hand edits."""
    found = (
        map(memory.named, memory.history.log(file)) if memory.store.large else memory.changes(file)
    )
    return list(islice(found, _MOST_CHANGES))


def _names(label: str, topic: Topic) -> set[str]:
    file = split(label)[1]
    return {name.casefold() for name in (file, file.removesuffix(".md"), label, topic.name)}


def _target(project: OpenProject, memory: OpenMemory, link: str) -> str:
    """The label of the memory that a link means; empty when there is none."""
    for name in (link, f"{link}.md"):
        for label in (memory.label(name), name):
            if project.memory.topics.has(label):
                return label
    return ""


def _linked_from(project: OpenProject, label: str, topic: Topic) -> Iterator[str]:
    """The memories that link to this one; in a large directory only those a search finds."""
    wanted = _names(label, topic)
    if project.memory.store.large:
        stem = split(label)[1].removesuffix(".md")
        found = [hit.key for hit in project.ranker.search(stem, limit=MOST_HITS).hits]
        entries = project.memory.topics.some(found)
    else:
        entries = project.entries()
    for entry in entries:
        if entry.file != label and wanted & {link.casefold() for link in project.links_of(entry)}:
            yield entry.file


def _elsewhere(project: OpenProject, label: str) -> list[Any]:
    memory, file = project.part(label)
    return list(Forgetting(project.app, memory, file).elsewhere())


# --- where it came from ---


def source(project: OpenProject, request: PageRequest) -> Response:
    """The very messages a memory came from: `session#message`, or the whole session's first words."""
    session, _, message = request.query.get("of", "").partition("#")
    said = []
    problem = ""
    path = project.sessions().get(session)
    if path is None:
        problem = f"the session {session} is no longer there"
    else:
        try:
            records = transcripts.load(path).records
        except TranscriptError as error:
            problem, records = str(error), ()
        messages = [record.message for record in records if isinstance(record, Said)]
        said = [one for one in messages if message in ("", one.id)][:5]
        problem = problem or ("" if said else "this message is no longer in the transcript")
    return fragment("memory/source.html", said=said, problem=problem, session=session)
