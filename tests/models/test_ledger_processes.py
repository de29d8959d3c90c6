"""Several processes together cannot exceed a cap."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.memory.hammer import CALL, CAP
from tests.place import FixedClock

from reverie.core.usage import Caps, Refused
from reverie.models.ledger import Ledger

REPOSITORY = Path(__file__).parents[2]
PROCESSES = 8
CALLS = 60


def started(home: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.memory.hammer", str(home), name, str(CALLS)]
    return subprocess.Popen(
        command, cwd=REPOSITORY, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def ledger_lines(home: Path) -> list[dict[str, object]]:
    files = home.glob("projects/*/ledger.jsonl")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_eight_processes_under_one_cap(tmp_path: Path) -> None:
    workers = [started(tmp_path, f"worker-{i}") for i in range(PROCESSES)]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
    answers = [worker.communicate(timeout=240)[0] for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    allowed = [int(answer) for answer in answers]

    found = ledger_lines(tmp_path)
    reserved = {line["ticket"] for line in found if line["type"] == "reserved"}
    spent = [line for line in found if line["type"] == "spent"]
    over = {line["ticket"] for line in found if line["type"] != "reserved"}
    assert len(reserved) == sum(allowed)
    promised = CALL * (len(spent) + len(reserved - over))
    # The cap is used up: every process wanted to spend more.
    assert promised + CALL / 2 > CAP - CALL
    assert promised <= CAP + 1e-9

    ledger = Ledger(tmp_path / "projects" / "p9", home=tmp_path, clock=FixedClock())
    assert ledger.spent("recall", "").day == pytest.approx(promised)
    assert isinstance(ledger.reserve("recall", "s", CALL, Caps(day=CAP)), Refused)
