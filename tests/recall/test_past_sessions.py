"""Past conversations, ours and Claude Code's, come into the index a piece at a time."""

from functools import partial
from pathlib import Path

import pytest
from tests.conversation import claude_lines as claude
from tests.conversation.build import write_lines
from tests.place import Place, git

from reverie.conversation.journal import Journal
from reverie.conversation.records import Opened, Said
from reverie.core.messages import Attachment, Block, Text, new_message
from reverie.recall import past_sessions as episodes
from reverie.recall.index import RecallIndex
from reverie.recall.past_sessions import EpisodeIndexer, Progress, conversations
from reverie.recall.service import index_past_sessions, search

NOW = 1_800_000_000.0


@pytest.fixture
def index(tmp_path: Path) -> RecallIndex:
    return RecallIndex.open(tmp_path / "index.sqlite")


@pytest.fixture
def indexer(place: Place, index: RecallIndex) -> EpisodeIndexer:
    return indexing(place, index)


def indexing(place: Place, index: RecallIndex, current: str = "") -> EpisodeIndexer:
    app = place.app()
    return EpisodeIndexer(index, partial(conversations, app.project), app.scrubber, current)


def finished(indexer: EpisodeIndexer) -> list[Progress]:
    found = []
    while (step := indexer.step()) is not None:
        found.append(step)
        assert len(found) < 1_000
    return found


def ours(place: Place, session: str, *texts: str) -> Path:
    return place.journal(session, *(Said(new_message("user", Text(text))) for text in texts))


def theirs(
    place: Place, session: str, *lines: claude.Line, cwd: Path | None = None, key: str = ""
) -> Path:
    cwd = cwd or place.root
    name = key or "".join(char if char.isalnum() else "-" for char in str(cwd))
    path = place.person / ".claude" / "projects" / name / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_lines(path, [line | {"cwd": str(cwd)} for line in lines])
    return path


def sessions(index: RecallIndex, question: str) -> list[str]:
    hits = index.search(question, now=NOW, collection="episodes").hits
    return sorted({hit.session for hit in hits})


def test_both_kinds_of_transcript_are_found(place: Place, index: RecallIndex, indexer):
    ours(place, "s1", "The heron stands in the reeds")
    theirs(place, "c1", claude.prompt("Which bird was it?"), claude.reply(claude.text("A heron.")))
    finished(indexer)
    assert sessions(index, "heron") == ["c1", "s1"]
    assert sessions(index, "which bird") == ["c1"]


def test_other_agents_sessions_are_found(place: Place, index: RecallIndex, indexer):
    folder = place.app().project.folder
    mirrored = folder / "claude-agent-sdk" / "key" / "sdk%2E1.jsonl"
    inner = folder / "claude-agent-sdk" / "key" / "sdk%2E1" / "agent.jsonl"
    for path in (mirrored, inner):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_lines(path, [claude.prompt("the zebra crossing is broken")])
    heard = folder / "hooks" / "cursor-7" / "said.jsonl"
    with Journal(heard) as journal:
        journal.append(Opened("7", NOW), Said(new_message("user", Text("a zebra in the yard"))))
    finished(indexer)
    assert sessions(index, "zebra") == ["cursor-7", "sdk.1"]
    index_past_sessions(place.app())
    found = search(place.app(), "zebra", limit=5, scope="episodes").hits
    assert sorted({hit.session for hit in found}) == ["cursor-7", "sdk.1"]


def test_what_nobody_said_is_no_episode(place: Place, index: RecallIndex, indexer):
    shown: tuple[Block, ...] = (Text("hello"), Attachment("recall", "a heron from memory"))
    note = new_message("user", Text("heron by hook"), origin="hook")
    place.journal("s1", Said(new_message("user", *shown)), Said(note))
    theirs(
        place,
        "c1",
        claude.prompt("caveat: heron", isMeta=True),
        claude.prompt("summary: heron", isCompactSummary=True),
        claude.result("t1", "heron in the output"),
        claude.attachment("hook", content="heron"),
        claude.prompt("hello there"),
    )
    finished(indexer)
    assert sessions(index, "heron") == []
    assert sessions(index, "hello") == ["c1", "s1"]


def test_a_transcript_that_did_not_change_is_not_read_again(
    place: Place, indexer, monkeypatch: pytest.MonkeyPatch
):
    ours(place, "s1", "heron")
    theirs(place, "c1", claude.prompt("stork"))
    assert finished(indexer)[-1] == Progress(2, 2)
    read: list[Path] = []
    load = episodes.transcripts.load
    monkeypatch.setattr(
        episodes.transcripts, "load", lambda path: (read.append(path), load(path))[1]
    )
    assert finished(indexer) == [Progress(0, 0)]
    grown = ours(place, "s1", "egret")
    finished(indexer)
    assert read == [grown]


def test_a_deleted_transcript_leaves_the_index(place: Place, index: RecallIndex, indexer):
    first = ours(place, "s1", "heron one")
    second = theirs(place, "c1", claude.prompt("heron two"))
    ours(place, "s2", "heron three")
    finished(indexer)
    first.unlink()
    second.unlink()
    finished(indexer)
    assert sessions(index, "heron") == ["s2"]
    assert list(index.sessions()) == ["s2"]


