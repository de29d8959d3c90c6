"""What real coding agents show their model and their person with Reverie in them: true, quiet, visible."""

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.provider.script import ToolCall
from tests.real_clients.desk import FACT, OLDER_CLAUDE, REVERIE, Claude, Codex, Desk, Opencode

from reverie.clients.daemon.control import DaemonPlace
from reverie.clients.hook_client import SILENT

pytestmark = pytest.mark.clients

PORT = "The staging database listens on port 6543"
QUESTION = "Which port does the staging database listen on?"
TASK = """I want you to add a small command line tool to this repository that exports the orders of \
yesterday as CSV. Please put it under tools/export_orders and give it an option for the date with a sensible \
default. It should connect to the staging database, read the orders table in batches of a thousand rows, and write \
the columns id, customer, amount and currency. Use the existing logging setup, add a unit test for the handling of \
dates, and update the README so that the people in support know how to run it every morning."""

WHOLE = re.compile(r"The whole output is in (\S+) \(")


def stored_outputs(shown: str) -> list[str]:
    """The content of every file that is said to hold a whole output."""
    return [Path(path).read_text() for path in WHOLE.findall(shown)]


def notices(events: list[dict[str, Any]]) -> list[str]:
    said = (str(event.get("content", "")) for event in events if event.get("type") == "system")
    return [text for text in said if "Reverie" in text]


def mark_of(desk: Desk, question: str) -> str:
    """The mark of the memory that fits a question best, as the model is shown it."""
    found = json.loads(desk.reverie("recall", question, "--json"))
    hits = found["hits"] if isinstance(found, dict) else found
    rows = json.loads(desk.memories())
    best = hits[0].get("file") or hits[0]["key"]
    return next(f"[m:{row['id'][:4]}]" for row in rows if row["file"] == best)


def uses(desk: Desk) -> list[str]:
    kept = [one / "shown.json" for one in desk.sessions()]
    shown = [json.loads(one.read_text()) for one in kept if one.exists()]
    return [file for one in shown for file in one["used"]]


@pytest.fixture(params=["claude", OLDER_CLAUDE], ids=["newest", "older"])
def claude(desk: Desk, request: pytest.FixtureRequest) -> Claude:
    if isinstance(request.param, Path) and not request.param.exists():
        pytest.skip("the earlier release is not installed: run `make test-clients`")
    return Claude(desk, request.param)


