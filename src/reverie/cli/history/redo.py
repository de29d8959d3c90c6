"""`reverie redo`: redo what was undone."""

from __future__ import annotations

from reverie.cli.history.undo import report
from reverie.cli.invocation import Invocation, reverie_command
from reverie.cli.memories import PERSON, private, scope_option, up_to_date
from reverie.memory.format.taxonomy import MemoryScope


@reverie_command(name="redo")
@scope_option
def command(frame: Invocation, scope: MemoryScope | None) -> None:
    """Redo what was undone last.

    Run it again to redo the change undone before that. Later changes stay. Includes memories about
    you; use --team for the team's.

    \b
    reverie redo
    """
    from reverie.workspace.undo import redo_last

    app = frame.app()
    memories = [up_to_date(memory) for memory in private(app, scope)]
    report(frame, [redo_last(app, memories, PERSON)], "Redid")
