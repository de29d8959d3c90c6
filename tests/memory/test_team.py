"""Team memory over real git remotes: stories of two and three members, and of things that go wrong."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pygit2
import pytest
from tests.memory.team_members import SECRET, Clean, Member, TokenScrubber, bare, head, names
from tests.place import git

from reverie.errors import InputError, StorageError
from reverie.memory.format.revisions import Author, Put
from reverie.memory.sync.accepting import Refusal
from reverie.memory.sync.remote import Remote


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare(tmp_path / "remote.git")


@pytest.fixture
def ada(tmp_path: Path, remote: Path) -> Member:
    return Member(tmp_path, "ada", remote)


@pytest.fixture
def bob(tmp_path: Path, remote: Path) -> Member:
    return Member(tmp_path, "bob", remote)


@pytest.fixture
def met(ada: Member, bob: Member) -> tuple[Member, Member]:
    """Two members who share one memory of five lines."""
    ada.remember("deploy.md", "one\ntwo\nthree\nfour\nfive\n")
    ada.sync()
    bob.sync()
    return ada, bob


# --- syncs without problems ---


def test_a_memory_travels_with_its_pointer_and_says_where_it_came_from(
    ada: Member, bob: Member
) -> None:
    ada.remember("deploy.md", "Deploys happen on Tuesdays.\n")
    first = ada.sync()
    assert (first.pushed, first.pulled, first.started) == (("deploy.md",), (), True)
    second = bob.sync()
    assert (second.pushed, second.pulled, second.started) == ((), ("deploy.md",), False)
    assert bob.body("deploy.md") == "Deploys happen on Tuesdays.\n"
    assert bob.pointed == ["deploy.md"]
    assert bob.origin("deploy.md") == "team"
    assert ada.origin("deploy.md") == "user"


def test_only_the_origin_line_differs_from_what_was_sent(met: tuple[Member, Member]) -> None:
    ada, bob = met
    sent, kept = (m.files["deploy.md"].splitlines() for m in (ada, bob))
    assert [pair for pair in zip(sent, kept, strict=True) if pair[0] != pair[1]] == [
        (b"origin: user", b"origin: team")
    ]


def test_a_reader_never_pushes_and_a_second_sync_does_nothing(
    met: tuple[Member, Member], remote: Path
) -> None:
    ada, bob = met
    before = head(remote).id
    for member in (bob, ada, bob):
        revisions = len(list(member.store.history.log()))
        report = member.sync()
        assert (report.pulled, report.pushed, report.conflicts, report.refused) == ((), (), (), ())
        assert len(list(member.store.history.log())) == revisions
    assert head(remote).id == before


def test_the_author_stays_in_history_and_the_session_stays_at_home(
    met: tuple[Member, Member], remote: Path
) -> None:
    _, bob = met
    assert (head(remote).author.name, head(remote).author.email) == ("Ada", "ada@example.invalid")
    assert "s-private" not in head(remote).message
    shared = [
        revision for revision in bob.store.history.log("deploy.md") if "share" in revision.summary
    ]
    assert [revision.id for revision in shared] == [str(head(remote).id)]


def test_the_merge_has_both_histories_behind_it(met: tuple[Member, Member]) -> None:
    ada, bob = met
    ada.remember("more.md", "x\n")
    ada.sync()
    bob.remember("own.md", "y\n")
    bob.sync()
    repo = pygit2.Repository(str(bob.store.history.git_dir))
    assert len(repo.references["refs/heads/main"].peel(pygit2.Commit).parent_ids) == 2


def test_different_files_meet(met: tuple[Member, Member]) -> None:
    ada, bob = met
    ada.remember("from_ada.md", "a\n")
    bob.remember("from_bob.md", "b\n")
    assert ada.sync().pushed == ("from_ada.md",)
    report = bob.sync()
    assert (report.pulled, report.pushed) == (("from_ada.md",), ("from_bob.md",))
    assert ada.sync().pulled == ("from_bob.md",)
    everything = ["deploy.md", "from_ada.md", "from_bob.md"]
    assert ada.pointed == bob.pointed == everything
    assert [ada.body(f) for f in everything] == [bob.body(f) for f in everything]


def test_one_file_changed_in_two_places_is_merged(met: tuple[Member, Member]) -> None:
    ada, bob = met
    ada.remember("deploy.md", "ONE\ntwo\nthree\nfour\nfive\n")
    bob.remember("deploy.md", "one\ntwo\nthree\nfour\nFIVE\n", origin="team")
    ada.sync()
    report = bob.sync()
    assert (report.pulled, report.pushed, report.conflicts) == (("deploy.md",), ("deploy.md",), ())
    ada.sync()
    assert ada.body("deploy.md") == bob.body("deploy.md") == "ONE\ntwo\nthree\nfour\nFIVE\n"


def test_a_conflict_keeps_both_and_nobody_elses_file_changes(met: tuple[Member, Member]) -> None:
    ada, bob = met
    ada.remember("deploy.md", "Ada says Tuesday.\n")
    bob.remember("deploy.md", "Bob says Friday.\n")
    ada.sync()
    report = bob.sync()
    [conflict] = report.conflicts
    assert conflict.file == "deploy.md"
    assert conflict.beside is not None
    assert conflict.beside.startswith("deploy_conflict_")
    assert bob.body("deploy.md") == "Ada says Tuesday.\n"
    assert bob.body(conflict.beside) == "Bob says Friday.\n"
    assert bob.pointed == ["deploy.md", conflict.beside]
    assert ada.sync().pulled == (conflict.beside,)
    assert ada.body("deploy.md") == "Ada says Tuesday.\n"
    assert ada.body(conflict.beside) == "Bob says Friday.\n"
    assert ada.pointed == bob.pointed
    assert bob.sync().conflicts == ()


def test_both_add_a_file_of_one_name(ada: Member, bob: Member) -> None:
    ada.remember("deploy.md", "Tuesday\n")
    bob.remember("deploy.md", "Friday\n")
    ada.sync()
    [conflict] = bob.sync().conflicts
    assert bob.body("deploy.md") == "Tuesday\n"
    assert bob.body(str(conflict.beside)) == "Friday\n"


def test_a_removal_travels(met: tuple[Member, Member]) -> None:
    ada, bob = met
    ada.forget("deploy.md")
    assert ada.sync().pushed == ("deploy.md",)
    assert bob.sync().pulled == ("deploy.md",)
    assert bob.body("deploy.md") is None
    assert ada.pointed == bob.pointed == []


@pytest.mark.parametrize("remover", ["first", "second"])
def test_an_edit_wins_over_a_removal(met: tuple[Member, Member], remover: str) -> None:
    ada, bob = met
    gone, edited = (ada, bob) if remover == "first" else (bob, ada)
    gone.forget("deploy.md")
    edited.remember("deploy.md", "still needed\n", origin="team")
    ada.sync()
    report = bob.sync()
    ada.sync()
    assert [conflict.file for conflict in report.conflicts] == ["deploy.md"]
    assert ada.body("deploy.md") == bob.body("deploy.md") == "still needed\n"
    assert ada.pointed == bob.pointed == ["deploy.md"]


def test_three_members_come_to_the_same_state_whatever_the_order(
    tmp_path: Path, remote: Path
) -> None:
    team = [Member(tmp_path, name, remote) for name in ("ada", "bob", "eve")]
    for number, member in enumerate(team):
        member.remember(f"own_{number}.md", f"{number}\n")
        member.remember("same.md", f"version {number}\n")
    for member in (*team, *reversed(team), *team):
        member.sync()
    texts = [{file: member.body(file) for file in member.files} for member in team]
    assert texts[0].keys() == texts[1].keys() == texts[2].keys()
    assert len(texts[0]) == 3 + 3 + 1
    said = {body for file, body in texts[0].items() if file.startswith("same")}
    assert said == {"version 0\n", "version 1\n", "version 2\n"}
    assert team[0].pointed == team[1].pointed == team[2].pointed
    assert all(member.sync().pushed == () for member in team)


def test_hand_edits_are_shared_too(met: tuple[Member, Member]) -> None:
    ada, bob = met
    (bob.root / "by_hand.md").write_text("no frontmatter at all\n")
    assert bob.sync().pushed == ("by_hand.md",)
    assert ada.sync().pulled == ("by_hand.md",)
    assert ada.files["by_hand.md"] == b"---\norigin: team\n---\nno frontmatter at all\n"
    assert bob.sync().pulled == ()


def test_headings_of_an_index_stay_where_they_were_written(met: tuple[Member, Member]) -> None:
    ada, bob = met
    for member, title in ((ada, "# Ada's order\n\n"), (bob, "# Bob's order\n\n")):
        index = member.root / "MEMORY.md"
        index.write_text(title + index.read_text())
        member.remember(f"{title[2:5].lower()}_note.md", "x\n")
    for member in (ada, bob, ada, bob):
        member.sync()
    for member, title in ((ada, "# Ada's order"), (bob, "# Bob's order")):
        lines = (member.root / "MEMORY.md").read_text().splitlines()
        assert [line for line in lines if line.startswith("#")] == [title]
    assert ada.pointed == bob.pointed == ["ada_note.md", "bob_note.md", "deploy.md"]
    assert (ada.sync().pushed, bob.sync().pushed) == ((), ())


# --- what must not be shared ---


def test_a_secret_is_not_shared_and_neither_is_its_past(
    met: tuple[Member, Member], remote: Path
) -> None:
    ada, bob = met
    (bob.root / "keys.md").write_text(f"the key is {SECRET}\n")
    bob.remember("fine.md", "fine\n")
    report = bob.sync()
    assert report.pushed == ("fine.md",)
    [refusal] = report.refused
    assert refusal.file == "keys.md"
    assert "secret (token)" in refusal.reason
    assert bob.sync().refused == report.refused
    (bob.root / "keys.md").write_text("the key is in the vault\n")
    assert bob.sync().pushed == ("keys.md",)
    assert _found_in_objects(remote, SECRET) == []
    assert ada.sync().pulled == ("fine.md", "keys.md")


def _found_in_objects(remote: Path, text: str) -> list[str]:
    repo = pygit2.Repository(str(remote))
    blobs = (repo[oid] for oid in repo)
    return [str(b.id) for b in blobs if isinstance(b, pygit2.Blob) and text.encode() in b.data]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x" * 70_000, "at most 65,536"),
        ("a\0b", "NUL"),
        ("---\nname: Me\ntype: user\n---\nI am new here\n", "always private"),
    ],
)
def test_what_is_not_for_the_team_stays_here(
    met: tuple[Member, Member], text: str, reason: str
) -> None:
    _, bob = met
    (bob.root / "mine.md").write_text(text)
    report = bob.sync()
    assert report.pushed == ()
    assert [(r.file, reason in r.reason) for r in report.refused] == [("mine.md", True)]
    assert bob.files["mine.md"] == text.encode()


def test_a_secret_in_an_index_line_stays_here(met: tuple[Member, Member], remote: Path) -> None:
    _, bob = met
    bob.remember("note.md", "harmless\n")
    index = bob.root / "MEMORY.md"
    index.write_text(index.read_text().replace("About note.md", SECRET))
    report = bob.sync()
    assert report.pushed == ("note.md",)
    assert [r.file for r in report.refused] == ["MEMORY.md"]
    assert _found_in_objects(remote, SECRET) == []
    assert SECRET in index.read_text()


def test_an_emptied_folder_does_not_empty_the_team(
    met: tuple[Member, Member], remote: Path
) -> None:
    ada, bob = met
    for number in range(3):
        ada.remember(f"note_{number}.md", "x\n")
    ada.sync()
    bob.sync()
    for path in bob.root.iterdir():
        path.unlink()
    before = head(remote).id
    with pytest.raises(InputError, match="4 memories; they were not removed for the team"):
        bob.sync()
    assert head(remote).id == before


def test_what_else_is_on_the_branch_is_carried_along(
    met: tuple[Member, Member], remote: Path, tmp_path: Path
) -> None:
    _, bob = met
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", remote, clone)
    (clone / "LICENSE").write_text("free")
    (clone / ".github").mkdir()
    (clone / ".github" / "owners").write_text("ada")
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "other things")
    git(clone, "push", "-q", "origin", "main")
    bob.remember("note.md", "x\n")
    report = bob.sync()
    assert report.pushed == ("note.md",)
    assert sorted(r.file for r in report.refused) == [".github", "LICENSE"]
    assert sorted(names(remote)) == [b".github", b"LICENSE", b"MEMORY.md", b"deploy.md", b"note.md"]
    assert not (bob.root / "LICENSE").exists()


# --- unsuitable remotes ---


def test_a_branch_of_code_is_not_taken_for_a_memory(
    tmp_path: Path, remote: Path, ada: Member
) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", remote, clone)
    (clone / "README.md").write_text("a program")
    (clone / "main.py").write_text("pass")
    git(clone, "checkout", "-q", "-b", "main")
    git(clone, "add", ".")
    git(clone, "commit", "-q", "-m", "code")
    git(clone, "push", "-q", "origin", "main")
    ada.remember("note.md", "x\n")
    with pytest.raises(InputError, match="not a team memory"):
        ada.sync()
    own = Member(tmp_path, "ada", remote, branch="reverie-memory")
    assert own.sync().started
    assert sorted(names(remote)) == [b"README.md", b"main.py"]


def test_an_empty_remote_and_nothing_to_say(ada: Member) -> None:
    report = ada.sync()
    assert (report.pulled, report.pushed, report.started) == ((), (), False)


def test_a_branch_that_vanished_is_made_again(met: tuple[Member, Member], remote: Path) -> None:
    ada, bob = met
    git(remote, "update-ref", "-d", "refs/heads/main")
    report = bob.sync()
    assert (report.pushed, report.started) == (("deploy.md",), True)
    assert ada.sync().conflicts == ()
    assert ada.body("deploy.md") == bob.body("deploy.md")


def test_a_branch_that_was_rewritten_removes_nothing(
    met: tuple[Member, Member], remote: Path, tmp_path: Path
) -> None:
    _, bob = met
    other = Member(tmp_path, "other", bare(tmp_path / "other.git"))
    other.remember("new_start.md", "x\n")
    other.sync()
    git(remote, "fetch", "-q", tmp_path / "other.git", "+main:main")
    assert bob.sync().pulled == ("new_start.md",)
    assert bob.pointed == ["deploy.md", "new_start.md"]
    assert b"deploy.md" in names(remote)


@pytest.mark.parametrize(
    ("address", "error", "words"),
    [
        ("{tmp}/nowhere.git", InputError, "is not a git repository"),
        ("{tmp}", InputError, "is not a git repository"),
        ("http://127.0.0.1:9/team.git", StorageError, "sync again when it can be reached"),
        ("http://ada:hunter2@127.0.0.1:9/team.git", StorageError, "//…@127"),
    ],
)
def test_an_address_that_does_not_answer(
    tmp_path: Path, address: str, error: type[Exception], words: str
) -> None:
    ada = Member(tmp_path, "ada", address.format(tmp=tmp_path))
    ada.remember("note.md", "x\n")
    with pytest.raises(error) as raised:
        ada.sync()
    assert words in str(raised.value)
    assert "hunter2" not in str(raised.value)
    assert ada.body("note.md") == "x\n"


@pytest.mark.parametrize(
    "address", ["", "  ", "-oops", "--upload-pack=evil", "ext::sh -c evil", "a\nb"]
)
def test_addresses_that_are_no_addresses(address: str) -> None:
    with pytest.raises(InputError, match="not the address"):
        Remote(address, {})


@pytest.mark.parametrize("branch", ["", "-x", "a..b", "a b", "x.lock", "a\0b"])
def test_branches_that_cannot_be(branch: str) -> None:
    with pytest.raises(InputError, match="name of a git branch"):
        Remote("/somewhere", {}, branch)


def test_without_git_the_message_says_so(ada: Member) -> None:
    ada.environment["PATH"] = "/nonexistent"
    with pytest.raises(InputError, match="git is not installed"):
        ada.sync()


def _hook(remote: Path, name: str, script: str) -> None:
    path = remote / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_a_remote_that_takes_nothing_still_gives(met: tuple[Member, Member], remote: Path) -> None:
    ada, bob = met
    ada.remember("new.md", "x\n")
    ada.sync()
    _hook(remote, "pre-receive", "echo protected >&2; exit 1")
    bob.remember("own.md", "y\n")
    bob.remember("deploy.md", "changed here\n", origin="team")
    with pytest.raises(StorageError, match="did not take the push to main"):
        bob.sync()
    assert bob.body("new.md") == "x\n"
    (remote / "hooks" / "pre-receive").unlink()
    # A change that could not be pushed is not overwritten by another member's change.
    ada.remember("deploy.md", "changed there\n")
    ada.sync()
    [conflict] = bob.sync().conflicts
    assert bob.body("deploy.md") == "changed there\n"
    assert bob.body(str(conflict.beside)) == "changed here\n"


def test_a_remote_that_hangs_is_given_up(ada: Member, tmp_path: Path, remote: Path) -> None:
    os.mkfifo(tmp_path / "never")
    _hook(remote, "pre-receive", f"read line < {tmp_path}/never")
    ada.remember("note.md", "x\n")
    ada.remote = replace(ada.remote, seconds=1)
    with pytest.raises(StorageError, match="did not answer within 1 s"):
        ada.sync()
    (remote / "hooks" / "pre-receive").unlink()
    ada.remote = replace(ada.remote, seconds=20)
    assert ada.sync().pushed == ("note.md",)


# --- races and killed processes ---


def test_who_loses_the_race_to_push_merges_again(
    met: tuple[Member, Member], tmp_path: Path, remote: Path
) -> None:
    ada, bob = met
    ada.remember("quick.md", "first\n")
    bob.remember("slow.md", "second\n")
    _before_push(bob, lambda: ada.sync())
    report = bob.sync()
    assert (report.pulled, report.pushed) == (("quick.md",), ("slow.md",))
    assert ada.sync().pulled == ("slow.md",)
    assert len(head(remote).parent_ids) == 1


def _before_push(member: Member, act: Callable[[], object]) -> None:
    """Call a function once, between the member's merge and its push."""
    real = member.remote

    class Slow(Remote):
        done = False

        def push(self, git_dir: Path, commit: str) -> bool:
            if not Slow.done:
                Slow.done = True
                act()
            return super().push(git_dir, commit)

    member.remote = Slow(real.url, real.environment, real.branch, real.seconds)


