"""The Anthropic memory tool on our store, called as the SDK calls it."""

import shutil
from typing import Any

import pytest
from tests.flows.examples import Example, examples, run
from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.script import ToolCall

from reverie import Memory

pytest.importorskip("anthropic")

from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError

from reverie.adapters.anthropic_memory import AsyncReverieMemoryTool, ReverieMemoryTool

PAGE = "docs/integrations/anthropic-memory-tool.md"
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def memory(place: Place) -> Memory:
    return Memory.open(place.root, clock=place.clock)


@pytest.fixture
def tool(memory: Memory) -> ReverieMemoryTool:
    return ReverieMemoryTool(memory)


def call(tool: ReverieMemoryTool, command: str, **given: Any) -> str:
    return str(tool.call({"command": command, **given}))


def refused(tool: ReverieMemoryTool, command: str, **given: Any) -> str:
    with pytest.raises(ToolError) as caught:
        call(tool, command, **given)
    return str(caught.value.content)


def viewed(tool: ReverieMemoryTool, path: str, **given: Any) -> str:
    """The text of a file as a view shows it, without line numbers."""
    header, _, rows = call(tool, "view", path=path, **given).partition("\n")
    assert header == f"Here's the content of {path} with line numbers:"
    return "\n".join(row.partition("\t")[2] for row in rows.split("\n"))


NOTE = "# Deploys\n\nThey freeze on 2026-12-20.\n"
DATED = "---\nname: Deploys\ncreated: 2026-01-01\n---\nThey freeze in December.\n"


class TestMemoryAboutThePerson:
    PATH = "/memories/person/answers.md"

    def test_a_folder_that_every_project_has(
        self, tool: ReverieMemoryTool, memory: Memory, place: Place
    ) -> None:
        call(tool, "create", path=self.PATH, file_text="I prefer short answers.\n")
        assert memory.read("person/answers.md").body == "I prefer short answers.\n"
        assert "/memories/person/answers.md" in call(tool, "view", path="/memories")
        assert "/memories/person/answers.md" in call(tool, "view", path="/memories/person")
        other = place.base / "other"
        other.mkdir()
        elsewhere = ReverieMemoryTool(Memory.open(other, clock=place.clock))
        call(elsewhere, "str_replace", path=self.PATH, old_str="short", new_str="brief")
        assert viewed(tool, self.PATH) == "I prefer brief answers."
        moved = {"old_path": self.PATH, "new_path": "/memories/answers.md"}
        assert "must start with /memories/person" in refused(tool, "rename", **moved)
        call(tool, "delete", path=self.PATH)
        assert "does not exist" in refused(elsewhere, "view", path=self.PATH)

    def test_which_a_user_of_a_program_has_not(self, place: Place) -> None:
        alice = ReverieMemoryTool(Memory.open(place.root, user="alice", clock=place.clock))
        assert "cannot be reached" in refused(alice, "view", path=self.PATH)
        assert "cannot be reached" in refused(
            alice, "create", path=self.PATH, file_text="I like tea"
        )


