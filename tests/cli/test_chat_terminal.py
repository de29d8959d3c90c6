"""`reverie chat` on a real terminal: what a person types, sees and gets back."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.terminal import Terminal, on_terminal
from tests.conversation.build import talk
from tests.place import Place
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.script import Held, Reply, Text, Thinking, ToolCall

from reverie.conversation import journal
from reverie.conversation.records import Said

MODEL = "claude-sonnet-5-5"
PROMPT = "❯"
ENTER, CTRL_C, CTRL_D, CTRL_J, ALT_ENTER, TAB, UP = (
    "\r",
    "\x03",
    "\x04",
    "\n",
    "\x1b\r",
    "\t",
    "\x1b[A",
)


@contextmanager
def chat(place: Place, provider: Provider, *arguments: str, **env: str) -> Iterator[Terminal]:
    """A chat with a model that is the provider on loopback, ready to be typed into."""
    address = f"providers.anthropic.base_url={provider.anthropic_url}"
    # Nothing is learnt after a turn: the conversation is the provider's only caller.
    alone = ("--set", "features.extract=false")
    command = ("chat", "--set", address, "--model", f"anthropic:{MODEL}", *alone, *arguments)
    with on_terminal(place, *command, ANTHROPIC_API_KEY="test", **env) as terminal:
        yield terminal


@contextmanager
def offline(place: Place, *arguments: str, **env: str) -> Iterator[Terminal]:
    with on_terminal(place, "chat", *arguments, **env) as terminal:
        terminal.until(PROMPT)
        yield terminal


def messages(place: Place) -> list[str]:
    """The user's messages and the model's answers in the newest journal."""
    records = journal.load(place.app().journals()[0]).records
    spoken = (record.message for record in records if isinstance(record, Said))
    return [message.text for message in spoken if message.origin in ("user", "assistant")]


def test_a_whole_visit(place: Place, provider: Provider) -> None:
    """Prompt, answer, command, an answer that is interrupted, another one, and out."""
    (place.root / "app.py").write_text("print('hello')\n")
    gate = Gate(bound=60)
    provider.script(
        [Thinking("Where to look?"), Text("I look."), ToolCall("Read", {"path": "app.py"})],
        "It prints **hello**.\n\nThat is all.",
        Held(Reply((Text("A very long story that never ends."),)), gate, after=4),
        "Fine.",
    )
    with chat(place, provider) as terminal:
        terminal.until("/help", PROMPT, MODEL, "of 1.0M")
        terminal.enter("What does app.py do?")
        terminal.until("❯ What does app.py do?", "∴ Where to look?", "I look.")
        terminal.until("● Read app.py", "✓ 1 print('hello')", "It prints hello.", "That is all.")
        terminal.until("cache ", "$0.0")
        terminal.enter("/context")
        terminal.until("tool results", "compaction at")
        terminal.enter("/cost")
        terminal.until("main", "in this session")
        terminal.enter("Tell me a story")
        terminal.until("A very", "Ctrl-C interrupts")
        terminal.type(CTRL_C)
        terminal.until("interrupted")
        terminal.enter("Never mind")
        terminal.until("Fine.")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
        assert terminal.as_found
    assert messages(place) == [
        "What does app.py do?",
        "I look.",
        "It prints **hello**.\n\nThat is all.",
        "Tell me a story",
        "Never mind",
        "Fine.",
    ]


def test_what_is_typed_meanwhile_waits_for_its_turn(place: Place, provider: Provider) -> None:
    gate = Gate(bound=60)
    provider.script(Held(Reply((Text("Slowly"),)), gate), "Quickly")
    with chat(place, provider, "first") as terminal:
        terminal.until("❯ first", "working")
        terminal.enter("second")
        terminal.until("1 waiting")
        gate.release()
        terminal.until("Slowly", "❯ second", "Quickly")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    assert messages(place) == ["first", "Slowly", "second", "Quickly"]


def test_what_waited_is_given_back_when_the_turn_is_interrupted(
    place: Place, provider: Provider
) -> None:
    provider.script(Held(Reply((Text("Slowly"),)), Gate(bound=60)))
    with chat(place, provider, "first") as terminal:
        terminal.until("❯ first", "working")
        terminal.enter("second")
        terminal.until("1 waiting")
        terminal.type(CTRL_C)
        terminal.until("interrupted", "❯ second")
        terminal.type(CTRL_C + CTRL_C + CTRL_C)
        assert terminal.ended() == 0
    assert messages(place) == ["first"]


@pytest.mark.parametrize(("key", "made"), [("y", True), ("a", True), ("n", False)])
def test_a_change_is_shown_and_asked_for(
    place: Place, provider: Provider, key: str, made: bool
) -> None:
    file = place.root / "port.py"
    file.write_text("host = 'a'\nport = 8080\n")
    change = {"path": "port.py", "old_text": "8080", "new_text": "8443"}
    provider.script([ToolCall("Read", {"path": "port.py"})], [ToolCall("Edit", change)], "Done.")
    with chat(place, provider, "Change the port") as terminal:
        terminal.until("● Edit port.py", str(file), "-port = 8080", "+port = 8443", "Allow?")
        terminal.type(ENTER)
        terminal.type("x")
        terminal.type(key)
        terminal.until("✓ Edited port.py" if made else "✗ The user did not allow", "Done.")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    assert ("8443" in file.read_text()) == made


def test_a_command_is_shown_in_full_before_it_runs(place: Place, provider: Provider) -> None:
    command = "echo one > made.txt\necho two >> made.txt"
    provider.script([ToolCall("Bash", {"command": command})], "Done.")
    with chat(place, provider, "Make a file") as terminal:
        terminal.until("echo one > made.txt", "echo two >> made.txt", "Allow?")
        terminal.type("y")
        terminal.until("● Bash", "Done.")
    assert (place.root / "made.txt").read_text() == "one\ntwo\n"


def test_lines_history_and_completion(place: Place) -> None:
    (place.root / "notes.txt").write_text("")
    with offline(place) as terminal:
        terminal.type(f"one{CTRL_J}two{ALT_ENTER}three\\{ENTER}four{ENTER}")
        terminal.until("❯ one", "  two", "  three", "  four", "not a language model")
        terminal.type("/rem")
        terminal.until("/remember TEXT", "Save a memory.")
        terminal.type(f"{TAB} that the tax office reads at 06:00{ENTER}")
        terminal.until("Remembered (")
        terminal.type("look at @no")
        terminal.until("notes.txt")
        terminal.type(f"{TAB}{ENTER}{ENTER}")
        terminal.until("❯ look at @notes.txt")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    with offline(place) as terminal:
        terminal.type(UP)
        terminal.until("look at @notes.txt")
        terminal.type(CTRL_C + CTRL_C)
        terminal.until("Ctrl-C again leaves")
        terminal.type(CTRL_C)
        assert terminal.ended() == 0
        assert terminal.as_found


def test_without_a_model_it_remembers_recalls_and_says_what_it_is(place: Place) -> None:
    with offline(place) as terminal:
        assert terminal.text.count("Offline: no model is chosen") == 1
        terminal.enter("remember that Ada owns the billing service since 2026-03")
        terminal.until("Remembered (project): Ada owns the billing service", "undo with")
        terminal.enter("who owns the billing service?")
        terminal.until("Ada owns the billing service since 2026-03")
        terminal.enter("/search billing")
        terminal.until("Ada owns")
        terminal.enter("/memory")
        terminal.until("1 memory in", "• Ada owns")
        terminal.enter("/compct")
        terminal.until("there is no /compct; did you mean /compact?")
        terminal.enter("/exit")
        assert terminal.ended() == 0


def test_another_conversation_and_back(place: Place, provider: Provider) -> None:
    provider.script("The first answer.", "The second answer.", "The third answer.")
    with chat(place, provider, "First question") as terminal:
        terminal.until("The first answer.")
        provider.expect_conversation("cleared")
        terminal.enter("/clear")
        terminal.until("a new conversation")
        terminal.enter("Second question")
        terminal.until("The second answer.")
        terminal.enter("/resume")
        terminal.until("1 ", "Second question", "2 ", "First question")
        terminal.enter("/resume 2")
        terminal.until("continuing", "First question", "The first answer.")
        terminal.enter("Third question")
        terminal.until("The third answer.")
        # The journal is written after the screen; only the end of the process waits for it.
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    assert messages(place)[-2:] == ["Third question", "The third answer."]


def test_another_model_goes_on_with_the_conversation(place: Place, provider: Provider) -> None:
    provider.script("From the first.", "From the second.")
    with chat(place, provider, "First question") as terminal:
        terminal.until("From the first.")
        terminal.enter("/model claude-opsu-5-5")
        terminal.until("no model 'claude-opsu-5-5'", "did you mean claude-opus-5-5")
        provider.expect_break("another model")
        terminal.enter("/model claude-opus-5-5")
        terminal.until("claude-opus-5-5 answers from here on")
        terminal.enter("Second question")
        terminal.until("From the second.")
        terminal.enter("/model")
        terminal.until("claude-opus-5-5, window 1.0M")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    models = [request.json["model"] for request in provider.requests]
    assert models == [MODEL, "claude-opus-5-5"]
    assert messages(place) == [
        "First question",
        "From the first.",
        "Second question",
        "From the second.",
    ]


def test_resuming_from_the_command_line(place: Place) -> None:
    place.journal("s1", *talk(1))
    with on_terminal(place, "chat", "--resume") as terminal:
        terminal.until("1  s1", "Which one")
        terminal.enter("1")
        terminal.until("continuing s1", "offline")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_the_list_of_conversations_fits_the_terminal(place: Place, columns: int) -> None:
    for number in range(3):
        place.journal(f"20261116-0338{number}0-05018d", *talk(1))
    with on_terminal(place, "chat", "--resume", columns=columns) as terminal:
        terminal.until("Which one [1]")
        rows = terminal.text.splitlines()[:3]
        assert [row.split()[0] for row in rows] == ["1", "2", "3"]
        assert all(len(row) <= columns for row in rows)
        terminal.type(CTRL_C)


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_the_first_minutes_fit_the_terminal(place: Place, columns: int) -> None:
    """What a new user copies is shown whole: the memory, its undo, the command to go on."""
    with on_terminal(place, "chat", columns=columns, ANTHROPIC_API_KEY="k") as terminal:
        terminal.until("Which model", "1  anthropic:", "0  none", "Model [1]")
        assert max(map(len, terminal.text.splitlines())) <= columns
        terminal.enter("0")
        terminal.until("models use NAME", PROMPT)
        terminal.enter("# Ada owns billing")
        terminal.until("Remembered (project): Ada owns billing", "undo with: /undo ", PROMPT)
        terminal.enter("!echo from the shell")
        terminal.until("  from the shell", PROMPT)
        terminal.enter("whose is billing?")
        terminal.until("From memory:", "Ada owns billing", PROMPT)
        terminal.enter("exit")
        assert terminal.ended() == 0
        session = place.app().journals()[0].stem
        copied = terminal.text.rpartition("continue with:")[2].replace("\n", "")
        assert f"reverie chat --resume{session}" in copied.replace(" --resume ", " --resume")


def test_a_session_in_which_nothing_was_said_leaves_nothing(place: Place) -> None:
    with offline(place) as terminal:
        terminal.until("of 200.0k")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0
    assert place.app().journals() == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_tidily(place: Place, provider: Provider, number: int) -> None:
    provider.script(Held(Reply((Text("Slowly, slowly"),)), Gate(bound=60), after=4))
    with chat(place, provider, "Tell me a story") as terminal:
        terminal.until("answering")
        terminal.signal(number)
        assert terminal.ended() == 128 + number
        assert terminal.as_found
        assert "Traceback" not in terminal.text
    assert messages(place) == ["Tell me a story"]


def test_a_window_that_is_closed(place: Place, provider: Provider) -> None:
    provider.script(Held(Reply((Text("Slowly, slowly"),)), Gate(bound=60), after=4))
    with chat(place, provider, "Tell me a story") as terminal:
        terminal.until("answering")
        terminal.hang_up()
        assert terminal.ended() == 128 + signal.SIGHUP
    assert messages(place) == ["Tell me a story"]


def test_leaving_waits_for_the_notes_unless_told_not_to(place: Place, provider: Provider) -> None:
    provider.script("Read.", Held(Reply((Text("never"),)), Gate(bound=60)))
    with chat(place, provider, "--set", "notes.refine=due", "word " * 12_000) as terminal:
        terminal.until("Read.", "notes…")
        terminal.type(CTRL_D)
        terminal.until("finishing notes… Ctrl-C to skip")
        terminal.type(CTRL_C)
        assert terminal.ended() == 0
        assert terminal.as_found


def test_no_colour_where_it_is_not_wanted(place: Place) -> None:
    with offline(place, NO_COLOR="1") as terminal:
        terminal.enter("/compct")
        terminal.until("did you mean")
        assert not [
            code for code in ("\x1b[31", "\x1b[33", "\x1b[36", "[0;36") if code in terminal.raw
        ]


def test_a_dumb_terminal(place: Place, provider: Provider) -> None:
    file = place.root / "port.py"
    file.write_text("port = 8080\n")
    change = {"path": "port.py", "old_text": "8080", "new_text": "8443"}
    gate = Gate(bound=60)
    provider.script(
        [ToolCall("Read", {"path": "port.py"})],
        [ToolCall("Edit", change)],
        "Done.",
        Held(Reply((Text("Slowly, slowly"),)), gate, after=4),
    )
    with chat(place, provider, TERM="dumb") as terminal:
        terminal.until("\n>")
        terminal.enter("Change\\")
        terminal.until("…")
        terminal.enter("the port")
        terminal.until("+port = 8443", "Allow?")
        terminal.enter("y")
        terminal.until("✓ Edited", "Done.", ">")
        terminal.enter("Tell me a story")
        gate.wait_reached(30)
        terminal.type(CTRL_C)
        terminal.until("interrupted", "\n>")
        terminal.type(CTRL_C)
        terminal.until("Ctrl-C again leaves")
        terminal.type(CTRL_C)
        assert terminal.ended() == 0
        assert "\x1b[" not in terminal.raw
    assert file.read_text() == "port = 8443\n"
    assert messages(place)[0] == "Change\nthe port"


def test_a_small_window_and_a_long_line(place: Place) -> None:
    with on_terminal(place, "chat", rows=12, columns=24) as terminal:
        terminal.until(PROMPT)
        terminal.enter("日本語" * 30 + "a" * 200)
        terminal.until("日本語", "aaaa", "language")
        terminal.type(CTRL_D)
        assert terminal.ended() == 0


def test_history_is_private(place: Place) -> None:
    with offline(place) as terminal:
        terminal.enter("hello")
        terminal.until("language model")
    history = place.app().project.folder / "chat-history"
    assert "hello" in history.read_text()
    assert Path(history).stat().st_mode & 0o077 == 0
