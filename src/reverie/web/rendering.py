"""Pages from templates. Every text is escaped; memories are rendered without links, images and HTML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from starlette.responses import HTMLResponse, RedirectResponse, Response

from reverie.core.foreign_text import printable
from reverie.text.figures import counted, dollars, share, sparkline, tokens, when
from reverie.text.words import terms

if TYPE_CHECKING:
    from reverie.web.open_project import OpenProject, PageRequest

VIEWS = {
    "memory": "Memory",
    "history": "History",
    "inbox": "Inbox",
    "dreams": "Dreams",
    "sessions": "Sessions",
    "spend": "Spend",
    "impact": "Impact",
    "health": "Health",
}

_WORD = re.compile(r"(\w+)")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a diff."""

    kind: str
    text: str


@cache
def _markdown() -> MarkdownIt:
    """Headings, lists, emphasis and code; what could lead elsewhere stays text."""
    made = MarkdownIt("commonmark", {"html": False})
    return made.disable(["link", "image", "autolink", "html_inline", "html_block", "reference"])


def rendered(text: str) -> Markup:
    """A memory's text as HTML. The renderer escapes all text, and has no element with an address."""
    return Markup(_markdown().render(visible(text)))


def visible(text: str) -> str:
    """Text with invisible and control characters escaped, so that it reads as what it is."""
    return printable(text.replace("\r\n", "\n"))


def diff_lines(patch: str) -> Iterator[Line]:
    """The lines of a patch, without git's technical headers."""
    for line in patch.splitlines():
        if line.startswith(("index ", "--- ", "+++ ", "new file", "deleted file", "\\ No newline")):
            continue
        if line.startswith("diff --git"):
            yield Line("file", visible(line.rpartition(" b/")[2]))
        else:
            kinds = {"+": "added", "-": "removed", "@": "place"}
            yield Line(kinds.get(line[:1], "same"), visible(line))


def moment(at: float | datetime | None) -> str:
    if isinstance(at, datetime):
        at = at.timestamp()
    return when(at or 0)


@lru_cache(maxsize=8_192)
def _terms(word: str) -> frozenset[str]:
    return frozenset(terms(word))


def marked(text: str, question: str) -> Markup:
    """A text with the words of the question marked, in any of their forms."""
    wanted = set(terms(question))
    parts = _WORD.split(visible(text))
    return Markup().join(
        Markup("<mark>{}</mark>").format(part) if wanted & _terms(part) else escape(part)
        for part in parts
    )


def beyond(text: str, title: str) -> str:
    """A description, unless it only repeats the title."""
    plain, known = (" ".join(one.split()).casefold().rstrip(" .…!") for one in (text, title))
    return "" if plain == known else text


def address(path: str, **query: object) -> str:
    """The address of a page; empty values are left out."""
    given = {key: str(value) for key, value in query.items() if value not in (None, "", False)}
    return quote(path) + (f"?{urlencode(given)}" if given else "")


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("reverie.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "visible": visible,
        "rendered": rendered,
        "moment": moment,
        "dollars": dollars,
        "tokens": tokens,
        "share": share,
        "sparkline": sparkline,
        "diff": diff_lines,
        "beyond": beyond,
        "marked": marked,
    }
    made.globals |= {"counted": counted, "address": address, "views": VIEWS}
    return made


def page(
    project: OpenProject, request: PageRequest, template: str, *, status: int = 200, **data: Any
) -> Response:
    """A page from a template, with what every page shows."""
    view = template.partition("/")[0].partition(".")[0]
    text = (
        _environment()
        .get_template(template)
        .render(
            view=view,
            project=project.project_name,
            csrf=request.csrf,
            here=request.url,
            note=project.note(request.query.get("note", "")),
            waiting=project.waiting(),
            alarm=project.alarm(),
            **data,
        )
    )
    return HTMLResponse(text, status)


def fragment(template: str, **data: Any) -> Response:
    """A piece of a page."""
    return HTMLResponse(_environment().get_template(template).render(**data))


def then(project: OpenProject, path: str, note: str = "", **query: object) -> Response:
    """Go to a page after a change, and say there what was done."""
    key = project.keep_note(note) if note else ""
    return RedirectResponse(address(path, **query, note=key), status_code=303)