def test_what_was_taken_out_of_a_transcript_leaves_the_index(
    place: Place, index: RecallIndex, indexer
):
    lines = [claude.prompt("the heron stands"), claude.prompt("the otter is asleep")]
    theirs(place, "c1", *lines)
    finished(indexer)
    assert sessions(index, "otter") == ["c1"]
    theirs(place, "c1", lines[0], lines[1] | {"message": {"role": "user", "content": "[removed]"}})
    finished(indexer)
    assert sessions(index, "otter") == []
    theirs(place, "c1", lines[0])
    finished(indexer)
    assert sessions(index, "removed") == []
    assert sessions(index, "heron") == ["c1"]


def test_the_running_session_is_left_alone(place: Place, index: RecallIndex):
    ours(place, "s1", "heron")
    ours(place, "s2", "heron")
    finished(indexing(place, index, current="s2"))
    assert sessions(index, "heron") == ["s1"]


@pytest.mark.parametrize("steps", range(1, 7))
def test_work_may_be_interrupted_anywhere(
    place: Place, index: RecallIndex, tmp_path: Path, steps: int
):
    texts = [f"message number{i} about herons" for i in range(450)]
    theirs(place, "c1", *(claude.prompt(text) for text in texts))
    ours(place, "s1", "egret")
    stopped = indexing(place, index)
    for _ in range(steps):
        assert stopped.step() is not None
    assert finished(indexing(place, index))[-1].total > 0
    whole = RecallIndex.open(tmp_path / "whole.sqlite")
    finished(indexing(place, whole))
    for question in ("number0", "number199", "number200", "number449", "egret"):
        found = [
            one.search(question, now=NOW, collection="episodes").hits for one in (index, whole)
        ]
        assert [hit.key for hit in found[0]] == [hit.key for hit in found[1]]


def test_a_step_is_a_bounded_piece_of_work(place: Place, index: RecallIndex, indexer):
    theirs(place, "c1", *(claude.prompt(f"heron {i}") for i in range(450)))
    steps = finished(indexer)
    assert steps[0] == Progress(0, 1)
    assert steps[-1] == Progress(1, 1)
    assert len(steps) >= 450 / episodes.MESSAGES_A_STEP + 2


def test_broken_transcripts_stop_nothing(place: Place, index: RecallIndex, indexer):
    ours(place, "s1", "heron")
    empty = place.app().project.journal("empty")
    empty.write_bytes(b"")
    place.app().project.journal("odd").write_bytes(b"\xff\xfe not json\n[1, 2]\n")
    place.app().project.journal("gone").symlink_to("/nonexistent/file.jsonl")
    finished(indexer)
    assert sessions(index, "heron") == ["s1"]
    assert finished(indexer) == [Progress(0, 0)]


def test_an_index_that_cannot_be_written_ends_the_pass(place: Place, tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    broken = RecallIndex.open(tmp_path / "file" / "index.sqlite")
    ours(place, "s1", "heron")
    indexer = indexing(place, broken)
    finished(indexer)
    assert indexer.problem


def test_folders_and_worktrees_of_the_project_belong_to_it(
    place: Place, index: RecallIndex, indexer
):
    git(place.root, "init", "-q")
    inside = place.root / "docs"
    inside.mkdir()
    theirs(place, "c1", claude.prompt("heron in docs"), cwd=inside)
    theirs(place, "c2", claude.prompt("heron in a worktree"), cwd=place.root / ".worktrees" / "x")
    finished(indexer)
    assert sessions(index, "heron") == ["c1", "c2"]


def test_another_project_with_the_same_name_there_does_not(place: Place, index: RecallIndex):
    """Claude Code writes every odd character as a dash, so that names may meet."""
    git(place.root, "init", "-q")
    key = "".join(char if char.isalnum() else "-" for char in str(place.root))
    stranger = place.base / "proj ect"
    stranger.mkdir()
    theirs(place, "c1", claude.prompt("heron of a stranger"), cwd=stranger, key=key)
    theirs(place, "c2", claude.prompt("heron next door"), cwd=Path(f"{place.root}-old"))
    theirs(place, "agent-7", claude.prompt("heron of a sub-agent"))
    finished(indexing(place, index))
    assert sessions(index, "heron") == []


def test_where_claude_code_was_told_to_keep_its_files(
    place: Place, index: RecallIndex, monkeypatch: pytest.MonkeyPatch
):
    path = theirs(place, "c1", claude.prompt("heron"))
    elsewhere = place.base / "config"
    (elsewhere / "projects" / path.parent.name).mkdir(parents=True)
    path.rename(elsewhere / "projects" / path.parent.name / path.name)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(elsewhere))
    finished(indexing(place, index))
    assert sessions(index, "heron") == ["c1"]


def test_what_another_agent_was_told_in_confidence_is_not_indexed(
    place: Place, index: RecallIndex, indexer, tmp_path: Path
):
    value = "hunter" + "2-blue-Falcon"
    theirs(place, "c1", claude.prompt(f"my password for the wiki is {value}"))
    finished(indexer)
    assert sessions(index, "wiki password") == ["c1"]
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("index.sqlite*")).lower()
    assert b"falcon" not in stored
