"""How many small breakages of the deciding modules the tests notice: a sampled mutation run.

A mutant is a module with one change: a comparison shifted, a condition turned round, a number moved by
one, a statement left out. It is killed when a test that belongs to its module fails. The sample is the
same for the same seed and source.

No file is changed: `mutant_runs.py` puts a change into a process forked from one that has collected
the tests, and runs those that reach it. (mutmut and cosmic-ray start an interpreter or copy the tree
for their mutants; neither was measured here.) Which changes there are is in `mutations.py`.

    python benchmarks/mutants.py [--sample N] [--seed N] [--module NAME]… [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

import hypothesis
import pytest
from mutant_runs import Ending, tried
from mutations import ROOT, Mutant, mutants_of

BAR = 0.90

# The modules that decide, and the tests that belong to each.
MODULES: dict[str, tuple[str, ...]] = {
    "reverie.agent.permissions": (
        "tests/agent/test_permissions.py",
        "tests/agent/test_toolbox.py",
    ),
    "reverie.agent.shell_commands": (
        "tests/agent/shell_commands/test_syntax.py",
        "tests/agent/shell_commands/test_reads_only.py",
    ),
    "reverie.agent.shell_commands.git": ("tests/agent/shell_commands/test_reads_only.py",),
    "reverie.agent.shell_commands.syntax": (
        "tests/agent/shell_commands/test_syntax.py",
        "tests/agent/shell_commands/test_reads_only.py",
    ),
    "reverie.core.prompt_cache": (
        "tests/core/prompt_cache/test_breakpoints.py",
        "tests/core/prompt_cache/test_chain.py",
        "tests/core/prompt_cache/test_changes.py",
        "tests/core/prompt_cache/test_tracker.py",
    ),
    "reverie.core.prompt_cache.tracker": ("tests/core/prompt_cache/test_tracker.py",),
    "reverie.core.usage": ("tests/core/test_spend.py", "tests/core/test_usage.py"),
    "reverie.core.window": ("tests/core/test_window.py",),
    "reverie.memory.changes.judging": (
        "tests/memory/test_judging.py",
        "tests/memory/test_keeper.py",
    ),
    "reverie.memory.changes.draft": (
        "tests/memory/test_judging.py",
        "tests/memory/test_scope.py",
        "tests/memory/test_keeper.py",
    ),
    "reverie.context.collapse": ("tests/context/test_collapse.py",),
    "reverie.context.compaction.plan": (
        "tests/context/test_compaction_plan.py",
        "tests/context/test_compaction.py",
        "tests/context/test_compaction_trigger.py",
    ),
    "reverie.learning.dreaming.checks": (
        "tests/learning/test_dream_checks.py",
        "tests/learning/test_dream_probes.py",
    ),
    "reverie.learning.dreaming.gates": (
        "tests/learning/test_dream_gates.py",
        "tests/learning/test_consolidate_lock.py",
    ),
    "reverie.learning.dreaming.changes": ("tests/learning/test_dream_merge.py",),
    "reverie.learning.extraction.reading": (
        "tests/learning/test_extraction_cursor.py",
        "tests/learning/test_extraction.py",
    ),
    "reverie.learning.extraction.candidates": (
        "tests/learning/test_extraction_decide.py",
        "tests/learning/test_extraction.py",
    ),
    "reverie.context.microcompaction": (
        "tests/context/test_microcompaction.py",
        "tests/context/test_batches_pay.py",
    ),
    "reverie.context.snip": ("tests/context/test_snip.py",),
    "reverie.subagents.members": ("tests/subagents/test_limits.py",),
    "reverie.memory.format.attachment": ("tests/memory/test_age.py",),
    "reverie.memory.format.exclusions": ("tests/memory/test_exclusions.py",),
    "reverie.memory.format.paths": ("tests/memory/test_paths.py", "tests/memory/test_names.py"),
    "reverie.memory.format.revisions": ("tests/memory/test_undoing.py",),
    "reverie.recall.attachment": (
        "tests/recall/test_gate.py",
        "tests/recall/test_anchors.py",
    ),
    "reverie.settings.sources": (
        "tests/security/test_project_settings.py",
        "tests/settings/test_sources.py",
    ),
    "reverie.text.likeness": (
        "tests/text/test_likeness.py",
        "tests/text/test_odds.py",
        "tests/text/test_quicker_judge.py",
    ),
}


def sampled(modules: Sequence[str], size: int, seed: int) -> list[Mutant]:
    """Mutants of each module by its share, three of each at least where there are so many."""
    chance = random.Random(seed)
    all_of = {module: mutants_of(module) for module in modules}
    total = sum(map(len, all_of.values()))
    chosen: list[Mutant] = []
    for found in all_of.values():
        share = max(3, round(size * len(found) / total))
        chosen += sorted(chance.sample(found, min(share, len(found))), key=lambda one: one.number)
    return chosen


def run(mutants: Sequence[Mutant]) -> list[tuple[Mutant, Ending]]:
    results: list[tuple[Mutant, Ending]] = []
    for module, together in groupby(mutants, key=lambda mutant: mutant.module):
        for mutant, ending in tried(MODULES[module], list(together)):
            results.append((mutant, ending))
            if ending == "survived":
                change = f"{mutant.before} → {mutant.after}"
                print(
                    f"{len(results)}/{len(mutants)} survived {module}:{mutant.line}: {change}",
                    flush=True,
                )
    return results


def table(results: Sequence[tuple[Mutant, Ending]]) -> str:
    lines = ["| module | mutants | killed |", "|---|---|---|"]
    for module in dict.fromkeys(mutant.module for mutant, _ in results):
        endings = Counter(ending for mutant, ending in results if mutant.module == module)
        lines.append(f"| `{module}` | {endings.total()} | {_killed(endings)} |")
    endings = Counter(ending for _, ending in results)
    share = _killed(endings) / max(1, endings.total())
    return "\n".join(
        [*lines, f"| together | {endings.total()} | {_killed(endings)} ({share:.1%}) |"]
    )


def _killed(endings: Counter[Ending]) -> int:
    """A mutant that never comes to an end is noticed, too."""
    return endings["killed"] + endings["too slow"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Break decisions, and see whether a test fails.")
    parser.add_argument("--sample", type=int, default=240)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--module", action="append", choices=sorted(MODULES))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    os.chdir(ROOT)
    print(f"pytest {pytest.__version__}, hypothesis {hypothesis.__version__}, seed {given.seed}")
    results = run(sampled(given.module or list(MODULES), given.sample, given.seed))
    print(table(results))
    if given.json:
        rows = [{**asdict(mutant), "ending": ending} for mutant, ending in results]
        given.json.write_text(json.dumps(rows, indent=1) + "\n")
    killed = _killed(Counter(ending for _, ending in results))
    return 0 if killed >= BAR * len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