class TestCreate:
    def test_what_was_written_is_read_back(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        answer = call(tool, "create", path="/memories/deploys.md", file_text=NOTE)
        assert answer == "File created successfully at: /memories/deploys.md"
        assert call(tool, "view", path="/memories/deploys.md") == (
            "Here's the content of /memories/deploys.md with line numbers:\n"
            "     1\t# Deploys\n"
            "     2\t\n"
            "     3\tThey freeze on 2026-12-20."
        )
        topic = memory.read("deploys.md")
        assert (topic.name, topic.type, topic.origin) == ("Deploys", "project", "assistant")
        assert topic.body == NOTE

    def test_it_has_a_history_and_a_line_in_the_index(
        self, tool: ReverieMemoryTool, memory: Memory
    ) -> None:
        call(tool, "create", path="/memories/deploys.md", file_text=NOTE)
        [revision] = memory.history()
        assert revision.author.writer == "main"
        assert set(revision.files) == {"deploys.md", "MEMORY.md"}
        assert viewed(tool, "/memories/MEMORY.md") == (
            "- [Deploys](deploys.md) — They freeze on 2026-12-20."
        )
        memory.undo()
        assert "does not exist" in refused(tool, "view", path="/memories/deploys.md")

    def test_recall_finds_it(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        call(tool, "create", path="/memories/deploys.md", file_text=NOTE)
        assert memory.recall("when do deploys freeze?")[0].file == "deploys.md"

    def test_frontmatter_of_its_own_is_kept_and_shown(
        self, tool: ReverieMemoryTool, memory: Memory
    ) -> None:
        own = "---\nname: Tone\ndescription: Short answers\ntype: feedback\n---\nBe brief.\n"
        call(tool, "create", path="/memories/tone.md", file_text=own)
        assert viewed(tool, "/memories/tone.md") + "\n" == own
        assert memory.read("tone.md").type == "feedback"
        call(tool, "str_replace", path="/memories/tone.md", old_str="Short", new_str="Very short")
        assert memory.read("tone.md").description == "Very short answers"

    def test_one_that_is_there_is_not_replaced(self, tool: ReverieMemoryTool) -> None:
        call(tool, "create", path="/memories/a.md", file_text="One.")
        for path in ("/memories/a.md", "/memories/a"):
            answer = refused(tool, "create", path=path, file_text="Two.")
            assert answer == f"Error: File {path} already exists"
        assert viewed(tool, "/memories/a.md") == "One."

    def test_another_ending_means_the_file_with_md(
        self, tool: ReverieMemoryTool, memory: Memory
    ) -> None:
        call(tool, "create", path="/memories/papers/progress.txt", file_text="Half done.")
        assert viewed(tool, "/memories/papers/progress.txt") == "Half done."
        assert [entry.file for entry in memory] == ["papers/progress.txt.md"]

    @pytest.mark.parametrize("text", ["", "\n", "\n\ntext\n\n", "x", "naïve \ud800 torn"])
    def test_any_text_is_taken(self, tool: ReverieMemoryTool, text: str) -> None:
        call(tool, "create", path="/memories/odd.md", file_text=text)
        shown = viewed(tool, "/memories/odd.md") if text else ""
        assert shown == text.removesuffix("\n").replace("\ud800", "\ufffd")

    def test_a_secret_is_taken_out_and_told(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        answer = call(tool, "create", path="/memories/key.md", file_text=f"The token is {TOKEN}.")
        assert answer.startswith("File created successfully at: /memories/key.md Secrets")
        assert TOKEN not in viewed(tool, "/memories/key.md")
        for path in memory.directory.parent.rglob("*.md"):
            assert TOKEN not in path.read_text()

    @pytest.mark.parametrize("text", [DATED, DATED.replace("\n", "\r\n")])
    def test_nothing_is_told_where_there_is_no_secret(
        self, tool: ReverieMemoryTool, text: str
    ) -> None:
        path = "/memories/dated.md"
        answer = call(tool, "create", path=path, file_text=text)
        assert answer == f"File created successfully at: {path}"
        answer = call(tool, "str_replace", path=path, old_str="freeze", new_str="stop")
        assert "Secrets" not in answer

    def test_a_huge_one_is_refused(self, tool: ReverieMemoryTool) -> None:
        answer = refused(tool, "create", path="/memories/big.md", file_text="word " * 20_000)
        assert "a memory holds at most" in answer


class TestView:
    def test_a_folder_two_levels_deep_with_sizes(self, tool: ReverieMemoryTool) -> None:
        call(tool, "create", path="/memories/a.md", file_text="One.\n")
        call(tool, "create", path="/memories/papers/b.md", file_text="Two.\n")
        call(tool, "create", path="/memories/papers/deep/down/c.md", file_text="x" * 3000)
        header, *rows = call(tool, "view", path="/memories").split("\n")
        assert header == (
            "Here're the files and directories up to 2 levels deep in /memories, "
            "excluding hidden items and node_modules:"
        )
        assert [row.partition("\t")[2] for row in rows] == [
            "/memories",
            "/memories/MEMORY.md",
            "/memories/a.md",
            "/memories/papers/",
            "/memories/papers/b.md",
            "/memories/papers/deep/",
        ]
        assert rows[-1].startswith("3.")
        assert rows[-1].split("\t")[0].endswith("K")
        inside = call(tool, "view", path="/memories/papers").split("\n")
        assert [row.partition("\t")[2] for row in inside[1:]] == [
            "/memories/papers",
            "/memories/papers/b.md",
            "/memories/papers/deep/",
            "/memories/papers/deep/down/",
        ]

    def test_an_empty_store(self, tool: ReverieMemoryTool) -> None:
        assert call(tool, "view", path="/memories/").split("\n")[1:] == ["0B\t/memories"]

    @pytest.mark.parametrize(
        ("wanted", "shown"),
        [([2, 3], ["two", "three"]), ([3, -1], ["three", "four"]), ([4, 99], ["four"])],
    )
    def test_a_range(self, tool: ReverieMemoryTool, wanted: list[int], shown: list[str]) -> None:
        call(tool, "create", path="/memories/n.md", file_text="one\ntwo\nthree\nfour\n")
        assert viewed(tool, "/memories/n.md", view_range=wanted).split("\n") == shown

    @pytest.mark.parametrize("wanted", [[0, 1], [3, 2], [1], [4, 9], [4, -1]])
    def test_a_range_that_is_none(self, tool: ReverieMemoryTool, wanted: list[int]) -> None:
        call(tool, "create", path="/memories/n.md", file_text="one\ntwo\nthree\n")
        answer = refused(tool, "view", path="/memories/n.md", view_range=wanted)
        assert "Invalid `view_range`" in answer

    def test_a_long_one_is_cut_and_says_where(self, tool: ReverieMemoryTool) -> None:
        text = "".join(f"line {n} {'x' * 90}\n" for n in range(1, 301))
        call(tool, "create", path="/memories/long.md", file_text=text)
        shown = call(tool, "view", path="/memories/long.md")
        assert len(shown) < 16_200
        hint = shown.rpartition("\n")[2]
        begin = int(hint.split("lines ")[1].split()[0])
        assert hint.endswith("to 300 can be seen with view_range)")
        rest = viewed(tool, "/memories/long.md", view_range=[begin, 300])
        assert rest.startswith(f"line {begin} ")

    def test_what_is_not_there(self, tool: ReverieMemoryTool) -> None:
        assert refused(tool, "view", path="/memories/none.md") == (
            "The path /memories/none.md does not exist. Please provide a valid path."
        )

    def test_memories_of_reverie(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        memory.remember("Deploys freeze on 2026-12-20", type="project")
        [entry] = memory
        assert viewed(tool, f"/memories/{entry.file}") == "Deploys freeze on 2026-12-20"


class TestEdit:
    def test_replace_shows_the_change(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        call(tool, "create", path="/memories/n.md", file_text="one\ntwo\nthree\nfour\nfive\nsix\n")
        answer = call(tool, "str_replace", path="/memories/n.md", old_str="four", new_str="4\n4")
        assert answer == (
            "The memory file has been edited.\n     2\ttwo\n     3\tthree\n     4\t4\n     5\t4\n"
            "     6\tfive\n     7\tsix"
        )
        assert memory.read("n.md").body == "one\ntwo\nthree\n4\n4\nfive\nsix\n"

    def test_leaving_out_the_new_text_removes(self, tool: ReverieMemoryTool) -> None:
        call(tool, "create", path="/memories/n.md", file_text="one two\n")
        call(tool, "str_replace", path="/memories/n.md", old_str=" two")
        assert viewed(tool, "/memories/n.md") == "one"

    def test_the_index_follows_the_words(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        call(tool, "create", path="/memories/d.md", file_text="Deploys freeze on Monday.\n")
        call(tool, "str_replace", path="/memories/d.md", old_str="Monday", new_str="Tuesday")
        assert memory.read("d.md").description == "Deploys freeze on Tuesday."
        assert "Tuesday" in viewed(tool, "/memories/MEMORY.md")
        assert len(memory.history()) == 2

    @pytest.mark.parametrize(
        ("old", "answer"),
        [
            (
                "three",
                "No replacement was performed, old_str `three` did not appear verbatim in "
                "/memories/n.md.",
            ),
            (
                "",
                "No replacement was performed, old_str `` did not appear verbatim in "
                "/memories/n.md.",
            ),
            (
                "one",
                "No replacement was performed. Multiple occurrences of old_str `one` in lines: "
                "1, 3. Please ensure it is unique",
            ),
        ],
    )
    def test_what_cannot_be_replaced(self, tool: ReverieMemoryTool, old: str, answer: str) -> None:
        call(tool, "create", path="/memories/n.md", file_text="one\ntwo\none\n")
        assert (
            refused(tool, "str_replace", path="/memories/n.md", old_str=old, new_str="") == answer
        )

    @pytest.mark.parametrize(
        ("line", "text"), [(0, "new\none\ntwo\n"), (1, "one\nnew\ntwo\n"), (2, "one\ntwo\nnew\n")]
    )
    def test_insert(self, tool: ReverieMemoryTool, memory: Memory, line: int, text: str) -> None:
        call(tool, "create", path="/memories/n.md", file_text="one\ntwo\n")
        answer = call(tool, "insert", path="/memories/n.md", insert_line=line, insert_text="new\n")
        assert answer == "The file /memories/n.md has been edited."
        assert memory.read("n.md").body == text

    @pytest.mark.parametrize("line", [-1, 3])
    def test_insert_elsewhere(self, tool: ReverieMemoryTool, line: int) -> None:
        call(tool, "create", path="/memories/n.md", file_text="one\ntwo\n")
        answer = refused(tool, "insert", path="/memories/n.md", insert_line=line, insert_text="x")
        assert answer == (
            f"Error: Invalid `insert_line` parameter: {line}. It should be within the range of "
            "lines of the file: [0, 2]"
        )

    def test_a_secret_is_taken_out(self, tool: ReverieMemoryTool) -> None:
        call(tool, "create", path="/memories/n.md", file_text="one\n")
        answer = call(tool, "insert", path="/memories/n.md", insert_line=1, insert_text=TOKEN)
        assert "Secrets in it were not stored" in answer
        assert TOKEN not in viewed(tool, "/memories/n.md")

    def test_files_that_are_not_there(self, tool: ReverieMemoryTool) -> None:
        path = "/memories/none.md"
        assert refused(tool, "str_replace", path=path, old_str="a", new_str="b") == (
            f"Error: The path {path} does not exist. Please provide a valid path."
        )
        missing = f"Error: The path {path} does not exist"
        assert refused(tool, "insert", path=path, insert_line=0, insert_text="b") == missing
        assert refused(tool, "delete", path=path) == missing
        assert refused(tool, "rename", old_path=path, new_path="/memories/b.md") == missing


class TestMoving:
    def test_delete(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        call(tool, "create", path="/memories/a.md", file_text="One.")
        answer = call(tool, "delete", path="/memories/a.md")
        assert answer == "Successfully deleted /memories/a.md"
        assert list(memory) == []
        assert viewed(tool, "/memories/MEMORY.md") == ""
        memory.undo()
        assert viewed(tool, "/memories/a.md") == "One."

    def test_a_folder_goes_in_one_step(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        for name in ("papers/a", "papers/b", "other"):
            call(tool, "create", path=f"/memories/{name}.md", file_text=f"The {name}.")
        call(tool, "delete", path="/memories/papers")
        assert [entry.file for entry in memory] == ["other.md"]
        memory.undo()
        assert len(list(memory)) == 3

    def test_rename(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        call(tool, "create", path="/memories/a.md", file_text="One.\n")
        answer = call(tool, "rename", old_path="/memories/a.md", new_path="/memories/deep/b.md")
        assert answer == "Successfully renamed /memories/a.md to /memories/deep/b.md"
        assert viewed(tool, "/memories/deep/b.md") == "One."
        assert viewed(tool, "/memories/MEMORY.md") == "- [One](deep/b.md)"
        assert len(memory.history()) == 2

    def test_rename_a_folder(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        for name in ("papers/a", "papers/deep/b"):
            call(tool, "create", path=f"/memories/{name}.md", file_text=f"The {name}.")
        call(tool, "rename", old_path="/memories/papers", new_path="/memories/play")
        assert {entry.file for entry in memory} == {"play/a.md", "play/deep/b.md"}

    def test_not_into_itself(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        call(tool, "create", path="/memories/papers/a.md", file_text="One.")
        answer = refused(
            tool, "rename", old_path="/memories/papers", new_path="/memories/papers/old"
        )
        assert answer == "Error: Cannot rename /memories/papers to a place inside itself"
        assert [entry.file for entry in memory] == ["papers/a.md"]
        call(tool, "rename", old_path="/memories/papers/a.md", new_path="/memories/papers/a/b.md")
        assert [entry.file for entry in memory] == ["papers/a/b.md"]

    def test_not_onto_another(self, tool: ReverieMemoryTool) -> None:
        call(tool, "create", path="/memories/a.md", file_text="One.")
        call(tool, "create", path="/memories/papers/b.md", file_text="Two.")
        for taken in ("/memories/papers/b.md", "/memories/papers"):
            answer = refused(tool, "rename", old_path="/memories/a.md", new_path=taken)
            assert answer == f"Error: The destination {taken} already exists"


class TestFences:
    @pytest.mark.parametrize(
        "path",
        [
            "/etc/passwd",
            "/memoriesx/a.md",
            "memories/a.md",
            "/memories/../secret.md",
            "/memories/%2e%2e%2fsecret.md",
            "/memories/..\\secret.md",
            "/memories/.git/config",
            "/memories/a//b.md",
            "/memories/team/a.md",
        ],
    )
    @pytest.mark.parametrize("command", ["view", "create", "str_replace", "insert", "delete"])
    def test_nothing_outside(self, tool: ReverieMemoryTool, command: str, path: str) -> None:
        more: dict[str, Any] = {"old_str": "a", "new_str": "", "insert_line": 0}
        refused(tool, command, path=path, file_text="x", insert_text="x", **more)

    def test_a_link_that_leads_out(self, tool: ReverieMemoryTool, memory: Memory) -> None:
        call(tool, "create", path="/memories/a.md", file_text="One.")
        outside = memory.directory.parent / "outside.md"
        outside.write_text("private")
        (memory.directory / "link.md").symlink_to(outside)
        assert "private" not in refused(tool, "view", path="/memories/link.md")

    @pytest.mark.parametrize("command", ["delete", "rename"])
    def test_the_root_stays(self, tool: ReverieMemoryTool, command: str) -> None:
        paths = {"path": "/memories", "old_path": "/memories", "new_path": "/memories/b"}
        assert refused(tool, command, **paths).endswith("the /memories directory itself")

    def test_the_index_is_not_written_by_hand(self, tool: ReverieMemoryTool) -> None:
        call(tool, "create", path="/memories/a.md", file_text="One.")
        path = "/memories/MEMORY.md"
        answer = refused(tool, "str_replace", path=path, old_str="One", new_str="Two")
        assert answer == f"Error: {path} is an index; it is updated automatically"
        refused(tool, "delete", path=path)
        refused(tool, "rename", old_path="/memories/a.md", new_path=path)

    def test_a_broken_store_is_an_answer_and_no_crash(
        self, tool: ReverieMemoryTool, memory: Memory
    ) -> None:
        call(tool, "create", path="/memories/a.md", file_text="One.")
        shutil.rmtree(memory.directory)
        memory.directory.write_text("no folder any more")
        answer = refused(tool, "create", path="/memories/b.md", file_text="Two.")
        assert answer.startswith("Error: cannot ")


class TestInTheRunner:
    """The SDK's own loop, on the loopback provider."""

    def test_sync(self, tool: ReverieMemoryTool, memory: Memory, provider: Provider) -> None:
        provider.script(
            ToolCall("memory", {"command": "view", "path": "/memories"}),
            ToolCall(
                "memory", {"command": "create", "path": "/memories/a.md", "file_text": "One."}
            ),
            ToolCall("memory", {"command": "view", "path": "/memories/none.md"}),
            "Done.",
        )
        client = Anthropic(api_key="mine", base_url=provider.anthropic_url)
        runner = client.beta.messages.tool_runner(
            model="claude-sonnet-5-5",
            max_tokens=100,
            messages=[{"role": "user", "content": "Remember one."}],
            tools=[tool],
            thread=False,
        )
        assert runner.until_done().content[0].text == "Done."
        client.close()
        bodies = [request.json for request in provider.requests]
        assert bodies[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
        results = [body["messages"][-1]["content"][0] for body in bodies[1:]]
        assert results[1]["content"] == "File created successfully at: /memories/a.md"
        assert results[2]["is_error"] is True
        assert "does not exist" in str(results[2]["content"])
        assert memory.read("a.md").body == "One."

    async def test_async(self, memory: Memory, provider: Provider) -> None:
        tool = AsyncReverieMemoryTool(memory)
        commands: list[dict[str, Any]] = [
            {"command": "create", "path": "/memories/a.md", "file_text": "One."},
            {"command": "str_replace", "path": "/memories/a.md", "old_str": "One", "new_str": "1"},
            {"command": "insert", "path": "/memories/a.md", "insert_line": 1, "insert_text": "2"},
            {"command": "rename", "old_path": "/memories/a.md", "new_path": "/memories/b.md"},
            {"command": "view", "path": "/memories/b.md"},
            {"command": "delete", "path": "/memories/b.md"},
        ]
        provider.script(*(ToolCall("memory", command) for command in commands), "Done.")
        async with AsyncAnthropic(api_key="mine", base_url=provider.anthropic_url) as client:
            runner = client.beta.messages.tool_runner(
                model="claude-sonnet-5-5",
                max_tokens=100,
                messages=[{"role": "user", "content": "Remember one."}],
                tools=[tool],
                thread=False,
            )
            await runner.until_done()
        last = provider.requests[-1].json["messages"]
        results = [m["content"][0]["content"] for m in last[2::2]]
        assert results[4].endswith("     1\t1.\n     2\t2")
        assert results[5] == "Successfully deleted /memories/b.md"
        assert len(memory.history()) == 5


@pytest.mark.parametrize("example", examples(PAGE), ids=str)
def test_the_page(example: Example, place: Place, provider: Provider) -> None:
    text = "Deploys freeze on 2026-12-20."
    given = {"command": "create", "path": "/memories/deploys.md", "file_text": text}
    provider.script(ToolCall("memory", given), "I will remember it.")
    assert run(example, place, provider) == example.output