def test_a_writer_who_comes_in_between_is_not_lost(met: tuple[Member, Member]) -> None:
    ada, bob = met
    ada.remember("new.md", "x\n")
    ada.sync()
    real = bob.remote

    class Busy(Remote):
        def fetch(self, git_dir: Path, into: str) -> bool:
            found = super().fetch(git_dir, into)
            bob.remember("meanwhile.md", "y\n")
            return found

    bob.remote = Busy(real.url, real.environment, real.branch, real.seconds)
    report = bob.sync()
    assert report.pulled == ("new.md",)
    assert bob.pointed == ["deploy.md", "meanwhile.md", "new.md"]
    ada.sync()
    assert ada.pointed == bob.pointed


class _Interrupted(TokenScrubber):
    """Writes to our side while a merge is planned, a given number of times."""

    def __init__(self, act: Callable[[int], object], times: int) -> None:
        self.act = act
        self.left = times

    def scrub(self, text: str) -> Clean:
        if "three" not in text and self.left:
            self.left -= 1
            self.act(self.left)
        return super().scrub(text)


def test_a_merge_is_planned_anew_when_its_file_changes_meanwhile(
    met: tuple[Member, Member], tmp_path: Path, remote: Path
) -> None:
    ada, bob = met
    ada.remember("deploy.md", "Ada says Tuesday.\n")
    ada.sync()
    other = Member(tmp_path, "bob", remote)
    report = bob.sync(_Interrupted(lambda n: other.remember("deploy.md", "Bob says Friday.\n"), 1))
    [conflict] = report.conflicts
    assert bob.body("deploy.md") == "Ada says Tuesday.\n"
    assert bob.body(str(conflict.beside)) == "Bob says Friday.\n"


