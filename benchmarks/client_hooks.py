"""What Reverie costs a coding agent: turns with it and without, alternating, and each hook by itself.

    python benchmarks/client_hooks.py [--rounds 20] [--client claude|codex] [--json]

The real client runs before a provider on loopback that answers at once, so that the difference is ours. Beside the
time by the clock stands the processor time of the client and its hooks, which a busy machine changes less. Needs the
client on PATH (`make test-clients` installs it into .clients/node_modules/.bin).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.provider.provider import Provider
from tests.provider.server import ProviderServer

REVERIE = Path(sys.executable).parent / "reverie"
MEMORIES = (
    "The staging database listens on port 6543",
    "We use pnpm in this repository, never npm",
    "Deploys freeze on 2026-12-20 because of the audit",
)
PROMPT = "Which port does the staging database listen on?"


class Taken(NamedTuple):
    """Seconds by the clock, and of processor time."""

    clock: float
    processor: float


class Machine:
    """A scratch home and project for one client."""

    def __init__(self, base: Path, provider: Provider) -> None:
        self.person, self.root = base / "person", base / "project"
        self.person.mkdir(parents=True)
        self.root.mkdir()
        subprocess.run(["git", "init", "-q"], cwd=self.root, check=True)
        codex = self.person / ".codex"
        codex.mkdir()
        (codex / "config.toml").write_text(
            'model = "gpt-5.5"\nmodel_provider = "stub"\n[model_providers.stub]\nname = "stub"\n'
            f'base_url = "{provider.openai_url}"\nenv_key = "STUB_KEY"\nwire_api = "responses"\n'
            "supports_websockets = false\n"
            f'[projects."{self.root}"]\ntrust_level = "trusted"\n'
        )
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.person),
            "CODEX_HOME": str(codex),
            "STUB_KEY": "dummy",
            "ANTHROPIC_BASE_URL": provider.anthropic_url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CONFIG_DIR": str(self.person / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
        }

    def run(self, *command: str | Path, stdin: bytes = b"") -> Taken:
        """Run a command, and measure it."""
        began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(
            command, cwd=self.root, env=self.env, input=stdin, capture_output=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        took = Taken(time.perf_counter() - began, spent)
        if ran.returncode:
            raise SystemExit(f"{command[0]} failed: {(ran.stderr or ran.stdout).decode()[-500:]}")
        return took

    def turn(self, client: str) -> Taken:
        if client == "claude":
            return self.run("claude", "-p", PROMPT, "--model", "claude-sonnet-5-5")
        return self.run("codex", "exec", "--json", "--dangerously-bypass-hook-trust", PROMPT)

    def hook(self, event: str, client: str, **fields: Any) -> Taken:
        data = {"session_id": "bench", "cwd": str(self.root), "hook_event_name": event, **fields}
        words = (REVERIE, "hook", event, "--client", client)
        return self.run(*words, stdin=json.dumps(data).encode())


def measured(client: str, rounds: int, base: Path, provider: Provider) -> dict[str, Any]:
    name = "claude-code" if client == "claude" else client
    bare, with_us = (Machine(base / one, provider) for one in ("bare", "with"))
    for memory in MEMORIES:
        with_us.run(REVERIE, "remember", memory)
    with_us.run(REVERIE, "install", name, "--yes", "--no-mcp")
    with_us.run(REVERIE, "daemon", "start")
    turns: dict[str, list[Taken]] = {"bare": [], "with": []}
    try:
        for machine in (bare, with_us):
            machine.turn(client)
        for _ in range(rounds):
            turns["bare"].append(bare.turn(client))
            turns["with"].append(with_us.turn(client))
        read = {"tool_name": "Read", "tool_input": {"file_path": str(with_us.root / "a.py")}}
        hooks = {
            "UserPromptSubmit": [with_us.hook("UserPromptSubmit", name, prompt=PROMPT) for _ in range(rounds)],
            "PostToolUse": [with_us.hook("PostToolUse", name, **read) for _ in range(rounds)],
            "Stop": [with_us.hook("Stop", name, last_assistant_message="Done.") for _ in range(rounds)],
        }  # fmt: skip
    finally:
        with_us.run(REVERIE, "daemon", "stop")
    medians = {key: _median([one.clock for one in values]) for key, values in turns.items()}
    processor = {key: _median([one.processor for one in values]) for key, values in turns.items()}
    return {
        "client": client,
        "rounds": rounds,
        "turn_ms": medians,
        "added_ms": medians["with"] - medians["bare"],
        "turn_processor_ms": processor,
        "hook_ms": {key: _median([one.clock for one in values]) for key, values in hooks.items()},
        "hook_processor_ms": {
            key: _median([one.processor for one in values]) for key, values in hooks.items()
        },
    }


def _median(seconds: list[float]) -> int:
    return round(statistics.median(seconds) * 1000)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--client", choices=("claude", "codex"), action="append")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    clients = [one for one in given.client or ("claude", "codex") if shutil.which(one)]
    if not clients:
        print("skipped: neither claude nor codex is on PATH; see `make test-clients`")
        return
    server = ProviderServer()
    server.start()
    try:
        rows = []
        for client in clients:
            with tempfile.TemporaryDirectory() as folder:
                provider = server.serve(Provider())
                rows.append(measured(client, given.rounds, Path(folder), provider))
    finally:
        server.stop()
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        turn = row["turn_ms"]
        print(f"{row['client']}: a turn {turn['bare']} ms without, {turn['with']} ms with Reverie")
        print("  hooks: " + ", ".join(f"{name} {ms} ms" for name, ms in row["hook_ms"].items()))
        spent = row["turn_processor_ms"]
        print(f"  processor time of a turn: {spent['bare']} ms without, {spent['with']} ms with")
        hooks = row["hook_processor_ms"].items()
        print("  and of hooks: " + ", ".join(f"{name} {ms} ms" for name, ms in hooks))


if __name__ == "__main__":
    main()
