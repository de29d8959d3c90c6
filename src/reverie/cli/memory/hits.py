"""The results of recall and search as lines, with marks for outdated memories."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from reverie.cli.formatting import counted, printable, when

if TYPE_CHECKING:
    from rich.text import Text

    from reverie.recall.hits import Shown


def hit_lines(one: Shown, *, explain: bool = False) -> list[Text]:
    """A hit as lines: its score, place and marks, then the snippet."""
    from rich.text import Text

    hit = one.hit
    episode = hit.collection == "episodes"
    place = f"session {hit.session} · {hit.role}" if episode else hit.key
    head = Text(f"{hit.score:5.2f}  ", "dim") + Text(printable(place), "bold")
    about = [one.id, when(hit.at or 0) if episode else "", one.mark]
    about += [] if one.good else ["(a weak match)"]
    head += Text(printable("".join(f"  {word}" for word in about if word)), "dim")
    lines = [head, Text(f"       {printable(hit.snippet)}")]
    if explain:
        signals = ", ".join(f"{name} {value:+.2f}" for name, value in hit.signals.items())
        lines.append(Text(printable(f"       {hit.why} ({signals})"), "dim"))
    return lines


def listing(
    shown: Sequence[Shown], command: str, *, everything: bool, explain: bool = False
) -> list[Text]:
    """The good hits, best first, and how many weak ones `command --all` would add."""
    from rich.text import Text

    wanted = [one for one in shown if one.good or everything]
    lines = [line for one in wanted for line in hit_lines(one, explain=explain)]
    lines = lines or [Text("Nothing found.")]
    if weak := len(shown) - len(wanted):
        matches = counted(weak, "weak match is", "weak matches are")
        lines.append(Text(f"{matches} not shown: {command} --all", "dim"))
    return lines