class TestClaudeCode:
    def test_what_the_client_has_cut_is_left_to_it(self, desk: Desk, claude: Claude) -> None:
        desk.install("claude-code")
        commands = ("seq 1 9000", "seq 1 4500")
        calls = [ToolCall("Bash", {"command": one, "description": "count"}) for one in commands]
        desk.provider.script(*calls, "Counted.")
        claude.say("Count.", "--allowedTools", "Bash")
        [whole] = stored_outputs(claude.sent().replace("\\n", "\n"))
        assert whole.splitlines() == [str(n) for n in range(1, 4501)]

    def test_memories_come_with_a_file_and_with_an_error(self, desk: Desk, claude: Claude) -> None:
        for text in (
            "billing.py rounds half to even.",
            "On 'database is locked' run make reset-db.",
        ):
            desk.reverie("remember", text)
        file = desk.place.root / "billing.py"
        file.write_text("x = 1\n")
        desk.install("claude-code")
        failing = {"command": "echo ERROR: database is locked >&2; exit 1", "description": "test"}
        desk.provider.script(
            ToolCall("Read", {"file_path": str(file)}), ToolCall("Bash", failing), "Done."
        )
        claude.say("Do the task at hand.", "--allowedTools", "Bash Read")
        read, failed = (json.dumps(one.json["messages"]) for one in desk.provider.requests[-2:])
        assert "rounds half to even" in read.split("hook additional context")[-1]
        assert "reset-db" in failed.split("hook additional context")[-1]

    def test_a_long_task_is_given_what_it_names(self, desk: Desk, claude: Claude) -> None:
        for text in (PORT, "Ana owns the billing service", FACT, "Prefer short commit messages"):
            desk.reverie("remember", text)
        desk.install("claude-code")
        claude.say(TASK)
        assert "## project_the_staging_database" in claude.sent()

    def test_a_compaction_is_quiet(self, desk: Desk, claude: Claude) -> None:
        desk.install("claude-code")
        desk.provider.script("Hello.", "<summary>They said hello.</summary>", "Fine.")
        session = claude.say("Hello. You must always answer in one sentence.")[-1]["session_id"]
        told = json.dumps(claude.say("/compact", "--resume", session))
        assert "PreCompact [" not in told
        desk.provider.expect_break("the client compacted")
        claude.say("How are you?", "--resume", session)
        assert "always answer in one sentence" in claude.sent()

    def test_a_program_that_is_gone_shows_no_error(self, desk: Desk, claude: Claude) -> None:
        link = desk.place.base / "bin" / "reverie"
        link.parent.mkdir()
        link.symlink_to(REVERIE)
        desk.run(link, "install", "claude-code", "--yes", "--no-mcp")
        link.unlink()
        claude.say("Hello.")
        transcripts = (desk.place.person / ".claude" / "projects").rglob("*.jsonl")
        said = "".join(path.read_text() for path in transcripts)
        assert "hook_non_blocking_error" not in said
        assert "not found" not in said

    def test_a_stopped_daemon_does_not_hold_up_a_turn(self, desk: Desk, claude: Claude) -> None:
        desk.install("claude-code")
        daemon = DaemonPlace(desk.place.home)
        address = daemon.address()
        assert address is not None
        os.kill(address.pid, signal.SIGSTOP)
        try:
            assert claude.say("Hello.")[-1]["is_error"] is False
            assert (daemon.folder / SILENT).exists()
        finally:
            os.kill(address.pid, signal.SIGCONT)

    @pytest.mark.parametrize("way", ["beside", "adopt"])
    def test_there_is_one_memory(self, desk: Desk, claude: Claude, way: str) -> None:
        claude.say("Hello.")
        [project] = (desk.place.person / ".claude" / "projects").iterdir()
        own = project / "memory"
        own.mkdir(exist_ok=True)
        (own / "MEMORY.md").write_text("- [Port](port.md) — the staging database\n")
        (own / "port.md").write_text(
            f"---\nname: Port\ndescription: {PORT}\ntype: project\n---\n{PORT}\n"
        )
        desk.install("claude-code", "--memory", way)
        desk.provider.expect_conversation("another one")
        claude.say(QUESTION)
        sent = desk.provider.requests[-1].body.decode()
        # Never a path that the model may not touch.
        assert str(desk.place.home) not in sent
        if way == "adopt":
            assert "Reverie looks after the memory directory you already know" in sent
            assert "## port.md" in sent
            assert "# Memory, kept by Reverie" not in sent
        else:
            assert str(own) not in sent
            assert "# Memory, kept by Reverie" in sent
        desk.reverie("uninstall", "claude-code", "--yes")
        settings = desk.place.person / ".claude" / "settings.json"
        assert not settings.exists() or "autoMemoryEnabled" not in settings.read_text()

    def test_told_here_known_there_cited_counted_and_shown(
        self, desk: Desk, claude: Claude
    ) -> None:
        desk.install("claude-code")
        claude.say(f"Remember that {PORT[0].lower()}{PORT[1:]}.")
        desk.wait_for(lambda: "6543" in desk.memories())
        desk.provider.expect_conversation("the next one")
        desk.provider.script(f"On 6543 {mark_of(desk, QUESTION)}.")
        told = notices(claude.say(QUESTION))
        assert "cite its mark" in claude.sent()
        assert len(uses(desk)) == 1
        # The earlier release reports such a line in its terminal only.
        assert len(told) == (claude.program == "claude")
        assert all("1 of 1 shown memories used" in line for line in told)
        assert "1 of 1 shown memories used" in desk.reverie("watch", "--once")


