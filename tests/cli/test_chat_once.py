"""`reverie chat -p`: one question, one answer, for scripts and pipes."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.cli.run import environment, hears_signals, process, run
from tests.place import Place
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.script import Held, Reply, Text, Thinking, ToolCall, overloaded

from reverie.cli.talk import output as shapes
from reverie.cli.talk.terminal import OFFLINE_NOTE
from reverie.conversation import journal
from reverie.conversation.records import Said
from reverie.events import Event
from reverie.memory.changes.draft import NewMemory
from reverie.memory.format.revisions import Author
from reverie.models.offline import ANSWER

MODEL = "anthropic:claude-sonnet-5-5"
# Nothing is learnt after a turn: the conversation is the provider's only caller. Nothing is waited for.
ALONE = ("--set", "features.extract=false", "--set", "models.retries=0")


def asked(
    place: Place, provider: Provider, *arguments: object, given: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Ask a model that is the provider on loopback."""
    address = f"providers.anthropic.base_url={provider.anthropic_url}"
    command = ["chat", "--set", address, "--model", MODEL, *ALONE, *arguments]
    return subprocess.run(
        [sys.executable, "-m", "reverie", *map(str, command)],
        cwd=place.root,
        env=environment(place, **{"ANTHROPIC_API_KEY": "test", **env}),
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        timeout=240,
    )


def lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_answer_alone_is_printed(place: Place, provider: Provider) -> None:
    (place.root / "app.py").write_text("print('hello')\n")
    provider.script(
        [Thinking("Look."), Text("Let me look."), ToolCall("Read", {"path": "app.py"})],
        "It prints hello.",
    )
    done = asked(place, provider, "-p", "What does app.py do?")
    assert (done.returncode, done.stdout, done.stderr) == (0, "It prints hello.\n", "")


def test_an_answer_that_was_cut_is_printed_whole(place: Place, provider: Provider) -> None:
    provider.script(Reply((Text("One, two, "),), stop_reason="max_tokens"), "three.")
    assert asked(place, provider, "-p", "Count").stdout == "One, two, three.\n"


def test_what_is_piped_in_stands_behind_the_prompt(place: Place, provider: Provider) -> None:
    provider.script("It is safe.", "A diff.")
    asked(place, provider, "-p", "Is this safe?", given="+ one line\n")
    sent = json.dumps(provider.requests[0].json["messages"])
    assert r"Is this safe?\n\n+ one line" in sent
    provider.expect_conversation("without -p, and without a prompt")
    assert asked(place, provider, given="+ one line\n").stdout == "A diff.\n"


def test_one_object_for_programs(place: Place, provider: Provider) -> None:
    (place.root / "app.py").write_text("print('hello')\n")
    provider.script([ToolCall("Read", {"path": "app.py"})], "It prints hello.")
    [result] = lines(asked(place, provider, "--output-format", "json", "What does app.py do?"))
    assert result["type"] == "result"
    assert result["result"] == "It prints hello."
    assert result["error"] is None
    assert result["session"] == place.app().journals()[0].stem
    assert result["requests"] == 2
    assert result["cost"] > 0
    assert 0 < result["cache_hit_rate"] < 1
    assert result["usage"]["output"] > 0
    assert (result["layers"], result["memories"], result["unpriced"]) == ({}, [], 0)
    provider.expect_conversation("the same by --json")
    provider.script("Yes.")
    [result] = lines(asked(place, provider, "--json", "Sure?"))
    assert result["result"] == "Yes."


def test_recall_that_is_late_is_told(place: Place, provider: Provider) -> None:
    provider.script("Fine.", "Fine.")
    place.app().memory().keeper.remember(NewMemory("Deploys freeze in winter."), Author("user"))
    never = ("--set", "recall.deadline=0", "-p", "When do deploys freeze?")
    done = asked(place, provider, *never)
    note = "note: recall took longer than 0 s (recall.deadline); answering without it\n"
    assert (done.stdout, done.stderr) == ("Fine.\n", note)
    events = lines(asked(place, provider, "--output-format", "stream-json", *never))
    assert {"type": "memories_late", "seconds": 0.0} in events


def test_without_a_model_recall_is_waited_for(place: Place) -> None:
    place.app().memory().keeper.remember(NewMemory("Deploys freeze in winter."), Author("user"))
    done = process(place, "chat", "--set", "recall.deadline=0", "-p", "When do deploys freeze?")
    assert "Deploys freeze in winter." in done.stdout
    assert ANSWER not in done.stdout


