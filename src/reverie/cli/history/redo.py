"""`reverie redo`: bring back what was undone."""

from __future__ import annotations

from reverie.cli.history.undo import tell
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, private, scope_option, up_to_date
from reverie.memory.format.taxonomy import MemoryScope


@reverie_command(name="redo")
@scope_option
def command(frame: Invocation, scope: MemoryScope | None) -> None:
    """Bring back what was undone last.

    Again, it brings back what was undone before that. What changed meanwhile stays. What is about
    you is brought back too; what is the team's with --team.

    \b
    reverie redo
    """
    from reverie.workspace.undo import redo_last

    app = frame.app()
    memories = [up_to_date(memory) for memory in private(app, scope)]
    tell(frame, [redo_last(app, memories, PERSON)], "Redid")
