"""How long it takes until Reverie can work: `import reverie` and `reverie --help`.

Each is measured in processes of its own, against an empty Python process in the same run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from report import median, milliseconds, publish

REPEAT = 21
BARS = {"import reverie": 60.0, "reverie --help": 150.0}


def measure(command: list[str]) -> float:
    def run() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    run()
    return median(milliseconds(run, REPEAT))


def third_party_imports() -> list[str]:
    """Modules outside the standard library that `import reverie` pulls in."""
    code = (
        "import sys, reverie; "
        "print(*sorted({name.partition('.')[0] for name in sys.modules}"
        " - set(sys.stdlib_module_names) - {'reverie', '__main__'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return [
        name
        for name in done.stdout.split()
        if not name.startswith(("__editable__", "_distutils_hack"))
    ]


def main() -> None:
    python = sys.executable
    reverie = str(Path(python).with_name("reverie"))
    empty = measure([python, "-c", "pass"])
    rows = []
    for name, command in {
        "import reverie": [python, "-c", "import reverie"],
        "reverie --help": [reverie, "--help"],
    }.items():
        taken = measure(command)
        rows.append([name, taken, taken - empty, BARS[name], taken / empty])
    publish("startup", ["what", "ms", "ms over python", "bar ms", "× empty python"], rows)
    found = third_party_imports()
    print("third-party modules imported by `import reverie`:", ", ".join(found) or "none")


if __name__ == "__main__":
    main()
