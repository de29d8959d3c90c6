"""A person's machine in a folder, with real coding agents on it, before a provider on loopback."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.place import Place
from tests.provider.provider import Provider
from tests.provider.record import RecordedRequest

REVERIE = Path(sys.executable).parent / "reverie"
# What only a client that hangs exceeds, on a machine that others use, too.
LONGEST = 600.0
FACT = "Deploys freeze on 2026-12-20 because of the audit"
# An earlier release, which many people still run; `make test-clients` installs it beside the newest.
OLDER_CLAUDE = Path(__file__).parents[2] / ".clients" / "older" / "node_modules" / ".bin" / "claude"


@dataclass
class Desk:
    """A home, a project, and programs that know nothing else."""

    place: Place
    provider: Provider
    env: dict[str, str] = field(default_factory=dict)

    def run(self, program: str | Path, *arguments: str) -> str:
        found = shutil.which(program)
        assert found is not None, f"{program} is missing: run `make test-clients`"
        own = {"PATH": os.environ["PATH"], "HOME": str(self.place.person)}
        ran = subprocess.run(
            [found, *arguments],
            cwd=self.place.root,
            env=own | self.env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=LONGEST,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout

    def reverie(self, *arguments: str) -> str:
        return self.run(REVERIE, *arguments)

    def install(self, client: str, *options: str) -> None:
        """Install, and start the daemon: on a busy machine the first hook would not wait for it."""
        self.reverie("install", client, "--yes", "--no-mcp", *options)
        self.reverie("daemon", "start")

    def memories(self) -> str:
        return self.reverie("list", "--json")

    def wait_for(self, holds: Callable[[], bool], seconds: float = LONGEST) -> None:
        """What goes on detached from the client takes a moment."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, self.reverie("daemon", "status")
            time.sleep(0.1)

    def sessions(self) -> list[Path]:
        """The folders Reverie keeps for the clients' sessions."""
        return sorted(self.place.home.glob("projects/*/hooks/*"))


class Claude:
    """Claude Code, asked once at a time."""

    def __init__(self, desk: Desk, program: str | Path = "claude") -> None:
        self.desk = desk
        self.program = program
        desk.env |= {
            "ANTHROPIC_BASE_URL": desk.provider.anthropic_url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CONFIG_DIR": str(desk.place.person / ".claude"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            # Its MCP servers connect beside the first request otherwise, and change its tools then.
            "MCP_CONNECTION_NONBLOCKING": "0",
        }

    def say(self, prompt: str, *options: str) -> list[dict[str, Any]]:
        """Everything it reports about a turn."""
        shape = ("--model", "claude-sonnet-5-5", "--output-format", "stream-json", "--verbose")
        told = self.desk.run(self.program, "-p", prompt, *shape, *options)
        return [json.loads(line) for line in told.splitlines() if line.startswith("{")]

    def sent(self) -> str:
        """What the model was last shown."""
        return json.dumps(self.desk.provider.requests[-1].json["messages"])


class Codex:
    def __init__(self, desk: Desk, *more: str) -> None:
        self.desk = desk
        home = desk.place.person / ".codex"
        home.mkdir()
        desk.env |= {"STUB_KEY": "dummy", "CODEX_HOME": str(home)}
        (home / "config.toml").write_text(
            "".join(f"{line}\n" for line in more)
            + f"""model = "gpt-5.5"
model_provider = "stub"

[model_providers.stub]
name = "stub"
base_url = "{desk.provider.openai_url}"
env_key = "STUB_KEY"
wire_api = "responses"
supports_websockets = false

[projects."{desk.place.root}"]
trust_level = "trusted"
"""
        )

    def say(self, prompt: str, *resume: str) -> str:
        """The id of the thread."""
        # A person trusts hooks once, with /hooks; in a test nobody does.
        trust = "--dangerously-bypass-hook-trust"
        told = self.desk.run("codex", "exec", *resume, "--json", trust, prompt)
        events = [json.loads(line) for line in told.splitlines() if line.startswith("{")]
        return next(str(e["thread_id"]) for e in events if e["type"] == "thread.started")

    def sent(self) -> str:
        return json.dumps(self.desk.provider.requests[-1].json["input"])


class Opencode:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        stub = {
            "npm": "@ai-sdk/openai-compatible",
            "name": "stub",
            "options": {"baseURL": desk.provider.openai_url, "apiKey": "dummy"},
            "models": {"gpt-5.5": {"name": "m"}},
        }
        self.home = desk.place.person / ".config" / "opencode"
        self.home.mkdir(parents=True)
        config = {"provider": {"stub": stub}, "model": "stub/gpt-5.5"}
        (self.home / "opencode.json").write_text(json.dumps(config))

    def say(self, prompt: str, *options: str) -> str:
        """What the model was shown, as text; a request for a title is none."""
        self.desk.run("opencode", "run", *options, "--format", "json", prompt)
        return texts(self.asked()[-1])

    def asked(self) -> list[RecordedRequest]:
        return [one for one in self.desk.provider.requests if one.json.get("tools")]

    def titles(self) -> list[RecordedRequest]:
        return [one for one in self.desk.provider.requests if not one.json.get("tools")]


def files_of(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def texts(request: RecordedRequest) -> str:
    """Everything the model is shown beside the tools, in order."""
    return "\n".join(
        block if isinstance(block, str) else block.get("text", "") or json.dumps(block)
        for message in request.json["messages"]
        for block in (
            [message["content"]] if isinstance(message["content"], str) else message["content"]
        )
    )
