"""Write or read letters and say which, one a line, until killed: `python -m tests.subagents.mail_worker`."""

from __future__ import annotations

import os
import sys
import time
from itertools import count
from pathlib import Path

from tests.subagents.mailing import BOX, letter, post_in

from reverie.subagents.letters import Sent
from reverie.subagents.mail_store import new_reader


def main(folder: str, part: str) -> None:
    post = post_in(Path(folder))
    if part.startswith("write"):
        sender = part.removeprefix("write:")
        for number in count(1):
            if isinstance(post.send(letter(number, sender)), Sent):
                os.write(1, f"{sender}-{number}\n".encode())
            else:
                # The box is full: enough was said.
                return
    box = post.open(BOX)
    reader = new_reader(_Now())
    while True:
        taken = box.take(reader)
        if taken is not None and box.acknowledge(taken, reader):
            os.write(1, f"{taken.id}\n".encode())
        elif taken is None and part == "read all":
            return


class _Now:
    def now(self) -> float:
        return time.time()


if __name__ == "__main__":
    main(*sys.argv[1:])
