"""What `reverie ui` costs on the server with 10,000 memories: processor time a page, and its size.

The pages are called as the server calls them, without HTTP.

    python benchmarks/page.py [--memories 10000] [--profile]
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

from report import median, publish
from scale import texts
from starlette.datastructures import FormData, QueryParams

from reverie.memory.format.paths import file_name
from reverie.web import memory_pages
from reverie.web.open_project import OpenProject, PageRequest
from reverie.workspace import Workspace

if TYPE_CHECKING:
    from starlette.responses import Response

BAR = 100.0
TIMES = 7
WORDS = ("backup", "backup job", "which job in Lima needs an api?", "step 4711", "zzzz")


def fill(app: Workspace, count: int) -> str:
    """Write so many memories; return the name of one."""
    directory = app.memory_location.directory
    directory.mkdir(parents=True)
    name = ""
    for at, text in enumerate(texts(count)):
        name = file_name(f"project {at} {text}")
        top = f"---\nname: {text[:60]}\ndescription: {text}\ntype: project\n---\n"
        (directory / name).write_text(f"{top}{text}\n")
    return name


def asked(path: str = "", **query: str) -> PageRequest:
    return PageRequest({"label": path}, QueryParams(query), FormData(), "token", "/memory")


def spent(work: Callable[[], Response]) -> tuple[float, float]:
    """The median processor time in milliseconds, and the size in kB."""
    taken = []
    for _ in range(TIMES):
        began = process_time()
        response = work()
        taken.append((process_time() - began) * 1000)
    return median(taken), len(response.body) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--profile", action="store_true", help="show where a search's time goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        base = Path(temporary)
        os.environ |= {"HOME": temporary, "REVERIE_HOME": str(base / "home")}
        (base / "project").mkdir()
        app = Workspace.open(base / "project")
        name = fill(app, options.memories)
        project = OpenProject(app, lambda *_: [])
        began = process_time()
        project.warm_up()
        rows: list[tuple[str, float, float, float | None]] = [
            (
                "reading the list and making the index, once",
                (process_time() - began) * 1000,
                0,
                None,
            )
        ]
        list_page = memory_pages.listing
        pages = {"list": asked(), "list, page 100": asked(page="100")}
        pages |= {f"search: {words}": asked(q=words) for words in WORDS}
        rows += [
            (title, *spent(partial(list_page, project, one)), BAR) for title, one in pages.items()
        ]
        rows.append(("one memory", *spent(partial(memory_pages.one, project, asked(name))), BAR))
        publish("page", ("page", "processor ms", "kB", "bar"), rows)
        if options.profile:
            profile = cProfile.Profile()
            for words in WORDS:
                profile.runcall(list_page, project, asked(q=words))
            pstats.Stats(profile).sort_stats("cumulative").print_stats(45)
        project.close()


if __name__ == "__main__":
    main()
