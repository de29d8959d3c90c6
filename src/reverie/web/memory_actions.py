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
from reverie.web.desk import PERSON
from reverie.web.memory_pages import read_memory
from reverie.web.rendering import page, then
from reverie.workspace.editing import base_of, save_edit
from reverie.workspace.handles import required

if TYPE_CHECKING:
    from starlette.responses import Response

    from reverie.memory.format.revisions import Revision
    from reverie.memory.opening import OpenMemory
    from reverie.web.desk import Asked, Desk


def change(desk: Desk, asked: Asked) -> Response:
    """Carry out one action on one memory; what changed meanwhile is shown beside it, never overwritten."""
    label, action = asked.path["label"], asked.text("do")
    memory, file = desk.part(label)
    if action == "edit":
        return _edit(desk, asked, memory, file)
    actions: dict[str, Callable[[Desk, Asked, OpenMemory, str], Response]] = {
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
    if asked.text("version") != stored.version:
        return _conflict(desk, asked, label, topics.render(stored.topic), None)
    return actions[action](desk, asked, memory, file)


def _edit(desk: Desk, asked: Asked, memory: OpenMemory, file: str) -> Response:
    label = memory.label(file)
    text = asked.text("text").replace("\r\n", "\n")
    data = text.encode("utf-8", "surrogateescape")
    try:
        edited = save_edit(memory, base_of(memory, file, asked.text("version")), data, PERSON)
    except WriteConflict as conflict:
        return _conflict(desk, asked, label, conflict.current, text)
    except InputError as error:
        shown = read_memory(desk, label) | {"text": text, "version": asked.text("version")}
        return page(desk, asked, "memory/edit.html", status=400, **shown, problem=str(error))
    notes = [f"note: {one}" for one in edited.topic.warnings]
    return then(desk, f"/memory/{label}", "; ".join([_saved(edited.revision), *notes]))


def _conflict(
    desk: Desk, asked: Asked, label: str, current: bytes | None, mine: str | None
) -> Response:
    """Both versions side by side; saving again is based on the one that is there now."""
    theirs = None if current is None else current.decode("utf-8", "replace")
    return page(
        desk,
        asked,
        "memory/conflict.html",
        status=409,
        label=label,
        theirs=theirs,
        mine=mine,
        action=asked.text("do"),
        version="" if current is None else version_of(current),
    )


def _saved(revision: Revision | None) -> str:
    return f"Saved as {revision.short}" if revision else "Nothing changed"


def _pin(desk: Desk, asked: Asked, memory: OpenMemory, file: str) -> Response:
    pinned = asked.text("do") == "pin"
    memory.keeper.pin(file, PERSON, pinned=pinned)
    return then(desk, f"/memory/{memory.label(file)}", "Pinned" if pinned else "Unpinned")


def _replace(desk: Desk, asked: Asked, memory: OpenMemory, file: str) -> Response:
    wanted = asked.text("by").strip()
    if not wanted:
        raise InputError("say which memory replaces it: a file name, an id, or words of its title")
    newer_memory, newer = required(desk.app, wanted)
    if newer_memory.place != memory.place:
        raise InputError(
            f"{memory.label(file)} and {wanted} are of different scopes; move one first"
        )
    outcome = memory.keeper.retire(file, newer, PERSON)
    if isinstance(outcome, Declined):
        raise InputError("; ".join(filter(None, (outcome.reason, outcome.advice))))
    note = f"Replaced by {memory.label(newer)}; both are kept"
    return then(desk, f"/memory/{memory.label(file)}", note)


def _restore(desk: Desk, asked: Asked, memory: OpenMemory, file: str) -> Response:
    memory.keeper.restore(file, PERSON)
    return then(desk, f"/memory/{memory.label(file)}", "It is valid again")


def _forget(desk: Desk, asked: Asked, memory: OpenMemory, file: str) -> Response:
    revision = memory.keeper.forget(file, PERSON)
    note = f"Forgot {memory.label(file)}; history still has it"
    path = f"/history/{revision.short}" if revision else "/memory"
    return then(desk, path, note)


def _forget_everywhere(desk: Desk, asked: Asked, memory: OpenMemory, file: str) -> Response:
    forgetting = Forgetting(desk.app, memory, file)
    # Only files that the page listed: an address in a form is no permission to change any file.
    chosen = set(asked.texts("also"))
    also = [one.path for one in forgetting.elsewhere() if str(one.path) in chosen]
    done = forgetting.run(PERSON, also)
    return then(desk, f"/receipt/{desk.tell(done)}")


def receipt(desk: Desk, asked: Asked) -> Response:
    """What was removed where, after forgetting a memory everywhere."""
    done = desk.told(asked.path["key"])
    if done is None:
        raise InputError("this receipt is gone: receipts are shown until `reverie ui` ends")
    home = desk.app.settings.person_home
    return page(desk, asked, "memory/receipt.html", receipt=done, home=Path(home))


# --- several at once ---


def bulk(desk: Desk, asked: Asked) -> Response:
    """Pin, unpin or forget several; those that changed since they were listed are left alone."""
    stamps = {entry.file: f"{entry.mtime.timestamp():.6f}" for entry in desk.entries()}
    chosen = [one.rpartition("@") for one in asked.texts("items")]
    fresh = [label for label, _, stamp in chosen if stamps.get(label) == stamp]
    action = asked.text("do")
    if not chosen:
        raise InputError("mark at least one memory first")
    if action == "forget":
        _forget_all(desk, fresh)
    elif action in ("pin", "unpin"):
        for label in fresh:
            memory, file = desk.part(label)
            memory.keeper.pin(file, PERSON, pinned=action == "pin")
    else:
        raise InputError(f"{action!r} is nothing that can be done with several memories")
    verb = {"forget": "Forgot", "pin": "Pinned", "unpin": "Unpinned"}[action]
    note = f"{verb} {counted(len(fresh), 'memory', 'memories')}"
    if left := len(chosen) - len(fresh):
        note += f"; {left} changed since the list was shown and {'was' if left == 1 else 'were'} left alone"
    return then(desk, "/memory", note)


def _forget_all(desk: Desk, labels: list[str]) -> None:
    """One change for each scope, so that one undo brings all of them back."""
    files: defaultdict[str, list[str]] = defaultdict(list)
    for label in labels:
        memory, file = desk.part(label)
        files[memory.scope].append(file)
    for part in desk.memory.parts:
        if files[part.scope]:
            part.keeper.forget_all(files[part.scope], PERSON)
