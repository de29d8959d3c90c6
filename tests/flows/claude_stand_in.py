"""Runs one prompt as `claude -p` does, as far as hooks can tell: for machines without Claude Code.

Reads the hooks from ~/.claude/settings.json, runs them at the same moments with the same JSON,
sends prompt and added context to the model at ANTHROPIC_BASE_URL, and keeps a transcript.
"""

import argparse
import json
import os
import subprocess
import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2


def main() -> None:
    parser = argparse.ArgumentParser(prog="claude")
    parser.add_argument("-p", dest="prompt", required=True)
    prompt = parser.parse_args().prompt
    config = Path.home() / ".claude"
    session = str(uuid.uuid4())
    folder = config / "projects" / str(Path.cwd()).replace("/", "-")
    folder.mkdir(parents=True, exist_ok=True)
    transcript = folder / f"{session}.jsonl"
    shared = {
        "session_id": session,
        "transcript_path": str(transcript),
        "cwd": str(Path.cwd()),
        "permission_mode": "default",
    }
    hooks = Hooks(config / "settings.json", shared)
    opening = hooks.run("SessionStart", source="startup")
    added = hooks.run("UserPromptSubmit", prompt=prompt)
    with transcript.open("a", encoding="utf-8") as lines:
        _keep(lines, shared, "user", prompt)
        reply = _ask([text for text in (*opening, prompt, *added) if text])
        _keep(lines, shared, "assistant", [{"type": "text", "text": reply}])
    print(reply)
    hooks.run("Stop", stop_hook_active=False)
    hooks.run("SessionEnd", reason="other")


class Hooks:
    """The hooks of a settings file."""

    def __init__(self, settings: Path, shared: dict[str, Any]) -> None:
        found = json.loads(settings.read_text()) if settings.exists() else {}
        self._hooks = found.get("hooks", {})
        self._shared = shared

    def run(self, event: str, **fields: Any) -> list[str]:
        """Run the commands of an event; return the context they add."""
        told = json.dumps({**self._shared, "hook_event_name": event, **fields})
        added = []
        for matcher in self._hooks.get(event, []):
            for hook in matcher["hooks"]:
                done = subprocess.run(
                    ["sh", "-c", hook["command"]],
                    input=told,
                    capture_output=True,
                    text=True,
                    check=True,
                )
                answer = json.loads(done.stdout) if done.stdout.strip().startswith("{") else {}
                added.append(answer.get("hookSpecificOutput", {}).get("additionalContext", ""))
        return added


def _ask(texts: list[str]) -> str:
    content = [{"type": "text", "text": text} for text in texts]
    response = httpx2.post(
        f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages",
        headers={"x-api-key": "key", "anthropic-version": "2023-06-01"},
        json={
            "model": "claude-sonnet-5-5",
            "max_tokens": 1_000,
            "messages": [{"role": "user", "content": content}],
        },
        timeout=60,
    )
    if response.status_code != 200:
        sys.exit(response.text)
    return str(response.json()["content"][0]["text"])


def _keep(lines: Any, shared: dict[str, Any], role: str, content: Any) -> None:
    row = {
        "type": role,
        "uuid": str(uuid.uuid4()),
        "parentUuid": None,
        "sessionId": shared["session_id"],
        "cwd": shared["cwd"],
        "timestamp": datetime.now(UTC).isoformat(),
        "message": {"role": role, "content": content},
    }
    lines.write(json.dumps(row) + "\n")
    lines.flush()


if __name__ == "__main__":
    main()
