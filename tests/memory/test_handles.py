"""Finding memories by name: a table of names, and ids that are short, stable and unique."""

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from reverie.memory.catalog import LARGE
from reverie.memory.changes.handles import (
    SHORTEST,
    Ambiguous,
    Found,
    Missing,
    explained,
    full_id,
    ids_among,
    resolve,
    short_ids,
)
from reverie.memory.format.manifest import ManifestEntry
from reverie.memory.reading import FileReader

DAY = datetime(2026, 11, 1, tzinfo=UTC)


def entry(file: str, name: str, description: str = "", **more: bool) -> ManifestEntry:
    return ManifestEntry(file, "project", DAY, description, name, **more)


ENTRIES = (
    entry("project_audit.md", "Deploys freeze for the audit", "Because of the auditors"),
    entry("project_audit_two.md", "The second audit"),
    entry("team/port.md", "The service listens on 8443"),
    entry("old_port.md", "The service listens on 8080", superseded=True),
    entry("café.md", "Coffee: which beans?"),
    entry("person/tabs.md", "Tabs, not spaces"),
    entry("team/tabs.md", "Tabs or spaces"),
)


def an_id(file: str, length: int = SHORTEST) -> str:
    return full_id(file)[:length]


@pytest.mark.parametrize(
    ("wanted", "file", "how"),
    [
        ("project_audit.md", "project_audit.md", "file"),
        ("project_audit", "project_audit.md", "file"),
        ("team/port", "team/port.md", "file"),
        ("port.md", "team/port.md", "file"),
        ("port", "team/port.md", "file"),
        ("person/tabs", "person/tabs.md", "file"),
        (an_id("team/port.md"), "team/port.md", "id"),
        (an_id("team/port.md", 7).upper(), "team/port.md", "id"),
        ("the second audit", "project_audit_two.md", "title"),
        ("COFFEE: WHICH BEANS", "café.md", "title"),
        ("freeze audit", "project_audit.md", "words"),
        ("second", "project_audit_two.md", "words"),
        ("auditors", "project_audit.md", "words"),
        ("cafe", "café.md", "words"),
        # The current memory, not the superseded one.
        ("service listens", "team/port.md", "words"),
        ("8080", "old_port.md", "words"),
    ],
)
def test_what_a_name_means(wanted: str, file: str, how: str) -> None:
    assert resolve(wanted, ENTRIES) == Found(file, how)


def test_several_are_listed_with_their_ids() -> None:
    found = resolve("audit", ENTRIES)
    assert isinstance(found, Ambiguous)
    assert [one.file for one in found.candidates] == ["project_audit.md", "project_audit_two.md"]
    text = explained("audit", found)
    assert text.splitlines() == [
        "'audit' fits 2 memories; give the id of one:",
        f"  {an_id('project_audit.md')}  project_audit.md  Deploys freeze for the audit",
        f"  {an_id('project_audit_two.md')}  project_audit_two.md  The second audit",
    ]
    assert isinstance(resolve("tabs", ENTRIES), Ambiguous)


@pytest.mark.parametrize("wanted", ["", "  ", "zebra", "zebra.md", "23456789", "../../etc/passwd"])
def test_nothing_fits(wanted: str) -> None:
    assert resolve(wanted, ENTRIES) == Missing()


def test_a_mistyped_name_is_no_search() -> None:
    assert resolve("project_audti_two.md", ENTRIES) == Missing(
        ("project_audit_two.md", "project_audit.md")
    )
    assert isinstance(resolve("second.md", ENTRIES), Missing)


def test_ids_are_short_unique_and_stay() -> None:
    files = [f"memory_{n}.md" for n in range(3_000)]
    ids = short_ids(files)
    assert len(set(ids.values())) == len(files)
    assert {len(id_) for id_ in ids.values()} >= {SHORTEST, SHORTEST + 1}
    assert all(full_id(file).startswith(id_) for file, id_ in ids.items())
    # An id never begins another one, and holds no vowel: it is no word.
    ordered = sorted(ids.values())
    assert not any(b.startswith(a) for a, b in pairwise(ordered))
    assert not set("".join(ordered)) & set("aeiouyl01")
    entries = [entry(file, "title") for file in files]
    for file in files[::500]:
        assert resolve(ids[file], entries) == Found(file, "id")
    assert short_ids(["a.md"]) == {"a.md": an_id("a.md")}


def test_an_id_that_became_too_short_names_the_candidates() -> None:
    files = [f"memory_{n}.md" for n in range(3_000)]
    ids = short_ids(files)
    long = next(file for file in files if len(ids[file]) > SHORTEST)
    found = resolve(an_id(long), [entry(file, file) for file in files])
    assert isinstance(found, Ambiguous)
    assert ids[long] in {one.id for one in found.candidates}


@pytest.mark.parametrize(("count", "letters"), [(3, 4), (LARGE + 1, 8)])
def test_ids_in_a_large_memory_need_no_look_at_every_name(
    tmp_path: Path, count: int, letters: int
) -> None:
    folder = tmp_path / "memory"
    folder.mkdir()
    files = [f"note_{number}.md" for number in range(count)]
    for file in files:
        (folder / file).write_text(f"---\nname: {file}\ntype: project\n---\ntext\n")
    reader = FileReader(folder, catalog=tmp_path / "manifest.sqlite")
    shown = ids_among(reader, files[:3])
    assert [len(shown[file]) for file in files[:3]] == [letters] * 3
    everything = reader.entries()
    assert all(resolve(shown[file], everything) == Found(file, "id") for file in files[:3])
