"""Events and values as lines on the screen: pure functions that return rich renderables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markdown import Heading, Markdown
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from reverie import events
from reverie.cli.invocation import counted, dollars, late_recall, printable, tokens
from reverie.core.messages import Message, ToolResult
from reverie.core.prompt_cache.tracker import Broken, ExpectedBreak

# Colours that can be read on any background.
THEME = Theme(
    {
        "markdown.code": "cyan",
        "markdown.code_block": "none",
        "markdown.h1": "bold underline",
        "markdown.h2": "bold",
        "markdown.h3": "bold",
        "markdown.item.bullet": "cyan",
        "markdown.item.number": "cyan",
        "markdown.block_quote": "dim",
        "markdown.link_url": "blue",
    }
)

# Ends of a turn that need no remark.
_NATURAL_ENDS = frozenset({"end", "stop_sequence", "tool_use"})
_ENDS = {
    "max_tokens": "the answer was cut off by the output limit",
    "refusal": "the model refused to continue",
    "window_full": "the window is full; /compact makes room",
}
_DREAMING = "dreaming: memory is tidied on a branch; nothing changes until it is checked"
_DIFF_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_BOX = re.compile(r"\[[ >x]\] ")
_MOST_DIFF_LINES = 12
_RECAP_LINES = 3


def line(text: str, style: str = "", *, lead: str = "") -> Text:
    """Foreign text in one line; what does not fit is cut with an ellipsis, never wrapped."""
    flat = lead + printable(" ".join(text.split()))
    return Text(flat, style, no_wrap=True, overflow="ellipsis")


def aside(text: str, style: str = "dim") -> Text:
    """A remark outside the conversation."""
    return line(text, style, lead="▸ ")


def command_hint(text: str) -> Text:
    """A remark that ends in a command to copy: in full, however narrow the terminal is."""
    return Text(f"▸ {printable(text)}", "dim")


def failure(message: str) -> Text:
    """An error message in full, since it says what to do."""
    return Text(f"✗ {printable(message)}", "red")


def spoken(text: str) -> Text:
    """What the person typed, as it stays on the screen."""
    first, *more = printable(text).split("\n")
    return Text("\n".join([f"❯ {first}", *(f"  {other}" for other in more)]), "bold")


def remark(event: events.Event) -> Text | None:
    """One line about an event; None if it needs none or is shown in another way."""
    render = _REMARKS.get(type(event))
    return None if render is None else render(event)


def _layer(event: events.LayerFired) -> Text:
    sizes = f"{tokens(event.tokens_before)} → {tokens(event.tokens_after)} tokens"
    return aside(f"{event.layer}: {sizes}" + (f", {event.why}" if event.why else ""))


def _memories(event: events.MemoriesSurfaced) -> Text:
    count = len(event.files)
    return aside(f"{counted(count, 'memory', 'memories')}: {', '.join(event.files)}")


def _saved(event: events.MemoriesSaved) -> Text | None:
    parts = [f"saved to memory: {', '.join(event.files)}"] if event.files else []
    parts += [f"{event.waiting} waiting for your decision (reverie inbox)"] if event.waiting else []
    return aside("; ".join(parts)) if parts else None


def _dream_ended(event: events.DreamEnded) -> Text:
    if event.state != "completed":
        return aside(f"dream {event.state}" + (f": {event.why}" if event.why else ""), "yellow")
    parts = ["dreamt: nothing had to change"]
    if event.files:
        parts = [f"dreamt: {', '.join(event.files)} (undo with: reverie undo --dream {event.id})"]
    if event.waiting:
        parts.append(f"for you to decide: {event.waiting} (reverie dream --last)")
    if event.cost:
        parts.append(dollars(event.cost))
    return aside("; ".join((*parts, *event.notes)))


def _notes(event: events.NotesUpdated) -> Text:
    return aside("notes updated" + ("" if event.by == "model" else ", by rules alone"))


def _cache(event: events.CacheBroke) -> Text:
    match event.verdict:
        case ExpectedBreak(reason, lost):
            return aside(f"cache: {tokens(lost)} tokens are sent again, as expected: {reason}")
        case Broken(lost, causes):
            why = "; ".join(f"{cause.what}: {cause.detail}" for cause in causes)
            return aside(f"cache broke: {tokens(lost)} tokens lost ({why})", "yellow")


def _cleared(event: events.ContextCleared) -> Text:
    found = event.cleared
    kind = found.kind.replace("_", " ")
    return aside(f"the provider cleared {found.count} {kind}, {tokens(found.tokens)} tokens")


def _cap(event: events.CapReached) -> Text:
    what = "spend cap: stopped" if event.stopped else "spend cap"
    return Text(f"▸ {what}: {printable(event.reason)}", "red" if event.stopped else "yellow")


def _fork(event: events.ForkEnded) -> Text | None:
    return aside(f"{event.purpose}: {event.trouble}", "yellow") if event.trouble else None


def _agent_started(event: events.AgentStarted) -> Text | None:
    # An agent that is waited for shows as a tool call already.
    if event.how == "wait":
        return None
    return aside(f"{event.name} ({event.agent_type}, {event.how}) begins: {event.summary}")


def _agent_ended(event: events.AgentEnded) -> Text:
    used = f"{event.name}: {event.why}, {tokens(event.tokens)} tokens"
    return aside(used, "dim" if event.why == "done" else "yellow")


def _letter(event: events.LetterSent) -> Text:
    kind = "" if event.kind == "message" else f" ({event.kind.replace('_', ' ')})"
    return aside(f"{event.sender} → {event.to}{kind}: {event.summary}")


def _ended(event: events.TurnEnded) -> Text | None:
    if event.why in _NATURAL_ENDS:
        return None
    return aside(_ENDS.get(event.why, f"stopped: {event.why}"), "yellow")


_REMARKS: Mapping[type[Any], Callable[[Any], Text | None]] = {
    events.LayerFired: _layer,
    events.MemoriesSurfaced: _memories,
    events.MemoriesLate: lambda event: aside(late_recall(event.seconds), "yellow"),
    events.MemoriesSaved: _saved,
    events.DreamBegan: lambda event: aside(_DREAMING),
    events.DreamEnded: _dream_ended,
    events.NotesUpdated: _notes,
    events.CacheBroke: _cache,
    events.ContextCleared: _cleared,
    events.CapReached: _cap,
    events.TroubleNoted: lambda event: aside(f"{event.where}: {event.what}", "yellow"),
    events.ForkEnded: _fork,
    events.AgentStarted: _agent_started,
    events.AgentProgressed: lambda event: aside(f"{event.name}: {event.line}"),
    events.AgentEnded: _agent_ended,
    events.LetterSent: _letter,
    events.TurnEnded: _ended,
}


def call_line(name: str, headline: str) -> Text:
    """A tool call in one line: its name, then the headline without the name."""
    shown = line("", lead="● ")
    shown.stylize("cyan")
    shown.append_text(line(name, "bold"))
    words = headline.removeprefix(name).lstrip(" :")
    return shown.append_text(line(words, lead=" ")) if words else shown


def result_lines(result: ToolResult) -> list[Text]:
    """A tool's result: its size, or the first line of its error.

    A change is shown as a diff, a todo list as it is.
    """
    rows = result.text.strip("\n").rstrip().splitlines()
    if result.is_error:
        return [line(next(filter(str.strip, rows), "failed"), "red", lead="  ✗ ")]
    if rows and all(map(_BOX.match, rows)):
        return [line(row, "dim", lead="  ") for row in rows]
    starts = next((at for at, row in enumerate(rows) if row.startswith("@@ ")), len(rows))
    return [line(_summary(result, rows[:starts]), "dim", lead="  ✓ "), *diff_lines(rows[starts:])]


def _summary(result: ToolResult, rows: Sequence[str]) -> str:
    if len(rows) > 1:
        return f"{len(rows):,} lines"
    kinds = [part.kind for part in result.content if part.kind != "text"]
    return rows[0] if rows else ", ".join(kinds) or "done"


def diff_lines(
    rows: Sequence[str], most: int = _MOST_DIFF_LINES, *, whole: bool = False
) -> list[Text]:
    """A unified diff, coloured and short; `whole` wraps long lines rather than cut them."""
    shown = [_diff_line(row, cut=not whole) for row in rows[:most]]
    more = len(rows) - most
    return [*shown, line(f"… {more:,} more lines", "dim", lead="    ")] if more > 0 else shown


def _diff_line(row: str, *, cut: bool) -> Text:
    text = f"    {printable(row.expandtabs(4))}"
    style = _DIFF_STYLES.get(row[:1], "dim")
    return Text(text, style, no_wrap=cut, overflow="ellipsis" if cut else "fold")


def thought(text: str) -> Text:
    """A model's thinking, folded to one line."""
    return line(text, "dim italic", lead="∴ ")


