"""Adapters load their framework and no other, and say what to install when it is missing."""

import subprocess
import sys

import pytest

ADAPTERS = {
    "anthropic_memory": "anthropic",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
    "langchain": "langchain",
    "claude_agent_sdk": "claude_agent_sdk",
}


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_alone_loads_none() -> None:
    loaded = f"[name for name in {sorted(ADAPTERS.values())} if name in sys.modules]"
    assert run(f"import sys, reverie.adapters; print({loaded})") == "[]"


@pytest.mark.parametrize(("adapter", "package"), ADAPTERS.items())
def test_a_missing_package_is_named(adapter: str, package: str) -> None:
    output = run(
        "import sys\n"
        f"sys.modules[{package!r}] = None\n"
        "from reverie import InputError\n"
        f"try:\n    import reverie.adapters.{adapter}\n"
        "except InputError as error:\n    print(error)\n"
    )
    assert "needs the package" in output
    assert "pip install" in output
