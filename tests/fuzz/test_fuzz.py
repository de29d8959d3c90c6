"""Every parser of foreign bytes keeps its promises on bytes that no one wrote; see `targets`."""

from __future__ import annotations

import importlib.util
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.fuzz.mutations import mutated
from tests.fuzz.targets import TARGETS, Target

ROOT = Path(__file__).parents[2]
RUNS = 1_500

NAMES = list(TARGETS)


def foreign(target: Target) -> st.SearchStrategy[bytes]:
    """Noise, text, and good inputs with something changed."""
    changed = st.builds(
        lambda good, seed: mutated(good, seed, lines=target.lines)[:16_384],
        st.sampled_from(target.seeds),
        st.integers(0, 2**32 - 1),
    )
    text = st.text().map(lambda text: text.encode("utf-8", "surrogatepass"))
    return changed | changed | text | st.binary()


@pytest.mark.parametrize("name", TARGETS)
def test_good_inputs_are_read(name: str) -> None:
    for good in TARGETS[name].seeds:
        TARGETS[name](good)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_no_bytes_break_a_parser(name: str) -> None:
    target = TARGETS[name]

    @settings(max_examples=600, suppress_health_check=list(HealthCheck), database=None)
    @given(foreign(target))
    def check(data: bytes) -> None:
        target(data)

    check()


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("atheris") is None, reason="atheris is not installed")
@pytest.mark.parametrize("name", NAMES)
def test_coverage_leads_to_no_bytes_that_break_a_parser(name: str) -> None:
    command = [sys.executable, "-m", "tests.fuzz", name, f"--runs={RUNS}"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, errors="replace", preexec_fn=_unmasked
    )
    assert done.returncode == 0, done.stderr[-4_000:]


def _unmasked() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
