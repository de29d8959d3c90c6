"""One of several processes that all want to spend: `python -m tests.memory.hammer HOME NAME CALLS`.

It starts when it reads a line. Some of its calls are settled, some released, some forgotten as by
a process that died; it prints what it was allowed.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

from tests.models.spending import entry
from tests.place import FixedClock

from reverie.core.usage import Allowed, Caps
from reverie.models.ledger import Ledger

CAP = 5.0
CALL = 0.1


def main(home: Path, name: str, calls: int) -> None:
    chance = random.Random(name)
    ledger = Ledger(home / "projects" / f"p{chance.randrange(3)}", home=home, clock=FixedClock())
    print("ready", flush=True)
    sys.stdin.readline()
    allowed = 0
    for _ in range(calls):
        decision = ledger.reserve("recall", name, CALL, Caps(day=CAP))
        if isinstance(decision, Allowed):
            allowed += 1
            end = chance.choice(["settled", "settled", "released", "forgotten"])
            if end != "forgotten":
                spent = entry(CALL, purpose="recall", session=name) if end == "settled" else None
                ledger.settle(decision.ticket, spent)
    print(allowed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