def test_a_side_that_never_rests_is_left_alone_for_now(
    met: tuple[Member, Member], tmp_path: Path, remote: Path
) -> None:
    ada, bob = met
    ada.remember("deploy.md", "Ada says Tuesday.\n")
    ada.sync()
    other = Member(tmp_path, "bob", remote)
    with pytest.raises(StorageError, match="sync again in a moment"):
        bob.sync(_Interrupted(lambda n: other.remember("deploy.md", f"{n}\n"), 99))
    assert len(bob.sync().conflicts) == 1


def test_a_hand_edit_in_the_middle_keeps_both_histories(met: tuple[Member, Member]) -> None:
    ada, bob = met
    ada.remember("new.md", "x\n")
    ada.sync()
    real = bob.clock.now

    def now() -> float:
        (bob.root / "by_hand.md").write_text("saved while a sync ran\n")
        return real()

    bob.clock.now = now  # type: ignore[method-assign]
    assert bob.sync().pulled == ("new.md",)
    bob.clock.now = real  # type: ignore[method-assign]
    assert bob.sync().pushed == ("by_hand.md",)
    assert ada.sync().pulled == ("by_hand.md",)


def test_a_file_too_large_for_history_is_neither_removed_nor_overwritten(
    met: tuple[Member, Member], remote: Path
) -> None:
    ada, bob = met
    (bob.root / "deploy.md").write_text("x" * 2_000_000)
    assert bob.sync().pushed == ()
    assert b"deploy.md" in names(remote)
    ada.remember("deploy.md", "Ada says Tuesday.\n")
    ada.sync()
    [refusal] = bob.sync().refused
    assert (refusal.file, "larger than 65,536" in refusal.reason) == ("deploy.md", True)
    assert len(bob.files["deploy.md"]) == 2_000_000


