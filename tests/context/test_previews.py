"""Previews of long texts."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.context.previews import (
    HEAD_BYTES,
    LINE_BYTES,
    MOST_BYTES,
    Kind,
    outline_line,
    preview,
)


def noise(count: int, start: int = 0) -> list[str]:
    return [f"[{i:05}] compiling part {i} of the thing, all is well" for i in range(start, count)]


def buried(*lines: str, around: int = 1_500) -> str:
    """A long output with these lines in its middle."""
    return "\n".join([*noise(around), *lines, *noise(2 * around, around)]) + "\n"


def length(text: str) -> int:
    return len(text.encode())


# ── the head ─────────────────────────────────────────────────────────────────


def test_the_head_is_whole_lines_of_about_two_thousand_bytes() -> None:
    text = "\n".join(noise(500))
    shown = preview(text, "head")
    assert text.startswith(shown + "\n")
    assert HEAD_BYTES - 100 < length(shown) <= HEAD_BYTES


def test_a_short_text_is_its_own_head() -> None:
    assert preview("one\ntwo\n", "head") == "one\ntwo\n"


def test_a_line_longer_than_the_head_is_cut_between_characters() -> None:
    shown = preview("é" * 5_000, "head")
    assert shown == "é" * (HEAD_BYTES // 2)


def test_a_short_line_before_a_long_one_does_not_empty_the_head() -> None:
    assert length(preview("a\n" + "b" * 9_000, "head")) == HEAD_BYTES


# ── failures ─────────────────────────────────────────────────────────────────

FAILURES = {
    "pytest": "E       AssertionError: assert 3 == 4",
    "pytest summary": "FAILED tests/test_money.py::test_rounding - ValueError: no such coin",
    "python": "KeyError: 'currency'",
    "python, qualified": "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='x')",
    "go": "--- FAIL: TestRounding (0.02s)",
    "go panic": "panic: runtime error: index out of range [3] with length 3",
    "go test message": "    money_test.go:41: expected 3 coins, got 4",
    "rust": "error[E0308]: mismatched types",
    "rust panic": "thread 'main' panicked at src/main.rs:4:5:",
    "typescript": "src/app.ts(12,5): error TS2304: Cannot find name 'foo'.",
    "javascript": "TypeError: Cannot read properties of undefined (reading 'length')",
    "npm": "npm ERR! code ELIFECYCLE",
    "c": "main.c:12:5: error: expected ';' before 'return'",
    "linker": "main.o: undefined reference to `frobnicate'",
    "java": 'Exception in thread "main" java.lang.NullPointerException',
    "java cause": "Caused by: java.io.IOException: stream closed",
    "make": "make: *** [Makefile:12: all] Error 2",
    "shell": "bash: frobnicate: command not found",
    "disk": "cat: /etc/nothing: No such file or directory",
    "git": "fatal: not a git repository (or any of the parent directories): .git",
    "merge": "CONFLICT (content): Merge conflict in src/money.py",
    "log level": '2026-01-02T03:04:05Z level=error msg="could not bind"',
    "tap": "not ok 12 - rounds half up",
    "crash": "Segmentation fault (core dumped)",
    "colours": "\x1b[1;31merror\x1b[0m: \x1b[1mthe coin is bent\x1b[0m",
}


@pytest.mark.parametrize("line", FAILURES.values(), ids=FAILURES)
def test_a_failure_in_the_middle_is_shown_with_its_line_number(line: str) -> None:
    text = buried(line)
    shown = preview(text)
    plain = line.replace("\x1b[1;31m", "").replace("\x1b[0m", "").replace("\x1b[1m", "")
    assert f"1501: {plain.strip()}" in shown
    assert " ".join(plain.split())[:100] in outline_line(text)


@pytest.mark.parametrize(
    "stamp",
    [
        *("12:03:04 ", "2026-01-02 03:04:05,123 ", "2026-01-02T03:04:05.123Z ", "1767322800 "),
        *("app.server-1: ", "host.example:8080: ", "I0102 03:04:05 main.go:12] ", "[12]\t", "12: "),
        *("/var/log/app.log:", "web-1  | "),
    ],
)
def test_stamps_before_the_lines_do_not_hide_a_failure(stamp: str) -> None:
    text = "\n".join(stamp + line for line in buried("error: the coin is bent").splitlines())
    assert "error: the coin is bent" in outline_line(text)
    assert "error: the coin is bent" in preview(text)


@pytest.mark.parametrize(
    "line",
    [
        "Found 0 errors in 12 files",
        "12 passed, 0 failed, 3 skipped",
        "tests/test_errors.py::test_failure_is_told PASSED",
        "test result: ok. 3 passed; 0 failed; 0 ignored",
        "--- PASS: TestPanicIsRecovered (0.00s)",
        "ok  \texample.com/errors\t0.012s",
        "finished without errors",
        "test reports an error when the coin is lost ... ok",
        "  ✓ shows an error when minting failed",
        '    raise ValueError("the request failed")',
    ],
)
def test_what_went_well_is_not_taken_for_a_failure(line: str) -> None:
    assert line.strip() not in outline_line(buried(line))


def test_the_failing_end_is_kept_whole() -> None:
    end = ["=== short test summary info ===", "2 failed, 340 passed in 12.30s"]
    shown = preview("\n".join([*noise(4_000), *end]))
    assert shown.endswith("\n".join(end))


def test_the_lines_left_out_are_counted() -> None:
    text = "\n".join(noise(3_000))
    head, gap, tail = preview(text).partition("\n… ")
    first = len(head.splitlines())
    omitted, _, tail = tail.partition(" lines omitted …\n")
    assert gap
    assert first + int(omitted.replace(",", "")) + len(tail.splitlines()) == 3_000


def test_the_same_failure_a_thousand_times_is_said_once() -> None:
    lines = [f"ERROR worker {i} lost its connection at 0x{i:08x}" for i in range(1_000)]
    shown = preview(buried(*lines, "ERROR the disk is full"))
    assert shown.count("lost its connection") == 1
    assert "(×1,000)" in shown
    assert "ERROR the disk is full" in shown


def test_clear_failures_come_before_warnings_when_not_all_fit() -> None:
    warnings = [f"warning: {word} is deprecated" for word in _words(200)]
    text = buried(*warnings, "error: the coin is bent")
    assert "1701: error: the coin is bent" in preview(text)


def _words(count: int) -> list[str]:
    return [f"{a}{b}{c}" for a in "abcdefgh" for b in "ijklmnop" for c in "qrstuvwx"][:count]


def test_a_failure_that_is_shown_anyway_is_not_said_twice() -> None:
    text = "\n".join(["error: first is bent", *noise(3_000), "error: last is bent"])
    shown = preview(text)
    assert shown.count("first is bent") == 1
    assert shown.count("last is bent") == 1


def test_shown_failures_stand_in_the_order_of_the_text() -> None:
    shown = preview(buried("warning: old", "error: one is bent", *noise(9), "error: two is bent"))
    places = [shown.index(word) for word in ("warning: old", "one is bent", "two is bent")]
    assert places == sorted(places)


# ── other kinds of text ──────────────────────────────────────────────────────


def test_a_json_document_is_outlined_by_its_keys() -> None:
    items = [{"id": i, "tags": ["a", "b"], "note": "x" * 300} for i in range(200)]
    shown = preview(json.dumps({"items": items, "next": None, "total": 200}))
    assert "items: array of 200" in shown
    assert "[0]: object with 3 keys" in shown
    assert "id: 0" in shown
    assert "total: 200" in shown


def test_the_outer_keys_of_a_json_document_come_first() -> None:
    wide = {f"field{i}": {f"inner{j}": "y" * 60 for j in range(30)} for i in range(30)}
    shown = preview(json.dumps(wide))
    assert all(f"field{i}: object" in shown for i in range(30))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1, 2, 3]", "JSON array of 3"),
        (
            '{"status": "bad", "error": "no coin"}',
            'JSON object with status, error; error: "no coin"',
        ),
        ("{}", "JSON object with no keys"),
        ('{"torn": ', 'ends with: {"torn":'),
    ],
)
def test_json_in_one_line(text: str, said: str) -> None:
    assert outline_line(text) == f"1 line; {said}"


def test_a_table_shows_its_columns() -> None:
    rows = "\n".join(f"{i},coin {i},{i * 3}" for i in range(2_000))
    text = f"id,name,worth\n{rows}\n"
    assert outline_line(text) == "2,001 lines; table of id, name, worth"
    assert preview(text).startswith("id,name,worth\n0,coin 0,0\n")


SOURCE = [
    '"""Coins."""',
    "",
    "import re",
    "",
    *(
        line
        for name in ("Purse", "Coin", "Bank")
        for line in (
            f"class {name}(Thing):",
            "    def worth(self, at: float) -> int:",
            *(f"        self.part_{i} = (at, {i})" for i in range(60)),
            '        raise ValueError("error: bent")',
            "        return (at, self)",
            "",
        )
    ),
    "END = Bank()",
]


@pytest.mark.parametrize("numbered", [False, True])
def test_source_is_outlined_by_what_it_defines(numbered: bool) -> None:
    lines = [f"{i:6}→{line}" for i, line in enumerate(SOURCE, 1)] if numbered else SOURCE
    text = "\n".join(lines)
    assert outline_line(text) == "200 lines; source with Purse, Coin, Bank, worth"
    assert "135: class Bank(Thing):" in preview(text)


def test_source_that_a_failing_tool_printed_is_a_log() -> None:
    text = "\n".join([*SOURCE, "Traceback (most recent call last):", "ValueError: bent"])
    assert "ValueError: bent" in outline_line(text)


def test_a_diff_is_outlined_by_the_files_it_changes() -> None:
    text = "".join(
        f"diff --git a/src/{name}.py b/src/{name}.py\n--- a/src/{name}.py\n+++ b/src/{name}.py\n"
        + "".join(f"+line {i} of the new text\n" for i in range(80))
        for name in ("purse", "coin")
    )
    assert outline_line(text) == "166 lines; changes to src/purse.py, src/coin.py"


def test_search_hits_are_counted_by_file() -> None:
    hits = [f"src/{name}.py:{i}:    coin = mint({i})" for name in "ab" for i in range(1, 60)]
    text = "\n".join([*hits, "src/a.py:99:    error = mint(99)"])
    assert "60 × src/a.py" in preview(text)
    assert outline_line(text) == "119 lines; search hits in src/a.py, src/b.py"


def test_paths_are_counted_by_folder() -> None:
    text = "\n".join(f"src/{folder}/file_{i}.py" for folder in ("a", "b") for i in range(90))
    assert "90 × src/a" in preview(text)


def test_a_single_long_line_is_cut_inside() -> None:
    shown = preview("begin " + "x" * 80_000 + " the end")
    assert shown.startswith("begin xxx")
    assert shown.endswith("xxx the end")
    assert "[80,014 characters]" in shown


def test_bytes_that_are_no_text_are_called_so() -> None:
    shown = preview("".join(chr(i % 32) for i in range(40_000)))
    assert "not text" in shown
    assert "\x00" not in shown


def test_of_a_progress_bar_only_the_last_state_is_shown() -> None:
    bar = "\r".join(f"downloading {i} %" for i in range(101))
    shown = preview("\n".join([bar, *noise(400)]))
    assert shown.startswith("downloading 100 %\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "0 lines; blank"),
        ("\n\n", "2 lines; blank"),
        ("done", "1 line; ends with: done"),
        ("a\nb\n5 passed in 0.1s\n", "3 lines; ends with: 5 passed in 0.1s"),
        ("a\tb  c\nKeyError: 'x'\n", "2 lines; KeyError: 'x'"),
    ],
)
def test_outlines_in_one_line(text: str, said: str) -> None:
    assert outline_line(text) == said


def test_two_causes_fit_into_one_line() -> None:
    said = outline_line(buried("error: first is bent", "error: between", "error: last is lost"))
    assert "error: first is bent; error: last is lost" in said


# ── anything at all ──────────────────────────────────────────────────────────

pieces = st.sampled_from(
    [
        *("error: x", "FAILED a", "warning", "0 errors", "\x1b[31m", "\r", "\t", "\n", "\n", "\n"),
        *("{", "}", '{"a": [1]}', ",", "|", "→", "def f():", "a/b:1:", "é", "🧠", "\x00", "\ud800"),
        *("İ", "1" * 5_000 + ":", "\u2028", "word " * 40, "x" * 3_000, "</persisted-output>"),
    ]
)
anything = st.lists(pieces | st.text(max_size=20), max_size=60).map("".join)


@given(anything, st.sampled_from(["useful", "head"]))
def test_a_preview_is_short_valid_and_the_same_each_time(text: str, kind: Kind) -> None:
    shown = preview(text, kind)
    assert length(shown) <= MOST_BYTES
    assert shown == preview(text, kind)


@given(anything)
def test_an_outline_is_one_short_line(text: str) -> None:
    said = outline_line(text)
    assert length(said) <= LINE_BYTES
    assert said.splitlines() == [said]
