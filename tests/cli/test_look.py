"""`stats`, `impact`, `compact`, `completion` and `ui`, as a person runs them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.cli.run import data, done, environment, failed, hears_signals, process
from tests.cli.terminal import on_terminal
from tests.web.store import SESSION, fill

from reverie.conversation.records import Said
from reverie.core.messages import Text, new_message
from reverie.learning.runs import Run, note_run

if TYPE_CHECKING:
    from tests.place import Place


@pytest.fixture
def filled(place: Place) -> Place:
    fill(place)
    return place


class TestStats:
    def test_as_a_table_and_as_json(self, filled: Place) -> None:
        assert "never recalled" in done("stats")
        assert data("stats", "--days", 3650)["memories"]["count"] == 5


class TestImpact:
    def test_says_what_was_not_measured(self, filled: Place) -> None:
        assert "not measured yet" in done("impact")
        assert data("impact")["replay"] is None

    def test_asking_needs_a_model(self, filled: Place) -> None:
        assert "--model provider:model" in failed("impact", "--probes")

    def test_doctor_tells_of_the_holdout(self, filled: Place) -> None:
        assert "10% of sessions get no recalled memories" in done(
            "doctor", "--set", "impact.holdout=0.1"
        )


class TestAlarm:
    def test_is_in_doctor(self, filled: Place) -> None:
        for n in range(5):
            note_run(filled.app(), Run(filled.clock.now() + n + 1, f"s{n}", trouble="no key"))
        ran = process(filled, "doctor")
        assert ran.returncode == 1
        assert "learning has not worked for 5 sessions: no key" in ran.stdout


class TestCompact:
    def test_a_long_session_becomes_small(self, filled: Place) -> None:
        long = "word " * 3_000
        filled.journal(
            SESSION,
            *(
                Said(
                    new_message(
                        role, Text(f"{n} {long}"), at=n, response="" if role == "user" else f"x{n}"
                    )
                )
                for n in range(10)
                for role in ("user", "assistant")
            ),
        )
        made = data("compact", SESSION[:12], "--model", "offline")
        assert made["after"] < made["before"] * 0.7
        assert "Compacted" not in done("show", SESSION)

    def test_a_session_that_is_not_there(self, filled: Place) -> None:
        assert "no session" in failed("compact", "nothing")


class TestCompletion:
    @pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
    def test_a_script_for_each_shell(self, place: Place, shell: str) -> None:
        assert "_REVERIE_COMPLETE" in done("completion", shell)

    @pytest.mark.parametrize(
        ("words", "expected"),
        [("reverie show project_the_st", "project_the_staging_database_listens_on_port_6543.md"),
         ("reverie pin person/", "person/"), ("reverie compact 2025", SESSION), ("reverie chat --resume 2025", SESSION),
         ("reverie sta", "stats")],
    )  # fmt: skip
    def test_names(self, filled: Place, words: str, expected: str) -> None:
        at = str(len(words.split()) - 1)
        env = {"COMP_WORDS": words, "COMP_CWORD": at, "_REVERIE_COMPLETE": "bash_complete"}
        ran = process(filled, **env)
        assert expected in ran.stdout
        assert ran.stderr == ""

    @pytest.mark.parametrize(("shell", "options", "load"), [
        ("bash", ("--norc", "--noprofile", "-i"), 'eval "$(reverie completion bash)"'),
        ("zsh", ("-f", "-i"), 'autoload -U compinit; compinit -u; eval "$(reverie completion zsh)"'),
        ("fish", ("--no-config", "-i"), "reverie completion fish | source"),
    ])  # fmt: skip
    def test_tab_in_a_real_shell(
        self, filled: Place, shell: str, options: tuple[str, ...], load: str
    ) -> None:
        if shutil.which(shell) is None:
            pytest.skip(f"{shell} is not installed")
        folder = filled.base / "programs"
        folder.mkdir()
        (folder / "reverie").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m reverie "$@"\n')
        (folder / "reverie").chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        more = {"PATH": path, "PS1": "$ "}
        with on_terminal(filled, *options, program=[shell], columns=160, **more) as terminal:
            terminal.enter(f"{load}; echo loa''ded")
            terminal.until("loaded")
            terminal.type("reverie show project_the_st\t")
            terminal.until("project_the_staging_database_listens_on_port_6543.md")

    def test_words_of_a_question_are_not_names(self, filled: Place) -> None:
        env = {
            "COMP_WORDS": "reverie search proj",
            "COMP_CWORD": "2",
            "_REVERIE_COMPLETE": "bash_complete",
        }
        assert process(filled, **env).stdout.strip() == ""


class TestUi:
    def test_serves_until_it_is_interrupted(self, filled: Place) -> None:
        command = [sys.executable, "-m", "reverie", "ui", "--port", "0", "--json"]
        env = environment(filled, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
        with subprocess.Popen(
            command, cwd=filled.root, env=env, stdout=subprocess.PIPE, text=True, preexec_fn=hears_signals
        ) as running:  # fmt: skip
            lines = ""
            while "}" not in lines:
                lines += running.stdout.readline()
            answer = httpx.get(json.loads(lines)["url"], timeout=30)
            assert answer.status_code == 200
            running.send_signal(signal.SIGINT)
            assert running.wait(30) in (0, 130)

    def test_a_taken_port_is_told(self, filled: Place) -> None:
        from reverie.web.server import listen

        with listen(0) as taken:
            taken.listen()
            assert "choose another with --port" in failed("ui", "--port", taken.getsockname()[1])

    def test_memory_that_is_off_is_told(self, filled: Place) -> None:
        assert "memory is off" in failed("ui", "--set", "memory.enabled=false")
