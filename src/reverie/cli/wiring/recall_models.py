"""`reverie models recall`: which embedding model recall uses, and a better one with one command."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import asdict
from importlib.util import find_spec
from shutil import which
from typing import TYPE_CHECKING, Any

from reverie.cli.invocation import Invocation
from reverie.cli.wiring.settings import write_setting
from reverie.errors import InputError, StorageError

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.ports import Embedder
    from reverie.recall.gain import Found
    from reverie.workspace import Workspace

PACKAGES = ("fastembed>=0.7", "numpy>=2", "tokenizers>=0.20")


def show(frame: Invocation, *, install: bool, gain: bool) -> None:
    """Print what is used; install the stronger model, or compare them, if asked to."""
    app = frame.app()
    notes = _install(frame, app) if install else []
    data = _status(frame.app() if install else app)
    if gain:
        data["gain"] = [asdict(one) for one in _gain(frame, app)]
    frame.show(data, lambda console: _print(console, data, notes))


def _status(app: Workspace) -> dict[str, Any]:
    from reverie.models.embeddings.local import Missing
    from reverie.recall.service import choose_embedder, open_ranker, stronger_embedder

    chosen = choose_embedder(app)
    stronger = stronger_embedder(app)
    with open_ranker(app.memory(), app.clock, chosen) as ranker:
        ranker.refresh()
        state = ranker.index.vectors()
    missing = stronger.reason if isinstance(stronger, Missing) else None
    return {
        "setting": app.settings["recall.embedder"],
        "used": chosen.embedder.name if chosen.embedder else None,
        "notes": list(chosen.notes),
        "vectors": state.made,
        "waiting": state.left,
        "stronger": None if isinstance(stronger, Missing) else stronger.name,
        "missing": missing,
    }


def _install(frame: Invocation, app: Workspace) -> list[str]:
    from reverie.models.embeddings import hub
    from reverie.models.embeddings.local import Missing
    from reverie.recall.service import extra_source, stronger_embedder

    if isinstance(stronger_embedder(app), Missing):
        if find_spec("fastembed") is None:
            _add_packages(frame)
        source = extra_source(app)
        frame.warn(f"fetching {source.model or hub.USUAL_MODEL} …")
        try:
            hub.download(source)
        except StorageError as error:
            raise StorageError(
                f"the weights could not be fetched: {error.__cause__ or error}; without a network, put "
                "the model's files (model.onnx, tokenizer.json, config.json) into a folder and set "
                "recall.model_folder to it"
            ) from error
    return _choose(app)


def _add_packages(frame: Invocation) -> None:
    if find_spec("pip") is not None:
        run = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    elif uv := which("uv"):
        run = [uv, "pip", "install", "--quiet", "--python", sys.executable]
    else:
        raise InputError(f"neither pip nor uv is here; install {' '.join(PACKAGES)} yourself")
    frame.warn(f"installing {PACKAGES[0]} …")
    if subprocess.run([*run, *PACKAGES], check=False).returncode:
        raise InputError(f"{PACKAGES[0]} could not be installed; see the messages above")
    importlib.invalidate_caches()


def _choose(app: Workspace) -> list[str]:
    """Set recall.embedder in the person's settings, unless it is set already."""
    if app.settings["recall.embedder"] == "extra":
        return []
    path = write_setting(app, "recall.embedder", "extra")
    return [f'recall.embedder = "extra" is set in {path}']


def _gain(frame: Invocation, app: Workspace) -> list[Found]:
    from reverie.models.embeddings.local import Missing, default_embedder
    from reverie.recall.documents import MemoryDoc
    from reverie.recall.gain import compare
    from reverie.recall.service import stronger_embedder

    topics = app.memory().topics
    listing = topics.listing()
    stored = ((file, topics.read(file)) for file in listing)
    docs = [MemoryDoc.of(one.topic, listing[file]) for file, one in stored if one is not None]
    models: dict[str, Embedder | None] = {"words alone": None}
    for found in (default_embedder(), stronger_embedder(app)):
        if not isinstance(found, Missing):
            models[found.name] = found
    return compare(docs, models, app.clock.now(), lambda name: frame.warn(f"asking {name} …"))


def _print(console: Console, data: dict[str, Any], notes: list[str]) -> None:
    from rich.table import Table

    for note in notes:
        console.print(note)
    used = data["used"] or "none: words alone"
    console.print(f"used      {used}  (recall.embedder = {data['setting']})")
    for note in data["notes"]:
        console.print(f"          {note}")
    waiting = f", {data['waiting']:,} wait for theirs" if data["waiting"] else ""
    console.print(f"vectors   {data['vectors']:,}{waiting}")
    if data["missing"]:
        console.print(f"stronger  needs {data['missing']}")
    elif data["stronger"] != data["used"]:
        ready = "ready; `reverie models recall --install` uses it from now on"
        console.print(f"stronger  {data['stronger']}: {ready}")
    if "gain" not in data:
        return
    if not data["gain"] or not data["gain"][0]["probes"]:
        console.print("gain      there are no memories to ask about yet")
        return
    table = Table("model", "probes", "first", "among five", "shown", box=None, pad_edge=False)
    for row in data["gain"]:
        shares = (f"{row[name]:.0%}" for name in ("first", "five", "shown"))
        table.add_row(row["model"], str(row["probes"]), *shares)
    console.print(table)
