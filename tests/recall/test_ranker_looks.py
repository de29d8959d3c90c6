"""The ranker follows the files, and lists a folder again only when its entries are others."""

from pathlib import Path

import pytest
from tests.place import Place

from reverie.memory.store import FileStore
from reverie.recall.ranker import IndexRanker
from reverie.recall.service import open_ranker


class Counted(FileStore):
    """A store that counts how often its folder is listed for the index."""

    listed = 0

    def listing(self) -> dict[str, tuple[int, int, int]]:
        self.listed += 1
        return super().listing()


def write(folder: Path, name: str, text: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(
        f"---\nname: {text}\ndescription: {text}\ntype: project\n---\n{text}\n"
    )


@pytest.fixture
def folder(place: Place) -> Path:
    found = place.app().memory_location.directory
    write(found, "vpn.md", "the deploy needs the VPN")
    write(found, "tea.md", "tea is in the kitchen")
    return found


def ranked(ranker: IndexRanker, question: str) -> list[str]:
    return [one.file for one in ranker.rank(question, ranker.store.entries())]


def test_it_is_listed_once_while_nothing_changes(place: Place, folder: Path) -> None:
    memory = place.app().memory()
    store = Counted(folder, memory.history)
    with open_ranker(memory, place.clock) as opened:
        ranker = IndexRanker(opened.index, store, place.clock)
        assert ranked(ranker, "where is the tea?")[0] == "tea.md"
        assert ranked(ranker, "what does the deploy need?")[0] == "vpn.md"
        assert store.listed == 1
        write(folder, "tea.md", "the deploy needs a second approval now")
        assert "tea.md" in ranked(ranker, "second approval")
        write(folder, "new.md", "coffee is in the cellar")
        assert ranked(ranker, "where is the coffee?")[0] == "new.md"
        (folder / "new.md").unlink()
        assert "new.md" not in ranked(ranker, "where is the coffee?")
        assert store.listed == 3