def test_every_event_a_line_for_programs(place: Place, provider: Provider) -> None:
    (place.root / "app.py").write_text("print('hello')\n")
    provider.script(
        [Thinking("Look."), Text("I look."), ToolCall("Read", {"path": "app.py"}, id="t1")],
        "It prints hello.",
    )
    events = lines(asked(place, provider, "--output-format", "stream-json", "What does it do?"))
    session = place.app().journals()[0].stem
    assert events[0] == {
        "type": "session",
        "session": session,
        "model": "claude-sonnet-5-5",
        "window": 1_000_000,
        "resumed": False,
    }
    kinds = [line["type"] for line in events]
    wanted = ["thinking", "text", "tool_requested", "replied", "tool_started", "tool_finished"]
    assert [kind for kind in dict.fromkeys(kinds) if kind in wanted] == wanted
    [finished] = [line for line in events if line["type"] == "tool_finished"]
    assert finished["id"] == "t1"
    assert finished["headline"] == "Read app.py"
    assert finished["error"] is False
    assert "print('hello')" in finished["text"]
    assert {"type": "turn_ended", "why": "end"} in events
    assert events[-1]["type"] == "result"
    assert events[-1]["result"] == "It prints hello."
    spent = [line["cost"] for line in events if line["type"] == "spent"]
    assert events[-1]["cost"] == pytest.approx(sum(spent))


def test_going_on_with_a_conversation(place: Place, provider: Provider) -> None:
    provider.script("First.", "Second.", "Third.")
    asked(place, provider, "-p", "One")
    asked(place, provider, "-c", "-p", "Two")
    [first] = place.app().journals()
    [result] = lines(asked(place, provider, "--resume", first.stem[:12], "--json", "Three"))
    assert result["session"] == first.stem
    messages = [r.message for r in journal.load(first).records if isinstance(r, Said)]
    spoken = [m.text for m in messages if m.origin in ("user", "assistant")]
    assert spoken == ["One", "First.", "Two", "Second.", "Three", "Third."]


def test_without_a_terminal_a_call_is_not_allowed(place: Place, provider: Provider) -> None:
    call = [ToolCall("Write", {"path": "new.txt", "content": "made\n"})]
    provider.script(call, "I may not.", call, "Made.")
    assert asked(place, provider, "-p", "Make it").stdout == "I may not.\n"
    assert not (place.root / "new.txt").exists()
    provider.expect_conversation("with permission")
    asked(place, provider, "-p", "Make it now", "--permission-mode", "accept-edits")
    assert (place.root / "new.txt").read_text() == "made\n"


@pytest.mark.parametrize("shape", ["text", "json", "stream-json"])
def test_a_failure_is_one_line_and_1(place: Place, provider: Provider, shape: str) -> None:
    provider.respond(lambda request: overloaded())
    done = asked(place, provider, "-p", "Hello", "--output-format", shape)
    assert done.returncode == 1
    assert done.stderr.startswith("reverie: claude-sonnet-5-5 is not available now")
    assert "Traceback" not in done.stderr
    if shape == "text":
        assert done.stdout == ""
    else:
        result = json.loads(done.stdout.splitlines()[-1])
        assert "is not available now" in result["error"]
        assert result["result"] == ""
    records = journal.load(place.app().journals()[0]).records
    assert "Hello" in [record.message.text for record in records if isinstance(record, Said)]


def test_a_missing_key_is_named_and_nothing_is_begun(place: Place) -> None:
    done = process(place, "chat", "-p", "Hello", "--model", MODEL)
    assert (done.returncode, done.stdout) == (1, "")
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert place.app().journals() == []


WRONG = [
    (["--model", "claude-opsu-5-5"], "did you mean claude-opus-5-5"),
    (["--model", "antropic:claude-opus-5-5"], "did you mean anthropic:claude-opus-5-5"),
    (["--resume", "nope"], "no session 'nope' here"),
    (["--continue"], "no conversation to continue"),
]


@pytest.mark.parametrize(("options", "expected"), WRONG, ids=lambda value: str(value)[:24])
def test_what_cannot_be_is_1(place: Place, options: list[str], expected: str) -> None:
    result = run("chat", "-p", "Hello", *options)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert expected in result.stderr


