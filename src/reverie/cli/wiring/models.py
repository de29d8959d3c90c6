"""`reverie models` and `reverie keys`: which models can be used, for answers and for recall, and the keys they need."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib.util import find_spec
from shutil import which
from typing import TYPE_CHECKING, Any

import click

from reverie.cli.invocation import (
    Invocation,
    console,
    dollars,
    print_lines,
    reverie_command,
    styled,
    table,
    tokens,
)
from reverie.cli.memories import shown_path
from reverie.cli.wiring.settings import write_setting
from reverie.errors import InputError, StorageError
from reverie.settings import keys

if TYPE_CHECKING:
    from rich.console import RenderableType

    from reverie.models.discovery import Missing, UsableModel
    from reverie.ports import Embedder
    from reverie.recall.gain import Found
    from reverie.workspace import Workspace

ACTIONS = ("list", "use", "recall")
_OFFERED = 5


@reverie_command(name="models")
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("name", required=False)
@click.option("--install", is_flag=True, help="With recall: install the stronger model and use it.")
@click.option("--gain", is_flag=True, help="With recall: ask your own memories with each model.")
def models_command(
    frame: Invocation, action: str, name: str | None, install: bool, gain: bool
) -> None:
    """List the models you can use now, with window and price, or choose one.

    A model can be used if its provider's key is known (`reverie keys`) or if a server on this
    machine offers it (Ollama, llama.cpp). `use` writes models.main to your settings.

    `recall` shows the embedding model that memories are found by. --install fetches a stronger one
    (fastembed from the package index, 130 MB of weights from the model hub); without a network, set
    recall.model_folder to a folder that holds the weights.

    \b
    reverie models
    reverie models use anthropic:claude-sonnet-5-5
    reverie models recall --gain
    """
    from reverie.models.discovery import usable_models

    if action == "recall":
        _show_recall_model(frame, install=install, gain=gain)
        return
    if install or gain:
        raise click.UsageError("--install and --gain belong to `reverie models recall`")
    app = frame.app()
    if action == "use":
        if name is None:
            raise click.UsageError("say which: reverie models use anthropic:claude-sonnet-5-5")
        _use(frame, app, name)
        return
    models, missing = usable_models(app.settings)
    main = app.settings.model("main")
    data = {
        "main": main,
        "models": [_as_json(model) for model in models],
        "missing": [{"provider": m.provider, "needs": m.needs} for m in missing],
    }
    frame.answer(data, _model_lines(main, models, missing))


def require_model(app: Workspace, name: str) -> None:
    """Raise with advice if the model has no provider or its key is missing."""
    from reverie.models.discovery import OFFLINE

    provider = app.provider_of(name)
    if provider is None or provider.api_key_env is None or app.has_key(provider):
        return
    raise InputError(
        f"{name} has no key: `reverie keys set {provider.name}` stores one ({provider.api_key_env} "
        f"in the environment works too); `--model {OFFLINE}` continues without a model"
    )


def offer_model(frame: Invocation, app: Workspace) -> Workspace:
    """Offer the usable models once, at the first chat; remember the answer."""
    from reverie.models.discovery import OFFLINE, usable_models

    if app.settings.origin("models.main").source != "default":
        return app
    models, _ = usable_models(app.settings)
    if not models:
        return app
    offered = models[:_OFFERED]
    screen = console()
    width = max(len(model.name) for model in offered)
    choices = enumerate(offered, start=1)
    asked: list[RenderableType] = [
        "Which model do you want to talk to?",
        styled("(dollars a million tokens, in and out)"),
        *(f"  {number}  {one.name.ljust(width)}  {_price(one)}" for number, one in choices),
        "  0  none: answers come from memory alone",
    ]
    print_lines(screen, asked)
    chosen = click.prompt("Model", type=click.IntRange(0, len(offered)), default=1)
    name = offered[chosen - 1].name if chosen else OFFLINE
    path = write_setting(app, "models.main", name)
    where = f"  in {shown_path(app, path)}"
    print_lines(screen, [where, "  change it with: reverie models use NAME"])
    return frame.app()


def model_hint(app: Workspace) -> str | None:
    """What to do to get a model when none was chosen; None if one was."""
    from reverie.models.discovery import recommended, usable_models

    if app.settings.origin("models.main").source != "default":
        return None
    best = recommended(usable_models(app.settings)[0])
    if best is not None:
        return f"{best.reason} was found: reverie models use {best.name}"
    return None


def _use(frame: Invocation, app: Workspace, name: str) -> None:
    require_model(app, name)
    path = write_setting(app, "models.main", name)
    text = f"models.main = {name}\n  in {shown_path(app, path)}"
    data = {"main": name, "file": str(path)}
    frame.show(data, text)
    origin = frame.app().settings.origin("models.main")
    if origin.where != str(path):
        frame.warn(f"{origin} overrides it")


def _as_json(model: UsableModel) -> dict[str, Any]:
    prices = model.prices
    return {
        "name": model.name,
        "window": model.window,
        "input": prices.input if prices else None,
        "output": prices.output if prices else None,
        "reason": model.reason,
    }


def _price(model: UsableModel) -> str:
    if model.prices is None:
        return "free, local" if model.is_local else "price not known"
    return f"{dollars(model.prices.input)} / {dollars(model.prices.output)}"


def _model_lines(
    main: str, models: list[UsableModel], missing: list[Missing]
) -> Iterator[RenderableType]:
    from reverie.models.discovery import OFFLINE

    def cells(model: UsableModel) -> tuple[str, ...]:
        mark = "*" if main in (model.name, model.name.partition(":")[2]) else ""
        prices = (model.prices.input, model.prices.output) if model.prices else ()
        costs = map(dollars, prices) if prices else ("–", "–")
        return mark, model.name, tokens(model.window or 0), *costs, model.reason

    if models:
        yield table("", "model", "window", "in", "out", "because of", rows=map(cells, models))
        yield "Prices are US dollars per million tokens; * is models.main."
    else:
        yield "No model can be used yet; Reverie works offline, from memory alone."
    yield from (f"  {each.provider}: {each.needs}" for each in missing)
    if main == OFFLINE and models:
        yield f"models.main is offline: reverie models use {models[0].name}"


PACKAGES = ("fastembed>=0.7", "numpy>=2", "tokenizers>=0.20")


def _show_recall_model(frame: Invocation, *, install: bool, gain: bool) -> None:
    """Print the model in use; install the stronger one, or compare them, if asked."""
    app = frame.app()
    notes = _install(frame, app) if install else []
    data = _status(frame.app() if install else app)
    if gain:
        data["gain"] = [asdict(one) for one in _gain(frame, app)]
    frame.show(data, [*notes, *_recall_lines(data)])


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


def _recall_lines(data: dict[str, Any]) -> Iterator[RenderableType]:
    yield f"used      {data['used'] or 'none: words alone'}  (recall.embedder = {data['setting']})"
    yield from (f"          {one}" for one in data["notes"])
    waiting = f", {data['waiting']:,} wait for theirs" if data["waiting"] else ""
    yield f"vectors   {data['vectors']:,}{waiting}"
    if data["missing"]:
        yield f"stronger  needs {data['missing']}"
    elif data["stronger"] != data["used"]:
        ready = "ready; `reverie models recall --install` uses it from now on"
        yield f"stronger  {data['stronger']}: {ready}"
    if "gain" not in data:
        return
    if not data["gain"] or not data["gain"][0]["probes"]:
        yield "gain      there are no memories to ask about yet"
        return
    shares = ("first", "five", "shown")
    rows = (
        (row["model"], str(row["probes"]), *(f"{row[name]:.0%}" for name in shares))
        for row in data["gain"]
    )
    yield table("model", "probes", "first", "among five", "shown", rows=rows)


KEY_ACTIONS = ("list", "set", "remove")


@reverie_command(name="keys")
@click.argument("action", type=click.Choice(KEY_ACTIONS), default="list")
@click.argument("name", required=False)
def keys_command(frame: Invocation, action: str, name: str | None) -> None:
    """List the API keys that are known, set one, or remove one.

    NAME is a provider (anthropic, openai) or the name of a variable. The key is asked for, or read
    from standard input: it is never an argument. It goes to the system's keyring if there is one,
    else to a file in the home that only you can read. A variable of that name comes first.

    \b
    reverie keys set anthropic
    pass show openai | reverie keys set OPENAI_API_KEY
    reverie keys remove anthropic
    """
    app = frame.app()
    if action == "list":
        rows = _rows(app)
        cells = (
            (row["name"], row["for"] or "–", row["where"] or f"– (reverie keys set {row['name']})")
            for row in rows
        )
        frame.answer(rows, [table("key", "for", "found in", rows=cells)])
        return
    if name is None:
        raise click.UsageError(f"say which: reverie keys {action} anthropic")
    variable = _variable(app, name)
    if action == "remove":
        _remove(frame, app, variable)
    else:
        _set(frame, app, variable)


def _variable(app: Workspace, name: str) -> str:
    if name.lower() in app.settings.provider_names:
        provider = app.settings.provider(name.lower())
        if provider.api_key_env is None:
            raise InputError(
                f"{name} needs no key (providers.{name.lower()}.api_key_env is not set)"
            )
        return provider.api_key_env
    keys.check_name(name)
    return name


def _set(frame: Invocation, app: Workspace, variable: str) -> None:
    where = keys.store_key(variable, _asked(variable), app.settings.home)
    place = "the keyring" if where == "keyring" else shown_path(app, app.settings.home / keys.FILE)
    text = f"Stored {variable} in {place}."
    frame.show({"name": variable, "where": where}, text)
    found = keys.find_key(variable, home=app.settings.home)
    if found is not None and found[1] == "environment":
        frame.warn(f"the variable {variable} of this shell comes first")


def _asked(variable: str) -> str:
    if sys.stdin.isatty():
        typed: str = click.prompt(f"{variable}", hide_input=True, err=True)
        return typed
    return sys.stdin.readline()


def _remove(frame: Invocation, app: Workspace, variable: str) -> None:
    if not keys.remove_key(variable, app.settings.home):
        raise InputError(f"no {variable} is stored; `reverie keys` lists what is known")
    frame.show({"removed": variable}, f"Removed {variable}.")


def _rows(app: Workspace) -> list[dict[str, Any]]:
    providers = [app.settings.provider(name) for name in app.settings.provider_names]
    users = {p.api_key_env: p.name for p in providers if p.api_key_env}
    names = dict.fromkeys((*users, *keys.stored_names(app.settings.home)))
    rows = []
    for name in names:
        found = keys.find_key(name, home=app.settings.home)
        rows.append({"name": name, "for": users.get(name), "where": found[1] if found else None})
    return rows
