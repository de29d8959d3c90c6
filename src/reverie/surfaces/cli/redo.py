"""`reverie redo`: bring back what was undone."""

from __future__ import annotations

from reverie.surfaces.cli.frame import Frame, reverie_command
from reverie.surfaces.cli.memories import PERSON, opened, team_option, up_to_date
from reverie.surfaces.cli.undo import tell


@reverie_command(name="redo")
@team_option
def command(frame: Frame, team: bool) -> None:
    """Bring back what was undone last.

    Again, it brings back what was undone before that. What changed meanwhile stays.

    \b
    reverie redo
    """
    from reverie.app.undo import redo_last

    app = frame.app()
    memory = up_to_date(opened(app, team=team))
    tell(frame, redo_last(app, memory, PERSON), "Redid", team=team)
