"""What is never saved, and the ordinary sentences that always are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.memory.format.exclusions import check, states_nothing, unreadable

INSTRUCTIONS = {
    "AGENTS.md": """# Rules
- Use tabs for indentation, never spaces.
- Run `make check` before every commit and fix everything it reports.
- All public functions have type annotations and a one-line docstring.
Tests live next to the code they test and never use the network.
"""
}

PYTHON = """def load(path):
    with open(path) as file:
        return json.load(file)

class Store(Base):
    def __init__(self, root):
        self.root = pathlib.Path(root)
    def read(self, name):
        return (self.root / name).read_text()
"""
JAVASCRIPT = """import { useState } from 'react';
export function Counter() {
  const [count, setCount] = useState(0);
  return (
    <button onClick={() => setCount(count + 1)}>{count}</button>
  );
}
"""
EXCLUDED = [
    ("instructions", "Use tabs for indentation, never spaces."),
    ("instructions", "run make check before every commit and fix everything it reports"),
    (
        "instructions",
        "Remember: all public functions have type annotations and a one-line docstring.",
    ),
    ("instructions", "Tests live next to the code they test, and never use the network!"),
    (
        "git log",
        "commit 1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c\nAuthor: Mira <m@x.org>\nDate:   Sat Nov 14\n\n    Fix it\n",
    ),
    (
        "git log",
        "1f2e3d4 Fix the importer\n2a3b4c5 Add retries\n9d8e7f6 (HEAD -> main) Bump version\n",
    ),
    ("git log", "* 1f2e3d4 Fix\n| * 2a3b4c5 Add\n|/ 9d8e7f6 Bump\n"),
    (
        "git log",
        "What we did:\n1f2e3d4 Fix the importer\n2a3b4c5 Add retries\n9d8e7f6 Bump\n0a1b2c3 Release",
    ),
    ("git log", "commit 1f2e3d4\nx\ncommit 2a3b4c5\ny\ncommit 9d8e7f6\nz"),
    ("listing", "src/a.py\nsrc/b.py\nsrc/c/d.py\ntests/test_a.py\nREADME.md\n"),
    ("listing", "- src/\n- tests/\n- docs/index.md\n- pyproject.toml\n- Makefile.am\n"),
    ("listing", "src\n├── a.py\n├── b\n│   └── c.py\n└── d.py\n"),
    (
        "listing",
        "total 12\n-rw-r--r-- 1 mira mira 120 Nov 14 a.py\ndrwxr-xr-x 2 mira mira 4096 Nov 14 b\n-rw-r--r-- 1 m m 1 Nov 14 c\n",
    ),
    ("listing", ".\n|-- src\n|   |-- a.c\n|   `-- b.c\n`-- doc\n"),
    ("diff", "diff --git a/x.py b/x.py\nindex 1f2e3d4..2a3b4c5 100644\n--- a/x.py\n+++ b/x.py\n"),
    ("diff", "--- a/x.py\n+++ b/x.py\n@@ -1,3 +1,4 @@\n-old\n+new\n"),
    ("diff", "The change was:\n@@ -10 +10,2 @@\n-a\n+b\n"),
    ("code", PYTHON),
    ("code", f"This is how it loads:\n```python\n{PYTHON}```\n"),
    ("code", "The ports:\n```yaml\n" + "".join(f"port_{n}: 80{n}\n" for n in range(8)) + "```\n"),
    ("code", JAVASCRIPT),
    ("code", f"```js\n{JAVASCRIPT}{JAVASCRIPT}"),
    ("code", "SELECT a.id\nFROM a\nJOIN b ON a.id = b.id\nWHERE b.x > 3\nSELECT 1;\n"),
    (
        "stack trace",
        'Traceback (most recent call last):\n  File "a.py", line 3, in run\n    x()\nValueError: no\n',
    ),
    (
        "stack trace",
        "TypeError: x is undefined\n    at run (/app/a.js:10:5)\n    at main (/app/b.js:3:1)\n",
    ),
    (
        "stack trace",
        "java.lang.NullPointerException\n    at com.x.A.run(A.java:10)\n    at com.x.B.main(B.java:3)\n",
    ),
    ("stack trace", "panic: nil map\n\ngoroutine 1 [running]:\nmain.main()\n"),
    ("stack trace", "thread 'main' panicked at src/main.rs:3:5:\nno\n"),
    ("debugging", "Fixed the crash by adding a null check in src/importer.py:42."),
    ("debugging", "The bug in the parser was fixed in `lexer.go`."),
    ("debugging", "We resolved the timeout by raising the limit in settings.py"),
    ("debugging", "To fix the import error, run pip install again."),
    ("debugging", "If you see a ModuleNotFound error, delete the cache folder."),
    ("task state", "- [x] write parser\n- [ ] write tests\n- [ ] update docs\n"),
    (
        "task state",
        "The parser\n- [x] write parser\n- [ ] write tests\n- [ ] update docs\nby Ada\n",
    ),
    ("task state", "Next steps: write the tests, then update the docs."),
    ("task state", "Current task: porting the importer."),
    ("task state", "TODO: finish the parser"),
    ("task state", "Step 3 of 5: run the migration."),
    ("task state", "12 of 40 tests still failing."),
    ("task state", "I'm about to run the migration."),
    ("task state", "The tests are currently failing."),
    ("task state", "WIP on the parser"),
    ("task state", "Just pushed the branch. Now I need to open the pull request."),
    ("task state", "We're in the middle of renaming modules."),
]

ORDINARY = [
    "The user prefers dark mode.",
    "Mira is the head of the pharmacy desk and scripts on the side.",
    "I'm working on the compiler team.",
    "I am a data scientist; I look at logging.",
    "We're migrating to Postgres by 2026-12-01 because of licence costs.",
    "Never mock the database in integration tests.\n\n**Why:** a mock hid a broken migration.\n**How to apply:** use the helper.",
    "Use tabs for indentation only in Makefiles; Mira dislikes them elsewhere because her editor mangles them.",
    "Contrary to AGENTS.md, run `make check` only before pushing: it takes ten minutes on Mira's laptop.",
    "Use tabs.",
    "Tests never use the network, except the provider suite, which Ola runs by hand on Mondays.",
    "Commit 1f2e3d4 broke billing for two days; Legal now wants a second reviewer on it.",
    "The release after 9d8e7f6 was rolled back because customers were charged twice.",
    "src/billing is off limits until the audit on 2026-11-24.",
    "See docs/plan.md and docs/risks.md for what the board agreed to.",
    "Dashboards:\n- latency: board HARBOR\n- revenue: finance wiki\n- errors: channel #alerts",
    "- Mira: billing\n- Ola: search\n- Kwame: infrastructure\n- Yuki: mobile\n- Ana: design",
    "Prefers `rg` over `grep`.",
    "Snippets should look like this:\n```python\nx = 1\n```\nbecause Mira pastes them into a notebook.",
    "When showing SQL, write keywords in capitals; from the style guide of her team.",
    "The importer retries three times; surprising, because the vendor bans clients after two failures.",
    "The fix for double charges was political: Finance owns the retry policy.",
    "Errors in the vendor API arrive as HTTP 200 with a body; check the `status` field.",
    "If you see a duplicate invoice, call Finance before touching it.",
    "If you get an error from the vendor, Kwame is the one to ask.",
    "Fixed costs are in the finance wiki.",
    "Mira fixed the date of the launch: 2026-12-01.",
    "The next step for the company is an audit.",
    "The current plan of record is to ship in March 2027.",
    "The build is owned by Ola.",
    "Tests are slow on Windows runners; nobody knows why.",
    "We will drop Python 3.10 on 2027-01-01.",
    "Todo items are tracked in board HARBOR, not in code comments.",
    "She said: yes, exactly like that, one large change.",
    "At midnight (UTC) the vendor rotates keys; at 3:00 the old ones stop working.",
    "Default port is 8443; do not change it: the firewall rule took six weeks.",
    "Version 2.4.1 is the last one the vendor supports.",
    "He likes short answers; no summaries at the end.",
    "5 of 7 board members are against the cloud move.",
    "Deadline: 2026-12-01; owner: Mira; reason: contract.",
    "I'm now considering a move to the security team.",
    "We're about to release a demo to the partners in Oslo.",
    "Just started learning Rust; explain ownership slowly.",
    "用户喜欢简短的回答。",
    "Der Audit ist am 2026-11-24; bis dahin keine Änderungen am Schema.",
    "",
]


def test_the_table_is_large_enough():
    assert len(EXCLUDED) + len(ORDINARY) >= 60


@pytest.mark.parametrize(("kind", "text"), EXCLUDED, ids=lambda value: ascii(value[:40]))
def test_excluded_with_a_reason_and_the_advice_to_save_what_was_surprising(kind, text):
    found = check(text, INSTRUCTIONS)
    assert found is not None, "it was let through"
    assert found.kind == kind
    assert found.reason.startswith("Not saved: it ")
    assert "surprising" in found.advice or "AGENTS.md" in found.reason


@pytest.mark.parametrize("text", ORDINARY, ids=lambda value: ascii(value[:40]))
def test_ordinary_sentences_are_never_refused(text):
    assert check(text, INSTRUCTIONS) is None


def test_without_instruction_files_nothing_can_be_restated():
    assert check("Use tabs for indentation, never spaces.") is None


@given(st.text())
def test_any_text_gets_an_answer(text):
    check(text, {"AGENTS.md": text[:50]})


@pytest.mark.parametrize(("lines", "refused"), [(5, True), (20, False)])
def test_code_is_refused_unless_there_is_more_prose(lines, refused):
    steps = "\n".join(f"step_{n}()" for n in range(8))
    prose = "\n".join(f"Reason {n} is the way the importer was built." for n in range(lines))
    assert (check(f"```\n{steps}\n```\n{prose}", {}) is not None) is refused


LISTED = "-rw-r--r-- 1 mira staff 12 Nov 14 10:00 a.py"
TREE = "├── a.py"
BOX = "- [ ] write the importer"
KNOWN = " ".join(f"w{n}" for n in range(30))


def lines(*kinds: tuple[int, str]) -> str:
    return "\n".join(line for count, line in kinds for _ in range(count))


@pytest.mark.parametrize(
    ("kind", "text", "refused"),
    [
        # Three of a kind, and six lines in ten of it.
        ("listing", lines((2, LISTED)), False),
        ("listing", lines((3, LISTED)), True),
        ("listing", lines((3, LISTED), (2, "These are ours")), True),
        ("listing", lines((3, LISTED), (3, "These are ours")), False),
        ("listing", lines((2, TREE)), False),
        ("listing", lines((3, TREE), (2, "These are ours")), True),
        ("listing", lines((3, TREE), (3, "These are ours")), False),
        ("listing", lines((4, "src/a.py")), False),
        ("listing", lines((5, "src/a.py")), True),
        ("listing", lines((8, "src/a.py"), (2, "These are ours")), True),
        ("listing", lines((7, "src/a.py"), (2, "These are ours")), False),
        ("git log", "commit 1f2e3d4\nAuthor: Mira <m@x.org>\nDate:   Sat Nov 14", True),
        ("git log", "commit 1f2e3d4\nAuthor: Mira <m@x.org>", False),
        ("git log", "Author: Mira <m@x.org>\nDate:   Sat Nov 14", False),
        ("git log", lines((2, "1f2e3d4 Fix the importer")), False),
        ("git log", lines((3, "1f2e3d4 Fix the importer"), (2, "These are ours")), True),
        ("git log", lines((3, "1f2e3d4 Fix the importer"), (3, "These are ours")), False),
        ("git log", "commit 1f2e3d4\nx\ncommit 2a3b4c5\ny", False),
        # Eight lines between fences, six of ten; or five that begin as code does.
        ("code", f"```\n{lines((7, 'x y'))}\n```", False),
        ("code", f"```\n{lines((8, 'x y'))}\n```", True),
        ("code", f"```\n{lines((9, 'x y'))}\n```\n{lines((6, 'It is so'))}", True),
        ("code", f"```\n{lines((9, 'x y'))}\n```\n{lines((7, 'It is so'))}", False),
        ("code", lines((4, "import a")), False),
        ("code", lines((5, "import a"), (3, "It is so")), True),
        ("code", lines((6, "import a"), (4, "It is so")), True),
        ("code", lines((6, "import a"), (5, "It is so")), False),
        # Two boxes, six lines of ten.
        ("task state", BOX, False),
        ("task state", lines((2, BOX)), True),
        ("task state", lines((3, BOX), (2, "It is so")), True),
        ("task state", lines((3, BOX), (3, "It is so")), False),
        # Half of the sentences.
        ("task state", "The tests are green. It is so.", True),
        ("task state", "The tests are green. It is so. It was so.", False),
        # A short text must be there completely, a longer one in eight runs of ten.
        ("instructions", "w0 w1 w2", False),
        ("instructions", "w0 w1 w2 w3", True),
        ("instructions", "w26 w27 w28 w29", True),
        ("instructions", "w0 w1 w2 x", False),
        ("instructions", "w1 w2 w3 w4 w5 w6 w7", True),
        ("instructions", "w1 w2 w3 w4 w5 w6 x", False),
        ("instructions", "w1 w2 w3 w4 w5 w6 w7 w8", True),
        ("instructions", "w1 w2 w3 w4 w5 w6 w7 x", False),
        ("instructions", "w1 w2 w3 w4 w5 w6 w7 w8 x", True),
        ("instructions", "x w1 w2 w3 w4 w5 w6 w7 w8", True),
        ("instructions", "x w1 w2 w3 w4 w5 w6 w7 x", False),
        ("instructions", "w22 w23 w24 w25 w26 w27 w28 w29 x", True),
    ],
)
def test_how_much_of_a_kind_is_too_much(kind, text, refused):
    found = check(text, {"AGENTS.md": KNOWN})
    assert (found.kind if found else None) == (kind if refused else None)


@pytest.mark.parametrize(("more", "refused"), [(0, True), (1, True), (2, False)])
def test_a_recipe_is_refused_when_it_is_half_of_a_text(more, refused):
    recipe = "To fix the import error, run pip install again."
    text = " ".join([recipe, *["Mira likes it."] * more])
    assert (check(text) is not None) is refused


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "Good morning!",
        "hi",
        "thanks",
        "Tuesdays",
        "Dienstag",
        "Where is the historian?",
        "Who? And when?",
        "ok",
        "¿Dónde está la llave?",
    ],
)
def test_what_states_nothing(text: str) -> None:
    assert states_nothing(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "Tabs",
        "vegan",
        "no sugar",
        "deploy: Fridays",
        "Closed on Tuesdays",
        "Where? In the barn.",
        "No testing tomorrow",
        "Always ask: who pays?",
        "https://example.org/?",
        "Hello is our chat server",
        "8443",
    ],
)
def test_short_notes_state_something(text: str) -> None:
    assert states_nothing(text) is None


@pytest.mark.parametrize("text", ["a\0b", "bell \x07", "\ufffd\ufffdPNG\ufffd", "\x1b[31mred"])
def test_what_is_no_text(text: str) -> None:
    assert unreadable(text) is not None


@pytest.mark.parametrize("text", ["caf\ufffd is closed on Mondays", "tab\there\r\n", "Grüße 😀"])
def test_what_is_text(text: str) -> None:
    assert unreadable(text) is None
