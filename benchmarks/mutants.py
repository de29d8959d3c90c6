"""How many small breakages of the deciding modules the tests notice: a sampled mutation run.

A mutant is a module with one change: a comparison shifted, a condition turned round, a number moved by
one, a statement left out. It is killed when a test that belongs to its module fails. The sample is the
same for the same seed and source.

No file is changed: a mutant is compiled in a process forked from one that has pytest loaded, so that
it costs little more than its tests. (mutmut and cosmic-ray start an interpreter or copy the tree for
their mutants; neither was measured here.)

    python benchmarks/mutants.py [--sample N] [--seed N] [--module NAME]… [--json FILE]
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal, TypeAlias, cast

import hypothesis
import pytest

ROOT = Path(__file__).parents[1]
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
    "reverie.core.prompt_cache.breakpoints": ("tests/core/prompt_cache/test_breakpoints.py",),
    "reverie.core.prompt_cache.chain": (
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
    "reverie.memory.changes.draft": ("tests/memory/test_scope.py", "tests/memory/test_keeper.py"),
    "reverie.context.collapse": ("tests/context/test_collapse.py",),
    "reverie.context.compaction.plan": (
        "tests/context/test_compaction_plan.py",
        "tests/context/test_compaction.py",
        "tests/context/test_compaction_trigger.py",
    ),
    "reverie.learning.dreaming.checks": ("tests/learning/test_dream_checks.py",),
    "reverie.learning.dreaming.gates": (
        "tests/learning/test_dream_gates.py",
        "tests/learning/test_consolidate_lock.py",
    ),
    "reverie.learning.dreaming.merge": ("tests/learning/test_dream_merge.py",),
    "reverie.learning.extraction.cursor": (
        "tests/learning/test_extraction_cursor.py",
        "tests/learning/test_extraction.py",
    ),
    "reverie.learning.extraction.decide": (
        "tests/learning/test_extraction_decide.py",
        "tests/learning/test_extraction.py",
    ),
    "reverie.context.microcompaction": ("tests/context/test_microcompaction.py",),
    "reverie.context.microcompaction.batches": (
        "tests/context/test_microcompaction.py",
        "tests/context/test_batches_pay.py",
    ),
    "reverie.context.snip": ("tests/context/test_snip.py",),
    "reverie.subagents.members": ("tests/subagents/test_limits.py",),
    "reverie.memory.format.age": ("tests/memory/test_age.py",),
    "reverie.memory.format.exclusions": ("tests/memory/test_exclusions.py",),
    "reverie.memory.format.paths": ("tests/memory/test_paths.py", "tests/memory/test_names.py"),
    "reverie.memory.format.revisions": ("tests/memory/test_undoing.py",),
    "reverie.recall.attachment": ("tests/recall/test_gate.py", "tests/recall/test_anchors.py"),
    "reverie.settings.sources": ("tests/security/test_project_settings.py",),
    "reverie.text.likeness": ("tests/text/test_likeness.py",),
}

Ending: TypeAlias = Literal["killed", "survived", "too slow"]


# --- what may be changed ---

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}


def mutations(node: ast.AST) -> Iterator[ast.AST]:
    """What a node may become; words are left alone, for most of them are messages."""
    match node:
        case ast.Compare(left, [op], [right]) if type(op) in _COMPARISONS:
            yield ast.Compare(left, [_COMPARISONS[type(op)]()], [right])
        case ast.BoolOp(op, values):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            yield operand
        case ast.BinOp(left, op, right) if type(op) in _ARITHMETIC and not _is_text(left, right):
            yield ast.BinOp(left, _ARITHMETIC[type(op)](), right)
        case ast.Constant(bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(int() | float() as number):
            yield ast.Constant(number + 1)
        case ast.IfExp(test, body, orelse):
            yield ast.IfExp(test, orelse, body)
        case _:
            yield from _statement_mutations(node)


def _statement_mutations(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.If(test, body, orelse) if not isinstance(test, ast.UnaryOp | ast.Compare):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Continue():
            yield ast.Break()
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield ast.Pass()


def _is_text(*sides: ast.expr) -> bool:
    return any(
        isinstance(side, ast.JoinedStr | ast.Constant) and not _is_number(side) for side in sides
    )


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: the how-manieth of its module, and how it reads."""

    module: str
    number: int
    line: int
    before: str
    after: str


