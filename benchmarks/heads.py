"""What the tools of a client have in tokens, and what their shortest equivalent form takes out.

    python benchmarks/heads.py PROGRAM... [--tokenizer FILE]

Each program is an installed Claude Code (`claude` or its `cli.js`), driven once before a provider on
loopback. FILE is a `tokenizer.json`; the last one that Claude's maker published is in `anthropic` 0.34.2
on PyPI. Without it the tokens are our estimate, which counts JSON as more than providers do.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import publish
from tests.provider.provider import Provider
from tests.provider.server import serving
from tokenizers import Tokenizer

from reverie.context.head import slim_tools
from reverie.core.window import json_tokens

Count = Callable[[str], int]
SENT = ("name", "description", "input_schema")


def main() -> None:
    asked = _arguments()
    count = _counter(asked.tokenizer)
    rows = []
    for program in asked.programs:
        version, tools = sent_by(program)
        whole, short = _size(tools, count), _size(slim_tools(tools), count)
        rows.append([version, len(tools), whole, whole - short, f"{1 - short / whole:.1%}"])
    publish("heads", ["client", "tools", "tokens", "taken out", "share"], rows)


def sent_by(program: Path) -> tuple[str, list[Any]]:
    """The version of a client and the tools of its first request that has any."""
    run = ["node", str(program)] if program.suffix == ".js" else [str(program)]
    with serving(Provider()) as provider, tempfile.TemporaryDirectory() as folder:
        own = {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "CLAUDE_CONFIG_DIR": folder,
            "ANTHROPIC_BASE_URL": provider.anthropic_url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        version = _ran([*run, "--version"], folder, own)
        _ran([*run, "-p", "Say ok."], folder, own)
        asked = [request.json for request in provider.requests if request.json.get("tools")]
    if not asked:
        sys.exit(f"{program} sent no request with tools.")
    return version.split()[0], asked[0]["tools"]


def _ran(command: list[str], folder: str, env: dict[str, str]) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def _counter(tokenizer: Path | None) -> Count:
    if tokenizer is None:
        return json_tokens
    loaded = Tokenizer.from_file(str(tokenizer))
    return lambda text: len(loaded.encode(text).ids)


def _size(tools: list[Any], count: Count) -> int:
    told = ({key: tool[key] for key in SENT if key in tool} for tool in tools)
    return sum(count(json.dumps(tool, ensure_ascii=False)) for tool in told)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="+", type=Path, metavar="PROGRAM")
    parser.add_argument("--tokenizer", type=Path)
    return parser.parse_args()


if __name__ == "__main__":
    main()
