"""`reverie models`: the models that can be used now, and choose one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from reverie.cli.formatting import dollars, printable, tokens
from reverie.cli.invocation import Invocation, console, reverie_command
from reverie.cli.memories import shown_path
from reverie.cli.wiring import recall_models
from reverie.cli.wiring.settings import write_setting
from reverie.errors import InputError
from reverie.models.discovery import OFFLINE, Missing, UsableModel, recommended, usable_models

if TYPE_CHECKING:
    from rich.console import Console

    from reverie.workspace import Workspace

ACTIONS = ("list", "use", "recall")
_OFFERED = 5


@reverie_command(name="models")
@click.argument("action", type=click.Choice(ACTIONS), default="list")
@click.argument("name", required=False)
@click.option("--install", is_flag=True, help="With recall: install the stronger model and use it.")
@click.option("--gain", is_flag=True, help="With recall: ask your own memories with each model.")
def command(frame: Invocation, action: str, name: str | None, install: bool, gain: bool) -> None:
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
    if action == "recall":
        recall_models.show(frame, install=install, gain=gain)
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
    frame.answer(data, lambda screen: _print(screen, main, models, missing))


def require_model(app: Workspace, name: str) -> None:
    """Raise with advice if the model has no provider or its key is missing."""
    provider = app.provider_of(name)
    if provider is None or provider.api_key_env is None or app.has_key(provider):
        return
    raise InputError(
        f"{name} has no key: `reverie keys set {provider.name}` stores one ({provider.api_key_env} "
        f"in the environment works too); `--model {OFFLINE}` goes on without a model"
    )


def offer_model(frame: Invocation, app: Workspace) -> Workspace:
    """Offer the usable models once, at the first chat; remember the answer."""
    if app.settings.origin("models.main").source != "default":
        return app
    models, _ = usable_models(app.settings)
    if not models:
        return app
    offered = models[:_OFFERED]
    screen = console()
    screen.print("Which model do you want to talk to?")
    screen.print("(dollars a million tokens, in and out)", style="dim")
    width = max(len(model.name) for model in offered)
    for number, model in enumerate(offered, start=1):
        line = f"  {number}  {model.name.ljust(width)}  {_price(model)}"
        screen.print(printable(line), soft_wrap=True)
    screen.print("  0  none: answers come from memory alone")
    chosen = click.prompt("Model", type=click.IntRange(0, len(offered)), default=1)
    name = offered[chosen - 1].name if chosen else OFFLINE
    path = write_setting(app, "models.main", name)
    screen.print(f"  in {shown_path(app, path)}", soft_wrap=True)
    screen.print("  change it with: reverie models use NAME")
    return frame.app()


def model_hint(app: Workspace) -> str | None:
    """What to do to get a model when none was chosen; None if one was."""
    if app.settings.origin("models.main").source != "default":
        return None
    best = recommended(usable_models(app.settings)[0])
    if best is not None:
        return f"{best.reason} is there: reverie models use {best.name}"
    return None


def _use(frame: Invocation, app: Workspace, name: str) -> None:
    require_model(app, name)
    path = write_setting(app, "models.main", name)
    text = f"models.main = {name}\n  in {shown_path(app, path)}"
    data = {"main": name, "file": str(path)}
    frame.show(data, lambda screen: screen.print(printable(text), soft_wrap=True))
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


def _print(screen: Console, main: str, models: list[UsableModel], missing: list[Missing]) -> None:
    from rich.table import Table

    table = Table("", "model", "window", "in", "out", "because of", box=None, pad_edge=False)
    for model in models:
        mark = "*" if main in (model.name, model.name.partition(":")[2]) else ""
        into = dollars(model.prices.input) if model.prices else "–"
        out = dollars(model.prices.output) if model.prices else "–"
        table.add_row(
            mark, printable(model.name), tokens(model.window or 0), into, out, model.reason
        )
    if models:
        screen.print(table)
        screen.print("Prices are US dollars per million tokens; * is models.main.")
    else:
        screen.print("No model can be used yet; Reverie works offline, from memory alone.")
    for each in missing:
        screen.print(printable(f"  {each.provider}: {each.needs}"), soft_wrap=True)
    if main == OFFLINE and models:
        screen.print(
            printable(f"models.main is offline: reverie models use {models[0].name}"),
            soft_wrap=True,
        )
