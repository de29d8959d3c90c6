"""`reverie extract --batch`, `--status` and `--cancel` as a person uses them, and a process that is killed."""

import os
import subprocess
import sys

import pytest
from tests.cli.run import data, done, environment, failed, hears_signals, run
from tests.cli.test_extract import talked
from tests.place import Place
from tests.provider.gate import Gate
from tests.provider.provider import Provider
from tests.provider.script import ToolCall

WISH = "Bruno owns the payroll service since 2026-03."


@pytest.fixture
def options(place: Place, provider: Provider, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    talked(place, WISH)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "test")
    head = f"name: Payroll\ndescription: {WISH}\ntype: project\nsource: [1]\n"
    path = place.app().memory_location.directory / "project_payroll.md"
    written = {"path": str(path), "content": f"---\n{head}---\n\n{WISH}\n"}
    provider.respond(lambda request: ToolCall("Write", written))
    settings = (
        "models.side=anthropic:claude-haiku-5-5",
        "spend.purpose.extract=0.25",
        f"providers.anthropic.base_url={provider.anthropic_url}",
    )
    return ("extract", *(part for one in settings for part in ("--set", one)))


def test_from_the_plan_to_what_was_learnt(options: tuple[str, ...], provider: Provider) -> None:
    assert "No batch waits" in done(*options, "--status")
    asked = run(*options, "--batch").stderr
    assert "in a batch: within a day, at half price" in asked
    assert "confirm with --yes" in asked
    assert provider.batches.jobs == {}
    sent = done(*options, "--batch", "--yes")
    assert "Sent 1 session to anthropic:claude-haiku-5-5" in sent
    assert "for at most $0.0" in sent
    status = done(*options, "--status")
    assert "1 session to anthropic:claude-haiku-5-5" in status
    assert "collects the answers" in status
    [batch] = data(*options, "--status")["batches"]
    assert (batch["sessions"], batch["requests"], batch["accepted"]) == (["s1"], 1, True)
    assert 0 < batch["most"] < 0.25
    # Before the answer is there, nothing is read again.
    early = run(*options, "--yes")
    assert "waits in a batch: reverie extract --status" in early.output
    provider.end_batches()
    later = run(*options, "--yes")
    assert "s1: from the batch: saved project_" in later.stderr
    assert "The batch cost $0.0" in later.stderr
    assert "No batch waits" in done(*options, "--status")


def test_for_programs(options: tuple[str, ...], provider: Provider) -> None:
    sent = data(*options, "--batch", "--yes")
    assert (sent["batch"]["requests"], sent["notes"]) == (1, [])
    assert data(*options, "--cancel")["cancelled"] == [sent["batch"]["id"]]
    provider.end_batches()
    # A dream collects, too.
    assert "it was cancelled" in run("dream", *options[1:]).stderr
    assert data(*options, "--status") == {
        "batches": [],
        "cancelled": [],
        "learning.batch": "off",
    }


def test_a_dry_run_sends_nothing(options: tuple[str, ...], provider: Provider) -> None:
    assert "at half price" in done(*options, "--batch", "--dry-run")
    assert provider.requests == []


def test_wrong_uses(options: tuple[str, ...], place: Place) -> None:
    assert "models.side" in failed("extract", "--batch")
    local = failed("extract", "--set", "models.side=ollama:llama", "--batch", "--yes")
    assert "has no batches that Reverie can use; Anthropic and OpenAI have" in local
    assert "leave out --batch" in local
    assert run(*options, "--batch", "--no-model").exit_code == 2
    place.settings('learning.batch = "sometimes"\n')
    assert "when-idle" in run(*options, "--status").output


def test_a_process_killed_before_it_heard_of_its_batch(
    options: tuple[str, ...], place: Place, provider: Provider
) -> None:
    gate = provider.batches.gates["create"] = Gate(bound=60)
    child = subprocess.Popen(
        [sys.executable, "-m", "reverie", *options, "--batch", "--yes"],
        cwd=place.root,
        env=environment(place, ANTHROPIC_API_KEY="test"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=hears_signals,
    )
    try:
        gate.wait_reached(60)
    finally:
        os.kill(child.pid, 9)
        child.wait()
    provider.batches.gates.clear()
    gate.release()
    assert "whether it was accepted is not known yet" in done(*options, "--status")
    provider.end_batches()
    assert "s1: from the batch: saved project_" in run(*options, "--yes").stderr
    assert len([one for one in provider.requests if one.api == "batched"]) == 1
    [entry] = place.app().ledger.entries()
    assert entry.session == "extract-s1"
