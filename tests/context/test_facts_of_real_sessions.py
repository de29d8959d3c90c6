"""Real coding-agent sessions: their facts make sound notes, and no word of the user is lost.

The data is not part of the repository. `REVERIE_DATA` names its folder; `../shared/data` is tried.
"""

import os
from pathlib import Path

import pytest

from reverie.context.facts import FactCollector, read_facts
from reverie.context.session_notes import as_summary, from_facts, parse, render, warnings
from reverie.context.user_messages import carried
from reverie.context.user_messages import render as attached
from reverie.conversation import transcripts
from reverie.conversation.records import Said
from reverie.core.messages import Message, Text, new_message

REPOSITORY = Path(__file__).parents[2]
FOLDER = REPOSITORY / os.environ.get("REVERIE_DATA", "../shared/data") / "claude_sessions"
SESSIONS = sorted(FOLDER.glob("*.jsonl.gz"))

pytestmark = pytest.mark.skipif(
    not SESSIONS, reason=f"no sessions in {FOLDER}; set REVERIE_DATA to the folder of the data sets"
)


def said(path: Path) -> list[Message]:
    return [r.message for r in transcripts.load(path).records if isinstance(r, Said)]


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name[:8])
def test_a_session(path: Path) -> None:
    messages = said(path)
    keeper = FactCollector()
    window: list[Message] = []
    for n, message in enumerate(messages, 1):
        keeper.add(message)
        window.append(message)
        if n % 40 == 0:
            compacted, kept = window[:-7], window[-7:]
            summary = new_message(
                "user", Text("summary"), attached(carried(compacted)), origin="reverie"
            )
            window = [summary, *kept]
    facts = keeper.facts()
    assert facts == read_facts(messages)
    assert carried(window) == facts.user_messages == carried(messages)

    notes = from_facts(facts)
    assert parse(render(notes)) == notes
    assert warnings(notes) == ()
    assert bool(as_summary(notes, "notes.md")) == bool(facts.user_messages)
    touched = [path.path for path in facts.files]
    assert len(touched) == len(set(touched))