class TestCodex:
    def test_what_the_client_has_cut_is_left_to_it(self, desk: Desk) -> None:
        codex = Codex(desk)
        desk.install("codex")
        calls = [ToolCall("exec_command", {"cmd": f"seq 1 {last}"}) for last in (20_000, 6_000)]
        desk.provider.script(*calls, "Counted.")
        codex.say("Count.", "--sandbox", "danger-full-access")
        [whole] = stored_outputs(codex.sent().replace("\\n", "\n"))
        assert whole.splitlines() == [str(n) for n in range(1, 6001)]

    def test_the_tools_are_the_same_in_every_request_of_a_session(self, desk: Desk) -> None:
        codex = Codex(desk)
        desk.reverie("install", "codex", "--yes")
        desk.reverie("daemon", "start")
        for _ in range(6):
            before = len(desk.provider.requests)
            desk.provider.expect_conversation("another session")
            calls = [ToolCall("exec_command", {"cmd": f"echo {word}"}) for word in ("one", "two")]
            desk.provider.script(*calls, "Done.")
            codex.say("Run echo.", "--sandbox", "danger-full-access")
            sent = [json.dumps(one.json["tools"]) for one in desk.provider.requests[before:]]
            assert [tools == sent[0] for tools in sent] == [True] * 3
            # Its search for tools tells of ours from the first request on.
            assert "reverie: Reverie is this person's lasting memory" in sent[0]

    def test_doctor_tells_of_hooks_that_are_not_trusted(self, desk: Desk) -> None:
        Codex(desk)
        desk.install("codex")
        with pytest.raises(AssertionError, match="Codex does not run these hooks") as told:
            desk.reverie("doctor")
        assert "hooks fire" not in str(told.value)

    def test_after_its_compaction_the_last_answer_is_an_answer(self, desk: Desk) -> None:
        codex = Codex(desk, "model_auto_compact_token_limit = 2000")
        desk.install("codex")
        desk.provider.script("The answer is 42.", "SUMMARY of what they said.", "Second answer.")
        thread = codex.say("What is the answer? " + "word " * 3_000)
        desk.provider.expect_break("the client compacted", within=3)
        codex.say("And then?", "resume", thread)
        assert "SUMMARY of what they said." in codex.sent()
        assert "Last answer: SUMMARY" not in codex.sent()

    def test_told_here_known_there_cited_counted_and_shown(self, desk: Desk) -> None:
        codex = Codex(desk)
        desk.install("codex")
        codex.say(f"Remember that {PORT[0].lower()}{PORT[1:]}.")
        desk.wait_for(lambda: "6543" in desk.memories())
        desk.provider.expect_conversation("the next one")
        desk.provider.script(f"On 6543 {mark_of(desk, QUESTION)}.")
        codex.say(QUESTION)
        assert "cite its mark" in codex.sent()
        desk.wait_for(lambda: len(uses(desk)) == 1)
        assert "1 of 1 shown memories used" in desk.reverie("watch", "--once")


class TestOpencode:
    def test_what_the_client_has_cut_is_left_to_it(self, desk: Desk) -> None:
        opencode = Opencode(desk)
        desk.install("opencode")
        desk.provider.script(
            "A title",
            ToolCall("bash", {"command": "seq 1 5000", "description": "count"}),
            "Counted.",
        )
        opencode.say("Count.")
        sent = opencode.asked()[-1].body.decode()
        assert "Full output saved to" in sent
        assert "The whole output is in" not in sent

    def test_the_title_is_asked_for_without_memory(self, desk: Desk) -> None:
        opencode = Opencode(desk)
        desk.reverie("remember", PORT)
        desk.install("opencode")
        shown = opencode.say(QUESTION)
        again = opencode.say("And why?", "--continue")
        assert "# Memory, kept by Reverie" in shown
        assert again.startswith(shown)
        [title] = opencode.titles()
        assert "kept by Reverie" not in title.body.decode()
        assert "6543" not in title.body.decode()

    def test_told_here_known_there_cited_counted_and_shown(self, desk: Desk) -> None:
        opencode = Opencode(desk)
        desk.install("opencode")
        opencode.say(f"Remember that {PORT[0].lower()}{PORT[1:]}.")
        desk.wait_for(lambda: "6543" in desk.memories())
        desk.provider.script("A title", f"On 6543 {mark_of(desk, QUESTION)}.")
        assert "cite its mark" in opencode.say(QUESTION)
        desk.wait_for(lambda: len(uses(desk)) == 1)
        assert "1 of 1 shown memories used" in desk.reverie("watch", "--once")


def test_told_in_one_client_known_in_the_others(desk: Desk) -> None:
    claude, codex, opencode = Claude(desk), Codex(desk), Opencode(desk)
    for client in ("claude-code", "codex", "opencode"):
        desk.install(client)
    claude.say(f"Remember that {PORT[0].lower()}{PORT[1:]}.")
    desk.wait_for(lambda: "6543" in desk.memories())
    mark = mark_of(desk, QUESTION)
    desk.provider.expect_conversation("in another client")
    desk.provider.script(f"On 6543 {mark}.")
    codex.say(QUESTION)
    assert "6543" in codex.sent()
    desk.wait_for(lambda: len(uses(desk)) == 1)
    desk.provider.script("A title", f"On 6543 {mark}.")
    assert "6543" in opencode.say(QUESTION)
    desk.wait_for(lambda: len(uses(desk)) == 2)
    desk.provider.expect_conversation("where it was told")
    desk.provider.script(f"On 6543 {mark}.")
    [told] = notices(claude.say(QUESTION))
    assert "1 of 1 shown memories used" in told
    assert len(uses(desk)) == 3