class _Death:
    """Ends the process at the n-th call into our storage code."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: object, event: str, argument: object) -> None:
        if event in {"call", "c_call"} and "/reverie/memory/" in frame.f_code.co_filename:  # type: ignore[attr-defined]
            self.left -= 1
            if self.left == 0:
                os._exit(9)


def _sync_and_die(member: Member, at: int) -> bool:
    """Sync in a child that is killed at a given call; False if it ended normally."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sys.setprofile(_Death(at))
            member.sync()
            sys.setprofile(None)
            code = 0
        finally:
            os._exit(code)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in {0, 9}
    return status == 9


@pytest.mark.parametrize("step", [311, pytest.param(11, marks=pytest.mark.slow)])
def test_killed_anywhere_the_next_sync_finishes(tmp_path: Path, step: int) -> None:
    """Processes are killed at ever later points while all members keep writing."""
    remote = bare(tmp_path / "remote.git")
    ada, bob = Member(tmp_path, "ada", remote), Member(tmp_path, "bob", remote)
    ada.remember("shared.md", "top\n1\n2\n3\n4\nbottom -1\n")
    ada.sync()
    bob.sync()
    at, round_, died = 40, 0, True
    while died:
        ada.remember("shared.md", f"top {round_}\n1\n2\n3\n4\nbottom {round_ - 1}\n")
        ada.remember("ada.md", f"{round_}\n")
        ada.sync()
        bob.remember("bob.md", f"{round_}\n")
        body = str(bob.body("shared.md"))
        bob.remember(
            "shared.md", body.rpartition("bottom")[0] + f"bottom {round_}\n", origin="team"
        )
        died = _sync_and_die(bob, at)
        bob.store.notice_hand_edits()
        bob.remember("shared.md", str(bob.body("shared.md")), origin="team")
        report = bob.sync()
        assert report.conflicts == ()
        ada.sync()
        assert bob.body("shared.md") == f"top {round_}\n1\n2\n3\n4\nbottom {round_}\n"
        assert ada.body("shared.md") == bob.body("shared.md")
        assert ada.pointed == bob.pointed
        assert {*ada.files} == {*bob.files}
        at, round_ = at + step, round_ + 1
    assert round_ > 5


def test_the_same_refusal_reads_the_same(met: tuple[Member, Member]) -> None:
    _, bob = met
    (bob.root / "keys.md").write_text(SECRET)
    assert bob.sync().refused == (Refusal("keys.md", "not shared: it holds a secret (token)"),)
    assert bob.store.apply((Put("x.md", b"x"),), Author(), "still usable") is not None
