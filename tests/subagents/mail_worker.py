"""Write or read letters and say which, one a line, until killed: `python -m tests.subagents.mail_worker`."""

from __future__ import annotations

import os
import sys
from itertools import count
from pathlib import Path

from tests.place import FixedClock
from tests.subagents.mailing import BOX, letter

from reverie.subagents.mailbox import Post, Sent, new_reader


def main(team: str, part: str) -> None:
    clock = FixedClock()
    post = Post(Path(team), clock)
    if part == "write":
        for number in count(1):
            if isinstance(post.send(letter(number)), Sent):
                os.write(1, f"worker-{number}\n".encode())
            else:
                # The box is full: enough was said.
                return
    box, reader = post.open(BOX), new_reader(clock)
    while True:
        taken = box.take(reader)
        if taken is not None and box.acknowledge(taken, reader):
            os.write(1, f"{taken.id}\n".encode())


if __name__ == "__main__":
    main(*sys.argv[1:])
