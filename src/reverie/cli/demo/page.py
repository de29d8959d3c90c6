"""The report as a page: one file, no script, nothing loaded from elsewhere. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from textwrap import shorten

from reverie.cli.demo import charts, report
from reverie.cli.demo.runs import Fired, Run, Turn
from reverie.cli.demo.stage import MODEL
from reverie.cli.figures import dollars, share, tokens

_LONGEST = 160

_STYLE = """\
:root { color-scheme: light dark; --ink: #1d2430; --paper: #fbfbf9; --faint: #6b7280; --grid: #d9dce1;
  --run0: #0b7a55; --run1: #c2410c; --run2: #a16207; --run3: #2563eb; --run4: #9333ea; --run5: #4b5563;
  --bad: #b91c1c; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ec; --paper: #15181d; --faint: #9aa3af;
  --grid: #303641; --run0: #34d399; --run1: #fb923c; --run2: #eab308; --run3: #60a5fa; --run4: #c084fc;
  --run5: #9ca3af; --bad: #f87171; } }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; background: var(--paper);
  color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .6rem; }
p.faint, td.faint, .faint { color: var(--faint); }
svg { width: 100%; height: auto; display: block; margin: .6rem 0 1.2rem; font: 12px system-ui, sans-serif; }
.title { font-weight: 600; font-size: 14px; fill: var(--ink); } .axis { fill: var(--faint); }
.grid { stroke: var(--grid); } line.limit { stroke: var(--bad); stroke-dasharray: 5 4; }
text.limit { fill: var(--bad); }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round; } .line.run0 { stroke-width: 3.2; }
.mark { fill: var(--paper); stroke: var(--run0); stroke-width: 2.4; } .label.run0 { font-weight: 600; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; width: 100%; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--grid); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.whole { font-weight: 600; } .bad { color: var(--bad); } ul.checks { list-style: none; padding: 0; }
"""


def render(runs: Sequence[Run]) -> str:
    """The whole page."""
    whole = runs[0]
    drawn = "".join(charts.svg(panel) for panel in charts.panels(runs))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Reverie: a long session, layer by layer</title>\n<style>\n{_STYLE}{_colours(runs)}</style>\n"
        "</head>\n<body>\n<h1>A long session, layer by layer</h1>\n"
        f"<p>{len(whole.turns)} turns of a coding session on a made-up project, played by a scripted model "
        f"through the real session: real tools, a window of {whole.window.tokens:,} tokens, prices and cache "
        f"rules of {escape(MODEL)}. Then the same again without each layer. Runs that are never compacted go "
        "on past a full window, to show what they would have sent.</p>\n"
        f"<p><strong>{escape(report.savings(runs))}</strong></p>\n{drawn}\n{_key(runs)}\n"
        f"<h2>What each layer is worth</h2>\n{_comparison(runs)}\n"
        f"{_learnt(whole)}<h2>Checks, with all layers on</h2>\n{_checks(whole)}\n"
        f"<h2>Turn by turn, with all layers on</h2>\n{_turns(whole)}\n"
        f'<p class="faint">{escape(report.LATER)}</p>\n</body>\n</html>\n'
    )


def _colours(runs: Sequence[Run]) -> str:
    return "".join(
        f".line.run{i} {{ stroke: var(--run{i}); }} .label.run{i} {{ fill: var(--run{i}); }}\n"
        for i in range(len(runs))
    )


def _key(runs: Sequence[Run]) -> str:
    """What the marks on the first drawing mean."""
    marks = {mark.name: mark.what for mark in charts.panels(runs)[0].marks}
    told = "; ".join(f"{name}: {what}" for name, what in sorted(marks.items()))
    return f'<p class="faint">{escape(f"○ {told}.")}</p>' if told else ""


def _comparison(runs: Sequence[Run]) -> str:
    head = _row("th", ("", ""), ("", ""), *((name, "n") for name in ("sent", "from cache", "largest", "cost")), ("lost", ""))  # fmt: skip
    rows = []
    for run in runs:
        cells = _row(
            "td",
            (run.variant.name, ""),
            (run.variant.about, "faint"),
            (tokens(run.usage.prompt), "n"),
            (share(run.usage.hit_rate), "n"),
            (tokens(run.largest), "n"),
            (dollars(run.cost), "n"),
            (report.lost(run, runs[0]), "bad" if run.full_in else ""),
        )
        rows.append(f'<tr class="whole">{cells}</tr>' if run is runs[0] else f"<tr>{cells}</tr>")
    return f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'


def _learnt(run: Run) -> str:
    if not run.learnt:
        return ""
    names = ("calls", "sent", "from cache", "cost")
    head = _row("th", ("", ""), *((name, "n") for name in names), ("what came of it", ""))
    rows = ""
    for one in run.learnt:
        name, *figures = report.learnt_cells(one)
        came = ("; ".join(report.came_of(one)), "")
        rows += f"<tr>{_row('td', (name, ''), *((cell, 'n') for cell in figures), came)}</tr>"
    return (
        f"<h2>What was learnt meanwhile</h2>\n<p>{escape(report.on_top(run))}</p>\n"
        f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>\n'
    )


def _checks(run: Run) -> str:
    items = (
        f'<li><span class="{"" if check.passed else "bad"}">{"✓" if check.passed else "✗"}</span> '
        f'{escape(check.name)}: <span class="faint">{escape(check.found)}</span></li>'
        for check in report.checks(run)
    )
    return f'<ul class="checks">{"".join(items)}</ul>'


def _turns(run: Run) -> str:
    names = (("#", "n"), ("asked", ""), ("sent", "n"), ("from cache", "n"), ("context", "n"))
    head = _row("th", *names, ("cost", "n"), ("layers", ""))
    rows = "".join(f"<tr>{_turn(turn)}</tr>" for turn in run.turns)
    return f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>'


def _turn(turn: Turn) -> str:
    return _row(
        "td",
        (str(turn.number), "n"),
        (shorten(turn.asks, _LONGEST, placeholder=" …"), ""),
        (tokens(turn.usage.prompt), "n"),
        (share(turn.usage.hit_rate), "n"),
        (tokens(turn.context), "n"),
        (dollars(turn.cost), "n"),
        ("; ".join(_fired(fired) for fired in turn.fired), ""),
    )


def _fired(fired: Fired) -> str:
    who = f"{fired.layer}: {fired.what}" if fired.layer else f"recalled: {fired.what}"
    if fired.before is None or fired.after is None:
        return who
    return f"{who}, {tokens(fired.before)} → {tokens(fired.after)}"


def _row(tag: str, *cells: tuple[str, str]) -> str:
    return "".join(f'<{tag} class="{kind}">{escape(text)}</{tag}>' for text, kind in cells)