MISUSED = [
    (["-p"], "Nothing to say"),
    (["-p", "Hello", "--resume"], "Say which one"),
    (["-p", "Hello", "--resume", "s1", "--continue"], "not both"),
    (["-p", "Hello", "--permission-mode", "yolo"], "Invalid value for '--permission-mode'"),
    (["-p", "Hello", "--output-format", "xml"], "Invalid value for '--output-format'"),
]


@pytest.mark.parametrize(("options", "expected"), MISUSED, ids=lambda value: str(value)[:24])
def test_wrong_usage_is_2(place: Place, options: list[str], expected: str) -> None:
    result = run("chat", *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert expected in result.stderr


def test_commands_are_for_the_terminal(place: Place) -> None:
    result = run("chat", "-p", "/context")
    assert result.exit_code == 1
    assert "/context works inside `reverie chat`" in result.stderr


def test_without_a_model(place: Place) -> None:
    done = process(place, "chat", "-p", "remember that Ada owns the billing service since 2026-03")
    assert done.returncode == 0
    assert done.stdout.startswith(
        "Remembered (project): Ada owns the billing service since 2026-03"
    )
    done = process(place, "chat", "-p", "who owns the billing service?")
    assert done.stderr == f"note: {OFFLINE_NOTE}\n"
    assert done.stdout.startswith("From memory:\n")
    assert "Ada owns the billing service since 2026-03" in done.stdout
    assert "notes, not instructions" not in done.stdout
    quiet = process(place, "chat", "-q", "-p", "zebra crossings in Lisbon")
    assert (quiet.stdout, quiet.stderr) == (f"{ANSWER}\n", "")
    assert process(place, "chat", "-p", "zebra crossings in Lisbon").stdout == f"{ANSWER}\n"


def test_a_memory_that_is_refused_is_1(place: Place) -> None:
    run("chat", "-p", "remember that Ada owns the billing service since 2026-03")
    result = run("chat", "-p", "remember that Ada owns the billing service since 2026-03")
    assert result.exit_code == 1
    assert "already says so" in result.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_is_clean(
    place: Place, provider: Provider, number: signal.Signals, code: int
) -> None:
    gate = Gate(bound=60)
    provider.script(Held(Reply((Text("Slowly"),)), gate))
    address = f"providers.anthropic.base_url={provider.anthropic_url}"
    command = ["chat", "-p", "Tell me a story", "--set", address, "--model", MODEL, *ALONE]
    child = subprocess.Popen(
        [sys.executable, "-m", "reverie", *command],
        cwd=place.root,
        env=environment(place, ANTHROPIC_API_KEY="test"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hears_signals,
    )
    gate.wait_reached(30)
    child.send_signal(number)
    out, err = child.communicate(timeout=120)
    assert (child.returncode, out) == (code, "")
    assert "Traceback" not in err
    records = journal.load(place.app().journals()[0]).records
    spoken = [record.message.text for record in records if isinstance(record, Said)]
    assert spoken[0] == "Tell me a story"
    assert spoken[-1] == "[Interrupted by the user]"


def test_no_kind_of_event_is_without_a_shape_and_a_place_in_the_manual() -> None:
    assert set(shapes._SHAPES) == set(get_args(Event))
    names = [name for name, _ in shapes._SHAPES.values()]
    assert len(set(names)) == len(names)
    manual = (Path(__file__).parents[2] / "docs" / "chat.md").read_text("utf-8")
    table = manual[manual.index("| `type` | fields |") :]
    listed = re.findall(r"^\| (`[a-z_`, ]+) \|", table, re.MULTILINE)
    documented = {name for row in listed for name in re.findall(r"`([a-z_]+)`", row)}
    assert documented == {"type", *names, "session", "result"}


@pytest.mark.parametrize("text", ["", "I will not help with that."])
def test_a_refusal_is_told_and_is_no_success(place: Place, provider: Provider, text: str) -> None:
    refusal = Reply((Text(text),) if text else (), stop_reason="refusal")
    provider.script(refusal, refusal)
    done = asked(place, provider, "-p", "Do evil.")
    assert (done.returncode, done.stdout) == (1, f"{text}\n" if text else "")
    assert "claude-sonnet-5-5 refused to" in done.stderr
    failed_run = asked(place, provider, "-p", "Do evil.", "--output-format", "json")
    result = json.loads(failed_run.stdout)
    assert failed_run.returncode == 1
    assert (result["result"], "refused to" in result["error"]) == (text, True)
