"""Changes to memories: edit, pin, replace, restore, forget, each based on the version that was shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.api.forgetting import Forgetting
from reverie.errors import InputError, WriteConflict
from reverie.memory.changes.draft import Declined
from reverie.memory.format import topic as topics
from reverie.memory.format.revisions import version as version_of
from reverie.text.figures import counted
from reverie.web.memory_pages import read_memory
from reverie.web.open_project import PERSON, page, then
from reverie.workspace.changes import base_of, save_edit
from reverie.workspace.handles import required

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.memory.opening import OpenMemory
    from reverie.web.open_project import OpenProject, PageRequest


def change(project: OpenProject, request: PageRequest) -> Response:
    """Carry out one action on one memory; a change made meanwhile is shown next to it, never overwritten."""
    label, action = request.path["label"], request.text("do")
    memory, file = project.part(label)
    if action == "edit":
        return _edit(project, request, memory, file)
    actions: dict[str, Callable[[OpenProject, PageRequest, OpenMemory, str], Response]] = {
        "pin": _pin,
        "unpin": _pin,
        "replace": _replace,
        "restore": _restore,
        "forget": _forget,
        "forget everywhere": _forget_everywhere,
    }
    if action not in actions:
        raise InputError(f"{action!r} is nothing that can be done with a memory")
    stored = memory.keeper.require(file)
    if request.text("version") != stored.version:
        return _conflict(project, request, label, topics.render(stored.topic), None)
    return actions[action](project, request, memory, file)


def _edit(project: OpenProject, request: PageRequest, memory: OpenMemory, file: str) -> Response:
    label = memory.label(file)
    text = request.text("text").replace("\r\n", "\n")
    data = text.encode("utf-8", "surrogateescape")
    try:
        edited = save_edit(memory, base_of(memory, file, request.text("version")), data, PERSON)
    except WriteConflict as conflict:
        return _conflict(project, request, label, conflict.current, text)
    except InputError as error:
        shown = read_memory(project, label) | {"text": text, "version": request.text("version")}
        return page(project, request, "memory/edit.html", status=400, **shown, problem=str(error))
    done = f"Saved as {edited.revision.short}" if edited.revision else "Nothing changed"
    notes = [f"note: {one}" for one in edited.topic.warnings]
    return then(project, f"/memory/{label}", "; ".join([done, *notes]))


def _conflict(
    project: OpenProject, request: PageRequest, label: str, current: bytes | None, mine: str | None
) -> Response:
    """Show both versions side by side; saving again is based on the current one."""
    theirs = None if current is None else current.decode("utf-8", "replace")
    return page(
        project,
        request,
        "memory/conflict.html",
        status=409,
        label=label,
        theirs=theirs,
        mine=mine,
        action=request.text("do"),
        version="" if current is None else version_of(current),
    )


def _pin(project: OpenProject, request: PageRequest, memory: OpenMemory, file: str) -> Response:
    pinned = request.text("do") == "pin"
    memory.keeper.pin(file, PERSON, pinned=pinned)
    return then(project, f"/memory/{memory.label(file)}", "Pinned" if pinned else "Unpinned")


def _replace(project: OpenProject, request: PageRequest, memory: OpenMemory, file: str) -> Response:
    wanted = request.text("by").strip()
    if not wanted:
        raise InputError("say which memory replaces it: a file name, an id, or words of its title")
    newer_memory, newer = required(project.app, wanted)
    if newer_memory.place != memory.place:
        raise InputError(
            f"{memory.label(file)} and {wanted} are of different scopes; move one first"
        )
    outcome = memory.keeper.retire(file, newer, PERSON)
    if isinstance(outcome, Declined):
        raise InputError("; ".join(filter(None, (outcome.reason, outcome.advice))))
    note = f"Replaced by {memory.label(newer)}; both are kept"
    return then(project, f"/memory/{memory.label(file)}", note)


def _restore(project: OpenProject, request: PageRequest, memory: OpenMemory, file: str) -> Response:
    memory.keeper.restore(file, PERSON)
    return then(project, f"/memory/{memory.label(file)}", "It is valid again")


def _forget(project: OpenProject, request: PageRequest, memory: OpenMemory, file: str) -> Response:
    revision = memory.keeper.forget(file, PERSON)
    note = f"Forgot {memory.label(file)}; history still has it"
    path = f"/history/{revision.short}" if revision else "/memory"
    return then(project, path, note)


def _forget_everywhere(
    project: OpenProject, request: PageRequest, memory: OpenMemory, file: str
) -> Response:
    forgetting = Forgetting(project.app, memory, file)
    # Only files that the page listed: a path in a form must not give access to any file.
    chosen = set(request.texts("also"))
    also = [one.path for one in forgetting.elsewhere() if str(one.path) in chosen]
    done = forgetting.run(PERSON, also)
    return then(project, f"/receipt/{project.keep_note(done)}")


def receipt(project: OpenProject, request: PageRequest) -> Response:
    """What was removed from each place, after forgetting a memory everywhere."""
    done = project.note(request.path["key"])
    if done is None:
        raise InputError("this receipt is gone: receipts are shown until `reverie ui` ends")
    home = project.app.settings.person_home
    return page(project, request, "memory/receipt.html", receipt=done, home=Path(home))


# --- several at once ---


def bulk(project: OpenProject, request: PageRequest) -> Response:
    """Pin, unpin or forget several memories, except those that changed since they were listed."""
    stamps = {entry.file: f"{entry.mtime.timestamp():.6f}" for entry in project.entries()}
    chosen = [one.rpartition("@") for one in request.texts("items")]
    fresh = [label for label, _, stamp in chosen if stamps.get(label) == stamp]
    action = request.text("do")
    if not chosen:
        raise InputError("mark at least one memory first")
    if action == "forget":
        _forget_all(project, fresh)
    elif action in ("pin", "unpin"):
        for label in fresh:
            memory, file = project.part(label)
            memory.keeper.pin(file, PERSON, pinned=action == "pin")
    else:
        raise InputError(f"{action!r} is nothing that can be done with several memories")
    verb = {"forget": "Forgot", "pin": "Pinned", "unpin": "Unpinned"}[action]
    note = f"{verb} {counted(len(fresh), 'memory', 'memories')}"
    if left := len(chosen) - len(fresh):
        note += f"; {left} changed since the list was shown and {'was' if left == 1 else 'were'} left alone"
    return then(project, "/memory", note)


def _forget_all(project: OpenProject, labels: list[str]) -> None:
    """One change for each scope, so that one undo brings all of them back."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for label in labels:
        memory, file = project.part(label)
        files[memory.scope].append(file)
    for part in project.memory.parts:
        if files[part.scope]:
            part.keeper.forget_all(files[part.scope], PERSON)
