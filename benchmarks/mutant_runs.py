"""Runs tests against mutants in processes forked from one that has collected the tests already.

A change inside a function is put into the running function, and only the tests that reach its
statement run, quickest first. A change to what runs while tests are collected needs a fresh import:
its process has only pytest loaded.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any, Literal, TypeAlias

import pytest
from mutations import Mutant, compiled, source_of

Ending: TypeAlias = Literal["killed", "survived", "too slow"]


def tried(tests: Sequence[str], mutants: Sequence[Mutant]) -> Iterator[tuple[Mutant, Ending]]:
    """Whether the tests notice each mutant of one module; a test that fails without it is left out."""
    with tempfile.TemporaryDirectory() as folder:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            with os.fdopen(writing, "w", buffering=1) as results:
                _pytest(tests, folder, _Bench(mutants, results.write))
        os.close(writing)
        with os.fdopen(reading) as results:
            answers = [json.loads(line) for line in results]
        os.waitpid(child, 0)
        if not answers:
            raise SystemExit(f"these tests cannot be collected: {', '.join(tests)}")
        seconds, failing = answers.pop(0)
        for test in failing:
            print(f"left out, for it fails without any change: {test}", file=sys.stderr)
        tests = [*tests, *(f"--deselect={test}" for test in failing)]
        for mutant, ending in zip(mutants, answers, strict=True):
            if ending is None:
                ending = _ending(partial(_fresh, tests, folder, mutant), seconds)
            yield mutant, ending


def _pytest(tests: Sequence[str], folder: str, *plugins: object) -> None:
    """Run tests without a word, and end this process with pytest's answer."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    chosen = [
        "-x",
        "-p",
        "no:xdist",
        "-p",
        "no:cov",
        "--hypothesis-seed=0",
        f"--basetemp={folder}/t",
    ]
    # Hypothesis was loaded before the fork.
    chosen += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    code = 1
    try:
        code = int(pytest.main([*chosen, *tests], plugins=list(plugins)))
    finally:
        os._exit(code)


def _fresh(tests: Sequence[str], folder: str, mutant: Mutant) -> None:
    sys.meta_path.insert(0, _Replaced(mutant))
    _pytest(tests, folder)


def _ending(work: Callable[[], object], seconds: float) -> Ending:
    """Do work in a process of its own, in a few times the seconds that it should take."""
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            allowed = int(5 + 3 * seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed))
            work()
        finally:
            os._exit(1)
    until = time.monotonic() + 30 + 10 * seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            if code in {-signal.SIGXCPU, -signal.SIGKILL}:
                return "too slow"
            return "survived" if code == 0 else "killed"
        time.sleep(0.005)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too slow"


class _Replaced(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with its change in place of the original."""

    def __init__(self, mutant: Mutant) -> None:
        self._mutant = mutant
        self._path = source_of(mutant.module)

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
        exec(compiled(self._mutant), module.__dict__)


@dataclass(frozen=True, slots=True)
class _Reached:
    """What a test runs of the module, and for how long."""

    test: pytest.Item
    lines: frozenset[int]
    seconds: float


class _Bench:
    """In place of pytest's loop: every mutant in turn, each in a fork of the collected session."""

    def __init__(self, mutants: Sequence[Mutant], told: Callable[[str], object]) -> None:
        self._mutants = mutants
        self._told = told
        self._path = str(source_of(mutants[0].module))
        self._imported: set[int] = set()
        self._collecting = contextlib.ExitStack()

    def pytest_configure(self) -> None:
        self._imported = self._collecting.enter_context(_traced(self._path))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._collecting.close()
        gc.freeze()
        reached, failing = self._reached(session)
        self._tell((sum(one.seconds for one in reached), failing))
        functions = [
            one for one in _everything(FunctionType) if one.__code__.co_filename == self._path
        ]
        for mutant in self._mutants:
            first, last = mutant.span
            afresh = not mutant.in_function or any(first <= one <= last for one in self._imported)
            self._tell(None if afresh else _of_mutant(session, mutant, reached, functions))
        return True

    def _tell(self, value: object) -> None:
        self._told(json.dumps(value) + "\n")

    def _reached(self, session: pytest.Session) -> tuple[list[_Reached], list[str]]:
        """Every test with what it reaches, and those that fail; from a fork, so that nothing here ran."""
        reading, writing = os.pipe()
        if os.fork() == 0:
            with os.fdopen(writing, "w") as rows:
                for test in session.items:
                    began = time.process_time()
                    with _traced(self._path) as lines:
                        _run(session, [test])
                    seconds = time.process_time() - began
                    rows.write(json.dumps([sorted(lines), seconds, session.testsfailed]) + "\n")
                    session.testsfailed = 0
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as rows:
            found = [json.loads(row) for row in rows]
        os.wait()
        together = list(zip(session.items, found, strict=True))
        reached = [
            _Reached(test, frozenset(lines), seconds)
            for test, (lines, seconds, failed) in together
            if not failed
        ]
        return reached, [test.nodeid for test, (_, _, failed) in together if failed]


def _of_mutant(
    session: pytest.Session,
    mutant: Mutant,
    reached: Sequence[_Reached],
    functions: Sequence[FunctionType],
) -> Ending:
    first, last = mutant.span
    tests = sorted(
        (one for one in reached if any(first <= line <= last for line in one.lines)),
        key=lambda one: one.seconds,
    )
    if not tests:
        return "survived"

    def work() -> None:
        _exchange(functions, compiled(mutant))
        _run(session, [one.test for one in tests])
        os._exit(1 if session.testsfailed else 0)

    return _ending(work, sum(one.seconds for one in tests))


def _run(session: pytest.Session, tests: Sequence[pytest.Item]) -> None:
    """Run tests until one fails."""
    for test, following in zip(tests, [*tests[1:], None], strict=True):
        test.config.hook.pytest_runtest_protocol(item=test, nextitem=following)
        if session.testsfailed:
            break


def _everything(kind: type[Any]) -> list[Any]:
    gc.unfreeze()
    found = [one for one in gc.get_objects() if isinstance(one, kind)]
    gc.freeze()
    return found


def _exchange(functions: Sequence[FunctionType], module: CodeType) -> None:
    changed = {(code.co_qualname, code.co_firstlineno): code for code in _codes(module)}
    for function in functions:
        known = function.__code__
        fresh = changed[known.co_qualname, known.co_firstlineno]
        if fresh != known:
            function.__code__ = fresh


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


@contextlib.contextmanager
def _traced(path: str) -> Iterator[set[int]]:
    lines: set[int] = set()

    def line(frame: FrameType, event: str, _: object) -> Any:
        lines.add(frame.f_lineno)
        return line

    def call(frame: FrameType, event: str, _: object) -> Any:
        return line if frame.f_code.co_filename == path else None

    threading.settrace(call)
    sys.settrace(call)
    try:
        yield lines
    finally:
        sys.settrace(None)
        threading.settrace(None)
