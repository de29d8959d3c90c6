"""Instruction files on a real disk: their order, what they include, and what is kept out."""

import os
from pathlib import Path

import pytest

from reverie.memory.format.instructions import InstructionFile, render
from reverie.memory.instruction_files import (
    MOST_INCLUDED,
    MOST_RULES,
    Approve,
    Places,
    nothing_approved,
    read_instruction_files,
)


class Disk:
    """A machine with a managed folder, a person, and a project below a folder of theirs."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.person = base / "person"
        self.project = self.person / "work" / "project"
        self.working = self.project / "src" / "deep"
        self.places = Places(
            working=self.working,
            project=self.project,
            managed=base / "etc",
            claude=self.person / ".claude",
            home=self.person / ".reverie",
            person=self.person,
        )
        self.working.mkdir(parents=True)

    def write(self, path: str, text: str | bytes = "") -> Path:
        """A file of the project, or of the person (`~/`), or of the machine (`etc/`)."""
        target = self.at(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else (text or path).encode())
        return target

    def at(self, path: str) -> Path:
        if path.startswith("~/"):
            return self.person / path[2:]
        return (self.base if path.startswith(("etc/", "outside/")) else self.project) / path

    def read(self, approve: Approve = nothing_approved) -> tuple[InstructionFile, ...]:
        return read_instruction_files(self.places, approve)

    def texts(self, approve: Approve = nothing_approved) -> list[str]:
        return [file.text for file in self.read(approve) if file.text]

    def notes(self) -> list[str]:
        return [note for file in self.read() for note in file.notes]


@pytest.fixture
def disk(tmp_path: Path) -> Disk:
    return Disk(tmp_path)


def test_nothing_there_is_nothing_read(disk: Disk) -> None:
    assert disk.read() == ()


def test_the_order_from_the_machine_to_the_working_directory(disk: Disk) -> None:
    order = [
        ("etc/CLAUDE.md", "managed"),
        ("etc/REVERIE.md", "managed"),
        ("etc/rules/a.md", "managed"),
        ("~/.claude/CLAUDE.md", "user"),
        ("~/.claude/rules/a.md", "user"),
        ("~/.reverie/REVERIE.md", "user"),
        ("~/.reverie/rules/a.md", "user"),
        ("~/work/CLAUDE.md", "project"),
        ("AGENTS.md", "project"),
        ("CLAUDE.md", "project"),
        (".claude/CLAUDE.md", "project"),
        (".claude/rules/a.md", "project"),
        (".claude/rules/b/c.md", "project"),
        ("REVERIE.md", "project"),
        (".reverie/REVERIE.md", "project"),
        (".reverie/rules/a.md", "project"),
        ("src/AGENTS.md", "project"),
        ("src/deep/CLAUDE.md", "project"),
        ("CLAUDE.local.md", "local"),
        (".reverie/local.md", "local"),
        ("src/deep/CLAUDE.local.md", "local"),
    ]
    for path, _ in reversed(order):
        disk.write(path)
    disk.write("other/CLAUDE.md")
    disk.write(".claude/rules/note.txt")
    assert [(file.text, file.kind) for file in disk.read()] == order


def test_the_same_disk_gives_the_same_bytes(disk: Disk) -> None:
    for path in ("AGENTS.md", "CLAUDE.md", ".claude/rules/b.md", ".claude/rules/a.md"):
        disk.write(path)
    assert render(disk.read()) == render(disk.read())


def test_a_rule_for_some_paths_is_left_out_with_a_note(disk: Disk) -> None:
    disk.write(".claude/rules/py.md", '---\npaths: ["*.py"]\n---\nType everything.')
    disk.write(".claude/rules/all.md", "---\ntitle: x\n---\nBe kind.")
    assert disk.texts() == ["Be kind."]
    assert disk.notes() == ["it applies only to *.py"]


# ── includes ─────────────────────────────────────────────────────────────────


def test_what_is_included_comes_before_and_only_once(disk: Disk) -> None:
    disk.write("CLAUDE.md", "top @docs/a.md @AGENTS.md")
    disk.write("AGENTS.md", "agents")
    disk.write("docs/a.md", "a @./b.md @../CLAUDE.md")
    disk.write("docs/b.md", "b")
    found = disk.read()
    assert [file.text.split()[0] for file in found] == ["agents", "b", "a", "top"]
    assert found[1].included_by == str(disk.at("docs/a.md"))
    assert disk.notes() == []


def test_files_that_include_each_other_are_read_once(disk: Disk) -> None:
    disk.write("CLAUDE.md", "one @b.md @CLAUDE.md")
    disk.write("b.md", "two @CLAUDE.md @b.md")
    assert [text.split()[0] for text in disk.texts()] == ["two", "one"]


def test_includes_of_the_person_by_home_and_absolute_path(disk: Disk) -> None:
    extra = disk.write("~/.claude/extra.md", "extra")
    disk.write("~/.claude/CLAUDE.md", f"mine @~/.claude/other.md @{extra}")
    disk.write("~/.claude/other.md", "other")
    assert [text.split()[0] for text in disk.texts()] == ["other", "extra", "mine"]


def test_includes_go_only_so_deep(disk: Disk) -> None:
    disk.write("CLAUDE.md", "@f1.md")
    for n in range(1, 8):
        disk.write(f"f{n}.md", f"file {n} @f{n + 1}.md")
    assert len(disk.texts()) == 6
    assert disk.notes() == ["@f6.md is left out: includes are nested more than 5 deep"]


def test_code_and_people_are_not_included(disk: Disk) -> None:
    disk.write("CLAUDE.md", "ask @alice, use `@a.md`\n```\n@a.md\n```\n")
    disk.write("a.md", "a")
    assert len(disk.texts()) == 1
    assert disk.notes() == []


def test_a_file_that_is_not_there_is_named(disk: Disk) -> None:
    disk.write("CLAUDE.md", "see @docs/gone.md")
    assert disk.notes() == ["@docs/gone.md is left out: there is no such file"]


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.png", b"x", "only text files can be included"),
        (".env", b"KEY=1", "only text files can be included"),
        ("a.md", b"a\0b", "it is not a text file"),
    ],
)
def test_only_text_is_included(disk: Disk, name: str, data: bytes, why: str) -> None:
    disk.write("CLAUDE.md", f"see @./{name}")
    disk.write(name, data)
    assert len(disk.texts()) == 1
    assert disk.notes() == [f"@./{name} is left out: {why}"]


def test_a_folder_or_a_pipe_cannot_be_included(disk: Disk) -> None:
    disk.write("CLAUDE.md", "see @docs/folder and @docs/pipe.md")
    disk.at("docs/folder").mkdir(parents=True)
    os.mkfifo(disk.at("docs/pipe.md"))
    assert [note.partition(": ")[2] for note in disk.notes()] == [
        "it cannot be read: it is not a plain file",
        "it cannot be read: it is not a plain file",
    ]


# ── what a repository cannot do ──────────────────────────────────────────────


@pytest.mark.parametrize(
    "include", ["@~/.ssh/config.txt", "@../../.ssh/config.txt", "@link.md", "@folder/config.txt"]
)
def test_a_project_reaches_nothing_outside_unless_approved(disk: Disk, include: str) -> None:
    secret = disk.write("~/.ssh/config.txt", "secret")
    disk.write("CLAUDE.md", f"see {include}")
    disk.at("link.md").symlink_to(secret)
    disk.at("folder").symlink_to(secret.parent)
    assert "secret" not in "".join(disk.texts())
    assert "not approved" in disk.notes()[0]
    asked: list[Path] = []
    assert "secret" in disk.texts(lambda path: asked.append(path) or True)
    assert asked == [Path(os.path.realpath(secret))]


def test_the_persons_own_settings_are_outside_of_a_project_too(disk: Disk) -> None:
    disk.write("~/.claude/keys.json", "secret")
    disk.write("CLAUDE.md", "see @~/.claude/keys.json")
    assert "secret" not in "".join(disk.texts())


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/rules/a.md", ".reverie/local.md"])
def test_a_file_that_is_a_link_to_the_outside_is_left_out(disk: Disk, name: str) -> None:
    secret = disk.write("~/.ssh/id", "secret")
    disk.at(name).parent.mkdir(parents=True, exist_ok=True)
    disk.at(name).symlink_to(secret)
    assert disk.texts() == []
    assert "not approved" in disk.notes()[0]


def test_a_folder_of_rules_that_is_a_link_to_the_outside_is_left_out(disk: Disk) -> None:
    disk.write("outside/rules/a.md", "secret")
    disk.at(".claude").mkdir()
    disk.at(".claude/rules").symlink_to(disk.at("outside/rules"))
    assert disk.texts() == []


def test_one_file_under_two_names_is_read_once(disk: Disk) -> None:
    disk.write("AGENTS.md", "same")
    disk.at("CLAUDE.md").symlink_to("AGENTS.md")
    disk.at("REVERIE.md").hardlink_to(disk.at("AGENTS.md"))
    assert disk.texts() == ["same"]


def test_links_in_a_circle_end(disk: Disk) -> None:
    disk.at("CLAUDE.md").symlink_to("AGENTS.md")
    disk.at("AGENTS.md").symlink_to("CLAUDE.md")
    disk.at(".claude/rules").mkdir(parents=True)
    disk.at(".claude/rules/loop").symlink_to("..")
    disk.write(".claude/rules/a.md", "rule")
    assert disk.texts() == ["rule"]
    assert any("cannot be read" in note for note in disk.notes())


def test_ten_megabytes_are_cut(disk: Disk) -> None:
    disk.write("CLAUDE.md", "héllo wörld\n" * 1_000_000)
    (file,) = disk.read()
    assert len(file.text) < 40_200
    assert "\ufffd" not in file.text
    assert file.notes == ("longer than 40,000 characters: the rest is left out; make it shorter",)


def test_no_more_of_a_file_is_read_than_is_shown(disk: Disk) -> None:
    """A zero byte far after the part that is read is not noticed."""
    disk.write("CLAUDE.md", b"x\n" * 200_000 + b"\0")
    assert disk.texts()[0].startswith("x\nx\n")


def test_binary_and_broken_text(disk: Disk) -> None:
    disk.write("AGENTS.md", b"\x7fELF\0")
    disk.write("CLAUDE.md", b"caf\xe9")
    assert disk.texts() == ["caf\ufffd"]
    assert disk.notes()[0] == "it is not a text file"


def test_a_bomb_of_includes_does_not_go_off(disk: Disk) -> None:
    names = [f"bomb/f{n}.md" for n in range(200)]
    for n, name in enumerate(names):
        disk.write(name, f"{n}" + "".join(f" @../{other}" for other in names[n + 1 :: 7]))
    disk.write("CLAUDE.md", "".join(f" @{name}" for name in names))
    disk.write("src/CLAUDE.md", "still read")
    found = disk.texts()
    assert len(found) == MOST_INCLUDED + 2
    assert found[-1] == "still read"
    assert any(f"{MOST_INCLUDED} files are included already" in note for note in disk.notes())
    assert "only the first 50 of its 200 includes are read" in disk.notes()


def test_thousands_of_rules_are_not_all_read(disk: Disk) -> None:
    for n in range(MOST_RULES + 20):
        disk.write(f".claude/rules/{n:04}.md")
    assert len(disk.texts()) == MOST_RULES


def test_a_file_nobody_may_read_is_named(disk: Disk) -> None:
    disk.write("CLAUDE.md").chmod(0)
    if os.access(disk.at("CLAUDE.md"), os.R_OK):
        pytest.skip("this user may read everything")
    assert "cannot be read" in disk.notes()[0]
