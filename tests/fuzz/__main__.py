"""Fuzz one parser: `python -m tests.fuzz TARGET [--runs N] [--seed N] [--input FILE]`.

With atheris installed (`pip install -e '.[fuzz]'`) coverage guides what is tried next; without it, good
inputs are changed at random. An input that fails is printed and kept in a file, to be given back with `--input`.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import sys
import tempfile
from pathlib import Path
from random import Random

from tests.fuzz.mutations import mutated

_LONGEST = 16_384
# Where coverage is watched. The rest is imported along, and watching it would take a minute.
_WATCHED = [
    "reverie.agent.shell_commands",
    "reverie.clients.hooks",
    "reverie.core.messages",
    "reverie.learning.extraction",
    "reverie.memory.changes.imports",
    "reverie.memory.format.frontmatter",
    "reverie.memory.format.index",
    "reverie.memory.format.topic",
    "reverie.memory.secrets",
    "reverie.recall.lexical",
    "reverie.conversation.claude_code",
    "reverie.conversation.codex",
    "reverie.conversation.journal",
    "reverie.conversation.records",
    "reverie.settings",
    "reverie.settings.projects",
    "reverie.clients.daemon.running",
    "reverie.text",
]


def main() -> None:
    asked = _asked()
    guided = importlib.util.find_spec("atheris") is not None and asked.input is None
    if guided:
        import atheris

        with atheris.instrument_imports(include=_WATCHED):
            from tests.fuzz.targets import TARGETS
    else:
        from tests.fuzz.targets import TARGETS
    if asked.target not in TARGETS:
        sys.exit(f"there is no target {asked.target!r}; there are: {', '.join(TARGETS)}")
    target = TARGETS[asked.target]

    def attempt(data: bytes) -> None:
        try:
            target(data)
        except BaseException:
            kept = Path(tempfile.gettempdir()) / f"reverie-{asked.target}-{_name(data)}"
            kept.write_bytes(data)
            print(f"failing input: {data[:2_000]!r}\nkept in {kept}", file=sys.stderr, flush=True)
            raise

    if asked.input is not None:
        attempt(asked.input.read_bytes())
    elif guided:
        _guided(attempt, target.seeds, target.lines, asked)
    else:
        rnd = Random(asked.seed)
        for seed in target.seeds:
            attempt(seed)
        for _ in range(asked.runs):
            good = rnd.choice(target.seeds)
            attempt(mutated(good, rnd.getrandbits(32), lines=target.lines)[:_LONGEST])
        print(f"{asked.target}: {asked.runs} inputs")


def _guided(attempt, seeds, lines, asked) -> None:  # atheris has no types
    import atheris

    def another(data: bytes, most: int, seed: int) -> bytes:
        if seed % 3:
            return mutated(data, seed, lines=lines)[:most]
        return atheris.Mutate(data, most)[:most]

    with tempfile.TemporaryDirectory(prefix="reverie-fuzz-") as corpus:
        for seed in seeds:
            (Path(corpus) / _name(seed)).write_bytes(seed)
        options = [f"-runs={asked.runs}", f"-seed={asked.seed}", f"-max_len={_LONGEST}"]
        options += ["-len_control=0", "-timeout=60", "-rss_limit_mb=0", "-print_final_stats=1"]
        options += [f"-artifact_prefix={corpus}/"]
        atheris.Setup([sys.argv[0], *options, corpus], attempt, custom_mutator=another)
        atheris.Fuzz()


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--input", type=Path)
    return parser.parse_args()


def _name(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


main()
