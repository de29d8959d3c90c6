"""The command line as a person runs it: a process with a terminal, a pipe, or a hurry."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.run import environment, hears_signals, process
from tests.conversation import claude_lines as claude
from tests.conversation.build import Said, talk, user, write_lines
from tests.place import Place

REVERIE = [sys.executable, "-m", "reverie"]


def modules_after(code: str) -> set[str]:
    """The modules a fresh interpreter has loaded after running this."""
    script = f"{code}\nimport sys, json; print('\\n' + json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


HELP = """
from reverie.cli.group import cli
try:
    cli.main(["--help"])
except SystemExit:
    pass
"""


def test_help_loads_next_to_nothing() -> None:
    loaded = modules_after(HELP)
    assert "reverie.cli.group" in loaded
    assert not loaded & {
        "rich",
        "asyncio",
        "anthropic",
        "openai",
        "httpx",
        "tomllib",
        "reverie.workspace",
    }
    commands = Path(__file__).parents[2] / "src/reverie/cli"
    shared = {
        "reverie.cli",
        "reverie.cli.group",
        "reverie.cli.invocation",
    }
    files = (file.relative_to(commands.parent.parent) for file in commands.rglob("*.py"))
    modules = {".".join(file.with_suffix("").parts).removesuffix(".__init__") for file in files}
    assert not loaded & (modules - shared)


def test_importing_the_library_loads_no_third_party_code() -> None:
    before = modules_after("")
    new = {name.partition(".")[0] for name in modules_after("import reverie") - before}
    assert new - set(sys.stdlib_module_names) == {"reverie"}


def test_a_command_that_needs_no_model_loads_no_sdk(place: Place) -> None:
    code = "import sys; sys.argv=['reverie', 'settings', '-q']\nfrom reverie.cli import main\ntry: main()\nexcept SystemExit: pass"
    assert not modules_after(code) & {"anthropic", "openai", "httpx", "opentelemetry"}


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--help"], 0), (["settings"], 0), (["show", "nope"], 1), (["spnd"], 2), (["doctor"], 0)],
)
def test_exit_codes(place: Place, arguments: list[str], code: int) -> None:
    done = process(place, *arguments)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert bool(done.stderr) == (code != 0)


def test_doctor_fails_when_something_is_wrong(place: Place) -> None:
    done = process(place, "doctor", "--set", "models.main=claude-opus-5")
    assert done.returncode == 1
    assert "✗ claude-opus-5 has no key" in done.stdout
    assert done.stderr == ""


def test_no_colour_in_a_pipe(place: Place) -> None:
    place.journal("s1", *talk(2, prompt=2_000))
    for command in (["settings"], ["context"], ["doctor"], ["sessions"], ["cache"], ["show", "s1"]):
        assert "\x1b" not in process(place, *command).stdout


def on_a_terminal(place: Place, *arguments: str, **env: str) -> str:
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [*REVERIE, *arguments],
        cwd=place.root,
        env=environment(place, TERM="xterm-256color", **env),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    try:
        while more := os.read(ours, 10_000):
            seen += more
    except OSError:
        # Linux says so when the last process has left the terminal.
        pass
    os.close(ours)
    assert child.wait() == 0
    return seen.decode()


def test_colour_on_a_terminal_unless_it_is_not_wanted(place: Place) -> None:
    assert "\x1b[" in on_a_terminal(place, "doctor")
    # `NO_COLOR` is about colour; rich keeps bold and dim.
    plain = on_a_terminal(place, "doctor", NO_COLOR="1")
    assert not [code for code in ("\x1b[3", "\x1b[9", "\x1b[38") if code in plain]
    assert "✓" in plain


@pytest.mark.parametrize("arguments", [["settings"], ["settings", "--json"], ["show", "s1"]])
def test_a_reader_that_goes_away_ends_it_quietly(place: Place, arguments: list[str]) -> None:
    """`reverie … | head -1`, with more to say than a pipe holds."""
    long = [Said(user(f"{i} " + "word " * 300)) for i in range(100)]
    place.journal("s1", *long)
    read, write = os.pipe()
    child = subprocess.Popen(
        [*REVERIE, *arguments],
        cwd=place.root,
        env=environment(place),
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    if arguments[0] == "show":
        assert os.read(read, 10)
    os.close(read)
    assert child.communicate(timeout=120)[1] == ""
    assert child.returncode == 0


def test_a_reader_that_goes_away_is_seen_before_anything_is_said(place: Place) -> None:
    done = subprocess.run(
        f'"{sys.executable}" -m reverie settings | head -1',
        shell=True,
        cwd=place.root,
        env=environment(place),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("setting ")
    assert done.stderr == ""


def test_what_was_decided_is_done_though_nothing_reads_the_diff(place: Place) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [*REVERIE, "install", "claude-code", "--yes"],
        cwd=place.root,
        env=environment(place),
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, "")
    listed = subprocess.run(
        [*REVERIE, "install", "claude-code", "--dry-run"],
        cwd=place.root,
        env=environment(place),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "+" not in listed.stdout


def test_an_interrupt_is_clean(place: Place) -> None:
    """A pipe in place of a transcript keeps it reading until the test says stop."""
    path = place.journal("s1", *talk(1))
    path.unlink()
    os.mkfifo(path)
    child = subprocess.Popen(
        [*REVERIE, "sessions"],
        cwd=place.root,
        env=environment(place),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hears_signals,
    )
    # Returns when the other side has opened it too: it is reading now.
    ours = os.open(path, os.O_WRONLY)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    os.close(ours)
    assert child.returncode == 130
    assert out == ""
    assert err.strip() == "reverie: interrupted"


@pytest.mark.parametrize("arguments", [["show"], ["show", "--json"]])
def test_text_no_encoding_has_is_shown_escaped(place: Place, arguments: list[str]) -> None:
    path = write_lines(place.base / "c.jsonl", [claude.prompt("torn \ud83d emoji")])
    done = process(place, *arguments, path)
    assert done.returncode == 0, done.stderr
    assert r"torn \ud83d emoji" in done.stdout
    if "--json" in arguments:
        [message] = json.loads(done.stdout)
        assert message["blocks"][0]["text"] == "torn \ud83d emoji"


def test_a_terminal_that_knows_only_ascii(place: Place) -> None:
    done = process(place, "doctor", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert done.stdout.isascii()