def mutants_of(module: str) -> list[Mutant]:
    found = []
    for number, (node, fresh) in enumerate(_sites(ast.parse(_source(module).read_text("utf-8")))):
        before, after = (
            _short(ast.unparse(ast.fix_missing_locations(one))) for one in (node, fresh)
        )
        found.append(Mutant(module, number, getattr(node, "lineno", 0), before, after))
    return found


def _sites(tree: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Each node that runs, beside what it may become, in one order for one source."""
    for node in _running(tree):
        for fresh in mutations(node):
            yield node, ast.copy_location(copy.deepcopy(fresh), node)


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below that decide something: neither annotations nor what only a type checker reads."""
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "bases", "type_comment"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _is_for_types(child):
                yield child
                yield from _running(child)


def _is_for_types(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.AnnAssign) and "TypeAlias" in ast.unparse(node.annotation)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 70 else line[:69] + "…"


def _source(module: str) -> Path:
    path = ROOT / "src" / Path(*module.split("."))
    package = path / "__init__.py"
    return package if package.exists() else path.with_suffix(".py")


class _Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with its change in place of the original."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._path = _source(mutant.module)

    def find_spec(
        self, name: str, path: object = None, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != self._mutant.module:
            return None
        package = [str(self._path.parent)] if self._path.name == "__init__.py" else None
        return importlib.util.spec_from_file_location(
            name, self._path, loader=self, submodule_search_locations=package
        )

    def exec_module(self, module: ModuleType) -> None:
        tree = ast.parse(self._path.read_text("utf-8"))
        for number, (node, fresh) in enumerate(_sites(tree)):
            if number == self._mutant.number:
                tree = cast("ast.Module", _Exchange(node, fresh).visit(tree))
                break
        exec(compile(ast.fix_missing_locations(tree), str(self._path), "exec"), module.__dict__)


class _Exchange(ast.NodeTransformer):
    def __init__(self, node: ast.AST, fresh: ast.AST) -> None:
        self._node, self._fresh = node, fresh

    def visit(self, node: ast.AST) -> ast.AST:
        return self._fresh if node is self._node else cast("ast.AST", super().visit(node))


# --- a run ---


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


def tried(tests: Sequence[str], mutant: Mutant | None, seconds: float) -> Ending:
    """Run tests in a process of their own, with a mutant in place of its module."""
    child = os.fork()
    if child == 0:
        _test_and_exit(tests, mutant)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return "survived" if os.waitstatus_to_exitcode(status) == 0 else "killed"
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too slow"


def _test_and_exit(tests: Sequence[str], mutant: Mutant | None) -> None:
    os.setsid()
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    if mutant is not None:
        sys.meta_path.insert(0, _Replaced(mutant))
    chosen = ["-x", "-p", "no:xdist", "-p", "no:cov", "--hypothesis-seed=0"]
    # Hypothesis was loaded before the fork.
    chosen += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    code = 1
    try:
        code = int(pytest.main([*chosen, *tests]))
    finally:
        os._exit(code)


def measured(module: str) -> float:
    """How long the tests of a module take; they must pass as it is."""
    began = time.monotonic()
    if tried(MODULES[module], None, 600.0) != "survived":
        raise SystemExit(f"the tests of {module} fail without any change")
    return time.monotonic() - began


def run(mutants: Sequence[Mutant]) -> list[tuple[Mutant, Ending]]:
    results: list[tuple[Mutant, Ending]] = []
    limits: dict[tuple[str, ...], float] = {}
    for number, mutant in enumerate(mutants, 1):
        tests = MODULES[mutant.module]
        if tests not in limits:
            limits[tests] = 20.0 + 5 * measured(mutant.module)
        ending = tried(tests, mutant, limits[tests])
        results.append((mutant, ending))
        if ending == "survived":
            where = f"{mutant.module}:{mutant.line}"
            print(
                f"{number}/{len(mutants)} survived {where}: {mutant.before} → {mutant.after}",
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