class _LeftHeading(Heading):
    """Left-aligned headings; rich centres them."""

    LEVEL_ALIGN = dict.fromkeys(Heading.LEVEL_ALIGN, "left")


class _Markdown(Markdown):
    elements: ClassVar = {**Markdown.elements, "heading_open": _LeftHeading}


@dataclass(frozen=True, slots=True)
class _Trimmed:
    """A renderable without the empty lines rich puts around lists, code and tables."""

    what: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = console.render_lines(self.what, options, pad=False)
        filled = [at for at, row in enumerate(rows) if "".join(part.text for part in row).strip()]
        for row in rows[filled[0] : filled[-1] + 1] if filled else ():
            yield from row
            yield Segment.line()


def prose(text: str, *, markdown: bool = True) -> RenderableType:
    """A finished block of an answer; code is coloured with the terminal's own palette."""
    clean = printable(text)
    if not markdown:
        return Text(clean)
    return _Trimmed(_Markdown(clean, code_theme="ansi_dark", hyperlinks=False))


def recap(messages: Iterable[Message]) -> Group:
    """The last two exchanges of a resumed conversation, shortened."""
    spoken = [message for message in messages if message.origin in ("user", "assistant")]
    texts = [message for message in spoken if message.text.strip()]
    starts = [at for at, message in enumerate(texts) if message.origin == "user"]
    shown = texts[starts[-2] if len(starts) >= 2 else 0 :]
    return Group(*(row for message in _last_replies(shown) for row in _recap_lines(message)))


def _last_replies(messages: Sequence[Message]) -> list[Message]:
    """Keep only the last of several replies in a row; the earlier ones were intermediate."""
    return [
        message
        for message, after in zip(messages, [*messages[1:], None], strict=True)
        if after is None or message.origin == "user" or after.origin == "user"
    ]


def _recap_lines(message: Message) -> list[Text]:
    rows = list(filter(str.strip, message.text.splitlines()))
    leads = ["❯ " if message.origin == "user" else "  ", *("  " for _ in rows)]
    shown = [line(row, "dim", lead=lead) for lead, row in zip(leads, rows, strict=False)]
    more = len(rows) - _RECAP_LINES
    tail = [line(f"… {more:,} more lines", "dim", lead="  ")] if more > 0 else []
    return [*shown[:_RECAP_LINES], *tail]
